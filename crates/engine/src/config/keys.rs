//! The table of settings: each key once, with its type, variable, flag, default and words.
//!
//! Everything else (what one layer says, what it resolves to, the schema, the documented variables) is made from
//! this table, so no key can be half known.

use std::collections::BTreeMap;

use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, OnLimit, OnRateLimit, SessionPolicy, Verify};
use windlass_core::summary::{Protocol, SummariserKind};

use super::amounts::{Days, Iterations, Millis, Processes, Size, Slots, Tokens, Usd, Weight};
use super::gates::Gates;
use super::lists::{Commands, Files, Folders, Globs, Hosts, Locations, Names, Occasions, Wishes};
use super::origin::{Layer, Setting, Shown};
use super::profiles::Profile;
use super::recipe::{Recipe, Recipes};
use super::value::{Promise, Value, ValueError};
use super::wake::Wake;
use super::words::{BranchTemplate, Sandbox};

/// One setting, as people know it.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    /// The environment variable that sets it.
    pub env: &'static str,
    /// The flag that sets it, where there is one.
    pub flag: Option<&'static str>,
    /// What holds when nobody says anything, in words.
    pub default: &'static str,
    pub doc: &'static str,
    /// What a value must be, in words.
    pub expected: &'static str,
    /// A value as it stands in a file.
    pub example: &'static str,
    /// Its JSON Schema.
    pub schema: fn() -> serde_json::Value,
}

/// Settings that a project's file may not have, because agents can read that file.
pub const NOT_IN_PROJECT: [&str; 1] = ["hidden_gates"];

