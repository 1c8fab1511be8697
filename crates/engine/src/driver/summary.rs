//! What a turn did, in words.

use windlass_core::ids::TurnKey;
use windlass_core::machine::{Input, LoopState, SummaryReport};

use super::DriveError;
use super::performing::Context;

pub(super) async fn run(_context: Context, state: &LoopState, turn: TurnKey) -> Result<Input, DriveError> {
    let summary = state.last_turn.as_ref().map(|last| last.report.last_words.clone()).unwrap_or_default();
    let summary = SummaryReport { summary, commit_message: None, problem: None, usage: Default::default() };
    Ok(Input::Summarised { turn, summary })
}
