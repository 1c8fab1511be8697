//! Sessions and unused login codes, in a file of the data directory.
//!
//! The file is shared: `windlass serve link`, `sessions`, and `logout` change it while the server runs, and the server
//! notices. Writers take a lock and replace the file whole.
//!
//! Invariant: the file contains only hashes, and only its owner can read it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::access::secret::{self, fingerprint, random};

/// How long a login link can be used.
pub const CODE_MINUTES: i64 = 10;
/// A session expires after this time without use.
pub const SESSION_DAYS: i64 = 30;
/// The last use is written at most so often.
const NOTE_USE_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// Older ones make room.
const MOST_CODES: usize = 16;
const MOST_SESSIONS: usize = 256;

/// A browser or a command line that is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: String,
    /// Such as `Firefox on Linux`.
    pub name: String,
    pub created_at: Timestamp,
    /// To the hour.
    pub used_at: Timestamp,
}

impl Session {
    fn lives(&self, now: Timestamp) -> bool {
        now.duration_since(self.used_at) < SignedDuration::from_hours(24 * SESSION_DAYS)
    }
}

/// A code that was just made.
#[derive(Debug, Clone)]
pub struct LoginCode {
    pub text: String,
    pub expires_at: Timestamp,
}

/// Sessions to be revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    One(String),
    /// Every session, and every code that is not used yet.
    All,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Book {
    sessions: Vec<Entry>,
    codes: Vec<Code>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    hash: String,
    #[serde(flatten)]
    session: Session,
}

#[derive(Debug, Serialize, Deserialize)]
struct Code {
    hash: String,
    expires_at: Timestamp,
}

impl Book {
    fn drop_expired(&mut self, now: Timestamp) {
        self.sessions.retain(|entry| entry.session.lives(now));
        self.codes.retain(|code| code.expires_at > now);
    }
}

/// Compares in constant time, though both are hashes already.
fn same(one: &str, other: &str) -> bool {
    bool::from(one.as_bytes().ct_eq(other.as_bytes()))
}

/// The logins of a data directory.
#[derive(Debug, Clone)]
pub struct Logins {
    path: PathBuf,
}

impl Logins {
    pub fn of(data: &Path) -> Self {
        Self { path: data.join("logins.json") }
    }

    /// Whether a server with sessions has ever run here.
    pub fn exist(&self) -> bool {
        self.path.exists()
    }

    pub fn new_code(&self, now: Timestamp) -> io::Result<LoginCode> {
        let text = random(16)?;
        let expires_at = now + SignedDuration::from_mins(CODE_MINUTES);
        self.change(now, |book| {
            let spare = (book.codes.len() + 1).saturating_sub(MOST_CODES);
            book.codes.drain(..spare);
            book.codes.push(Code { hash: fingerprint(&text), expires_at });
        })?;
        Ok(LoginCode { text, expires_at })
    }

    /// Opens a session for a code, which is used up by that. The secret is in no file.
    pub fn redeem(&self, code: &str, name: &str, now: Timestamp) -> io::Result<Option<(Session, String)>> {
        let hash = fingerprint(code);
        // A client without a code cannot make the server write.
        if !self.read()?.codes.iter().any(|code| same(&code.hash, &hash)) {
            return Ok(None);
        }
        let (id, secret) = (random(4)?, random(32)?);
        self.change(now, |book| {
            let before = book.codes.len();
            book.codes.retain(|code| !same(&code.hash, &hash));
            if book.codes.len() == before {
                return None;
            }
            if book.sessions.len() >= MOST_SESSIONS {
                book.sessions.sort_by_key(|entry| entry.session.used_at);
                book.sessions.remove(0);
            }
            let session = Session { id, name: name.to_owned(), created_at: now, used_at: now };
            book.sessions.push(Entry { hash: fingerprint(&secret), session: session.clone() });
            Some((session, secret))
        })
    }

    /// Sessions that are in use, the latest first.
    pub fn sessions(&self, now: Timestamp) -> io::Result<Vec<Session>> {
        let mut book = self.read()?;
        book.drop_expired(now);
        let mut sessions: Vec<Session> = book.sessions.into_iter().map(|entry| entry.session).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse((session.used_at, session.created_at)));
        Ok(sessions)
    }

    /// Ends sessions and returns them.
    pub fn revoke(&self, which: &Which, now: Timestamp) -> io::Result<Vec<Session>> {
        if !self.exist() {
            return Ok(Vec::new());
        }
        self.change(now, |book| {
            let ends = |entry: &mut Entry| match which {
                Which::One(id) => entry.session.id == *id,
                Which::All => true,
            };
            if *which == Which::All {
                book.codes.clear();
            }
            book.sessions.extract_if(.., ends).map(|entry| entry.session).collect()
        })
    }

    fn note_use(&self, id: &str, now: Timestamp) -> io::Result<()> {
        self.change(now, |book| {
            if let Some(entry) = book.sessions.iter_mut().find(|entry| entry.session.id == id) {
                entry.session.used_at = now;
            }
        })
    }

    fn read(&self) -> io::Result<Book> {
        let Some(text) = secret::read(&self.path)? else { return Ok(Book::default()) };
        serde_json::from_str(&text).map_err(|error| {
            let path = self.path.display();
            io::Error::new(io::ErrorKind::InvalidData, format!("{path}: {error}; remove it and log in again"))
        })
    }

    fn change<T>(&self, now: Timestamp, change: impl FnOnce(&mut Book) -> T) -> io::Result<T> {
        let lock = self.path.with_extension("lock");
        let lock = File::options().write(true).create(true).truncate(false).mode(0o600).open(lock)?;
        lock.lock()?;
        let mut book = self.read()?;
        book.drop_expired(now);
        let result = change(&mut book);
        secret::write(&self.path, &serde_json::to_string(&book)?)?;
        Ok(result)
    }
}

