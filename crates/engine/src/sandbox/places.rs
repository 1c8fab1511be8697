//! A list of places in the making: only what is there, by its real path, with the links that point to it.

use std::path::{Component, Path, PathBuf};

use windlass_supervise::{Access, Place};

/// As many as the kernel follows in one path.
const MOST_LINKS: usize = 40;

#[derive(Debug, Default)]
pub(super) struct Places(Vec<Place>);

impl Places {
    /// A rule for what is there. A symbolic link means what it points to, and is there too.
    pub(super) fn put(&mut self, path: &Path, access: Access) {
        if let Some(path) = self.follow(path) {
            self.0.push(Place::new(path, access));
        }
    }

    /// Another directory or file is seen here, and may be written to.
    pub(super) fn put_from(&mut self, path: &Path, from: &Path) {
        if let Ok(from) = from.canonicalize() {
            let path = self.follow(path).unwrap_or_else(|| path.to_owned());
            self.0.push(Place { from: Some(from), ..Place::new(path, Access::Writable) });
        }
    }

    /// A copy is seen here, to be read.
    pub(super) fn put_copy(&mut self, path: &Path, copy: &Path) {
        self.0.push(Place { from: Some(copy.to_owned()), ..Place::new(path, Access::ReadOnly) });
    }

    /// A directory whose changes are kept in another one.
    pub(super) fn put_layered(&mut self, path: &Path, kept: &Path) {
        if let (Some(path), Ok(kept)) = (self.follow(path), kept.canonicalize()) {
            self.0.push(Place { from: Some(kept), ..Place::new(path, Access::Layered) });
        }
    }

    /// A symbolic link, as it is outside.
    pub(super) fn put_link(&mut self, link: &Path, target: PathBuf) {
        self.0.push(Place { from: Some(target), ..Place::new(link, Access::Link) });
    }

    /// What is hidden although something above it is shown.
    pub(super) fn hide(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        let access = if path.is_dir() { Access::HiddenDir } else { Access::HiddenFile };
        self.0.push(Place::new(path, access));
    }

    /// Hides what would be seen through a place above it.
    pub(super) fn hide_if_shown(&mut self, path: &Path) {
        if path.canonicalize().is_ok_and(|path| self.shows(&path)) {
            self.hide(path);
        }
    }

    /// Shows what is not seen yet.
    pub(super) fn show(&mut self, path: &Path) {
        if path.canonicalize().is_ok_and(|real| real != path || !self.shows(&real)) {
            self.put(path, Access::ReadOnly);
        }
    }

    /// Whether a path is seen as it is; the nearest rule decides.
    pub(super) fn shows(&self, path: &Path) -> bool {
        nearest(&self.0, path).is_some_and(|place| match place.access {
            Access::HiddenDir | Access::HiddenFile | Access::Link => false,
            Access::ReadOnly | Access::Writable => place.from.is_none(),
            Access::Layered => true,
        })
    }

    /// The real path, after a rule for each link on the way to it; none if nothing is there.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Some((link, target)) = first_link(&path) else { return Some(real) };
            let rest = path.strip_prefix(&link).ok()?.to_owned();
            path = leads_to(&link, &target).join(rest);
            self.put_link(&link, target);
        }
        None
    }

    /// The rules, without those that change nothing: what is said last of a path holds, and what is seen through a place
    /// above needs no rule. Whether nothing is seen but what is named decides about what is hidden.
    pub(super) fn list(self, from_nothing: bool) -> Vec<Place> {
        let mut all: Vec<Place> = Vec::new();
        for place in self.0 {
            all.retain(|known| known.path != place.path);
            all.push(place);
        }
        all.sort_by_key(|place| place.path.components().count());
        let mut kept: Vec<Place> = Vec::new();
        for place in all {
            let above = place.path.parent().and_then(|parent| nearest(&kept, parent));
            let needed = match place.access {
                Access::ReadOnly => {
                    place.from.is_some()
                        || !above.is_some_and(|above| above.access == Access::ReadOnly && above.from.is_none())
                }
                // A link below something that is shown is there already.
                Access::Link => match above {
                    None => true,
                    Some(above) => match (above.access, &above.from) {
                        (Access::Writable, Some(from)) => {
                            link_into(&place, above, from);
                            false
                        }
                        (Access::HiddenDir, _) => true,
                        _ => false,
                    },
                },
                Access::HiddenDir | Access::HiddenFile => above.is_some() || !from_nothing,
                Access::Writable | Access::Layered => true,
            };
            if needed {
                kept.push(place);
            }
        }
        kept
    }
}

/// The first part of a path that is a symbolic link, and what it says.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    parts.into_iter().find_map(|part| Some((part.to_owned(), std::fs::read_link(part).ok()?)))
}

/// Where a link leads. No part of the path to the link is one itself, so names can be reverted.
fn leads_to(link: &Path, target: &Path) -> PathBuf {
    let mut path = link.parent().unwrap_or(Path::new("/")).to_owned();
    for component in target.components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => path.push(component),
        }
    }
    path
}

/// The rule that decides about a path.
fn nearest<'a>(places: &'a [Place], path: &Path) -> Option<&'a Place> {
    let above = places.iter().filter(|place| path.starts_with(&place.path));
    above.max_by_key(|place| place.path.components().count())
}

/// A directory of the loop's own is there from turn to turn, and so is a link in it.
fn link_into(link: &Place, above: &Place, from: &Path) {
    let (Ok(below), Some(target)) = (link.path.strip_prefix(&above.path), &link.from) else { return };
    let at = from.join(below);
    if let Some(parent) = at.parent() {
        let _ = crate::data::private_dir(parent);
    }
    let _ = std::os::unix::fs::symlink(target, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(dir: &tempfile::TempDir) -> PathBuf {
        dir.path().canonicalize().unwrap()
    }

    #[test]
    fn a_path_through_links_is_shown_by_all_of_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let root = root(&dir);
        std::fs::create_dir_all(root.join("real/tool/bin")).unwrap();
        std::os::unix::fs::symlink("real", root.join("alias")).unwrap();
        std::os::unix::fs::symlink(root.join("alias/tool"), root.join("current")).unwrap();
        let mut places = Places::default();
        places.put(&root.join("current/bin"), Access::ReadOnly);
        let list = places.list(true);
        let of = |name: &str| list.iter().find(|place| place.path == root.join(name)).map(|place| place.access);
        assert_eq!(of("current"), Some(Access::Link));
        assert_eq!(of("alias"), Some(Access::Link));
        assert_eq!(of("real/tool/bin"), Some(Access::ReadOnly));
        assert_eq!(list.len(), 3, "{list:?}");
    }

    #[test]
    fn what_is_seen_through_a_place_above_has_no_rule_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let root = root(&dir);
        std::fs::create_dir_all(root.join("shown/below/secret")).unwrap();
        std::fs::create_dir_all(root.join("other/secret")).unwrap();
        let mut places = Places::default();
        places.put(&root.join("shown/below"), Access::ReadOnly);
        places.put(&root.join("shown"), Access::ReadOnly);
        places.hide_if_shown(&root.join("shown/below/secret"));
        places.hide_if_shown(&root.join("other/secret"));
        let list: Vec<_> = places.list(true).into_iter().map(|place| (place.path, place.access)).collect();
        assert_eq!(
            list,
            [(root.join("shown"), Access::ReadOnly), (root.join("shown/below/secret"), Access::HiddenDir)]
        );
    }
}
