//! How a git command fails, in the words a user needs.
//!
//! Invariant: every failure that has a known cause gets its own variant with the path or name that matters; the rest
//! carries the end of what git wrote to stderr, never nothing.

use std::io;
use std::path::PathBuf;

/// A git command that did not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    #[error("git not found on PATH ({path})")]
    Missing { path: String },
    #[error("git {version} is too old; {needed} or newer is required")]
    TooOld { version: String, needed: &'static str },
    #[error("could not run {program}")]
    Spawn {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The repository's checkout, mostly, that the user moved or removed.
    #[error("the directory {path} is missing")]
    DirectoryMissing { path: PathBuf },
    #[error("{path} is not inside a git repository")]
    NotARepository { path: PathBuf },
    #[error("git does not trust the owner of {path}")]
    DubiousOwnership { path: String },
    #[error("another git process locked {path}")]
    LockHeld { path: PathBuf },
    #[error("no name and email are configured for commits")]
    NoIdentity,
    #[error("unknown revision {revision}")]
    UnknownRevision { revision: String },
    #[error("the disk is full")]
    DiskFull { stderr: String },
    #[error("git cannot write: {stderr}")]
    NotWritable { stderr: String },
    #[error("a configured filter failed: {stderr}")]
    FilterFailed { stderr: String },
    #[error("git's configuration is broken: {stderr}")]
    BadConfig { stderr: String },
    #[error("{path} is a link that did not exist when the loop started; git would follow it")]
    LinkPlanted { path: PathBuf },
    #[error("the repository {path} is a link to outside the workspace")]
    LeadsOut { path: String },
    /// Objects of an agent that are broken, too large or not there.
    #[error("cannot read the objects: {reason}")]
    NotTaken { reason: String },
    /// Found while git was reading it.
    #[error("{path} is larger than {limit} bytes")]
    FileTooLarge { path: PathBuf, limit: u64 },
    #[error("git {command} printed more than {limit} bytes")]
    TooMuchOutput { command: String, limit: usize },
    #[error("git {command} timed out after {seconds} s")]
    TimedOut { command: String, seconds: u64 },
    /// By a user, or by a machine without memory; the repository is not at fault.
    #[error("git {command} was killed")]
    Killed { command: String },
    #[error("git {command} failed ({status}): {stderr}")]
    Failed { command: String, status: String, stderr: String },
    #[error("unexpected output of git {command}: {answer}")]
    Unexpected { command: String, answer: String },
}

impl GitError {
    /// The way out, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { .. } => Some("install git, and check that it is on PATH".into()),
            Self::TooOld { .. } => Some("update git".into()),
            Self::DirectoryMissing { .. } => {
                Some("move it back, or remove the rest of the loop with windlass clean".into())
            }
            Self::NotARepository { path } => {
                Some(format!("run it inside a repository, or create one: git -C {} init", typed(path)))
            }
            Self::DubiousOwnership { path } => {
                Some(format!("if you trust it: git config --global --add safe.directory {}", typed(path.as_ref())))
            }
            Self::LockHeld { path } => {
                Some(format!("wait for the other git command to finish; if none is running, delete {}", typed(path)))
            }
            Self::NoIdentity => {
                Some("run git config --global user.name NAME and git config --global user.email ADDRESS".into())
            }
            Self::UnknownRevision { .. } => Some("list branches and tags with git branch -a and git tag".into()),
            Self::DiskFull { .. } => Some("free some space, then resume".into()),
            Self::NotWritable { .. } => Some("check the owner and permissions of the repository".into()),
            Self::FilterFailed { .. } => Some("check that the filter's program (often git-lfs) is installed".into()),
            Self::BadConfig { .. } => Some("fix the file that git reports".into()),
            Self::LinkPlanted { path } => Some(format!("check where it points (ls -l {}) and remove it", typed(path))),
            Self::Killed { .. } => Some("resume with windlass resume; git may have run out of memory".into()),
            Self::LeadsOut { .. }
            | Self::NotTaken { .. }
            | Self::FileTooLarge { .. }
            | Self::TooMuchOutput { .. }
            | Self::TimedOut { .. }
            | Self::Spawn { .. }
            | Self::Failed { .. }
            | Self::Unexpected { .. } => None,
        }
    }

    pub(crate) fn unexpected(command: &str, answer: &[u8]) -> Self {
        let answer = String::from_utf8_lossy(answer).chars().take(200).collect();
        Self::Unexpected { command: command.into(), answer }
    }
}