/// Tells one version of the file from another: a new version is a new file.
type Version = Option<(u64, i64, i64, u64)>;

/// The logins as a running server needs them: in memory, and read again when the file changed.
#[derive(Debug)]
pub(crate) struct Register {
    logins: Logins,
    known: Mutex<(Version, Arc<Vec<Entry>>)>,
}

impl Register {
    pub(crate) fn new(logins: Logins) -> Self {
        Self { logins, known: Mutex::default() }
    }

    pub(crate) fn logins(&self) -> &Logins {
        &self.logins
    }

    /// The id of the session with this secret.
    pub(crate) fn session_of(&self, secret: &str, now: Timestamp) -> Option<String> {
        let hash = fingerprint(secret);
        let known = self.known();
        let session = &known.iter().find(|entry| same(&entry.hash, &hash))?.session;
        if !session.lives(now) {
            return None;
        }
        if now.duration_since(session.used_at) >= NOTE_USE_EVERY
            && let Err(error) = self.logins.note_use(&session.id, now)
        {
            tracing::warn!(%error, "cannot record the use of a session");
        }
        Some(session.id.clone())
    }

    pub(crate) fn lives(&self, id: &str) -> bool {
        self.known().iter().any(|entry| entry.session.id == id)
    }

    fn known(&self) -> Arc<Vec<Entry>> {
        let version = std::fs::metadata(&self.logins.path)
            .ok()
            .map(|meta| (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.0 != version {
            let sessions = match self.logins.read() {
                Ok(book) => book.sessions,
                Err(error) => {
                    tracing::warn!(%error, "cannot load sessions");
                    Vec::new()
                }
            };
            *known = (version, Arc::new(sessions));
        }
        Arc::clone(&known.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Logins, Timestamp) {
        let dir = tempfile::tempdir().unwrap();
        let logins = Logins::of(dir.path());
        (dir, logins, Timestamp::from_second(1_800_000_000).unwrap())
    }

    fn after(now: Timestamp, hours: i64) -> Timestamp {
        now + SignedDuration::from_hours(hours)
    }

    #[test]
    fn code_opens_one_session_and_the_file_holds_hashes_only() {
        let (dir, logins, now) = place();
        let code = logins.new_code(now).unwrap();
        assert_eq!(logins.redeem("wrong", "x", now).unwrap(), None);
        let (session, secret) = logins.redeem(&code.text, "Firefox on Linux", now).unwrap().unwrap();
        assert_eq!(logins.redeem(&code.text, "x", now).unwrap(), None, "it is used up");
        let path = dir.path().join("logins.json");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&secret) && !text.contains(&code.text), "{text}");
        assert_eq!(std::fs::metadata(path).unwrap().mode() & 0o777, 0o600);
        let register = Register::new(logins.clone());
        assert_eq!(register.session_of(&secret, now), Some(session.id.clone()));
        assert_eq!(register.session_of("wrong", now), None);
        assert_eq!(logins.sessions(now).unwrap(), [session]);
    }

    #[test]
    fn code_expires_after_minutes() {
        let (_dir, logins, now) = place();
        let code = logins.new_code(now).unwrap();
        assert_eq!(logins.redeem(&code.text, "x", code.expires_at).unwrap(), None);
    }

    #[test]
    fn session_ends_after_disuse_and_lives_while_it_is_used() {
        let (_dir, logins, now) = place();
        let code = logins.new_code(now).unwrap();
        let (_, secret) = logins.redeem(&code.text, "x", now).unwrap().unwrap();
        let register = Register::new(logins.clone());
        let late = after(now, 24 * SESSION_DAYS - 1);
        assert!(register.session_of(&secret, late).is_some());
        assert!(register.session_of(&secret, after(late, 24 * SESSION_DAYS - 1)).is_some(), "its use was noted");
        assert!(register.session_of(&secret, after(now, 24 * SESSION_DAYS * 3)).is_none());
    }

    #[test]
    fn revoked_session_is_refused_at_once_by_a_server_that_knew_it() {
        let (_dir, logins, now) = place();
        let open = || {
            let code = logins.new_code(now).unwrap();
            logins.redeem(&code.text, "x", now).unwrap().unwrap()
        };
        let ((first, first_secret), (second, second_secret)) = (open(), open());
        let register = Register::new(logins.clone());
        assert!(register.session_of(&first_secret, now).is_some() && register.lives(&first.id));
        assert_eq!(logins.revoke(&Which::One(first.id.clone()), now).unwrap().len(), 1);
        assert!(register.session_of(&first_secret, now).is_none() && !register.lives(&first.id));
        assert!(register.session_of(&second_secret, now).is_some());
        let unused = logins.new_code(now).unwrap();
        assert_eq!(logins.revoke(&Which::All, now).unwrap(), [second]);
        assert!(register.session_of(&second_secret, now).is_none());
        assert_eq!(logins.redeem(&unused.text, "x", now).unwrap(), None, "links that nobody opened yet end too");
    }
}
