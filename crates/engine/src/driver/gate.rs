//! One run of one gate, on the recorded commit.

use windlass_core::machine::{ChangedFile, GateKey, GateOn, GateReport, Input, LoopState, Verdict, WorkspaceFailure};
use windlass_core::spec::{CommitPolicy, GateSpec};

use super::judge::NotReady;
use super::performing::Context;
use super::shell::ShellRun;
use super::{DriveError, judge, shell};

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
            let ran = ShellRun {
                verdict: Verdict::Fail,
                exit_code: None,
                duration_ms: 0,
                output_tail: format!("the set-up failed on this commit: {message}"),
                output_sha256: None,
            };
            return Ok(Input::GateEnded { report: report(state, spec, ran, Vec::new()), gate });
        }
    };
    let files = context.engine.data.new_run(&state.id, &format!("{}.gate-{}", gate.on.number(), gate.index + 1));
    let files = files.map_err(|source| super::transcript_error(&context.engine.data.transcripts(&state.id), source))?;
    let ran = shell::run(&mut context, state, shell::Line::of(spec), &place, &files).await?;
    let changed = place.put_back(&context, state).await?;
    // The agent gets a copy of what is kept; what is built from its own work is not.
    if gate.on == GateOn::Base && state.iteration == 0 && !spec.hidden {
        place.keep_build().await?;
    }
    Ok(Input::GateEnded { report: report(state, spec, ran, changed), gate })
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
