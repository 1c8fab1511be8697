//! What kept Windlass from trying something. It says nothing of the agent, its work or a gate: nothing is judged by it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why something could not be tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Trouble {
    pub kind: TroubleKind,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TroubleKind {
    /// The sandbox could not be made.
    Sandbox,
    /// The supervising process could not be started, or was killed.
    Supervisor,
    Git,
    /// The disk is full.
    Disk,
    /// A file could not be read or written.
    Files,
}

impl TroubleKind {
    pub fn name(self) -> &'static str {
        match self {
            TroubleKind::Sandbox => "sandbox",
            TroubleKind::Supervisor => "supervisor",
            TroubleKind::Git => "git",
            TroubleKind::Disk => "disk",
            TroubleKind::Files => "files",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

/// What was to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    Workspace,
    Setup,
    Turn,
    Summary,
    Checkpoint,
    Gate,
    Seal,
    Undo,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Workspace => "opening the workspace",
            Step::Setup => "the set-up",
            Step::Turn => "the turn",
            Step::Summary => "the summary",
            Step::Checkpoint => "the checkpoint",
            Step::Gate => "the gate",
            Step::Seal => "the section's commit",
            Step::Undo => "reverting the post-action",
        })
    }
}
