//! A turn from its start to the checkpoint that closes it.

use jiff::Timestamp;

use super::turn_end::{counted, is_due_again};
use super::{Batch, Refusal, network};
use crate::agent::{AccountWindow, ErrorKind, TurnOutcome, TurnReport};
use crate::ids::{Role, TurnKey};
use crate::machine::activity::{Doing, Phase};
use crate::machine::answer::Answer;
use crate::machine::effect::later;
use crate::machine::event::{Counted, Event, Interrupt, Restore};
use crate::machine::input::{CheckpointReport, SummaryReport};
use crate::machine::spending::USAGE_EVERY_MS;
use crate::machine::state::Wish;
use crate::machine::turn::EndedTurn;
use crate::spec::{OnFailure, OnRateLimit};
use crate::stop::{PauseReason, StopReason, WaitReason};
use crate::summary::{self, Material, SummariserKind};
use crate::trouble::Step;
use crate::usage::UsageByModel;

/// So many cut-offs in a row end a loop.
const MAX_CUT_OFFS: u32 = 3;
/// Machines that end in a row under one turn.
const MAX_LOST: u32 = 10;
/// So many waits in a row for a provider that does not answer, and the next one is a failure.
const MAX_NO_ANSWERS: u32 = 20;
/// So many sessions lost in a row are the agent's failure.
const MAX_SESSIONS_LOST: u32 = 3;

impl Batch {
    pub(super) fn start_turn(&mut self, turn: TurnKey) {
        self.begin_turn(turn, false, false);
    }

    /// Tries a turn again; with what the last attempt left, unless that never ran.
    pub(super) fn retry_turn(&mut self, turn: &EndedTurn) {
        let ran = match turn.report.outcome {
            TurnOutcome::NotStarted { .. } => false,
            TurnOutcome::NotTried { began, .. } => began,
            TurnOutcome::Finished
            | TurnOutcome::Failed { .. }
            | TurnOutcome::RateLimited { .. }
            | TurnOutcome::Interrupted
            | TurnOutcome::CutOff => true,
        };
        // A tree that was put back holds nothing to recover, unless a snapshot was restored.
        let has_snapshot = self.state.workspace.as_ref().is_some_and(|workspace| workspace.snapshot.is_some());
        let recovery = ran && (has_snapshot || self.state.restore() == Restore::Keep);
        self.begin_turn(turn.key.next_attempt(), recovery, true);
    }

    fn begin_turn(&mut self, turn: TurnKey, recovery: bool, again: bool) {
        let session = self.state.next_session(turn.role, again);
        // People speak to who works.
        let steering = match turn.role {
            Role::Coder => self.state.undelivered_steering().map(|message| message.id.clone()).collect(),
            Role::Auditor | Role::Acceptor | Role::Summariser | Role::Planner | Role::Finisher => Vec::new(),
        };
        let answers = match turn.role {
            Role::Coder => self.state.undelivered_answers().map(|(question, _)| question.id.clone()).collect(),
            Role::Auditor | Role::Acceptor | Role::Summariser | Role::Planner | Role::Finisher => Vec::new(),
        };
        let turn_id = self.state.turn_id(turn);
        let agent = self.state.chosen.get(&turn.role.seat()).copied().unwrap_or(0);
        self.push(Event::TurnStarted { turn, turn_id, agent, session, steering, answers, recovery });
    }

    pub(super) fn interrupt_turn(&mut self, why: Interrupt) -> Result<(), Refusal> {
        let running = self.running_turn().ok_or(Refusal::Stale)?;
        if running.interrupt.is_some() {
            return Err(Refusal::AlreadyAsked);
        }
        let turn = running.key;
        self.push(Event::TurnInterrupted { turn, why });
        Ok(())
    }

    pub(super) fn session_seen(&mut self, turn: TurnKey, session: &str) -> Result<(), Refusal> {
        self.expect_turn(turn)?;
        if self.state.sessions.get(&turn.role).map(String::as_str) != Some(session) {
            self.push(Event::SessionFound { turn, session: session.to_owned() });
        }
        Ok(())
    }

