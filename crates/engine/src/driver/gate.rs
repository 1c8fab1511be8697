//! One run of one gate, on the recorded commit.

use windlass_core::machine::{ChangedFile, GateKey, GateOn, GateReport, Input, LoopState, Verdict, WorkspaceFailure};
use windlass_core::spec::{CommitPolicy, GateSpec};

use super::judge::{NotReady, Place};
use super::performing::Context;
use super::shell::ShellRun;
use super::{DriveError, judge, shell, workspace};
use crate::data::{TurnFiles, private_files};
use crate::engine::workspace_of;

pub(super) async fn run(mut context: Context, state: &LoopState, gate: GateKey) -> Result<Input, DriveError> {
    let Some(spec) = state.spec.gates.get(gate.index) else {
        return Err(DriveError::Lost(format!("gate {} does not exist", gate.index + 1)));
    };
    let place = match judge::place(&mut context, state, &gate).await? {
        Ok(place) => place,
        Err(NotReady::Base(message)) => {
            return Ok(Input::WorkspaceFailed { failure: WorkspaceFailure::Setup { message } });
        }
        Err(NotReady::Commit(message)) => {
            return Ok(Input::GateEnded { report: report(state, spec, set_up_failed(&message), Vec::new()), gate });
        }
    };
    if gate.attempt > 1 && place.judge.is_some() {
        build_again(&mut context, state, &gate, &place).await?;
    }
    let files = new_files(&context, state, &gate, gate.index)?;
    let (mut ran, planted) = match place.judge {
        Some(_) => (shell::run(&mut context, state, shell::Line::of(spec), &place, &files).await?, Vec::new()),
        None => run_in_workspace(&mut context, state, spec, &place, &files).await?,
    };
    let mut changed = place.put_back(&context, state).await?;
    changed.extend(planted);
    if ran.verdict.passed() && judge::relied_on_builds(state, &gate, &place) {
        (ran, changed) = run_without_builds(&mut context, state, &gate, &place).await?;
    }
    // The agent gets a copy of what is kept; what is built from its own work is not.
    if gate.on == GateOn::Base && is_base(state)? && !spec.hidden {
        place.keep_build().await?;
    }
    Ok(Input::GateEnded { report: report(state, spec, ran, changed), gate })
}

fn new_files(context: &Context, state: &LoopState, gate: &GateKey, index: usize) -> Result<TurnFiles, DriveError> {
    let data = &context.engine.data;
    let files = data.new_run(&state.id, &format!("{}.gate-{}", gate.on.number(), index + 1));
    files.map_err(|source| super::transcript_error(&data.transcripts(&state.id), source))
}

/// Runs the gates before this one in a fresh checkout, for what they build. Their verdicts are known.
async fn build_again(
    context: &mut Context,
    state: &LoopState,
    gate: &GateKey,
    place: &Place,
) -> Result<(), DriveError> {
    for (index, before) in state.spec.gates.iter().enumerate().take(gate.index) {
        let files = new_files(context, state, gate, index)?;
        shell::run(context, state, shell::Line::of(before), place, &files).await?;
        place.put_back(context, state).await?;
    }
    Ok(())
}

/// Runs the gates up to this one again without what gates built on the base: outputs of files that the commit no longer has could
/// have made them pass, and nobody who gets the commit has them.
async fn run_without_builds(
    context: &mut Context,
    state: &LoopState,
    gate: &GateKey,
    place: &Place,
) -> Result<(ShellRun, Vec<ChangedFile>), DriveError> {
    if let Err(message) = judge::place_without_builds(context, state, gate, place).await? {
        return Ok((set_up_failed(&message), Vec::new()));
    }
    let (mut last, mut changed) = (None, Vec::new());
    for (index, spec) in state.spec.gates.iter().enumerate().take(gate.index + 1) {
        let files = new_files(context, state, gate, index)?;
        let mut ran = shell::run(context, state, shell::Line::of(spec), place, &files).await?;
        changed = place.put_back(context, state).await?;
        if !ran.verdict.passed() {
            ran.output_tail += &format!(
                "\n[windlass: with build output of the base commit all gates passed; in a checkout without it, as in a new \
                 clone, this gate fails: {}]\n",
                spec.command
            );
            return Ok((ran, changed));
        }
        last = Some(ran);
    }
    let ran = last.ok_or_else(|| DriveError::Lost(format!("gate {} does not exist", gate.index + 1)))?;
    Ok((ran, changed))
}

fn set_up_failed(message: &str) -> ShellRun {
    ShellRun {
        verdict: Verdict::Fail,
        exit_code: None,
        duration_ms: 0,
        output_tail: format!("the set-up failed on this commit: {message}"),
        output_sha256: None,
    }
}

/// Whether no agent's work is in the commit: a fork starts from that of its parent, a continued loop from its own.
fn is_base(state: &LoopState) -> Result<bool, DriveError> {
    let base = workspace_of(state)?.base_commit;
    Ok(state.iteration == 0 && state.head_commit() == Some(base.as_str()))
}

/// What a gate runs there is the agent's: what git would run or follow is then as it was before. That is reported too.
async fn run_in_workspace(
    context: &mut Context,
    state: &LoopState,
    spec: &GateSpec,
    place: &Place,
    files: &TurnFiles,
) -> Result<(ShellRun, Vec<ChangedFile>), DriveError> {
    let remembered = workspace::before_command(context, state, files).await?;
    private_files(&remembered).map_err(|source| super::transcript_error(&files.dir, source))?;
    let ran = shell::run(context, state, shell::Line::of(spec), place, files).await;
    let mut waiting = context.clone();
    let planted = workspace::put_back_git_settings(files.clone(), waiting.out_of_patience()).await;
    Ok((ran?, planted))
}

fn report(state: &LoopState, spec: &GateSpec, ran: ShellRun, changed: Vec<ChangedFile>) -> GateReport {
    GateReport {
        command: spec.command.clone(),
        hidden: spec.hidden,
        verdict: ran.verdict,
        exit_code: ran.exit_code,
        // Without commits a verdict belongs to the tree alone.
        commit: state.head_commit().filter(|_| state.spec.commit != CommitPolicy::Off).map(str::to_owned),
        tree: state.workspace.as_ref().and_then(|workspace| workspace.tree.clone()).unwrap_or_default(),
        duration_ms: ran.duration_ms,
        output_tail: ran.output_tail,
        output_sha256: ran.output_sha256,
        changed,
    }
}
