//! The fold: what an event means for the state. It decides nothing and never fails.

mod activity;
mod question;
mod review;

use std::collections::BTreeMap;

use jiff::Timestamp;
use thiserror::Error;

use crate::agent::TurnReport;
use crate::ids::{Role, TurnKey};
use crate::machine::activity::{Activity, Phase};
use crate::machine::continuing::Continued;
use crate::machine::event::{Counted, Event, Opener, SessionUse, StallStep};
use crate::machine::input::{CheckpointReport, GateKey, GateOn, GateReport, Raise, WorkspaceOpening};
use crate::machine::review::Review;
use crate::machine::shared::Shared;
use crate::machine::state::{Claims, Counters, GateMark, IterationRecord, LoopState, Steering, Wish, Workspace, known};
use crate::machine::turn::{EndedTurn, RunningTurn};
use crate::residue::Certificate;
use crate::spec::{Done, LoopSpec};
use crate::stop::End;
use crate::trouble::Step;
use crate::usage::{UsageByModel, UsageLedger};

/// An event with the time it was decided at.
pub type Replayed = (Timestamp, Event);

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the journal does not begin with the loop's creation")]
pub struct NotCreated;

/// The state after a whole journal.
pub fn replay(journal: impl IntoIterator<Item = Replayed>) -> Result<LoopState, NotCreated> {
    let mut journal = journal.into_iter();
    let (at, first) = journal.next().ok_or(NotCreated)?;
    let created = LoopState::created(at, &first).ok_or(NotCreated)?;
    Ok(journal.fold(created, |state, (at, event)| evolve(state, at, &event)))
}

impl LoopState {
    /// The state after a loop's first event.
    pub fn created(at: Timestamp, event: &Event) -> Option<LoopState> {
        let Event::LoopCreated { id, name, project, spec } = event else { return None };
        Some(LoopState {
            id: id.clone(),
            name: name.clone(),
            project: project.clone(),
            spec: Shared::new((**spec).clone()),
            seq: 1,
            activity: Activity::Created,
            merged: None,
            merge_refused: None,
            smaller: None,
            iteration: 0,
            continued: Continued::default(),
            workspace: None,
            last_turn: None,
            last_work: None,
            last_keys: BTreeMap::new(),
            judged: 0,
            review: spec.review.as_ref().map(|review| Shared::new(Review::new(review.kind))),
            chosen: BTreeMap::new(),
            sessions: BTreeMap::new(),
            account: Vec::new(),
            session_usage: Shared::default(),
            gates: BTreeMap::new(),
            gate_runs: BTreeMap::new(),
            baseline: Shared::default(),
            iterations: Shared::default(),
            usage: UsageLedger::default(),
            claims: Claims::default(),
            steering: Shared::default(),
            questions: Shared::default(),
            denied_hosts: BTreeMap::new(),
            residue: None,
            wish: None,
            counters: Counters::default(),
            created_at: at,
            started_at: None,
            stopped_at: None,
            updated_at: at,
            elapsed_ms: 0,
        })
    }
}

pub fn evolve(mut state: LoopState, at: Timestamp, event: &Event) -> LoopState {
    apply(&mut state, at, event);
    state
}

