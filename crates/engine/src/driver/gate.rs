//! One run of one gate: on the recorded commit, in the workspace or in a pristine checkout.

use std::path::PathBuf;

use windlass_core::machine::{GateKey, GateReport, Input, LoopState};
use windlass_core::spec::{CommitPolicy, GateSpec};

use super::performing::Context;
use super::{DriveError, setup, shell, workspace};

pub(super) async fn run(mut context: Context, state: &LoopState, gate: GateKey) -> Result<Input, DriveError> {
    let Some(spec) = state.spec.gates.get(gate.index) else {
        return Err(DriveError::Lost(format!("there is no gate {}", gate.index + 1)));
    };
    let dir = place(&mut context, state, &gate, spec).await?;
    let files = context.engine.data.new_run(&state.id, &format!("{}.gate-{}", gate.iteration, gate.index + 1));
    let files = files.map_err(|source| super::transcript_error(&context.engine.data.transcripts(&state.id), source))?;
    let ran = shell::run(&mut context, state, &spec.command, spec.timeout_ms, &dir, &files).await?;
    let changed = workspace::put_back(&context, state).await?;
    let report = GateReport {
        command: spec.command.clone(),
        verdict: ran.verdict,
        exit_code: ran.exit_code,
        // Without commits a verdict belongs to the tree alone.
        commit: state.head_commit().filter(|_| state.spec.commit != CommitPolicy::Off).map(str::to_owned),
        tree: state.workspace.as_ref().map(|workspace| workspace.tree.clone()).unwrap_or_default(),
        duration_ms: ran.duration_ms,
        output_tail: ran.output_tail,
        changed,
    };
    Ok(Input::GateEnded { gate, report })
}

/// Where the gate runs: a claim is judged in a pristine checkout, if the gate asks for that.
async fn place(
    context: &mut Context,
    state: &LoopState,
    gate: &GateKey,
    spec: &GateSpec,
) -> Result<PathBuf, DriveError> {
    let commit = state.head_commit().filter(|_| state.spec.commit != CommitPolicy::Off);
    let Some(commit) = commit.filter(|_| spec.clean && (gate.iteration == 0 || state.claims_done())) else {
        return Ok(context.engine.work_dir(state));
    };
    let dir = context.engine.data.pristine(&state.id);
    let fresh = workspace::pristine(&context.engine, state, commit, &dir).await?;
    if fresh && let Err(message) = setup::prepare(context, state, &dir).await? {
        // The set-up is part of what a claim has to stand on; its failure is the gate's.
        tracing::warn!(loop_id = %state.id, %message, "the pristine checkout cannot be set up");
    }
    Ok(dir)
}
