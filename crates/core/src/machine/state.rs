//! Everything a loop is, folded from its journal.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::activity::Activity;
use super::continuing::{Base, Continued};
use super::event::{Restore, SessionUse};
use super::input::{CheckpointReport, GateReport, RestoredSnapshot};
use super::outcome::{Merge, RefusedMerge, Smaller};
use super::question::Question;
use super::review::Review;
use super::shared::Shared;
use super::turn::EndedTurn;
use crate::agent::{AccountWindow, TurnReport};
use crate::ids::{LoopId, Role, TurnKey};
use crate::residue::Certificate;
use crate::spec::{AgentChoice, CommitPolicy, Done, LoopSpec, SessionPolicy, WorkspaceKind};
use crate::trouble::Step;
use crate::usage::{Usage, UsageByModel, UsageLedger};

#[derive(Debug, Clone, PartialEq)]
pub struct LoopState {
    pub id: LoopId,
    pub name: String,
    pub project: String,
    pub spec: Shared<LoopSpec>,
    /// Number of the last event.
    pub seq: u64,
    pub activity: Activity,
    /// The last merge of its work by Windlass.
    pub merged: Option<Merge>,
    /// The last try to merge it, if that was refused and nothing changed since.
    pub merge_refused: Option<RefusedMerge>,
    /// The smaller tree on top of its branch, if somebody took one.
    pub smaller: Option<Smaller>,
    /// The iteration under way, or the last one; 0 before the first.
    pub iteration: u32,
    /// What was before the loop was last continued.
    pub continued: Continued,
    pub workspace: Option<Workspace>,
    /// The last turn that ended.
    pub last_turn: Option<Shared<EndedTurn>>,
    /// What the coder last came to, in a loop whose reviewer reads it.
    pub last_work: Option<Shared<TurnReport>>,
    /// The last turn of each role.
    pub last_keys: BTreeMap<Role, TurnKey>,
    /// The last iteration whose facts were all in.
    pub judged: u32,
    /// In a loop in which somebody judges the work.
    pub review: Option<Shared<Review>>,
    /// How far each role is in its list of agents: at the first, unless one failed for good.
    pub chosen: BTreeMap<Role, usize>,
    /// What the agent of each role calls its session.
    pub sessions: BTreeMap<Role, String>,
    /// How much of its account the coder's agent last reported as used.
    pub account: Vec<AccountWindow>,
    /// What was used in each agent session so far; several agents only ever give the sum.
    pub session_usage: Shared<BTreeMap<String, UsageByModel>>,
    /// Verdicts on the checkpoint of the current iteration, by the gate's place in the spec.
    pub gates: BTreeMap<usize, GateReport>,
    /// How often each gate has run on it.
    pub gate_runs: BTreeMap<usize, u32>,
    /// The verdicts on the base, one or two of each gate.
    pub baseline: Shared<BTreeMap<usize, Vec<GateReport>>>,
    pub iterations: Shared<Vec<Shared<IterationRecord>>>,
    /// Of turns that ended; `used` has the turn under way too.
    pub(super) usage: UsageLedger,
    pub claims: Claims,
    pub steering: Shared<Vec<Steering>>,
    /// What the coder asked the user.
    pub questions: Shared<Vec<Question>>,
    /// Hosts that were asked for and are not on the loop's list, and how often at least.
    pub denied_hosts: BTreeMap<String, u64>,
    /// What was left when the loop last came to rest; unknown while it is under way.
    pub residue: Option<Certificate>,
    pub wish: Option<Wish>,
    pub counters: Counters,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub stopped_at: Option<Timestamp>,
    pub updated_at: Timestamp,
    /// Time under way, restarts included; pauses and the time without a driver left out.
    pub elapsed_ms: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Workspace {
    pub dir: String,
    pub branch: Option<String>,
    pub base_commit: Option<String>,
    /// Known where something needed it.
    pub base_tree: Option<String>,
    /// The base of each stretch; the first is that of the loop.
    pub bases: Vec<Base>,
    /// The last checkpoint, or the base.
    pub head_commit: Option<String>,
    pub tree: Option<String>,
    pub set_up: bool,
    /// Where the last opening saved the tree of a cut-off turn before it was reset.
    pub saved: Option<String>,
    /// The files were left on another machine, and were not opened here yet.
    pub moved: bool,
    /// What the last opening restored of a turn that was lost with its machine.
    pub snapshot: Option<RestoredSnapshot>,
    pub handle: serde_json::Value,
}

/// The record of an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IterationRecord {
    pub iteration: u32,
    pub turn: TurnKey,
    pub success: bool,
    pub claim: bool,
    pub checkpoint: CheckpointReport,
    /// What was done, in the summariser's words or the agent's last ones.
    pub summary: String,
    /// In the gates' order.
    pub gates: Vec<GateMark>,
    #[serde(default)]
    pub usage: Usage,
    pub at: Timestamp,
    pub duration_ms: u64,
    /// A person went back to before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
}