pub(in crate::machine) fn apply(state: &mut LoopState, at: Timestamp, event: &Event) {
    state.seq += 1;
    state.elapsed_ms = state.elapsed_at(if let Event::DriverAttached { alive_until } = event {
        // The time without a driver is not the loop's.
        alive_until.map_or(state.updated_at, |alive| alive.min(at))
    } else {
        at
    });
    state.updated_at = at;
    match event {
        // A second creation cannot be journalled (sequence numbers) and would mean nothing.
        Event::LoopCreated { .. } | Event::DriverAttached { .. } => {}
        Event::LoopOpened { by, raise, goal, target } => {
            if *by == Opener::Continue {
                continued(state, goal.as_deref(), target.as_deref());
            }
            opened(state, at, *by, raise);
        }
        Event::LoopQueued { .. } => activity::queued(state),
        Event::QueueLeft { turn_began } => activity::queue_left(state, at, *turn_began),
        Event::LoopMoved { .. } => moved(state),
        Event::PhaseEntered { phase, .. } => {
            if *phase == Phase::Gates {
                state.gates.clear();
                state.gate_runs.clear();
            }
            activity::phase_entered(state, *phase);
        }
        Event::WorkspaceOpened { opening } => workspace_opened(state, opening),
        Event::NotTried { step, times, .. } => {
            state.counters.not_tried.insert(*step, *times);
        }
        Event::IterationStarted { iteration } => {
            review::remember(state);
            state.iteration = *iteration;
        }
        Event::TurnStarted { turn, session, steering, answers, recovery, .. } => {
            question::delivered(state, *turn, answers);
            turn_started(state, at, *turn, session, steering, *recovery);
        }
        Event::SessionFound { turn, session } => {
            state.sessions.insert(turn.role, session.clone());
        }
        Event::UsageReported { turn, usage } => {
            if let Some(running) = state.activity.turn_mut().filter(|running| running.key == *turn) {
                running.usage.clone_from(usage);
                running.usage_at = at;
            }
        }
        Event::AccountReported { windows, .. } => state.account.clone_from(windows),
        Event::TurnInterrupted { turn, why } => {
            if let Some(running) = state.activity.turn_mut().filter(|running| running.key == *turn) {
                running.interrupt = Some(why.clone());
            }
        }
        Event::TurnEnded { turn, report, again, counts_as } => {
            count(&mut state.counters, *counts_as);
            turn_ended(state, *turn, report, *again);
        }
        Event::Review(event) => review::apply(state, event),
        Event::SessionLost { turn, .. } => {
            state.sessions.remove(&turn.role);
        }
        Event::AgentChanged { role, index, .. } => agent_changed(state, *role, *index),
        Event::Checkpointed { turn, checkpoint, summary } => {
            checkpointed(state, at, *turn, checkpoint, summary.as_deref());
        }
        Event::WorkspaceSetUp => {
            state.counters.not_tried.remove(&Step::Setup);
            if let Some(workspace) = &mut state.workspace {
                workspace.set_up = true;
            }
        }
        Event::Summarised { summary, .. } => {
            state.counters.not_tried.remove(&Step::Summary);
            state.usage.record(Role::Summariser, &summary.usage);
            activity::summarised(state, event);
        }
        Event::GateEnded { gate, report, counts } => gate_ended(state, gate, report, *counts),
        Event::IterationJudged { iteration, claim, failing, gates, same } => {
            // Counted when it is judged, so that every loop has made a claim before one is refused.
            state.claims.made += u32::from(*claim);
            judged(state, *iteration, failing, gates, *same);
        }
        Event::ClaimRefused { .. } => {
            state.claims.refused += 1;
            review::claim_refused(state);
        }
        Event::ProgressStalled { step, .. } => match step {
            StallStep::FreshSession => state.sessions.clear(),
            StallStep::Nudge | StallStep::Stop => {}
        },
        Event::WaitStarted { until, why } => activity::waits(state, *until, why),
        Event::WaitEnded => activity::wait_ended(state),
        Event::PauseRequested { .. } => state.wish = Some(Wish::Pause),
        Event::LoopPaused { why } => {
            activity::paused(state, why);
            state.residue = None;
            state.wish = None;
        }
        Event::StopRequested => state.wish = Some(Wish::Stop),
        Event::SteeringQueued { id, text } => {
            state.steering.push(Steering { id: id.clone(), text: text.clone(), delivered: None });
        }
        Event::QuestionAsked { .. } => question::asked(state, at, event),
        Event::QuestionAnswered { .. } => question::answered(state, at, event),
        Event::RolledBack { to_iteration, commit, tree, .. } => rolled_back(state, *to_iteration, commit, tree),
        Event::NetworkDenied { host, count, .. } => {
            state.denied_hosts.insert(host.clone(), *count);
        }
        Event::ResidueChecked { left } => {
            state.residue = Some(Certificate { checked_at: at, left: left.clone() });
        }
        Event::Merged { merge } => {
            state.merged = Some(merge.clone());
            state.merge_refused = None;
        }
        Event::MergeRefused { refused } => state.merge_refused = Some(refused.clone()),
        Event::Minimised { smaller } => {
            state.smaller = Some(smaller.clone());
            state.merge_refused = None;
        }
        Event::LoopStopped { stop_reason, outcome, .. } => {
            activity::stopped(state, stop_reason, *outcome);
            state.stopped_at = Some(at);
            state.residue = None;
            state.wish = None;
        }
    }
}

