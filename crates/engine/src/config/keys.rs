//! The table of settings: each key once, with its type, variable, flag, default, and help text.
//!
//! The layers, the resolved settings, the schema, and the documented variables are all generated from this table, so
//! they cannot disagree about a key.

use std::collections::BTreeMap;

use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, OnLimit, OnRateLimit, SessionPolicy, Verify};
use windlass_core::summary::{Protocol, SummariserKind};

use super::amounts::{Days, Iterations, Millis, Percent, Processes, Returns, Size, Slots, Tokens, Usd, Wait, Weight};
use super::gates::Gates;
use super::lists::{Commands, Files, Folders, Globs, Hosts, Locations, Names, Occasions, Wishes};
use super::origin::{Layer, Setting, Shown};
use super::profiles::Profile;
use super::recipe::{Recipe, Recipes};
use super::value::{Promise, Value, ValueError};
use super::wake::Wake;
use super::words::{BranchTemplate, MergeBy, Sandbox};

/// One setting, as people know it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    /// The environment variable that sets it.
    pub env: &'static str,
    /// The flag that sets it, where there is one.
    pub flag: Option<&'static str>,
    /// The default, in words.
    pub default: &'static str,
    pub doc: &'static str,
    /// What a value must be, in words.
    pub expected: &'static str,
    /// An example value in TOML syntax.
    pub example: &'static str,
    /// Its JSON Schema.
    pub schema: fn() -> serde_json::Value,
}

/// Settings that are not allowed in a project's file, because agents can read that file.
pub const NOT_IN_PROJECT: [&str; 1] = ["hidden_gates"];

/// Why a value in a file is invalid.
#[derive(Debug)]
pub(super) enum Misread {
    Type,
    Value(ValueError),
}

macro_rules! settings {
    ($($key:ident: $type:ty {
        env: $env:literal, flag: $flag:expr, default: $default:literal, doc: $doc:literal $(,)?
    })*) => {
        /// Every setting.
        pub const KEYS: &[Key] = &[$(Key {
            name: stringify!($key),
            env: $env,
            flag: $flag,
            default: $default,
            doc: $doc,
            expected: <$type as Value>::EXPECTED,
            example: <$type as Value>::EXAMPLE,
            schema: <$type as Value>::schema,
        }),*];

        /// The settings of one layer; `None` if the layer does not set a key.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Options {
            $(#[doc = $doc] pub $key: Option<$type>,)*
        }

        /// The resolved settings, each value with its origin.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Settings {
            $(#[doc = $doc] pub $key: Setting<$type>,)*
            /// All agent profiles, by name.
            pub agents: BTreeMap<String, Profile>,
            /// Warnings about ignored input.
            pub warnings: Vec<String>,
            /// The project's file, as it was read.
            pub project_text: Option<String>,
            /// Every recipe that can be named.
            pub recipes: Recipes,
            /// The recipe that is in use; none if it is not known.
            pub in_use: Option<Recipe>,
        }

        impl Options {
            /// Reads a value from a file. The key must be in the table.
            pub(super) fn read_toml(&mut self, key: &str, value: &toml_edit::Value) -> Result<(), Misread> {
                match key {
                    $(stringify!($key) => match <$type as Value>::from_toml(value) {
                        Some(read) => self.$key = Some(read.map_err(Misread::Value)?),
                        None => return Err(Misread::Type),
                    },)*
                    other => unreachable!("`{other}` is not in the table of settings"),
                }
                Ok(())
            }

            /// This layer as JSON, in the format that `from_json` reads.
            pub fn to_json(&self) -> BTreeMap<String, serde_json::Value> {
                let mut said = BTreeMap::new();
                $(if let Some(value) = &self.$key {
                    said.insert(stringify!($key).to_owned(), Value::json(value));
                })*
                said
            }

            /// Reads a value from the environment. The key must be in the table.
            pub(super) fn read_text(&mut self, key: &str, text: &str) -> Result<(), ValueError> {
                match key {
                    $(stringify!($key) => self.$key = Some(<$type as Value>::from_text(text)?),)*
                    other => unreachable!("`{other}` is not in the table of settings"),
                }
                Ok(())
            }
        }

        impl Settings {
            /// Applies a higher layer.
            pub(super) fn overlay(&mut self, mut layer: Layer) {
                let mut keys = KEYS.iter();
                $({
                    let key = keys.next().unwrap_or_else(|| unreachable!("the table has every key"));
                    if let Some(value) = layer.options.$key.take() {
                        self.$key = Setting { value: Some(value), origin: layer.origin(key) };
                    }
                })*
            }

            fn show_keys(&self) -> Vec<Shown> {
                let mut keys = KEYS.iter();
                vec![$({
                    let key = keys.next().unwrap_or_else(|| unreachable!("the table has every key"));
                    Shown {
                        key: key.name.to_owned(),
                        value: self.$key.value.as_ref().map_or(serde_json::Value::Null, Value::json),
                        unset: key.default,
                        origin: self.$key.origin.clone(),
                    }
                }),*]
            }
        }
    };
}

