//! The table of settings: each key once, with its type, flag, default, trust and words.
//!
//! Everything else (what one layer says, what it resolves to, the schema, the documented variables) is made from
//! this table, so no key can be half known.

use std::collections::BTreeMap;

use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, OnLimit, OnRateLimit, SessionPolicy, Verify};
use windlass_core::summary::{Protocol, SummariserKind};

use crate::origin::{Setting, Shown};
use crate::settings::layer::Layer;
use crate::settings::profiles::Profile;
use crate::settings::recipe::{Recipe, Recipes};
use crate::values::amounts::{Days, Iterations, Millis, Processes, Size, Slots, Tokens, Usd, Weight};
use crate::values::gates::Gates;
use crate::values::lists::{Commands, Files, Folders, Globs, Hosts, Locations, Names, Occasions, Wishes};
use crate::values::wake::Wake;
use crate::values::words::{BranchTemplate, Sandbox};
use crate::values::{Promise, Value, ValueError};

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
    /// The value that holds then, as it would stand in the environment; none if there is none, or if the recipe has it.
    pub value: Option<&'static str>,
    /// Whether it needs a person's consent in a project's file.
    pub trust: NeedsConsent,
    pub of: About,
    pub doc: &'static str,
    /// What a value must be, in words.
    pub expected: &'static str,
    /// A value as it stands in a file.
    pub example: &'static str,
    /// Its JSON Schema.
    pub schema: fn() -> serde_json::Value,
}

/// When a setting in a project's file needs a person's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedsConsent {
    /// It runs nothing, hands nothing on and lifts no guard.
    Never,
    /// It names files that prompts quote, which is harmless inside the repository.
    OutsideTheRepository,
    Always,
    /// It cannot be there, because agents can read that file.
    Refused,
}

/// What a setting is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// One loop, so that a recipe may have it.
    Loop,
    /// The program, or all loops of a project.
    Program,
}

/// What holds when nobody says anything.
enum Holds {
    /// This value.
    Is(&'static str),
    /// This value, which people know by other words.
    Or(&'static str, &'static str),
    /// No value, in words.
    Unset(&'static str),
}

impl Holds {
    const fn words(&self) -> &'static str {
        match self {
            Holds::Is(words) | Holds::Or(_, words) | Holds::Unset(words) => words,
        }
    }

    const fn value(&self) -> Option<&'static str> {
        match self {
            Holds::Is(value) | Holds::Or(value, _) => Some(value),
            Holds::Unset(_) => None,
        }
    }
}

/// The name of a variable from that of its setting.
const fn upper<const N: usize>(name: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        bytes[at] = name.as_bytes()[at].to_ascii_uppercase();
        at += 1;
    }
    bytes
}

/// Why a value in a file cannot be taken.
#[derive(Debug)]
pub(crate) enum Misread {
    Type,
    Value(ValueError),
}

