//! A proof: what a loop did and how it was judged, as an in-toto statement that a stranger can check.
//!
//! A statement follows from the first events of a journal and from nothing else, so whoever has the journal can make it
//! again and compare. Fields are only ever added, with a new version of the predicate's type.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::findings::Severity;
use windlass_core::ids::Role;
use windlass_core::machine::{Claims, Merge, Verdict};
use windlass_core::spec::{GateSpec, GateWhen, Verify};
use windlass_core::stop::{Outcome, StopReason};
use windlass_engine::view::{SandboxView, UsageView};

pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// A name, not an address.
pub const PREDICATE_TYPE: &str = "windlass:proof/v1";

/// An in-toto statement about a loop's work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Always `https://in-toto.io/Statement/v1`.
    #[serde(rename = "_type")]
    pub statement_type: String,
    /// The loop's last commit.
    pub subject: Vec<Subject>,
    /// Always `windlass:proof/v1`.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    pub predicate: Proof,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The loop's branch.
    pub name: String,
    pub digest: GitDigest,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitDigest {
    #[serde(rename = "gitCommit")]
    pub git_commit: String,
    #[serde(rename = "gitTree")]
    pub git_tree: String,
}

/// What is said of the loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The version that wrote it.
    pub windlass: String,
    pub r#loop: LoopFacts,
    pub goal: String,
    /// The loop's status when it was written.
    pub status: String,
    /// Of a completed loop.
    pub outcome: Option<Outcome>,
    /// The outcome is `verified`.
    pub verified: bool,
    pub stop_reason: Option<StopReason>,
    /// What the work is compared with.
    pub base: CommitAt,
    pub head: CommitAt,
    /// What closed each iteration, oldest first.
    pub commits: Vec<Checkpointed>,
    /// The gates, in their order.
    pub gates: Vec<GateOf>,
    /// Every run of a gate, oldest first.
    pub judgements: Vec<Judgement>,
    pub setup: Vec<String>,
    pub verify: Verify,
    pub sandbox: SandboxView,
    /// Globs of paths that the agent may not change.
    pub protected_paths: Vec<String>,
    /// Protected files that the agent changed, and Windlass restored.
    pub restored: Vec<String>,
    pub findings: Vec<FindingOf>,
    /// Who had a turn.
    pub agents: Vec<AgentOf>,
    /// Tokens and cost, also by model and role.
    pub usage: UsageView,
    pub claims: Claims,
    pub merged: Option<Merge>,
    pub journal: JournalHead,
    /// SHA-256 of this statement as compact JSON with sorted keys, in which this field is empty.
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopFacts {
    pub id: String,
    pub name: String,
    pub recipe: String,
    pub iterations: u32,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub stopped_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitAt {
    pub commit: String,
    pub tree: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpointed {
    pub iteration: u32,
    pub turn: String,
    pub commit: String,
    pub tree: String,
    pub files_changed: u64,
    /// Commits that the agent made in this iteration.
    pub agent_commits: Vec<String>,
    pub claim: bool,
    /// A rollback undid it.
    pub undone: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GateOf {
    /// A hidden gate is named by a digest of its command.
    pub command: String,
    pub hidden: bool,
    pub when: GateWhen,
    pub timeout_ms: u64,
}

impl GateOf {
    pub(super) fn spec(&self) -> GateSpec {
        GateSpec { command: self.command.clone(), timeout_ms: self.timeout_ms, when: self.when, hidden: false }
    }
}

/// One run of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// 0 is the base.
    pub iteration: u32,
    pub run: u32,
    pub command: String,
    /// Its output is left out too.
    pub hidden: bool,
    pub verdict: Verdict,
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub commit: Option<String>,
    pub tree: String,
    /// Of what the gate printed, as it was stored.
    pub output_sha256: Option<String>,
    /// The end of what the gate printed.
    pub output_tail: String,
    /// The verdict stands. A gate that is known to be flaky runs again before its failure does.
    pub counts: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingOf {
    pub id: String,
    pub file: String,
    pub line: Option<u32>,
    pub severity: Severity,
    pub description: String,
    pub open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOf {
    pub role: Role,
    pub name: String,
    /// The model that was requested.
    pub model: Option<String>,
}

/// Where the journal's hash chain was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalHead {
    /// Events that the statement follows from.
    pub events: u64,
    /// The chain's value at the last of them, SHA-256 in hex.
    pub head: String,
}

/// What a gate is called in a proof. An agent may get to read the proof, so a hidden gate is named by a digest.
pub(super) fn gate_name(command: &str, hidden: bool) -> String {
    match hidden {
        true => format!("hidden gate {}", &sha256(command.as_bytes())[..12]),
        false => command.to_owned(),
    }
}

fn sha256(bytes: &[u8]) -> String {
    windlass_workspace::git::hex(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

/// The digest of a statement as it was read. Keys of a value are sorted.
pub(super) fn digest(mut statement: serde_json::Value) -> String {
    if let Some(field) = statement.pointer_mut("/predicate/sha256") {
        *field = String::new().into();
    }
    sha256(statement.to_string().as_bytes())
}

impl Statement {
    /// With the digest that belongs into it.
    #[must_use]
    pub(super) fn sealed(mut self) -> Self {
        self.predicate.sha256 = digest(serde_json::json!(self));
        self
    }

    /// The last run of each gate that counts, on the last commit.
    pub fn final_judgements(&self) -> Vec<&Judgement> {
        let head = Some(&self.predicate.head.commit);
        let last = |gate: &GateOf| {
            let mut runs = self.predicate.judgements.iter().rev();
            runs.find(|run| run.counts && run.command == gate.command && run.commit.as_ref() == head)
        };
        self.predicate.gates.iter().filter_map(last).collect()
    }
}
