//! What a completed loop amounts to, and whether its work was merged, refused by the target, or made smaller.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::decide::{Batch, Refusal};
use super::event::Event;
use super::state::LoopState;
use crate::spec::{CommitPolicy, WorkspaceKind};
use crate::stop::Outcome;

/// A merge of the loop's work by Windlass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Merge {
    /// The target's commit that has the work.
    pub commit: String,
    /// The branch that was merged into.
    pub target: String,
}

/// A merge that Windlass tried and did not make; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RefusedMerge {
    /// The branch that would have been merged into.
    pub target: String,
    pub why: MergeObstacle,
}

/// What a merge failed at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MergeObstacle {
    /// The first gate that failed on the merged result.
    Gate {
        command: String,
        /// The end of what it printed.
        output_tail: String,
    },
    /// Both sides changed these files.
    Conflicts { files: Vec<String> },
}

impl fmt::Display for RefusedMerge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = &self.target;
        match &self.why {
            MergeObstacle::Gate { command, .. } => {
                write!(f, "not merged into {target}: {command} failed on the result")
            }
            MergeObstacle::Conflicts { files } => {
                write!(f, "not merged into {target}: conflicts in {}", files.join(", "))
            }
        }
    }
}

/// A smaller tree that gates passed on, put onto the loop's branch by `windlass minimise --take`. The verdict stays that of the
/// commit below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Smaller {
    /// The commit on the loop's branch.
    pub commit: String,
    /// The loop's last commit, below it.
    pub head: String,
    /// How much of the work is in it.
    pub kept: usize,
    pub hunks: usize,
}

impl LoopState {
    /// Whether gates or the reviewer agreed to what is recorded, on a commit that changes something.
    pub fn is_verified(&self) -> bool {
        self.outcome() == Some(Outcome::Verified)
    }

    /// What the loop amounts to if it completes now.
    pub(super) fn outcome_now(&self) -> Outcome {
        if self.is_unchanged() {
            return Outcome::Unchanged;
        }
        if !self.is_judged_by_somebody() {
            return Outcome::Claimed;
        }
        match self.spec.workspace.kind {
            WorkspaceKind::InPlace | WorkspaceKind::External => Outcome::CheckedInPlace,
            WorkspaceKind::Clone => match self.spec.commit {
                CommitPolicy::Off => Outcome::CheckedInPlace,
                CommitPolicy::Engine | CommitPolicy::Agent => Outcome::Verified,
            },
        }
    }

    /// Whether the tree is known to equal the base. Only somebody else's tree is not known.
    fn is_unchanged(&self) -> bool {
        !self.is_external() && self.workspace.is_some() && !self.differs_from_base()
    }

    fn is_judged_by_somebody(&self) -> bool {
        if !self.gates.is_empty() {
            return true;
        }
        let Some(review) = &self.review else { return false };
        // A post-action may have changed what the reviewer agreed to.
        review.agreed.as_ref().is_some_and(|agreed| agreed.commit.as_deref() == self.head_commit())
    }
}

impl Batch {
    pub(super) fn minimised(&mut self, smaller: &Smaller) -> Result<(), Refusal> {
        self.expect_rest()?;
        if self.state.head_commit() != Some(&smaller.head) {
            return Err(Refusal::Stale);
        }
        if self.state.smaller.as_ref() != Some(smaller) {
            self.push(Event::Minimised { smaller: smaller.clone() });
        }
        Ok(())
    }

    pub(super) fn merged(&mut self, merge: &Merge) -> Result<(), Refusal> {
        self.expect_rest()?;
        if self.state.merged.as_ref() != Some(merge) {
            self.push(Event::Merged { merge: merge.clone() });
        }
        Ok(())
    }

    pub(super) fn merge_refused(&mut self, refused: &RefusedMerge) -> Result<(), Refusal> {
        self.expect_rest()?;
        if self.state.merge_refused.as_ref() != Some(refused) {
            self.push(Event::MergeRefused { refused: refused.clone() });
        }
        Ok(())
    }
}
