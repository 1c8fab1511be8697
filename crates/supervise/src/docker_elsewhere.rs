//! Replaces `docker` on systems other than Linux, where containers run in a virtual machine and cannot get our pipes.

use std::path::Path;

use crate::sandbox::{Docker, SandboxPolicy, Unavailable};

pub const LOOP_LABEL: &str = "windlass.loop";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DockerFacts {
    pub rootless: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundContainer {
    pub id: String,
    pub state: String,
}

#[derive(Debug, thiserror::Error)]
pub enum DockerError {}

impl DockerError {
    pub fn is_absence(&self) -> bool {
        true
    }
}

pub fn docker_version(_socket: &Path) -> Result<String, Unavailable> {
    let reason = "containers are supported only on Linux".to_owned();
    Err(Unavailable { reason, fix: "use --sandbox workspace".to_owned() })
}

pub fn probe_docker(docker: &Docker, _policy: &SandboxPolicy) -> Result<DockerFacts, Unavailable> {
    docker_version(&docker.socket).map(|_| DockerFacts { rootless: false })
}

pub fn find_containers(_socket: &Path, _loop_id: &str) -> Result<Vec<FoundContainer>, DockerError> {
    Ok(Vec::new())
}

pub fn remove_containers(_socket: &Path, _loop_id: &str) -> Result<Vec<String>, DockerError> {
    Ok(Vec::new())
}
