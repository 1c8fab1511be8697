//! One loop, for a pull request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::duration::human;
use windlass_core::findings::Finding;
use windlass_core::sandbox::SandboxLevel;
use windlass_core::stop::Outcome;
use windlass_engine::view::LoopView;

use super::document::{Block, Document};
use crate::local::Local;
use crate::loops::{LoopFindings, ShowLoop, about_a_loop};
use crate::problem::Problem;
use crate::request::Request;
use crate::requests::DiffLoop;
use crate::words::{count, one_line, short};

about_a_loop! {
    "What a loop did, in short, for a pull request." ReportLoop
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoopReport {
    pub r#loop: LoopView,
    /// The files that it changed.
    pub files: Vec<ChangedLines>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedLines {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    pub binary: bool,
}

impl Request for ReportLoop {
    type Report = LoopReport;
    const NAME: &'static str = "report_loop";

    async fn perform(self, here: &Local) -> Result<LoopReport, Problem> {
        let shown = ShowLoop { id: self.id.clone() }.perform(here).await?;
        let changed = shown.base_commit.is_some() && shown.base_commit != shown.head_commit;
        // A branch that is gone has no diff, and its loop still has a report.
        let files = match changed {
            true => DiffLoop { id: self.id.clone(), ..DiffLoop::default() }.perform(here).await.map(|diff| diff.files),
            false => Ok(Vec::new()),
        };
        let lines = |file: crate::views::FileDiff| ChangedLines {
            path: file.path,
            added: file.added,
            removed: file.removed,
            binary: file.binary,
        };
        let findings = LoopFindings { id: self.id, ..LoopFindings::default() }.perform(here).await?.findings;
        Ok(LoopReport { r#loop: shown, files: files.unwrap_or_default().into_iter().map(lines).collect(), findings })
    }
}

impl LoopReport {
    /// For people.
    pub fn document(&self) -> Document {
        let Self { r#loop: row, files, findings } = self;
        let outcome = match row.outcome {
            Some(Outcome::Verified) if row.sandbox.level == SandboxLevel::Off => "✔ verified, sandbox off".to_owned(),
            Some(Outcome::Verified) => "✔ verified".to_owned(),
            Some(outcome) => format!("{}, not verified", outcome.name().replace('_', " ")),
            None => row.status.clone(),
        };
        let mut blocks = vec![Block::Quote(row.goal.trim().to_owned()), facts(row, &outcome)];
        if !row.gates.is_empty() {
            blocks.push(Block::Heading("Gates".to_owned()));
            blocks.push(gates(row));
        }
        if !row.history.is_empty() {
            blocks.push(Block::Heading("Iterations".to_owned()));
            blocks.push(iterations(row));
        }
        if !files.is_empty() {
            blocks.push(Block::Heading("Files".to_owned()));
            let lines = |file: &ChangedLines| match file.binary {
                true => vec![file.path.clone(), "binary".to_owned(), String::new()],
                false => vec![file.path.clone(), format!("+{}", file.added), format!("-{}", file.removed)],
            };
            let head = ["file", "added", "removed"].map(str::to_owned).to_vec();
            blocks.push(Block::Table { head, rows: files.iter().map(lines).collect() });
        }
        if !findings.is_empty() {
            blocks.push(Block::Heading("Findings".to_owned()));
            let state = |finding: &Finding| if finding.is_open() { "open" } else { "resolved" }.to_owned();
            let line = |finding: &Finding| {
                vec![state(finding), one_line(&finding.place(), 120), one_line(&finding.description, 200)]
            };
            let head = ["", "place", "finding"].map(str::to_owned).to_vec();
            blocks.push(Block::Table { head, rows: findings.iter().map(line).collect() });
        }
        Document { title: format!("{} ({outcome})", row.name), blocks }
    }
}

fn facts(row: &LoopView, outcome: &str) -> Block {
    let used = &row.usage.total;
    let cost = used.cost_usd.map_or("unknown".to_owned(), |usd| format!("${usd:.2}"));
    let tokens = match used.is_empty() {
        true => "unknown".to_owned(),
        false => format!("{} in, {} out", used.input_tokens, used.output_tokens),
    };
    let commit = |commit: &Option<String>| commit.as_deref().map(short).unwrap_or("none").to_owned();
    let model = row.model.as_ref().map_or(String::new(), |model| format!(" ({model})"));
    let pairs = [
        ("outcome", outcome.to_owned()),
        ("agent", format!("{}{model}", row.agent)),
        ("branch", row.branch.clone().unwrap_or_else(|| "none".to_owned())),
        ("commits", format!("{} to {}", commit(&row.base_commit), commit(&row.head_commit))),
        ("took", format!("{} in {}", count(row.iterations, "iteration"), human(row.elapsed_ms))),
        ("claims", format!("{}, {} refused", count(row.claims.made, "completion claim"), row.claims.refused)),
        ("tokens", tokens),
        ("cost", cost),
    ];
    let rows = pairs.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    Block::Table { head: vec![String::new(), String::new()], rows }
}

fn gates(row: &LoopView) -> Block {
    let line = |gate: &windlass_engine::view::GateView| {
        let verdict = match gate.verdict {
            Some(verdict) if verdict.passed() => "✔ passed",
            Some(_) => "✘ failed",
            None => "not run",
        };
        let on = gate.commit.as_deref().map(short).unwrap_or_default().to_owned();
        vec![verdict.to_owned(), one_line(&gate.command, 120), on, gate.duration_ms.map(human).unwrap_or_default()]
    };
    let head = ["verdict", "gate", "commit", "took"].map(str::to_owned).to_vec();
    Block::Table { head, rows: row.gates.iter().map(line).collect() }
}

fn iterations(row: &LoopView) -> Block {
    let line = |record: &windlass_core::machine::IterationRecord| {
        let commit = record.checkpoint.commit.as_deref().map(short).unwrap_or("none").to_owned();
        let verdicts: Vec<&str> = record.gates.iter().map(|mark| mark.name()).collect();
        let claim = if record.claim { "yes" } else { "" }.to_owned();
        let files = record.checkpoint.files_changed.to_string();
        vec![record.iteration.to_string(), commit, files, claim, verdicts.join(", ")]
    };
    let head = ["iteration", "commit", "files", "claim", "gates"].map(str::to_owned).to_vec();
    Block::Table { head, rows: row.history.iter().filter(|record| !record.undone).map(line).collect() }
}
