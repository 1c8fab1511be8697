//! The sandbox of a new loop: what was asked for, held against what this machine can do.

use windlass_core::sandbox::{DockerSpec, NetworkAccess, SandboxLevel, SandboxSpec};

use super::keys::Settings;
use super::lists::Locations;
use super::usage::UsageError;
use super::words::Sandbox;

/// What this machine can do, looked up by whoever makes a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SandboxSupport {
    /// Nobody has looked.
    #[default]
    Unknown,
    Works {
        backend: String,
    },
    /// A container of the image that was asked for runs.
    Docker(DockerSpec),
    Missing {
        reason: String,
        fix: String,
    },
}

/// The loop's sandbox. What was asked for by name and cannot be had is an error, and so is `auto` where there is none, unless
/// somebody agreed to that for this project.
pub(super) fn sandbox(
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
            return Ok(SandboxSpec {
                backend: Some(backend.clone()),
                network,
                hosts: hosts(settings),
                ..places(level, settings)
            });
        }
        (_, SandboxSupport::Docker(docker)) => {
            let docker = Some(docker.clone());
            let backend = Some("docker".to_owned());
            return Ok(SandboxSpec { backend, docker, network, hosts: hosts(settings), ..places(level, settings) });
        }
        (_, SandboxSupport::Missing { reason, fix }) => Some((reason.clone(), fix.clone())),
        (_, SandboxSupport::Unknown) => {
            Some(("nobody has looked what works here".to_owned(), "see `windlass doctor`".to_owned()))
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
        notes.push(format!("sandbox: off — {reason}: the agent and the gates run with your rights; {fix}"));
    }
    Ok(SandboxSpec::default())
}

/// What is said of places in the settings.
fn places(level: SandboxLevel, settings: &Settings) -> SandboxSpec {
    let list = |list: &Option<Locations>| list.as_ref().map(|list| list.get().to_vec()).unwrap_or_default();
    SandboxSpec {
        level,
        readable: list(&settings.sandbox_readable.value),
        writable: list(&settings.sandbox_writable.value),
        denied: list(&settings.sandbox_denied.value),
        ..SandboxSpec::default()
    }
}

fn hosts(settings: &Settings) -> Vec<String> {
    match settings.network.value.unwrap_or_default() {
        NetworkAccess::List => settings.network_hosts.value.clone().unwrap_or_default().get().to_vec(),
        NetworkAccess::Allow | NetworkAccess::Deny => Vec::new(),
    }
}

/// The container that the settings ask for, untried.
pub fn asked_container(settings: &Settings, socket: &std::path::Path) -> SandboxSpec {
    let socket = socket.to_string_lossy().into_owned();
    let docker = settings.docker_image.value.clone().map(|image| DockerSpec { image, socket, rootless: false });
    SandboxSpec { docker, ..places(SandboxLevel::Docker, settings) }
}
