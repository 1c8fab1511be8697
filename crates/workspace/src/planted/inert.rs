//! Repositories inside a workspace: submodules, worktrees, and whatever else an agent made there.
//!
//! A user who enters the workspace, or has a prompt that asks git for the branch, starts git in them. So after a turn they
//! are made inert: settings that run something are taken out, hooks and other ways to lead git elsewhere are renamed. Those
//! that were in the user's checkout before are the user's: they are restored to what they were. Invariants: nothing is
//! followed out of the workspace; nothing is lost; a file that could be committed is never left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::config::{NONE, harmless};
use super::{GIT, PutBack, keep};
use crate::agent_git::beneath::{Beneath, Found};
use crate::agent_git::without_dots;
use crate::disk::still_wanted;
use crate::git::{Change, ChangedFile, FilePath};

/// Git's settings are small.
const LARGEST: u64 = 256 << 10;
/// Maximum number of names to check; more are reported.
const MOST_NAMES: usize = 2_000_000;
/// Maximum depth: no path that git can name is deeper, and it enters every submodule by itself.
const DEEPEST: usize = 2_048;

/// Names in a git directory that point git to other settings.
const LEADERS: [&str; 2] = ["commondir", "config.worktree"];

/// Where the repositories of a workspace can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Within {
    /// The top of the workspace.
    tree: PathBuf,
    /// The git directories of the workspace itself.
    own: BTreeSet<PathBuf>,
    /// Git directories that are the user's, as they were.
    users: BTreeMap<PathBuf, Users>,
    /// The user's `.git` files and links, with their content.
    pointers: BTreeMap<PathBuf, Option<Vec<u8>>>,
}

/// What git would follow of a repository of the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Users {
    config: Option<Vec<u8>>,
    /// Hooks and what points to other settings, by size and time of change.
    others: BTreeMap<String, Stamp>,
}

type Stamp = Option<(u64, i64, i64)>;

/// What a walk finds, by whole paths.
#[derive(Debug, Default)]
struct Repositories {
    git_dirs: BTreeSet<PathBuf>,
    /// Entries of `worktrees`, which use the settings of their repository.
    worktrees: BTreeSet<PathBuf>,
    /// `.git` files.
    pointers: BTreeSet<PathBuf>,
    /// What is called `.git` and is neither a file nor a directory.
    strays: BTreeSet<PathBuf>,
    seen: usize,
}

impl Within {
    /// Repositories in a loop's clone belong to the agent; those in the user's checkout belong to the user.
    pub(super) fn of(tree: &Path, own: BTreeSet<PathBuf>, in_place: bool) -> Self {
        let mut within = Self { tree: tree.to_owned(), own, users: BTreeMap::new(), pointers: BTreeMap::new() };
        if in_place {
            let found = within.find();
            for path in found.git_dirs.iter().chain(&found.worktrees) {
                within.users.insert(path.clone(), Users::of(path));
            }
            for path in found.pointers.iter().chain(&found.strays) {
                within.pointers.insert(path.clone(), within.said(path));
            }
        }
        within
    }

    /// The git directories that the user has there.
    pub(super) fn users(&self) -> impl Iterator<Item = &Path> {
        self.users.keys().map(PathBuf::as_path)
    }

    /// Makes all of them inert, but for the user's, which are restored.
    pub(super) fn settle(&self, aside: &Path, result: &mut PutBack) {
        let found = self.find();
        if found.seen >= MOST_NAMES {
            result.failed.push((
                self.tree.clone(),
                io::Error::other("not all of its files were looked at: there are too many, or the loop was stopped"),
            ));
        }
        for path in found.git_dirs.iter().chain(&found.worktrees) {
            let (users, linked) = (self.users.get(path), found.worktrees.contains(path));
            match self.settle_one(path, users, linked, aside) {
                Ok(changed) => {
                    result.changed.extend(changed.iter().map(|(name, change)| self.changed(&path.join(name), *change)))
                }
                Err(error) => result.failed.push((path.clone(), error)),
            }
        }
        for path in found.pointers.iter().chain(&found.strays) {
            let users = self.pointers.get(path);
            let fine = match users {
                Some(before) => self.said(path) == *before,
                None => found.pointers.contains(path) && self.leads_inside(path, &found),
            };
            if fine {
                continue;
            }
            match self.replace(path, users.cloned().flatten(), aside) {
                Ok(()) => result.changed.push(self.changed(path, Change::Modified)),
                Err(error) => result.failed.push((path.clone(), error)),
            }
        }
    }

