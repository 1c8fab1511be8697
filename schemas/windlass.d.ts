// Made from the definitions in the program by `windlass config schema typescript`.

export interface WindlassSettings {
  /** The agent that works: the name of a profile. Default: the first installed one. */
  agent?: string;
  /** Agents by name. One of a built-in name changes that one field by field. */
  agents?: Record<string, AgentProfile>;
  /** Whether 'windlass serve' starts the project's pending milestones by itself, one at a time. Default: false. */
  auto_start?: boolean;
  /** Run the gates on the base before the first turn, so that what fails already, or flips, is known as such. Default: true. */
  baseline?: boolean;
  /** The branch that a loop works on; {name} stands for the loop's name. Default: windlass/{name}. */
  branch?: string;
  /** How many US dollars a loop may spend in all. Default: no limit. */
  budget_usd?: number;
  /** Who commits the work: the engine, the agent, or nobody (off). Default: by recipe. */
  commit?: "engine" | "agent" | "off";
  /** The model that writes the commits' messages, if another one. Default: the summariser's. */
  commit_message_model?: string;
  /** The exact text with which the agent claims to be done; empty for none, so that only a limit ends the loop. Default: <promise>COMPLETE</promise>. */
  completion_promise?: string;
  /** How long the part of a prompt may be that tells a fresh session what was done before, in tokens. Default: 8000. */
  context_tokens?: number;
  /** Files and directories of your checkout that are not in git and that the work needs, such as .env; copied for gates and the agent, never committed. Default: none. */
  copy?: Array<string>;
  /** A loop's share of the processor where it is scarce, beside the 100 of everything else. Default: 100. */
  cpu_weight?: number;
  /** How much disk must stay free where the workspace and Windlass's data are; below it the turn is ended and the loop pauses. Default: 1GiB, of a small disk 5 %. */
  disk_free?: string;
  /** How much disk a loop's own workspace and temporary files may take; over it the turn is ended and the loop pauses. Default: no limit. */
  disk_limit?: string;
  /** The Unix socket of Docker, such as unix:///var/run/docker.sock. Default: DOCKER_HOST, or where Docker has its socket. */
  docker_host?: string;
  /** The image of the containers that sandbox = "docker" makes; it is on this machine already, with the agent and what the gates need. Default: none. */
  docker_image?: string;
  /** How long a loop may take in all, also in the middle of a turn. Default: no limit. */
  duration?: string;
  /** Variables of your environment that agents, gates and other commands get beside the ordinary ones such as PATH and HOME: names, or beginnings such as AWS_*. Default: none. */
  env_pass?: Array<string>;
  /** Who takes over, in this order, when the agent or its model fails for good: agents, or agent:model. Default: none. */
  fallbacks?: Array<string>;
  /** The word that ends the prompt of a turn that goes on in the agent's session. Default: the word for 'continue' in the language. */
  follow_up?: string;
  /** How long one gate may take. Default: 10m. */
  gate_timeout?: string;
  /** Commands that judge the work: a claim counts only when all of them exit with 0. In a file one may be a table: { command, timeout, when = "turn" or "claim" }. Default: none. */
  gates?: Array<string | { command: string; timeout?: string; when?: "turn" | "claim" }>;
  /** Whether the summariser is asked for summaries; if not, only for the commits' messages. Default: true. */
  generate_summary?: boolean;
  /** Commands that judge a claim after every other gate passed; the agent and the reviewers learn only that one failed. Not in a project's file, which the agent can read. Default: none. */
  hidden_gates?: Array<string>;
  /** Whether a person has to agree (windlass approve) before a reviewed loop is completed. Default: false. */
  human_review?: boolean;
  /** Work in the checkout itself instead of a workspace of the loop's own. Default: false. */
  in_place?: boolean;
  /** The language of the follow-up word, such as en or zh-Hant. Default: the locale's. */
  language?: string;
  /** How many times the agent runs at most, the first run included; 0 for as often as another limit allows. Default: by recipe. */
  max_iterations?: number;
  /** How many loops run at once, however they are started; the rest are queued. Default: 8. */
  max_running?: number;
  /** How many tokens a loop may use in all. Default: no limit. */
  max_tokens?: number;
  /** The file with what is known of the project, for the recipe milestone. Default: .windlass/memory.md. */
  memory?: string;
  /** How much memory all processes of a loop may have together; what would take more is ended. Default: 80% of the machine's memory. */
  memory_limit?: string;
  /** The model that the agent is told to use, where its command has {model}. Default: the agent's default. */
  model?: string;
  /** Whether agents and gates in the sandbox reach the network: allow, deny, or list, which is network_hosts alone. Default: allow. */
  network?: "allow" | "deny" | "list";
  /** Hosts that are reached with network = "list": example.org, example.org:8443, *.example.org, an address, or the ready lists @models and @registries. Default: @models and @registries. */
  network_hosts?: Array<string>;
  /** A command that is run by your shell when something happens to a loop, with the message as JSON on its standard input. Default: none. */
  notify_command?: string;
  /** Show the message on the desktop, by notify-send or osascript where the system has it. Default: false. */
  notify_desktop?: boolean;
  /** What is worth a message: needs_person, completed, stopped (ended in any other way), waiting. Default: needs_person, completed and stopped. */
  notify_on?: Array<string>;
  /** The http or https address that the message is posted to. Default: none. */
  notify_webhook?: string;
  /** The environment variable that holds the secret which signs the message; the secret itself is never stored. Default: none: the message is not signed. */
  notify_webhook_secret_env?: string;
  /** What a limit of the loop does: end it (stop), or pause it until a person raises the limit (pause). Default: by recipe. */
  on_limit?: "stop" | "pause";
  /** What a rate or usage limit of the provider does: wait until it is over (wait), hand over to the next fallback, the last of which waits (fallback), or pause until a person resumes the loop (pause). Default: wait. */
  on_rate_limit?: "wait" | "fallback" | "pause";
  /** The file with the plan, for the recipe refine; it is read once, when the loop begins. Default: the newest one in plan_dirs. */
  plan?: string;
  /** Folders whose newest *.md file is the plan when none is named. Default: .windlass/plans and .claude/plans. */
  plan_dirs?: Array<string>;
  /** Whether the agent writes the plan in a turn of its own, in the recipe audited without a plan. Default: false. */
  plan_first?: boolean;
  /** What the agent does once after the last review was clean, in the words of a prompt. Default: none. */
  post_action?: string;
  /** A skill of the agent that it uses then. Default: none. */
  post_action_skill?: string;
  /** How many processes and threads a loop may have at once. Default: a quarter of the machine's process numbers, 16384 at most. */
  process_limit?: number;
  /** Paths of the repository that the agent may not change: what it changes there is put back and reported. Default: none. */
  protect?: Array<string>;
  /** The recipe: a file of defaults for how a loop goes. Default: promise. */
  recipe?: string;
  /** Whether 'windlass serve' resumes loops that were cut off in the middle of a turn. Default: true for milestones. */
  recover?: boolean;
  /** How many days after its merge a loop's workspace is kept from 'windlass clean'. Default: 14. */
  retention_days?: number;
  /** Who judges the work in the recipes audited and milestone: an agent, or agent:model. Default: the agent that works, in a session of its own. */
  reviewer?: string;
  /** How many US dollars the reviewer alone may spend. Default: no limit of its own. */
  reviewer_budget_usd?: number;
  /** Who takes the reviewer's place, in this order, when it fails for good. Default: none. */
  reviewer_fallbacks?: Array<string>;
  /** What agents and gates are kept away from: workspace (writes only there and in named places, reads no keys), read-only (the workspace too), docker (a container of docker_image), off; auto is workspace, and off only where this machine has no sandbox and you agreed to that once for the repository. Default: auto. */
  sandbox?: "auto" | "off" | "workspace" | "read-only" | "docker";
  /** Places that cannot be seen in the sandbox, besides keys, logins, browsers and Windlass's own data. Default: none. */
  sandbox_denied?: Array<string>;
  /** Places that may be read in the sandbox although they are denied by default, such as ~/.aws. Default: none. */
  sandbox_readable?: Array<string>;
  /** Unix sockets of services that agents and gates in the sandbox may connect to, such as /run/postgresql/.s.PGSQL.5432. Default: none. */
  sandbox_sockets?: Array<string>;
  /** Places that may be written to in the sandbox besides the workspace, the agent's own and tool caches. Default: none. */
  sandbox_writable?: Array<string>;
  /** Paths of the repository that may hold what looks like a secret, such as tests/fixtures/*: changes there are committed all the same. Default: none. */
  secrets_allow?: Array<string>;
  /** Whether turns go on in the agent's session (resume), each starts a new one (fresh), or one process takes all (keep_alive). Default: by recipe. */
  session?: "resume" | "fresh" | "keep_alive";
  /** Commands that install what the project needs, run once by your shell on the base commit; gates and the agent get a copy of what they made. Default: none. */
  setup?: Array<string>;
  /** Let the set-up on the base commit use your logins for package registries, such as ~/.npmrc. Agents, gates and a set-up on a later commit never get them. Default: false. */
  setup_credentials?: boolean;
  /** The file with the project's rules, quality bar and red lines, for the recipe milestone. Default: .windlass/soul.md. */
  soul?: string;
  /** How long an agent may be silent before its turn counts as stalled. Default: by recipe. */
  stall_timeout?: string;
  /** Who writes what is remembered of an iteration: nobody (deterministic), the agent, or a model (endpoint). Default: deterministic. */
  summariser?: "deterministic" | "agent" | "endpoint";
  /** Who writes it where an agent does: an agent, or agent:model. Default: the agent that works. */
  summariser_agent?: string;
  /** The environment variable that holds the endpoint's key; the key itself is never stored. Default: none. */
  summariser_key_env?: string;
  /** The model that the endpoint is asked for. Default: none. */
  summariser_model?: string;
  /** What the endpoint speaks: openai (most local servers do) or anthropic. Default: openai. */
  summariser_protocol?: "openai" | "anthropic";
  /** How long one question to the endpoint may take. Default: 1m. */
  summariser_timeout?: string;
  /** The endpoint's base address, such as https://api.openai.com/v1 or that of a local server. Default: none. */
  summariser_url?: string;
  /** How long a summary may be, in tokens. Default: 500. */
  summary_max_tokens?: number;
  /** How long one turn of the agent may take. Default: by recipe. */
  turn_timeout?: string;
  /** What gates start from: the commit and what the set-up made (clean), the same plus what earlier gates left in build directories (warm), or nothing but the commit for a claim, with the set-up run again (cold). Default: clean. */
  verify?: "clean" | "warm" | "cold";
  /** The file that says what the project is for, for the recipe milestone. Default: VISION.md. */
  vision?: string;
  /** When 'windlass serve' looks for pending milestones, besides its start: manual (then also when one has ended), every 2h, times of day such as 09:00, 21:00, or a cron pattern. Default: manual. */
  wake?: string;
  /** Whether an open warning keeps the work from being done, as a bug does. Default: false. */
  warnings_block?: boolean;
}

