//! What is asked for. Fields are only ever added.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_engine::trust::Seen;

/// A new loop.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartLoop {
    /// The project's directory, or one in it.
    pub project: String,
    pub goal: String,
    /// The loop's name; made from the goal if left out.
    #[serde(default)]
    pub name: Option<String>,
    /// Settings under the very keys of the configuration; they win over every file.
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// A one-off agent, as with --agent-command.
    #[serde(default)]
    pub agent_command: Option<String>,
    #[serde(default)]
    pub reviewer_command: Option<String>,
    /// The commit to start from.
    #[serde(default)]
    pub base: Option<String>,
    #[serde(default)]
    pub allow_dirty: bool,
    /// Consent to what the project's own files make run: the files that `preview` showed, as they were then.
    #[serde(default)]
    pub trust: Option<Vec<Seen>>,
}

/// Keys of the configuration with their new value; `null` takes a key out of the file. `agents` holds profiles by name,
/// in which single fields may be given, or taken out with `null`.
pub type SettingsChange = BTreeMap<String, serde_json::Value>;

/// Pause after the current turn, or now.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PauseLoop {
    pub now: bool,
}

/// Limits raised by so much when a loop goes on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenLoop {
    pub raise: RaiseLimits,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RaiseLimits {
    pub max_iterations: u32,
    pub duration_ms: u64,
    pub budget_usd: f64,
    pub max_tokens: u64,
    pub disk_bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerLoop {
    pub message: String,
    /// Interrupt the turn that is at work, and go on in its session with the message.
    #[serde(default)]
    pub now: bool,
}

/// A person's word; rejecting needs a reason.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RuleLoop {
    pub reason: Option<String>,
}

impl RuleLoop {
    /// The reason, if anything is said.
    pub fn said(self) -> Option<String> {
        self.reason.filter(|reason| !reason.trim().is_empty())
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackLoop {
    /// The iteration to go back to; 0 is where it began.
    pub to: u32,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MergeLoop {
    pub into: Option<String>,
    pub squash: bool,
    /// Do not run the loop's gates on the merged result.
    pub no_gates: bool,
    pub message: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanLoop {
    /// Delete the branch too, if it is merged.
    pub branch: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

/// Which workspaces are cleared away.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CleanLoops {
    /// Only of loops of this project; of every project if left out.
    pub project: Option<String>,
    /// Delete merged branches too.
    pub branches: bool,
    /// Only say what would go.
    pub dry_run: bool,
}

/// One tiny call to each installed agent, which its provider may charge.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CallAgents {
    pub project: Option<String>,
    /// How long a call may take; two minutes if not said.
    pub timeout_ms: Option<u64>,
}

/// Consent to a repository's own files, as they were shown.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agree {
    pub project: String,
    #[serde(default)]
    pub base: Option<String>,
    /// What `GET /api/trust` told. If a file is another now, nothing is agreed to.
    pub files: Vec<Seen>,
}

/// A repository whose own files are asked for, or no longer agreed to.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    pub project: String,
    /// The revision that loops will start from; what is checked out is looked at as well.
    #[serde(default)]
    pub base: Option<String>,
}

/// Which loops.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListQuery {
    /// Only of this project.
    pub project: Option<String>,
    /// Only with one of these statuses, separated by commas; `open` stands for all that have not ended.
    pub status: Option<String>,
    /// Words that have to be in the name, the goal or the project.
    pub q: Option<String>,
    /// At most so many, 100 if not said, 1000 at most.
    pub limit: Option<usize>,
    /// The id of the last loop of the page before.
    pub after: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProjectQuery {
    /// The project's directory.
    pub project: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FeedQuery {
    /// Only what comes after this item. The header `Last-Event-ID` wins.
    pub after: Option<String>,
    /// Begin so many KiB of output before the end, at the start of a line.
    pub tail: Option<u64>,
    /// When the stream of a loop ends by itself; never if left out.
    pub until: Option<Until>,
}

/// The end of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Until {
    /// When all is sent that there is.
    Now,
    /// When nobody drives the loop any more.
    Rest,
}

impl Until {
    /// As a query says it.
    pub fn word(self) -> &'static str {
        match self {
            Until::Now => "now",
            Until::Rest => "rest",
        }
    }
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PageQuery {
    /// Where the page ends; the feed's end if left out.
    pub before: Option<String>,
    /// About so many KiB of output, 64 if not said, 1024 at most.
    pub limit: Option<u64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DiffQuery {
    /// Only what this iteration changed.
    pub iteration: Option<u32>,
    /// What lies in the workspace now, committed or not.
    pub worktree: bool,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RawQuery {
    pub offset: u64,
    /// At most so many bytes, 256 KiB if not said, 4 MiB at most.
    pub limit: Option<u64>,
}

/// A milestone to be made.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMilestone {
    pub project: String,
    pub id: String,
    pub title: String,
    pub goal: String,
    /// `F1: words`, or words.
    pub features: Vec<String>,
    pub criteria: Vec<String>,
    #[serde(default)]
    pub constraints: String,
    #[serde(default)]
    pub human_review: bool,
    #[serde(default)]
    pub order: Option<i64>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MilestoneOrder {
    pub project: String,
    /// All ids of the project in the order in which they are to be built.
    pub ids: Vec<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartMilestone {
    pub project: String,
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// As for any loop.
    #[serde(default)]
    pub trust: Option<Vec<Seen>>,
}
