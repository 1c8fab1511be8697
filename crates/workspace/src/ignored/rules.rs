//! Which directories the base's own rules ignore.
//!
//! Invariant: rules that an agent wrote add none.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::WorkspaceError;
use crate::disk::copying;
use crate::git::Git;

/// Creates a directory with only the ignore files of a commit.
pub(crate) async fn check_out_rules(git: &Git, commit: &str, dir: &Path) -> Result<(), WorkspaceError> {
    let (partial, index) = (dir.with_extension("partial"), dir.with_extension("index"));
    copying::remove(&partial).map_err(WorkspaceError::file("remove", &partial))?;
    std::fs::create_dir_all(&partial).map_err(WorkspaceError::file("create", &partial))?;
    let git = git.clone().work_tree(&partial).index(&index);
    git.run(&["read-tree", commit]).await?;
    let files = git.run(&["ls-files", "-z", "--", ":(glob)**/.gitignore"]).await?;
    git.call(&["checkout-index", "-z", "--stdin"]).input(files).run().await?;
    std::fs::remove_file(&index).map_err(WorkspaceError::file("remove", &index))?;
    std::fs::rename(&partial, dir).map_err(WorkspaceError::file("create", dir))
}

/// Those of the directories that the rules in `rules` ignore.
pub(crate) async fn ignored_by(
    git: &Git,
    rules: &Path,
    dirs: &HashSet<PathBuf>,
) -> Result<HashSet<PathBuf>, WorkspaceError> {
    let mut input = Vec::new();
    for dir in dirs {
        input.extend_from_slice(dir.as_os_str().as_bytes());
        input.extend_from_slice(b"/\0");
    }
    let args = ["check-ignore", "--no-index", "-z", "--stdin"];
    let output = git.clone().work_tree(rules).call(&args).input(input).answers(&[1]).run().await?;
    let ignored = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let path = |name: &[u8]| PathBuf::from(OsString::from_vec(name.strip_suffix(b"/").unwrap_or(name).to_vec()));
    Ok(ignored.map(path).collect())
}
