//! The engine's orders for a shim, as data.
//!
//! Invariant: the spec is complete. The shim reads no configuration, no environment and no other file
//! to find out what to start or where to write.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use windlass_process::CommandSpec;
use windlass_redact::secrets::KnownSecret;

use crate::cgroup::Group;
use crate::sandbox::SandboxPolicy;

/// One process tree to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShimSpec {
    pub command: CommandSpec,
    /// Appended to, created if missing. The bytes of the child, without secrets.
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    /// Index of when stdout was written: records of two little-endian `u64`, the offset in `stdout`
    /// and the Unix time in milliseconds at which the byte there was read. At most one per 50 ms.
    pub times: Option<PathBuf>,
    /// Where the [`ExitRecord`](crate::ExitRecord) appears, complete, when everything has ended.
    /// A record of an earlier tree is removed when this one starts.
    pub exit_record: PathBuf,
    /// Values to redact from the output, in addition to what looks like a secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<KnownSecret>,
    /// Of each stream keep this many bytes from its start and 64 KiB from its end.
    pub cap_bytes: Option<u64>,
    /// How long a tree may take to end after it was asked to; at most [`ShimSpec::MAX_GRACE_MS`].
    pub grace_ms: u64,
    pub containment: ContainmentRequest,
    /// What the tree may see and change; everything that its user may if unset. If it is not available, nothing starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxPolicy>,
    #[serde(default)]
    pub limits: TreeLimits,
}

/// How much of the machine a tree may take.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeLimits {
    /// What enforces the limits, if anything.
    pub group: Option<Group>,
    /// The shim polls it if no group enforces it.
    pub memory_bytes: Option<u64>,
    /// Cap on the tree's PID namespace if supported; a built-in cap if unset.
    pub processes: Option<u32>,
    /// Only for who makes its own group, as Docker does.
    pub cpu_weight: Option<u32>,
}

impl TreeLimits {
    #[cfg(target_os = "linux")]
    pub(crate) fn most_processes(&self) -> u32 {
        self.processes.unwrap_or_else(crate::process_cap::default_limit)
    }
}

impl ShimSpec {
    pub const DEFAULT_GRACE_MS: u64 = 2_000;
    /// A tree is gone within three seconds of a stop, whatever was configured.
    pub const MAX_GRACE_MS: u64 = 2_500;

    /// Output of the first turn.
    pub(crate) fn turn(&self) -> TurnPaths {
        TurnPaths {
            stdout: self.stdout.clone(),
            stderr: self.stderr.clone(),
            times: self.times.clone(),
            exit_record: self.exit_record.clone(),
        }
    }
}

/// Output of one turn of a long-lived process; the fields are those of [`ShimSpec`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnPaths {
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    pub times: Option<PathBuf>,
    pub exit_record: PathBuf,
}

/// Which rung of the ladder to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainmentRequest {
    /// The highest rung that works on this machine.
    #[default]
    Auto,
    PidNamespace,
    Subreaper,
    ProcessGroup,
}