macro_rules! settings {
    ($($key:ident: $type:ty {
        flag: $flag:expr, default: $default:ident($($text:literal),+), trust: $trust:ident, of: $of:ident,
        doc: $doc:literal $(,)?
    })*) => {
        /// Every setting.
        pub const KEYS: &[Key] = &[$(Key {
            name: stringify!($key),
            env: {
                const NAME: &str = concat!("WINDLASS_", stringify!($key));
                const BYTES: [u8; NAME.len()] = upper(NAME);
                match std::str::from_utf8(&BYTES) {
                    Ok(name) => name,
                    Err(_) => panic!("a key is plain text"),
                }
            },
            flag: $flag,
            default: Holds::$default($($text),+).words(),
            value: Holds::$default($($text),+).value(),
            trust: NeedsConsent::$trust,
            of: About::$of,
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
            /// What holds when nobody says anything.
            pub(crate) fn defaults() -> Self {
                let mut options = Self::default();
                for key in KEYS {
                    if let Some(text) = key.value {
                        // They are part of the program, and a test reads them all.
                        options.read_text(key.name, text).unwrap_or_else(|error| unreachable!("{}: {error}", key.name));
                    }
                }
                options
            }

            /// Takes a value out of a file. The key must be one of the table.
            pub(crate) fn read_toml(&mut self, key: &str, value: &toml_edit::Value) -> Result<(), Misread> {
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
            pub(crate) fn read_text(&mut self, key: &str, text: &str) -> Result<(), ValueError> {
                match key {
                    $(stringify!($key) => self.$key = Some(<$type as Value>::from_text(text)?),)*
                    other => unreachable!("`{other}` is not in the table of settings"),
                }
                Ok(())
            }
        }

        impl Settings {
            /// Puts a layer on top.
            pub(crate) fn overlay(&mut self, mut layer: Layer) {
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
        flag: Some("--agent"), default: Unset("the first installed one"), trust: Never, of: Loop,
        doc: "The agent that works: the name of a profile",
    }
    recipe: String {
        flag: Some("--recipe"), default: Unset("promise"), trust: Never, of: Program,
        doc: "The recipe: a file of defaults for how a loop goes",
    }
    model: String {
        flag: Some("--model"), default: Unset("the agent's default"), trust: Never, of: Loop,
        doc: "The model that the agent is told to use, where its command has {model}",
    }
    fallbacks: Wishes {
        flag: Some("--fallback"), default: Unset("none"), trust: Never, of: Loop,
        doc: "Who takes over, in this order, when the agent or its model fails for good: agents, or agent:model",
    }
    reviewer: String {
        flag: Some("--reviewer"), default: Unset("the agent that works, in a session of its own"), trust: Never, of: Loop,
        doc: "Who judges the work in the recipes audited and milestone: an agent, or agent:model",
    }
    reviewer_fallbacks: Wishes {
        flag: None, default: Unset("none"), trust: Never, of: Loop,
        doc: "Who takes the reviewer's place, in this order, when it fails for good",
    }
    reviewer_budget_usd: Usd {
        flag: None, default: Unset("no limit of its own"), trust: Never, of: Loop,
        doc: "How many US dollars the reviewer alone may spend",
    }
    warnings_block: bool {
        flag: Some("--warnings-block"), default: Unset("false"), trust: Never, of: Loop,
        doc: "Whether an open warning keeps the work from being done, as a bug does",
    }
    plan_first: bool {
        flag: Some("--plan-first"), default: Unset("false"), trust: Never, of: Loop,
        doc: "Whether the agent writes the plan in a turn of its own, in the recipe audited without a plan",
    }
    human_review: bool {
        flag: Some("--human-review"), default: Unset("false"), trust: Never, of: Loop,
        doc: "Whether a person has to agree (windlass approve) before a reviewed loop is completed",
    }
    auto_start: bool {
        flag: None, default: Unset("false"), trust: Never, of: Program,
        doc: "Whether 'windlass serve' starts the project's pending milestones by itself, one at a time",
    }
    wake: Wake {
        flag: None, default: Unset("manual"), trust: Never, of: Program,
        doc: "When 'windlass serve' looks for pending milestones, besides its start: manual (then also when one has \
              ended), every 2h, times of day such as 09:00, 21:00, or a cron pattern",
    }
    recover: bool {
        flag: None, default: Unset("true for milestones"), trust: Never, of: Loop,
        doc: "Whether 'windlass serve' resumes loops that were cut off in the middle of a turn",
    }
    vision: String {
        flag: None, default: Unset("VISION.md"), trust: OutsideTheRepository, of: Loop,
        doc: "The file that says what the project is for, for the recipe milestone",
    }
    soul: String {
        flag: None, default: Unset(".windlass/soul.md"), trust: OutsideTheRepository, of: Loop,
        doc: "The file with the project's rules, quality bar and red lines, for the recipe milestone",
    }
    memory: String {
        flag: None, default: Unset(".windlass/memory.md"), trust: OutsideTheRepository, of: Loop,
        doc: "The file with what is known of the project, for the recipe milestone",
    }
    post_action: String {
        flag: Some("--post-action"), default: Unset("none"), trust: Always, of: Loop,
        doc: "What the agent does once after the last review was clean, in the words of a prompt",
    }
    post_action_skill: String {
        flag: Some("--post-action-skill"), default: Unset("none"), trust: Always, of: Loop,
        doc: "A skill of the agent that it uses then",
    }
    max_iterations: Iterations {
        flag: Some("--max-iterations"), default: Unset("by recipe"), trust: Never, of: Loop,
        doc: "How many times the agent runs at most, the first run included; 0 for as often as another limit allows",
    }
    duration: Millis {
        flag: Some("--duration"), default: Unset("no limit"), trust: Never, of: Loop,
        doc: "How long a loop may take in all, also in the middle of a turn",
    }
    budget_usd: Usd {
        flag: Some("--budget-usd"), default: Unset("no limit"), trust: Never, of: Loop,
        doc: "How many US dollars a loop may spend in all",
    }
    max_tokens: Tokens {
        flag: Some("--max-tokens"), default: Unset("no limit"), trust: Never, of: Loop,
        doc: "How many tokens a loop may use in all",
    }
    on_limit: OnLimit {
        flag: Some("--on-limit"), default: Unset("by recipe"), trust: Never, of: Loop,
        doc: "What a limit of the loop does: end it (stop), or pause it until a person raises the limit (pause)",
    }
    on_rate_limit: OnRateLimit {
        flag: Some("--on-rate-limit"), default: Is("wait"), trust: Never, of: Loop,
        doc: "What a rate or usage limit of the provider does: wait until it is over (wait), hand over to the next \
              fallback, the last of which waits (fallback), or pause until a person resumes the loop (pause)",
    }
    completion_promise: Promise {
        flag: Some("--completion-promise"), default: Is("<promise>COMPLETE</promise>"), trust: Never, of: Loop,
        doc: "The exact text with which the agent claims to be done; empty for none, so that only a limit ends the loop",
    }
    gates: Gates {
        flag: Some("--gate"), default: Or("", "none"), trust: Always, of: Loop,
        doc: "Commands that judge the work: a claim counts only when all of them exit with 0. In a file one may be a \
              table: { command, timeout, when = \"turn\" or \"claim\" }",
    }
    hidden_gates: Commands {
        flag: Some("--hidden-gate"), default: Or("", "none"), trust: Refused, of: Loop,
        doc: "Commands that judge a claim after every other gate passed; the agent and the reviewers learn only that one \
              failed. Not in a project's file, which the agent can read",
    }
    verify: Verify {
        flag: Some("--verify"), default: Is("clean"), trust: Always, of: Loop,
        doc: "What gates start from: the commit and what the set-up made (clean), the same plus what earlier gates left in \
              build directories (warm), or nothing but the commit for a claim, with the set-up run again (cold)",
    }
    gate_timeout: Millis {
        flag: Some("--gate-timeout"), default: Is("10m"), trust: Never, of: Loop,
        doc: "How long one gate may take",
    }
    baseline: bool {
        flag: Some("--no-baseline"), default: Is("true"), trust: Never, of: Loop,
        doc: "Run the gates on the base before the first turn, so that what fails already, or flips, is known as such",
    }
    protect: Globs {
        flag: Some("--protect"), default: Or("", "none"), trust: Never, of: Loop,
        doc: "Paths of the repository that the agent may not change: what it changes there is put back and reported",
    }
    turn_timeout: Millis {
        flag: Some("--turn-timeout"), default: Unset("by recipe"), trust: Never, of: Loop,
        doc: "How long one turn of the agent may take",
    }
    stall_timeout: Millis {
        flag: Some("--stall-timeout"), default: Unset("by recipe"), trust: Never, of: Loop,
        doc: "How long an agent may be silent before its turn counts as stalled",
    }
    session: SessionPolicy {
        flag: Some("--session"), default: Unset("by recipe"), trust: Never, of: Loop,
        doc: "Whether turns go on in the agent's session (resume), each starts a new one (fresh), or one process takes all (keep_alive)",
    }
    commit: CommitPolicy {
        flag: Some("--commit"), default: Unset("by recipe"), trust: Never, of: Loop,
        doc: "Who commits the work: the engine, the agent, or nobody (off)",
    }
    branch: BranchTemplate {
        flag: Some("--branch"), default: Is("windlass/{name}"), trust: Never, of: Loop,
        doc: "The branch that a loop works on; {name} stands for the loop's name",
    }
    in_place: bool {
        flag: Some("--in-place"), default: Is("false"), trust: Always, of: Loop,
        doc: "Work in the checkout itself instead of a workspace of the loop's own",
    }
    setup: Commands {
        flag: Some("--setup"), default: Or("", "none"), trust: Always, of: Loop,
        doc: "Commands that install what the project needs, run once by your shell on the base commit; gates and the agent \
              get a copy of what they made",
    }
    setup_credentials: bool {
        flag: None, default: Is("false"), trust: Always, of: Loop,
        doc: "Let the set-up on the base commit use your logins for package registries, such as ~/.npmrc. Agents, gates and \
              a set-up on a later commit never get them",
    }
    copy: Files {
        flag: Some("--copy"), default: Or("", "none"), trust: Always, of: Loop,
        doc: "Files and directories of your checkout that are not in git and that the work needs, such as .env; copied for \
              gates and the agent, never committed",
    }
    secrets_allow: Globs {
        flag: None, default: Or("", "none"), trust: Always, of: Loop,
        doc: "Paths of the repository that may hold what looks like a secret, such as tests/fixtures/*: changes there are \
              committed all the same",
    }
    env_pass: Names {
        flag: Some("--env-pass"), default: Or("", "none"), trust: Always, of: Loop,
        doc: "Variables of your environment that agents, gates and other commands get beside the ordinary ones such as \
              PATH and HOME: names, or beginnings such as AWS_*",
    }
    sandbox: Sandbox {
        flag: Some("--sandbox"), default: Is("auto"), trust: Always, of: Loop,
        doc: "What agents and gates are kept away from: workspace (writes only there and in named places, reads no keys), \
              read-only (the workspace too), docker (a container of docker_image), off; auto is workspace, and off only where this machine has no sandbox and you agreed to that once for the repository",
    }
    docker_image: String {
        flag: Some("--docker-image"), default: Unset("none"), trust: Always, of: Loop,
        doc: "The image of the containers that sandbox = \"docker\" makes; it is on this machine already, with the agent and \
              what the gates need",
    }
    docker_host: String {
        flag: None, default: Unset("DOCKER_HOST, or where Docker has its socket"), trust: Always, of: Loop,
        doc: "The Unix socket of Docker, such as unix:///var/run/docker.sock",
    }
    network: NetworkAccess {
        flag: Some("--network"), default: Is("allow"), trust: Always, of: Loop,
        doc: "Whether agents and gates in the sandbox reach the network: allow, deny, or list, which is network_hosts alone",
    }
    network_hosts: Hosts {
        flag: Some("--network-host"), default: Or("@models\n@registries", "@models and @registries"), trust: Always, of: Loop,
        doc: "Hosts that are reached with network = \"list\": example.org, example.org:8443, *.example.org, an address, or \
              the ready lists @models and @registries",
    }
    sandbox_readable: Locations {
        flag: None, default: Unset("none"), trust: Always, of: Loop,
        doc: "Places that may be read in the sandbox although they are denied by default, such as ~/.aws",
    }
    sandbox_writable: Locations {
        flag: None, default: Unset("none"), trust: Always, of: Loop,
        doc: "Places that may be written to in the sandbox besides the workspace, the agent's own and tool caches",
    }
    sandbox_denied: Locations {
        flag: None, default: Unset("none"), trust: Always, of: Loop,
        doc: "Places that cannot be seen in the sandbox, besides keys, logins, browsers and Windlass's own data",
    }
    sandbox_sockets: Locations {
        flag: None, default: Unset("none"), trust: Always, of: Loop,
        doc: "Unix sockets of services that agents and gates in the sandbox may connect to, such as \
              /run/postgresql/.s.PGSQL.5432",
    }
    memory_limit: Size {
        flag: Some("--memory-limit"), default: Unset("80% of the machine's memory"), trust: Always, of: Loop,
        doc: "How much memory all processes of a loop may have together; what would take more is ended",
    }
    process_limit: Processes {
        flag: Some("--process-limit"), default: Unset("a quarter of the machine's process numbers, 16384 at most"), trust: Always, of: Loop,
        doc: "How many processes and threads a loop may have at once",
    }
    cpu_weight: Weight {
        flag: Some("--cpu-weight"), default: Is("100"), trust: Always, of: Loop,
        doc: "A loop's share of the processor where it is scarce, beside the 100 of everything else",
    }
    disk_limit: Size {
        flag: Some("--disk-limit"), default: Unset("no limit"), trust: Always, of: Loop,
        doc: "How much disk a loop's own workspace and temporary files may take; over it the turn is ended and the loop pauses",
    }
    disk_free: Size {
        flag: None, default: Unset("1GiB, of a small disk 5 %"), trust: Always, of: Loop,
        doc: "How much disk must stay free where the workspace and Windlass's data are; below it the turn is ended and the \
              loop pauses",
    }
    plan: String {
        flag: Some("--plan"), default: Unset("the newest one in plan_dirs"), trust: OutsideTheRepository, of: Loop,
        doc: "The file with the plan, for the recipe refine; it is read once, when the loop begins",
    }
    plan_dirs: Folders {
        flag: None, default: Or(".windlass/plans\n.claude/plans", ".windlass/plans and .claude/plans"), trust: OutsideTheRepository, of: Loop,
        doc: "Folders whose newest *.md file is the plan when none is named",
    }
    context_tokens: Tokens {
        flag: None, default: Is("8000"), trust: Never, of: Loop,
        doc: "How long the part of a prompt may be that tells a fresh session what was done before, in tokens",
    }
    summariser: SummariserKind {
        flag: Some("--summariser"), default: Is("deterministic"), trust: Never, of: Loop,
        doc: "Who writes what is remembered of an iteration: nobody (deterministic), the agent, or a model (endpoint)",
    }
    summariser_agent: String {
        flag: None, default: Unset("the agent that works"), trust: Never, of: Loop,
        doc: "Who writes it where an agent does: an agent, or agent:model",
    }
    summariser_url: String {
        flag: None, default: Unset("none"), trust: Always, of: Loop,
        doc: "The endpoint's base address, such as https://api.openai.com/v1 or that of a local server",
    }
    summariser_model: String {
        flag: None, default: Unset("none"), trust: Never, of: Loop,
        doc: "The model that the endpoint is asked for",
    }
    summariser_protocol: Protocol {
        flag: None, default: Is("openai"), trust: Never, of: Loop,
        doc: "What the endpoint speaks: openai (most local servers do) or anthropic",
    }
    summariser_key_env: String {
        flag: None, default: Unset("none"), trust: Always, of: Loop,
        doc: "The environment variable that holds the endpoint's key; the key itself is never stored",
    }
    summariser_timeout: Millis {
        flag: None, default: Is("1m"), trust: Never, of: Loop,
        doc: "How long one question to the endpoint may take",
    }
    generate_summary: bool {
        flag: None, default: Is("true"), trust: Never, of: Loop,
        doc: "Whether the summariser is asked for summaries; if not, only for the commits' messages",
    }
    summary_max_tokens: Tokens {
        flag: None, default: Is("500"), trust: Never, of: Loop,
        doc: "How long a summary may be, in tokens",
    }
    commit_message_model: String {
        flag: None, default: Unset("the summariser's"), trust: Never, of: Loop,
        doc: "The model that writes the commits' messages, if another one",
    }
    retention_days: Days {
        flag: None, default: Is("14"), trust: Never, of: Program,
        doc: "How many days after its merge a loop's workspace is kept from 'windlass clean'",
    }
    follow_up: String {
        flag: None, default: Unset("the word for 'continue' in the language"), trust: Never, of: Loop,
        doc: "The word that ends the prompt of a turn that goes on in the agent's session",
    }
    language: String {
        flag: None, default: Or("en", "the locale's"), trust: Never, of: Loop,
        doc: "The language of the follow-up word, such as en or zh-Hant",
    }
    notify_command: String {
        flag: None, default: Unset("none"), trust: Always, of: Program,
        doc: "A command that is run by your shell when something happens to a loop, with the message as JSON on its standard input",
    }
    notify_webhook: String {
        flag: None, default: Unset("none"), trust: Always, of: Program,
        doc: "The http or https address that the message is posted to",
    }
    notify_webhook_secret_env: String {
        flag: None, default: Unset("none: the message is not signed"), trust: Always, of: Program,
        doc: "The environment variable that holds the secret which signs the message; the secret itself is never stored",
    }
    notify_desktop: bool {
        flag: None, default: Is("false"), trust: Never, of: Program,
        doc: "Show the message on the desktop, by notify-send or osascript where the system has it",
    }
    notify_on: Occasions {
        flag: None, default: Or("needs_person\ncompleted\nstopped", "needs_person, completed and stopped"), trust: Never, of: Program,
        doc: "What is worth a message: needs_person, completed, stopped (ended in any other way), waiting",
    }
    max_running: Slots {
        flag: None, default: Is("8"), trust: Never, of: Program,
        doc: "How many loops run at once, however they are started; the rest are queued",
    }
}
