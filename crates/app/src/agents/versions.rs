//! What agents' programs say of their versions, asked once for each program as it is on disk.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use windlass_core::profile::AgentProfile;
use windlass_engine::call::{self, VersionProbe};
use windlass_engine::environment::for_commands;
use windlass_supervise::Launcher;

use crate::context::Context;
use crate::words::one_line;

/// A program at one moment. The time is that of its inode, since npm gives all files the same time of change.
type Program = (PathBuf, i64, i64, u64);

/// The answers of this process, for a server that is asked again and again.
static KNOWN: LazyLock<Mutex<BTreeMap<Program, String>>> = LazyLock::new(Mutex::default);

fn program_at(path: &Path) -> Option<Program> {
    let path = path.canonicalize().ok()?;
    let meta = path.metadata().ok()?;
    Some((path, meta.ctime(), meta.ctime_nsec(), meta.len()))
}

/// What its program says of its version. It runs in a sandbox wherever there is one, whatever the settings say, and without
/// one only if the user agreed to that.
pub(super) async fn version_of(
    context: &Context,
    program: &Path,
    profile: &AgentProfile,
    unconfined: bool,
) -> Option<String> {
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let now = program_at(program)?;
    if let Some(version) = known().get(&now) {
        return Some(version.clone());
    }
    // It starts processes and waits for them, which must not keep a server from answering others.
    let path = context.search_path();
    let probe = tokio::task::spawn_blocking(move || windlass_supervise::probe_sandbox(&path).is_ok());
    let confined = probe.await.unwrap_or_default();
    if !confined && !unconfined {
        return None;
    }
    let probe = VersionProbe {
        launcher: &Launcher::current().ok()?,
        program,
        profile,
        env: for_commands(&context.env.texts(), &[]),
        confined,
    };
    let version = call::version(probe).await.map(|text| one_line(&text, 60))?;
    // Replaced meanwhile, it is asked again the next time.
    if program_at(program).as_ref() == Some(&now) {
        known().insert(now, version.clone());
    }
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_replaced_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent");
        std::fs::write(&path, "1").unwrap();
        let before = program_at(&path).unwrap();
        assert_eq!(program_at(&path).unwrap(), before);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(program_at(&link).unwrap(), before);
        std::fs::write(&path, "22").unwrap();
        assert_ne!(program_at(&path).unwrap(), before);
        assert_eq!(program_at(&dir.path().join("missing")), None);
    }
}
