//! Refs of the user's repository that moved during a turn.
//!
//! They are read from git's files, without starting git, and never written: moves are reported with the old value. Ref storages
//! other than files report nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::refs::{HeadFile, head_file, is_id, packed_refs};
use crate::Workspace;

/// A repository with more is not checked.
const MOST_REFS: usize = 50_000;

/// The refs of the user's repository at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefsSeen {
    git_dir: PathBuf,
    common_dir: PathBuf,
    /// The loop's own, which Windlass moves.
    own: String,
    refs: BTreeMap<String, String>,
}

/// A ref that moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedRef {
    pub name: String,
    /// Its old value; none if it is new.
    pub from: Option<String>,
    /// Its new value; none if it was deleted.
    pub to: Option<String>,
}

impl MovedRef {
    /// In words, such as `refs/heads/main was 1a2b…, is 7a8b…`, with whole ids: the old one brings it back.
    pub fn words(&self) -> String {
        let said = match (&self.from, &self.to) {
            (Some(from), Some(to)) => format!("{} was {from}, is {to}", self.name),
            (Some(from), None) => format!("{} was {from}, deleted", self.name),
            (None, to) => format!("{} is new, at {}", self.name, to.as_deref().unwrap_or_default()),
        };
        if self.name.starts_with("refs/remotes/") { said + " (a push or a fetch)" } else { said }
    }
}

impl RefsSeen {
    pub fn of(workspace: &Workspace) -> Option<Self> {
        let home = &workspace.home;
        Self::read(home.git_dir.clone(), home.common_dir.clone(), workspace.branch_ref())
    }

    fn read(git_dir: PathBuf, common_dir: PathBuf, own: String) -> Option<Self> {
        if common_dir.join("reftable").is_dir() {
            return None;
        }
        let packed = std::fs::read(common_dir.join("packed-refs")).unwrap_or_default();
        let mut refs: BTreeMap<String, String> = packed_refs(&packed).collect();
        loose(&common_dir, &mut refs);
        refs.retain(|name, _| *name != own);
        match head_file(&git_dir) {
            HeadFile::Ref(name) => refs.insert("HEAD".to_owned(), name),
            HeadFile::Commit(commit) => refs.insert("HEAD".to_owned(), commit),
            HeadFile::Unknown => None,
        };
        (refs.len() <= MOST_REFS).then_some(Self { git_dir, common_dir, own, refs })
    }

    /// What is elsewhere now, without what other loops may have moved.
    pub fn moved(&self) -> Vec<MovedRef> {
        let moved = self.moved_by_anybody().into_iter();
        moved.filter(|one| !is_of_windlass(&one.name)).collect()
    }

    /// What is elsewhere now.
    pub fn moved_by_anybody(&self) -> Vec<MovedRef> {
        let now = Self::read(self.git_dir.clone(), self.common_dir.clone(), self.own.clone());
        let Some(now) = now else { return Vec::new() };
        let names: BTreeSet<&String> = self.refs.keys().chain(now.refs.keys()).collect();
        let moved = names.into_iter().map(|name| MovedRef {
            name: name.clone(),
            from: self.refs.get(name).cloned(),
            to: now.refs.get(name).cloned(),
        });
        moved.filter(|one| one.from != one.to).collect()
    }
}

/// Other loops move their branches at any time.
fn is_of_windlass(name: &str) -> bool {
    name.starts_with("refs/windlass/") || name.starts_with("refs/heads/windlass/")
}

fn loose(common_dir: &Path, refs: &mut BTreeMap<String, String>) {
    let mut pending = vec![PathBuf::from("refs")];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(common_dir.join(&dir)).into_iter().flatten().flatten() {
            let path = dir.join(entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && refs.len() <= MOST_REFS {
                pending.push(path);
            } else if kind.is_file()
                && let Some(name) = path.to_str()
                && let Ok(text) = std::fs::read_to_string(common_dir.join(&path))
                && is_id(text.trim())
            {
                refs.insert(name.to_owned(), text.trim().to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_that_moved_came_or_went_are_told_with_their_old_values() {
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = ["1", "2"].map(|digit| digit.repeat(40));
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("HEAD", "ref: refs/heads/main\n");
        put("packed-refs", &format!("# pack-refs\n{one} refs/heads/main\n{one} refs/tags/v1\n"));
        put("refs/remotes/origin/main", &one);
        let seen = || {
            let dir = dir.path().to_owned();
            RefsSeen::read(dir.clone(), dir, "refs/heads/mine".to_owned()).unwrap()
        };
        let before = seen();
        assert_eq!(before.moved(), []);
        put("refs/heads/main", &two);
        put("refs/remotes/origin/main", &two);
        put("refs/stash", &two);
        put("packed-refs", &format!("{one} refs/heads/main\n"));
        put("HEAD", &two);
        for own in ["refs/heads/mine", "refs/heads/windlass/other", "refs/windlass/x/base/commit"] {
            put(own, &two);
        }
        let moved = |name: &str, from: Option<&str>, to: Option<&str>| MovedRef {
            name: name.to_owned(),
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
        };
        let expected = [
            moved("HEAD", Some("refs/heads/main"), Some(&two)),
            moved("refs/heads/main", Some(&one), Some(&two)),
            moved("refs/remotes/origin/main", Some(&one), Some(&two)),
            moved("refs/stash", None, Some(&two)),
            moved("refs/tags/v1", Some(&one), None),
        ];
        assert_eq!(before.moved(), expected);
        let others =
            ["refs/heads/windlass/other", "refs/windlass/x/base/commit"].map(|name| moved(name, None, Some(&two)));
        let all = before.moved_by_anybody();
        assert!(
            others.iter().all(|other| all.contains(other)) && all.len() == expected.len() + others.len(),
            "{all:?}"
        );
    }
}
