//! What went wrong, as every response says it: a code for programs, words and a way out for people.

mod sentences;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::group::GroupKind;
use windlass_engine::config::{ConfigError, RequestError, UsageError};
use windlass_engine::driver::DriveError;
use windlass_engine::engine::EngineError;
use windlass_engine::journal::JournalError;
use windlass_engine::milestones::MilestonesError;
use windlass_engine::trust::{Demand, TrustError};
use windlass_store::{CatalogueEntry, StoreError};
use windlass_workspace::WorkspaceError;

use sentences::coded;

pub use sentences::Coded;

/// What kind of problem it is; the status code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What was requested cannot be understood, or names a setting that cannot be.
    Invalid,
    NotFound,
    /// No token, or a wrong one.
    Unauthorized,
    /// It comes from another site.
    Forbidden,
    /// Another host was meant.
    Misdirected,
    /// The loop does not take that now.
    Refused,
    /// The project wants a user's consent first.
    TrustNeeded,
    /// The agent's program is not on the machine.
    AgentMissing,
    TooLarge,
    TooMany,
    Failed,
}

/// The field of a problem that `--sandbox off` solves.
const NO_SANDBOX: &str = "sandbox";

/// An error on its way to a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub code: Kind,
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// The setting or the part of the request that is meant.
    pub field: Option<String>,
    /// Why, from the nearest cause on.
    pub causes: Vec<String>,
    /// What would run, where consent is needed.
    pub details: Option<Box<[Demand]>>,
}

/// A problem with its sentences as codes too, for clients that have their own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CodedProblem {
    #[serde(flatten)]
    pub problem: Problem,
    #[serde(default)]
    pub message_code: Option<Coded>,
    #[serde(default)]
    pub hint_code: Option<Coded>,
}

impl From<Problem> for CodedProblem {
    fn from(problem: Problem) -> Self {
        let hint_code = problem.hint.as_deref().and_then(coded);
        Self { message_code: coded(&problem.message), hint_code, problem }
    }
}

/// What a failed request answers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    pub error: CodedProblem,
}

impl Problem {
    pub fn new(code: Kind, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, field: None, causes: Vec::new(), details: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Something that cannot be done as asked, with what to do instead.
    pub fn refused(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Kind::Refused, message).hint(hint)
    }

    /// An error with its causes.
    pub fn of(code: Kind, error: &dyn std::error::Error, hint: Option<String>) -> Self {
        let message = error.to_string();
        let mut causes: Vec<String> = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if text != message && causes.last() != Some(&text) {
                causes.push(text);
            }
            source = cause.source();
        }
        Self { hint, causes, ..Self::new(code, message) }
    }

    /// The same as a mistake in what was requested, rather than a loop that does not take it.
    #[must_use]
    pub fn invalid(self) -> Self {
        let code = if self.code == Kind::Refused { Kind::Invalid } else { self.code };
        Self { code, ..self }
    }

    /// Whether the only problem is that no sandbox is available and the user has not accepted that.
    pub fn asks_for_no_sandbox(&self) -> bool {
        matches!(self.code, Kind::Invalid | Kind::Refused) && self.field.as_deref() == Some(NO_SANDBOX)
    }

    /// A loop is needed, and this is a group.
    pub fn group(entry: &CatalogueEntry) -> Self {
        let name = &entry.name;
        match GroupKind::of_name(&entry.kind) {
            Some(GroupKind::Tries) => Self::refused(
                format!("'{name}' is a group of tries, not a loop"),
                format!("name one of its loops, such as {name}-1; see `windlass status {name}`"),
            ),
            Some(GroupKind::Merges) => Self::refused(
                format!("'{name}' is a merge queue, not a loop"),
                format!("name one of its loops; see `windlass status {name}`"),
            ),
            Some(GroupKind::Queue) => {
                Self::refused(format!("'{name}' is the queue of goals, not a loop"), "see `windlass queue list`")
            }
            None => Self::refused(format!("'{name}' is not a loop"), "see `windlass list`"),
        }
    }

    pub fn no_loop(id: &str) -> Self {
        let shown: String = id.chars().take(80).collect();
        Self::new(Kind::NotFound, format!("loop '{shown}' not found")).hint("list loops with GET /api/loops")
    }
}

