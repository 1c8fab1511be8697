//! What the gates say of a batch, and of the target alone.

use windlass_core::group::merges::{EntryState, Verdict};
use windlass_core::machine::LoopState;
use windlass_core::spec::GateSpec;

use super::{At, load};
use crate::driver::{FreshRun, SET_UP, judge_afresh};
use crate::engine::EngineError;

/// The loops whose gates judge the batch: its members, and what the queue merged before.
pub(super) async fn judging(at: &At<'_>) -> Result<Vec<LoopState>, EngineError> {
    let mut states = Vec::new();
    for id in at.state.judging() {
        states.extend(load(at, &id).await?);
    }
    Ok(states)
}

/// Whether the target is to blame for a gate that failed on the batch. A gate that failed on the base of its loop already
/// checks what that loop adds: of that, a target without it says nothing. One that passed before the queue merged what it
/// did speaks against the loop that has it.
pub(super) async fn judge_target(at: &At<'_>, commit: &str, gate: &str, origin: &str) -> Result<Verdict, EngineError> {
    let loops = judging(at).await?;
    let mut verdict = judge(at, &loops, commit, Some(gate)).await?;
    if matches!(verdict, Verdict::Red { flaky: true, .. }) {
        verdict = judge(at, &loops, commit, Some(gate)).await?;
    }
    if verdict == Verdict::Green {
        return Ok(verdict);
    }
    if origin != commit && judge(at, &loops, origin, Some(gate)).await? == Verdict::Green {
        return Ok(Verdict::Green);
    }
    let has_gate = |state: &&LoopState| gate == SET_UP || state.spec.gates.iter().any(|one| one.command == gate);
    for owner in loops.iter().filter(has_gate) {
        if let Some(EntryState::Merged { .. }) = at.state.entry(&owner.id).map(|entry| &entry.state) {
            return Ok(verdict);
        }
        let base = owner.workspace.as_ref().and_then(|workspace| workspace.base_commit.clone());
        if let Some(base) = base
            && judge(at, &loops, &base, Some(gate)).await? == Verdict::Green
        {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Green)
}

/// Judges a commit by every gate of these loops, or by one of them. Each runs once, as its loop runs it, in a checkout that no
/// agent sees.
pub(super) async fn judge(
    at: &At<'_>,
    states: &[LoopState],
    commit: &str,
    only: Option<&str>,
) -> Result<Verdict, EngineError> {
    let mut known: Vec<GateSpec> = Vec::new();
    for state in states {
        let mut judging = state.clone();
        judging.spec.gates = match only {
            // A set-up runs before the first gate.
            Some(SET_UP) => state.spec.gates.iter().take(1).cloned().collect(),
            Some(_) | None => new_gates(state, states, &known, only),
        };
        known.extend(judging.spec.gates.iter().cloned());
        let enough = |run: &FreshRun| !run.verdict.passed() || only == Some(SET_UP);
        let runs = judge_afresh(at.engine, &judging, commit, "merge-queue", enough).await?;
        let red = runs.into_iter().next_back().filter(|run| !run.verdict.passed());
        let Some(run) = red.filter(|run| only != Some(SET_UP) || run.command == SET_UP) else { continue };
        let flaky = states.iter().any(|state| is_flaky(state, &run.command));
        let output = if run.hidden { String::new() } else { run.output_tail };
        return Ok(Verdict::Red { gate: run.command, output, flaky });
    }
    Ok(Verdict::Green)
}

/// The gates of a loop that did not run yet, with the longest timeout that a loop gives them.
fn new_gates(state: &LoopState, all: &[LoopState], known: &[GateSpec], only: Option<&str>) -> Vec<GateSpec> {
    let same = |one: &GateSpec, other: &GateSpec| one.command == other.command && one.hidden == other.hidden;
    let wanted = |gate: &&GateSpec| only.is_none_or(|only| gate.command == only);
    let new = state.spec.gates.iter().filter(wanted).filter(|gate| !known.iter().any(|one| same(one, gate)));
    let longest = |gate: &GateSpec| {
        let every = all.iter().flat_map(|state| &state.spec.gates).filter(|one| same(one, gate));
        every.map(|one| one.timeout_ms).max().unwrap_or(gate.timeout_ms)
    };
    new.map(|gate| GateSpec { timeout_ms: longest(gate), ..gate.clone() }).collect()
}

/// Whether the baseline of a loop knows the gate as flaky.
fn is_flaky(state: &LoopState, command: &str) -> bool {
    let mut gates = state.spec.gates.iter().enumerate();
    gates.any(|(index, gate)| gate.command == command && state.is_flaky(index))
}