    pub(super) fn usage_seen(&mut self, turn: TurnKey, usage: &UsageByModel) -> Result<(), Refusal> {
        let running = self.expect_turn(turn)?;
        // Already interrupted is as good.
        let limit = match running.interrupt {
            Some(_) => None,
            None => StopReason::overspent(&self.state, &self.state.used_with(turn.role, usage)),
        };
        let is_due = limit.is_some() || self.now >= later(running.usage_at, USAGE_EVERY_MS);
        if is_due && running.usage != *usage {
            self.push(Event::UsageReported { turn, usage: usage.clone() });
        }
        match limit {
            Some(limit) => self.interrupt_turn(Interrupt::Limit { limit }),
            None => Ok(()),
        }
    }

    /// Only the account of the coder's first agent is known by name to those who plan with it.
    pub(super) fn account_seen(&mut self, turn: TurnKey, windows: &[AccountWindow]) -> Result<(), Refusal> {
        self.expect_turn(turn)?;
        let first = self.state.chosen.get(&turn.role.seat()).copied().unwrap_or(0) == 0;
        if turn.role == Role::Coder && first && self.state.account != windows {
            self.push(Event::AccountReported { turn, windows: windows.to_vec() });
        }
        Ok(())
    }

    pub(super) fn turn_ended(&mut self, turn: TurnKey, report: &TurnReport, answer: &Answer) -> Result<(), Refusal> {
        let running = self.expect_turn(turn)?;
        let interrupt = running.interrupt.clone();
        let mut report = network::with_rule(&self.state, report);
        if report.usage.is_empty() {
            // The transcript is gone; what was journalled of it stays counted.
            report.usage.clone_from(&running.usage);
        }
        let moved = running.moved;
        let mut again = is_due_again(turn.role, &report.outcome, interrupt.as_ref());
        let mut answer = answer;
        if moved {
            // The agent's session stayed behind.
            report.session = None;
        }
        if moved && !again && !turn.role.only_reads() {
            // Whatever it came to, what it wrote is lost.
            report = TurnReport { outcome: TurnOutcome::CutOff, claim: false, ..report };
            (again, answer) = (true, &Answer::Unread);
        }
        let ended = &EndedTurn { key: turn, report, interrupt, again };
        let report = &ended.report;
        // What died was the machine, with whatever else ran on it.
        let was_lost = moved && report.outcome == TurnOutcome::CutOff;
        let counts_as = if was_lost { Counted::Nothing } else { counted(&report.outcome, ended.interrupt.as_ref()) };
        self.push(Event::TurnEnded { turn, report: report.clone(), again, counts_as });
        if self.state.wish == Some(Wish::Stop) && again {
            self.stop_loop(StopReason::Cancelled);
            return Ok(());
        }
        self.note_answer(turn, answer);
        if report.outcome.is_finished() {
            self.note_questions(turn, &report.questions);
        }
        match &report.outcome {
            TurnOutcome::Finished => self.close_turn(ended, answer),
            // The work is accepted already; what was to follow it may fail.
            TurnOutcome::Failed { .. } | TurnOutcome::NotStarted { .. } if turn.role == Role::Finisher => {
                self.close_turn(ended, answer);
            }
            TurnOutcome::Interrupted => self.turn_interrupted(ended, answer),
            // A loop that ends every machine it runs on must not go through them all.
            TurnOutcome::CutOff if was_lost && self.state.counters.lost >= MAX_LOST => {
                self.stop_loop(StopReason::CutOff { times: self.state.counters.lost });
            }
            TurnOutcome::CutOff if self.state.counters.cut_offs >= MAX_CUT_OFFS => {
                self.stop_loop(StopReason::CutOff { times: self.state.counters.cut_offs });
            }
            TurnOutcome::CutOff => self.unless_told_to_rest(Self::prepare),
            TurnOutcome::RateLimited { until, message } => self.rate_limited(turn.role, *until, message),
            TurnOutcome::NotStarted { message, missing: true } if self.fall_back(turn.role, message) => {
                self.unless_told_to_rest(Self::prepare);
            }
            TurnOutcome::NotStarted { message, missing: true } => {
                self.stop_loop(StopReason::AgentMissing { message: message.clone() });
            }
            TurnOutcome::NotStarted { message, missing: false } => {
                self.stop_loop(StopReason::AgentFailed { message: message.clone() });
            }
            TurnOutcome::NotTried { trouble, .. } => self.try_again_or_pause(Step::Turn, trouble),
            TurnOutcome::Failed { kind, message } => self.turn_failed(ended, answer, *kind, message),
        }
        Ok(())
    }