fn opened(state: &mut LoopState, at: Timestamp, by: Opener, raise: &Raise) {
    raise_limits(&mut state.spec, raise);
    // What ended the loop would otherwise end it again at the first sign.
    let ended_by_counters = state.stop_reason().is_some_and(|reason| match reason.end() {
        End::Stalled | End::Errored => true,
        End::Completed | End::Exhausted | End::Cancelled => false,
    });
    if by == Opener::Restart || by == Opener::Continue || ended_by_counters {
        state.counters = Counters::default();
    }
    state.counters.not_tried.clear();
    review::opened(state, by);
    if by == Opener::Restart {
        state.sessions.clear();
        state.chosen.clear();
    }
    activity::opened(state, by);
    state.merge_refused = None;
    state.stopped_at = None;
    state.residue = None;
    state.wish = None;
    state.started_at.get_or_insert(at);
}

/// What was accepted stays in the tree; from here on it is judged anew.
fn continued(state: &mut LoopState, goal: Option<&str>, target: Option<&str>) {
    let mut goals = std::mem::take(&mut state.continued.goals);
    if let Some(goal) = goal {
        goals.push(std::mem::replace(&mut state.spec.goal, goal.to_owned()));
        // It was for what is done.
        state.spec.context.plan = None;
    }
    if state.merged.take().is_some() {
        goals.clear();
    }
    let begun = Continued::begin(state.iteration, state.elapsed_ms, &state.spec, target);
    state.continued = Continued { goals, ..begun };
    state.smaller = None;
    state.gates.clear();
    state.gate_runs.clear();
    state.last_turn = None;
    review::continued(state, goal.is_some());
}

/// Tree and memory of the work stay; what the old agent remembered and suffered from does not.
fn agent_changed(state: &mut LoopState, role: Role, index: usize) {
    state.chosen.insert(role.seat(), index);
    state.sessions.retain(|other, _| other.seat() != role.seat());
    state.counters = Counters {
        cut_offs: state.counters.cut_offs,
        not_tried: std::mem::take(&mut state.counters.not_tried),
        ..Counters::default()
    };
    review::agent_changed(state);
    activity::taken_over(state, role);
}

fn raise_limits(spec: &mut LoopSpec, raise: &Raise) {
    let limits = &mut spec.limits;
    limits.max_iterations = limits.max_iterations.map(|max| max.saturating_add(raise.max_iterations));
    limits.duration_ms = limits.duration_ms.map(|ms| ms.saturating_add(raise.duration_ms));
    if raise.budget_usd > 0.0 {
        limits.budget_usd = limits.budget_usd.map(|usd| usd + raise.budget_usd);
    }
    limits.max_tokens = limits.max_tokens.map(|tokens| tokens.saturating_add(raise.max_tokens));
    let resources = &mut spec.resources;
    resources.disk_bytes = resources.disk_bytes.map(|bytes| bytes.saturating_add(raise.disk_bytes));
    // The target of a loop is a limit too.
    match &mut spec.done {
        Done::Count { iterations } => *iterations = iterations.saturating_add(raise.max_iterations),
        Done::Duration { ms } => *ms = ms.saturating_add(raise.duration_ms),
        Done::Promise { .. } | Done::Gates | Done::Review => {}
    }
}

