//! A command line of the user's, run by the user's shell under the supervisor: gates and set-up commands.

mod unstarted;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use windlass_core::machine::{LoopState, Verdict};
use windlass_core::spec::GateSpec;
use windlass_process::{CommandSpec, Stdin};
use windlass_supervise::{ContainmentRequest, Ended, EndedBy, ExitRecord, ProcessEvent, ShimSpec};

use super::judge::Place;
use super::performing::Context;
use super::{DriveError, ground, trouble};
use crate::data::TurnFiles;
use crate::limits::{self, DiskWatch};
use crate::sandbox::{Confined, Missed};
use windlass_faults as faults;

/// What is kept of the output on disk, beside its end.
const KEPT_OUTPUT: u64 = 8 * 1024 * 1024;
/// What goes into the journal and into the next prompt.
const TAIL: u64 = 8 * 1024;

/// How a command ended.
#[derive(Debug)]
pub(super) struct ShellRun {
    pub(super) verdict: Verdict,
    pub(super) exit_code: Option<i32>,
    pub(super) duration_ms: u64,
    /// The end of what it printed, bounded.
    pub(super) output_tail: String,
    /// SHA-256 of what it printed, as it is stored.
    pub(super) output_sha256: Option<String>,
}

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) command: &'a str,
    pub(super) timeout_ms: u64,
    /// It leaves nothing that the agent or another gate finds.
    pub(super) hidden: bool,
    /// It may use the user's logins for package registries: nothing of an agent's is there.
    pub(super) credentials: bool,
    /// It judges.
    pub(super) gate: bool,
}

impl<'a> Line<'a> {
    pub(super) fn of(gate: &'a GateSpec) -> Self {
        Self {
            command: &gate.command,
            timeout_ms: gate.timeout_ms,
            hidden: gate.hidden,
            credentials: false,
            gate: true,
        }
    }
}

/// The absolute paths in a command line. A hidden gate reads its tests from outside the repository, where no sandbox shows
/// them otherwise.
fn named_files(command: &str, home: Option<&String>) -> Vec<PathBuf> {
    let words = shlex::split(command).unwrap_or_default();
    let paths = words.iter().filter_map(|word| match (word.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => Some(Path::new(home).join(below)),
        _ => Some(PathBuf::from(word)).filter(|path| path.is_absolute()),
    });
    paths.filter(|path| path.parent().is_some() && path.exists()).collect()
}