impl From<UsageError> for Problem {
    fn from(error: UsageError) -> Self {
        let field = usage_field(&error).map(str::to_owned);
        Problem { field, ..Problem::of(Kind::Refused, &error, Some(error.hint())) }
    }
}

/// The part of the request that is meant, for a form.
fn usage_field(error: &UsageError) -> Option<&'static str> {
    match error {
        UsageError::EmptyGoal | UsageError::GoalHasNul => Some("goal"),
        UsageError::Name { .. } => Some("name"),
        UsageError::UnknownRecipe { .. } => Some("recipe"),
        UsageError::Unset { key } => Some(key),
        UsageError::NoAgent
        | UsageError::UnknownAgent { .. }
        | UsageError::NoCommand { .. }
        | UsageError::Pattern { .. }
        | UsageError::NotTaken { .. } => Some("agent"),
        UsageError::UnclosedQuote | UsageError::EmptyCommand => Some("agent_command"),
        UsageError::ModelUnused { .. } | UsageError::NoModel { .. } => Some("model"),
        UsageError::NotKeptAlive { .. } => Some("session"),
        UsageError::Promise { .. } => Some("completion_promise"),
        UsageError::Unbounded | UsageError::NoTokens { .. } => Some("max_iterations"),
        UsageError::NoPrice { .. } => Some("budget_usd"),
        UsageError::NoFallback => Some("fallbacks"),
        UsageError::PlanUnused { .. } | UsageError::Plan { .. } | UsageError::PlanShape { .. } => Some("plan"),
        UsageError::Unconfined { .. } => Some(NO_SANDBOX),
        UsageError::NetworkOpen { .. } => Some("network"),
        UsageError::HiddenGates { .. } => Some("hidden_gates"),
        UsageError::ReviewerUnused { .. } => Some("reviewer"),
        UsageError::NoEndpoint { key, .. } => Some(key),
        UsageError::EndpointAddress => Some("summariser_url"),
        // No field of their own: a target is no setting, a wish may be the reviewer's or a fallback's, and a level that is
        // not available must not look like a machine without a sandbox.
        UsageError::BothTargets
        | UsageError::NoTarget { .. }
        | UsageError::TargetRange { .. }
        | UsageError::Target { .. }
        | UsageError::TargetTime { .. }
        | UsageError::NoSandbox { .. }
        | UsageError::Wish { .. } => None,
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        Problem::of(Kind::Refused, &error, error.hint())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NameTaken { .. } | StoreError::Limited { .. } => Kind::Refused,
            StoreError::IdTaken { .. }
            | StoreError::UnknownLoop { .. }
            | StoreError::Conflict { .. }
            | StoreError::LeaseLost { .. }
            | StoreError::Held(_)
            | StoreError::NotPending { .. }
            | StoreError::NotTaken { .. }
            | StoreError::TimeOutOfRange { .. }
            | StoreError::NotFound { .. }
            | StoreError::Corrupt { .. }
            | StoreError::Foreign { .. }
            | StoreError::NewerDatabase { .. }
            | StoreError::OlderDatabase { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Forbidden { .. }
            | StoreError::DiskFull { .. }
            | StoreError::Busy { .. }
            | StoreError::Io { .. }
            | StoreError::Sqlite { .. }
            | StoreError::Database { .. }
            | StoreError::Stopped => Kind::Failed,
        };
        let field = matches!(error, StoreError::NameTaken { .. }).then(|| "name".to_owned());
        Problem { field, ..Problem::of(code, &error, error.hint()) }
    }
}

impl From<WorkspaceError> for Problem {
    fn from(error: WorkspaceError) -> Self {
        let hint = error.hint();
        let code = if error.is_wrong_use() { Kind::Refused } else { Kind::Failed };
        Problem::of(code, &error, hint)
    }
}

