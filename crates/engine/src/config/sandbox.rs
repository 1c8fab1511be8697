//! The sandbox of a new loop: what was asked for, held against what this machine can do.

use windlass_core::sandbox::{NetworkAccess, SandboxLevel, SandboxSpec};

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
    Missing {
        reason: String,
        fix: String,
    },
}

/// The loop's sandbox. What was asked for by name and cannot be had is an error; `auto` takes what there is.
pub(super) fn sandbox(
    settings: &Settings,
    support: &SandboxSupport,
    notes: &mut Vec<String>,
) -> Result<SandboxSpec, UsageError> {
    let asked = settings.sandbox.value.unwrap_or(Sandbox::Auto);
    let level = match asked {
        Sandbox::Auto | Sandbox::Workspace => SandboxLevel::Workspace,
        Sandbox::ReadOnly => SandboxLevel::ReadOnly,
        Sandbox::Off => SandboxLevel::Off,
    };
    let network = settings.network.value.unwrap_or_default();
    let missing = match (level, support) {
        (SandboxLevel::Off, _) => None,
        (SandboxLevel::Workspace | SandboxLevel::ReadOnly, SandboxSupport::Works { backend }) => {
            let list = |list: &Option<Locations>| list.as_ref().map(|list| list.get().to_vec()).unwrap_or_default();
            return Ok(SandboxSpec {
                level,
                backend: Some(backend.clone()),
                network,
                hosts: match network {
                    NetworkAccess::List => settings.network_hosts.value.clone().unwrap_or_default().get().to_vec(),
                    NetworkAccess::Allow | NetworkAccess::Deny => Vec::new(),
                },
                readable: list(&settings.sandbox_readable.value),
                writable: list(&settings.sandbox_writable.value),
                denied: list(&settings.sandbox_denied.value),
            });
        }
        (SandboxLevel::Workspace | SandboxLevel::ReadOnly, SandboxSupport::Missing { reason, fix }) => {
            Some((reason.clone(), fix.clone()))
        }
        (SandboxLevel::Workspace | SandboxLevel::ReadOnly, SandboxSupport::Unknown) => {
            Some(("nobody has looked what works here".to_owned(), "see `windlass doctor`".to_owned()))
        }
    };
    if network != NetworkAccess::Allow {
        let reason = missing.map_or("the sandbox is off".to_owned(), |(reason, _)| reason);
        return Err(UsageError::NetworkOpen { origin: settings.network.origin.clone(), reason });
    }
    match missing {
        Some((reason, fix)) if asked != Sandbox::Auto => {
            return Err(UsageError::NoSandbox { level: level.name(), reason, fix });
        }
        Some((reason, fix)) => {
            notes.push(format!("sandbox: off — {reason}: the agent and the gates run with your rights; {fix}"));
        }
        None => {}
    }
    Ok(SandboxSpec::default())
}
