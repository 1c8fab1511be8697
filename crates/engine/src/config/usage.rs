//! Why a loop cannot be made from what the user said. All of it is wrong use: exit code 2, nothing created.

use windlass_core::duration::{self, DurationError};
use windlass_core::profile::ITERATIONS;

use super::origin::Origin;
use crate::config::values::value::ValueError;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UsageError {
    #[error("the goal is empty")]
    EmptyGoal,
    #[error("the goal contains a NUL character")]
    GoalHasNul,
    #[error("'{name}' is not a valid loop name")]
    Name { name: String },
    #[error("unknown recipe '{name}'")]
    UnknownRecipe { name: String, nearest: Option<String>, known: Vec<String> },
    #[error("the setting '{key}' has no value")]
    Unset { key: &'static str },
    #[error("no agent selected, and none found on PATH")]
    NoAgent,
    #[error("unknown agent '{name}'")]
    UnknownAgent { name: String, nearest: Option<String>, known: Vec<String> },
    #[error("the agent '{name}' has no command")]
    NoCommand { name: String },
    #[error("unclosed quote in the agent's command")]
    UnclosedQuote,
    #[error("the agent's command is empty")]
    EmptyCommand,
    #[error("{key} of the agent '{agent}' is not a regular expression: {problem}")]
    Pattern { agent: String, key: &'static str, problem: String },
    #[error("the agent '{agent}' does not support '{key}' for a single loop")]
    NotTaken { agent: String, key: &'static str },
    #[error("the agent '{agent}' does not accept a model: its command does not contain {{model}}")]
    ModelUnused { agent: String },
    #[error("the agent '{agent}' requires a model, and none is selected")]
    NoModel { agent: String },
    #[error("the agent '{agent}' does not support keep_alive sessions")]
    NotKeptAlive { agent: String, origin: Origin, known: Vec<&'static str> },
    #[error("invalid completion promise for the agent '{agent}': {error}")]
    Promise { agent: String, error: ValueError },
    #[error("max_iterations is 0, and the loop has no other limit")]
    Unbounded,
    #[error("{}, so a budget of ${amount} cannot be enforced", no_price(agent, model.as_deref(), *named))]
    NoPrice {
        agent: String,
        amount: f64,
        origin: Origin,
        model: Option<String>,
        /// The agent counts its tokens, so that a price would be enough.
        named: bool,
    },
    #[error("the agent '{agent}' does not report token usage, so the loop has no effective limit")]
    NoTokens { agent: String },
    #[error("on_rate_limit is 'fallback', but no fallback is configured")]
    NoFallback,
    #[error("Cannot specify both --iter and --time")]
    BothTargets,
    #[error("--iter and --time do not apply to the recipe '{recipe}'")]
    NoTarget { recipe: String, known: Vec<String> },
    #[error("--iter {iterations} is out of range: {}–{}", ITERATIONS.start(), ITERATIONS.end())]
    TargetRange { iterations: String },
    #[error("Invalid loop condition: '{text}'. Expected iterations (e.g., '5') or duration (e.g., '1h', '30m', '5s')")]
    Target { text: String, hint: String },
    #[error("--time: {error}")]
    TargetTime { error: DurationError },
    #[error("the recipe '{recipe}' does not use a plan")]
    PlanUnused { recipe: String },
    #[error("cannot use the plan {path}: {problem}")]
    Plan { path: String, problem: String },
    #[error("cannot use the plan: {problem}")]
    PlanShape { problem: String, hint: String },
    #[error("the sandbox '{level}' is not available on this machine: {reason}")]
    NoSandbox { level: &'static str, reason: String, fix: String },
    #[error(
        "no sandbox is available on this machine ({reason}), so the agent and gates would run with your full permissions"
    )]
    Unconfined { reason: String, fix: String },
    #[error("cannot restrict the network without a sandbox: {reason}")]
    NetworkOpen { origin: Origin, reason: String },
    #[error("'{wish}' is not a known agent")]
    Wish { wish: String },
    #[error("hidden gates cannot be used with {with}: {why}")]
    HiddenGates { with: &'static str, why: &'static str },
    #[error("the recipe '{recipe}' has no reviewer")]
    ReviewerUnused { recipe: String },
    #[error("the summariser 'endpoint' requires the setting '{key}'")]
    NoEndpoint { key: &'static str, example: &'static str },
    #[error("'summariser_url' is not an HTTP or HTTPS URL")]
    EndpointAddress,
}

fn no_price(agent: &str, model: Option<&str>, named: bool) -> String {
    match (named, model) {
        (true, Some(model)) => format!("the price of the model '{model}' is unknown"),
        (true, None) => format!("the agent '{agent}' does not report its cost, and its model is unknown"),
        (false, _) => format!("the agent '{agent}' does not report its cost"),
    }
}

impl UsageError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            UsageError::EmptyGoal => "add a goal: windlass run \"make the tests pass\"".into(),
            UsageError::GoalHasNul => "remove the NUL character".into(),
            UsageError::Name { .. } => {
                "use a-z, 0-9, -, and _, at most 64 characters, not starting with -".into()
            }
            UsageError::UnknownRecipe { nearest: Some(near), .. } => format!("did you mean '{near}'?"),
            UsageError::UnknownRecipe { nearest: None, known, .. } => format!("known recipes: {}", known.join(", ")),
            UsageError::Unset { key } => format!("set {key}, or choose a recipe that has it"),
            UsageError::NoAgent => {
                "install one (`windlass agents` shows how), run any program with --agent-command \"./my-agent.sh\", or try `windlass demo`"
                    .into()
            }
            UsageError::UnknownAgent { nearest: Some(near), .. } => {
                format!("did you mean '{near}'? to run any program, use --agent-command")
            }
            UsageError::UnknownAgent { nearest: None, known, .. } => {
                format!("known agents: {}; to run any program, use --agent-command", known.join(", "))
            }
            UsageError::NoCommand { name } => {
                format!("add one to the settings: [agents.{name}] command = [\"program\", \"argument\"]")
            }
            UsageError::PlanShape { hint, .. } => hint.clone(),
            UsageError::NoSandbox { fix, .. } | UsageError::Unconfined { fix, .. } => fix.clone(),
            UsageError::NetworkOpen { origin, .. } => {
                format!("use --sandbox workspace if available (see 'windlass doctor'), or allow network access ({origin})")
            }
            UsageError::Wish { .. } => "use agent or agent:model, such as codex or codex:gpt-5".into(),
            UsageError::ReviewerUnused { .. } => "use --recipe audited, or remove the reviewer".into(),
            UsageError::HiddenGates { with, .. } => format!("remove {with}, or remove the hidden gates"),
            UsageError::UnclosedQuote => "close the quote, or escape it with a backslash".into(),
            UsageError::EmptyCommand => "add a program: --agent-command \"./my-agent.sh\"".into(),
            UsageError::Pattern { agent, key, .. } => {
                format!("fix {key} in [agents.{agent}], or remove it")
            }
            UsageError::NotTaken { agent, key } => format!(
                "move {key} from [agents.{agent}] to the agent's own configuration, or use an agent \
                 that takes it"
            ),
            UsageError::ModelUnused { .. } => {
                "add {model} to its command, or remove --model".into()
            }
            UsageError::NoModel { agent } => {
                format!("select one with --model, or set model in [agents.{agent}]")
            }
            UsageError::NotKeptAlive { origin, known, .. } => format!(
                "use resume or fresh instead of keep_alive ({origin}), or an agent that supports it: {}, or any with adapter = \"acp\"",
                known.join(", ")
            ),
            UsageError::Promise { agent, error } => match &error.hint {
                Some(hint) => format!("{hint} (completion_promise in [agents.{agent}])"),
                None => format!("fix completion_promise in [agents.{agent}]"),
            },
            UsageError::Unbounded => format!(
                "set --max-iterations to {}–{}, or add another limit: --duration 90m, --budget-usd 5, or --max-tokens 1000000",
                ITERATIONS.start(),
                ITERATIONS.end()
            ),
            UsageError::NoPrice { agent, origin, model, named, .. } => match (named, model) {
                (true, Some(model)) => format!(
                    "add its price: [agents.{agent}.prices.\"{model}\"] with input and output in US dollars per million \
                     tokens; or remove the budget ({origin}) and use --max-tokens, --max-iterations or --duration"
                ),
                (true, None) => format!(
                    "select a model with a known price with --model; or remove the budget ({origin}) and use --max-tokens, \
                     --max-iterations or --duration"
                ),
                (false, _) => format!(
                    "remove the budget ({origin}) and use --max-iterations or --duration, or add to [agents.{agent}] a \
                     usage_pattern with a group named cost"
                ),
            },
            UsageError::NoTokens { agent } => format!(
                "use --max-iterations or --duration, or add a usage_pattern with the groups input and output to [agents.{agent}]"
            ),
            UsageError::NoFallback => "add one with --fallback, or use --on-rate-limit wait".into(),
            UsageError::BothTargets => "use only one of them".into(),
            UsageError::NoTarget { known, .. } => {
                format!("use --max-iterations or --duration for a limit; known recipes: {}", known.join(", "))
            }
            UsageError::TargetRange { .. } => {
                format!("use {} to {}", ITERATIONS.start(), ITERATIONS.end())
            }
            UsageError::Target { hint, .. } => hint.clone(),
            UsageError::TargetTime { .. } => duration::HINT.into(),
            UsageError::PlanUnused { .. } => "describe the work in the goal, or use another recipe, such as refine".into(),
            UsageError::Plan { .. } => "pass a UTF-8 text file with --plan, or remove it".into(),
            UsageError::NoEndpoint { key, example } => {
                format!("for example: {key} = {example}; or use the summariser deterministic")
            }
            UsageError::EndpointAddress => "for example: summariser_url = \"http://127.0.0.1:11434/v1\"".into(),
        }
    }
}