    fn turn_interrupted(&mut self, turn: &EndedTurn, answer: &Answer) {
        match turn.interrupt.clone() {
            Some(Interrupt::Stop) => self.stop_loop(StopReason::Cancelled),
            Some(Interrupt::Pause) => self.push(Event::LoopPaused { why: PauseReason::Person }),
            // Nothing is committed: that would take space too, and the turn is tried again.
            Some(Interrupt::Disk { message }) => self.push(Event::LoopPaused { why: PauseReason::Disk { message } }),
            Some(Interrupt::Stall) if self.state.counters.stalls >= self.state.spec.time.max_stalls => {
                let role = turn.key.role;
                if role.reviews() {
                    return self.reviewer_gave_up(role, "no output for too long");
                }
                self.stop_loop(StopReason::Stall { stalls: self.state.counters.stalls });
            }
            Some(Interrupt::Stall | Interrupt::Shutdown | Interrupt::Steer) | None => {
                self.unless_told_to_rest(Self::prepare)
            }
            Some(Interrupt::TurnTimeout | Interrupt::Limit { .. }) => self.close_turn(turn, answer),
        }
    }

    fn turn_failed(&mut self, ended: &EndedTurn, answer: &Answer, kind: ErrorKind, message: &str) {
        let turn = ended.key;
        match kind {
            ErrorKind::RateLimit => self.rate_limited(turn.role, None, message),
            ErrorKind::Overloaded | ErrorKind::Network => {
                let tries = self.state.counters.no_answers;
                let closed = network::is_closed(&self.state);
                if closed && !self.fall_back(turn.role, message) {
                    return self.stop_loop(StopReason::AgentFailed { message: message.to_owned() });
                }
                if closed {
                    return self.unless_told_to_rest(Self::prepare);
                }
                if tries > MAX_NO_ANSWERS {
                    if self.fall_back(turn.role, message) {
                        return self.unless_told_to_rest(Self::prepare);
                    }
                    return self.stop_loop(StopReason::ProviderLimit { message: message.to_owned() });
                }
                let until = later(self.now, back_off_ms(tries - 1));
                self.wait(until, WaitReason::NoAnswer { message: message.to_owned() });
            }
            // What it wrote is committed and judged; the next iteration has a fresh session.
            ErrorKind::ContextOverflow if turn.role == Role::Coder => {
                self.push(Event::SessionLost { turn, message: message.to_owned() });
                self.close_turn(ended, answer);
            }
            ErrorKind::ContextOverflow | ErrorKind::UnknownSession => {
                // A fresh session that fails in the same way would go on for ever.
                if self.state.counters.sessions_lost >= MAX_SESSIONS_LOST {
                    if self.fall_back(turn.role, message) {
                        return self.unless_told_to_rest(Self::prepare);
                    }
                    return self.stop_loop(StopReason::AgentFailed { message: message.to_owned() });
                }
                self.push(Event::SessionLost { turn, message: message.to_owned() });
                self.unless_told_to_rest(Self::prepare);
            }
            // Nothing to wait for: another agent may have credit.
            ErrorKind::Billing if self.fall_back(turn.role, message) => self.unless_told_to_rest(Self::prepare),
            ErrorKind::Billing if self.state.spec.on_rate_limit == OnRateLimit::Pause => self.ask_about_limit(message),
            ErrorKind::Billing => self.stop_loop(StopReason::ProviderLimit { message: message.to_owned() }),
            ErrorKind::Auth => self.push(Event::LoopPaused { why: PauseReason::Auth { message: message.to_owned() } }),
            // Nothing was worked on: the same turn is the next one's.
            ErrorKind::ModelNotFound if self.fall_back(turn.role, message) => self.unless_told_to_rest(Self::prepare),
            ErrorKind::ModelNotFound | ErrorKind::ResourceLimit | ErrorKind::Other => self.close_turn(ended, answer),
        }
    }