impl Settings {
    /// Every setting with its value and origin; agent profiles come last.
    pub fn show(&self) -> Vec<Shown> {
        let mut shown = self.show_keys();
        for (name, profile) in &self.agents {
            shown.extend(profile.show(name));
        }
        shown
    }
}

settings! {
    agent: String {
        env: "WINDLASS_AGENT", flag: Some("--agent"), default: "the first installed one",
        doc: "Agent to run: the name of a profile",
    }
    recipe: String {
        env: "WINDLASS_RECIPE", flag: Some("--recipe"), default: "promise",
        doc: "Recipe: a named set of defaults for a loop",
    }
    model: String {
        env: "WINDLASS_MODEL", flag: Some("--model"), default: "the agent's default",
        doc: "Model to use, if the agent's command contains {model}",
    }
    fallbacks: Wishes {
        env: "WINDLASS_FALLBACKS", flag: Some("--fallback"), default: "none",
        doc: "Agents to fall back to, in this order, if the agent or model fails permanently, as agent or agent:model",
    }
    reviewer: String {
        env: "WINDLASS_REVIEWER", flag: Some("--reviewer"), default: "the same agent, in a separate session",
        doc: "Agent that reviews the work in the audited and milestone recipes, as agent or agent:model",
    }
    reviewer_fallbacks: Wishes {
        env: "WINDLASS_REVIEWER_FALLBACKS", flag: None, default: "none",
        doc: "Agents that replace the reviewer, in this order, if it fails permanently",
    }
    reviewer_budget_usd: Usd {
        env: "WINDLASS_REVIEWER_BUDGET_USD", flag: None, default: "no separate limit",
        doc: "Limit on the reviewer's cost in US dollars",
    }
    warnings_block: bool {
        env: "WINDLASS_WARNINGS_BLOCK", flag: Some("--warnings-block"), default: "false",
        doc: "Whether open warnings block completion, as bugs do",
    }
    plan_first: bool {
        env: "WINDLASS_PLAN_FIRST", flag: Some("--plan-first"), default: "false",
        doc: "Whether the agent first writes a plan in a separate turn, in the audited recipe without a plan",
    }
    human_review: bool {
        env: "WINDLASS_HUMAN_REVIEW", flag: Some("--human-review"), default: "false",
        doc: "Whether a reviewed loop needs your approval (windlass approve) before it completes",
    }
    auto_start: bool {
        env: "WINDLASS_AUTO_START", flag: None, default: "false",
        doc: "Whether 'windlass serve' starts the project's pending milestones automatically, one at a time",
    }
    wake: Wake {
        env: "WINDLASS_WAKE", flag: None, default: "manual",
        doc: "When 'windlass serve' looks for pending milestones, besides at startup: manual (whenever a milestone \
              ends), every 2h, times of day such as 09:00, 21:00, or a cron pattern",
    }
    recover: bool {
        env: "WINDLASS_RECOVER", flag: None, default: "true for milestones",
        doc: "Whether 'windlass serve' resumes loops that were interrupted during a turn",
    }
    vision: String {
        env: "WINDLASS_VISION", flag: None, default: "VISION.md",
        doc: "File that describes the project's purpose, for the milestone recipe",
    }
    soul: String {
        env: "WINDLASS_SOUL", flag: None, default: ".windlass/soul.md",
        doc: "File with the project's rules, quality bar, and red lines, for the milestone recipe",
    }
    memory: String {
        env: "WINDLASS_MEMORY", flag: None, default: ".windlass/memory.md",
        doc: "File with notes about the project, for the milestone recipe",
    }
    post_action: String {
        env: "WINDLASS_POST_ACTION", flag: Some("--post-action"), default: "none",
        doc: "Prompt for one more turn after the final review is clean",
    }
    post_action_skill: String {
        env: "WINDLASS_POST_ACTION_SKILL", flag: Some("--post-action-skill"), default: "none",
        doc: "Skill of the agent to use for the post-action",
    }
    max_iterations: Iterations {
        env: "WINDLASS_MAX_ITERATIONS", flag: Some("--max-iterations"), default: "set by the recipe",
        doc: "Limit on the number of iterations, including the first; 0 for none, which requires another limit",
    }
    duration: Millis {
        env: "WINDLASS_DURATION", flag: Some("--duration"), default: "no limit",
        doc: "Limit on a loop's total duration, even in the middle of a turn",
    }
    budget_usd: Usd {
        env: "WINDLASS_BUDGET_USD", flag: Some("--budget-usd"), default: "no limit",
        doc: "Limit on a loop's total cost in US dollars",
    }
    max_tokens: Tokens {
        env: "WINDLASS_MAX_TOKENS", flag: Some("--max-tokens"), default: "no limit",
        doc: "Limit on a loop's total number of tokens",
    }
    on_limit: OnLimit {
        env: "WINDLASS_ON_LIMIT", flag: Some("--on-limit"), default: "set by the recipe",
        doc: "What happens when a loop hits a limit: end it (stop), or pause it until you raise the limit (pause)",
    }
    on_rate_limit: OnRateLimit {
        env: "WINDLASS_ON_RATE_LIMIT", flag: Some("--on-rate-limit"), default: "wait",
        doc: "What happens when the provider rate-limits the agent: wait for the reset (wait), switch to the next \
              fallback, the last of which waits (fallback), or pause until you resume the loop (pause)",
    }
    question_wait: Wait {
        env: "WINDLASS_QUESTION_WAIT", flag: Some("--question-wait"), default: "0",
        doc: "How long a question of the agent waits for your answer before its default is taken; 0 never waits",
    }
    completion_promise: Promise {
        env: "WINDLASS_COMPLETION_PROMISE", flag: Some("--completion-promise"),
        default: "<promise>COMPLETE</promise>",
        doc: "Exact text that the agent prints to claim to be done; empty for none, so that only a limit ends the loop",
    }
    gates: Gates {
        env: "WINDLASS_GATES", flag: Some("--gate"), default: "none",
        doc: "Commands that check the work; a claim is accepted only if all of them exit with 0. In a file, a gate can be a \
              table: { command, timeout, when = \"turn\" or \"claim\" }",
    }
    hidden_gates: Commands {
        env: "WINDLASS_HIDDEN_GATES", flag: Some("--hidden-gate"), default: "none",
        doc: "Commands that check a completion claim after all other gates pass; agents and reviewers see only that one \
              failed. Not allowed in a project's file, which agents can read",
    }
    verify: Verify {
        env: "WINDLASS_VERIFY", flag: Some("--verify"), default: "clean",
        doc: "What gates start from: the commit and the set-up's output (clean), also build output of earlier gates \
              (warm), or, to check a claim, only the commit, with the set-up run again (cold)",
    }
    gate_timeout: Millis {
        env: "WINDLASS_GATE_TIMEOUT", flag: Some("--gate-timeout"), default: "10m",
        doc: "Timeout for each gate",
    }
    baseline: bool {
        env: "WINDLASS_BASELINE", flag: Some("--no-baseline"), default: "true",
        doc: "Run the gates on the base commit before the first turn, to find gates that already fail or are flaky",
    }
    protect: Globs {
        env: "WINDLASS_PROTECT", flag: Some("--protect"), default: "none",
        doc: "Paths in the repository that the agent may not change; Windlass reverts and reports changes there",
    }
    turn_timeout: Millis {
        env: "WINDLASS_TURN_TIMEOUT", flag: Some("--turn-timeout"), default: "set by the recipe",
        doc: "Timeout for each turn",
    }
    stall_timeout: Millis {
        env: "WINDLASS_STALL_TIMEOUT", flag: Some("--stall-timeout"), default: "set by the recipe",
        doc: "How long an agent may produce no output before its turn counts as stalled",
    }
    session: SessionPolicy {
        env: "WINDLASS_SESSION", flag: Some("--session"), default: "set by the recipe",
        doc: "Whether turns resume the agent's session (resume), start a new session each (fresh), or share one process (keep_alive)",
    }
    commit: CommitPolicy {
        env: "WINDLASS_COMMIT", flag: Some("--commit"), default: "set by the recipe",
        doc: "Who makes commits: Windlass (engine), the agent, or nobody (off)",
    }
    branch: BranchTemplate {
        env: "WINDLASS_BRANCH", flag: Some("--branch"), default: "windlass/{name}",
        doc: "Branch that a loop works on; {name} is replaced by the loop's name",
    }
    in_place: bool {
        env: "WINDLASS_IN_PLACE", flag: Some("--in-place"), default: "false",
        doc: "Work in your checkout instead of a separate workspace",
    }
    setup: Commands {
        env: "WINDLASS_SETUP", flag: Some("--setup"), default: "none",
        doc: "Commands that install the project's dependencies; your shell runs them once on the base commit, and gates and \
              the agent get a copy of their output",
    }
    setup_credentials: bool {
        env: "WINDLASS_SETUP_CREDENTIALS", flag: None, default: "false",
        doc: "Let the set-up on the base commit use your logins for package registries, such as ~/.npmrc. Agents, gates and \
              a set-up on a later commit never get them",
    }
    copy: Files {
        env: "WINDLASS_COPY", flag: Some("--copy"), default: "none",
        doc: "Untracked files and directories, such as .env, to copy from your checkout for gates and the agent; never \
              committed",
    }
    secrets_allow: Globs {
        env: "WINDLASS_SECRETS_ALLOW", flag: None, default: "none",
        doc: "Paths in the repository that may contain what looks like a secret, such as tests/fixtures/*; Windlass commits \
              changes there",
    }
    env_pass: Names {
        env: "WINDLASS_ENV_PASS", flag: Some("--env-pass"), default: "none",
        doc: "Environment variables to pass to agents, gates, and other commands in addition to PATH, HOME, and the like: \
              names, or prefixes such as AWS_*",
    }
    sandbox: Sandbox {
        env: "WINDLASS_SANDBOX", flag: Some("--sandbox"), default: "auto",
        doc: "Sandbox level for agents and gates: workspace (can write only there and in listed paths, cannot read keys), \
              read-only (cannot write the workspace either), docker (a container from docker_image), or off. auto uses workspace; it uses off only if this machine supports no sandbox and you accepted that once for the repository",
    }
    docker_image: String {
        env: "WINDLASS_DOCKER_IMAGE", flag: Some("--docker-image"), default: "none",
        doc: "Image for sandbox = \"docker\". It must already be on this machine and contain the agent and everything the gates \
              need",
    }
    docker_host: String {
        env: "WINDLASS_DOCKER_HOST", flag: None, default: "DOCKER_HOST, or Docker's default socket",
        doc: "Unix socket of Docker, such as unix:///var/run/docker.sock",
    }
    network: NetworkAccess {
        env: "WINDLASS_NETWORK", flag: Some("--network"), default: "allow",
        doc: "Network access in the sandbox: allow all (allow), deny all (deny), or only network_hosts (list)",
    }
    network_hosts: Hosts {
        env: "WINDLASS_NETWORK_HOSTS", flag: Some("--network-host"), default: "@models and @registries",
        doc: "Hosts to allow with network = \"list\": example.org, example.org:8443, *.example.org, an IP address, or the \
              predefined lists @models and @registries",
    }
    sandbox_readable: Locations {
        env: "WINDLASS_SANDBOX_READABLE", flag: None, default: "none",
        doc: "Paths that the sandbox may read although they are denied by default, such as ~/.aws",
    }
    sandbox_writable: Locations {
        env: "WINDLASS_SANDBOX_WRITABLE", flag: None, default: "none",
        doc: "Paths that the sandbox may write, in addition to the workspace, the agent's own files, and tool caches",
    }
    sandbox_denied: Locations {
        env: "WINDLASS_SANDBOX_DENIED", flag: None, default: "none",
        doc: "Paths to hide in the sandbox, in addition to keys, logins, browser data, and Windlass's data",
    }
    sandbox_sockets: Locations {
        env: "WINDLASS_SANDBOX_SOCKETS", flag: None, default: "none",
        doc: "Unix sockets of services that agents and gates in the sandbox may connect to, such as \
              /run/postgresql/.s.PGSQL.5432",
    }
    memory_limit: Size {
        env: "WINDLASS_MEMORY_LIMIT", flag: Some("--memory-limit"), default: "80% of the machine's memory",
        doc: "Limit on the total memory of a loop's processes; the system kills processes above it",
    }
    process_limit: Processes {
        env: "WINDLASS_PROCESS_LIMIT", flag: Some("--process-limit"),
        default: "a quarter of the machine's limit, at most 16384",
        doc: "Limit on the number of a loop's processes and threads",
    }
    cpu_weight: Weight {
        env: "WINDLASS_CPU_WEIGHT", flag: Some("--cpu-weight"), default: "100",
        doc: "CPU weight of a loop; other processes have 100",
    }
    disk_limit: Size {
        env: "WINDLASS_DISK_LIMIT", flag: Some("--disk-limit"), default: "no limit",
        doc: "Limit on the disk usage of a loop's workspace and temporary files; above it, Windlass stops the turn and pauses the loop",
    }
    disk_free: Size {
        env: "WINDLASS_DISK_FREE", flag: None, default: "1GiB, or 5% of a small disk",
        doc: "Free disk space to keep on the disks of the workspace and Windlass's data; below it, Windlass stops the turn and \
              pauses the loop",
    }
    plan: String {
        env: "WINDLASS_PLAN", flag: Some("--plan"), default: "the newest one in plan_dirs",
        doc: "Plan file for the refine recipe; Windlass reads it once, at the start of the loop",
    }
    plan_dirs: Folders {
        env: "WINDLASS_PLAN_DIRS", flag: None, default: ".windlass/plans and .claude/plans",
        doc: "Directories to search for a plan if none is given; the newest *.md file wins",
    }
    context_tokens: Tokens {
        env: "WINDLASS_CONTEXT_TOKENS", flag: None, default: "8000",
        doc: "Limit in tokens on the part of a prompt that describes earlier iterations to a fresh session",
    }
    summariser: SummariserKind {
        env: "WINDLASS_SUMMARISER", flag: Some("--summariser"), default: "deterministic",
        doc: "How to summarize each iteration: without a model (deterministic), with the agent, or with a model API (endpoint)",
    }
    summariser_agent: String {
        env: "WINDLASS_SUMMARISER_AGENT", flag: None, default: "the loop's agent",
        doc: "Agent that writes summaries if summariser = \"agent\", as agent or agent:model",
    }
    summariser_url: String {
        env: "WINDLASS_SUMMARISER_URL", flag: None, default: "none",
        doc: "Base URL of the endpoint, such as https://api.openai.com/v1 or a local server",
    }
    summariser_model: String {
        env: "WINDLASS_SUMMARISER_MODEL", flag: None, default: "none",
        doc: "Model to request from the endpoint",
    }
    summariser_protocol: Protocol {
        env: "WINDLASS_SUMMARISER_PROTOCOL", flag: None, default: "openai",
        doc: "Protocol of the endpoint: openai (also most local servers) or anthropic",
    }
    summariser_key_env: String {
        env: "WINDLASS_SUMMARISER_KEY_ENV", flag: None, default: "none",
        doc: "Environment variable that contains the endpoint's API key; Windlass never stores the key",
    }
    summariser_timeout: Millis {
        env: "WINDLASS_SUMMARISER_TIMEOUT", flag: None, default: "1m",
        doc: "Timeout for each request to the endpoint",
    }
    generate_summary: bool {
        env: "WINDLASS_GENERATE_SUMMARY", flag: None, default: "true",
        doc: "Whether the summariser writes summaries; if false, it writes only commit messages",
    }
    summary_max_tokens: Tokens {
        env: "WINDLASS_SUMMARY_MAX_TOKENS", flag: None, default: "500",
        doc: "Limit on the length of a summary, in tokens",
    }
    commit_message_model: String {
        env: "WINDLASS_COMMIT_MESSAGE_MODEL", flag: None, default: "the summariser's",
        doc: "Model that writes commit messages",
    }
    retention_days: Days {
        env: "WINDLASS_RETENTION_DAYS", flag: None, default: "14",
        doc: "Days to keep the workspace of a merged loop before 'windlass clean' removes it",
    }
    follow_up: String {
        env: "WINDLASS_FOLLOW_UP", flag: None, default: "\"continue\" in the configured language",
        doc: "Word that ends the prompt of a turn that resumes the agent's session",
    }
    language: String {
        env: "WINDLASS_LANGUAGE", flag: None, default: "the locale's",
        doc: "Language of the follow-up word, such as en or zh-Hant",
    }
    notify_command: String {
        env: "WINDLASS_NOTIFY_COMMAND", flag: None, default: "none",
        doc: "Command that your shell runs to notify you about a loop, with the message as JSON on standard input",
    }
    notify_webhook: String {
        env: "WINDLASS_NOTIFY_WEBHOOK", flag: None, default: "none",
        doc: "HTTP or HTTPS URL to post notifications to",
    }
    notify_webhook_secret_env: String {
        env: "WINDLASS_NOTIFY_WEBHOOK_SECRET_ENV", flag: None, default: "none (not signed)",
        doc: "Environment variable that contains the secret for signing webhook messages; Windlass never stores the secret",
    }
    notify_desktop: bool {
        env: "WINDLASS_NOTIFY_DESKTOP", flag: None, default: "false",
        doc: "Show desktop notifications with notify-send or osascript, if available",
    }
    notify_on: Occasions {
        env: "WINDLASS_NOTIFY_ON", flag: None, default: "needs_person, completed, and stopped",
        doc: "Events to notify about: needs_person, completed, stopped (ended in any other way), waiting",
    }
    merge_returns: Returns {
        env: "WINDLASS_MERGE_RETURNS", flag: None, default: "2",
        doc: "How often the merge queue gives a loop with a conflict back to its agent",
    }
    max_running: Slots {
        env: "WINDLASS_MAX_RUNNING", flag: None, default: "8",
        doc: "Maximum number of loops that run at once, however they are started; the rest are queued",
    }
    queue_per_project: Slots {
        env: "WINDLASS_QUEUE_PER_PROJECT", flag: None, default: "2",
        doc: "Maximum number of goals of the queue that run at once in one project",
    }
    queue_per_account: Slots {
        env: "WINDLASS_QUEUE_PER_ACCOUNT", flag: None, default: "2",
        doc: "Maximum number of goals of the queue that run at once with one agent",
    }
    queue_tokens_per_hour: Tokens {
        env: "WINDLASS_QUEUE_TOKENS_PER_HOUR", flag: None, default: "none",
        doc: "Tokens that one agent's account has for an hour. Once goals of the queue have used that, less queue_keep, no further one starts",
    }
    queue_usd_per_hour: Usd {
        env: "WINDLASS_QUEUE_USD_PER_HOUR", flag: None, default: "none",
        doc: "The same in US dollars, for agents that report their cost",
    }
    merge: MergeBy {
        env: "WINDLASS_MERGE", flag: None, default: "off",
        doc: "queue hands verified goals of the queue, and verified milestones that 'windlass serve' starts, to the merge queue. \
              What comes after them starts when they are merged",
    }
    queue_keep: Percent {
        env: "WINDLASS_QUEUE_KEEP", flag: None, default: "20%",
        doc: "Part of an account that the queue leaves to you: of the windows that its agent reports, of queue_tokens_per_hour, and of queue_usd_per_hour",
    }
}
