//! Changes with a secret in them stay out of every commit: they are reported, and wait in the workspace.

use windlass_core::machine::LoopState;
use windlass_core::spec::CommitPolicy;

use super::performing::Context;
use super::setup::literal;
use super::{DriveError, workspace};
use crate::git::Change;

/// A larger file is no source, and nobody would read it through.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Looks at what a checkpoint would commit. What holds a secret is left out of it, and of everything until the next one;
/// the names of these files, each with what it holds.
pub(super) async fn run(context: &Context, state: &LoopState, previous_head: &str) -> Result<Vec<String>, DriveError> {
    if state.spec.commit == CommitPolicy::Off || state.is_external() {
        return Ok(Vec::new());
    }
    let workspaces = &context.engine.workspaces;
    let handle = workspace::handle(state)?;
    let secrets = context.engine.secrets(state);
    workspaces.hold_back(&handle, &[])?;
    let changed = workspaces.changed_since(&handle, previous_head, &state.spec.workspace.copy).await?;
    let mut found: Vec<(String, String)> = Vec::new();
    for file in changed.iter().filter(|file| file.change != Change::Deleted) {
        let path = file.path.to_string();
        if path == ".env" || path.ends_with("/.env") {
            found.push((path, "is never committed".to_owned()));
            continue;
        }
        let full = file.path.below(&handle.dir);
        if !full.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST) {
            continue;
        }
        let Ok(content) = std::fs::read(&full) else { continue };
        let secrets_in = secrets.rules.find(&content);
        if secrets_in.is_empty() {
            continue;
        }
        // What was there before is not the agent's doing.
        let before = workspaces.file_in(&handle, previous_head, &path).await?.unwrap_or_default();
        let known: Vec<&[u8]> = secrets.rules.find(&before).iter().map(|old| &before[old.from..old.to]).collect();
        if let Some(new) = secrets_in.iter().find(|new| !known.contains(&&content[new.from..new.to])) {
            let line = content[..new.from].iter().filter(|byte| **byte == b'\n').count() + 1;
            found.push((path, format!("line {line}: {}", new.name)));
        }
    }
    let paths: Vec<String> = found.iter().map(|(path, _)| path.clone()).collect();
    let allowed = workspaces.meant_by(&handle, &state.spec.secrets_allow, &paths).await?;
    found.retain(|(path, _)| !allowed.contains(path));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    workspaces.hold_back(&handle, &found.iter().map(|(path, _)| literal(path)).collect::<Vec<_>>())?;
    // Commits of the agent's own that hold it are made again without it.
    workspaces.uncommit(&handle, previous_head).await?;
    Ok(found.into_iter().map(|(path, what)| format!("{path} ({what})")).collect())
}
