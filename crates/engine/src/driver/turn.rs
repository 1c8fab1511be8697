//! One turn: the agent's process tree, its transcript, and what is told of it while it runs.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use windlass_agents::{Exit, LaunchFacts, SessionFacts, TurnRequest};
use windlass_core::agent::{TurnOutcome, TurnReport};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{Input, LoopState, SessionUse};
use windlass_core::prompt;
use windlass_supervise::{
    ContainmentRequest, Ended, EndedBy, ExitRecord, ProcessEvent, ShimSpec, SpawnFailureKind, settled_exit_record,
};

use super::performing::Context;
use super::{DriveError, transcript_error};
use crate::data::{TurnFiles, private_dir, private_files};
use crate::engine::Engine;
use crate::faults;
use crate::transcript::{TranscriptReader, TurnWatcher};

/// Runs the turn, or, if it ran before, reports what became of it.
pub(super) async fn run(
    context: Context,
    state: &LoopState,
    turn: TurnKey,
    session: &SessionUse,
) -> Result<Input, DriveError> {
    let files = context.engine.data.turn(&state.id, turn);
    if files.dir.exists() {
        return recover(context, state, turn).await;
    }
    let prompt = prompt::build(state, &crate::tokens::count);
    let report = match start(&context.engine, state, turn, session, &files, &prompt) {
        Ok(spec) => follow(context, state, turn, &files, &prompt, &spec).await?,
        Err(StartFailure::Launch(error)) => {
            let message = format!("{error} ({})", error.hint());
            TurnReport::bare(TurnOutcome::NotStarted { message, missing: false })
        }
        Err(StartFailure::Files(error)) => return Err(error),
    };
    Ok(Input::TurnEnded { turn, report })
}

enum StartFailure {
    Launch(windlass_agents::LaunchError),
    Files(DriveError),
}

fn start(
    engine: &Engine,
    state: &LoopState,
    turn: TurnKey,
    session: &SessionUse,
    files: &TurnFiles,
    prompt: &str,
) -> Result<ShimSpec, StartFailure> {
    let written = private_dir(&files.dir).and_then(|()| std::fs::write(files.prompt(), prompt));
    written.map_err(|source| StartFailure::Files(transcript_error(&files.dir, source)))?;
    let session = match session {
        SessionUse::Resume { session } => Some(session.as_str()),
        SessionUse::Fresh | SessionUse::FreshInstead => None,
    };
    let request = TurnRequest {
        agent: &state.spec.agent,
        prompt,
        prompt_file: files.prompt(),
        session,
        cwd: engine.work_dir(state),
        env: engine.agent_environment(state, Some(turn)),
        own_program: engine.own_program.clone(),
    };
    let facts = LaunchFacts {
        turn_id: state.turn_id(turn),
        as_root: rustix::process::geteuid().is_root(),
        ..LaunchFacts::default()
    };
    let launch = windlass_agents::launch_with(&request, &facts).map_err(StartFailure::Launch)?;
    private_files(&launch.files).map_err(|source| StartFailure::Files(transcript_error(&files.dir, source)))?;
    Ok(ShimSpec {
        command: launch.command,
        stdout: files.stdout(),
        stderr: files.stderr(),
        times: Some(files.times()),
        exit_record: files.exit_record(),
        cap_bytes: None,
        grace_ms: ShimSpec::DEFAULT_GRACE_MS,
        containment: ContainmentRequest::Auto,
    })
}

