//! Whether a container of an image can be a sandbox here, found by making one.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::api::{Daemon, OLDEST_API};
use super::{DockerError, Start, blocking, create_body};
use crate::sandbox::{Docker, SandboxPolicy, Unavailable};
use crate::spec::TreeLimits;

/// What must be known of a daemon to use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DockerFacts {
    pub rootless: bool,
}

/// The version of the daemon behind this socket.
pub fn docker_version(socket: &Path) -> Result<String, Unavailable> {
    let daemon = Daemon::at(socket);
    blocking(async { daemon.version().await }).map(|version| version.version).map_err(|error| unavailable(&error))
}

/// Queries the daemon, finds the image, and runs this program's `--version` in a container with the policy's paths.
pub fn probe_docker(docker: &Docker, policy: &SandboxPolicy) -> Result<DockerFacts, Unavailable> {
    let daemon = Daemon::at(&docker.socket);
    let tried = blocking(async { Ok(attempt(&daemon, docker, policy).await) });
    tried.unwrap_or_else(|error| Err(unavailable(&error)))
}

async fn attempt(daemon: &Daemon, docker: &Docker, policy: &SandboxPolicy) -> Result<DockerFacts, Unavailable> {
    let version = daemon.version().await.map_err(|error| unavailable(&error))?;
    if !is_new_enough(&version.api_version) {
        let (major, minor) = OLDEST_API;
        let reason = format!(
            "Docker {} is too old: it supports API version {}, but {major}.{minor} is required",
            version.version, version.api_version
        );
        return Err(Unavailable { reason, fix: "update Docker to 19.03 or later".to_owned() });
    }
    if version.os != "linux" {
        let reason = format!("Docker runs {} containers, not Linux containers", version.os);
        return Err(Unavailable { reason, fix: "switch it to Linux containers".to_owned() });
    }
    let image = &docker.image;
    if !daemon.has_image(image).await.map_err(|error| unavailable(&error))? {
        let reason = format!("the image '{image}' is not on this machine");
        return Err(Unavailable { reason, fix: format!("pull it first: docker pull {image}") });
    }
    let rootless = daemon.is_rootless().await.map_err(|error| unavailable(&error))?;
    let docker = Docker { rootless, ..docker.clone() };
    let own_program = std::env::current_exe().map_err(|error| unavailable(&DockerError::Own(error)))?;
    let said = say_version(daemon, &docker, policy, &own_program).await.map_err(|error| unavailable(&error))?;
    match said {
        Ok(()) => Ok(DockerFacts { rootless }),
        Err(words) => {
            let reason = format!("{} does not run in the image '{image}': {words}", own_program.display());
            let fix = "use an image for this machine's processor, with the GNU C library, as new as the one Windlass was \
                       built with (such as debian:12 or ubuntu:24.04), and a daemon on this very machine";
            Err(Unavailable { reason, fix: fix.to_owned() })
        }
    }
}

/// Its words, if they are not those of this program.
async fn say_version(
    daemon: &Daemon,
    docker: &Docker,
    policy: &SandboxPolicy,
    own_program: &Path,
) -> Result<Result<(), String>, DockerError> {
    let body = create_body(&Start {
        docker,
        policy,
        own_program,
        args: vec!["--version".to_owned()],
        shown: Vec::new(),
        user: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
        limits: &TreeLimits::default(),
    });
    let container = match daemon.create(&body).await {
        // A daemon elsewhere does not have our files.
        Err(DockerError::Refused { message, .. }) => return Ok(Err(message)),
        made => made?,
    };
    let lived = async {
        let words = container.listen().await?;
        let gone = container.gone().await?;
        match container.start().await {
            Err(DockerError::Refused { message, .. }) => return Ok(Err(message)),
            started => started?,
        }
        /// It prints one line.
        const PATIENCE: Duration = Duration::from_secs(30);
        let code = tokio::time::timeout(PATIENCE, gone).await.ok().flatten();
        let words = if code.is_some() { words.await.unwrap_or_default() } else { String::new() };
        Ok(match (code, words.lines().next().map(str::trim)) {
            (Some(0), Some(line)) if line.starts_with("windlass ") => Ok(()),
            (_, Some(line)) if !line.is_empty() => Err(line.to_owned()),
            (Some(code), _) => Err(format!("exited with code {code} without output")),
            (None, _) => Err("did not exit".to_owned()),
        })
    };
    let lived = lived.await;
    container.remove().await?;
    lived
}

fn is_new_enough(api_version: &str) -> bool {
    let mut parts = api_version.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= OLDEST_API
}

fn unavailable(error: &DockerError) -> Unavailable {
    let fix = match error {
        DockerError::Unreachable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            "get access (`sudo usermod -aG docker $USER`, then log in again), or use rootless Docker"
        }
        DockerError::Unreachable { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "install and start Docker, or set its socket: docker_host = \"unix:///path/to/docker.sock\""
        }
        DockerError::Unreachable { .. } => "start Docker (`sudo systemctl start docker`)",
        DockerError::Silent { .. } | DockerError::Odd(_) => "check that `docker info` works",
        DockerError::Refused { .. } => "check Docker's log",
        DockerError::Own(_) => "retry",
    };
    Unavailable { reason: error.to_string(), fix: fix.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_api_are_compared_as_numbers() {
        assert!(is_new_enough("1.40") && is_new_enough("1.100") && is_new_enough("2.0"));
        assert!(!is_new_enough("1.39") && !is_new_enough("1.9") && !is_new_enough("?"));
    }
}