impl From<DriveError> for Problem {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Store(error) => error.into(),
            DriveError::Workspace(error) => Problem { code: Kind::Failed, ..error.into() },
            error @ (DriveError::Journal(_)
            | DriveError::Launch(_)
            | DriveError::Supervise(_)
            | DriveError::Sandbox(_)
            | DriveError::DiskFull { .. }
            | DriveError::Transcript { .. }
            | DriveError::Places(_)
            | DriveError::NotTried(_)
            | DriveError::Lost(_)) => {
                let full = matches!(error, DriveError::DiskFull { .. });
                let hint = if full {
                    "free some space, then run `windlass resume`; nothing is lost"
                } else {
                    "resume the loop with `windlass resume`; nothing is lost"
                };
                Problem::of(Kind::Failed, &error, Some(hint.to_owned()))
            }
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Workspace(error) => error.into(),
            EngineError::Drive(error) => error.into(),
            EngineError::Driven { .. } => {
                let hint = "follow it with `windlass logs -f`, or stop it with `windlass stop`";
                Problem::of(Kind::Refused, &error, Some(hint.to_owned()))
            }
            EngineError::Unseen { .. } => {
                let hint = "stop it where it runs; if that machine is gone, run `windlass resume NAME --take-over`";
                Problem::of(Kind::Refused, &error, Some(hint.to_owned()))
            }
            EngineError::Refused(ref refusal) => {
                let hint = refusal_hint(refusal);
                Problem::of(Kind::Refused, &error, hint.map(str::to_owned))
            }
            EngineError::GroupRefused(_) => {
                Problem::of(Kind::Refused, &error, Some("see it with `windlass status`".to_owned()))
            }
            EngineError::Journal(error) => error.into(),
            error @ (EngineError::Socket(_)
            | EngineError::Data(_)
            | EngineError::NoAnswer
            | EngineError::Unanswered { .. }
            | EngineError::TurnOver { .. }
            | EngineError::Identity) => Problem::of(Kind::Failed, &error, None),
        }
    }
}

fn refusal_hint(refusal: &windlass_core::machine::Refusal) -> Option<&'static str> {
    use windlass_core::machine::Refusal;
    use windlass_core::stop::End;
    match refusal {
        Refusal::LimitStands { .. } => Some("raise the limit, for example: windlass resume NAME --max-iterations +5"),
        Refusal::NotCompleted => Some("resume it: windlass resume NAME"),
        Refusal::Completed | Refusal::Ended { end: End::Completed } => {
            Some("continue it: windlass continue NAME [GOAL]")
        }
        Refusal::Ended { .. } | Refusal::NotUnderWay => Some("resume it with `windlass resume`"),
        Refusal::UnderWay => Some("follow it with `windlass logs -f`"),
        Refusal::NoSuchLimit { .. } => Some("see the loop's limits with `windlass status`"),
        Refusal::AwaitsRuling => Some("run `windlass approve NAME`, or `windlass reject NAME --reason \"…\"`"),
        Refusal::NothingToRule => {
            Some("see what it is doing with `windlass status`, or send it a message with `windlass steer`")
        }
        Refusal::NoQuestion | Refusal::Answered { .. } => Some("send a message with `windlass steer` instead"),
        Refusal::WhichQuestion { .. } => Some("see them with `windlass status`"),
        Refusal::NotReviewed => Some("use the recipe audited or milestone"),
        Refusal::Stale
        | Refusal::AlreadyAsked
        | Refusal::NotYourRole { .. }
        | Refusal::Finding(_)
        | Refusal::NoSession
        | Refusal::Plan(_) => None,
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        let code = if matches!(error, JournalError::NoSuchLoop { .. }) { Kind::NotFound } else { Kind::Failed };
        Problem::of(code, &error, None)
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Self {
        let code = if matches!(error, RequestError::Write { .. }) { Kind::Failed } else { Kind::Invalid };
        let field = error.key().map(str::to_owned);
        Problem { field, ..Problem::of(code, &error, error.hint()) }
    }
}

impl From<TrustError> for Problem {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Workspace(error) => error.into(),
            error @ TrustError::File(_) => Problem::of(Kind::Failed, &error, None),
            error @ (TrustError::Links { .. } | TrustError::Large { .. }) => {
                Problem::of(Kind::Invalid, &error, Some("replace the link with the file".to_owned()))
            }
        }
    }
}

impl From<MilestonesError> for Problem {
    fn from(error: MilestonesError) -> Self {
        let hint = error.hint();
        Problem::of(Kind::Refused, &error, hint)
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Problem::of(Kind::Failed, &error, None)
    }
}
