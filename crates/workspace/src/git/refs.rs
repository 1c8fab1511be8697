//! Reads HEAD and branches from git's files, without starting git.
//!
//! Invariant: if the files do not show it (another ref storage, a symbolic branch), the answer is "unknown" and the
//! caller asks git. Refs are only ever written by git, but for the branch of a loop (`checkpoint::commit`).

use std::path::Path;

/// The content of the HEAD file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadFile {
    /// The full name of the ref, such as `refs/heads/main`.
    Ref(String),
    Commit(String),
    Unknown,
}

pub(crate) fn head_file(git_dir: &Path) -> HeadFile {
    let Ok(text) = std::fs::read_to_string(git_dir.join("HEAD")) else {
        return HeadFile::Unknown;
    };
    let text = text.trim();
    match text.strip_prefix("ref:").map(str::trim) {
        // Written there by a ref storage that keeps HEAD elsewhere.
        Some("refs/heads/.invalid") => HeadFile::Unknown,
        Some(name) => HeadFile::Ref(name.to_owned()),
        None if is_id(text) => HeadFile::Commit(text.to_owned()),
        None => HeadFile::Unknown,
    }
}

/// HEAD of the repository at `git_dir`, and its commit if the files show it.
pub(crate) fn head_of(git_dir: &Path) -> (HeadFile, Option<String>) {
    let head = head_file(git_dir);
    let commit = match &head {
        HeadFile::Ref(name) => {
            let common = std::fs::read_to_string(git_dir.join("commondir"));
            let common_dir = common.map_or_else(|_| git_dir.to_owned(), |text| git_dir.join(text.trim()));
            match ref_file(&common_dir, name) {
                RefFile::Id(id) => Some(id),
                RefFile::Absent | RefFile::Unknown => None,
            }
        }
        HeadFile::Commit(commit) => Some(commit.clone()),
        HeadFile::Unknown => None,
    };
    (head, commit)
}

/// The ID of a ref from its loose file or `packed-refs`.
pub(crate) enum RefFile {
    Id(String),
    Absent,
    Unknown,
}

pub(crate) fn ref_file(common_dir: &Path, name: &str) -> RefFile {
    if common_dir.join("reftable").is_dir() {
        return RefFile::Unknown;
    }
    match std::fs::read_to_string(common_dir.join(name)) {
        Ok(text) if is_id(text.trim()) => return RefFile::Id(text.trim().to_owned()),
        Ok(_) => return RefFile::Unknown,
        Err(error) if absent(&error) => {}
        Err(_) => return RefFile::Unknown,
    }
    match std::fs::read(common_dir.join("packed-refs")) {
        Ok(packed) => packed_id(&packed, name).map_or(RefFile::Absent, RefFile::Id),
        Err(error) if absent(&error) => RefFile::Absent,
        Err(_) => RefFile::Unknown,
    }
}

/// A directory in the place of the ref means that only longer names exist.
fn absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | IsADirectory | NotADirectory)
}

fn packed_id(packed: &[u8], name: &str) -> Option<String> {
    packed_refs(packed).find_map(|(packed, id)| (packed == name).then_some(id))
}

/// Names and ids in the content of a `packed-refs` file.
pub(crate) fn packed_refs(packed: &[u8]) -> impl Iterator<Item = (String, String)> + '_ {
    packed.split(|&byte| byte == b'\n').filter_map(|line| {
        let (id, name) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        is_id(id).then(|| (name.to_owned(), id.to_owned()))
    })
}

pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_refs_are_found_by_whole_name() {
        let packed = b"# pack-refs with: peeled fully-peeled sorted \n\
            1111111111111111111111111111111111111111 refs/heads/main\n\
            2222222222222222222222222222222222222222 refs/heads/main2\n^3333333333333333333333333333333333333333\n";
        assert_eq!(packed_id(packed, "refs/heads/main").as_deref(), Some("1111111111111111111111111111111111111111"));
        assert_eq!(packed_id(packed, "refs/heads/ma"), None);
    }
}