/// Runs a command in a checkout until it ends, its time is up, or the task must come to an end.
pub(super) async fn run(
    context: &mut Context,
    state: &LoopState,
    line: Line<'_>,
    place: &Place,
    files: &TurnFiles,
) -> Result<ShellRun, DriveError> {
    let engine = Arc::clone(&context.engine);
    let mut command = CommandSpec {
        // In a container the user's own need not be there.
        program: if state.spec.sandbox.docker.is_some() { "/bin/sh".to_owned() } else { engine.shell() },
        args: vec!["-c".to_owned(), line.command.to_owned()],
        env: if line.credentials { engine.set_up_environment(state) } else { engine.command_environment(state) },
        cwd: engine.start_dir(state, &place.dir),
        stdin: Stdin::Null,
    };
    let who = match &place.judge {
        _ if line.hidden => "hidden gates",
        Some(_) => "judge",
        None => "commands",
    };
    let confined = Confined {
        who,
        writes: state.spec.sandbox.writes(),
        dir: &place.dir,
        judge: place.judge.as_ref(),
        files: &files.dir,
        shown: if line.hidden { named_files(line.command, command.env.get("HOME")) } else { Vec::new() },
        result: None,
        own_places: Vec::new(),
        credentials: line.credentials,
    };
    let sandbox = ground(&engine, state).confine(&mut command, confined)?;
    let path = command.env.get("PATH").cloned().unwrap_or_default();
    let missed = sandbox.as_ref().and_then(|policy| Missed::new(&policy.places, command.env.get("HOME")));
    let shim = ShimSpec {
        command,
        stdout: files.stdout(),
        // One stream, so that the end of the output is the end of both.
        stderr: files.stdout(),
        times: None,
        exit_record: files.exit_record(),
        secrets: engine.secrets(state).known.clone(),
        cap_bytes: Some(KEPT_OUTPUT),
        grace_ms: ShimSpec::DEFAULT_GRACE_MS,
        containment: ContainmentRequest::Auto,
        sandbox,
        limits: limits::of_tree(state),
    };
    faults::point("gate.before_start");
    let started_at = engine.clock.now();
    let timeout = SignedDuration::from_millis(i64::try_from(line.timeout_ms).unwrap_or(i64::MAX));
    let deadline = started_at.checked_add(timeout).unwrap_or(Timestamp::MAX);
    let mut running = engine.launcher.start(&shim).await?;
    let mut disk = DiskWatch::start(&engine, state);
    let mut disk_short = None;
    let mut timed_out = false;
    let mut ending = false;
    let record = loop {
        tokio::select! {
            event = running.next() => match event {
                Some(ProcessEvent::Closed(record)) => break Some(record),
                Some(ProcessEvent::Lost { .. }) | None => break None,
                Some(ProcessEvent::Output { .. }) => context.line.tell(),
                Some(
                    ProcessEvent::Started { .. }
                    | ProcessEvent::SpawnFailed(_)
                    | ProcessEvent::Exited(_)
                    | ProcessEvent::TurnOver(_)
                    | ProcessEvent::TurnBegun,
                ) => {}
            },
            () = context.ended(), if !ending => {
                ending = true;
                running.stop();
            }
            message = disk.short() => {
                disk_short = Some(message);
                running.kill();
            }
            () = engine.clock.sleep_until(deadline), if !timed_out && !ending => {
                timed_out = true;
                running.stop();
            }
        }
    };
    faults::point("gate.closed");
    if line.credentials {
        ground(&engine, state).forget_home(who);
    }
    let took = engine.clock.now().as_millisecond() - started_at.as_millisecond();
    let (verdict, exit_code) = judge(record.as_ref(), timed_out)?;
    let output = tail(files, record.as_ref());
    if line.gate && exit_code == Some(unstarted::NOT_FOUND) {
        unstarted::not_installed(state, line.command, &output, &path)?;
    }
    let unstarted = exit_code.filter(|_| line.gate).and_then(|code| unstarted::note(code, &output));
    let missed = missed.filter(|_| !verdict.passed()).map(|missed| missed.hints(&output)).unwrap_or_default();
    let missed: String = missed.iter().map(|hint| format!("\n[windlass: {hint}]\n")).collect();
    Ok(ShellRun {
        verdict,
        exit_code,
        duration_ms: u64::try_from(took).unwrap_or(0),
        output_sha256: files.stdout_sha256(),
        output_tail: output
            + &unstarted.unwrap_or_default()
            + &missed
            + &limits_note(verdict, record.as_ref(), state, disk_short),
    })
}

/// The limits that a failed command reached, for the readers of its output.
fn limits_note(verdict: Verdict, record: Option<&ExitRecord>, state: &LoopState, disk_short: Option<String>) -> String {
    if verdict.passed() {
        return String::new();
    }
    let hits = record.map(|record| limits::hits(record, &state.spec.resources)).unwrap_or_default();
    let said = hits.iter().map(|hit| hit.words("the command's")).chain(disk_short);
    said.map(|what| format!("\n[windlass: {what}]\n")).collect()
}

fn judge(record: Option<&ExitRecord>, timed_out: bool) -> Result<(Verdict, Option<i32>), DriveError> {
    let Some(record) = record else {
        return Err(DriveError::NotTried(trouble::supervisor_gone()));
    };
    Ok(match &record.ended {
        _ if timed_out && record.by != EndedBy::Itself => (Verdict::TimedOut, None),
        Ended::Exited { code: 0 } => (Verdict::Pass, Some(0)),
        Ended::Exited { code } => (Verdict::Fail, Some(*code)),
        Ended::Signaled { .. } => (Verdict::Fail, None),
        Ended::SpawnFailed(failure) => match trouble::of_spawn(failure).filter(|_| record.by == EndedBy::Itself) {
            Some(trouble) => return Err(DriveError::NotTried(trouble)),
            None => (Verdict::NotStarted, None),
        },
        Ended::TurnOver => return Err(DriveError::Lost("a gate was taken for a turn".into())),
        Ended::WriteFailed { out_of_space, message } => {
            return Err(DriveError::NotTried(trouble::of_write(*out_of_space, message)));
        }
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
