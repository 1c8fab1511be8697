//! Which git program runs and what of the user's environment it sees.
//!
//! Invariant: a git child's environment is built from this list alone. Nothing named `GIT_*` reaches it from the
//! caller except where the user keeps their configuration and identity, so a variable that an agent, an editor or an
//! outer git hook left behind cannot redirect the engine's git.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::GitError;

/// What a git child may know of the user: where things are, who they are, how to reach the network.
const PASSED_ON: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "EMAIL",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
];

/// Where programs are looked for when the caller has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The git program of this machine together with the environment its children get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHost {
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl GitHost {
    /// Finds git on the caller's `PATH`.
    pub fn from_env() -> Result<Self, GitError> {
        Self::from_vars(std::env::vars_os())
    }

    /// Finds git on the `PATH` among `vars` and keeps from `vars` only what a git child may see.
    pub fn from_vars(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Result<Self, GitError> {
        let mut path = OsString::from(DEFAULT_PATH);
        let mut env = Vec::new();
        for (name, value) in vars {
            if name == "PATH" {
                path = absolute_entries(&value);
            } else if PASSED_ON.iter().any(|known| name == *known) {
                env.push((name, value));
            }
        }
        // An absolute program lets the standard library use posix_spawn, which stays fast in a large process.
        let program = find_on_path("git", &path)
            .ok_or_else(|| GitError::Missing { path: path.to_string_lossy().into_owned() })?;
        env.push(("PATH".into(), path));
        Ok(Self { program, env })
    }

    /// The same environment with another program in git's place (an absolute path).
    #[must_use]
    pub fn with_program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    /// The program's absolute path.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Another program on the same path.
    pub(super) fn on_path(&self, name: &str) -> Option<PathBuf> {
        let path = self.env.iter().find(|(key, _)| key == "PATH")?;
        find_on_path(name, &path.1)
    }

    pub(super) fn env(&self) -> &[(OsString, OsString)] {
        &self.env
    }
}

/// Drops empty and relative entries: git runs inside the agent's tree, where `.` on the path would be the agent's.
fn absolute_entries(path: &OsStr) -> OsString {
    let kept = std::env::split_paths(path).filter(|entry| entry.is_absolute());
    std::env::join_paths(kept).unwrap_or_else(|_| DEFAULT_PATH.into())
}

fn find_on_path(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path).map(|dir| dir.join(name)).find(|candidate| candidate.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_path_entries_and_foreign_git_variables_are_dropped() {
        let host = GitHost::from_vars([
            (OsString::from("PATH"), OsString::from(".:/usr/bin::bin:/bin")),
            (OsString::from("GIT_DIR"), OsString::from("/elsewhere")),
            (OsString::from("GIT_EXTERNAL_DIFF"), OsString::from("evil")),
            (OsString::from("HOME"), OsString::from("/home/u")),
        ])
        .expect("git is installed");
        let names: Vec<_> = host.env().iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["HOME", "PATH"]);
        assert_eq!(host.env()[1].1, OsString::from("/usr/bin:/bin"));
        assert!(host.program().is_absolute());
    }

    #[test]
    fn a_machine_without_git_says_where_it_looked() {
        let error = GitHost::from_vars([(OsString::from("PATH"), OsString::from("/nonexistent"))]).unwrap_err();
        assert_eq!(error.to_string(), "git not found on PATH (/nonexistent)");
    }
}
