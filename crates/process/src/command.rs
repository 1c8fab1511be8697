//! What to start, as data: a program with its arguments, never a shell line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A complete description of a program to start; the starter adds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CommandSpec {
    /// Looked up in the child's `PATH` when it has no slash.
    pub program: String,
    pub args: Vec<String>,
    /// The whole environment of the child; it inherits nothing else.
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
}

/// Where the child's standard input comes from; it is never inherited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Stdin {
    /// `/dev/null`
    Null,
    /// The content of a file, then end of file.
    File { path: PathBuf },
    /// A pipe that stays open and is written to while the child runs.
    Pipe,
}