/// What a gate said of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateMark {
    Pass,
    Fail,
    /// It did not run: it only judges claims, or something else came first.
    Skipped,
}

impl GateMark {
    pub fn name(self) -> &'static str {
        match self {
            GateMark::Pass => "pass",
            GateMark::Fail => "fail",
            GateMark::Skipped => "skipped",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Claims {
    pub made: u32,
    pub refused: u32,
    /// Claims that passed every gate the agent knows and failed a hidden one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_hidden: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Debug, Clone, PartialEq)]
pub struct Steering {
    pub id: String,
    pub text: String,
    pub delivered: Option<TurnKey>,
}

/// A user's request that the loop has not carried out yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Stop,
    Pause,
}

/// Things that happened in a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters {
    pub cut_offs: u32,
    /// Turns that were lost with the machine that ran them.
    pub lost: u32,
    pub stalls: u32,
    /// Turns that failed by the agent's own fault.
    pub failures: u32,
    pub rate_limits: u32,
    /// The provider was overloaded or not reached.
    pub no_answers: u32,
    pub sessions_lost: u32,
    /// Iterations with the same tree and the same failing gates; without a failing gate, with the same words or none.
    pub same: u32,
    pub same_tree: Option<String>,
    pub same_failing: Vec<String>,
    /// What the agent said in the last of them.
    pub same_words: String,
    /// How often each step could not be tried.
    pub not_tried: BTreeMap<Step, u32>,
}

impl Counters {
    /// So many iterations in a row in which nothing changed, the last one with this.
    pub(super) fn unchanged(&mut self, same: u32, tree: Option<String>, failing: &[String], words: String) {
        self.same = same;
        self.same_tree = tree;
        self.same_failing = failing.to_vec();
        self.same_words = words;
    }

    /// How often in a row nothing changed, with one more iteration: the same tree with the same things wrong or, where
    /// nothing is known to be wrong, with the same words or none.
    pub(super) fn same_with(&self, tree: Option<&str>, failing: &[String], words: &str) -> u32 {
        let says_nothing_new = !failing.is_empty() || words.is_empty() || self.same_words == words;
        let same =
            tree.is_some() && self.same_tree.as_deref() == tree && self.same_failing == failing && says_nothing_new;
        if same { self.same + 1 } else { 1 }
    }
}

impl LoopState {
    /// What the tree is known by: the commit, if nobody needed the tree's hash.
    pub(super) fn tree_or_commit(&self) -> Option<&str> {
        let workspace = self.workspace.as_ref()?;
        workspace.tree.as_deref().or(workspace.head_commit.as_deref())
    }

    /// The end of what the agent said in its last turn.
    pub(super) fn last_words(&self) -> &str {
        self.last_turn.as_ref().map_or("", |last| last.report.last_words.trim())
    }

    pub fn turn_id(&self, key: TurnKey) -> String {
        key.id(&self.id)
    }

    /// The agent that has the role now.
    pub fn agent(&self, role: Role) -> &AgentChoice {
        self.spec.agent_of(role, self.chosen.get(&role.seat()).copied().unwrap_or(0))
    }

    /// The agent to fall back to if the current one fails permanently, with its position in the list.
    pub fn next_agent(&self, role: Role) -> Option<(usize, &AgentChoice)> {
        let now = self.chosen.get(&role.seat()).copied().unwrap_or(0);
        self.spec.agents(role).1.get(now).map(|agent| (now + 1, agent))
    }

    pub fn head_commit(&self) -> Option<&str> {
        self.workspace.as_ref()?.head_commit.as_deref()
    }

    pub fn workspace_dir(&self) -> Option<&str> {
        self.workspace.as_ref().map(|workspace| workspace.dir.as_str())
    }

    /// Whether somebody else owns the tree.
    pub fn is_external(&self) -> bool {
        self.spec.workspace.kind == WorkspaceKind::External
    }

