//! The sandbox of a new loop: what was requested, held against what this machine can do.

use windlass_core::sandbox::{DockerSpec, NetworkAccess, SandboxLevel, SandboxSpec};

use crate::config::keys::Settings;
use crate::config::origin::Origin;
use crate::config::profiles::Profile;
use crate::config::usage::UsageError;
use crate::config::values::lists::Locations;
use crate::config::values::words::Sandbox;

/// Which sandboxes this machine supports. The caller that creates a loop probes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SandboxSupport {
    /// Not probed.
    #[default]
    Unknown,
    Works {
        backend: String,
    },
    /// A container from the requested image runs.
    Docker(DockerSpec),
    Missing {
        reason: String,
        fix: String,
    },
}

/// The loop's sandbox. An explicitly requested level that is not available is an error. So is `auto` without any sandbox,
/// unless the user accepted that for this project.
pub(in crate::config) fn sandbox(
    settings: &Settings,
    support: &SandboxSupport,
    agreed_to_none: bool,
    notes: &mut Vec<String>,
) -> Result<SandboxSpec, UsageError> {
    let asked = settings.sandbox.value.unwrap_or(Sandbox::Auto);
    let level = match asked {
        Sandbox::Auto | Sandbox::Workspace => SandboxLevel::Workspace,
        Sandbox::ReadOnly => SandboxLevel::ReadOnly,
        Sandbox::Docker => SandboxLevel::Docker,
        Sandbox::Off => SandboxLevel::Off,
    };
    let network = settings.network.value.unwrap_or_default();
    let missing = match (level, support) {
        (SandboxLevel::Off, _) => None,
        (_, SandboxSupport::Works { backend }) => {
            let backend = Some(backend.clone());
            let spec = SandboxSpec { backend, network, hosts: hosts(settings), ..places(level, settings) };
            warn_of_sockets(&spec, notes);
            return Ok(spec);
        }
        (_, SandboxSupport::Docker(docker)) => {
            let docker = Some(docker.clone());
            let backend = Some("docker".to_owned());
            let spec = SandboxSpec { backend, docker, network, hosts: hosts(settings), ..places(level, settings) };
            warn_of_sockets(&spec, notes);
            return Ok(spec);
        }
        (_, SandboxSupport::Missing { reason, fix }) => Some((reason.clone(), fix.clone())),
        (_, SandboxSupport::Unknown) => {
            Some(("the sandbox was not probed".to_owned(), "run 'windlass doctor'".to_owned()))
        }
    };
    if let Some((reason, fix)) = missing.clone().filter(|_| asked != Sandbox::Auto) {
        return Err(UsageError::NoSandbox { level: level.name(), reason, fix });
    }
    if network != NetworkAccess::Allow {
        let reason = missing.map_or("the sandbox is off".to_owned(), |(reason, _)| reason);
        return Err(UsageError::NetworkOpen { origin: settings.network.origin.clone(), reason });
    }
    if let Some((reason, fix)) = missing {
        if !agreed_to_none {
            return Err(UsageError::Unconfined { reason, fix });
        }
        notes.push(format!("sandbox: off — {reason}: the agent and gates run with your full permissions; {fix}"));
    }
    Ok(SandboxSpec::default())
}

/// Parts of the names of sockets whose service grants the permissions of root or of the user.
const SERVES_ALL: [(&str, &str); 10] = [
    ("docker", "root"),
    ("containerd", "root"),
    ("crio", "root"),
    ("libvirt", "root"),
    ("lxd", "root"),
    ("incus", "root"),
    ("podman", "you"),
    ("bus", "you"),
    ("systemd", "you"),
    ("tmux", "you"),
];

/// Warns about such sockets.
fn warn_of_sockets(spec: &SandboxSpec, notes: &mut Vec<String>) {
    for path in &spec.sockets {
        let lower = path.to_ascii_lowercase();
        let all = SERVES_ALL.iter().find(|(part, _)| lower.contains(part));
        notes.extend(all.map(|(_, who)| {
            format!(
                "sandbox: sandbox_sockets allows {path}; an agent that connects to it can do everything that {who} can"
            )
        }));
    }
}

/// The paths from the settings.
fn places(level: SandboxLevel, settings: &Settings) -> SandboxSpec {
    let list = |list: &Option<Locations>| list.as_ref().map(|list| list.get().to_vec()).unwrap_or_default();
    SandboxSpec {
        level,
        readable: list(&settings.sandbox_readable.value),
        writable: list(&settings.sandbox_writable.value),
        denied: list(&settings.sandbox_denied.value),
        sockets: list(&settings.sandbox_sockets.value),
        ..SandboxSpec::default()
    }
}

fn hosts(settings: &Settings) -> Vec<String> {
    match settings.network.value.unwrap_or_default() {
        NetworkAccess::List => {
            let mut hosts = settings.network_hosts.value.clone().unwrap_or_default().get().to_vec();
            if hosts.iter().any(|host| host == "@models") {
                // A project's own profile does not open the network: nobody is asked about one that the loop does not use.
                let own = |agent: &&Profile| !matches!(agent.origins.get("about"), Some(Origin::ProjectFile { .. }));
                let profiles = settings.agents.values().filter(own).filter_map(|agent| agent.profile.about.as_ref());
                hosts.extend(profiles.flat_map(|about| about.hosts.clone()));
            }
            hosts
        }
        NetworkAccess::Allow | NetworkAccess::Deny => Vec::new(),
    }
}

/// The container that the settings request, not probed.
pub fn asked_container(settings: &Settings, socket: &std::path::Path) -> SandboxSpec {
    let socket = socket.to_string_lossy().into_owned();
    let docker = settings.docker_image.value.clone().map(|image| DockerSpec { image, socket, rootless: false });
    SandboxSpec { docker, ..places(SandboxLevel::Docker, settings) }
}
