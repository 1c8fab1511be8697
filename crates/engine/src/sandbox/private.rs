//! The directories that the processes of a loop have for themselves, in the place of the user's home, caches and temporary
//! files.
//!
//! They are below the loop's temporary directory, one set for each kind of process, so that a gate finds nothing that the
//! agent left for it. A home is new for every process; what a cache gained is there until the loop ends, or until the next
//! judgement where the judge keeps it. Invariants: nothing here is the user's own file; what is copied has no line that looks
//! like a login.

use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windlass_supervise::{Access, LAYERS};
use windlass_workspace::{BEFORE, Beneath, copy_into_checkout};

use super::SandboxError;
use super::logins::{self, Login};
use super::places::Places;
use super::settings::without_logins;
use super::table::{CACHE_VARIABLES, CACHES, KEPT_CACHES, SETTINGS};
use crate::data::private_dir;

/// Larger files are no settings.
const LARGEST: u64 = 1 << 20;
/// Of a directory that is copied.
const MOST_FILES: usize = 500;
const DEEPEST: usize = 6;

/// In the place of the directory of all caches.
const CACHE: &str = "cache";
/// What was changed in directories of the user's.
const LAYERED: &str = "layers";
/// Copies of what the agent may write, for gates.
const COPIED: &str = "copies";

#[derive(Debug)]
pub(super) struct Private {
    base: PathBuf,
    /// What caches gain.
    caches: PathBuf,
    /// A directory of the user's, by all of its names, and what is seen in its place.
    roots: Vec<(PathBuf, PathBuf)>,
    logins: Vec<Login>,
}

