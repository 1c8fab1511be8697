//! The master token, and files for the owner's eyes only.
//!
//! The token is for the owner's own scripts and commands. No page ever gets it: browsers have sessions.
//!
//! Invariant: these files are readable by their owner only from the moment they exist.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use windlass_store::ProcessIdentity;

/// A secret that grants full access. Only `is` compares it, because it takes constant time.
#[derive(Clone)]
pub struct Secret(String);

/// Left out, so that it is in no log.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    const FILE: &str = "server.token";

    /// The token of a data directory; made if there is none, and if `renew` requests another one.
    pub fn of(data: &Path, renew: bool) -> io::Result<Self> {
        if !renew && let Some(known) = Self::known(data)? {
            return Ok(known);
        }
        let text = random(32)?;
        write(&data.join(Self::FILE), &text)?;
        Ok(Self(text))
    }

    /// The token of a data directory, if there is one.
    pub fn known(data: &Path) -> io::Result<Option<Self>> {
        Ok(read(&data.join(Self::FILE))?.filter(|text| text.len() >= 32).map(Self))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// Takes as long for a near miss as for nonsense.
    pub fn is(&self, said: &str) -> bool {
        bool::from(self.0.as_bytes().ct_eq(said.as_bytes()))
    }
}

/// So many random bytes, as hexadecimal digits.
pub(crate) fn random(bytes: usize) -> io::Result<String> {
    let mut buffer = vec![0; bytes];
    SystemRandom::new().fill(&mut buffer).map_err(|_| io::Error::other("no random numbers"))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Tells two texts apart without keeping them.
pub fn fingerprint(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A server that runs, as its file reports.
#[derive(Debug, Serialize, Deserialize)]
pub struct Running {
    pub url: String,
    pub process: ProcessIdentity,
    /// What its agents find: only a process with the same may leave loops to it. Empty if it drives none.
    pub surroundings: String,
}

impl Running {
    /// The server of this data directory, if one lives.
    pub fn find(data: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(server_file(data)).ok()?;
        let running: Self = serde_json::from_str(&text).ok()?;
        running.process.is_alive().then_some(running)
    }

    pub fn write(&self, data: &Path) -> io::Result<()> {
        write(&server_file(data), &serde_json::to_string(self).unwrap_or_default())
    }
}

/// The file where a running server writes its address.
pub fn server_file(data: &Path) -> PathBuf {
    data.join("server.json")
}

/// Reads a file of its owner only; `None` if there is none. One that others can read is refused.
pub fn read(path: &Path) -> io::Result<Option<String>> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let meta = file.metadata()?;
    if meta.mode() & 0o077 != 0 {
        let message =
            format!("{} is readable by other users; remove it, and the next start creates a new one", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some(text.trim().to_owned()))
}

/// Atomically writes a file that only its owner can read.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension(format!("new-{}", std::process::id()));
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_once_and_is_its_owners_only() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Secret::known(dir.path()).unwrap().is_none());
        let made = Secret::of(dir.path(), false).unwrap();
        assert_eq!(made.text().len(), 64);
        let path = dir.path().join(Secret::FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(Secret::of(dir.path(), false).unwrap().is(made.text()));
        assert!(!Secret::of(dir.path(), true).unwrap().is(made.text()), "another one on request");
        assert!(made.is(made.text()) && !made.is("") && !made.is(&made.text()[1..]));
        assert!(!format!("{made:?}").contains(made.text()));
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        Secret::of(dir.path(), false).unwrap();
        let path = dir.path().join(Secret::FILE);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Secret::of(dir.path(), false).is_err());
    }
}