    fn settle_one(
        &self,
        path: &Path,
        users: Option<&Users>,
        linked: bool,
        aside: &Path,
    ) -> io::Result<Vec<(String, Change)>> {
        let files = Beneath::unlocked(path)?;
        if files.look(Path::new("hooks"))? == Found::Dir {
            Beneath::unlocked(&path.join("hooks"))?;
        }
        let mut changed = Vec::new();
        let now = files.read(Path::new("config"), LARGEST);
        let wanted = match (users, &now) {
            (Some(before), Ok(now)) if *now == before.config => None,
            (Some(before), _) => Some(before.config.clone()),
            (None, Ok(None)) => None,
            (None, Ok(Some(text))) => match std::str::from_utf8(text) {
                Ok(text) => harmless(text, |tree| self.holds(&path.join(tree))).map(|kept| Some(kept.into_bytes())),
                Err(_) => Some(Some(NONE.into())),
            },
            (None, Err(_)) => Some(Some(NONE.into())),
        };
        if let Some(wanted) = wanted {
            set_settings(&files, now.ok().flatten(), wanted.as_deref(), aside)?;
            changed.push(("config".to_owned(), Change::Modified));
        }
        for (name, stamp) in others(&files)? {
            let before = users.and_then(|users| users.others.get(&name));
            let home =
                linked && name == "commondir" && files.read(Path::new(&name), 64)?.as_deref() == Some(b"../..\n");
            if before != Some(&stamp) && !home {
                rename_aside(&files, Path::new(&name))?;
                changed.push((name, if before.is_some() { Change::Modified } else { Change::Added }));
            }
        }
        Ok(changed)
    }

    /// The content of a `.git` that is not a directory; empty for a link.
    fn said(&self, path: &Path) -> Option<Vec<u8>> {
        let below = path.strip_prefix(&self.tree).ok()?;
        Beneath::open(&self.tree).and_then(|tree| tree.read(below, LARGEST)).ok().flatten()
    }

    /// Restores a user's `.git` that is not a directory, or removes another one and saves its content.
    fn replace(&self, path: &Path, wanted: Option<Vec<u8>>, aside: &Path) -> io::Result<()> {
        let tree = Beneath::open(&self.tree)?;
        let below = path.strip_prefix(&self.tree).map_err(|_| io::ErrorKind::InvalidInput)?;
        let link = || std::fs::read_link(path).map(|to| format!("a link to {}\n", to.display()).into_bytes());
        keep(aside, OsStr::new("git"), &self.said(path).or_else(|| link().ok()).unwrap_or_default())?;
        match wanted {
            Some(wanted) => tree.write(below, &wanted, None),
            None => tree.remove_file(below),
        }
    }

    fn changed(&self, path: &Path, change: Change) -> ChangedFile {
        let shown = match path.strip_prefix(&self.tree) {
            Ok(below) => below.to_owned(),
            Err(_) => {
                let own = self.own.iter().find_map(|own| path.strip_prefix(own).ok());
                Path::new(GIT).join(own.unwrap_or(path))
            }
        };
        ChangedFile { path: FilePath::new(shown.as_os_str().as_bytes()), change, from: None }
    }

    fn holds(&self, path: &Path) -> bool {
        without_dots(path).is_some_and(|plain| plain.starts_with(&self.tree))
    }

    /// Whether a `.git` file points to a git directory that was found, or to the workspace's own.
    fn leads_inside(&self, pointer: &Path, found: &Repositories) -> bool {
        let (Some(dir), Some(name)) = (pointer.parent(), pointer.file_name()) else { return false };
        let text = Beneath::open(dir).and_then(|dir| dir.read(Path::new(name), 4096)).ok().flatten();
        let text = text.and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
        let Some(named) = text.strip_prefix("gitdir:").map(str::trim) else { return false };
        let led = without_dots(&dir.join(named));
        led.is_some_and(|led| [&found.git_dirs, &found.worktrees, &self.own].iter().any(|all| all.contains(&led)))
    }

    fn find(&self) -> Repositories {
        let mut found = Repositories::default();
        found.walk_tree(&self.tree, &self.own);
        for own in &self.own {
            found.walk_modules(&own.join("modules"));
            found.add_worktrees(&own.join("worktrees"), &self.own);
        }
        found
    }
}

impl Repositories {
    /// Looks for everything that is called `.git` below the top.
    fn walk_tree(&mut self, tree: &Path, own: &BTreeSet<PathBuf>) {
        let Ok(top) = Beneath::open(tree) else { return };
        let mut pending = vec![(PathBuf::new(), 0)];
        while let Some((dir, depth)) = pending.pop() {
            let names = top.typed(&dir).or_else(|_| Beneath::unlocked(&tree.join(&dir))?.typed(Path::new("")));
            for (name, kind) in names.unwrap_or_default() {
                self.seen += 1;
                if still_wanted().is_err() {
                    self.seen = MOST_NAMES;
                }
                if self.seen >= MOST_NAMES {
                    return;
                }
                let path = dir.join(&name);
                let whole = tree.join(&path);
                match (name.eq_ignore_ascii_case(GIT), kind) {
                    (true, _) if depth == 0 || own.contains(&whole) => {}
                    (true, Found::Dir) => self.add_git_dir(whole),
                    (true, Found::File { .. }) => drop(self.pointers.insert(whole)),
                    (true, Found::Link | Found::Special) => drop(self.strays.insert(whole)),
                    (false, Found::Dir) if depth < DEEPEST => pending.push((path, depth + 1)),
                    (true, Found::Nothing) | (false, _) => {}
                }
            }
        }
    }