impl Private {
    /// An earlier process of the same kind has ended; its home goes. What caches gain stays below `base`, unless another
    /// place is named.
    pub(super) fn prepare(base: PathBuf, caches: Option<PathBuf>) -> Result<Self, SandboxError> {
        // Of one that was killed together with its engine.
        logins::take_over(&base);
        let caches = caches.unwrap_or_else(|| base.clone());
        let private = Self { base, caches, roots: Vec::new(), logins: Vec::new() };
        for name in ["home", "run", "own"] {
            let path = private.base.join(name);
            match windlass_workspace::remove_tree(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(SandboxError::Prepare { path, source });
                }
                Ok(()) | Err(_) => {}
            }
        }
        for name in ["home", "run", "tmp", CACHE] {
            private.dir(name)?;
        }
        Ok(private)
    }

    /// Where a directory of this set is.
    fn path(&self, name: &str) -> PathBuf {
        let of_caches = [CACHE, LAYERED, COPIED].iter().any(|kept| Path::new(name).starts_with(kept));
        if of_caches { self.caches.join(name) } else { self.base.join(name) }
    }

    /// A directory of this set, made if it is not there.
    pub(super) fn dir(&self, name: &str) -> Result<PathBuf, SandboxError> {
        let path = self.path(name);
        private_dir(&path).map_err(|source| SandboxError::Prepare { path: path.clone(), source })?;
        Ok(path)
    }

    /// One of them is seen in the place of a directory of the user's.
    pub(super) fn replace(&mut self, places: &mut Places, real: &Path, name: &str) -> Result<(), SandboxError> {
        let own = self.dir(name)?;
        places.put_from(real, &own);
        if let Ok(resolved) = real.canonicalize() {
            self.roots.push((resolved, own.clone()));
        }
        self.roots.push((real.to_owned(), own));
        Ok(())
    }

    /// Whether a path is in a directory that is replaced.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.at(path).is_some()
    }

    /// Where a file must be put so that it is seen at this path.
    fn at(&self, path: &Path) -> Option<PathBuf> {
        let fit = self.roots.iter().filter(|(real, _)| path.starts_with(real));
        let (real, own) = fit.max_by_key(|(real, _)| real.components().count())?;
        Some(own.join(path.strip_prefix(real).ok()?))
    }

    /// The user's directory, with changes kept here.
    pub(super) fn layer(&self, places: &mut Places, path: &Path) -> Result<(), SandboxError> {
        let name = format!("{LAYERED}/{}", one_name(path));
        if !path.is_dir() {
            // The part that a process sees is never one of the others, should the user's directory be there later.
            let [seen, ..] = LAYERS;
            places.put_from(path, &self.dir(&format!("{name}/{seen}"))?);
            return Ok(());
        }
        for part in LAYERS {
            self.dir(&format!("{name}/{part}"))?;
        }
        places.put_layered(path, &self.path(&name));
        Ok(())
    }

    /// What the agent may write is, for gates, as it was before the agent's first turn, and theirs to change. A directory of
    /// which there is no copy is empty.
    pub(super) fn as_before(&self, places: &mut Places, path: &Path, kept: &Path) -> Result<(), SandboxError> {
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        let name = one_name(path);
        let own = self.dir(&format!("{COPIED}/{name}"))?;
        let seen = own.join(BEFORE);
        if seen.symlink_metadata().is_err() {
            let copied = copy_into_checkout(&kept.join(&name), &own, Path::new(BEFORE));
            match copied {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(SandboxError::Prepare { path: seen, source });
                }
                Err(_) if real.is_dir() => drop(self.dir(&format!("{COPIED}/{name}/{BEFORE}"))?),
                Ok(()) | Err(_) => {}
            }
        }
        places.put_from(path, &seen);
        Ok(())
    }

    /// An empty directory in the place of one that is otherwise shown.
    pub(super) fn renew(&self, places: &mut Places, path: &Path) -> Result<(), SandboxError> {
        places.put_from(path, &self.dir(&format!("own/{}", one_name(path)))?);
        Ok(())
    }

    /// A file or a small directory of the user's, for the process to change as it likes.
    pub(super) fn copy(&self, path: &Path) {
        if let Some(to) = self.at(path) {
            let mut left = MOST_FILES;
            copy(path, &to, DEEPEST, &mut left, &|bytes| bytes);
        }
    }

    /// A login of the user's, for the process to refresh. Whether it is in a directory of the process's own.
    pub(super) fn login(&mut self, path: &Path) -> bool {
        let own = self.at(path);
        self.logins.extend(own.as_deref().and_then(|own| logins::hand_over(&self.base, path, own)));
        own.is_some()
    }

    /// Remembers the logins for whoever takes them over.
    pub(super) fn remember_logins(&self) -> Result<(), SandboxError> {
        logins::remember(&self.base, &self.logins)
            .map_err(|source| SandboxError::Prepare { path: self.base.clone(), source })
    }

    /// Settings without logins.
    fn copy_settings(&self, path: &Path) {
        if let Some(to) = self.at(path) {
            copy(path, &to, 0, &mut 1, &|bytes| {
                String::from_utf8(bytes).map(|text| without_logins(&text).into_bytes()).unwrap_or_default()
            });
        }
    }

    /// Git's settings with the files that they include, and those of package managers.
    pub(super) fn settings(&self, home: &Path, git_global: Option<&Path>) {
        let named = SETTINGS.iter().map(|name| home.join(name));
        for path in named.chain(git_global.map(Path::to_owned)) {
            self.copy_settings(&path);
            let is_git =
                path.ends_with(".gitconfig") || path.ends_with(".config/git/config") || Some(&*path) == git_global;
            let text = if is_git { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
            for included in included(&text, home, &path) {
                self.copy_settings(&included);
            }
        }
    }

    /// Caches of tools: the user's, and what this loop adds to them.
    pub(super) fn caches(
        &mut self,
        places: &mut Places,
        env: &std::collections::BTreeMap<String, String>,
        home: Option<&Path>,
    ) -> Result<(), SandboxError> {
        if let Some(home) = home {
            let cache = env.get("XDG_CACHE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
            let cache = cache.unwrap_or_else(|| home.join(".cache"));
            self.replace(places, &cache, CACHE)?;
            for name in CACHES {
                let path = name.strip_prefix(".cache/").map_or_else(|| home.join(name), |below| cache.join(below));
                if path.is_dir() {
                    self.layer(places, &path)?;
                } else if KEPT_CACHES.contains(name) {
                    self.keep(&path, &cache);
                }
            }
        }
        for (variable, parts, shown) in CACHE_VARIABLES {
            let Some(dir) = env.get(*variable).map(PathBuf::from).filter(|dir| dir.is_absolute()) else { continue };
            if !parts.is_empty() && !self.covers(&dir) {
                self.replace(places, &dir, &format!("own/{}", one_name(&dir)))?;
            }
            let parts = if parts.is_empty() { &[""] } else { *parts };
            for part in parts.iter().map(|part| dir.join(part)) {
                if part.is_dir() || !self.covers(&part) {
                    self.layer(places, &part)?;
                }
            }
            shown.iter().for_each(|part| places.put(&dir.join(part), Access::ReadOnly));
        }
        Ok(())
    }

    /// A cache that the user does not have is in the loop's own, which is there longer than one process's home.
    fn keep(&self, path: &Path, cache: &Path) {
        let (Some(link), Some(kept)) = (self.at(path), self.at(cache)) else { return };
        let name = format!("windlass/{}", one_name(path));
        // An earlier process may have put a link in the way, which is not followed.
        let made = Beneath::open(&kept).and_then(|kept| kept.make_dir(Path::new(&name)));
        let made = made.and_then(|()| link.parent().map_or(Ok(()), private_dir));
        if made.is_ok() {
            let _ = std::os::unix::fs::symlink(cache.join(name), link);
        }
    }
}

/// Makes what caches gained fit to be copied: the kernel's own directories go, which nobody may read.
pub(crate) fn settle_caches(caches: &Path) -> io::Result<()> {
    let [_, _, work] = LAYERS;
    for layer in std::fs::read_dir(caches.join(LAYERED)).into_iter().flatten().flatten() {
        match windlass_workspace::remove_tree(&layer.path().join(work)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// A path as the name of one file.
pub(super) fn one_name(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%%").replace('/', "%")
}

/// Copies what can be read. A link is followed, since what it points to is not there inside.
fn copy(from: &Path, to: &Path, deepest: usize, left: &mut usize, change: &dyn Fn(Vec<u8>) -> Vec<u8>) {
    let Ok(data) = from.metadata() else { return };
    if *left == 0 {
        return;
    }
    if data.is_dir() && deepest > 0 {
        for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
            copy(&entry.path(), &to.join(entry.file_name()), deepest - 1, left, change);
        }
    } else if data.is_file() && data.len() <= LARGEST {
        *left -= 1;
        let written = std::fs::read(from).and_then(|bytes| {
            to.parent().map_or(Ok(()), private_dir)?;
            let mode = if rustix::fs::access(from, rustix::fs::Access::EXEC_OK).is_ok() { 0o700 } else { 0o600 };
            let mut options = std::fs::OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(mode).open(to)?;
            io::Write::write_all(&mut file, &change(bytes))
        });
        if let Err(error) = written {
            tracing::debug!(%error, path = %from.display(), "not copied into the sandbox");
        }
    }
}

/// The files that git's settings include.
fn included(text: &str, home: &Path, file: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut includes = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            includes = line.to_ascii_lowercase().starts_with("[include");
        } else if let Some((key, value)) = line.split_once('=')
            && includes
            && key.trim().eq_ignore_ascii_case("path")
        {
            let value = value.trim().trim_matches('"');
            found.push(match value.strip_prefix("~/") {
                Some(below) => home.join(below),
                None => file.parent().unwrap_or(home).join(value),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_includes_is_found_from_the_home_and_beside_the_file() {
        let text =
            "[include]\n\tpath = ~/work.inc\n[includeIf \"gitdir:~/x/\"]\n\tpath = \"other\"\n[core]\n\tpath = no\n";
        let found = included(text, Path::new("/h"), Path::new("/h/.config/git/config"));
        assert_eq!(found, [PathBuf::from("/h/work.inc"), PathBuf::from("/h/.config/git/other")]);
    }

    #[test]
    fn link_that_a_process_left_in_its_cache_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (home, base, outside) = (dir.path().join("home"), dir.path().join("private"), dir.path().join("outside"));
        for path in [&home, &outside] {
            std::fs::create_dir(path).unwrap();
        }
        let prepare = || {
            let mut places = Places::default();
            let mut private = Private::prepare(base.clone(), None).unwrap();
            private.replace(&mut places, &home, "home").unwrap();
            private.caches(&mut places, &std::collections::BTreeMap::new(), Some(&home)).unwrap();
        };
        prepare();
        std::fs::remove_dir_all(base.join("cache/windlass")).unwrap();
        std::os::unix::fs::symlink(&outside, base.join("cache/windlass")).unwrap();
        prepare();
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn what_a_process_wrote_where_no_cache_was_is_no_part_of_an_overlay_later() {
        let dir = tempfile::tempdir().unwrap();
        let (cache, base) = (dir.path().join("cache"), dir.path().join("private"));
        let private = Private::prepare(base.clone(), None).unwrap();
        let mut places = Places::default();
        private.layer(&mut places, &cache).unwrap();
        let seen = places.list(true)[0].from.clone().unwrap();
        std::os::unix::fs::symlink("/", seen.join("upper")).unwrap();
        std::fs::create_dir(&cache).unwrap();
        let mut places = Places::default();
        private.layer(&mut places, &cache).unwrap();
        let kept = places.list(true)[0].from.clone().unwrap();
        assert!(kept.join("upper").symlink_metadata().unwrap().is_dir());
    }

    #[test]
    fn a_home_is_new_for_each_process_and_a_cache_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (home, base) = (dir.path().join("home"), dir.path().join("private"));
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join(".gitconfig"), "[user]\n\tname = Me\n").unwrap();
        let mut places = Places::default();
        let mut private = Private::prepare(base.clone(), None).unwrap();
        private.replace(&mut places, &home, "home").unwrap();
        private.settings(&home, None);
        private.caches(&mut places, &std::collections::BTreeMap::new(), Some(&home)).unwrap();
        assert!(std::fs::read_to_string(base.join("home/.gitconfig")).unwrap().contains("Me"));
        assert!(base.join("home/.npm/_cacache").symlink_metadata().unwrap().is_symlink());
        std::fs::write(base.join("home/.profile"), "planted").unwrap();
        std::fs::write(base.join("cache/kept"), "x").unwrap();
        Private::prepare(base.clone(), None).unwrap();
        assert!(!base.join("home/.profile").exists() && base.join("cache/kept").exists());
    }
}
