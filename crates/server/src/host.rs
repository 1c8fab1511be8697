//! What the server leaves to whoever runs it: everything that makes, opens or changes something.
//!
//! The command line implements this with the code of its own commands, so that a click and a command do the same.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Opener, Raise};
use windlass_engine::view::LoopView;

use crate::problem::Problem;
use crate::reports::{
    AgentReport, CleanReport, DoctorReport, MergeReport, MilestoneView, RollbackReport, TakeoverReport, TrustReport,
};
use crate::requests::{
    Agree, CallAgents, CleanLoop, CleanLoops, MergeLoop, MilestoneOrder, NewMilestone, SettingsChange, StartLoop,
    StartMilestone, Trust,
};
use crate::views::{MilestoneBoard, Preview, Revoked, SettingsView};

/// How a loop is to be opened.
#[derive(Debug, Clone, PartialEq)]
pub enum Opening {
    Again { by: Opener, raise: Raise },
    Approve { reason: Option<String> },
    Reject { reason: String },
}

#[async_trait]
pub trait Host: fmt::Debug + Send + Sync {
    /// Makes a loop and drives it in this process.
    async fn start(&self, request: StartLoop) -> Result<LoopView, Problem>;

    /// What `start` would do; makes nothing.
    async fn preview(&self, request: StartLoop) -> Result<Preview, Problem>;

    /// Opens a loop that nobody drives, and drives it where that means work.
    async fn open(&self, id: &LoopId, opening: Opening) -> Result<LoopView, Problem>;

    async fn rollback(&self, id: &LoopId, to: u32) -> Result<RollbackReport, Problem>;

    async fn merge(&self, id: &LoopId, request: MergeLoop) -> Result<MergeReport, Problem>;

    async fn clean(&self, id: &LoopId, request: CleanLoop) -> Result<CleanReport, Problem>;

    /// Clears away the workspaces of ended loops that are merged and old enough.
    async fn clean_all(&self, request: CleanLoops) -> Result<CleanReport, Problem>;

    /// Pauses a loop and says how a person enters its place.
    async fn take_over(&self, id: &LoopId) -> Result<TakeoverReport, Problem>;

    async fn milestones(&self, project: &Path) -> Result<MilestoneBoard, Problem>;

    async fn milestone(&self, project: &Path, id: &str) -> Result<MilestoneView, Problem>;

    async fn add_milestone(&self, request: NewMilestone) -> Result<MilestoneBoard, Problem>;

    async fn order_milestones(&self, request: MilestoneOrder) -> Result<MilestoneBoard, Problem>;

    async fn start_milestone(&self, id: &str, request: StartMilestone) -> Result<LoopView, Problem>;

    async fn agents(&self, project: Option<&Path>) -> Result<Vec<AgentReport>, Problem>;

    /// The same, with a call to each.
    async fn call_agents(&self, request: CallAgents) -> Result<Vec<AgentReport>, Problem>;

    async fn trust(&self, request: Trust) -> Result<TrustReport, Problem>;

    async fn agree(&self, request: Agree) -> Result<TrustReport, Problem>;

    async fn revoke(&self, request: Trust) -> Result<Revoked, Problem>;

    async fn doctor(&self, project: Option<&Path>) -> Result<DoctorReport, Problem>;

    async fn settings(&self, project: Option<&Path>) -> Result<SettingsView, Problem>;

    /// Edits a settings file, comments kept: the user's, or that of a project.
    async fn change_settings(&self, project: Option<&Path>, change: SettingsChange) -> Result<SettingsView, Problem>;

    /// How many loops this process drives.
    fn driving(&self) -> usize;
}
