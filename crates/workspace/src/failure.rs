//! Why a workspace is not available, and what to do.
//!
//! Invariant: each refusal names what is in the way and how to continue; nothing was changed when one is returned.

use std::path::PathBuf;

use crate::git::{GitError, typed};

/// A workspace operation that was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{path} is a bare repository")]
    Bare { path: PathBuf },
    #[error("{path} has no commits yet")]
    NoCommits { path: PathBuf },
    #[error("{path} does not exist")]
    NoSuchDirectory { path: PathBuf },
    #[error("unknown base {revision} in {path}")]
    UnknownBase { revision: String, path: PathBuf },
    #[error("{branch} is not a valid branch name")]
    InvalidBranch { branch: String },
    #[error("the branch {branch} already exists{}", elsewhere(.checked_out_at.as_ref()))]
    BranchExists { branch: String, checked_out_at: Option<PathBuf> },
    #[error("cannot create the branch {branch} because the branch {existing} exists")]
    BranchNameTaken { branch: String, existing: String },
    #[error("the branch {branch} is checked out at {at}")]
    BranchCheckedOut { branch: String, at: PathBuf },
    #[error("{path} already exists and is not this loop's workspace")]
    DirectoryInTheWay { path: PathBuf },
    #[error("the checkout {path} has {files} uncommitted {}", if *.files == 1 { "file" } else { "files" })]
    Dirty { path: PathBuf, files: u64 },
    #[error("a {operation} is in progress in {path}")]
    OperationInProgress { path: PathBuf, operation: &'static str },
    #[error("{path} is not on a branch (detached HEAD)")]
    DetachedHead { path: PathBuf },
    #[error("the checkout {path} is no longer on the loop's branch {branch}")]
    NotOnBranch { path: PathBuf, branch: String },
    #[error("the loop {owner} already works in the checkout {path}")]
    CheckoutTaken { path: PathBuf, owner: String },
    #[error("the workspace {path} and its branch {branch} are missing")]
    WorkspaceMissing { path: PathBuf, branch: String },
    #[error("the repository {path} is missing")]
    RepositoryMissing { path: PathBuf },
    #[error("the branch {branch} does not exist")]
    NoSuchBranch { branch: String },
    #[error("no branch to merge {branch} into: HEAD was detached when the loop started")]
    NoMergeTarget { branch: String },
    #[error("local changes in {checkout} would be overwritten: {}", .files.join(", "))]
    CheckoutInTheWay { checkout: PathBuf, files: Vec<String> },
    #[error("could not {action} {path}")]
    File {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

fn elsewhere(at: Option<&PathBuf>) -> String {
    at.map(|at| format!(" and is checked out at {}", at.display())).unwrap_or_default()
}

impl WorkspaceError {
    /// The way out, if known.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Git(error) => return error.hint(),
            Self::Bare { .. } => "use a clone with a checkout: git clone <this repository> <directory>".to_owned(),
            Self::NoCommits { path } => {
                format!("make a first commit: git -C {0} add -A && git -C {0} commit -m start", typed(path))
            }
            Self::NoSuchDirectory { .. } => "check the path given with -C".to_owned(),
            Self::UnknownBase { .. } => "list branches and tags with git branch -a and git tag".to_owned(),
            Self::InvalidBranch { .. } => "choose another branch with --branch".to_owned(),
            Self::BranchExists { branch, .. } => {
                format!("choose another with --name or --branch; to start from its commits, add --base {branch}")
            }
            Self::BranchNameTaken { existing, .. } => format!(
                "use --branch, or rename the other: git branch -m {existing} <other>; git does not allow a branch and a folder of branches with the same name"
            ),
            Self::BranchCheckedOut { at, .. } => {
                format!("switch that checkout to another branch: git -C {} switch -", typed(at))
            }
            Self::DirectoryInTheWay { path } => format!("move {} away", typed(path)),
            Self::Dirty { .. } => {
                "commit or stash them (git stash -u), or remove --in-place to work in a separate clone".to_owned()
            }
            Self::OperationInProgress { operation, .. } => match *operation {
                "bisect" => "end it with git bisect reset, or remove --in-place".to_owned(),
                operation => format!("finish it, abort it with git {operation} --abort, or remove --in-place"),
            },
            Self::DetachedHead { path } => {
                format!("switch to a branch: git -C {} switch -c <name>, or remove --in-place", typed(path))
            }
            Self::NotOnBranch { path, branch } => {
                format!("switch back: git -C {} switch {branch}, then resume", typed(path))
            }
            Self::CheckoutTaken { owner, .. } => {
                format!("stop it first (windlass stop {owner}), or run without --in-place")
            }
            Self::WorkspaceMissing { .. } => {
                "list saved commits with git for-each-ref refs/windlass; the loop cannot be resumed".to_owned()
            }
            Self::RepositoryMissing { .. } => {
                "move it back, or remove the rest of the loop with windlass clean".to_owned()
            }
            Self::NoSuchBranch { .. } => "list branches with git branch".to_owned(),
            Self::NoMergeTarget { branch } => {
                format!("switch to the target branch, then: git merge {branch}")
            }
            Self::CheckoutInTheWay { .. } => "commit or stash them there, then merge again".to_owned(),
            Self::File { .. } => return None,
        };
        Some(hint)
    }

    /// Whether the user requested something that cannot be, rather than something going wrong on the way.
    pub fn is_wrong_use(&self) -> bool {
        match self {
            Self::Git(error) => matches!(
                error,
                GitError::DirectoryMissing { .. }
                    | GitError::NotARepository { .. }
                    | GitError::UnknownRevision { .. }
                    | GitError::DubiousOwnership { .. }
            ),
            Self::Bare { .. }
            | Self::NoCommits { .. }
            | Self::NoSuchDirectory { .. }
            | Self::UnknownBase { .. }
            | Self::InvalidBranch { .. }
            | Self::BranchExists { .. }
            | Self::BranchNameTaken { .. }
            | Self::BranchCheckedOut { .. }
            | Self::Dirty { .. }
            | Self::OperationInProgress { .. }
            | Self::DetachedHead { .. }
            | Self::NotOnBranch { .. }
            | Self::CheckoutTaken { .. }
            | Self::NoSuchBranch { .. }
            | Self::NoMergeTarget { .. }
            | Self::CheckoutInTheWay { .. }
            | Self::WorkspaceMissing { .. }
            | Self::RepositoryMissing { .. } => true,
            Self::DirectoryInTheWay { .. } | Self::File { .. } => false,
        }
    }

    pub(super) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
