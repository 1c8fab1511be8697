//! What git would run or follow that is in a repository's own directory: hooks, settings, attributes, alternates.
//!
//! Without a sandbox an agent can write there. It is remembered before a turn and restored after it; what was there
//! instead is set aside and not lost. In a sandbox what is there is sealed, so only what is new is looked for. Repositories
//! inside the workspace are made inert in both cases (`inert`). Invariants: nothing outside the repository's own directory is read, written or
//! removed, so nothing behind a symbolic link; and no git is started, since that is what all this is about.

mod config;
mod inert;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{FileType, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use inert::Within;

use crate::git::{Change, ChangedFile, FilePath, is_held};
use crate::{Kind, Workspace};

/// What is larger is only compared by size and time: it cannot be restored.
const LARGEST: u64 = 256 << 10;

/// What git has while it changes the settings.
const LOCK: &str = "config.lock";

/// The display name of a repository's own directory.
const GIT: &str = ".git";

/// What there was before a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitSettings {
    /// The user's repository and the workspace's own, which may be the same.
    dirs: BTreeSet<PathBuf>,
    things: BTreeMap<PathBuf, Thing>,
    /// Restoring failed.
    #[serde(default)]
    sealed: bool,
    /// Repositories in the workspace.
    #[serde(default)]
    within: Option<Within>,
    /// Locks of settings that somebody else had.
    #[serde(default)]
    locks: BTreeSet<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Thing {
    File { content: Vec<u8>, mode: u32 },
    Link { to: PathBuf },
    Large { size: u64, modified: (i64, i64) },
}

/// A changed file that was restored, or could not be.
#[derive(Debug, Default)]
pub struct PutBack {
    pub changed: Vec<ChangedFile>,
    pub failed: Vec<(PathBuf, io::Error)>,
}

impl GitSettings {
    /// Before a turn. In a sandbox the agent reaches only the git directories that it works with.
    pub fn of(workspace: &Workspace, sandboxed: bool) -> io::Result<Self> {
        let home = &workspace.home;
        let own: BTreeSet<PathBuf> = workspace.agent_git_dirs().into_iter().collect();
        let mut dirs = own.clone();
        if !sandboxed {
            dirs.extend([home.git_dir.clone(), home.common_dir.clone()]);
        }
        let within = Within::of(&workspace.dir, own, workspace.kind == Kind::InPlace);
        Ok(Self { sealed: sandboxed, within: Some(within), ..Self::in_dirs(dirs)? })
    }

    /// The git directories of repositories that the user has inside the workspace.
    pub fn repositories_of(workspace: &Workspace) -> Vec<PathBuf> {
        let own = workspace.agent_git_dirs().into_iter().collect();
        let within = Within::of(&workspace.dir, own, workspace.kind == Kind::InPlace);
        within.users().map(Path::to_owned).collect()
    }

    fn in_dirs(dirs: BTreeSet<PathBuf>) -> io::Result<Self> {
        let mut things = BTreeMap::new();
        for dir in &dirs {
            for name in ["config", "config.worktree", "commondir", "gitdir"] {
                note(dir.join(name), &mut things)?;
            }
            note_inside(&dir.join("info"), |name| matches!(name, "attributes" | "exclude"), &mut things)?;
            note_inside(&dir.join("hooks"), |name| !name.ends_with(".sample"), &mut things)?;
            if is_real_dir(&dir.join("objects")) {
                note_inside(&dir.join("objects/info"), |name| name == "alternates", &mut things)?;
            }
        }
        let locks = dirs.iter().map(|dir| dir.join(LOCK)).filter(|lock| lock.symlink_metadata().is_ok()).collect();
        Ok(Self { dirs, things, sealed: false, within: None, locks })
    }

