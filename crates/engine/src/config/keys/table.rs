//! The table of settings.
//!
//! `docs/how-to/add-a-setting.md` says what each part of a row means.

use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, OnLimit, OnRateLimit, SessionPolicy, Verify};
use windlass_core::summary::{Protocol, SummariserKind};

use super::flag::{AGENT, Completes, DONE, Flag, LIMITS, WORKSPACE};
use crate::config::values::amounts::{
    Days, Iterations, Millis, Percent, Processes, Returns, Size, Slots, Tokens, Usd, Wait, Weight,
};
use crate::config::values::gates::Gates;
use crate::config::values::lists::{Commands, Files, Folders, Globs, Hosts, Locations, Names, Occasions, Wishes};
use crate::config::values::value::Promise;
use crate::config::values::wake::Wake;
use crate::config::values::words::{BranchTemplate, Sandbox};

settings! {
    agent: String {
        unset: "the first installed one",
        flag: Flag::plain(AGENT).completes(Completes::Agents).help("Agent to run, by profile name"),
        project: Harmless,
        doc: "Agent to run: the name of a profile",
    }
    recipe: String {
        unset: "promise",
        flag: Flag::plain(DONE).completes(Completes::Recipes).help(
            "Recipe: a named set of defaults [default: promise, or refine with --iter or --time]",
        ),
        project: Harmless,
        doc: "Recipe: a named set of defaults for a loop",
    }
    model: String {
        unset: "the agent's default",
        flag: Flag::plain(AGENT),
        project: Harmless,
        doc: "Model to use, if the agent's command contains {model}",
    }
    fallbacks: Wishes {
        unset: "none",
        flag: Flag::each("A[:M]", AGENT).named("--fallback").completes(Completes::Agents).help(
            "Agent to fall back to if the agent or model fails permanently, as agent or agent:model. Repeatable",
        ),
        project: Harmless,
        doc: "Agents to fall back to, in this order, if the agent or model fails permanently, as agent or agent:model",
    }
    reviewer: String {
        unset: "the same agent, in a separate session",
        flag: Flag::value("A[:M]", AGENT).completes(Completes::Agents).help(
            "Agent that reviews the work in the audited and milestone recipes",
        ),
        project: Harmless,
        doc: "Agent that reviews the work in the audited and milestone recipes, as agent or agent:model",
    }
    reviewer_fallbacks: Wishes {
        unset: "none",
        project: Harmless,
        doc: "Agents that replace the reviewer, in this order, if it fails permanently",
    }
    reviewer_budget_usd: Usd {
        unset: "no separate limit",
        project: Harmless,
        doc: "Limit on the reviewer's cost in US dollars",
    }
    warnings_block: bool {
        unset: "false",
        flag: Flag::on(DONE).help("Block completion on open warnings, as on bugs (audited)"),
        project: Harmless,
        doc: "Whether open warnings block completion, as bugs do",
    }
    plan_first: bool {
        unset: "false",
        flag: Flag::on(DONE).conflicts(&["plan"]).help(
            "Have the agent write a plan first, in a separate turn (audited)",
        ),
        project: Harmless,
        doc: "Whether the agent first writes a plan in a separate turn, in the audited recipe without a plan",
    }
    human_review: bool {
        unset: "false",
        flag: Flag::on(DONE).help("Require your approval before the loop completes (audited, milestone)"),
        project: Harmless,
        doc: "Whether a reviewed loop needs your approval (windlass approve) before it completes",
    }
    auto_start: bool {
        unset: "false",
        project: Harmless,
        doc: "Whether 'windlass serve' starts the project's pending milestones automatically, one at a time",
    }
    wake: Wake {
        unset: "manual",
        project: Harmless,
        doc: "When 'windlass serve' looks for pending milestones, besides at startup: manual (whenever a milestone \
              ends), every 2h, times of day such as 09:00, 21:00, or a cron pattern",
    }
    recover: bool {
        unset: "true for milestones",
        project: Harmless,
        doc: "Whether 'windlass serve' resumes loops that were interrupted during a turn",
    }
    vision: String {
        unset: "VISION.md",
        project: Inside,
        doc: "File that describes the project's purpose, for the milestone recipe",
    }
    soul: String {
        unset: ".windlass/soul.md",
        project: Inside,
        doc: "File with the project's rules, quality bar, and red lines, for the milestone recipe",
    }
    memory: String {
        unset: ".windlass/memory.md",
        project: Inside,
        doc: "File with notes about the project, for the milestone recipe",
    }
    post_action: String {
        unset: "none",
        flag: Flag::value("TEXT", DONE).help("Task for the agent after the final review is clean (audited)"),
        doc: "Prompt for one more turn after the final review is clean",
    }
    post_action_skill: String {
        unset: "none",
        flag: Flag::value("NAME", DONE).help("Skill of the agent to use for the post-action (audited)"),
        doc: "Skill of the agent to use for the post-action",
    }
    max_iterations: Iterations {
        unset: "set by the recipe",
        flag: Flag::value("N", LIMITS).help("Limit the number of iterations, 1–100; 0 requires another limit"),
        project: Harmless,
        doc: "Limit on the number of iterations, including the first; 0 for none, which requires another limit",
    }
    duration: Millis {
        unset: "no limit",
        flag: Flag::value("D", LIMITS).help("Limit the loop's duration, such as 90m, even in the middle of a turn"),
        project: Harmless,
        doc: "Limit on a loop's total duration, even in the middle of a turn",
    }
    budget_usd: Usd {
        unset: "no limit",
        flag: Flag::value("X", LIMITS).help("Limit the cost in US dollars, if the agent reports its cost"),
        project: Harmless,
        doc: "Limit on a loop's total cost in US dollars",
    }
    max_tokens: Tokens {
        unset: "no limit",
        flag: Flag::value("N", LIMITS).help("Limit the number of tokens, if the agent reports its usage"),
        project: Harmless,
        doc: "Limit on a loop's total number of tokens",
    }
    on_limit: OnLimit {
        unset: "set by the recipe",
        flag: Flag::plain(LIMITS).help("When the loop hits a limit: stop, or pause until you raise the limit"),
        project: Harmless,
        doc: "What happens when a loop hits a limit: end it (stop), or pause it until you raise the limit (pause)",
    }
    on_rate_limit: OnRateLimit {
        default: "wait",
        flag: Flag::plain(LIMITS).help(
            "When the provider rate-limits the agent: wait for the reset, switch to the next --fallback, or pause",
        ),
        project: Harmless,
        spec: |spec, policy| spec.on_rate_limit = *policy,
        doc: "What happens when the provider rate-limits the agent: wait for the reset (wait), switch to the next \
              fallback, the last of which waits (fallback), or pause until you resume the loop (pause)",
    }
    question_wait: Wait {
        default: "0",
        flag: Flag::value("D", LIMITS).help(
            "How long a question of the agent waits for your answer (windlass answer) before Windlass takes its \
             default; 0 never waits",
        ),
        project: Harmless,
        spec: |spec, wait| spec.question_wait_ms = wait.get(),
        doc: "How long a question of the agent waits for your answer before its default is taken; 0 never waits",
    }
    completion_promise: Promise {
        default: "<promise>COMPLETE</promise>",
        flag: Flag::value("TEXT", DONE).conflicts(&["no_loop"]).help(
            "Exact text that the agent prints to claim to be done; empty for none",
        ),
        project: Harmless,
        doc: "Exact text that the agent prints to claim to be done; empty for none, so that only a limit ends the loop",
    }
    gates: Gates {
        default: "",
        flag: Flag::each("CMD", DONE).named("--gate").help(
            "Command that checks the work. Your shell runs it on a clean checkout of each commit; exit code 0 passes. \
             Repeatable",
        ),
        doc: "Commands that check the work; a claim is accepted only if all of them exit with 0. In a file, a gate can be a \
              table: { command, timeout, when = \"turn\" or \"claim\" }",
    }
    hidden_gates: Commands {
        default: "",
        flag: Flag::each("CMD", DONE).named("--hidden-gate").help(
            "Command that checks a completion claim after all gates pass. The agent sees only that a hidden gate \
             failed, and not the files that the command names by absolute path. Repeatable",
        ),
        project: Refused,
        doc: "Commands that check a completion claim after all other gates pass; agents and reviewers see only that one \
              failed. Not allowed in a project's file, which agents can read",
    }
    verify: Verify {
        default: "clean",
        flag: Flag::plain(DONE).help(
            "What gates start from: the commit and the set-up's output (clean), also earlier build output (warm), or, \
             to check a claim, only the commit (cold)",
        ),
        doc: "What gates start from: the commit and the set-up's output (clean), also build output of earlier gates \
              (warm), or, to check a claim, only the commit, with the set-up run again (cold)",
    }
    gate_timeout: Millis {
        default: "10m",
        flag: Flag::value("D", LIMITS),
        project: Harmless,
        doc: "Timeout for each gate",
    }
    baseline: bool {
        default: "true",
        flag: Flag::off(DONE).named("--no-baseline").help(
            "Do not run the gates on the base commit before the first turn",
        ),
        project: Harmless,
        doc: "Run the gates on the base commit before the first turn, to find gates that already fail or are flaky",
    }
    protect: Globs {
        default: "",
        flag: Flag::each("GLOB", DONE).help(
            "Protect paths from the agent, such as 'tests/**'. Windlass reverts and reports changes there. Repeatable",
        ),
        project: Harmless,
        spec: |spec, globs| spec.protect = globs.get().to_vec(),
        doc: "Paths in the repository that the agent may not change; Windlass reverts and reports changes there",
    }
    turn_timeout: Millis {
        unset: "set by the recipe",
        flag: Flag::value("D", LIMITS).help("Timeout for each turn [default: 60m]"),
        project: Harmless,
        doc: "Timeout for each turn",
    }
    stall_timeout: Millis {
        unset: "set by the recipe",
        flag: Flag::value("D", LIMITS).help("Timeout for an agent that produces no output [default: 5m]"),
        project: Harmless,
        doc: "How long an agent may produce no output before its turn counts as stalled",
    }
    session: SessionPolicy {
        unset: "set by the recipe",
        flag: Flag::plain(AGENT).help(
            "Resume the agent's session, start a fresh one each turn, or keep one process alive",
        ),
        project: Harmless,
        doc: "Whether turns resume the agent's session (resume), start a new session each (fresh), or share one process (keep_alive)",
    }
    commit: CommitPolicy {
        unset: "set by the recipe",
        flag: Flag::plain(WORKSPACE).help(
            "Who makes commits: Windlass (engine), the agent, or nobody (off) [default: engine]",
        ),
        project: Harmless,
        doc: "Who makes commits: Windlass (engine), the agent, or nobody (off)",
    }
    branch: BranchTemplate {
        default: "windlass/{name}",
        flag: Flag::value("NAME", WORKSPACE).help("Branch to work on"),
        project: Harmless,
        doc: "Branch that a loop works on; {name} is replaced by the loop's name",
    }
    in_place: bool {
        default: "false",
        flag: Flag::on(WORKSPACE).conflicts(&["branch", "base"]).help(
            "Work in this checkout, on its current branch. Requires a clean tree",
        ),
        doc: "Work in your checkout instead of a separate workspace",
    }
    setup: Commands {
        default: "",
        flag: Flag::each("CMD", WORKSPACE).conflicts(&["in_place"]).help(
            "Command that installs the project's dependencies. Runs once on the base commit; gates and the agent get \
             a copy of its output. Repeatable",
        ),
        doc: "Commands that install the project's dependencies; your shell runs them once on the base commit, and gates and \
              the agent get a copy of their output",
    }
    setup_credentials: bool {
        default: "false",
        doc: "Let the set-up on the base commit use your logins for package registries, such as ~/.npmrc. Agents, gates and \
              a set-up on a later commit never get them",
    }
    copy: Files {
        default: "",
        flag: Flag::each("PATH", WORKSPACE).conflicts(&["in_place"]).help(
            "Copy an untracked file or directory, such as .env, from this checkout to the workspace. Repeatable",
        ),
        doc: "Untracked files and directories, such as .env, to copy from your checkout for gates and the agent; never \
              committed",
    }
    secrets_allow: Globs {
        default: "",
        spec: |spec, globs| spec.secrets_allow = globs.get().to_vec(),
        doc: "Paths in the repository that may contain what looks like a secret, such as tests/fixtures/*; Windlass commits \
              changes there",
    }
    env_pass: Names {
        default: "",
        flag: Flag::each("NAME", AGENT).help(
            "Pass an extra environment variable to agents and gates, such as DATABASE_URL or AWS_*. Repeatable",
        ),
        spec: |spec, names| spec.env_pass = names.get().to_vec(),
        doc: "Environment variables to pass to agents, gates, and other commands in addition to PATH, HOME, and the like: \
              names, or prefixes such as AWS_*",
    }
    sandbox: Sandbox {
        default: "auto",
        flag: Flag::value("LEVEL", AGENT).help(
            "Sandbox level for the agent and gates. `auto` uses `workspace` if the machine supports it",
        ),
        doc: "Sandbox level for agents and gates: workspace (can write only there and in listed paths, cannot read keys), \
              read-only (cannot write the workspace either), docker (a container from docker_image), or off. auto uses workspace; it uses off only if this machine supports no sandbox and you accepted that once for the repository",
    }
    docker_image: String {
        unset: "none",
        flag: Flag::value("IMAGE", AGENT).help("Image for --sandbox docker. It must already be on this machine"),
        doc: "Image for sandbox = \"docker\". It must already be on this machine and contain the agent and everything the gates \
              need",
    }
    docker_host: String {
        unset: "DOCKER_HOST, or Docker's default socket",
        doc: "Unix socket of Docker, such as unix:///var/run/docker.sock",
    }
    network: NetworkAccess {
        default: "allow",
        flag: Flag::plain(AGENT).help(
            "Network access: allow all, deny all, or only the hosts given with --network-host. deny and list require \
             a sandbox",
        ),
        doc: "Network access in the sandbox: allow all (allow), deny all (deny), or only network_hosts (list)",
    }
    network_hosts: Hosts {
        default: "@models\n@registries",
        flag: Flag::each("HOST", AGENT).named("--network-host").help(
            "Host to allow with --network list: example.org, *.example.org, a.org:8443, @models, or @registries. \
             Repeatable",
        ),
        doc: "Hosts to allow with network = \"list\": example.org, example.org:8443, *.example.org, an IP address, or the \
              predefined lists @models and @registries",
    }
    sandbox_readable: Locations {
        unset: "none",
        doc: "Paths that the sandbox may read although they are denied by default, such as ~/.aws",
    }
    sandbox_writable: Locations {
        unset: "none",
        doc: "Paths that the sandbox may write, in addition to the workspace, the agent's own files, and tool caches",
    }
    sandbox_denied: Locations {
        unset: "none",
        doc: "Paths to hide in the sandbox, in addition to keys, logins, browser data, and Windlass's data",
    }
    sandbox_sockets: Locations {
        unset: "none",
        doc: "Unix sockets of services that agents and gates in the sandbox may connect to, such as \
              /run/postgresql/.s.PGSQL.5432",
    }
    memory_limit: Size {
        unset: "80% of the machine's memory",
        flag: Flag::value("SIZE", LIMITS).help(
            "Limit the total memory of the loop's processes, such as 8GiB; 0 for no limit [default: 80% of the \
             machine's]",
        ),
        doc: "Limit on the total memory of a loop's processes; the system kills processes above it",
    }
    process_limit: Processes {
        unset: "a quarter of the machine's limit, at most 16384",
        flag: Flag::value("N", LIMITS).help(
            "Limit the number of processes and threads [default: a quarter of the machine's limit]",
        ),
        doc: "Limit on the number of a loop's processes and threads",
    }
    cpu_weight: Weight {
        default: "100",
        flag: Flag::value("N", LIMITS).help("CPU weight relative to other processes, 1–10000"),
        doc: "CPU weight of a loop; other processes have 100",
    }
    disk_limit: Size {
        unset: "no limit",
        flag: Flag::value("SIZE", LIMITS).help(
            "Limit the disk usage of the workspace and temporary files, such as 20GiB",
        ),
        doc: "Limit on the disk usage of a loop's workspace and temporary files; above it, Windlass stops the turn and pauses the loop",
    }
    disk_free: Size {
        unset: "1GiB, or 5% of a small disk",
        doc: "Free disk space to keep on the disks of the workspace and Windlass's data; below it, Windlass stops the turn and \
              pauses the loop",
    }
    plan: String {
        unset: "the newest one in plan_dirs",
        flag: Flag::value("FILE", DONE).help(
            "Plan file (refine, audited) [default: the newest *.md in .windlass/plans and .claude/plans]",
        ),
        project: Inside,
        doc: "Plan file for the refine recipe; Windlass reads it once, at the start of the loop",
    }
    plan_dirs: Folders {
        default: ".windlass/plans\n.claude/plans",
        project: Inside,
        doc: "Directories to search for a plan if none is given; the newest *.md file wins",
    }
    context_tokens: Tokens {
        default: "8000",
        project: Harmless,
        doc: "Limit in tokens on the part of a prompt that describes earlier iterations to a fresh session",
    }
    summariser: SummariserKind {
        default: "deterministic",
        flag: Flag::value("WHO", AGENT).help("How to summarize each iteration"),
        project: Harmless,
        doc: "How to summarize each iteration: without a model (deterministic), with the agent, or with a model API (endpoint)",
    }
    summariser_agent: String {
        unset: "the loop's agent",
        project: Harmless,
        doc: "Agent that writes summaries if summariser = \"agent\", as agent or agent:model",
    }
    summariser_url: String {
        unset: "none",
        doc: "Base URL of the endpoint, such as https://api.openai.com/v1 or a local server",
    }
    summariser_model: String {
        unset: "none",
        project: Harmless,
        doc: "Model to request from the endpoint",
    }
    summariser_protocol: Protocol {
        default: "openai",
        project: Harmless,
        doc: "Protocol of the endpoint: openai (also most local servers) or anthropic",
    }
    summariser_key_env: String {
        unset: "none",
        doc: "Environment variable that contains the endpoint's API key; Windlass never stores the key",
    }
    summariser_timeout: Millis {
        default: "1m",
        project: Harmless,
        doc: "Timeout for each request to the endpoint",
    }
    generate_summary: bool {
        default: "true",
        project: Harmless,
        doc: "Whether the summariser writes summaries; if false, it writes only commit messages",
    }
    summary_max_tokens: Tokens {
        default: "500",
        project: Harmless,
        doc: "Limit on the length of a summary, in tokens",
    }
    commit_message_model: String {
        unset: "the summariser's",
        project: Harmless,
        doc: "Model that writes commit messages",
    }
    retention_days: Days {
        default: "14",
        project: Harmless,
        doc: "Days to keep the workspace of a merged loop before 'windlass clean' removes it",
    }
    follow_up: String {
        unset: "\"continue\" in the configured language",
        project: Harmless,
        doc: "Word that ends the prompt of a turn that resumes the agent's session",
    }
    language: String {
        unset: "the locale's",
        project: Harmless,
        doc: "Language of the follow-up word, such as en or zh-Hant",
    }
    notify_command: String {
        unset: "none",
        doc: "Command that your shell runs to notify you about a loop, with the message as JSON on standard input",
    }
    notify_webhook: String {
        unset: "none",
        doc: "HTTP or HTTPS URL to post notifications to",
    }
    notify_webhook_secret_env: String {
        unset: "none (not signed)",
        doc: "Environment variable that contains the secret for signing webhook messages; Windlass never stores the secret",
    }
    notify_desktop: bool {
        default: "false",
        project: Harmless,
        doc: "Show desktop notifications with notify-send or osascript, if available",
    }
    notify_on: Occasions {
        default: "needs_person\ncompleted\nstopped",
        project: Harmless,
        doc: "Events to notify about: needs_person, completed, stopped (ended in any other way), waiting",
    }
    merge_returns: Returns {
        default: "2",
        project: Harmless,
        doc: "How often the merge queue gives a loop with a conflict back to its agent",
    }
    max_running: Slots {
        default: "8",
        project: Harmless,
        doc: "Maximum number of loops that run at once, however they are started; the rest are queued",
    }
    queue_per_project: Slots {
        default: "2",
        project: Harmless,
        doc: "Maximum number of goals of the queue that run at once in one project",
    }
    queue_per_account: Slots {
        default: "2",
        project: Harmless,
        doc: "Maximum number of goals of the queue that run at once with one agent",
    }
    queue_tokens_per_hour: Tokens {
        unset: "none",
        project: Harmless,
        doc: "Tokens that one agent's account has for an hour. Once goals of the queue have used that, less queue_keep, no further one starts",
    }
    queue_usd_per_hour: Usd {
        unset: "none",
        project: Harmless,
        doc: "The same in US dollars, for agents that report their cost",
    }
    queue_merge: bool {
        default: "false",
        project: Harmless,
        doc: "Hand verified goals of the queue to the merge queue. Goals that depend on them start when they are merged",
    }
    queue_keep: Percent {
        default: "20%",
        project: Harmless,
        doc: "Part of queue_tokens_per_hour and queue_usd_per_hour that the queue leaves to you",
    }
}
