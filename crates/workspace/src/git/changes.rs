//! Changed files, whatever their names.
//!
//! Invariant: a path is the bytes git stored. It becomes text only for display or JSON, and that text can be turned
//! back into the same bytes.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::GitError;
use super::index::Index;

/// A path inside the repository, as bytes: file names need not be UTF-8 and may contain newlines.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Vec<u8>);

impl FilePath {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path below `dir`.
    #[cfg(unix)]
    pub fn below(&self, dir: &std::path::Path) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        dir.join(std::ffi::OsStr::from_bytes(&self.0))
    }

    /// The path below `dir`.
    #[cfg(not(unix))]
    pub fn below(&self, dir: &std::path::Path) -> PathBuf {
        dir.join(String::from_utf8_lossy(&self.0).as_ref())
    }

    /// A glob that matches only this path. A byte that is not valid text matches any byte.
    pub fn as_glob(&self) -> String {
        let mut glob = String::with_capacity(self.0.len());
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                if matches!(character, '*' | '?' | '[' | '\\') {
                    glob.push('\\');
                }
                glob.push(character);
            }
            glob.extend(chunk.invalid().iter().map(|_| '?'));
        }
        glob
    }

    fn unescape(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            match (first, after) {
                (b'\\', [b'\\', after @ ..]) => {
                    bytes.push(b'\\');
                    rest = after;
                }
                (b'\\', [b'x', high, low, after @ ..]) => {
                    let digits = [*high, *low];
                    bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
                    rest = after;
                }
                (b'\\', _) => return None,
                (byte, after) => {
                    bytes.push(byte);
                    rest = after;
                }
            }
        }
        Some(Self(bytes))
    }
}

/// UTF-8 as it is; a byte that is not UTF-8 as `\xNN`, control characters too, a backslash doubled.
impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for chunk in self.0.utf8_chunks() {
            for character in chunk.valid().chars() {
                match character {
                    '\\' => f.write_str("\\\\")?,
                    character if character.is_ascii_control() => write!(f, "\\x{:02x}", u32::from(character))?,
                    character => f.write_char(character)?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePath({self})")
    }
}

impl From<&str> for FilePath {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl Serialize for FilePath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::unescape(&text).ok_or_else(|| serde::de::Error::custom("a stray backslash in a path"))
    }
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Added,
    /// Content or permission.
    Modified,
    Deleted,
    /// Also when the content changed a little; `from` has the old name.
    Renamed,
    /// A file became a symbolic link or a nested repository, or the other way round.
    TypeChanged,
}

impl Change {
    /// The word used in JSON and for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
            Self::TypeChanged => "type_changed",
        }
    }
}

/// One file that differs between two states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: FilePath,
    pub change: Change,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FilePath>,
}

/// Parses the output of `diff-tree`/`diff-index` with `--raw -z`.
pub(crate) fn parse_raw(command: &str, output: &[u8]) -> Result<Vec<ChangedFile>, GitError> {
    let unexpected = || GitError::unexpected(command, output);
    let mut fields = output.split(|&byte| byte == 0);
    let mut files = Vec::new();
    while let Some(header) = fields.next() {
        if header.is_empty() {
            continue;
        }
        let letter = header.strip_prefix(b":").and_then(|header| header.split(|&byte| byte == b' ').nth(4));
        let letter = letter.and_then(<[u8]>::first).ok_or_else(unexpected)?;
        let first = FilePath::new(fields.next().ok_or_else(unexpected)?);
        let (path, change, from) = match letter {
            b'A' => (first, Change::Added, None),
            b'M' | b'U' => (first, Change::Modified, None),
            b'D' => (first, Change::Deleted, None),
            b'T' => (first, Change::TypeChanged, None),
            b'R' => {
                let path = FilePath::new(fields.next().ok_or_else(unexpected)?);
                (path, Change::Renamed, Some(first))
            }
            _ => return Err(unexpected()),
        };
        files.push(ChangedFile { path, change, from });
    }
    Ok(files)
}

/// What differs between two indexes. Renames show as a deletion and an addition: finding them needs the contents.
pub(crate) fn between(before: &Index, after: &Index) -> Vec<ChangedFile> {
    let mut files = Vec::new();
    let mut old = before.entries.iter().peekable();
    let mut new = after.entries.iter().peekable();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return files,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.path.cmp(&new.path),
        };
        let (entry, change) = match order {
            std::cmp::Ordering::Less => (old.next(), Some(Change::Deleted)),
            std::cmp::Ordering::Greater => (new.next(), Some(Change::Added)),
            std::cmp::Ordering::Equal => {
                let (old, new) = (old.next(), new.next());
                let change = old.zip(new).and_then(|(old, new)| {
                    if old.file_type() != new.file_type() {
                        Some(Change::TypeChanged)
                    } else if old.id != new.id || old.mode != new.mode || old.stage != new.stage {
                        Some(Change::Modified)
                    } else {
                        None
                    }
                });
                (new, change)
            }
        };
        if let (Some(entry), Some(change)) = (entry, change) {
            files.push(ChangedFile { path: FilePath::new(entry.path.clone()), change, from: None });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_json_and_back() {
        for name in [&b"plain.rs"[..], b"a\nb", b"\xff\xfe", "ä b".as_bytes(), b"back\\slash", b"\\xff", b"tab\t\x7f"]
        {
            let path = FilePath::new(name);
            let json = serde_json::to_string(&path).expect("json");
            let back: FilePath = serde_json::from_str(&json).expect("back");
            assert_eq!(back.as_bytes(), name, "{json}");
        }
        assert_eq!(serde_json::to_string(&FilePath::new(&b"a\xff"[..])).expect("json"), r#""a\\xff""#);
    }

    #[test]
    // promise: work-7
    fn raw_output_is_read_with_renames_and_newlines() {
        let output = b":100644 100644 1 2 M\0a\nb\0:100644 100644 1 1 R100\0old\0new\0:100644 000000 1 0 D\0gone\0:100644 120000 1 2 T\0l\0";
        let files = parse_raw("diff-tree", output).expect("parses");
        let seen: Vec<_> = files.iter().map(|file| (file.path.to_string(), file.change)).collect();
        assert_eq!(
            seen,
            [
                ("a\\x0ab".to_owned(), Change::Modified),
                ("new".to_owned(), Change::Renamed),
                ("gone".to_owned(), Change::Deleted),
                ("l".to_owned(), Change::TypeChanged),
            ]
        );
        assert_eq!(files[1].from, Some(FilePath::from("old")));
        assert!(parse_raw("diff-tree", b"nonsense\0").is_err());
    }
}