async fn follow(
    mut context: Context,
    state: &LoopState,
    turn: TurnKey,
    files: &TurnFiles,
    prompt: &str,
    spec: &ShimSpec,
) -> Result<TurnReport, DriveError> {
    let engine = Arc::clone(&context.engine);
    faults::point("turn.before_start");
    let mut running = engine.launcher.start(spec).await?;
    faults::point("turn.started");
    let started_at = engine.clock.now();
    let mut reading = Reading::new(state, turn, files, prompt);
    let mut ending = false;
    let mut stall_at = engine.clock.now();
    let stall = SignedDuration::from_millis(i64::try_from(state.spec.time.stall_timeout_ms).unwrap_or(i64::MAX));
    let mut active = true;
    let record = loop {
        if std::mem::take(&mut active) {
            stall_at = engine.clock.now().checked_add(stall).unwrap_or(Timestamp::MAX);
        }
        tokio::select! {
            event = running.next() => match event {
                Some(ProcessEvent::Output { .. }) => {
                    active = true;
                    reading.catch_up(&context)?;
                    context.line.tell();
                }
                Some(ProcessEvent::Closed(record)) => break Some(record),
                Some(ProcessEvent::Lost { why }) => {
                    tracing::warn!(loop_id = %state.id, %turn, %why, "the turn's supervisor is gone");
                    break None;
                }
                Some(
                    ProcessEvent::Started { .. }
                    | ProcessEvent::SpawnFailed(_)
                    | ProcessEvent::Exited(_)
                    | ProcessEvent::TurnOver(_)
                    | ProcessEvent::TurnBegun,
                ) => {}
                None => break None,
            },
            () = context.ended(), if !ending => {
                ending = true;
                running.stop();
            }
            () = engine.clock.sleep_until(stall_at), if !ending => {
                context.tell(Input::Stalled { turn });
                active = true;
            }
        }
    };
    // The shim is gone, and has ended its tree before; this is for a shim that was killed.
    drop(running);
    if record.is_none() {
        sweep(state, turn);
    }
    faults::point("turn.closed");
    let took = engine.clock.now().as_millisecond() - started_at.as_millisecond();
    reading.report(&context, record.as_ref(), u64::try_from(took).unwrap_or(0))
}

/// What became of a turn that an earlier driver started.
pub(super) async fn recover(context: Context, state: &LoopState, turn: TurnKey) -> Result<Input, DriveError> {
    let files = context.engine.data.turn(&state.id, turn);
    // The shim of the engine that is gone may still be ending its tree; it says how that went.
    let path = files.exit_record();
    let record =
        tokio::task::spawn_blocking(move || settled_exit_record(&path)).await.ok().and_then(Result::ok).flatten();
    // A turn whose output could not be written was ended for that; it is told once, and then tried again.
    let record = record.filter(|record| !matches!(record.ended, Ended::WriteFailed { .. }));
    sweep(state, turn);
    let prompt = std::fs::read_to_string(files.prompt()).unwrap_or_default();
    let started_at = state.turn.as_ref().map_or(context.engine.clock.now(), |running| running.started_at);
    let ended_at = record.as_ref().map_or(started_at, |record| record.ended_at);
    let took = ended_at.as_millisecond() - started_at.as_millisecond();
    let report = Reading::new(state, turn, &files, &prompt).report(
        &context,
        record.as_ref(),
        u64::try_from(took).unwrap_or(0),
    )?;
    Ok(Input::TurnEnded { turn, report })
}

/// What the reader of a turn's output has to know about the agent session it runs in.
fn session_facts(state: &LoopState, turn: TurnKey) -> SessionFacts {
    let resumed =
        state.turn.as_ref().filter(|running| running.key == turn).and_then(|running| match &running.session {
            SessionUse::Resume { session } => Some(session.clone()),
            SessionUse::Fresh | SessionUse::FreshInstead => None,
        });
    let usage_before = resumed.as_ref().and_then(|session| state.session_usage.get(session)).cloned();
    let chosen = || windlass_agents::chosen_session(&state.spec.agent.profile, &state.turn_id(turn));
    SessionFacts { session: resumed.or_else(chosen), usage_before: usage_before.unwrap_or_default() }
}

/// Ends processes that carry the turn's tag.
fn sweep(state: &LoopState, turn: TurnKey) {
    let id = state.turn_id(turn);
    match windlass_supervise::sweep("WINDLASS_TURN", &id) {
        Ok(found) if found.is_empty() => {}
        Ok(found) => tracing::warn!(turn = %id, ?found, "ended processes that were left behind"),
        Err(error) => tracing::warn!(turn = %id, %error, "cannot look for processes that were left behind"),
    }
}

/// The transcript, read up to where it is, and what it says of the turn.
struct Reading {
    turn: TurnKey,
    files: TurnFiles,
    transcript: TranscriptReader,
    watcher: TurnWatcher,
    session_told: bool,
}

