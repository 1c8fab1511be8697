//! A loop's work in a person's hands: looked at, taken back, merged, cleared away.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use windlass_core::machine::{Input, IterationRecord, LoopState, Shared, decide};
use windlass_core::stop::Status;

use crate::data::rubbish;
use crate::driver::{FreshRun, RedGate};
use crate::engine::{Engine, EngineError, Held, workspace_of};
use windlass_workspace::{
    DiskUse, Landed, MergeOutcome, MergePlan, MergeRequest, Removed, Reopen, Restored, Workspace, disk_use,
};

/// Two states of a loop's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub from: String,
    pub to: String,
}

/// A checkpoint that a loop can go back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    pub iteration: u32,
    pub commit: String,
    pub tree: String,
}

/// What came of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    Outcome(MergeOutcome),
    /// A gate failed on the merged result; nothing was changed.
    Red {
        into: String,
        gate: RedGate,
    },
}

/// Why there is nothing to show or to go back to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NoSuchPoint {
    #[error("the loop has no separate workspace")]
    NoWorkspace,
    #[error("iteration {iteration} does not exist")]
    NoIteration { iteration: u32, last: u32 },
    #[error("iteration {iteration} was not committed")]
    NotCommitted { iteration: u32 },
    #[error("iteration {iteration} was rolled back")]
    Undone { iteration: u32 },
}

/// The whole work of a loop, or that of one iteration.
pub fn span(state: &LoopState, iteration: Option<u32>) -> Result<Span, NoSuchPoint> {
    let workspace = state.workspace.as_ref().ok_or(NoSuchPoint::NoWorkspace)?;
    let base = workspace.base_commit.clone().ok_or(NoSuchPoint::NoWorkspace)?;
    let Some(iteration) = iteration else {
        let head = workspace.head_commit.clone().unwrap_or_else(|| base.clone());
        return Ok(Span { from: base, to: head });
    };
    let (index, record) = record(state, iteration)?;
    let to = record.checkpoint.commit.clone().ok_or(NoSuchPoint::NotCommitted { iteration })?;
    // An iteration that was taken back is no ground for one that came after that.
    let mut before = state.iterations[..index].iter().rev().filter(|earlier| !earlier.undone || record.undone);
    let earlier = before.find(|earlier| earlier.checkpoint.commit.is_some());
    let began = state.stretch_between(earlier.map_or(0, |earlier| earlier.iteration), iteration).map(str::to_owned);
    let from = began.or_else(|| earlier.and_then(|earlier| earlier.checkpoint.commit.clone())).unwrap_or(base);
    Ok(Span { from, to })
}

/// The checkpoint of an iteration; 0 is the base.
pub fn point(state: &LoopState, iteration: u32) -> Result<Point, NoSuchPoint> {
    if iteration == 0 {
        let commit = state.first_head().ok_or(NoSuchPoint::NoWorkspace)?.to_owned();
        return Ok(Point { iteration, commit, tree: String::new() });
    }
    let (_, record) = record(state, iteration)?;
    let commit = record.checkpoint.commit.clone().ok_or(NoSuchPoint::NotCommitted { iteration })?;
    Ok(Point { iteration, commit, tree: record.checkpoint.tree.clone() })
}

/// The checkpoint that a fork starts from, and the base that its work is compared with: that of the iteration's stretch.
pub fn fork_point(state: &LoopState, iteration: Option<u32>) -> Result<(Point, String), NoSuchPoint> {
    let kept = |record: &&Shared<IterationRecord>| !record.undone && record.checkpoint.commit.is_some();
    let last = || state.iterations.iter().rev().find(kept).map_or(0, |record| record.iteration);
    let iteration = iteration.unwrap_or_else(last);
    if iteration > 0 && record(state, iteration)?.1.undone {
        return Err(NoSuchPoint::Undone { iteration });
    }
    let point = point(state, iteration)?;
    let workspace = state.workspace.as_ref().ok_or(NoSuchPoint::NoWorkspace)?;
    let stretch = workspace.bases.iter().rev().find(|base| base.after < iteration).or(workspace.bases.first());
    let base = stretch.and_then(|base| base.commit.clone()).or_else(|| workspace.base_commit.clone());
    Ok((point, base.ok_or(NoSuchPoint::NoWorkspace)?))
}

fn record(state: &LoopState, iteration: u32) -> Result<(usize, &IterationRecord), NoSuchPoint> {
    let mut records = state.iterations.iter().map(|record| &**record).enumerate();
    let last = state.iterations.last().map_or(0, |record| record.iteration);
    records.rfind(|(_, record)| record.iteration == iteration).ok_or(NoSuchPoint::NoIteration { iteration, last })
}

/// Whether the loop's gates passed on exactly this tree.
pub fn judged(state: &LoopState, tree: &str) -> bool {
    state.is_verified() && state.workspace.as_ref().is_some_and(|known| known.tree.as_deref() == Some(tree))
}

impl Engine {
    /// What the journal remembers of a loop's workspace.
    pub fn workspace(&self, state: &LoopState) -> Result<Workspace, EngineError> {
        Ok(workspace_of(state)?)
    }

