//! Changes that are in no commit because they hold a secret.

use super::LoopState;

impl LoopState {
    /// What of the last turn's work waits in the workspace. It keeps a claim from being accepted: what is not committed was
    /// not judged.
    pub fn held_back(&self) -> &[String] {
        let last = self.iterations.last().filter(|last| !last.undone);
        last.map(|last| last.checkpoint.held_back.as_slice()).unwrap_or_default()
    }
}