    /// Makes it again what it was. What is found instead goes to `aside`.
    pub fn put_back(&self, aside: &Path) -> io::Result<PutBack> {
        let now = Self::in_dirs(self.dirs.clone())?.things;
        let paths: BTreeSet<&PathBuf> = self.things.keys().chain(now.keys()).collect();
        let mut result = PutBack::default();
        for path in paths {
            // A missing repository is recreated completely or left missing.
            if !self.dirs.iter().any(|dir| path.starts_with(dir) && is_real_dir(dir)) {
                continue;
            }
            let (before, after) = (self.things.get(path), now.get(path));
            let change = match (before, after) {
                (before, after) if before == after => continue,
                // Not by the agent, unless it is a link, on which nothing can be mounted, or its directory can be moved away.
                (Some(Thing::File { .. } | Thing::Large { .. }), _) if self.sealed && !is_movable(path) => continue,
                _ if self.sealed && path.ends_with("info/exclude") => continue,
                // A file without effect is a placeholder in the view.
                (None, Some(Thing::File { content, .. })) if self.sealed && means_nothing(path, content) => continue,
                (None, _) => Change::Added,
                (Some(_), None) => Change::Deleted,
                (Some(_), Some(_)) => Change::Modified,
            };
            match set_aside(path, after, aside).and_then(|()| make(path, before)) {
                Ok(()) => result.changed.push(ChangedFile { path: self.shown(path), change, from: None }),
                Err(error) => result.failed.push((path.clone(), error)),
            }
        }
        self.unlock(aside, &mut result);
        if let Some(within) = &self.within {
            within.settle(aside, &mut result);
        }
        Ok(result)
    }

    /// Removes locks that are new and that no process has: with one, the user's git changes no setting.
    fn unlock(&self, aside: &Path, result: &mut PutBack) {
        for dir in self.dirs.iter().filter(|dir| is_real_dir(dir)) {
            let lock = dir.join(LOCK);
            let new = !self.locks.contains(&lock) && look(&lock).is_ok_and(|found| found.is_some());
            if !new || is_held(&lock, dir, dir.parent().unwrap_or(dir)) {
                continue;
            }
            let removed = look(&lock).and_then(|found| set_aside(&lock, found.as_ref(), aside));
            match removed {
                Ok(()) => {
                    let path = self.shown(&lock);
                    result.changed.push(ChangedFile { path, change: Change::Added, from: None });
                }
                Err(error) => result.failed.push((lock, error)),
            }
        }
    }

    /// As `.git/hooks/pre-commit`, whatever the directory is called.
    fn shown(&self, path: &Path) -> FilePath {
        let inner = self.dirs.iter().rev().find_map(|dir| path.strip_prefix(dir).ok());
        FilePath::new(Path::new(GIT).join(inner.unwrap_or(path)).into_os_string().into_vec())
    }
}

/// Whether the directory that a sealed file is in is not sealed itself.
fn is_movable(path: &Path) -> bool {
    path.ends_with("info/attributes") || path.ends_with("objects/info/alternates")
}

/// Whether a file changes nothing for git, which fails at an empty one that leads elsewhere.
fn means_nothing(path: &Path, content: &[u8]) -> bool {
    let leads = path.ends_with("commondir") || path.ends_with("gitdir");
    if leads { path.ends_with("commondir") && content == COMMON_DIR_ITSELF.as_bytes() } else { content.is_empty() }
}

/// What a `commondir` holds that leads to the git directory it is in.
pub const COMMON_DIR_ITSELF: &str = ".\n";

fn note(path: PathBuf, things: &mut BTreeMap<PathBuf, Thing>) -> io::Result<()> {
    if let Some(thing) = look(&path)? {
        things.insert(path, thing);
    }
    Ok(())
}

/// The relevant files of a directory; if it is a link, the link itself.
fn note_inside(dir: &Path, counts: fn(&str) -> bool, things: &mut BTreeMap<PathBuf, Thing>) -> io::Result<()> {
    if !is_real_dir(dir) {
        return note(dir.to_owned(), things);
    }
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if counts(&entry.file_name().to_string_lossy()) {
            note(entry.path(), things)?;
        }
    }
    Ok(())
}

