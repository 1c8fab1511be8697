//! The workspace as the rules see it: crates, what they depend on, which of their files are compiled.
//!
//! Invariant: read from manifests and sources alone, so that the rules hold without a build and without a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

use crate::source::Source;

/// One crate of the workspace.
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) dir: PathBuf,
    manifest: Table,
}

/// All crates, by name.
pub(crate) fn crates() -> BTreeMap<String, Crate> {
    let dir = workspace_root().join("crates");
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("cannot read {}: {e}", dir.display()));
    let crates = entries
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.join("Cargo.toml").is_file())
        .map(|path| Crate::read(&path));
    crates.map(|c| (c.name.clone(), c)).collect()
}

pub(crate) fn workspace_root() -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    dir.ancestors().nth(2).expect("crates/testkit is two below the root").to_owned()
}

/// A path as a user types it.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(workspace_root()).unwrap_or(path).display().to_string()
}

impl Crate {
    fn read(dir: &Path) -> Crate {
        let path = dir.join("Cargo.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let manifest: Table = text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let name = manifest["package"]["name"].as_str().expect("a package has a name").to_owned();
        Crate { name, dir: dir.to_owned(), manifest }
    }

    /// What the crate is built from: dependencies, build-dependencies, and both for single platforms.
    pub(crate) fn dependencies(&self) -> BTreeSet<String> {
        self.listed(&["dependencies", "build-dependencies"])
    }

    /// What only its tests, benchmarks and examples need.
    pub(crate) fn dev_dependencies(&self) -> BTreeSet<String> {
        self.listed(&["dev-dependencies"])
    }

    fn listed(&self, kinds: &[&str]) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let platforms = self.manifest.get("target").and_then(Value::as_table);
        let platforms = platforms.into_iter().flat_map(Table::values).filter_map(Value::as_table);
        for table in std::iter::once(&self.manifest).chain(platforms) {
            for kind in kinds {
                let dependencies = table.get(*kind).and_then(Value::as_table);
                for (name, value) in dependencies.into_iter().flatten() {
                    let renamed = value.get("package").and_then(Value::as_str);
                    names.insert(renamed.unwrap_or(name).to_owned());
                }
            }
        }
        names
    }

    pub(crate) fn uses_workspace_lints(&self) -> bool {
        let lints = self.manifest.get("lints").and_then(|l| l.get("workspace"));
        lints.and_then(Value::as_bool) == Some(true)
    }

    /// All `.rs` files under a directory of the crate, sorted.
    pub(crate) fn files(&self, under: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.dir.join(under), &mut files);
        files.sort();
        files
    }

    pub(crate) fn sources(&self, under: &str) -> Vec<Source> {
        self.files(under).iter().map(|path| Source::read(path)).collect()
    }

    /// Files that some target reaches by `mod`.
    pub(crate) fn compiled(&self) -> BTreeSet<PathBuf> {
        let mut compiled = BTreeSet::new();
        for root in self.target_roots() {
            reach(&root, true, &mut compiled);
        }
        compiled
    }

    fn target_roots(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.dir.join("src/lib.rs"), self.dir.join("src/main.rs"), self.dir.join("build.rs")];
        let package = &self.manifest["package"];
        for (dir, switch, table) in [
            ("src/bin", "autobins", "bin"),
            ("tests", "autotests", "test"),
            ("benches", "autobenches", "bench"),
            ("examples", "autoexamples", "example"),
        ] {
            if package.get(switch).and_then(Value::as_bool) != Some(false) {
                roots.extend(found_targets(&self.dir.join(dir)));
            }
            let named = self.manifest.get(table).and_then(Value::as_array).into_iter().flatten();
            let paths = named.filter_map(|t| t.get("path").and_then(Value::as_str));
            roots.extend(paths.map(|p| self.dir.join(p)));
        }
        roots.retain(|r| r.is_file());
        roots
    }
}

/// What cargo finds by itself: `*.rs` and `*/main.rs`.
fn found_targets(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|e| e.path());
    entries
        .map(|path| if path.is_dir() { path.join("main.rs") } else { path })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The same path with every `..` reverted.
fn without_dots(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::Normal(_) => whole.push(part),
        }
        whole
    })
}

fn reach(file: &Path, root: bool, compiled: &mut BTreeSet<PathBuf>) {
    if !file.is_file() || !compiled.insert(file.to_owned()) {
        return;
    }
    let dir = file.parent().expect("a file is in a directory");
    let own = root || file.file_name().is_some_and(|n| n == "mod.rs");
    let below = if own { dir.to_owned() } else { file.with_extension("") };
    for module in Source::read(file).modules().iter().filter(|m| m.elsewhere) {
        if let Some(path) = &module.path {
            // A file named by `path` keeps its modules beside itself, as a `mod.rs` does.
            reach(&without_dots(&dir.join(path)), true, compiled);
        } else {
            reach(&below.join(format!("{}.rs", module.name)), false, compiled);
            reach(&below.join(&module.name).join("mod.rs"), false, compiled);
        }
    }
}

/// All `.rs` files under a directory, but for what was built there.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(dir, &mut files);
    files.retain(|path| !path.strip_prefix(dir).is_ok_and(|inside| inside.iter().any(|part| part == "target")));
    files
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}