export interface AboutAgent {
  /** Hosts that it contacts; @models in network_hosts contains them */
  hosts?: Array<string>;
  /** Command that installs it */
  install?: string;
  /** Variables of your environment with a key that logs in; the agent gets them */
  keys?: Array<string>;
  /** Command that logs in */
  login?: string;
  /** Arguments that make it print its version; --version if unset */
  version_args?: Array<string>;
  /** The first version it was tried with, and the first it was not: ["1.2.0", "1.3.0"] */
  versions?: Array<string>;
}

export interface AgentProfile {
  /** How it is installed and logged in, and which version was tried */
  about?: AboutAgent;
  /** Whose language it speaks: command, claude, codex, copilot, opencode, gemini, qwen or acp */
  adapter?: "command" | "claude" | "codex" | "copilot" | "opencode" | "gemini" | "qwen" | "acp";
  /** Regular expression whose first group is the answer, for text output: a promise counts only there */
  answer_pattern?: string;
  /** Arguments after all others */
  args?: Array<string>;
  /** Program and arguments; {prompt} or {prompt_file} stands for the prompt, which otherwise comes on stdin, {model} for the model */
  command?: Array<string>;
  completion_promise?: CopilotLoopConfig["completion_promise"];
  /** The directory of the agent's own configuration, where it also keeps its login; ~/ is your home */
  config_dir?: string;
  /** Tools that the agent is told not to use, in its own notation, such as WebFetch or Bash(rm:*) */
  denied_tools?: Array<string>;
  /** How people call it */
  display_name?: string;
  /** Environment variables with their values */
  env?: Record<string, string>;
  /** Variables of your environment that this agent gets beside its own credentials, as in the setting env_pass */
  env_pass?: Array<string>;
  /** Regular expression whose first group is the message of an error, for text output and standard error; figures that usage_pattern finds later mean that the agent recovered */
  error_pattern?: string;
  /** What the agent's JSON lines mean, for jsonl output: all rules that fit a line apply. Without rules, a line is one of Windlass's own events */
  events?: Array<EventRule>;
  loop_enabled?: CopilotLoopConfig["loop_enabled"];
  max_iterations?: CopilotLoopConfig["max_iterations"];
  /** MCP servers for the loop's sessions, by name, beside the agent's own */
  mcp_servers?: Record<string, McpServer>;
  /** The model, where command or model_args has {model} */
  model?: string;
  /** Arguments added if a model is set; {model} stands for it */
  model_args?: Array<string>;
  /** Regular expression for lines that are the program's own and not the agent's words, for text output */
  noise_pattern?: string;
  /** How standard output is read: as text, or as JSON lines (jsonl) */
  output?: "text" | "jsonl";
  /** Directory of an agent without an adapter, and what of it a sandbox shows */
  places?: ProfilePlaces;
  /** Prices by model, in US dollars per million tokens; they go before the built-in list */
  prices?: Record<string, ModelPrice>;
  /** Arguments added for a reviewer that runs without a sandbox */
  read_only_args?: Array<string>;
  /** Arguments added to go on in a session; {session} stands for its id */
  resume_args?: Array<string>;
  /** Arguments added to go on in the last session of the directory, for an agent that names no session */
  resume_last_args?: Array<string>;
  /** Regular expression whose first group is the session's id, for text output */
  session_pattern?: string;
  /** Settings of the agent itself, in its own format, for the loop's sessions only */
  settings?: Record<string, unknown>;
  /** Put behind the agent's own system prompt in the loop's sessions */
  system_prompt?: string;
  /** Arguments added if there is a system prompt; {system_prompt} stands for it */
  system_prompt_args?: Array<string>;
  /** Regular expression with the named groups input, output and cost, for text output; 2.7k is 2700 */
  usage_pattern?: string;
}