/// Why a value in a file cannot be taken.
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

        /// What one layer says; unset is not said.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Options {
            $(#[doc = $doc] pub $key: Option<$type>,)*
        }

        /// What the layers resolve to, each value with where it came from.
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct Settings {
            $(#[doc = $doc] pub $key: Setting<$type>,)*
            /// Every agent that is known, by name.
            pub agents: BTreeMap<String, Profile>,
            /// What was passed over, for people to read.
            pub warnings: Vec<String>,
            /// The project's file, as it was read.
            pub project_text: Option<String>,
            /// Every recipe that can be named.
            pub recipes: Recipes,
            /// The recipe that is in use; none if it is not known.
            pub in_use: Option<Recipe>,
        }

        impl Options {
            /// Takes a value out of a file. The key must be one of the table.
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

            /// What this layer says, under the keys of the configuration, as `from_json` reads it.
            pub fn to_json(&self) -> BTreeMap<String, serde_json::Value> {
                let mut said = BTreeMap::new();
                $(if let Some(value) = &self.$key {
                    said.insert(stringify!($key).to_owned(), Value::json(value));
                })*
                said
            }

            /// Takes a value out of the environment. The key must be one of the table.
            pub(super) fn read_text(&mut self, key: &str, text: &str) -> Result<(), ValueError> {
                match key {
                    $(stringify!($key) => self.$key = Some(<$type as Value>::from_text(text)?),)*
                    other => unreachable!("`{other}` is not in the table of settings"),
                }
                Ok(())
            }
        }

        impl Settings {
            /// Puts a layer on top.
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
    /// Every setting with its value and where that came from, the agents' last.
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
        doc: "The agent that works: the name of a profile",
    }
    recipe: String {
        env: "WINDLASS_RECIPE", flag: Some("--recipe"), default: "promise",
        doc: "The recipe: a file of defaults for how a loop goes",
    }
    model: String {
        env: "WINDLASS_MODEL", flag: Some("--model"), default: "the agent's default",
        doc: "The model that the agent is told to use, where its command has {model}",
    }
    fallbacks: Wishes {
        env: "WINDLASS_FALLBACKS", flag: Some("--fallback"), default: "none",
        doc: "Who takes over, in this order, when the agent or its model fails for good: agents, or agent:model",
    }
    reviewer: String {
        env: "WINDLASS_REVIEWER", flag: Some("--reviewer"), default: "the agent that works, in a session of its own",
        doc: "Who judges the work in the recipes audited and milestone: an agent, or agent:model",
    }
    reviewer_fallbacks: Wishes {
        env: "WINDLASS_REVIEWER_FALLBACKS", flag: None, default: "none",
        doc: "Who takes the reviewer's place, in this order, when it fails for good",
    }
    reviewer_budget_usd: Usd {
        env: "WINDLASS_REVIEWER_BUDGET_USD", flag: None, default: "no limit of its own",
        doc: "How many US dollars the reviewer alone may spend",
    }
    warnings_block: bool {
        env: "WINDLASS_WARNINGS_BLOCK", flag: Some("--warnings-block"), default: "false",
        doc: "Whether an open warning keeps the work from being done, as a bug does",
    }
    plan_first: bool {
        env: "WINDLASS_PLAN_FIRST", flag: Some("--plan-first"), default: "false",
        doc: "Whether the agent writes the plan in a turn of its own, in the recipe audited without a plan",
    }
    human_review: bool {
        env: "WINDLASS_HUMAN_REVIEW", flag: Some("--human-review"), default: "false",
        doc: "Whether a person has to agree (windlass approve) before a reviewed loop is completed",
    }
    auto_start: bool {
        env: "WINDLASS_AUTO_START", flag: None, default: "false",
        doc: "Whether 'windlass serve' starts the project's pending milestones by itself, one at a time",
    }
    wake: Wake {
        env: "WINDLASS_WAKE", flag: None, default: "manual",
        doc: "When 'windlass serve' looks for pending milestones, besides its start: manual (then also when one has \
              ended), every 2h, times of day such as 09:00, 21:00, or a cron pattern",
    }
    recover: bool {
        env: "WINDLASS_RECOVER", flag: None, default: "true for milestones",
        doc: "Whether 'windlass serve' resumes loops that were cut off in the middle of a turn",
    }
    vision: String {
        env: "WINDLASS_VISION", flag: None, default: "VISION.md",
        doc: "The file that says what the project is for, for the recipe milestone",
    }
    soul: String {
        env: "WINDLASS_SOUL", flag: None, default: ".windlass/soul.md",
        doc: "The file with the project's rules, quality bar and red lines, for the recipe milestone",
    }
    memory: String {
        env: "WINDLASS_MEMORY", flag: None, default: ".windlass/memory.md",
        doc: "The file with what is known of the project, for the recipe milestone",
    }
    post_action: String {
        env: "WINDLASS_POST_ACTION", flag: Some("--post-action"), default: "none",
        doc: "What the agent does once after the last review was clean, in the words of a prompt",
    }
    post_action_skill: String {
        env: "WINDLASS_POST_ACTION_SKILL", flag: Some("--post-action-skill"), default: "none",
        doc: "A skill of the agent that it uses then",
    }
    max_iterations: Iterations {
        env: "WINDLASS_MAX_ITERATIONS", flag: Some("--max-iterations"), default: "by recipe",
        doc: "How many times the agent runs at most, the first run included; 0 for as often as another limit allows",
    }
    duration: Millis {
        env: "WINDLASS_DURATION", flag: Some("--duration"), default: "no limit",
        doc: "How long a loop may take in all, also in the middle of a turn",
    }
    budget_usd: Usd {
        env: "WINDLASS_BUDGET_USD", flag: Some("--budget-usd"), default: "no limit",
        doc: "How many US dollars a loop may spend in all",
    }
    max_tokens: Tokens {
        env: "WINDLASS_MAX_TOKENS", flag: Some("--max-tokens"), default: "no limit",
        doc: "How many tokens a loop may use in all",
    }
    on_limit: OnLimit {
        env: "WINDLASS_ON_LIMIT", flag: Some("--on-limit"), default: "by recipe",
        doc: "What a limit of the loop does: end it (stop), or pause it until a person raises the limit (pause)",
    }
    on_rate_limit: OnRateLimit {
        env: "WINDLASS_ON_RATE_LIMIT", flag: Some("--on-rate-limit"), default: "wait",
        doc: "What a rate or usage limit of the provider does: wait until it is over (wait), hand over to the next \
              fallback, the last of which waits (fallback), or pause until a person resumes the loop (pause)",
    }
    completion_promise: Promise {
        env: "WINDLASS_COMPLETION_PROMISE", flag: Some("--completion-promise"),
        default: "<promise>COMPLETE</promise>",
        doc: "The exact text with which the agent claims to be done; empty for none, so that only a limit ends the loop",
    }
    gates: Gates {
        env: "WINDLASS_GATES", flag: Some("--gate"), default: "none",
        doc: "Commands that judge the work: a claim counts only when all of them exit with 0. In a file one may be a \
              table: { command, timeout, when = \"turn\" or \"claim\" }",
    }
    hidden_gates: Commands {
        env: "WINDLASS_HIDDEN_GATES", flag: Some("--hidden-gate"), default: "none",
        doc: "Commands that judge a claim after every other gate passed; the agent and the reviewers learn only that one \
              failed. Not in a project's file, which the agent can read",
    }
    verify: Verify {
        env: "WINDLASS_VERIFY", flag: Some("--verify"), default: "clean",
        doc: "What gates start from: the commit and what the set-up made (clean), the same plus what earlier gates left in \
              build directories (warm), or nothing but the commit for a claim, with the set-up run again (cold)",
    }
    gate_timeout: Millis {
        env: "WINDLASS_GATE_TIMEOUT", flag: Some("--gate-timeout"), default: "10m",
        doc: "How long one gate may take",
    }
    baseline: bool {
        env: "WINDLASS_BASELINE", flag: Some("--no-baseline"), default: "true",
        doc: "Run the gates on the base before the first turn, so that what fails already, or flips, is known as such",
    }
    protect: Globs {
        env: "WINDLASS_PROTECT", flag: Some("--protect"), default: "none",
        doc: "Paths of the repository that the agent may not change: what it changes there is put back and reported",
    }
    turn_timeout: Millis {
        env: "WINDLASS_TURN_TIMEOUT", flag: Some("--turn-timeout"), default: "by recipe",
        doc: "How long one turn of the agent may take",
    }
    stall_timeout: Millis {
        env: "WINDLASS_STALL_TIMEOUT", flag: Some("--stall-timeout"), default: "by recipe",
        doc: "How long an agent may be silent before its turn counts as stalled",
    }
    session: SessionPolicy {
        env: "WINDLASS_SESSION", flag: Some("--session"), default: "by recipe",
        doc: "Whether turns go on in the agent's session (resume), each starts a new one (fresh), or one process takes all (keep_alive)",
    }
    commit: CommitPolicy {
        env: "WINDLASS_COMMIT", flag: Some("--commit"), default: "by recipe",
        doc: "Who commits the work: the engine, the agent, or nobody (off)",
    }
    branch: BranchTemplate {
        env: "WINDLASS_BRANCH", flag: Some("--branch"), default: "windlass/{name}",
        doc: "The branch that a loop works on; {name} stands for the loop's name",
    }
    in_place: bool {
        env: "WINDLASS_IN_PLACE", flag: Some("--in-place"), default: "false",
        doc: "Work in the checkout itself instead of a workspace of the loop's own",
    }
    setup: Commands {
        env: "WINDLASS_SETUP", flag: Some("--setup"), default: "none",
        doc: "Commands that install what the project needs, run once by your shell on the base commit; gates and the agent \
              get a copy of what they made",
    }
    setup_credentials: bool {
        env: "WINDLASS_SETUP_CREDENTIALS", flag: None, default: "false",
        doc: "Let the set-up on the base commit use your logins for package registries, such as ~/.npmrc. Agents, gates and \
              a set-up on a later commit never get them",
    }
    copy: Files {
        env: "WINDLASS_COPY", flag: Some("--copy"), default: "none",
        doc: "Files and directories of your checkout that are not in git and that the work needs, such as .env; copied for \
              gates and the agent, never committed",
    }
    secrets_allow: Globs {
        env: "WINDLASS_SECRETS_ALLOW", flag: None, default: "none",
        doc: "Paths of the repository that may hold what looks like a secret, such as tests/fixtures/*: changes there are \
              committed all the same",
    }
    env_pass: Names {
        env: "WINDLASS_ENV_PASS", flag: Some("--env-pass"), default: "none",
        doc: "Variables of your environment that agents, gates and other commands get beside the ordinary ones such as \
              PATH and HOME: names, or beginnings such as AWS_*",
    }
    sandbox: Sandbox {
        env: "WINDLASS_SANDBOX", flag: Some("--sandbox"), default: "auto",
        doc: "What agents and gates are kept away from: workspace (writes only there and in named places, reads no keys), \
              read-only (the workspace too), docker (a container of docker_image), off; auto is workspace, and off only where this machine has no sandbox and you agreed to that once for the repository",
    }
    docker_image: String {
        env: "WINDLASS_DOCKER_IMAGE", flag: Some("--docker-image"), default: "none",
        doc: "The image of the containers that sandbox = \"docker\" makes; it is on this machine already, with the agent and \
              what the gates need",
    }
    docker_host: String {
        env: "WINDLASS_DOCKER_HOST", flag: None, default: "DOCKER_HOST, or where Docker has its socket",
        doc: "The Unix socket of Docker, such as unix:///var/run/docker.sock",
    }
    network: NetworkAccess {
        env: "WINDLASS_NETWORK", flag: Some("--network"), default: "allow",
        doc: "Whether agents and gates in the sandbox reach the network: allow, deny, or list, which is network_hosts alone",
    }
    network_hosts: Hosts {
        env: "WINDLASS_NETWORK_HOSTS", flag: Some("--network-host"), default: "@models and @registries",
        doc: "Hosts that are reached with network = \"list\": example.org, example.org:8443, *.example.org, an address, or \
              the ready lists @models and @registries",
    }
    sandbox_readable: Locations {
        env: "WINDLASS_SANDBOX_READABLE", flag: None, default: "none",
        doc: "Places that may be read in the sandbox although they are denied by default, such as ~/.aws",
    }
    sandbox_writable: Locations {
        env: "WINDLASS_SANDBOX_WRITABLE", flag: None, default: "none",
        doc: "Places that may be written to in the sandbox besides the workspace, the agent's own and tool caches",
    }
    sandbox_denied: Locations {
        env: "WINDLASS_SANDBOX_DENIED", flag: None, default: "none",
        doc: "Places that cannot be seen in the sandbox, besides keys, logins, browsers and Windlass's own data",
    }
    sandbox_sockets: Locations {
        env: "WINDLASS_SANDBOX_SOCKETS", flag: None, default: "none",
        doc: "Unix sockets of services that agents and gates in the sandbox may connect to, such as \
              /run/postgresql/.s.PGSQL.5432",
    }
    memory_limit: Size {
        env: "WINDLASS_MEMORY_LIMIT", flag: Some("--memory-limit"), default: "80% of the machine's memory",
        doc: "How much memory all processes of a loop may have together; what would take more is ended",
    }
    process_limit: Processes {
        env: "WINDLASS_PROCESS_LIMIT", flag: Some("--process-limit"),
        default: "a quarter of the machine's process numbers, 16384 at most",
        doc: "How many processes and threads a loop may have at once",
    }
    cpu_weight: Weight {
        env: "WINDLASS_CPU_WEIGHT", flag: Some("--cpu-weight"), default: "100",
        doc: "A loop's share of the processor where it is scarce, beside the 100 of everything else",
    }
    disk_limit: Size {
        env: "WINDLASS_DISK_LIMIT", flag: Some("--disk-limit"), default: "no limit",
        doc: "How much disk a loop's own workspace and temporary files may take; over it the turn is ended and the loop pauses",
    }
    disk_free: Size {
        env: "WINDLASS_DISK_FREE", flag: None, default: "1GiB, of a small disk 5 %",
        doc: "How much disk must stay free where the workspace and Windlass's data are; below it the turn is ended and the \
              loop pauses",
    }
    plan: String {
        env: "WINDLASS_PLAN", flag: Some("--plan"), default: "the newest one in plan_dirs",
        doc: "The file with the plan, for the recipe refine; it is read once, when the loop begins",
    }
    plan_dirs: Folders {
        env: "WINDLASS_PLAN_DIRS", flag: None, default: ".windlass/plans and .claude/plans",
        doc: "Folders whose newest *.md file is the plan when none is named",
    }
    context_tokens: Tokens {
        env: "WINDLASS_CONTEXT_TOKENS", flag: None, default: "8000",
        doc: "How long the part of a prompt may be that tells a fresh session what was done before, in tokens",
    }
    summariser: SummariserKind {
        env: "WINDLASS_SUMMARISER", flag: Some("--summariser"), default: "deterministic",
        doc: "Who writes what is remembered of an iteration: nobody (deterministic), the agent, or a model (endpoint)",
    }
    summariser_agent: String {
        env: "WINDLASS_SUMMARISER_AGENT", flag: None, default: "the agent that works",
        doc: "Who writes it where an agent does: an agent, or agent:model",
    }
    summariser_url: String {
        env: "WINDLASS_SUMMARISER_URL", flag: None, default: "none",
        doc: "The endpoint's base address, such as https://api.openai.com/v1 or that of a local server",
    }
    summariser_model: String {
        env: "WINDLASS_SUMMARISER_MODEL", flag: None, default: "none",
        doc: "The model that the endpoint is asked for",
    }
    summariser_protocol: Protocol {
        env: "WINDLASS_SUMMARISER_PROTOCOL", flag: None, default: "openai",
        doc: "What the endpoint speaks: openai (most local servers do) or anthropic",
    }
    summariser_key_env: String {
        env: "WINDLASS_SUMMARISER_KEY_ENV", flag: None, default: "none",
        doc: "The environment variable that holds the endpoint's key; the key itself is never stored",
    }
    summariser_timeout: Millis {
        env: "WINDLASS_SUMMARISER_TIMEOUT", flag: None, default: "1m",
        doc: "How long one question to the endpoint may take",
    }
    generate_summary: bool {
        env: "WINDLASS_GENERATE_SUMMARY", flag: None, default: "true",
        doc: "Whether the summariser is asked for summaries; if not, only for the commits' messages",
    }
    summary_max_tokens: Tokens {
        env: "WINDLASS_SUMMARY_MAX_TOKENS", flag: None, default: "500",
        doc: "How long a summary may be, in tokens",
    }
    commit_message_model: String {
        env: "WINDLASS_COMMIT_MESSAGE_MODEL", flag: None, default: "the summariser's",
        doc: "The model that writes the commits' messages, if another one",
    }
    retention_days: Days {
        env: "WINDLASS_RETENTION_DAYS", flag: None, default: "14",
        doc: "How many days after its merge a loop's workspace is kept from 'windlass clean'",
    }
    follow_up: String {
        env: "WINDLASS_FOLLOW_UP", flag: None, default: "the word for 'continue' in the language",
        doc: "The word that ends the prompt of a turn that goes on in the agent's session",
    }
    language: String {
        env: "WINDLASS_LANGUAGE", flag: None, default: "the locale's",
        doc: "The language of the follow-up word, such as en or zh-Hant",
    }
    notify_command: String {
        env: "WINDLASS_NOTIFY_COMMAND", flag: None, default: "none",
        doc: "A command that is run by your shell when something happens to a loop, with the message as JSON on its standard input",
    }
    notify_webhook: String {
        env: "WINDLASS_NOTIFY_WEBHOOK", flag: None, default: "none",
        doc: "The http or https address that the message is posted to",
    }
    notify_webhook_secret_env: String {
        env: "WINDLASS_NOTIFY_WEBHOOK_SECRET_ENV", flag: None, default: "none: the message is not signed",
        doc: "The environment variable that holds the secret which signs the message; the secret itself is never stored",
    }
    notify_desktop: bool {
        env: "WINDLASS_NOTIFY_DESKTOP", flag: None, default: "false",
        doc: "Show the message on the desktop, by notify-send or osascript where the system has it",
    }
    notify_on: Occasions {
        env: "WINDLASS_NOTIFY_ON", flag: None, default: "needs_person, completed and stopped",
        doc: "What is worth a message: needs_person, completed, stopped (ended in any other way), waiting",
    }
    max_running: Slots {
        env: "WINDLASS_MAX_RUNNING", flag: None, default: "8",
        doc: "How many loops run at once, however they are started; the rest are queued",
    }
}
