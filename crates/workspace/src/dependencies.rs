//! Directories of installed packages in the user's checkout, which git ignores and the work needs.

use std::path::{Component, Path, PathBuf};

use crate::project::Project;
use crate::{WorkspaceError, Workspaces};

/// Names by which package managers call them.
const NAMES: [&str; 4] = ["node_modules", ".venv", "venv", "vendor"];

impl Workspaces {
    /// The ignored directories of installed packages in a checkout, from its top.
    pub async fn dependencies(&self, project: &Path) -> Result<Vec<String>, WorkspaceError> {
        let project = Project::inspect(&self.host, project).await?;
        let args = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let output = project.git(&self.host).run(&args).await?;
        let dirs = output.split(|&byte| byte == 0).filter_map(|path| path.strip_suffix(b"/"));
        let named = |dir: &&str| dir.rsplit('/').next().is_some_and(|name| NAMES.contains(&name));
        let mut found: Vec<String> =
            dirs.filter_map(|dir| std::str::from_utf8(dir).ok()).filter(named).map(str::to_owned).collect();
        // A link to such a directory elsewhere would point outside the copy.
        found.retain(|dir| std::fs::symlink_metadata(project.checkout.join(dir)).is_ok_and(|data| data.is_dir()));
        Ok(found)
    }
}

/// So many entries of a directory are checked.
const MOST: usize = 5_000;
/// A larger file names no place.
const LARGEST: u64 = 64 << 10;

/// Parts of installed packages that name the user's checkout by its path, wherever they are copied to: editable installs of
/// Python, links of Node that leave the tree. `dirs` are directories of packages.
pub fn leads_back(checkout: &Path, dirs: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    for dir in dirs {
        if dir.join("pyvenv.cfg").is_file() {
            let packages = entries(&dir.join("lib")).into_iter().map(|version| version.join("site-packages"));
            for file in packages.flat_map(|dir| entries(&dir)).filter_map(|entry| naming_file(&entry)) {
                if names(&file, checkout) {
                    found.push(file);
                }
            }
        } else if dir.ends_with("node_modules") {
            let (scopes, packages): (Vec<PathBuf>, Vec<PathBuf>) = entries(dir)
                .into_iter()
                .partition(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"@")));
            let scoped = scopes.iter().flat_map(|scope| entries(scope));
            found.extend(packages.into_iter().chain(scoped).filter(|path| leaves(path, checkout)));
        }
    }
    let shown = |path: PathBuf| path.strip_prefix(checkout).unwrap_or(&path).display().to_string();
    found.into_iter().map(shown).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().flatten().take(MOST).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The file of an installed Python package that may name where its source is.
fn naming_file(entry: &Path) -> Option<PathBuf> {
    let name = entry.file_name()?.to_str()?;
    if name.ends_with(".pth") || name.starts_with("__editable__") {
        return Some(entry.to_owned());
    }
    name.ends_with(".dist-info").then(|| entry.join("direct_url.json"))
}

fn names(file: &Path, checkout: &Path) -> bool {
    let small = std::fs::symlink_metadata(file).is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
    let text = if small { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
    let place = checkout.as_os_str().as_encoded_bytes();
    text.windows(place.len()).any(|part| part == place)
}

/// Whether a link points outside the tree that it is copied with.
fn leaves(link: &Path, checkout: &Path) -> bool {
    let Ok(target) = std::fs::read_link(link) else { return false };
    let mut path = link.parent().unwrap_or(checkout).to_owned();
    for part in target.components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::RootDir => return true,
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    !path.starts_with(checkout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editable_installs_and_links_that_leave_the_tree_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("my project");
        let put = |name: &str, text: &str| {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let here = top.display();
        put(".venv/pyvenv.cfg", "");
        put(".venv/lib/python3.12/site-packages/a.pth", &format!("{here}/src\n"));
        put(
            ".venv/lib/python3.12/site-packages/b.dist-info/direct_url.json",
            &format!("{{\"url\": \"file://{here}\"}}"),
        );
        put(".venv/lib/python3.12/site-packages/other.pth", "/elsewhere\n");
        put("node_modules/plain/index.js", "");
        put("node_modules/@scope/plain/index.js", "");
        let link = |target: &str, at: &str| std::os::unix::fs::symlink(target, top.join(at)).unwrap();
        link("../packages/a", "node_modules/inside");
        link("../../other", "node_modules/out");
        link("/abs", "node_modules/@scope/abs");
        let dirs = [".venv", "node_modules", "gone"].map(|name| top.join(name));
        let expected = [
            ".venv/lib/python3.12/site-packages/a.pth",
            ".venv/lib/python3.12/site-packages/b.dist-info/direct_url.json",
            "node_modules/out",
            "node_modules/@scope/abs",
        ];
        assert_eq!(leads_back(&top, &dirs), expected);
    }
}
