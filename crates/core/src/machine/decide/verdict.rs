//! What an iteration came to: gates, the claim, progress, and whether another iteration follows.

use super::{Batch, Refusal};
use crate::ids::{Role, TurnKey};
use crate::machine::activity::{Activity, Doing, Next, Phase};
use crate::machine::answer::Answer;
use crate::machine::event::{Event, RefusedBecause, StallStep};
use crate::machine::input::{GateKey, GateReport};
use crate::machine::state::GateMark;
use crate::spec::Done;
use crate::stop::StopReason;

/// Iterations with the same tree and the same failing gates before each step.
const SAME_BEFORE_NUDGE: u32 = 3;
const SAME_BEFORE_FRESH_SESSION: u32 = 5;
const SAME_BEFORE_STOP: u32 = 8;
/// A gate that is known to be flaky is only believed when it fails so many times in a row.
const RUNS_OF_A_FLAKY_GATE: u32 = 3;

impl Batch {
    pub(super) fn gate_ended(&mut self, gate: &GateKey, report: &GateReport) -> Result<(), Refusal> {
        if self.state.next_gate().as_ref() != Some(gate) {
            return Err(Refusal::Stale);
        }
        let on_base = matches!(self.state.running(), Some(Doing::Baseline { .. }));
        let counts = on_base
            || report.verdict.passed()
            || gate.attempt >= RUNS_OF_A_FLAKY_GATE
            || !self.state.is_flaky(gate.index);
        self.push(Event::GateEnded { gate: gate.clone(), report: report.clone(), counts });
        if self.state.next_gate().is_some() {
            return Ok(());
        }
        if on_base {
            self.next_step();
        } else {
            self.conclude();
        }
        Ok(())
    }

    /// All facts of the iteration are in.
    pub(super) fn conclude(&mut self) {
        let iteration = self.state.iteration;
        let failing = self.state.failing_gates();
        if let Some(review) = &self.state.review {
            if review.post_action.is_some() {
                return self.after_post_action();
            }
            // The gates may run again in the same iteration, before the final review.
            if self.judging_waits() {
                return;
            }
            if self.state.judged != iteration {
                self.judged(false, failing);
            }
            return self.after_work();
        }
        let claim = self.state.claims_done();
        let accepted = failing.is_empty() && self.state.held_back().is_empty() && !self.has_target();
        if claim && accepted && self.judging_waits() {
            return;
        }
        self.judged(claim, failing.clone());
        if claim && self.accept_claim(failing) {
            return;
        }
        self.watch_progress();
        if self.state.is_open() {
            self.next_iteration();
        }
    }

    fn judged(&mut self, claim: bool, failing: Vec<String>) {
        let state = &self.state;
        let gates = (0..state.spec.gates.len()).map(|index| match state.gates.get(&index) {
            Some(gate) if gate.verdict.passed() => GateMark::Pass,
            Some(_) => GateMark::Fail,
            None => GateMark::Skipped,
        });
        let gates = gates.collect();
        // What a reviewer finds is watched instead.
        let watched = state.review.is_none() || !failing.is_empty();
        let same = watched.then(|| state.counters.same_with(state.tree_or_commit(), &failing, state.last_words()));
        self.push(Event::IterationJudged { iteration: state.iteration, claim, failing, gates, same });
    }

    /// Whether the loop is over by this claim.
    pub(super) fn accept_claim(&mut self, failing: Vec<String>) -> bool {
        let iteration = self.state.iteration;
        let target = self.has_target();
        let held_back = self.state.held_back().to_vec();
        if !failing.is_empty() || !held_back.is_empty() {
            if target {
                self.stop_short_of_target(failing, held_back);
            } else {
                let because = match failing.is_empty() {
                    false => RefusedBecause::Gates { failing },
                    true => RefusedBecause::HeldBack { files: held_back },
                };
                self.push(Event::ClaimRefused { iteration, because });
            }
            return target;
        }
        if let Some(because) = self.unheard().filter(|_| !target) {
            self.push(Event::ClaimRefused { iteration, because });
            return false;
        }
        self.stop_loop(StopReason::Completed);
        true
    }

