//! What keeps an agent's configuration from running inside the engine's git.
//!
//! An agent can edit `.git/config`, `.gitattributes`, hooks and nested repositories. Settings that run a program or
//! change what a command means are overridden on every call, at git's highest precedence. What cannot be overridden
//! by one fixed name are *drivers* (`filter.<name>.…`, `merge.<name>.driver`): those in the user's own global
//! configuration stay in force, so git-lfs works; those in the repository's configuration are frozen when the
//! workspace is created. Invariant: a driver that was not in the repository's configuration then does not run, and
//! one that was runs as it was then.
//!
//! git-lfs runs outside the agent's sandbox and past its network rule, and reads an address from `.lfsconfig` in the files or the
//! commit. Invariant: the engine's git connects to no address that an agent wrote there.
//!
//! Not closed here: an unsandboxed agent can edit the user's global configuration or the programs on the path, and
//! a process it left behind could change the configuration between this check and git's reading of it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Git, GitError, links_in};

/// Overrides for every call.
pub(super) const PINNED: &[(&str, &str)] = &[
    // Programs that git would start.
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.alternateRefsCommand", "true"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("protocol.ext.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    // What the words and files mean.
    ("core.abbrev", "no"),
    ("core.quotePath", "false"),
    ("core.splitIndex", "false"),
    // Which files changed: what a program does to the times of a file must not hide it.
    ("core.trustctime", "true"),
    ("core.checkStat", "default"),
    ("core.ignoreStat", "false"),
    ("core.untrackedCache", "false"),
    ("core.safecrlf", "false"),
    ("index.sparse", "false"),
    ("index.skipHash", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("user.useConfigOnly", "true"),
    ("advice.addEmbeddedRepo", "false"),
    ("advice.detachedHead", "false"),
    // The engine names each directory itself; without this a container's bind mount would be refused.
    ("safe.directory", "*"),
];

/// In the place of a planted merge driver: git's own three-way merge of text.
const TEXT_MERGE: &str = "git merge-file --marker-size=%L %A %O %B";

/// Where git-lfs reads its server's address.
const LFS_CONFIG: &str = ".lfsconfig";
/// Content on this machine is used; a file whose content is elsewhere stays a pointer, as in a clone without access to it.
const LFS_FROM_HERE: [(&str, &str); 2] = [("lfs.url", "file:///dev/null/none"), ("lfs.skipdownloaderrors", "true")];

impl Git {
    /// The same without downloads by git-lfs.
    #[must_use]
    pub(crate) fn without_downloads(&self) -> Self {
        self.clone().overriding(LFS_FROM_HERE.map(|(key, value)| (key.to_owned(), value.to_owned())).into())
    }

    /// The same for writing the files of a commit that an agent may have made on this base.
    pub(crate) async fn for_files_of(&self, base: &str, commit: &str) -> Result<Self, GitError> {
        if base == commit {
            return Ok(self.clone());
        }
        let compared = self.call(&["diff-tree", "--quiet", base, commit, "--", LFS_CONFIG]).answers(&[1]).run().await?;
        Ok(if compared.code == 0 { self.clone() } else { self.without_downloads() })
    }
}

/// The repository's own configuration as it was when the workspace was created.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TrustedConfig {
    /// Files that held it, with a fingerprint of each (absent files included).
    files: Vec<(PathBuf, String)>,
    /// Drivers by key, with their values.
    drivers: BTreeMap<String, String>,
    /// The configuration includes other files, which can change unnoticed: it is read again each time.
    includes: bool,
    /// Links in the git directories: the user's own.
    #[serde(default)]
    links: Vec<PathBuf>,
    /// The configured hooks directory, if any.
    #[serde(default)]
    hooks_path: Option<String>,
}

