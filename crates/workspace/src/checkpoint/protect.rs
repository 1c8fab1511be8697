//! Paths that the agent may not change.
//!
//! Invariant: after `restore_protected` every protected path is as in the given commit: changed and deleted files are
//! back, added ones are gone, ignored ones too. What is undone stays reachable from a ref. Only tools' own directories that
//! the base's rules ignore, and what was there before the first turn, are not covered.

use std::path::Path;

use super::quarantine::Quarantine;
use super::save;
use super::stage::{Scratch, stage};
use crate::disk::copying;
use crate::git::{Change, ChangedFile, FilePath, Git, parse_raw};
use crate::project::Project;
use crate::{Workspace, WorkspaceError, Workspaces};

impl Workspaces {
    /// Puts back what matches `globs` and differs from `previous_commit`, and reports it. A glob without a slash
    /// matches at every depth, like in `.gitignore`; `!` in front excepts. What was repaired is said in `notes`.
    pub async fn restore_protected(
        &self,
        workspace: &Workspace,
        previous_commit: &str,
        globs: &[String],
        turn_id: &str,
        notes: &mut Vec<String>,
    ) -> Result<Vec<ChangedFile>, WorkspaceError> {
        if !globs.iter().any(|glob| !glob.starts_with('!')) {
            return Ok(Vec::new());
        }
        self.attach(workspace, "protect", notes).await?;
        let quarantine = Quarantine::open(&self.git(workspace).await?, workspace)?;
        let git = quarantine.git();
        stage(self, git, workspace, &[], "protect").await?;
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
        let mut changed = parse_raw("diff-index", &git.run(&args).await?)?;
        let hidden = self.hidden(workspace, git, &specs).await?;
        if changed.is_empty() && hidden.is_empty() {
            return Ok(changed);
        }
        let kept = keep(workspace, git, &hidden, previous_commit, turn_id).await?;
        notes.push(format!("changes to protected files are saved at {}", kept.name));
        for path in &hidden {
            if let Some(path) = copying::without_links(&workspace.dir, &path.below(Path::new(""))) {
                copying::remove(&path).map_err(WorkspaceError::file("remove", &path))?;
            }
        }
        if changed.is_empty() {
            return Ok(added(hidden));
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
        changed.extend(added(hidden));
        Ok(changed)
    }

    /// New files that are protected and that git ignores.
    async fn hidden(
        &self,
        workspace: &Workspace,
        git: &Git,
        specs: &[String],
    ) -> Result<Vec<FilePath>, WorkspaceError> {
        let ignored = self.look_for_ignored(workspace, git, false).await?.files;
        if ignored.is_empty() {
            return Ok(ignored);
        }
        // Git compares whole names of untracked files: what is in a protected directory needs its own pattern.
        let below: Vec<String> = specs.iter().map(|spec| format!("{spec}/**")).collect();
        let mut args = vec!["ls-files", "-z", "--others", "--"];
        args.extend(specs.iter().chain(&below).map(String::as_str));
        let output = git.run(&args).await?;
        let protected = output.split(|&byte| byte == 0).map(FilePath::new);
        Ok(protected.filter(|path| ignored.contains(path)).collect())
    }
}

impl Workspaces {
    /// The globs that match no file which git tracks in a checkout, and no path of just that name.
    pub async fn unmatched(&self, project: &Path, globs: &[String]) -> Result<Vec<String>, WorkspaceError> {
        let project = Project::inspect(&self.host, project).await?;
        let git = project.git(&self.host);
        let mut unmatched = Vec::new();
        for glob in globs.iter().filter(|glob| !glob.starts_with('!')) {
            let found = git.run(&["ls-files", "-z", "--", &pathspec(glob)]).await?;
            if found.is_empty() && !project.checkout.join(glob).exists() {
                unmatched.push(glob.clone());
            }
        }
        Ok(unmatched)
    }
}

fn added(paths: Vec<FilePath>) -> Vec<ChangedFile> {
    paths.into_iter().map(|path| ChangedFile { path, change: Change::Added, from: None }).collect()
}

/// Saves what is on disk, these ignored files included, before it is undone.
async fn keep(
    workspace: &Workspace,
    git: &Git,
    hidden: &[FilePath],
    previous_commit: &str,
    turn_id: &str,
) -> Result<save::SavedRef, WorkspaceError> {
    let scratch = Scratch::of(git, workspace);
    let git = git.clone().index(&scratch.file);
    let paths: Vec<u8> = hidden.iter().flat_map(|path| path.as_bytes().iter().copied().chain([0])).collect();
    git.call(&["update-index", "--add", "-z", "--stdin"]).input(paths).run().await?;
    let tree = git.line(&["write-tree"]).await?;
    let name = workspace.keep_ref("protected", turn_id);
    save::keep_tree(&git, workspace, &name, &tree, &[previous_commit], "windlass: changes of protected files\n").await
}

/// A glob in git's own words, from the top of the workspace.
pub(crate) fn pathspec(glob: &str) -> String {
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
