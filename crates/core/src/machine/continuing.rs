//! A completed loop that continues: what it used before, and the merge target on its branch.

use serde::{Deserialize, Serialize};

use super::state::{LoopState, Workspace, known};
use crate::spec::{CommitPolicy, LoopSpec, WorkspaceKind};

/// What is known of the stretches before this one, and of how this one starts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Continued {
    /// Iterations that were used before.
    pub iterations: u32,
    /// Time that was used before.
    pub elapsed_ms: u64,
    /// Goals before this one, of work that is not merged yet.
    pub goals: Vec<String>,
    /// The target must be merged in before the next turn.
    pub due: Option<MergeIn>,
    /// The target as it was merged in, until a turn of this stretch is committed.
    pub merged: Option<MergedTarget>,
    /// Files in which that merge left conflicts. Each checkpoint looks for conflict markers in them.
    pub conflicts: Vec<String>,
}

/// A merge of the target into the loop's branch that must be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeIn {
    /// The branch; the one that the loop started from if not said.
    pub target: Option<String>,
}

/// The target on the loop's branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MergedTarget {
    pub branch: String,
    /// The target's commit. The work of this stretch is compared with it.
    pub commit: String,
    pub tree: String,
    /// The loop's branch afterwards: the merge, or what it was before if the target had nothing new.
    pub head: String,
    pub head_tree: String,
    /// The target had commits that the loop's branch did not have.
    #[serde(default)]
    pub news: bool,
    /// Files that hold conflict markers, or of which one side was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// What the work of a stretch is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct Base {
    /// Iterations before it.
    pub after: u32,
    pub commit: Option<String>,
    pub tree: Option<String>,
    /// The loop's branch when the stretch started.
    pub head: Option<String>,
}

impl Continued {
    pub(super) fn begin(iterations: u32, elapsed_ms: u64, spec: &LoopSpec, target: Option<&str>) -> Self {
        let owns_branch = match spec.workspace.kind {
            WorkspaceKind::Clone => spec.commit != CommitPolicy::Off,
            WorkspaceKind::InPlace | WorkspaceKind::External => false,
        };
        let due = owns_branch.then(|| MergeIn { target: target.map(str::to_owned) });
        Self { iterations, elapsed_ms, due, ..Self::default() }
    }
}

impl Workspace {
    /// From here on the work is compared with the target.
    pub(super) fn take_target(&mut self, after: u32, target: &MergedTarget) {
        self.head_commit = Some(target.head.clone());
        self.tree = known(&target.head_tree);
        self.base_commit = Some(target.commit.clone());
        self.base_tree = known(&target.tree);
        self.bases.push(self.base(after));
    }

    pub(super) fn base(&self, after: u32) -> Base {
        Base { after, commit: self.base_commit.clone(), tree: self.base_tree.clone(), head: self.head_commit.clone() }
    }

    /// Going back to an earlier stretch goes back to its base.
    pub(super) fn take_base_of(&mut self, iteration: u32) {
        let found = self.bases.iter().rev().find(|base| base.after < iteration).or(self.bases.first());
        if let Some(base) = found.cloned() {
            self.base_commit = base.commit;
            self.base_tree = base.tree;
        }
    }
}

impl LoopState {
    /// Where the branch was when the stretch started that followed an iteration (0 is the base) and came before another.
    pub fn stretch_between(&self, after: u32, later: u32) -> Option<&str> {
        let bases = &self.workspace.as_ref()?.bases;
        bases.iter().rev().find(|base| base.after >= after && base.after < later)?.head.as_deref()
    }

    /// The commit that the loop's branch started at: the base, or the checkpoint that the loop was forked from.
    pub fn first_head(&self) -> Option<&str> {
        let first = self.workspace.as_ref()?.bases.first().and_then(|base| base.head.as_deref());
        first.or_else(|| self.first_base())
    }

    /// The commit that the loop was created on.
    pub fn first_base(&self) -> Option<&str> {
        let workspace = self.workspace.as_ref()?;
        let first = workspace.bases.first().and_then(|base| base.commit.as_deref());
        first.or(workspace.base_commit.as_deref())
    }
}