/// A path as it can be typed into a shell.
pub(crate) fn typed(path: &std::path::Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if text.chars().all(plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Names the cause of a failed command from what git wrote. The child runs with `LC_ALL=C`, so the words are stable.
pub(super) fn classify(command: &str, status: String, stderr: &[u8], cwd: &std::path::Path) -> GitError {
    let stderr = String::from_utf8_lossy(stderr).trim().to_owned();
    if let Some(path) = held_lock(&stderr) {
        return GitError::LockHeld { path };
    }
    if stderr.contains("No space left on device") || stderr.contains("Disk quota exceeded") {
        return GitError::DiskFull { stderr };
    }
    if stderr.contains("detected dubious ownership in repository at") {
        let path = between_quotes(&stderr, "repository at ").unwrap_or_else(|| cwd.display().to_string());
        return GitError::DubiousOwnership { path };
    }
    if stderr.contains("not a git repository") {
        return GitError::NotARepository { path: cwd.to_owned() };
    }
    if stderr.contains("identity unknown")
        || stderr.contains("Please tell me who you are")
        || stderr.contains("empty ident name")
        || stderr.contains("auto-detection is disabled")
    {
        return GitError::NoIdentity;
    }
    if stderr.contains("bad config") || stderr.contains("unknown repository extension") {
        return GitError::BadConfig { stderr };
    }
    if stderr.contains("external filter") || stderr.contains("clean filter") || stderr.contains("smudge filter") {
        return GitError::FilterFailed { stderr };
    }
    if stderr.contains("insufficient permission for adding an object")
        || stderr.contains("Read-only file system")
        || stderr.contains("unable to create directory for")
        || (stderr.contains("Permission denied") && stderr.contains(".lock"))
    {
        return GitError::NotWritable { stderr };
    }
    GitError::Failed { command: command.into(), status, stderr }
}

/// `Unable to create '/r/.git/index.lock': File exists.`
fn held_lock(stderr: &str) -> Option<PathBuf> {
    // Another `git worktree add` is just writing this file; git reports it in an odd way.
    if let Some(end) = stderr.find("/commondir: Success") {
        let start = stderr[..end].rfind("failed to read ").map_or(0, |at| at + "failed to read ".len());
        return Some(PathBuf::from(&stderr[start..end + "/commondir".len()]));
    }
    if !stderr.contains(".lock': File exists") {
        return None;
    }
    between_quotes(stderr, "nable to create ").map(PathBuf::from)
}

fn between_quotes(text: &str, after: &str) -> Option<String> {
    let rest = &text[text.find(after)? + after.len()..];
    let rest = rest.strip_prefix('\'')?;
    Some(rest[..rest.find('\'')?].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn name(stderr: &str) -> GitError {
        classify("commit", "exit 128".into(), stderr.as_bytes(), Path::new("/p"))
    }

    #[test]
    fn hint_quotes_path_with_space() {
        let hint = |path: &str| GitError::NotARepository { path: path.into() }.hint().unwrap();
        assert!(hint("/srv/my site").ends_with("git -C '/srv/my site' init"), "{}", hint("/srv/my site"));
        assert!(hint("/srv/it's").ends_with(r"git -C '/srv/it'\''s' init"), "{}", hint("/srv/it's"));
        assert!(hint("/srv/site").ends_with("git -C /srv/site init"));
    }

    #[test]
    fn causes_are_told_apart_and_name_what_matters() {
        assert!(matches!(
            name("fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process"),
            GitError::LockHeld { path } if path == Path::new("/r/.git/index.lock")
        ));
        assert!(matches!(
            name("fatal: cannot lock ref 'refs/heads/x': Unable to create '/r/.git/refs/heads/x.lock': File exists."),
            GitError::LockHeld { path } if path == Path::new("/r/.git/refs/heads/x.lock")
        ));
        assert!(matches!(
            name("fatal: failed to read /r/.git/worktrees/x/commondir: Success"),
            GitError::LockHeld { path } if path == Path::new("/r/.git/worktrees/x/commondir")
        ));
        assert!(matches!(
            name(
                "fatal: prepare: cannot lock ref 'refs/heads/windlass/x': unable to create directory for /r/.git/refs/heads/windlass/x"
            ),
            GitError::NotWritable { .. }
        ));
        assert!(matches!(name("fatal: not a git repository (or any of"), GitError::NotARepository { .. }));
        assert!(matches!(name("error: file write error: No space left on device"), GitError::DiskFull { .. }));
        assert!(matches!(
            name("fatal: detected dubious ownership in repository at '/r'\nTo add"),
            GitError::DubiousOwnership { path } if path == "/r"
        ));
        assert!(matches!(name("Author identity unknown\n\n*** Please tell me who you are."), GitError::NoIdentity));
        assert!(matches!(name("fatal: bad config line 1 in file .git/config"), GitError::BadConfig { .. }));
        assert_eq!(name("fatal: odd").to_string(), "git commit failed (exit 128): fatal: odd");
    }

    #[test]
    fn a_lock_names_the_file_to_delete() {
        let hint = name("fatal: Unable to create '/r/index.lock': File exists.").hint().unwrap_or_default();
        assert!(hint.contains("/r/index.lock"), "{hint}");
    }
}