fn is_real_dir(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn look(path: &Path) -> io::Result<Option<Thing>> {
    let found = match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let kind: FileType = found.file_type();
    Ok(if kind.is_symlink() {
        Some(Thing::Link { to: std::fs::read_link(path)? })
    } else if !kind.is_file() {
        // Git runs and reads none of these.
        None
    } else if found.len() > LARGEST {
        Some(large(&found))
    } else {
        let mut content = Vec::new();
        std::fs::File::open(path)?.take(LARGEST).read_to_end(&mut content)?;
        Some(Thing::File { content, mode: found.permissions().mode() & 0o7777 })
    })
}

fn large(found: &Metadata) -> Thing {
    Thing::Large { size: found.len(), modified: (found.mtime(), found.mtime_nsec()) }
}

/// A user may have made it: it is kept, under a name that is free.
fn set_aside(path: &Path, thing: Option<&Thing>, aside: &Path) -> io::Result<()> {
    let Some(thing) = thing else { return Ok(()) };
    let kept = place_for(aside, path.file_name().unwrap_or_default())?;
    match thing {
        Thing::Link { to } => std::fs::write(&kept, format!("a link to {}\n", to.display()))?,
        Thing::File { .. } | Thing::Large { .. } => std::fs::copy(path, &kept).map(drop)?,
    }
    std::fs::remove_file(path)
}

/// Saves this with the other set-aside files.
fn keep(aside: &Path, name: &OsStr, content: &[u8]) -> io::Result<()> {
    std::fs::write(place_for(aside, name)?, content)
}

/// A name that is free there.
fn place_for(aside: &Path, name: &OsStr) -> io::Result<PathBuf> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(aside)?;
    let name = name.to_string_lossy();
    let free = (0_u32..).map(|number| aside.join(format!("{number}-{name}"))).find(|kept| !kept.exists());
    Ok(free.unwrap_or_else(|| aside.join(&*name)))
}