impl Reading {
    fn new(state: &LoopState, turn: TurnKey, files: &TurnFiles, prompt: &str) -> Self {
        Self {
            turn,
            files: files.clone(),
            transcript: TranscriptReader::new(files, &state.spec.agent.profile, &session_facts(state, turn)),
            watcher: TurnWatcher::new(state.spec.done.promise(), prompt),
            session_told: false,
        }
    }

    fn catch_up(&mut self, context: &Context) -> Result<(), DriveError> {
        loop {
            let batch = self.transcript.read().map_err(|source| transcript_error(&self.files.dir, source))?;
            let mut used = false;
            for event in &batch.events {
                self.watcher.see(event);
                used |= matches!(event, windlass_core::agent::AgentEvent::Usage { .. });
            }
            if used {
                context.tell(Input::UsageSeen { turn: self.turn, usage: self.watcher.usage().clone() });
            }
            if !self.session_told
                && let Some(session) = self.watcher.session()
            {
                self.session_told = true;
                context.tell(Input::SessionSeen { turn: self.turn, session: session.to_owned() });
            }
            if !batch.progressed {
                return Ok(());
            }
        }
    }

    fn report(
        mut self,
        context: &Context,
        record: Option<&ExitRecord>,
        duration_ms: u64,
    ) -> Result<TurnReport, DriveError> {
        self.catch_up(context)?;
        for event in self.transcript.finish() {
            self.watcher.see(&event);
        }
        let (outcome, exit) = match record {
            None => (TurnOutcome::CutOff, None),
            Some(record) => self.judge(record, context.engine.clock.now())?,
        };
        Ok(self.watcher.report(outcome, exit, duration_ms))
    }

    /// Some agents wait out a rate limit in silence until they are stalled; what they said of it still holds.
    fn interrupted(&self, exit: Exit, now: Timestamp) -> TurnOutcome {
        match self.transcript.outcome(exit, now) {
            limited @ TurnOutcome::RateLimited { .. } => limited,
            TurnOutcome::Finished
            | TurnOutcome::Failed { .. }
            | TurnOutcome::NotStarted { .. }
            | TurnOutcome::Interrupted
            | TurnOutcome::CutOff => TurnOutcome::Interrupted,
        }
    }

    fn judge(&self, record: &ExitRecord, now: Timestamp) -> Result<(TurnOutcome, Option<Exit>), DriveError> {
        let exit = match &record.ended {
            Ended::Exited { code } => Exit::Code(*code),
            Ended::Signaled { signal } => Exit::Signal(*signal),
            Ended::TurnOver => Exit::Waits,
            Ended::SpawnFailed(failure) => {
                match record.by {
                    EndedBy::Itself => {}
                    // It was told to end before it had begun, which is no fault of the agent's.
                    EndedBy::Stopped => return Ok((TurnOutcome::Interrupted, None)),
                    EndedBy::EngineGone => return Ok((TurnOutcome::CutOff, None)),
                }
                let missing = match failure.kind {
                    SpawnFailureKind::ProgramNotFound | SpawnFailureKind::InterpreterNotFound => true,
                    SpawnFailureKind::ProgramNotPermitted
                    | SpawnFailureKind::ProgramNotRunnable
                    | SpawnFailureKind::DirectoryNotFound
                    | SpawnFailureKind::DirectoryNotUsable
                    | SpawnFailureKind::StdinUnreadable
                    | SpawnFailureKind::OutputUnwritable
                    | SpawnFailureKind::ContainmentUnavailable
                    | SpawnFailureKind::Other => false,
                };
                return Ok((TurnOutcome::NotStarted { message: failure.message.clone(), missing }, None));
            }
            Ended::WriteFailed { out_of_space: true, .. } => {
                return Err(DriveError::DiskFull { path: self.files.dir.display().to_string() });
            }
            Ended::WriteFailed { out_of_space: false, message } => {
                return Err(transcript_error(&self.files.dir, std::io::Error::other(message.clone())));
            }
        };
        Ok(match record.by {
            EndedBy::Itself => (self.transcript.outcome(exit, now), Some(exit)),
            EndedBy::Stopped => (self.interrupted(exit, now), Some(exit)),
            EndedBy::EngineGone => (TurnOutcome::CutOff, Some(exit)),
        })
    }
}
