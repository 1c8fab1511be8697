//! Which gate runs next, and what the verdicts say.
//!
//! Hidden gates are the last ones of the spec, so each of them runs after every gate that the agent knows.

use super::activity::Doing;
use super::input::{GateKey, GateOn, GateReport};
use super::state::{GateMark, LoopState};
use crate::spec::{GateSpec, GateWhen};

impl LoopState {
    pub fn failing_gates(&self) -> Vec<String> {
        self.gates.values().filter(|gate| !gate.verdict.passed()).map(|gate| gate.command.clone()).collect()
    }

    /// The verdicts on the last checkpoint that agents and reviewers may know.
    pub fn visible_gates(&self) -> impl Iterator<Item = &GateReport> {
        self.gates.values().filter(|gate| !gate.hidden)
    }

    /// How many hidden gates failed on the last checkpoint.
    pub fn hidden_failures(&self) -> usize {
        self.gates.values().filter(|gate| gate.hidden && !gate.verdict.passed()).count()
    }

    fn visible_gate_failed(&self) -> bool {
        self.visible_gates().any(|gate| !gate.verdict.passed())
    }

    /// Whether every gate has judged the last checkpoint.
    pub(super) fn is_judged(&self) -> bool {
        self.spec.gates.is_empty()
            || self.iterations.last().is_some_and(|record| {
                record.iteration == self.iteration && !record.undone && {
                    let mut gates = self.spec.gates.iter().enumerate();
                    gates.all(|(index, gate)| {
                        // Rolling back removes verdicts that the record still has.
                        let ran = self.gates.contains_key(&index)
                            && record.gates.get(index).is_some_and(|mark| *mark != GateMark::Skipped);
                        ran || (gate.hidden && self.visible_gate_failed())
                    })
                }
            })
    }

    /// The gate that runs next in what is under way.
    pub(super) fn next_gate(&self) -> Option<GateKey> {
        match self.running()? {
            Doing::Baseline { .. } => self.next_baseline_gate(),
            Doing::Gates => {
                let claim = self.claims_done();
                let visible_failed = self.visible_gate_failed();
                let due = |spec: &GateSpec| match spec.when {
                    _ if spec.hidden => claim && !visible_failed,
                    GateWhen::Turn => true,
                    GateWhen::Claim => claim,
                };
                let gates = self.spec.gates.iter().enumerate();
                let index = gates
                    .filter(|(index, spec)| due(spec) && !self.gates.contains_key(index))
                    .map(|(index, _)| index)
                    .next()?;
                let runs = self.gate_runs.get(&index).copied().unwrap_or(0);
                Some(GateKey { on: GateOn::Iteration(self.iteration), index, attempt: runs + 1 })
            }
            Doing::OpenWorkspace { .. }
            | Doing::SetUp { .. }
            | Doing::Turn(_)
            | Doing::Summarise { .. }
            | Doing::Checkpoint { .. }
            | Doing::Seal { .. }
            | Doing::Undo { .. } => None,
        }
    }

    /// Each gate once; a failing one again, to detect flakiness.
    fn next_baseline_gate(&self) -> Option<GateKey> {
        (0..self.spec.gates.len()).find_map(|index| {
            let runs = self.baseline.get(&index).map_or(&[][..], Vec::as_slice);
            match runs {
                [] => Some(GateKey { on: GateOn::Base, index, attempt: 1 }),
                [first] if !first.verdict.passed() => Some(GateKey { on: GateOn::Base, index, attempt: 2 }),
                _ => None,
            }
        })
    }

    /// Whether a gate gave two verdicts on the very same base.
    pub fn is_flaky(&self, index: usize) -> bool {
        self.baseline.get(&index).is_some_and(|runs| {
            runs.iter().any(|run| run.verdict.passed()) && runs.iter().any(|run| !run.verdict.passed())
        })
    }

    /// Whether a gate failed on the base already, and failed again.
    pub fn failed_before(&self, index: usize) -> bool {
        self.baseline.get(&index).is_some_and(|runs| runs.len() > 1 && runs.iter().all(|run| !run.verdict.passed()))
    }

    /// Whether what the first turn of a stretch begins with has to be judged: the base, or the target merged into it.
    pub(super) fn wants_baseline(&self) -> bool {
        let merged = self.continued.merged.as_ref().is_some_and(|merged| merged.news);
        (self.iteration == 0 || merged)
            && self.spec.workspace.baseline
            && !self.is_external()
            && self.next_baseline_gate().is_some()
    }

    /// What of the last turn's work waits in the workspace. It keeps a claim from being accepted: what is not committed was
    /// not judged.
    pub fn held_back(&self) -> &[String] {
        let last = self.iterations.last().filter(|last| !last.undone);
        last.map(|last| last.checkpoint.held_back.as_slice()).unwrap_or_default()
    }
}
