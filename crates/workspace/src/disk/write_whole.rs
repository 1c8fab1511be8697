//! Files that are there whole or as they were before.

use std::io;
use std::path::Path;

/// Replaces a file. A process that is killed meanwhile leaves the old one: git takes a directory whose `HEAD` is empty for
/// no repository.
pub(crate) fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    // A link that somebody put there is not followed.
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    std::fs::write(&new, content)?;
    std::fs::rename(&new, path)
}
