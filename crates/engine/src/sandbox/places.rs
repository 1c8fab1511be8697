//! A list of places in the making: only what is there, by its real path, with the links that point to it.

use std::path::{Component, Path, PathBuf};

use windlass_supervise::{Access, Place};
use windlass_workspace::Beneath;

/// As many as the kernel follows in one path.
const MOST_LINKS: usize = 40;

#[derive(Debug, Default)]
pub(super) struct Places {
    list: Vec<Place>,
    agents: AgentsDirs,
}

/// Real directories in which processes of the loop can make links. Invariant: none of their links leads a rule out of them, or an
/// agent could choose what the next process sees.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentsDirs(Vec<PathBuf>);

impl AgentsDirs {
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|dir| path != dir && path.starts_with(dir))
    }

    /// Whether a link in one of them leads this path somewhere else.
    pub(super) fn mislead(&self, path: &Path) -> bool {
        let real = path.canonicalize().ok();
        self.mislead_by(real.as_deref(), &links_on(path))
    }

    fn mislead_by(&self, real: Option<&Path>, links: &[(PathBuf, PathBuf)]) -> bool {
        !real.is_some_and(|real| self.hold(real)) && links.iter().any(|(link, _)| self.hold(link))
    }
}

impl Places {
    pub(super) fn with_agents_dirs(dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        let real = dirs.into_iter().filter_map(|dir| dir.canonicalize().ok());
        Self { list: Vec::new(), agents: AgentsDirs(real.collect()) }
    }

    pub(super) fn agents_dirs(&self) -> AgentsDirs {
        self.agents.clone()
    }

    /// A rule for what is there. A symbolic link means what it points to, and is there too.
    pub(super) fn put(&mut self, path: &Path, access: Access) {
        if let Some(path) = self.follow(path) {
            self.list.push(Place::new(path, access));
        }
    }

    /// Another directory or file is seen here, and may be written to.
    pub(super) fn put_from(&mut self, path: &Path, from: &Path) {
        if let Ok(from) = from.canonicalize()
            && !self.agents.mislead(path)
        {
            let path = self.follow(path).or_else(|| self.follow_above(path)).unwrap_or_else(|| path.to_owned());
            self.list.push(Place { from: Some(from), ..Place::new(path, Access::Writable) });
        }
    }

    /// A copy is seen here, to be read.
    pub(super) fn put_copy(&mut self, path: &Path, copy: &Path) {
        if let Ok(copy) = copy.canonicalize() {
            self.list.push(Place { from: Some(copy), ..Place::new(path, Access::ReadOnly) });
        }
    }

    /// A directory whose changes are kept in another one.
    pub(super) fn put_layered(&mut self, path: &Path, kept: &Path) {
        if let (Some(path), Ok(kept)) = (self.follow(path), kept.canonicalize()) {
            self.list.push(Place { from: Some(kept), ..Place::new(path, Access::Layered) });
        }
    }

    /// A symbolic link, as it is outside.
    pub(super) fn put_link(&mut self, link: &Path, target: PathBuf) {
        self.list.push(Place { from: Some(target), ..Place::new(link, Access::Link) });
    }

    /// What is hidden although something above it is shown.
    pub(super) fn hide(&mut self, path: &Path) {
        let Ok(path) = path.canonicalize() else { return };
        let access = if path.is_dir() { Access::HiddenDir } else { Access::HiddenFile };
        self.list.push(Place::new(path, access));
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
        nearest(&self.list, path).is_some_and(|place| match place.access {
            Access::HiddenDir | Access::HiddenFile | Access::Link => false,
            Access::ReadOnly | Access::Writable => place.from.is_none(),
            Access::Layered => true,
        })
    }

    /// The real path, after a rule for each link on the way to it; none if nothing is there, or an agent may have led it there.
    fn follow(&mut self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        let links = links_on(path);
        if self.agents.mislead_by(Some(&real), &links) {
            return None;
        }
        links.into_iter().for_each(|(link, target)| self.put_link(&link, target));
        Some(real)
    }

    /// Where a path that does not exist would be: no link is followed where it is shown.
    fn follow_above(&mut self, path: &Path) -> Option<PathBuf> {
        let above = path.ancestors().skip(1).find(|above| above.exists())?;
        let below = path.strip_prefix(above).ok()?;
        Some(self.follow(above)?.join(below))
    }

    /// The rules, without those that change nothing: what is said last of a path holds, and what is seen through a place
    /// above needs no rule. Whether nothing is seen but what is named decides about what is hidden.
    pub(super) fn list(self, from_nothing: bool) -> Vec<Place> {
        let mut all: Vec<Place> = Vec::new();
        for place in self.list {
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

/// The links on the way to what a path names, each with what it says.
fn links_on(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let (mut path, mut links) = (path.to_owned(), Vec::new());
    while let Some((link, target)) = first_link(&path).filter(|_| links.len() < MOST_LINKS) {
        let Ok(rest) = path.strip_prefix(&link).map(Path::to_owned) else { break };
        path = leads_to(&link, &target).join(rest);
        links.push((link, target));
    }
    links
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
    // An earlier process may have put a link in the way, which is not followed.
    let _ = Beneath::open(from).and_then(|from| from.make_link(below, target));
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
    fn directory_that_does_not_exist_is_shown_where_its_links_lead() {
        let dir = tempfile::tempdir().unwrap();
        let root = root(&dir);
        for name in ["disk/me", "own"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("disk", root.join("home")).unwrap();
        let mut places = Places::default();
        places.put_from(&root.join("home/me/.cache/deep"), &root.join("own"));
        let list: Vec<_> = places.list(true).into_iter().map(|place| (place.path, place.access)).collect();
        assert_eq!(list, [(root.join("home"), Access::Link), (root.join("disk/me/.cache/deep"), Access::Writable)]);
    }

    #[test]
    fn link_that_an_agent_can_make_leads_to_nothing_outside() {
        let dir = tempfile::tempdir().unwrap();
        let root = root(&dir);
        for name in ["work/real", "outside"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(root.join(target), root.join(name)).unwrap();
        link("outside", "work/out");
        link("work/real", "work/inner");
        link("nowhere", "work/dangling");
        link("work", "way");
        let mut places = Places::with_agents_dirs([root.join("way")]);
        places.put(&root.join("work/out"), Access::ReadOnly);
        places.show(&root.join("way/out"));
        places.put_from(&root.join("work/out"), &root);
        places.put_from(&root.join("work/dangling"), &root);
        places.put_layered(&root.join("work/out"), &root);
        assert_eq!(places.list.len(), 0, "{places:?}");
        places.put(&root.join("way/inner"), Access::ReadOnly);
        let list: Vec<_> = places.list(true).into_iter().map(|place| (place.path, place.access)).collect();
        assert!(list.contains(&(root.join("work/real"), Access::ReadOnly)), "what is sealed stays sealed: {list:?}");
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
