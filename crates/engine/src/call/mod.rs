//! One tiny call of an agent outside any loop: whether it is logged in and answers.
//!
//! The agent runs as in a turn: the same adapter, the same supervisor, in its own directory that is gone
//! afterwards, and where there is a sandbox as a reviewer that changes nothing. The provider may charge for the call.

mod version;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_agents::{Exit, LaunchError, LaunchFacts, TurnRequest};
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};
use windlass_core::sandbox::SandboxSpec;
use windlass_core::spec::AgentChoice;
use windlass_process::CommandSpec;
use windlass_supervise::{
    ContainmentRequest, Ended, EndedBy, ExitRecord, Launcher, SandboxPolicy, ShimSpec, SpawnFailureKind, TreeLimits,
};

use crate::data::{DataDir, TurnFiles, private_dir, private_files};
use crate::sandbox::{Confined, Ground, SandboxError};
use crate::transcript::TranscriptReader;
use crate::transcript::exchange::{self, Exchange};

pub use version::{VersionProbe, version};

const PROMPT: &str = "Reply with OK. Use no tools.\n";
/// So much of what the agent said on standard error is worth showing.
const LAST_LINES: usize = 5;

/// Who is called, and how.
#[derive(Debug, Clone)]
pub struct Call {
    pub agent: AgentChoice,
    pub launcher: Launcher,
    /// The environment to start from.
    pub env: BTreeMap<String, String>,
    pub own_program: PathBuf,
    pub timeout: Duration,
    /// Windlass's own data, which the agent does not see.
    pub data: DataDir,
    pub sandbox: SandboxSpec,
}

/// What became of the call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Called {
    #[serde(flatten)]
    pub answer: Answer,
    /// The end of what the agent said on standard error, if it did not answer.
    pub stderr: Vec<String>,
    pub took_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Answer {
    Ok,
    NotLoggedIn { message: String },
    RateLimited { until: Option<Timestamp>, message: String },
    ModelNotFound { message: String },
    TimedOut { after_ms: u64 },
    NotStarted { message: String },
    Failed { message: String },
}

/// What such a process is to a sandbox.
const WHO: &str = "call";

/// Asks the agent.
pub async fn ask(call: &Call) -> Called {
    let began = std::time::Instant::now();
    let name = format!("windlass-call-{}", uuid::Uuid::now_v7().simple());
    let place = std::env::temp_dir().join(&name);
    let files = TurnFiles { dir: place.clone() };
    let answer = match start(call, &name, &files) {
        Ok((spec, transcript)) => follow(call, &spec, transcript).await,
        Err(message) => Answer::NotStarted { message },
    };
    Ground::alone(&call.data, &call.env, &name, &call.sandbox).keep_logins(WHO);
    let stderr = if answer == Answer::Ok { Vec::new() } else { last_lines(&files.stderr()) };
    for place in [place, call.data.loop_temp(&name)] {
        if let Err(error) = windlass_workspace::remove_tree(&place)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, place = %place.display(), "cannot remove the directory of a call");
        }
    }
    Called { answer, stderr, took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX) }
}

fn start(call: &Call, name: &str, files: &TurnFiles) -> Result<(ShimSpec, TranscriptReader), String> {
    let cwd = files.dir.join("empty");
    let written = private_dir(&cwd).and_then(|()| std::fs::write(files.prompt(), PROMPT));
    written.map_err(|error| format!("cannot write to {}: {error}", files.dir.display()))?;
    let request = TurnRequest {
        agent: &call.agent,
        prompt: PROMPT,
        prompt_file: files.prompt(),
        session: None,
        cwd,
        env: call.env.clone(),
        own_program: call.own_program.clone(),
    };
    let facts = LaunchFacts {
        as_root: rustix::process::geteuid().is_root(),
        confined: !call.sandbox.is_off(),
        ..LaunchFacts::default()
    };
    let refused = |error: LaunchError| format!("{error} ({})", error.hint());
    let launch = windlass_agents::launch_with(&request, &facts).map_err(refused)?;
    let transcript = exchange::reader(&request, &facts, files).map_err(refused)?;
    private_files(&launch.files).map_err(|error| format!("cannot write to {}: {error}", files.dir.display()))?;
    let mut command = launch.command;
    let sandbox = confine(call, name, files, &mut command).map_err(|error| error.to_string())?;
    let spec = ShimSpec {
        command,
        stdout: files.stdout(),
        stderr: files.stderr(),
        times: None,
        exit_record: files.exit_record(),
        secrets: windlass_redact::secrets::in_environment(&call.env),
        cap_bytes: None,
        grace_ms: ShimSpec::DEFAULT_GRACE_MS,
        containment: ContainmentRequest::Auto,
        sandbox,
        limits: TreeLimits::default(),
    };
    Ok((spec, transcript))
}