    /// Gives the role to the next agent in its list, if there is one.
    pub(super) fn fall_back(&mut self, role: Role, why: &str) -> bool {
        let from = self.state.agent(role).label();
        let Some((index, to)) = self.state.next_agent(role).map(|(index, agent)| (index, agent.label())) else {
            return false;
        };
        self.push(Event::AgentChanged { role, from, to, index, why: why.to_owned() });
        true
    }

    fn ask_about_limit(&mut self, message: &str) {
        let why = PauseReason::ProviderLimit { message: message.to_owned() };
        self.unless_told_to_rest(|batch| batch.push(Event::LoopPaused { why }));
    }

    /// A rate limit is never a failure.
    fn rate_limited(&mut self, role: Role, until: Option<Timestamp>, message: &str) {
        let policy = self.state.spec.on_rate_limit;
        match policy {
            OnRateLimit::Pause => return self.ask_about_limit(message),
            OnRateLimit::Fallback if self.fall_back(role, message) => {
                return self.unless_told_to_rest(Self::prepare);
            }
            OnRateLimit::Fallback | OnRateLimit::Wait => {}
        }
        let tries_before = self.state.counters.rate_limits.saturating_sub(1);
        let until = match until {
            Some(until) if until > self.now => until,
            // A time that has passed already would be asked for again and again without a pause.
            Some(_) => later(self.now, back_off_ms(tries_before)),
            None => later(self.now, rate_limit_wait_ms(tries_before)),
        };
        self.wait(until, WaitReason::RateLimit { message: message.to_owned() });
    }

    /// The turn is over, well or not; its work is committed before anything judges it.
    pub(super) fn close_turn(&mut self, turn: &EndedTurn, answer: &Answer) {
        if self.state.is_external() {
            return self.turn_closed(turn);
        }
        if turn.key.role != Role::Coder {
            return self.side_turn_closed(turn, answer);
        }
        let summariser = &self.state.spec.summariser;
        let asks_somebody = summariser.enabled
            && match summariser.kind {
                SummariserKind::Deterministic => false,
                SummariserKind::Agent | SummariserKind::Endpoint => true,
            };
        self.enter(if asks_somebody { Phase::Summarise } else { Phase::Checkpoint });
    }

    pub(super) fn summarised(&mut self, turn: TurnKey, summary: &SummaryReport) -> Result<(), Refusal> {
        match self.state.running() {
            Some(Doing::Summarise { turn: ended }) if ended.key == turn => {}
            Some(_) | None => return Err(Refusal::Stale),
        }
        self.push(Event::Summarised { turn, summary: summary.clone() });
        self.enter(Phase::Checkpoint);
        Ok(())
    }

    pub(super) fn checkpointed(&mut self, turn: TurnKey, checkpoint: &CheckpointReport) -> Result<(), Refusal> {
        let (ended, said) = match self.state.running() {
            Some(Doing::Checkpoint { turn: ended, summary }) if ended.key == turn => (ended.clone(), summary.as_ref()),
            Some(_) | None => return Err(Refusal::Stale),
        };
        let summary = (turn.role != Role::Finisher).then(|| match said {
            Some(said) => said.summary.clone(),
            None => self.summary_of(&ended, checkpoint),
        });
        self.push(Event::Checkpointed { turn, checkpoint: checkpoint.clone(), summary });
        self.turn_closed(&ended);
        Ok(())
    }

    /// What is known of the turn without asking anybody.
    fn summary_of(&self, last: &EndedTurn, checkpoint: &CheckpointReport) -> String {
        // The files stand beside the summary wherever it is shown; they are only named where nothing else is known.
        let silent = last.report.last_words.is_empty() && last.report.tools.is_empty();
        let files = checkpoint.files.iter().filter(|_| silent).map(|file| file.path.clone()).collect();
        summary::from_facts(&Material {
            iteration: last.key.iteration,
            task: self.state.spec.goal.clone(),
            files,
            files_changed: checkpoint.files_changed,
            last_words: last.report.last_words.clone(),
            tools: last.report.tools.clone(),
            failed_calls: last.report.failed_calls,
            promise: self.state.spec.done.promise().map(str::to_owned),
            history: String::new(),
        })
    }

