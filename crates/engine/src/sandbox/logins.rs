//! The logins of an agent, which it may refresh while it works.
//!
//! A process has them as ordinary files in its own directory, so that it may write to them or put new ones in their place.
//! Where the file system allows it they are the user's files by a second name: what is written to them is the user's at
//! once. One that was put in its place is taken over when the turn ends, or before the next process of its kind starts.
//! Invariants: no link of the agent's is followed; nothing empty takes the place of a login; of two that were refreshed the
//! later one stays.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use windlass_agents::PrivateFile;
use windlass_workspace::{Beneath, git::hex};

use crate::data::{private_dir, private_files};

/// Larger files are no logins.
const LARGEST: u64 = 1 << 20;
/// Beside the directories that the process sees, and not in one of them.
const LIST: &str = "logins.json";

/// One file that was passed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Login {
    /// The user's.
    real: PathBuf,
    /// The agent's, below the directory of its kind of process.
    own: PathBuf,
    /// Of the content that both had.
    sha256: String,
}

/// Gives a process a login of the user's, if there is one.
pub(super) fn hand_over(base: &Path, real: &Path, own: &Path) -> Option<Login> {
    let real = real.canonicalize().ok()?;
    let (content, _) = read(File::open(&real).ok()?).ok()?;
    let given = own.parent().map_or(Ok(()), private_dir).and_then(|()| match std::fs::hard_link(&real, own) {
        Ok(()) => Ok(()),
        // Another file system.
        Err(_) => private_file(own, &content, 0o600),
    });
    if let Err(error) = given {
        tracing::warn!(%error, path = %real.display(), "cannot pass the agent's login to the sandbox");
        return None;
    }
    Some(Login { real, own: own.strip_prefix(base).ok()?.to_owned(), sha256: sha256(&content) })
}

/// Remembers what was passed.
pub(super) fn remember(base: &Path, logins: &[Login]) -> io::Result<()> {
    let content = serde_json::to_string(logins)?;
    private_files(&[PrivateFile { path: base.join(LIST), content }])
}

/// Takes over what the processes of this kind have refreshed.
pub(super) fn take_over(base: &Path) {
    let Ok(text) = std::fs::read_to_string(base.join(LIST)) else { return };
    let Ok(mut logins) = serde_json::from_str::<Vec<Login>>(&text) else { return };
    let mut changed = false;
    for login in &mut logins {
        match take_over_one(base, login) {
            Ok(taken) => changed |= taken,
            Err(error) => tracing::warn!(%error, path = %login.real.display(), "cannot save a refreshed login"),
        }
    }
    if changed && let Err(error) = remember(base, &logins) {
        tracing::warn!(%error, "cannot record a refreshed login");
    }
}

fn take_over_one(base: &Path, login: &mut Login) -> io::Result<bool> {
    let Some(file) = Beneath::open(base)?.file(&login.own)? else { return Ok(false) };
    let (own, own_at) = read(file)?;
    let digest = sha256(&own);
    if own.is_empty() || digest == login.sha256 {
        return Ok(false);
    }
    let (real, real_at) = read(File::open(&login.real)?)?;
    let other = sha256(&real);
    let later = other == login.sha256 || own_at >= real_at;
    login.sha256 = digest;
    if real != own && later {
        let mode = std::fs::metadata(&login.real)?.permissions().mode() & 0o777;
        let beside = login.real.with_added_extension("windlass");
        private_file(&beside, &own, mode)?;
        std::fs::rename(&beside, &login.real)?;
    }
    Ok(true)
}

fn read(file: File) -> io::Result<(Vec<u8>, SystemTime)> {
    let facts = file.metadata()?;
    let mut content = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut content)?;
    match facts.is_file() && content.len() as u64 <= LARGEST {
        true => Ok((content, facts.modified()?)),
        false => Err(io::Error::other("not a file, or too large for a login")),
    }
}

fn private_file(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn sha256(content: &[u8]) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, content).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A login `old` of the user's in the hands of a process: the directory of that process, its file, the user's.
    fn handed_over(dir: &tempfile::TempDir) -> (PathBuf, PathBuf, PathBuf) {
        let base = dir.path().join("base");
        let (own, real) = (base.join("home/.agent/login"), dir.path().join("login"));
        std::fs::create_dir(&base).unwrap();
        std::fs::write(&real, "old").unwrap();
        let login = hand_over(&base, &real, &own).unwrap();
        remember(&base, &[login]).unwrap();
        (base, own, real)
    }

    /// As agents do it: a new file, renamed.
    fn put(path: &Path, content: &str) {
        let new = path.with_extension("new");
        std::fs::write(&new, content).unwrap();
        std::fs::rename(new, path).unwrap();
    }

    #[test]
    fn a_login_is_the_users_when_it_is_written_to_and_when_a_new_file_takes_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let (base, own, real) = handed_over(&dir);
        std::fs::write(&own, "written").unwrap();
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "written", "at once");
        put(&own, "replaced");
        take_over(&base);
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "replaced");
        put(&own, "again");
        take_over(&base);
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "again", "a process may live for many turns");
    }

    #[test]
    fn an_empty_file_a_link_and_an_older_login_take_nobodys_place() {
        let dir = tempfile::tempdir().unwrap();
        let (base, own, real) = handed_over(&dir);
        put(&own, "");
        take_over(&base);
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "secret").unwrap();
        std::fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink(&secret, &own).unwrap();
        take_over(&base);
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "old");
        std::fs::remove_file(&own).unwrap();
        put(&own, "ours");
        let earlier = SystemTime::now() - std::time::Duration::from_secs(60);
        File::open(&own).unwrap().set_modified(earlier).unwrap();
        put(&real, "theirs");
        take_over(&base);
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "theirs");
    }
}