fn confine(
    call: &Call,
    name: &str,
    files: &TurnFiles,
    command: &mut CommandSpec,
) -> Result<Option<SandboxPolicy>, SandboxError> {
    let profile = &call.agent.profile;
    let dir = command.cwd.clone();
    let confined = Confined {
        who: WHO,
        writes: false,
        dir: &dir,
        judge: None,
        files: &files.dir,
        shown: Vec::new(),
        result: windlass_agents::usage_file(profile, &files.prompt()),
        own_places: windlass_agents::own_places(profile, &command.env, &command.cwd),
        credentials: false,
    };
    Ground::alone(&call.data, &call.env, name, &call.sandbox).confine(command, confined)
}

async fn follow(call: &Call, spec: &ShimSpec, transcript: TranscriptReader) -> Answer {
    let running = match call.launcher.start(spec).await {
        Ok(running) => running,
        Err(error) => return Answer::NotStarted { message: error.to_string() },
    };
    let mut exchange = Exchange::new(running, transcript, |_: &AgentEvent| {});
    let deadline = tokio::time::sleep(call.timeout);
    tokio::pin!(deadline);
    let mut ending = false;
    let unreadable = |error: std::io::Error| Answer::Failed { message: format!("cannot read its output: {error}") };
    let record = loop {
        tokio::select! {
            happened = exchange.next() => match happened {
                Ok(Some(record)) => break record,
                Ok(None) => {}
                Err(error) => return unreadable(error),
            },
            () = &mut deadline, if !ending => { ending = true; exchange.stop(); }
        }
    };
    match (record, exchange.finish().await) {
        (_, Err(error)) => unreadable(error),
        (None, Ok(_)) => Answer::Failed { message: "the supervisor of the call exited".to_owned() },
        (Some(record), Ok(transcript)) => judge(call, &transcript, &record),
    }
}

fn judge(call: &Call, transcript: &TranscriptReader, record: &ExitRecord) -> Answer {
    let exit = match &record.ended {
        Ended::Exited { code } => Exit::Code(*code),
        Ended::Signaled { signal } => Exit::Signal(*signal),
        Ended::SpawnFailed(failure) => {
            return Answer::NotStarted { message: spawn_failure(failure.kind, &failure.message) };
        }
        Ended::WriteFailed { message, .. } => return Answer::Failed { message: message.clone() },
        Ended::TurnOver => Exit::Waits,
    };
    let outcome = transcript.outcome(exit, Timestamp::now());
    let after_ms = u64::try_from(call.timeout.as_millis()).unwrap_or(u64::MAX);
    match (outcome, record.by) {
        // What it said before it was ended is worth more than that it was slow.
        (TurnOutcome::RateLimited { until, message }, _) => Answer::RateLimited { until, message },
        (TurnOutcome::Failed { kind: ErrorKind::Auth, message }, _) => Answer::NotLoggedIn { message },
        (TurnOutcome::Failed { kind: ErrorKind::ModelNotFound, message }, _) => Answer::ModelNotFound { message },
        (_, EndedBy::Stopped | EndedBy::EngineGone) => Answer::TimedOut { after_ms },
        (TurnOutcome::Finished, EndedBy::Itself) => Answer::Ok,
        (TurnOutcome::Failed { message, .. } | TurnOutcome::NotStarted { message, .. }, EndedBy::Itself) => {
            Answer::Failed { message }
        }
        (TurnOutcome::NotTried { trouble, .. }, EndedBy::Itself) => Answer::Failed { message: trouble.message },
        (TurnOutcome::Interrupted | TurnOutcome::CutOff, EndedBy::Itself) => {
            Answer::Failed { message: format!("exited without output ({exit})") }
        }
    }
}

fn spawn_failure(kind: SpawnFailureKind, message: &str) -> String {
    match kind {
        SpawnFailureKind::InterpreterNotFound => format!("{message}; the interpreter in its first line does not exist"),
        SpawnFailureKind::ProgramNotFound
        | SpawnFailureKind::ProgramNotPermitted
        | SpawnFailureKind::ProgramNotRunnable
        | SpawnFailureKind::DirectoryNotFound
        | SpawnFailureKind::DirectoryNotUsable
        | SpawnFailureKind::StdinUnreadable
        | SpawnFailureKind::OutputUnwritable
        | SpawnFailureKind::ContainmentUnavailable
        | SpawnFailureKind::SandboxUnavailable
        | SpawnFailureKind::Other => message.to_owned(),
    }
}

fn last_lines(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = windlass_agents::plain_text(&String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(4_096)..]));
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}