    /// Whether the loop can go on elsewhere from its commits.
    pub fn can_move(&self) -> bool {
        let own = match self.spec.workspace.kind {
            WorkspaceKind::Clone => true,
            WorkspaceKind::InPlace | WorkspaceKind::External => false,
        };
        own && self.spec.commit != CommitPolicy::Off
    }

    pub fn undelivered_steering(&self) -> impl Iterator<Item = &Steering> {
        self.steering.iter().filter(|message| message.delivered.is_none())
    }

    /// Time under way up to `now`.
    pub fn elapsed_at(&self, now: Timestamp) -> u64 {
        self.elapsed_ms.saturating_add(if self.is_under_way() { millis_between(self.updated_at, now) } else { 0 })
    }

    /// Whether the last turn is a claim to be done. Gates come on top.
    pub fn claims_done(&self) -> bool {
        match self.spec.done {
            Done::Promise { .. } => {
                self.last_turn.as_ref().is_some_and(|last| last.report.claim && last.report.outcome.is_finished())
            }
            Done::Gates => true,
            Done::Review => self.aims_at_whole(),
            Done::Count { iterations } => self.iteration >= iterations,
            Done::Duration { ms } => self.elapsed_ms >= ms,
        }
    }

    pub(super) fn wants_setup(&self) -> bool {
        let spec = &self.spec.workspace;
        let asked = !spec.setup.is_empty() || !spec.copy.is_empty();
        asked && self.workspace.as_ref().is_some_and(|workspace| !workspace.set_up)
    }

    /// The session the next turn uses: a turn that is tried again goes on in its own session.
    pub(super) fn next_session(&self, role: Role, again: bool) -> SessionUse {
        let known = self.sessions.get(&role);
        // An agent that is asked again must get the earlier question.
        let asked_again = self.review.as_ref().is_some_and(|review| !review.unreadable.is_empty());
        if again || (asked_again && role.only_reads()) {
            return known.map_or(SessionUse::Fresh, |id| SessionUse::Resume { session: id.clone() });
        }
        match self.spec.session {
            SessionPolicy::Fresh => SessionUse::Fresh,
            SessionPolicy::Resume | SessionPolicy::KeepAlive => match known {
                Some(id) => SessionUse::Resume { session: id.clone() },
                // A session that overflowed was given up, which is another thing than an agent that names none.
                None if self.iteration <= 1 || self.counters.sessions_lost > 0 => SessionUse::Fresh,
                None => SessionUse::FreshInstead,
            },
        }
    }

    /// The runs of the coder this loop may have: its limit, or the target of a loop that works so many times.
    pub fn iteration_limit(&self) -> Option<u32> {
        let target = match self.spec.done {
            Done::Count { iterations } => Some(iterations),
            Done::Promise { .. } | Done::Gates | Done::Duration { .. } | Done::Review => None,
        };
        [self.spec.limits.max_iterations, target].into_iter().flatten().min()
    }

    /// The time bound of this loop: its limit, or the target of a loop that works for a while.
    pub fn duration_limit_ms(&self) -> Option<u64> {
        let target = match self.spec.done {
            Done::Duration { ms } => Some(ms),
            Done::Promise { .. } | Done::Gates | Done::Count { .. } | Done::Review => None,
        };
        [self.spec.limits.duration_ms, target].into_iter().flatten().min()
    }

    /// Tree and agent memory move together: a turn that is tried again in its own session finds its tree as it was,
    /// one that starts fresh begins at the checkpoint. The user's checkout, and a tree without commits, stay.
    pub fn restore(&self) -> Restore {
        let Some(due) = self.retry() else { return Restore::Keep };
        let keeps_tree = match self.spec.workspace.kind {
            WorkspaceKind::InPlace | WorkspaceKind::External => true,
            WorkspaceKind::Clone => self.spec.commit == CommitPolicy::Off,
        };
        if keeps_tree || self.sessions.contains_key(&due.key.role) {
            return Restore::Keep;
        }
        match self.head_commit() {
            Some(commit) => {
                let moved = self.workspace.as_ref().is_some_and(|workspace| workspace.moved);
                Restore::Reset { commit: commit.to_owned(), cut_turn: due.key, moved }
            }
            None => Restore::Keep,
        }
    }
}

/// A tree's hash as a report has it, which leaves it empty where nothing needed it.
pub(super) fn known(tree: &str) -> Option<String> {
    Some(tree.to_owned()).filter(|tree| !tree.is_empty())
}

/// Milliseconds from one time to a later one; 0 when the clock went back.
pub(super) fn millis_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_millisecond() - from.as_millisecond()).unwrap_or(0)
}
