//! The machine that is explored: the real one, or one with a planted defect.

use jiff::Timestamp;
use windlass_core::machine::{Effect, Event, Input, LoopState, Refusal, TimerKind, decide, effects, evolve};
use windlass_core::machine::{Phase, Verdict};
use windlass_core::stop::Status;

use super::invariants::Invariant;

/// Each invariant has one defect that breaks it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machine {
    pub planted: Option<Invariant>,
}

impl Machine {
    pub fn decide(self, state: &LoopState, input: &Input, now: Timestamp) -> Result<Vec<Event>, Refusal> {
        let mut input = input.clone();
        let mut state = state.clone();
        match self.planted {
            Some(Invariant::LimitsHeld) => state.spec.limits.max_iterations = None,
            Some(Invariant::WishHeld) => state.wish = None,
            Some(Invariant::DoneOnlyIfJudged) => {
                if let Input::GateEnded { report, .. } = &mut input {
                    report.verdict = Verdict::Pass;
                }
            }
            Some(Invariant::StopEnds) => {
                if matches!(input, Input::Stop) && state.phase() == Phase::Checkpoint {
                    return Err(Refusal::Stale);
                }
            }
            Some(Invariant::EndInReach) => {
                if matches!(input, Input::TimerFired { timer: TimerKind::Wait }) {
                    return Err(Refusal::Stale);
                }
            }
            Some(Invariant::EndedStays) => {
                if let (Input::Steer { id, text, .. }, true) = (&input, state.status().is_ended()) {
                    return Ok(vec![Event::SteeringQueued { id: id.clone(), text: text.clone() }]);
                }
            }
            Some(Invariant::AnswersMatch) => {
                if let (Input::Checkpointed { turn, checkpoint }, Err(Refusal::Stale)) =
                    (&input, decide(&state, &input, now))
                {
                    let (turn, checkpoint) = (*turn, checkpoint.clone());
                    return Ok(vec![Event::Checkpointed { turn, checkpoint, summary: None }]);
                }
            }
            Some(Invariant::WantsWhileRunning | Invariant::ReplayEqualsLive) | None => {}
        }
        decide(&state, &input, now)
    }

    pub fn evolve(self, state: LoopState, at: Timestamp, event: &Event) -> LoopState {
        evolve(state, at, event)
    }

    pub fn effects(self, state: &LoopState) -> Vec<Effect> {
        if self.planted == Some(Invariant::WantsWhileRunning) && matches!(state.status(), Status::Paused { .. }) {
            return vec![Effect::SetUpWorkspace];
        }
        effects(state)
    }

    /// The event as a store gives it back.
    pub fn read_back(self, event: &Event) -> Result<Event, String> {
        let mut event = event.clone();
        if let (Some(Invariant::ReplayEqualsLive), Event::TurnEnded { report, .. }) = (self.planted, &mut event) {
            report.claim = false;
        }
        let stored = serde_json::to_string(&event).map_err(|error| error.to_string())?;
        serde_json::from_str(&stored).map_err(|error| error.to_string())
    }
}
