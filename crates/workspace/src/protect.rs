//! Paths that the agent may not change.
//!
//! Invariant: after `restore_protected` every protected path is as in the given commit: changed and deleted files are
//! back, added ones are gone. Ignored files are not covered, because nobody knows whose they are; a gate that must
//! not see them runs in a pristine checkout.

use super::stage::stage;
use super::{Workspace, WorkspaceError, Workspaces};
use crate::git::{ChangedFile, parse_raw};

impl Workspaces {
    /// Puts back what matches `globs` and differs from `previous_commit`, and reports it. A glob without a slash
    /// matches at every depth, like in `.gitignore`; `!` in front excepts. What was repaired is said in `notes`.
    pub async fn restore_protected(
        &self,
        workspace: &Workspace,
        previous_commit: &str,
        globs: &[String],
        notes: &mut Vec<String>,
    ) -> Result<Vec<ChangedFile>, WorkspaceError> {
        if !globs.iter().any(|glob| !glob.starts_with('!')) {
            return Ok(Vec::new());
        }
        self.attach(workspace, "protect", notes).await?;
        let git = self.git(workspace).await?;
        stage(self, &git, workspace, &[], "protect").await?;
        let specs: Vec<String> = globs.iter().map(|glob| pathspec(glob)).collect();
        let mut args = vec![
            "diff-index",
            "--cached",
            "--raw",
            "-z",
            "--no-renames",
            "--ignore-submodules=dirty",
            previous_commit,
            "--",
        ];
        args.extend(specs.iter().map(String::as_str));
        let changed = parse_raw("diff-index", &git.run(&args).await?)?;
        if changed.is_empty() {
            return Ok(changed);
        }
        let source = format!("--source={previous_commit}");
        let args = [
            "restore",
            "--quiet",
            &source,
            "--staged",
            "--worktree",
            "--no-overlay",
            "--ignore-skip-worktree-bits",
            "--pathspec-from-file=-",
            "--pathspec-file-nul",
        ];
        let paths: Vec<u8> = changed.iter().flat_map(|file| file.path.as_bytes().iter().copied().chain([0])).collect();
        git.call(&args).input(paths).literal_paths().run().await?;
        Ok(changed)
    }
}

/// A glob in git's own words, from the top of the workspace.
fn pathspec(glob: &str) -> String {
    let (magic, glob) = match glob.strip_prefix('!') {
        Some(glob) => ("top,glob,exclude", glob),
        None => ("top,glob", glob),
    };
    let anchored = glob.trim_end_matches('/').contains('/');
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    // A directory stands for everything in it; git matches leading directories by itself.
    let glob = glob.trim_end_matches('/');
    if anchored { format!(":({magic}){glob}") } else { format!(":({magic})**/{glob}") }
}

#[cfg(test)]
mod tests {
    use super::pathspec;

    #[test]
    fn globs_are_anchored_by_their_slash() {
        assert_eq!(pathspec("*.lock"), ":(top,glob)**/*.lock");
        assert_eq!(pathspec("tests/"), ":(top,glob)**/tests");
        assert_eq!(pathspec("/Makefile"), ":(top,glob)Makefile");
        assert_eq!(pathspec("tests/**"), ":(top,glob)tests/**");
        assert_eq!(pathspec("!tests/data"), ":(top,glob,exclude)tests/data");
    }
}
