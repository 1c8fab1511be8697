//! What could not be tried: tried again a few times, then a user is asked. It is nobody's failure and no verdict.

use super::{Batch, Refusal};
use crate::agent::{TurnOutcome, TurnReport};
use crate::machine::answer::Answer;
use crate::machine::effect::{Effect, effects, later};
use crate::machine::event::Event;
use crate::stop::{PauseReason, WaitReason};
use crate::trouble::{Step, Trouble};

/// How long to wait before each new try; the next time the loop pauses.
const RETRY_AFTER_MS: [u64; 3] = [1_000, 3_000, 9_000];

impl Batch {
    pub(super) fn not_tried(&mut self, effect: &Effect, trouble: &Trouble) -> Result<(), Refusal> {
        let step = match effect {
            Effect::RunTurn { turn, .. } | Effect::EndTurn { turn } => {
                let outcome = TurnOutcome::NotTried { trouble: trouble.clone(), began: false };
                let report = TurnReport::bare(outcome);
                return self.turn_ended(*turn, &report, &Answer::read(turn.role, &report));
            }
            Effect::OpenWorkspace { .. } => Step::Workspace,
            Effect::SetUpWorkspace => Step::Setup,
            Effect::Summarise { .. } => Step::Summary,
            Effect::Checkpoint { .. } => Step::Checkpoint,
            Effect::RunGate { .. } => Step::Gate,
            Effect::Seal { .. } => Step::Seal,
            Effect::Undo { .. } => Step::Undo,
            Effect::SetTimer { .. } => return Err(Refusal::Stale),
        };
        if !effects(&self.state).contains(effect) {
            return Err(Refusal::Stale);
        }
        let times = self.times_not_tried(step) + 1;
        self.push(Event::NotTried { step, trouble: trouble.clone(), times });
        self.try_again_or_pause(step, trouble);
        Ok(())
    }

    pub(super) fn try_again_or_pause(&mut self, step: Step, trouble: &Trouble) {
        let tries_before = self.times_not_tried(step).saturating_sub(1);
        let after_ms = usize::try_from(tries_before).ok().and_then(|before| RETRY_AFTER_MS.get(before));
        let trouble = trouble.clone();
        match after_ms {
            Some(ms) => self.wait(later(self.now, *ms), WaitReason::Infrastructure { step, trouble }),
            None => self.unless_told_to_rest(|batch| {
                batch.push(Event::LoopPaused { why: PauseReason::Infrastructure { step, trouble } });
            }),
        }
    }

    fn times_not_tried(&self, step: Step) -> u32 {
        self.state.counters.not_tried.get(&step).copied().unwrap_or(0)
    }
}