    /// Whether the loop works for a time or so many times, whatever anybody says.
    fn has_target(&self) -> bool {
        match self.state.spec.done {
            Done::Count { .. } | Done::Duration { .. } => true,
            Done::Promise { .. } | Done::Gates | Done::Review => false,
        }
    }

    /// The time or the count is up, and the work is not what was asked for.
    fn stop_short_of_target(&mut self, failing: Vec<String>, held_back: Vec<String>) {
        self.stop_loop(match failing.is_empty() {
            false => StopReason::GatesFailed { gates: failing },
            true => StopReason::HeldBack { files: held_back },
        });
    }

    pub(super) fn watch_progress(&mut self) {
        let iterations = self.state.counters.same;
        let step = match iterations {
            SAME_BEFORE_NUDGE => StallStep::Nudge,
            SAME_BEFORE_FRESH_SESSION => StallStep::FreshSession,
            SAME_BEFORE_STOP.. => StallStep::Stop,
            _ => return,
        };
        self.push(Event::ProgressStalled { iterations, step });
        if step == StallStep::Stop && !self.fall_back(Role::Coder, "no more changes") {
            self.stop_loop(StopReason::NoProgress { iterations });
        }
    }

    pub(super) fn next_iteration(&mut self) {
        let concluded = matches!(self.state.activity, Activity::Deciding(Next::Proceed(_)));
        if !concluded && self.state.iteration > 0 {
            self.enter(Phase::Decide);
        }
        if let Some(limit) = StopReason::reached_limit(&self.state, self.now) {
            return self.target_or_limit(limit);
        }
        if self.questions_wait() {
            return;
        }
        self.unless_told_to_rest(|batch| {
            let iteration = batch.state.iteration + 1;
            batch.push(Event::IterationStarted { iteration });
            batch.start_turn(TurnKey::first(iteration, Role::Coder));
        });
    }

    /// A refine loop whose time or count is up has reached its target, not a limit. What counts is the verdict on the
    /// last checkpoint, so that is made and judged where it was not yet.
    pub(super) fn target_or_limit(&mut self, limit: StopReason) {
        // Before the first iteration there is nothing that could have reached a target.
        if !self.is_target(&limit) || self.state.iteration == 0 {
            self.limit_reached(limit);
        } else if let Some(turn) = self.state.retry().cloned() {
            self.close_turn(&turn, &Answer::Unread);
        } else if self.state.is_judged() {
            match (self.state.failing_gates(), self.state.held_back().to_vec()) {
                (failing, held_back) if failing.is_empty() && held_back.is_empty() => {
                    self.stop_loop(StopReason::Completed);
                }
                (failing, held_back) => self.stop_short_of_target(failing, held_back),
            }
        } else {
            self.enter(Phase::Gates);
        }
    }

    pub(super) fn is_target(&self, limit: &StopReason) -> bool {
        match limit {
            StopReason::Duration { limit_ms } => match self.state.spec.done {
                Done::Duration { ms } => *limit_ms >= ms,
                Done::Promise { .. } | Done::Gates | Done::Count { .. } | Done::Review => false,
            },
            StopReason::MaxIterations { .. } => match self.state.spec.done {
                Done::Count { iterations } => self.state.iteration >= iterations,
                Done::Promise { .. } | Done::Gates | Done::Duration { .. } | Done::Review => false,
            },
            StopReason::Completed
            | StopReason::Budget { .. }
            | StopReason::Tokens { .. }
            | StopReason::GatesFailed { .. }
            | StopReason::HeldBack { .. }
            | StopReason::Cancelled
            | StopReason::Stall { .. }
            | StopReason::NoProgress { .. }
            | StopReason::AgentFailed { .. }
            | StopReason::AgentMissing { .. }
            | StopReason::ProviderLimit { .. }
            | StopReason::ErrorMaxRetries { .. }
            | StopReason::WorkspaceMissing { .. }
            | StopReason::CutOff { .. }
            | StopReason::SetupFailed { .. } => false,
        }
    }
}
