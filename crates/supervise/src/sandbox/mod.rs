//! What a process tree may see and change, as data, and the programs that see to it.
//!
//! A [`SandboxPolicy`] is a list of places. With bubblewrap and Docker a tree sees these and nothing else of the machine's
//! files; seatbelt has no mounts, so there they are exceptions from "read all, write nothing". Invariant: of two places
//! the deeper one decides, so what is hidden inside a writable place stays hidden. All paths are absolute and without
//! symbolic links; the caller that makes a policy ensures that.

#[cfg(target_os = "linux")]
mod bwrap;
#[cfg(target_os = "linux")]
mod copies;
#[cfg(target_os = "linux")]
mod entry;
#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
mod probe;
// Only macOS can run it; its text is tested everywhere.
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod view;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use bwrap::{CAPABILITIES_OF_ROOT, arguments as bwrap_arguments};
#[cfg(target_os = "linux")]
pub(crate) use copies::fill as fill_copies;
#[cfg(target_os = "linux")]
pub(crate) use entry::{enter, namespaces};
#[cfg(target_os = "linux")]
pub(crate) use layers::Layers;
#[cfg(target_os = "macos")]
pub(crate) use seatbelt::profile as seatbelt_profile;
#[cfg(target_os = "linux")]
pub(crate) use seccomp::restrict;
#[cfg(target_os = "linux")]
pub(crate) use view::View;

/// The network access of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    pub backend: Backend,
    pub network: Network,
    pub places: Vec<Place>,
}

/// What enforces a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Backend {
    /// The program `bwrap`, with a system call filter on top.
    Bubblewrap {
        program: PathBuf,
    },
    /// `sandbox-exec` of macOS.
    Seatbelt,
    Docker(Docker),
}

/// A container, made through the daemon behind this socket. It sees of the machine only the places of the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Docker {
    pub socket: PathBuf,
    pub image: String,
    /// The daemon is not root's, and so root inside is the user outside.
    pub rootless: bool,
    /// By which the container is found again; [`LOOP_LABEL`](crate::LOOP_LABEL) among them.
    pub labels: BTreeMap<String, String>,
    /// A directory of the owner's, with a short path, in which a socket is made for each start.
    pub doors: PathBuf,
}

impl Backend {
    pub fn name(&self) -> &'static str {
        match self {
            Backend::Bubblewrap { .. } => "bubblewrap",
            Backend::Seatbelt => "seatbelt",
            Backend::Docker(_) => "docker",
        }
    }

    /// What the tree sees instead of this machine, if it does.
    pub(crate) fn image(&self) -> Option<&str> {
        match self {
            Backend::Bubblewrap { .. } | Backend::Seatbelt => None,
            Backend::Docker(docker) => Some(&docker.image),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Network {
    /// As outside.
    Allow,
    /// None, not even to this machine.
    Deny,
    /// None but a proxy behind this Unix socket.
    List {
        socket: PathBuf,
        /// Its address inside, on the sandbox's own loopback.
        proxy_port: u16,
        /// Ports of this machine's own address that are listed; they are found inside at the same place.
        local_ports: Vec<u16>,
    },
}

/// What is seen at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    pub path: PathBuf,
    pub access: Access,
    /// What is visible instead, if the system supports it: for [`Access::Layered`] the directory
    /// with the changes, for [`Access::Link`] the link's target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
}

impl Place {
    pub fn new(path: impl Into<PathBuf>, access: Access) -> Self {
        Self { path: path.into(), access, from: None }
    }

    /// What is seen there.
    #[cfg(target_os = "linux")]
    pub(crate) fn source(&self) -> PathBuf {
        match (&self.from, self.access) {
            (Some(kept), Access::Layered) => kept.join(MERGED),
            (Some(from), _) => from.clone(),
            (None, _) => self.path.clone(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// An empty directory is seen in its place.
    HiddenDir,
    /// Nothing can be read from it.
    HiddenFile,
    /// Seen as it is, also below a hidden or writable place.
    ReadOnly,
    Writable,
    /// A directory that seems writable: changes go to the directory named by `from`, and the real one stays as it is. Where
    /// the system has no overlays, a copy is seen instead, or an empty directory if that would be too large.
    Layered,
    /// A symbolic link. Only bubblewrap makes it.
    Link,
}

/// Below the directory of a layered path: the view, the changes, and the kernel's work directory.
#[cfg(target_os = "linux")]
pub(crate) const MERGED: &str = "merged";
/// The directories that a layered place needs, to be made by the caller.
pub const LAYERS: [&str; 3] = ["merged", "upper", "work"];

/// Why no sandbox is available on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    pub reason: String,
    /// What to do about it, as a hint.
    pub fix: String,
}

/// The backend that works here, found by trying it. `search_path` is the user's `PATH`.
#[cfg(target_os = "linux")]
pub fn probe_sandbox(search_path: &str) -> Result<Backend, Unavailable> {
    probe::bubblewrap(search_path)
}

/// The same without a probe, for callers that probed before.
pub fn find_sandbox(search_path: &str) -> Result<Backend, Unavailable> {
    #[cfg(target_os = "linux")]
    return probe::find_bubblewrap(search_path).map(|program| Backend::Bubblewrap { program });
    #[cfg(not(target_os = "linux"))]
    probe_sandbox(search_path)
}

#[cfg(target_os = "macos")]
pub fn probe_sandbox(_search_path: &str) -> Result<Backend, Unavailable> {
    if std::path::Path::new(SANDBOX_EXEC).exists() {
        return Ok(Backend::Seatbelt);
    }
    Err(Unavailable {
        reason: format!("{SANDBOX_EXEC} does not exist"),
        fix: "run without one: --sandbox off".to_owned(),
    })
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn probe_sandbox(_search_path: &str) -> Result<Backend, Unavailable> {
    Err(Unavailable {
        reason: "Windlass supports no sandbox on this system".to_owned(),
        fix: "run without one: --sandbox off".to_owned(),
    })
}

#[cfg(target_os = "macos")]
pub(crate) const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

impl SandboxPolicy {
    /// Whether a read-only path protects a part of a writable one, or replaces something that must exist.
    #[cfg(target_os = "linux")]
    pub(crate) fn seals(&self, place: &Place) -> bool {
        let above = self.places.iter().filter(|above| above.path != place.path && place.path.starts_with(&above.path));
        let nearest = above.max_by_key(|above| above.path.components().count());
        place.from.is_some()
            || nearest.is_some_and(|above| match above.access {
                Access::Writable => above.from.is_none(),
                Access::Layered => true,
                Access::HiddenDir | Access::HiddenFile | Access::ReadOnly | Access::Link => false,
            })
    }

    /// The paths, parents first; the last rule for a path wins.
    pub(crate) fn ordered(&self) -> Vec<&Place> {
        let mut places: Vec<&Place> = Vec::new();
        for place in &self.places {
            places.retain(|known| known.path != place.path);
            places.push(place);
        }
        places.sort_by_key(|place| place.path.components().count());
        places
    }
}
