//! Why a loop cannot be made from what the user said. All of it is wrong use: exit code 2, nothing created.

use windlass_core::duration::{self, DurationError};
use windlass_core::profile::ITERATIONS;

use crate::origin::Origin;
use crate::values::ValueError;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UsageError {
    #[error("the goal is empty")]
    EmptyGoal,
    #[error("the goal holds a NUL character")]
    GoalHasNul,
    #[error("'{name}' cannot be the name of a loop")]
    Name { name: String },
    #[error("unknown recipe '{name}'")]
    UnknownRecipe { name: String, nearest: Option<String>, known: Vec<String> },
    #[error("the setting '{key}' has no value")]
    Unset { key: &'static str },
    #[error("no agent is chosen, and none was found on this machine")]
    NoAgent,
    #[error("unknown agent '{name}'")]
    UnknownAgent { name: String, nearest: Option<String>, known: Vec<String> },
    #[error("the agent '{name}' has no command")]
    NoCommand { name: String },
    #[error("the agent's command cannot be split into words: a quote is not closed")]
    UnclosedQuote,
    #[error("the agent's command is empty")]
    EmptyCommand,
    #[error("{key} of the agent '{agent}' is not a regular expression: {problem}")]
    Pattern { agent: String, key: &'static str, problem: String },
    #[error("the agent '{agent}' cannot be given '{key}' for one loop alone")]
    NotTaken { agent: String, key: &'static str },
    #[error("the agent '{agent}' takes no model: its command has no place for one")]
    ModelUnused { agent: String },
    #[error("the command of the agent '{agent}' needs a model, and none is chosen")]
    NoModel { agent: String },
    #[error("the agent '{agent}' cannot be kept alive from turn to turn")]
    NotKeptAlive { agent: String, origin: Origin, known: Vec<&'static str> },
    #[error("the completion promise of the agent '{agent}' cannot be used: {error}")]
    Promise { agent: String, error: ValueError },
    #[error("0 iterations mean no limit, and nothing else bounds the loop")]
    Unbounded,
    #[error("{}, so a budget of ${amount} cannot be kept", no_price(agent, model.as_deref(), *named))]
    NoPrice {
        agent: String,
        amount: f64,
        origin: Origin,
        model: Option<String>,
        /// The agent counts its tokens, so that a price would be enough.
        named: bool,
    },
    #[error("the agent '{agent}' does not say how many tokens it uses, so nothing would bound the loop")]
    NoTokens { agent: String },
    #[error("a rate limit is to hand over to a fallback, and there is none")]
    NoFallback,
    #[error("Cannot specify both --iter and --time")]
    BothTargets,
    #[error("--iter and --time have no meaning in the recipe '{recipe}'")]
    NoTarget { recipe: String, known: Vec<String> },
    #[error("--iter {iterations} is out of range: {}–{}", ITERATIONS.start(), ITERATIONS.end())]
    TargetRange { iterations: String },
    #[error("Invalid loop condition: '{text}'. Expected iterations (e.g., '5') or duration (e.g., '1h', '30m', '5s')")]
    Target { text: String, hint: String },
    #[error("--time: {error}")]
    TargetTime { error: DurationError },
    #[error("the recipe '{recipe}' works without a plan")]
    PlanUnused { recipe: String },
    #[error("the plan {path} cannot be used: {problem}")]
    Plan { path: String, problem: String },
    #[error("the plan cannot be used: {problem}")]
    PlanShape { problem: String, hint: String },
    #[error("the sandbox '{level}' cannot be had here: {reason}")]
    NoSandbox { level: &'static str, reason: String, fix: String },
    #[error("this machine has no sandbox ({reason}), so the agent and the gates would run with your rights")]
    Unconfined { reason: String, fix: String },
    #[error("without a sandbox the network cannot be closed: {reason}")]
    NetworkOpen { origin: Origin, reason: String },
    #[error("'{wish}' names no agent")]
    Wish { wish: String },
    #[error("hidden gates cannot be used with {with}: {why}")]
    HiddenGates { with: &'static str, why: &'static str },
    #[error("the recipe '{recipe}' has no reviewer")]
    ReviewerUnused { recipe: String },
    #[error("the summariser 'endpoint' needs the setting '{key}'")]
    NoEndpoint { key: &'static str, example: &'static str },
    #[error("'summariser_url' is not an http or https address")]
    EndpointAddress,
}

fn no_price(agent: &str, model: Option<&str>, named: bool) -> String {
    match (named, model) {
        (true, Some(model)) => format!("the price of the model '{model}' is not known"),
        (true, None) => format!("the agent '{agent}' names no cost, and which model it takes is not said"),
        (false, _) => format!("the agent '{agent}' does not say what it spends"),
    }
}

impl UsageError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            UsageError::EmptyGoal => "say what the loop is for: windlass run \"make the tests pass\"".into(),
            UsageError::GoalHasNul => "give the goal as plain text".into(),
            UsageError::Name { .. } => {
                "use a-z, 0-9, - and _, at most 64 characters, not starting with -".into()
            }
            UsageError::UnknownRecipe { nearest: Some(near), .. } => format!("did you mean '{near}'?"),
            UsageError::UnknownRecipe { nearest: None, known, .. } => format!("known recipes: {}", known.join(", ")),
            UsageError::Unset { key } => format!("set {key}, or choose a recipe that has it"),
            UsageError::NoAgent => {
                "name one with --agent, or any program with --agent-command \"./my-agent.sh\"; 'windlass demo' needs none"
                    .into()
            }
            UsageError::UnknownAgent { nearest: Some(near), .. } => {
                format!("did you mean '{near}'? --agent-command takes any program")
            }
            UsageError::UnknownAgent { nearest: None, known, .. } => {
                format!("known agents: {}; --agent-command takes any program", known.join(", "))
            }
            UsageError::NoCommand { name } => {
                format!("give it one in the settings: [agents.{name}] command = [\"program\", \"argument\"]")
            }
            UsageError::PlanShape { hint, .. } => hint.clone(),
            UsageError::NoSandbox { fix, .. } | UsageError::Unconfined { fix, .. } => fix.clone(),
            UsageError::NetworkOpen { origin, .. } => {
                format!("use --sandbox workspace where it works (windlass doctor says), or leave the network open ({origin})")
            }
            UsageError::Wish { .. } => "give an agent, or an agent and a model: codex, codex:gpt-5".into(),
            UsageError::ReviewerUnused { .. } => "use --recipe audited, or leave the reviewer out".into(),
            UsageError::HiddenGates { with, .. } => format!("leave out {with}, or leave out the hidden gates"),
            UsageError::UnclosedQuote => "close the quote, or escape it with a backslash".into(),
            UsageError::EmptyCommand => "name a program: --agent-command \"./my-agent.sh\"".into(),
            UsageError::Pattern { agent, key, .. } => {
                format!("correct {key} in [agents.{agent}], or leave it out")
            }
            UsageError::NotTaken { agent, key } => format!(
                "leave {key} out of [agents.{agent}] and put it into the agent's own configuration, or choose an agent \
                 that takes it"
            ),
            UsageError::ModelUnused { .. } => {
                "put {model} where the model belongs in its command, or leave --model out".into()
            }
            UsageError::NoModel { agent } => {
                format!("name one with --model, or set model in [agents.{agent}]")
            }
            UsageError::NotKeptAlive { origin, known, .. } => format!(
                "use resume or fresh instead of keep_alive ({origin}), or an agent that can: {}, or any with adapter = \"acp\"",
                known.join(", ")
            ),
            UsageError::Promise { agent, error } => match &error.hint {
                Some(hint) => format!("{hint} (completion_promise in [agents.{agent}])"),
                None => format!("correct completion_promise in [agents.{agent}]"),
            },
            UsageError::Unbounded => format!(
                "give --max-iterations {} to {}, or another limit: --duration 90m, --budget-usd 5 or --max-tokens 1000000",
                ITERATIONS.start(),
                ITERATIONS.end()
            ),
            UsageError::NoPrice { agent, origin, model, named, .. } => match (named, model) {
                (true, Some(model)) => format!(
                    "give it a price: [agents.{agent}.prices.\"{model}\"] with input and output in US dollars per million \
                     tokens; or leave the budget out ({origin}) and use --max-tokens, --max-iterations or --duration"
                ),
                (true, None) => format!(
                    "name a model that has one with --model; or leave the budget out ({origin}) and use --max-tokens, \
                     --max-iterations or --duration"
                ),
                (false, _) => format!(
                    "leave the budget out ({origin}) and use --max-iterations or --duration, or give [agents.{agent}] a \
                     usage_pattern with a group named cost"
                ),
            },
            UsageError::NoTokens { agent } => format!(
                "use --max-iterations or --duration, or give [agents.{agent}] a usage_pattern with the groups input and output"
            ),
            UsageError::NoFallback => "name one with --fallback, or use --on-rate-limit wait".into(),
            UsageError::BothTargets => "give the one that counts: a number of iterations or a time".into(),
            UsageError::NoTarget { known, .. } => {
                format!("use --max-iterations or --duration for a limit; known recipes: {}", known.join(", "))
            }
            UsageError::TargetRange { .. } => {
                format!("give {} to {}", ITERATIONS.start(), ITERATIONS.end())
            }
            UsageError::Target { hint, .. } => hint.clone(),
            UsageError::TargetTime { .. } => duration::HINT.into(),
            UsageError::PlanUnused { .. } => "put what is to be done into the goal, or choose another recipe, such as refine".into(),
            UsageError::Plan { .. } => "name a text file in UTF-8 with --plan, or leave it out".into(),
            UsageError::NoEndpoint { key, example } => {
                format!("for example: {key} = {example}; or leave the summariser as it is: deterministic")
            }
            UsageError::EndpointAddress => "for example: summariser_url = \"http://127.0.0.1:11434/v1\"".into(),
        }
    }
}