    fn add_git_dir(&mut self, path: PathBuf) {
        self.walk_modules(&path.join("modules"));
        self.add_worktrees(&path.join("worktrees"), &BTreeSet::new());
        self.git_dirs.insert(path);
    }

    /// The git directories of submodules, whose names may have several parts.
    fn walk_modules(&mut self, modules: &Path) {
        let mut pending = vec![(modules.to_owned(), 0)];
        while let Some((dir, depth)) = pending.pop() {
            let Ok(names) = Beneath::unlocked(&dir).and_then(|dir| dir.typed(Path::new(""))) else { continue };
            self.seen += names.len();
            let is_git_dir = depth > 0 && names.iter().any(|(name, _)| name == "HEAD" || name == "config");
            if is_git_dir {
                self.git_dirs.insert(dir.clone());
            }
            for (name, kind) in names {
                let inner = !is_git_dir || name == "modules";
                if kind == Found::Dir && inner && depth < DEEPEST && self.seen < MOST_NAMES {
                    pending.push((dir.join(name), depth + 1));
                }
            }
        }
    }

    fn add_worktrees(&mut self, worktrees: &Path, own: &BTreeSet<PathBuf>) {
        let names = Beneath::unlocked(worktrees).and_then(|dir| dir.typed(Path::new(""))).unwrap_or_default();
        let dirs = names.into_iter().filter(|(_, kind)| *kind == Found::Dir).map(|(name, _)| worktrees.join(name));
        self.worktrees.extend(dirs.filter(|dir| !own.contains(dir)));
    }
}

impl Users {
    fn of(path: &Path) -> Self {
        let Ok(files) = Beneath::open(path) else { return Self::default() };
        let config = files.read(Path::new("config"), LARGEST).ok().flatten();
        Self { config, others: others(&files).unwrap_or_default().into_iter().collect() }
    }
}

/// The hooks of a git directory, and what points to other settings; a link has no stamp.
fn others(files: &Beneath) -> io::Result<Vec<(String, Stamp)>> {
    let mut names: Vec<String> = Vec::new();
    for name in LEADERS {
        if files.look(Path::new(name))? != Found::Nothing {
            names.push(name.to_owned());
        }
    }
    match files.look(Path::new("hooks"))? {
        Found::Nothing => {}
        Found::Dir => {
            let hooks = files.list(Path::new("hooks"))?.into_iter().map(|name| name.to_string_lossy().into_owned());
            let runs = hooks.filter(|name| !name.ends_with(".sample") && !name.starts_with(ASIDE));
            names.extend(runs.map(|name| format!("hooks/{name}")));
        }
        Found::File { .. } | Found::Link | Found::Special => names.push("hooks".to_owned()),
    }
    let stamp = |name: &str| {
        let data = files.file(Path::new(name)).ok().flatten()?.metadata().ok()?;
        Some((data.len(), data.ctime(), data.ctime_nsec()))
    };
    Ok(names.into_iter().map(|name| (name.clone(), stamp(&name))).collect())
}

/// Keeps what is there, and writes what is to be there instead.
fn set_settings(files: &Beneath, now: Option<Vec<u8>>, wanted: Option<&[u8]>, aside: &Path) -> io::Result<()> {
    let config = Path::new("config");
    match now {
        Some(now) => keep(aside, OsStr::new("config"), &now)?,
        // A link, or too large.
        None if files.look(config)? != Found::Nothing => rename_aside(files, Path::new("config"))?,
        None => {}
    }
    match wanted {
        Some(wanted) => files.write(config, wanted, None),
        None => files.remove_file(config),
    }
}

/// How names start that git does not know.
const ASIDE: &str = "windlass-aside-";

