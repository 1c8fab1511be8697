//! One run of one gate: a command of the user's, by the user's shell, on the recorded commit.

use jiff::{SignedDuration, Timestamp};
use windlass_core::command::{CommandSpec, Stdin};
use windlass_core::machine::{GateKey, GateReport, Input, LoopState, Verdict};
use windlass_core::spec::CommitPolicy;
use windlass_supervise::{ContainmentRequest, Ended, EndedBy, ExitRecord, ProcessEvent, ShimSpec};

use super::performing::Context;
use super::{DriveError, workspace};
use crate::data::TurnFiles;
use crate::faults;

/// What is kept of a gate's output on disk, beside its end.
const KEPT_OUTPUT: u64 = 8 * 1024 * 1024;
/// What goes into the journal and into the next prompt.
const TAIL: u64 = 8 * 1024;

pub(super) async fn run(mut context: Context, state: &LoopState, gate: GateKey) -> Result<Input, DriveError> {
    let engine = std::sync::Arc::clone(&context.engine);
    let Some(spec) = state.spec.gates.get(gate.index) else {
        return Err(DriveError::Lost(format!("there is no gate {}", gate.index + 1)));
    };
    let files = engine.data.new_gate_run(&state.id, gate.iteration, gate.index).map_err(|source| {
        DriveError::Transcript { path: engine.data.transcripts(&state.id).display().to_string(), source }
    })?;
    let shim = ShimSpec {
        command: CommandSpec {
            program: engine.shell(),
            args: vec!["-c".to_owned(), spec.command.clone()],
            env: engine.agent_environment(state, None),
            cwd: engine.work_dir(state),
            stdin: Stdin::Null,
        },
        stdout: files.stdout(),
        // One stream, so that the end of the output is the end of both.
        stderr: files.stdout(),
        times: None,
        exit_record: files.exit_record(),
        cap_bytes: Some(KEPT_OUTPUT),
        grace_ms: ShimSpec::DEFAULT_GRACE_MS,
        containment: ContainmentRequest::Auto,
    };
    faults::point("gate.before_start");
    let started_at = engine.clock.now();
    let timeout = SignedDuration::from_millis(i64::try_from(spec.timeout_ms).unwrap_or(i64::MAX));
    let deadline = started_at.checked_add(timeout).unwrap_or(Timestamp::MAX);
    let mut running = engine.launcher.start(&shim).await?;
    let mut timed_out = false;
    let mut ending = false;
    let record = loop {
        tokio::select! {
            event = running.next() => match event {
                Some(ProcessEvent::Closed(record)) => break Some(record),
                Some(ProcessEvent::Lost { .. }) | None => break None,
                Some(ProcessEvent::Output { .. }) => context.line.tell(),
                Some(ProcessEvent::Started { .. } | ProcessEvent::SpawnFailed(_) | ProcessEvent::Exited(_)) => {}
            },
            () = context.ended(), if !ending => {
                ending = true;
                running.stop();
            }
            () = engine.clock.sleep_until(deadline), if !timed_out && !ending => {
                timed_out = true;
                running.stop();
            }
        }
    };
    faults::point("gate.closed");
    let took = engine.clock.now().as_millisecond() - started_at.as_millisecond();
    let (verdict, exit_code) = judge(record.as_ref(), timed_out)?;
    let changed = workspace::put_back(&context, state).await?;
    let report = GateReport {
        command: spec.command.clone(),
        verdict,
        exit_code,
        // Without commits a verdict belongs to the tree alone.
        commit: state.head_commit().filter(|_| state.spec.commit != CommitPolicy::Off).map(str::to_owned),
        tree: state.workspace.as_ref().map(|workspace| workspace.tree.clone()).unwrap_or_default(),
        duration_ms: u64::try_from(took).unwrap_or(0),
        output_tail: tail(&files, record.as_ref()),
        changed,
    };
    Ok(Input::GateEnded { gate, report })
}

fn judge(record: Option<&ExitRecord>, timed_out: bool) -> Result<(Verdict, Option<i32>), DriveError> {
    let Some(record) = record else {
        return Err(DriveError::Lost("the supervisor of a gate was killed".into()));
    };
    Ok(match &record.ended {
        _ if timed_out && record.by != EndedBy::Itself => (Verdict::TimedOut, None),
        Ended::Exited { code: 0 } => (Verdict::Pass, Some(0)),
        Ended::Exited { code } => (Verdict::Fail, Some(*code)),
        Ended::Signaled { .. } => (Verdict::Fail, None),
        Ended::SpawnFailed(_) => (Verdict::NotStarted, None),
        Ended::WriteFailed { out_of_space: true, message } => {
            return Err(DriveError::DiskFull { path: message.clone() });
        }
        Ended::WriteFailed { out_of_space: false, message } => return Err(DriveError::Lost(message.clone())),
    })
}

/// The end of what the gate printed; why it did not start, if it did not.
fn tail(files: &TurnFiles, record: Option<&ExitRecord>) -> String {
    use std::os::unix::fs::FileExt;
    if let Some(Ended::SpawnFailed(failure)) = record.map(|record| &record.ended) {
        return failure.message.clone();
    }
    let Ok(file) = std::fs::File::open(files.stdout()) else { return String::new() };
    let length = file.metadata().map(|meta| meta.len()).unwrap_or(0);
    let from = length.saturating_sub(TAIL);
    let mut bytes = vec![0; usize::try_from(length - from).unwrap_or(0)];
    if file.read_exact_at(&mut bytes, from).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes);
    // A line cut in half at the front reads like something the gate did not say.
    let whole_lines = if from > 0 { text.split_once('\n').map_or(&*text, |(_, rest)| rest) } else { &text };
    windlass_agents::plain_text(whole_lines)
}
