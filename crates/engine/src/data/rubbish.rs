//! Directories of ended loops that nothing needs any more.
//!
//! They may be as large as a checkout with its builds, so they are moved away at once and removed when nobody waits for the
//! loop. Invariant: what a killed process left is removed by the next one.

use std::io;
use std::path::Path;

use uuid::Uuid;

use crate::data::{DataDir, private_dir};

/// Moves a directory away. Nothing there is fine.
pub(crate) fn set_aside(data: &DataDir, dir: &Path) -> io::Result<()> {
    if dir.symlink_metadata().is_err() {
        return Ok(());
    }
    let place = data.rubbish();
    private_dir(&place)?;
    std::fs::rename(dir, place.join(Uuid::now_v7().to_string()))
}

/// Removes what was moved away, by whichever process.
pub(crate) fn remove(data: &DataDir) {
    for entry in std::fs::read_dir(data.rubbish()).into_iter().flatten().flatten() {
        match windlass_workspace::remove_tree(&entry.path()) {
            // Another process removes it too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(%error, path = %entry.path().display(), "cannot remove a directory"),
            Ok(()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_gone_at_once_and_removed_later_with_what_others_left() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::at(dir.path());
        let judge = data.judge("one");
        std::fs::create_dir_all(judge.join("tree/deep")).unwrap();
        std::fs::create_dir_all(data.rubbish().join("of-a-killed-process")).unwrap();
        set_aside(&data, &judge).unwrap();
        set_aside(&data, &judge).unwrap();
        assert!(!judge.exists());
        assert_eq!(std::fs::read_dir(data.rubbish()).unwrap().count(), 2);
        remove(&data);
        assert_eq!(std::fs::read_dir(data.rubbish()).unwrap().count(), 0);
    }
}