export interface CopilotLoopConfig {
  /** Exact string that signals task completion, e.g. <promise>COMPLETE</promise> */
  completion_promise?: string | null;
  /** Enable automatic loop until task completion */
  loop_enabled?: boolean | null;
  /** Maximum number of loop iterations */
  max_iterations?: number | null;
}

export interface EventRule {
  /** Tokens read from the cache */
  cache_read_tokens?: string;
  /** Tokens written to the cache */
  cache_write_tokens?: string;
  /** Cost of one request in US dollars; 0 is unknown */
  cost_usd?: string;
  /** List in the line; the other paths are then read in each of its items */
  each?: string;
  /** The line is the last of the turn: finished or failed. Without such a rule, exit code 0 is success */
  end?: "finished" | "failed";
  /** Message of an error; text or a tool call after it means that the agent recovered */
  error?: string;
  /** The provider's code of the error */
  error_code?: string;
  /** HTTP status of the error */
  error_status?: string;
  /** Whether input_tokens contains the cached tokens */
  input_has_cached?: boolean;
  /** Input tokens of one request */
  input_tokens?: string;
  /** Model that the figures are of */
  model?: string;
  /** Output tokens of one request */
  output_tokens?: string;
  /** Reasoning tokens of one request, if the output does not contain them */
  reasoning_tokens?: string;
  /** ID of the agent's session */
  session?: string;
  /** A whole message of the agent */
  text?: string;
  /** A part of a message */
  text_part?: string;
  /** What the agent thinks */
  thinking?: string;
  /** Name of a tool that the agent calls */
  tool?: string;
  /** Whether it failed: true, or a text */
  tool_failed?: string;
  /** ID of a call or of its result */
  tool_id?: string;
  /** Input of that call */
  tool_input?: string;
  /** What a tool returned */
  tool_result?: string;
  /** Values by path that a line must have; * is any, text* any that starts so, and an empty text none. Paths are like message.content.0.text; -1 is the last item */
  when?: Record<string, string>;
}

export interface McpServer {
  /** Its arguments */
  args?: Array<string>;
  /** The program; it talks over its stdin and stdout */
  command: string;
  /** Environment variables for it */
  env?: Record<string, string>;
}

export interface ModelPrice {
  /** The same for cached input; as input if unset */
  cache_read?: number;
  /** The same for filling the cache; as input if unset */
  cache_write?: number;
  /** US dollars per million tokens of input */
  input: number;
  /** The same for output */
  output: number;
  /** The same for reasoning; as output if unset */
  reasoning?: number;
}

export interface ProfilePlaces {
  /** Settings: the agent gets copies */
  copy?: Array<string>;
  /** Its directory, if neither config_dir nor the variable names another; ~/ is your home */
  dir?: string;
  /** Directories below it that stay after a turn, such as sessions: writable. "" is all of it */
  keep?: Array<string>;
  /** Files of the login: writable */
  login?: Array<string>;
  /** Read-only */
  show?: Array<string>;
  /** Environment variable that names another directory; set if the profile has config_dir */
  variable?: string;
  /** What it writes for itself at the top of the workspace, never committed: names, or beginnings of names with a * */
  workspace?: Array<string>;
}