    fn turn_closed(&mut self, last: &EndedTurn) {
        if last.key.role == Role::Finisher {
            return self.finisher_closed(&last.report);
        }
        if self.state.wish == Some(Wish::Stop) {
            self.enter(if last.report.outcome.is_finished() { Phase::Gates } else { Phase::Decide });
            return self.stop_loop(StopReason::Cancelled);
        }
        let target_reached = match &last.interrupt {
            Some(Interrupt::Limit { limit }) => self.is_target(limit),
            // It would have been tried again; it is closed because the target was reached before that.
            Some(_) | None => last.again,
        };
        let overflow = match &last.report.outcome {
            TurnOutcome::Failed { kind: ErrorKind::ContextOverflow, message } => Some(message.clone()),
            TurnOutcome::Failed { .. }
            | TurnOutcome::Finished
            | TurnOutcome::RateLimited { .. }
            | TurnOutcome::NotStarted { .. }
            | TurnOutcome::NotTried { .. }
            | TurnOutcome::Interrupted
            | TurnOutcome::CutOff => None,
        };
        if let Some(message) = overflow.as_ref().filter(|_| self.state.counters.sessions_lost >= MAX_SESSIONS_LOST) {
            self.enter(Phase::Decide);
            if self.fall_back(Role::Coder, message) {
                return self.next_iteration();
            }
            return self.stop_loop(StopReason::AgentFailed { message: message.clone() });
        }
        if !last.report.outcome.is_finished() && !target_reached && overflow.is_none() {
            self.enter(Phase::Decide);
            return match &last.interrupt {
                Some(Interrupt::Limit { limit }) => self.limit_reached(limit.clone()),
                Some(_) | None => self.after_failure(&last.report.outcome),
            };
        }
        if self.state.spec.gates.is_empty() {
            return self.conclude();
        }
        self.enter(Phase::Gates);
        // Without a claim, gates that only judge claims have nothing to do.
        if self.state.next_gate().is_none() {
            self.conclude();
        }
    }

    pub(super) fn after_failure(&mut self, outcome: &TurnOutcome) {
        let message = outcome.failure();
        let failures = self.state.counters.failures;
        let for_good = match self.state.spec.on_failure {
            OnFailure::Stop => true,
            OnFailure::Retry { times } => failures > times,
            OnFailure::Continue | OnFailure::CountAsRejection => false,
        };
        if for_good && self.fall_back(Role::Coder, &message) {
            return self.next_iteration();
        }
        let on_failure = self.state.spec.on_failure.clone();
        match on_failure {
            OnFailure::Stop => self.stop_loop(StopReason::AgentFailed { message }),
            OnFailure::Retry { times } if failures > times => self.stop_loop(StopReason::ErrorMaxRetries { message }),
            OnFailure::CountAsRejection if self.rejects_failure(&message) => {}
            OnFailure::Continue | OnFailure::Retry { .. } | OnFailure::CountAsRejection => {
                if let Some(limit) = StopReason::reached_limit(&self.state, self.now) {
                    return self.target_or_limit(limit);
                }
                let until = later(self.now, back_off_ms(failures.saturating_sub(1)));
                self.wait(until, WaitReason::TurnFailed { role: Role::Coder, message });
            }
        }
    }

    pub(super) fn wait(&mut self, until: Timestamp, why: WaitReason) {
        self.unless_told_to_rest(|batch| batch.push(Event::WaitStarted { until, why }));
    }
}

/// 10 s, 20 s, 40 s … at most 5 minutes.
pub(super) fn back_off_ms(tries_before: u32) -> u64 {
    (10_000_u64 << tries_before.min(5)).min(300_000)
}

/// A provider that does not say when: 5, 10, 20, 40 and then 60 minutes.
fn rate_limit_wait_ms(waits_before: u32) -> u64 {
    (300_000_u64 << waits_before.min(4)).min(3_600_000)
}