fn workspace_opened(state: &mut LoopState, opening: &WorkspaceOpening) {
    state.counters.not_tried.remove(&Step::Workspace);
    let mut workspace = match state.workspace.take() {
        // The journal knows the checkpoint; an agent may have moved HEAD since.
        Some(opened_before) => Workspace {
            dir: opening.dir.clone(),
            branch: opening.branch.clone(),
            base_commit: opening.base_commit.clone(),
            set_up: opened_before.set_up && !opening.recreated,
            saved: opening.saved.clone(),
            moved: false,
            snapshot: opening.snapshot.clone(),
            handle: opening.handle.clone(),
            ..opened_before
        },
        None => {
            let mut new = Workspace {
                dir: opening.dir.clone(),
                branch: opening.branch.clone(),
                base_commit: opening.base_commit.clone(),
                base_tree: opening.base_tree.clone().or_else(|| known(&opening.tree)),
                bases: Vec::new(),
                head_commit: opening.head_commit.clone(),
                tree: known(&opening.tree),
                set_up: false,
                saved: opening.saved.clone(),
                moved: false,
                snapshot: None,
                handle: opening.handle.clone(),
            };
            new.bases.push(new.base(0));
            new
        }
    };
    state.continued.due = None;
    if let Some(target) = &opening.target {
        workspace.take_target(state.iteration, target);
        state.continued.conflicts.clone_from(&target.conflicts);
        state.continued.merged = Some(target.clone());
        if target.news {
            // What was known of the gates is not known of the merge.
            state.baseline = Shared::default();
        }
    }
    state.workspace = Some(workspace);
}

fn turn_started(
    state: &mut LoopState,
    at: Timestamp,
    key: TurnKey,
    session: &SessionUse,
    steering: &[String],
    recovery: bool,
) {
    state.last_keys.insert(key.role, key);
    review::turn_started(state, key);
    match session {
        SessionUse::Resume { .. } => {}
        // Until the agent names the new session, a cut-off turn must not go on in an older one.
        SessionUse::Fresh | SessionUse::FreshInstead => drop(state.sessions.remove(&key.role)),
    }
    for message in state.steering.iter_mut().filter(|message| steering.contains(&message.id)) {
        message.delivered = Some(key);
    }
    let usage = UsageByModel::new();
    let session = session.clone();
    activity::turn_started(
        state,
        RunningTurn { key, started_at: at, session, recovery, interrupt: None, moved: false, usage, usage_at: at },
    );
}

fn turn_ended(state: &mut LoopState, key: TurnKey, report: &TurnReport, again: bool) {
    let report = report.clone();
    let interrupt = state.turn().and_then(|running| running.interrupt.clone());
    if let Some(session) = &report.session {
        state.sessions.insert(key.role, session.clone());
    }
    state.record_usage(key.role, report.session.as_deref(), &report.usage);
    review::turn_ended(state, key, &report);
    activity::turn_ended(state, EndedTurn { key, report, interrupt, again });
}

fn gate_ended(state: &mut LoopState, gate: &GateKey, report: &GateReport, counts: bool) {
    state.counters.not_tried.remove(&Step::Gate);
    if gate.on == GateOn::Base {
        state.baseline.entry(gate.index).or_default().push(report.clone());
        return;
    }
    state.gate_runs.insert(gate.index, gate.attempt);
    if counts {
        // Once for each judgement, however many hidden gates it has.
        if report.hidden && !report.verdict.passed() && state.hidden_failures() == 0 {
            state.claims.failed_hidden += 1;
        }
        state.gates.insert(gate.index, report.clone());
    }
}

