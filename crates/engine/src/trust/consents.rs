//! What was agreed to, one file for each repository in the user's data directory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use windlass_agents::PrivateFile;

use crate::data::{DataDir, private_files};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Consents {
    project: PathBuf,
    /// The contents that were agreed to, by file: a branch may have another version than the checkout.
    files: BTreeMap<String, BTreeSet<String>>,
    /// Loops may run without a sandbox on this machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) no_sandbox: bool,
}

impl Consents {
    /// Something unreadable is not a consent.
    pub(super) fn read(data: &DataDir, project: &Path) -> Self {
        let none = || Self { project: project.to_owned(), ..Self::default() };
        let Ok(text) = std::fs::read_to_string(place(data, project)) else { return none() };
        serde_json::from_str::<Self>(&text).ok().filter(|read| read.project == project).unwrap_or_else(none)
    }

    pub(super) fn has(&self, file: &str, sha256: &str) -> bool {
        self.files.get(file).is_some_and(|known| known.contains(sha256))
    }

    pub(super) fn add(&mut self, file: &str, sha256: &str) {
        self.files.entry(file.to_owned()).or_default().insert(sha256.to_owned());
    }

    pub(super) fn write(&self, data: &DataDir) -> io::Result<()> {
        let path = place(data, &self.project);
        let beside = path.with_extension("new");
        let content = serde_json::to_string_pretty(self)?;
        private_files(&[PrivateFile { path: beside.clone(), content }])?;
        std::fs::rename(beside, path)
    }

    pub(super) fn remove(data: &DataDir, project: &Path) -> io::Result<bool> {
        match std::fs::remove_file(place(data, project)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn place(data: &DataDir, project: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    data.trust().join(format!("{}.json", super::sha256(project.as_os_str().as_bytes())))
}