impl TrustedConfig {
    /// Reads what is configured now. Called once, before any agent ran in the workspace.
    pub(crate) async fn freeze(git: &Git) -> Result<Self, GitError> {
        let files = config_files(git).into_iter().map(|file| (file.clone(), fingerprint(&file))).collect();
        let entries = list(git).await?;
        let own = || entries.iter().filter(|entry| entry.own);
        let includes = own().any(|entry| entry.key.starts_with("include.") || entry.key.starts_with("includeif."));
        let drivers =
            own().filter(|entry| is_driver(&entry.key)).map(|entry| (entry.key.clone(), entry.value.clone())).collect();
        let hooks_path = entries.iter().rev().find(|entry| entry.key == "core.hookspath");
        let hooks_path = hooks_path.map(|entry| entry.value.clone());
        Ok(Self { files, drivers, includes, links: links_of(git.git_dir(), git.common_dir()), hooks_path })
    }

    /// The configured hooks directory, if any; it may be relative to the top of a checkout.
    pub(crate) fn hooks_path(&self) -> Option<&Path> {
        self.hooks_path.as_deref().filter(|path| !path.is_empty() && !path.starts_with('~')).map(Path::new)
    }

    /// A link or pipe in the git directories that was not there then.
    pub(crate) fn planted_link(&self, git_dir: &Path, common_dir: &Path) -> Option<PathBuf> {
        links_of(git_dir, common_dir).into_iter().find(|link| !self.links.contains(link))
    }

    /// Overrides that put the drivers back to what they were. Costs no process while the files are unchanged.
    pub(crate) async fn overrides(&self, git: &Git) -> Result<Vec<(String, String)>, GitError> {
        let unchanged = !self.includes && self.files.iter().all(|(file, seen)| fingerprint(file) == *seen);
        if unchanged {
            return Ok(Vec::new());
        }
        let entries = list(git).await?;
        let mut overrides = self.drivers.clone();
        for entry in entries.iter().filter(|entry| entry.own && is_driver(&entry.key)) {
            if self.drivers.contains_key(&entry.key) {
                continue;
            }
            let users = entries.iter().rev().find(|other| !other.own && other.key == entry.key);
            let value = match users {
                Some(users) => users.value.clone(),
                None if entry.key.ends_with(".required") => "false".to_owned(),
                None if entry.key.ends_with(".driver") => TEXT_MERGE.to_owned(),
                None => String::new(),
            };
            overrides.insert(entry.key.clone(), value);
        }
        Ok(overrides.into_iter().collect())
    }
}

fn links_of(git_dir: &Path, common_dir: &Path) -> Vec<PathBuf> {
    let mut links = links_in(git_dir);
    if common_dir != git_dir {
        links.extend(links_in(common_dir));
    }
    links
}

struct ConfigEntry {
    /// From the repository, not from the user or the system.
    own: bool,
    key: String,
    value: String,
}

fn is_driver(key: &str) -> bool {
    let filter = key.starts_with("filter.")
        && [".clean", ".smudge", ".process", ".required"].iter().any(|end| key.ends_with(end));
    filter || (key.starts_with("merge.") && key.ends_with(".driver"))
}

async fn list(git: &Git) -> Result<Vec<ConfigEntry>, GitError> {
    let output = git.run(&["config", "--list", "--includes", "--show-scope", "-z"]).await?;
    let mut fields = output.split(|&byte| byte == 0);
    let mut entries = Vec::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let entry = String::from_utf8_lossy(entry);
        let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
        // The engine's own overrides come in at the scope "command".
        if scope != b"command" {
            let own = matches!(scope, b"local" | b"worktree");
            entries.push(ConfigEntry { own, key: key.to_owned(), value: value.to_owned() });
        }
    }
    Ok(entries)
}

/// Settings from the repository's own configuration.
pub(crate) async fn own_settings(git: &Git) -> Result<Vec<(String, String)>, GitError> {
    let entries = list(git).await?;
    Ok(entries.into_iter().filter(|entry| entry.own).map(|entry| (entry.key, entry.value)).collect())
}

fn config_files(git: &Git) -> [PathBuf; 2] {
    [git.common_dir().join("config"), git.git_dir().join("config.worktree")]
}

fn fingerprint(file: &Path) -> String {
    match std::fs::read(file) {
        Ok(bytes) => {
            let mut hasher = DefaultHasher::new();
            hasher.write(&bytes);
            format!("{}-{:016x}", bytes.len(), hasher.finish())
        }
        Err(_) => "absent".to_owned(),
    }
}
