//! What a user's git would run or follow, sealed in the view: hooks, settings, what points to others.
//!
//! In the user's own checkout names that do not exist yet are sealed too: they are made, without a meaning, so that something
//! can be mounted there, and removed when the loop rests. Invariant: only what was made here and is unchanged is removed.

use std::io::Write;
use std::path::{Path, PathBuf};

use windlass_supervise::Access;
use windlass_workspace::{COMMON_DIR_ITSELF, GitSettings, Workspace};

use super::SandboxError;
use super::places::Places;
use crate::data::private_dir;

/// In a git directory.
const SEALED: [&str; 9] = [
    "config",
    "config.worktree",
    "hooks",
    "info/attributes",
    "objects/info/alternates",
    "commondir",
    "gitdir",
    // Old ways to say where a name fetches from and pushes to.
    "remotes",
    "branches",
];

/// Of these, directories that git does not need: an empty one is made, or the agent could make it.
const MADE_DIRS: [&str; 3] = ["hooks", "remotes", "branches"];

/// The file that lists what was made.
const MADE: &str = "placeholders";

/// Hooks, settings and borrowed objects of a repository of the loop's own stay as they are.
pub(super) fn seal(places: &mut Places, git_dir: &Path) -> Result<(), SandboxError> {
    let is_repository = git_dir.join("config").is_file();
    for path in MADE_DIRS.iter().map(|name| git_dir.join(name)).filter(|path| is_repository && !path.exists()) {
        std::fs::create_dir(&path).map_err(|source| SandboxError::Prepare { path: path.clone(), source })?;
    }
    put_sealed(places, git_dir);
    Ok(())
}

/// The same in the user's checkout, with its submodules, its worktrees and a directory of hooks in the tree. What was made
/// for that is listed in `temp`.
pub(super) fn seal_in_place(places: &mut Places, workspace: &Workspace, temp: &Path) -> Result<(), SandboxError> {
    let mut made = Made { list: temp.join(MADE) };
    for dir in workspace.agent_git_dirs() {
        if dir.join("config").is_file() {
            for name in MADE_DIRS {
                made.dir(&dir.join(name))?;
            }
            made.dir(&dir.join("info"))?;
            made.file(&dir.join("info/attributes"))?;
            made.dir(&dir.join("objects/info"))?;
            made.file(&dir.join("objects/info/alternates"))?;
            made.dir(&dir.join("worktrees"))?;
            made.dir(&dir.join("modules"))?;
            made.common_dir(&dir.join("commondir"))?;
        }
        made.file(&dir.join("config.worktree"))?;
        put_sealed(places, &dir);
    }
    let common = &workspace.common_dir;
    places.put(&common.join("worktrees"), Access::ReadOnly);
    // Those that are there already are mounts of their own.
    places.put(&common.join("modules"), Access::ReadOnly);
    if workspace.git_dir.starts_with(common.join("worktrees")) {
        places.put(&workspace.git_dir, Access::Writable);
    }
    for dir in GitSettings::repositories_of(workspace) {
        if !dir.starts_with(common.join("worktrees")) {
            places.put(&dir, Access::Writable);
        }
        put_sealed(places, &dir);
    }
    if let Some(hooks) = workspace.hooks_in_tree() {
        let above: Vec<&Path> = hooks.ancestors().skip(1).take_while(|dir| *dir != workspace.dir).collect();
        for dir in above.into_iter().rev() {
            made.dir(dir)?;
            places.put(dir, Access::Writable);
        }
        made.dir(&hooks)?;
        places.put(&hooks, Access::ReadOnly);
    }
    Ok(())
}

fn put_sealed(places: &mut Places, git_dir: &Path) {
    for name in SEALED {
        places.put(&git_dir.join(name), Access::ReadOnly);
    }
}

/// Whether something was made in the user's checkout and is not removed yet.
pub(crate) fn has_placeholders(temp: &Path) -> bool {
    temp.join(MADE).is_file()
}

/// Removes what was made in the user's checkout; nothing of the loop runs any more.
pub(crate) fn remove_placeholders(temp: &Path) {
    let list = temp.join(MADE);
    let Ok(text) = std::fs::read_to_string(&list) else { return };
    let paths: Vec<PathBuf> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    for path in paths.iter().rev() {
        let Ok(found) = path.symlink_metadata() else { continue };
        if found.is_dir() {
            // Only if it is empty.
            let _ = std::fs::remove_dir(path);
        } else if found.is_file() && is_unchanged(path, found.len()) {
            let _ = std::fs::remove_file(path);
        }
    }
    let _ = std::fs::remove_file(list);
}

fn is_unchanged(path: &Path, len: u64) -> bool {
    let itself = || std::fs::read_to_string(path).is_ok_and(|text| text == COMMON_DIR_ITSELF);
    len == 0 || path.ends_with("commondir") && len == COMMON_DIR_ITSELF.len() as u64 && itself()
}

/// What is made in the user's checkout, noted before it is there.
struct Made {
    list: PathBuf,
}

impl Made {
    fn dir(&mut self, path: &Path) -> Result<(), SandboxError> {
        self.make(path, |path| std::fs::create_dir(path))
    }

    fn file(&mut self, path: &Path) -> Result<(), SandboxError> {
        self.make(path, |path| std::fs::File::create_new(path).map(drop))
    }

    fn common_dir(&mut self, path: &Path) -> Result<(), SandboxError> {
        // Whole at once, because git may run there and fails at an empty file.
        self.make(path, |path| {
            let mut partial = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(path))?;
            partial.write_all(COMMON_DIR_ITSELF.as_bytes())?;
            partial.persist_noclobber(path).map(drop).map_err(|error| error.error)
        })
    }

    fn make(&mut self, path: &Path, make: fn(&Path) -> std::io::Result<()>) -> Result<(), SandboxError> {
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        let noted = || -> std::io::Result<()> {
            self.list.parent().map_or(Ok(()), private_dir)?;
            let mut list = std::fs::OpenOptions::new().create(true).append(true).open(&self.list)?;
            writeln!(list, "{}", serde_json::to_string(path)?)?;
            make(path)
        };
        noted().map_err(|source| SandboxError::Prepare { path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_goes_unless_somebody_used_it() {
        let dir = tempfile::tempdir().unwrap();
        let (temp, top) = (dir.path().join("temp"), dir.path().join("top"));
        std::fs::create_dir(&top).unwrap();
        std::fs::write(top.join("theirs"), "").unwrap();
        let mut made = Made { list: temp.join(MADE) };
        for name in ["hooks", "used", "used/inner"] {
            made.dir(&top.join(name)).unwrap();
        }
        for name in ["empty", "filled", "theirs"] {
            made.file(&top.join(name)).unwrap();
        }
        made.common_dir(&top.join("commondir")).unwrap();
        made.common_dir(&top.join("used/commondir")).unwrap();
        std::fs::write(top.join("used/commondir"), "..").unwrap();
        std::fs::write(top.join("filled"), "by a person").unwrap();
        std::fs::write(top.join("used/hook"), "by a person").unwrap();
        remove_placeholders(&temp);
        let mut left: Vec<_> = std::fs::read_dir(&top).unwrap().flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["filled", "theirs", "used"]);
        assert!(!top.join("used/inner").exists());
        remove_placeholders(&temp);
    }
}
