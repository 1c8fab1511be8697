//! Changes that are in no commit because they hold a secret.

use super::LoopState;

impl LoopState {
    /// What keeps a claim from being accepted, in words: what is not committed was not judged.
    pub fn held_back(&self) -> Vec<String> {
        let last = self.iterations.last().filter(|last| !last.undone);
        let held = last.map(|last| last.checkpoint.held_back.as_slice()).unwrap_or_default();
        held.iter().map(|file| format!("{HELD_BACK}{file}")).collect()
    }
}

/// How such a reason begins, to be told from a gate's command.
pub const HELD_BACK: &str = "held back: ";
