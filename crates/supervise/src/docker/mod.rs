//! Containers of Docker, through its API on a Unix socket.
//!
//! A container is one more way into a sandbox (`shim::container`): an agent's input and output use the same
//! pipes as without one, and never go through Docker. Invariant: every container has [`LOOP_LABEL`], so that a later
//! process finds and removes it, and it ends when its first process ends.

mod api;
mod body;
mod probe;

use std::path::Path;

pub(crate) use api::Daemon;
pub use api::DockerError;
pub(crate) use body::{Start, create_body};
pub use probe::{DockerFacts, docker_version, probe_docker};

/// The label with the id of the loop that a container belongs to.
pub const LOOP_LABEL: &str = "windlass.loop";

/// A container that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundContainer {
    pub id: String,
    /// Docker's word: created, running, exited …
    pub state: String,
}

/// The containers of a loop, in whatever state.
pub fn find_containers(socket: &Path, loop_id: &str) -> Result<Vec<FoundContainer>, DockerError> {
    let daemon = Daemon::at(socket);
    blocking(async { daemon.containers(LOOP_LABEL, loop_id).await })
}

/// Removes the containers of a loop, running or not, and returns their ids.
pub fn remove_containers(socket: &Path, loop_id: &str) -> Result<Vec<String>, DockerError> {
    let daemon = Daemon::at(socket);
    blocking(async {
        let mut removed = Vec::new();
        for found in daemon.containers(LOOP_LABEL, loop_id).await? {
            daemon.remove(&found.id).await?;
            removed.push(found.id);
        }
        Ok(removed)
    })
}

/// For callers without a runtime, and for those that are in one and may wait.
fn blocking<T: Send>(work: impl Future<Output = Result<T, DockerError>> + Send) -> Result<T, DockerError> {
    let run = || -> Result<T, DockerError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(DockerError::Own)?;
        runtime.block_on(work)
    };
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|_| Err(DockerError::Own(std::io::Error::other("it panicked"))))
}