fn count(counters: &mut Counters, counted: Counted) {
    let cut_offs_before = std::mem::take(&mut counters.cut_offs);
    let not_tried_before = counters.not_tried.remove(&Step::Turn).unwrap_or(0);
    match counted {
        Counted::Nothing => {}
        Counted::Finished => {
            counters.lost = 0;
            counters.stalls = 0;
            counters.failures = 0;
            counters.rate_limits = 0;
            counters.no_answers = 0;
            counters.sessions_lost = 0;
        }
        Counted::CutOff => counters.cut_offs = cut_offs_before + 1,
        Counted::NotTried => drop(counters.not_tried.insert(Step::Turn, not_tried_before + 1)),
        Counted::Stall => counters.stalls += 1,
        Counted::Failure => counters.failures += 1,
        Counted::RateLimit => counters.rate_limits += 1,
        Counted::NoAnswer => counters.no_answers += 1,
        Counted::SessionLost => counters.sessions_lost += 1,
    }
}

fn checkpointed(
    state: &mut LoopState,
    at: Timestamp,
    turn: TurnKey,
    checkpoint: &CheckpointReport,
    summary: Option<&str>,
) {
    state.counters.not_tried.remove(&Step::Checkpoint);
    if checkpoint.files_changed > 0 {
        // A session that is full after some work is not an unavailable session.
        state.counters.sessions_lost = 0;
    }
    if let Some(workspace) = &mut state.workspace {
        if checkpoint.commit.is_some() {
            workspace.head_commit.clone_from(&checkpoint.commit);
        }
        workspace.tree = known(&checkpoint.tree);
    }
    state.continued.merged = None;
    // What follows the work is told of by itself.
    if turn.role == Role::Finisher {
        return;
    }
    review::checkpointed(state);
    let Some(last) = &state.last_turn else { return };
    let record = IterationRecord {
        iteration: turn.iteration,
        turn,
        success: last.report.outcome.is_finished(),
        claim: last.report.claim,
        checkpoint: checkpoint.clone(),
        summary: summary.unwrap_or_default().to_owned(),
        gates: Vec::new(),
        usage: crate::usage::total(&last.report.usage),
        at,
        duration_ms: last.report.duration_ms,
        undone: false,
    };
    state.iterations.push(Shared::new(record));
}

/// Tree and agent memory move together: neither came along.
fn moved(state: &mut LoopState) {
    state.sessions.clear();
    if let Some(workspace) = &mut state.workspace {
        workspace.set_up = false;
        workspace.saved = None;
        workspace.moved = true;
    }
    activity::moved(state);
}

/// Tree and agent memory move together: no session goes on, no turn is tried again, no verdict stands.
fn rolled_back(state: &mut LoopState, to_iteration: u32, commit: &str, tree: &str) {
    let head_moved = state.head_commit() != Some(commit);
    if head_moved {
        state.merge_refused = None;
        state.gates.clear();
        state.gate_runs.clear();
    }
    if let Some(workspace) = &mut state.workspace {
        workspace.head_commit = Some(commit.to_owned());
        workspace.tree = known(tree);
        workspace.take_base_of(to_iteration);
    }
    if to_iteration <= state.continued.iterations {
        state.continued.merged = None;
        state.continued.conflicts.clear();
    }
    // Going to an iteration that was undone brings it back, with those it was built on.
    let kept = |record: &&Shared<IterationRecord>| record.iteration < to_iteration && !record.undone;
    let before = state.iterations.iter().filter(kept).map(|record| record.iteration).max().unwrap_or(0);
    for record in state.iterations.iter_mut().filter(|record| record.iteration > before) {
        record.undone = record.iteration > to_iteration;
    }
    state.sessions.clear();
    state.counters = Counters::default();
    state.last_turn = None;
    review::rolled_back(state, to_iteration);
    activity::rolled_back(state, head_moved);
}

fn judged(state: &mut LoopState, iteration: u32, failing: &[String], gates: &[GateMark], same: Option<u32>) {
    activity::judged(state);
    state.judged = iteration;
    if let Some(record) = state.iterations.last_mut().filter(|record| record.iteration == iteration && !record.undone) {
        record.gates = gates.to_vec();
    }
    if let Some(same) = same {
        let tree = state.tree_or_commit().map(str::to_owned);
        let words = state.last_words().to_owned();
        state.counters.unchanged(same, tree, failing, words);
    }
}
