//! What of the driver's errors kept it from trying something. It is told to the machine, which retries and then pauses;
//! the rest is Windlass's own failure.

use std::error::Error;

use windlass_core::trouble::{Trouble, TroubleKind};
use windlass_supervise::{SpawnFailure, SpawnFailureKind};

use super::DriveError;
use windlass_workspace::WorkspaceError;

pub(super) fn of_error(error: &DriveError) -> Option<Trouble> {
    let kind = match error {
        DriveError::NotTried(trouble) => return Some(trouble.clone()),
        DriveError::Sandbox(_) => TroubleKind::Sandbox,
        DriveError::Supervise(_) => TroubleKind::Supervisor,
        DriveError::DiskFull { .. } => TroubleKind::Disk,
        DriveError::Transcript { .. } | DriveError::Places(_) => TroubleKind::Files,
        DriveError::Workspace(WorkspaceError::File { .. }) => TroubleKind::Files,
        DriveError::Workspace(_) => TroubleKind::Git,
        DriveError::Journal(_) | DriveError::Store(_) | DriveError::Launch(_) | DriveError::Lost(_) => return None,
    };
    let kind = if is_out_of_space(error) { TroubleKind::Disk } else { kind };
    Some(Trouble { kind, message: with_causes(error) })
}

/// A command that could not be started for a reason that is neither its own nor the agent's.
pub(super) fn of_spawn(failure: &SpawnFailure) -> Option<Trouble> {
    let kind = match failure.kind {
        SpawnFailureKind::SandboxUnavailable => TroubleKind::Sandbox,
        SpawnFailureKind::ContainmentUnavailable => TroubleKind::Supervisor,
        SpawnFailureKind::DirectoryNotFound
        | SpawnFailureKind::DirectoryNotUsable
        | SpawnFailureKind::StdinUnreadable
        | SpawnFailureKind::OutputUnwritable => TroubleKind::Files,
        SpawnFailureKind::ProgramNotFound
        | SpawnFailureKind::ProgramNotPermitted
        | SpawnFailureKind::ProgramNotRunnable
        | SpawnFailureKind::InterpreterNotFound
        | SpawnFailureKind::Other => return None,
    };
    Some(Trouble { kind, message: failure.message.clone() })
}

/// The supervising process went away with the command it had started.
pub(super) fn supervisor_gone() -> Trouble {
    let message = "the supervising process was killed".to_owned();
    Trouble { kind: TroubleKind::Supervisor, message }
}

/// What the command printed could not be written.
pub(super) fn of_write(out_of_space: bool, message: &str) -> Trouble {
    let kind = if out_of_space { TroubleKind::Disk } else { TroubleKind::Files };
    Trouble { kind, message: message.to_owned() }
}

fn causes(error: &DriveError) -> Vec<&(dyn Error + 'static)> {
    let mut chain: Vec<&(dyn Error + 'static)> = Vec::new();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(cause) = next {
        chain.push(cause);
        next = cause.source();
    }
    chain
}

fn is_out_of_space(error: &DriveError) -> bool {
    causes(error)
        .into_iter()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|cause| cause.kind() == std::io::ErrorKind::StorageFull)
}

fn with_causes(error: &DriveError) -> String {
    let mut said: Vec<String> = Vec::new();
    for cause in causes(error).into_iter().map(ToString::to_string) {
        // A transparent error says what its cause says.
        if said.last() != Some(&cause) {
            said.push(cause);
        }
    }
    said.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_named_whatever_was_being_done() {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = WorkspaceError::File { action: "write", path: "/x".into(), source };
        let trouble = of_error(&error.into()).unwrap();
        assert_eq!(trouble.kind, TroubleKind::Disk);
        assert!(trouble.message.starts_with("could not write /x: "), "{}", trouble.message);
    }

    #[test]
    fn lost_part_of_the_engine_is_not_retried() {
        assert_eq!(of_error(&DriveError::Lost("a bug".into())), None);
    }
}
