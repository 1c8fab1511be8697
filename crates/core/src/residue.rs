//! What is left of a loop on the machine when nothing of it should be.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What was found when a loop reached rest; nothing, as a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Certificate {
    pub checked_at: Timestamp,
    pub left: Vec<Leftover>,
}

impl Certificate {
    pub fn is_clean(&self) -> bool {
        self.left.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Leftover {
    pub kind: LeftoverKind,
    /// For a user: the process, the path, the port.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftoverKind {
    Process,
    Port,
    Mount,
    Container,
    TempFiles,
    Socket,
    Worktree,
    ControlGroup,
}

impl LeftoverKind {
    pub fn name(self) -> &'static str {
        match self {
            LeftoverKind::Process => "process",
            LeftoverKind::Port => "port",
            LeftoverKind::Mount => "mount",
            LeftoverKind::Container => "container",
            LeftoverKind::TempFiles => "temporary files",
            LeftoverKind::Socket => "socket",
            LeftoverKind::Worktree => "worktree",
            LeftoverKind::ControlGroup => "control group",
        }
    }
}