fn rename_aside(files: &Beneath, path: &Path) -> io::Result<()> {
    let dir = files.inside(path.parent().unwrap_or(Path::new("")))?;
    let name = path.file_name().unwrap_or_default();
    let mut names = (0_u32..10_000).map(|number| {
        let mut aside = OsString::from(format!("{ASIDE}{number}-"));
        aside.push(name);
        aside
    });
    let free = |name: &OsString| dir.look(Path::new(name)).is_ok_and(|found| found == Found::Nothing);
    let aside = names.find(free).ok_or(io::ErrorKind::AlreadyExists)?;
    dir.rename(name, &aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "[core]\n\tbare = false\n\tfsmonitor = evil\n";

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn settled(within: &Within, aside: &Path) -> Vec<String> {
        let mut result = PutBack::default();
        within.settle(aside, &mut result);
        assert!(result.failed.is_empty(), "{:?}", result.failed);
        result.changed.iter().map(|file| file.path.to_string()).collect()
    }

    #[test]
    fn repositories_of_an_agent_are_made_inert_wherever_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (top, aside) = (dir.path().join("tree"), dir.path().join("aside"));
        let at = |path: &str| top.join(path);
        put(&at(".git/config"), EVIL);
        put(&at("a b/.git/config"), EVIL);
        put(&at("a b/.git/hooks/post-checkout"), "evil");
        put(&at("a b/.git/hooks/pre-push.sample"), "never runs");
        put(&at("deep/er/.GIT/commondir"), "../evil");
        let deepest = format!("{}.git/config", "d/".repeat(300));
        put(&at(&deepest), EVIL);
        put(&at(".git/modules/libs/x/config"), EVIL);
        put(&at(".git/modules/libs/x/modules/y/config"), EVIL);
        put(&at("libs/x/.git"), "gitdir: ../../.git/modules/libs/x\n");
        put(&at(".git/worktrees/w/commondir"), "../../evil\n");
        put(&at(".git/worktrees/v/commondir"), "../..\n");
        put(&at("v/.git"), &format!("gitdir: {}\n", at(".git/worktrees/v").display()));
        put(&at("out/.git"), "gitdir: ../../outside\n");
        put(&at("through/.git"), "gitdir: ../link/x\n");
        std::os::unix::fs::symlink(dir.path(), at("link")).unwrap();
        std::fs::create_dir(at("l")).unwrap();
        std::os::unix::fs::symlink(dir.path(), at("l/.git")).unwrap();
        let within = Within::of(&top, [at(".git")].into(), false);
        let mut changed = settled(&within, &aside);
        changed.sort();
        let expected = [
            ".git/modules/libs/x/config",
            ".git/modules/libs/x/modules/y/config",
            ".git/worktrees/w/commondir",
            "a b/.git/config",
            "a b/.git/hooks/post-checkout",
            deepest.as_str(),
            "deep/er/.GIT/commondir",
            "l/.git",
            "out/.git",
            "through/.git",
        ];
        assert_eq!(changed, expected);
        assert_eq!(std::fs::read_to_string(at("a b/.git/config")).unwrap(), "[core]\n\tbare = false\n");
        assert!(!at("a b/.git/hooks/post-checkout").exists() && !at("out/.git").exists() && at("v/.git").exists());
        assert_eq!(std::fs::read_to_string(at(".git/config")).unwrap(), EVIL, "not nested");
        let kept = std::fs::read_dir(&aside).unwrap().flatten().map(|e| std::fs::read_to_string(e.path()).unwrap());
        assert!(kept.collect::<String>().contains("fsmonitor = evil"), "what was there is kept");
        assert_eq!(settled(&within, &aside), Vec::<String>::new());
    }

    #[test]
    fn repositories_of_the_user_are_put_back_and_otherwise_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (top, aside) = (dir.path().join("tree"), dir.path().join("aside"));
        let at = |path: &str| top.join(path);
        let mine = "[alias]\n\tst = !mine\n";
        put(&at(".git/modules/sub/config"), mine);
        put(&at(".git/modules/sub/hooks/pre-push"), "mine");
        put(&at("sub/.git"), "gitdir: ../.git/modules/sub\n");
        put(&at("elsewhere/.git"), "gitdir: /somewhere/of/mine\n");
        let within = Within::of(&top, [at(".git")].into(), true);
        assert_eq!(settled(&within, &aside), Vec::<String>::new());
        put(&at(".git/modules/sub/config"), EVIL);
        put(&at(".git/modules/sub/config.worktree"), EVIL);
        put(&at(".git/modules/sub/hooks/post-commit"), "evil");
        put(&at("sub/.git"), "gitdir: ../new/.git\n");
        put(&at("new/.git/config"), EVIL);
        let changed = settled(&within, &aside);
        assert_eq!(changed.len(), 5, "{changed:?}");
        assert_eq!(std::fs::read_to_string(at(".git/modules/sub/config")).unwrap(), mine);
        assert_eq!(std::fs::read_to_string(at("sub/.git")).unwrap(), "gitdir: ../.git/modules/sub\n");
        assert_eq!(std::fs::read_to_string(at(".git/modules/sub/hooks/pre-push")).unwrap(), "mine");
        assert!(!at(".git/modules/sub/hooks/post-commit").exists() && !at(".git/modules/sub/config.worktree").exists());
        assert!(!std::fs::read_to_string(at("new/.git/config")).unwrap().contains("evil"));
        assert!(at("elsewhere/.git").exists());
    }
}