fn make(path: &Path, thing: Option<&Thing>) -> io::Result<()> {
    if let (Some(parent), true) = (path.parent(), thing.is_some()) {
        std::fs::create_dir_all(parent)?;
    }
    match thing {
        None => Ok(()),
        Some(Thing::Link { to }) => std::os::unix::fs::symlink(to, path),
        Some(Thing::File { content, mode }) => {
            // In one step, since the user's own git reads it too.
            let new = path.with_added_extension("windlass");
            let mut file =
                std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(*mode).open(&new)?;
            file.write_all(content)?;
            file.set_permissions(PermissionsExt::from_mode(*mode))?;
            std::fs::rename(&new, path)
        }
        Some(Thing::Large { .. }) => Err(io::Error::other("too large to record")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new() -> Self {
            let made = Self(tempfile::tempdir().unwrap());
            for dir in [".git/hooks", ".git/info", ".git/objects/info"] {
                std::fs::create_dir_all(made.at(dir)).unwrap();
            }
            made.write(".git/config", "[core]\n");
            made.write(".git/hooks/pre-push", "mine");
            made.write(".git/hooks/pre-commit.sample", "never runs");
            made
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            std::fs::write(self.at(path), text).unwrap();
        }

        fn read(&self, path: &str) -> String {
            std::fs::read_to_string(self.at(path)).unwrap_or_default()
        }

        fn settings(&self) -> GitSettings {
            GitSettings::in_dirs([self.at(".git")].into()).unwrap()
        }

        /// What was restored of what `change` does.
        fn after(&self, change: impl FnOnce()) -> Vec<String> {
            let before = self.settings();
            change();
            let done = before.put_back(&self.at("aside")).unwrap();
            assert!(done.failed.is_empty(), "{:?}", done.failed);
            assert_eq!(self.settings(), before, "all is as it was");
            done.changed.iter().map(|file| format!("{:?} {}", file.change, file.path)).collect()
        }
    }

    #[test]
    fn lock_that_is_left_behind_goes_and_one_that_was_there_or_is_held_stays() {
        let repository = Repository::new();
        assert_eq!(repository.after(|| repository.write(".git/config.lock", "")), ["Added .git/config.lock"]);
        repository.write(".git/config.lock", "");
        assert!(repository.after(|| repository.write(".git/config.lock", "more")).is_empty());
        std::fs::remove_file(repository.at(".git/config.lock")).unwrap();
        let before = repository.settings();
        let lock = std::fs::File::create(repository.at(".git/config.lock")).unwrap();
        let mut holder =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).stdout(lock).spawn().unwrap();
        let done = before.put_back(&repository.at("aside")).unwrap();
        drop(holder.stdin.take());
        holder.wait().unwrap();
        assert!(done.changed.is_empty() && repository.at(".git/config.lock").exists(), "{done:?}");
    }

    #[test]
    fn what_was_planted_goes_and_what_was_changed_comes_back() {
        let repository = Repository::new();
        std::fs::set_permissions(repository.at(".git/hooks/pre-push"), PermissionsExt::from_mode(0o755)).unwrap();
        let changed = repository.after(|| {
            repository.write(".git/config", "[core]\n\thooksPath = /tmp/evil\n");
            repository.write(".git/hooks/post-commit", "evil");
            std::fs::remove_file(repository.at(".git/hooks/pre-push")).unwrap();
            repository.write(".git/info/attributes", "* filter=evil\n");
            repository.write(".git/objects/info/alternates", "/tmp/evil\n");
            repository.write(".git/hooks/pre-commit.sample", "still never runs");
        });
        let said = [
            "Modified .git/config",
            "Added .git/hooks/post-commit",
            "Deleted .git/hooks/pre-push",
            "Added .git/info/attributes",
            "Added .git/objects/info/alternates",
        ];
        assert_eq!(changed, said);
        let kept: String = ["0-config", "0-post-commit"].map(|name| repository.read(&format!("aside/{name}"))).concat();
        assert!(kept.contains("hooksPath = /tmp/evil") && kept.ends_with("evil"), "{kept}");
        assert_eq!(repository.after(|| {}), Vec::<String>::new());
    }

    #[test]
    fn in_a_sandbox_what_could_be_moved_or_replaced_comes_back_and_the_rest_is_the_users() {
        let repository = Repository::new();
        std::fs::remove_dir_all(repository.at(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("../githooks", repository.at(".git/hooks")).unwrap();
        repository.write(".git/info/attributes", "* text\n");
        repository.write(".git/objects/info/alternates", "/mine\n");
        let before = GitSettings { sealed: true, ..repository.settings() };
        repository.write(".git/info/attributes", "* filter=evil\n");
        std::fs::remove_file(repository.at(".git/objects/info/alternates")).unwrap();
        std::fs::remove_file(repository.at(".git/hooks")).unwrap();
        std::os::unix::fs::symlink("../evil", repository.at(".git/hooks")).unwrap();
        repository.write(".git/config", "[core]\n\tbare = false\n");
        let done = before.put_back(&repository.at("aside")).unwrap();
        let mut changed: Vec<String> = done.changed.iter().map(|file| file.path.to_string()).collect();
        changed.sort();
        assert_eq!(changed, [".git/hooks", ".git/info/attributes", ".git/objects/info/alternates"]);
        assert_eq!(std::fs::read_link(repository.at(".git/hooks")).unwrap(), Path::new("../githooks"));
        assert_eq!(repository.read(".git/info/attributes"), "* text\n");
        assert_eq!(repository.read(".git/objects/info/alternates"), "/mine\n");
        assert_eq!(repository.read(".git/config"), "[core]\n\tbare = false\n", "nobody but the user could write it");
    }

    #[test]
    fn what_lies_behind_a_link_is_left_alone() {
        let repository = Repository::new();
        std::fs::create_dir(repository.at("elsewhere")).unwrap();
        repository.write("elsewhere/precious", "a file of somebody else's");
        let changed = repository.after(|| {
            std::fs::remove_dir_all(repository.at(".git/hooks")).unwrap();
            std::os::unix::fs::symlink(repository.at("elsewhere"), repository.at(".git/hooks")).unwrap();
            std::fs::remove_dir_all(repository.at(".git/info")).unwrap();
            std::os::unix::fs::symlink(repository.at("elsewhere"), repository.at(".git/info")).unwrap();
        });
        assert_eq!(changed, ["Added .git/hooks", "Deleted .git/hooks/pre-push", "Added .git/info"]);
        assert_eq!(repository.read("elsewhere/precious"), "a file of somebody else's");
        assert_eq!(std::fs::read_dir(repository.at("elsewhere")).unwrap().count(), 1);
    }

    #[test]
    fn what_is_too_large_to_be_remembered_is_said_to_be_changed() {
        let repository = Repository::new();
        let large = "x".repeat(LARGEST as usize + 1);
        repository.write(".git/hooks/pre-push", &large);
        let before = repository.settings();
        repository.write(".git/hooks/pre-push", &format!("{large}x"));
        let done = before.put_back(&repository.at("aside")).unwrap();
        assert_eq!((done.changed.len(), done.failed.len()), (0, 1));
        assert_eq!(repository.read(".git/hooks/pre-push"), "", "it does not run either");
    }
}