    /// Takes a held loop back. A loop that was cut off comes to a pause first, so that nothing of its turn is lost.
    pub async fn rollback(self: &Arc<Self>, held: &mut Held, to: &Point) -> Result<Restored, EngineError> {
        if held.state.awaits_place() {
            self.unqueue(held).await?;
        }
        match held.state.status() {
            Status::Running | Status::Waiting { .. } => {
                self.attach(held).await?;
                self.settle(held).await?;
            }
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {}
        }
        let mut input = Input::RolledBack {
            to_iteration: to.iteration,
            commit: to.commit.clone(),
            tree: to.tree.clone(),
            saved: None,
        };
        // Asked before anything moves.
        decide(&held.state, &input, self.clock.now())?;
        let workspace = self.workspace(&held.state)?;
        self.workspaces.reopen(&workspace, &Reopen::Keep).await?;
        let save_as = workspace.keep_ref("rollback", &held.state.seq.to_string());
        let restored = self.workspaces.rollback(&workspace, &to.commit, &save_as).await?;
        if let Input::RolledBack { saved, .. } = &mut input {
            *saved = restored.saved.as_ref().map(|saved| saved.name.clone());
        }
        self.apply(held, &input).await?;
        Ok(restored)
    }

    /// Moves a loop's branch and workspace forward to a commit on top of its last one. What was on disk and in no commit is saved.
    pub async fn take_smaller(&self, state: &LoopState, commit: &str) -> Result<Restored, EngineError> {
        let workspace = self.workspace(state)?;
        self.workspaces.reopen(&workspace, &Reopen::Keep).await?;
        let save_as = workspace.keep_ref("minimise", &state.seq.to_string());
        Ok(self.workspaces.rollback(&workspace, commit, &save_as).await?)
    }

    /// Merges a loop's branch, after its gates passed on the merged result if `gates` says so.
    pub async fn merge(
        self: &Arc<Self>,
        state: &LoopState,
        request: &MergeRequest,
        gates: bool,
    ) -> Result<Merged, EngineError> {
        let workspace = self.workspace(state)?;
        let planned = match self.workspaces.plan_merge(&workspace, request).await? {
            MergePlan::Ready(planned) => planned,
            MergePlan::Over(outcome) => return Ok(Merged::Outcome(outcome)),
        };
        if gates
            && !judged(state, &planned.tree)
            && let Some(red) = crate::driver::judge_merge(self, state, &planned.commit).await?
        {
            return Ok(Merged::Red { into: planned.into, gate: red });
        }
        Ok(Merged::Outcome(self.workspaces.finish_merge(&workspace, planned).await?))
    }

    /// Runs the loop's gates on a commit, in a fresh checkout that is removed afterwards.
    pub async fn judge_again(self: &Arc<Self>, state: &LoopState, commit: &str) -> Result<Vec<FreshRun>, EngineError> {
        Ok(crate::driver::judge_afresh(self, state, commit, "verify", |_| false).await?)
    }

    pub async fn landed(&self, state: &LoopState) -> Result<Landed, EngineError> {
        Ok(self.workspaces.landed(&self.workspace(state)?).await?)
    }

    /// What a loop's directories take on disk.
    pub async fn disk_use(&self, state: &LoopState) -> Result<DiskUse, EngineError> {
        let mut all = disk_use(self.workspace(state)?.dir).await;
        for judge in self.data.judges(&state.id.0) {
            let more = disk_use(judge).await;
            (all.bytes, all.files) = (all.bytes + more.bytes, all.files + more.files);
        }
        Ok(all)
    }

    /// Builds that loops of a project, or of every project, handed on so long ago; with what they take.
    pub async fn old_builds(&self, project: Option<&str>, age: Duration) -> Vec<(PathBuf, DiskUse)> {
        let places = match project {
            Some(project) => vec![self.data.builds(project)],
            None => self.data.all_builds(),
        };
        let is_old = |place: &PathBuf| {
            let data = std::fs::symlink_metadata(place).ok().filter(std::fs::Metadata::is_dir);
            data.and_then(|data| data.modified().ok()?.elapsed().ok()).is_some_and(|since| since >= age)
        };
        let mut old = Vec::new();
        for place in places.into_iter().filter(is_old) {
            let used = disk_use(place.clone()).await;
            old.push((place, used));
        }
        old
    }

    /// Removes a held loop for good: its journal first, then what was kept beside it. Its workspace is removed before, by
    /// `clean`.
    pub async fn forget(&self, held: Held) -> Result<(), EngineError> {
        let LoopState { id, name, .. } = &held.state;
        self.remove_record(&held).await?;
        for dir in [self.data.transcripts(id), self.data.sockets(id)] {
            self.workspaces.remove_own(&dir)?;
        }
        // A log that stays is only a log.
        let _ = std::fs::remove_file(self.data.loop_log(name, id));
        Ok(())
    }

    /// Removes a held loop's directories; the branch too if `merged_into` has all of it.
    pub async fn clean(&self, held: &Held, merged_into: Option<&str>) -> Result<Removed, EngineError> {
        let mut removed = self.workspaces.remove(&self.workspace(&held.state)?, merged_into).await?;
        for judge in self.data.judges(&held.state.id.0) {
            let more = disk_use(judge.clone()).await;
            self.workspaces.remove_own(&judge)?;
            removed.freed.bytes += more.bytes;
            removed.freed.files += more.files;
        }
        self.workspaces.remove_own(&self.data.loop_temp(&held.state.id.0))?;
        rubbish::remove(&self.data);
        Ok(removed)
    }
}
