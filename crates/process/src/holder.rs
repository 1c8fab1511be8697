//! How a machine enforces the limits of processes.

use serde::{Deserialize, Serialize};

/// How a machine enforces limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Means {
    pub memory: Holder,
    pub processes: Holder,
    pub cpu: Holder,
    /// Why not everything is held by a cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    CgroupV2,
    CgroupV1,
    /// The highest process number of the tree's own PID namespace.
    PidNamespace,
    /// Looked at every second: what grows faster is seen too late.
    Watched,
    #[default]
    Nothing,
}

impl Holder {
    pub fn words(self) -> &'static str {
        match self {
            Holder::CgroupV2 => "cgroup v2",
            Holder::CgroupV1 => "cgroup v1",
            Holder::PidNamespace => "PID namespace",
            Holder::Watched => "watched, not enforced",
            Holder::Nothing => "not enforced here",
        }
    }
}
