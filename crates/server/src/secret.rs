//! The token that opens the API, and the file by which other commands find the server.
//!
//! Invariant: both files are their owner's only from the moment they exist.

use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq;

/// What whoever knows it may do everything with. It is compared by `is` alone: no other way takes the same time always.
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

    /// The token of a data directory, made when there is none; `true` if it was made now.
    pub fn of(data: &Path) -> io::Result<(Self, bool)> {
        let path = data.join(Self::FILE);
        match read(&path)? {
            Some(text) if text.len() >= 32 => Ok((Self(text), false)),
            Some(_) | None => {
                let mut bytes = [0; 32];
                SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("no random numbers"))?;
                let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                write(&path, &text)?;
                Ok((Self(text), true))
            }
        }
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

/// Tells two texts apart without keeping them.
pub fn fingerprint(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Where a running server says its address.
pub fn server_file(data: &Path) -> PathBuf {
    data.join("server.json")
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let meta = file.metadata()?;
    if meta.mode() & 0o077 != 0 {
        let message =
            format!("{} can be read by others: remove it, and a new one is made at the next start", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some(text.trim().to_owned()))
}

/// Writes a file for its owner only, whole or not at all.
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
        let (made, new) = Secret::of(dir.path()).unwrap();
        assert!(new && made.text().len() == 64);
        let path = dir.path().join(Secret::FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let (again, new) = Secret::of(dir.path()).unwrap();
        assert!(!new && again.is(made.text()));
        assert!(made.is(made.text()) && !made.is("") && !made.is(&made.text()[1..]));
        assert!(!format!("{made:?}").contains(made.text()));
    }

    #[test]
    fn a_token_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        Secret::of(dir.path()).unwrap();
        let path = dir.path().join(Secret::FILE);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Secret::of(dir.path()).is_err());
    }
}
