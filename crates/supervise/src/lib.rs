//! Process trees: start one, stream it to files, end it whole.
//!
//! # Theory of operation
//!
//! ```text
//! engine ──control──▶ shim ──────socket──────▶ reaper ──▶ agent ──▶ whatever it starts
//!        ◀──status───   │ ◀──── stdout, stderr pipes ─────┘
//!                       └──▶ transcript files, exit record
//! ```
//!
//! The engine never starts an agent itself. It starts its own binary again as a small *shim*
//! ([`shim::main`], without runtime or threads) and talks to it over two pipes. The shim writes the
//! agent's bytes to the transcript files and, when everything has ended, an exit record. So an engine
//! that is killed at any moment loses no output and no ending; and because its end of the control
//! pipe closes with it, the shim ends the tree at once.
//!
//! Between shim and agent is a *reaper*: process 1 of a PID namespace if the machine supports it
//! (its death is the death of everything inside), else a subreaper that walks its descendants, else
//! the leader of a process group. [`probe`] reports which of these work. Control groups are separate: they
//! limit a tree's resources ([`cgroup`]), and a PID namespace ends it.
//!
//! A process may live through several turns. Its standard input is then a pipe that the engine feeds
//! through the shim. When the engine ends a turn, the shim first writes that turn's record
//! and answers then; until the next turn starts it reads no output, so what comes late waits in the pipe
//! and belongs to the next turn.
//!
//! With a [`sandbox::SandboxPolicy`] the reaper and all below it see and change only what that allows: bubblewrap or a
//! container is between shim and reaper then, and nothing else differs.
//!
//! Invariant: whichever process dies first (agent, reaper, shim, or engine), the tree ends, and a stream
//! of [`ProcessEvent`]s ends with exactly one of `Closed` and `Lost`. A missing word is never success.

pub mod cgroup;
pub mod launcher;
pub mod record;
pub mod resources;
pub mod sandbox;
pub mod shim;
pub mod spec;
pub mod sweep;

mod contain;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
pub mod docker;
#[cfg(not(target_os = "linux"))]
#[path = "docker_elsewhere.rs"]
pub mod docker;
mod nursery;
#[cfg(target_os = "linux")]
mod process_cap;
mod sys;
mod wire;

pub use cgroup::{Group, GroupLimits, find_cgroups};
pub use contain::{Containment, Rung, probe};
pub use launcher::{Launcher, ProcessEvent, Running, StartError};
pub use record::{
    Ended, EndedBy, ExitRecord, RecordError, SpawnFailure, SpawnFailureKind, read_exit_record, settled_exit_record,
};
pub use resources::{Machine, machine, means, means_by_default};
pub use sandbox::{
    Access, Backend, Docker, LAYERS, Network, Place, SandboxPolicy, Unavailable, find_sandbox, probe_sandbox,
};
pub use spec::{ContainmentRequest, ShimSpec, TreeLimits, TurnPaths};
pub use sweep::{find_tagged, sweep};

/// For the fuzzer: the readers of what engine and shim send each other.
#[cfg(fuzzing)]
pub mod fuzzing {
    use crate::wire::{Order, Status};

    /// Reads bytes as both ends would. What was read is written and read as the same.
    pub fn read_everything(bytes: &[u8]) {
        let mut orders = bytes.to_vec();
        while let Ok(Some(order)) = Order::decode(&mut orders) {
            assert_eq!(Order::decode(&mut order.encode()).ok().flatten(), Some(order), "an order changes on its way");
        }
        let mut frames = bytes.to_vec();
        while let Ok(Some(status)) = Status::decode(&mut frames) {
            let mut written = Vec::new();
            status.encode(&mut written);
            assert_eq!(Status::decode(&mut written).ok().flatten(), Some(status), "a frame changes on its way");
        }
    }
}
