//! One turn: the agent it is given to, the process that takes it, and what became of one that was cut off.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass_agents::{LaunchError, LaunchFacts, PrivateFile, SessionFacts, TurnRequest};
use windlass_core::agent::{TurnOutcome, TurnReport};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{Input, LoopState, SessionUse};
use windlass_core::prompt;
use windlass_core::sandbox::SandboxLevel;
use windlass_core::spec::SessionPolicy;
use windlass_process::CommandSpec;
use windlass_supervise::{ContainmentRequest, Ended, Running, SandboxPolicy, ShimSpec, TurnPaths, settled_exit_record};

use super::follow::{Followed, follow};
use super::judge::{self, Place};
use super::live::{self, Live};
use super::performing::Context;
use super::reading::Reading;
use super::{DriveError, ground, review, snapshot, transcript_error, trouble, workspace};
use crate::data::{TurnFiles, private_files};
use crate::engine::Engine;
use crate::limits;
use crate::sandbox::{Confined, Missed, SandboxError};
use crate::tools::{SOCKET_VARIABLE, ToolSocket, Whose};
use windlass_faults as faults;

/// Runs the turn, or, if it ran before, reports what became of it.
pub(super) async fn run(
    mut context: Context,
    state: &LoopState,
    turn: TurnKey,
    session: &SessionUse,
) -> Result<Input, DriveError> {
    let files = context.engine.data.turn(&state.id, turn);
    // A turn whose tree was lost before it began would be lost too.
    if files.have_begun() || state.turn().is_some_and(|running| running.moved) {
        return recover(context, state, turn).await;
    }
    let facts = review::facts(&context, state, turn).await?;
    let prompt = prompt::build(state, &facts, &crate::tokens::count_again);
    let prompt = context.engine.secrets(state).text(&prompt);
    if let Some(message) = limits::disk_short(&context.engine, state).await {
        context.tell(Input::DiskShort { turn, message });
        return Ok(Input::turn_ended(turn, TurnReport::bare(TurnOutcome::Interrupted)));
    }
    let place = judge::place_of_turn(&mut context, state, turn).await?;
    let job = Job { engine: Arc::clone(&context.engine), state, turn, session, files, prompt, place };
    let report = match job.run(&mut context).await {
        Ok(report) => report,
        Err(JobError::Launch(error)) => {
            let message = format!("{error} ({})", error.hint());
            TurnReport::bare(TurnOutcome::NotStarted { message, missing: false })
        }
        Err(JobError::Drive(error)) => return Err(error),
    };
    if !report.outcome.is_finished() {
        snapshot::take_last(&context, state, turn).await;
    }
    Ok(Input::turn_ended(turn, report))
}

enum JobError {
    Launch(LaunchError),
    Drive(DriveError),
}

impl From<LaunchError> for JobError {
    fn from(error: LaunchError) -> Self {
        JobError::Launch(error)
    }
}

impl From<SandboxError> for JobError {
    fn from(error: SandboxError) -> Self {
        JobError::Drive(error.into())
    }
}

impl From<DriveError> for JobError {
    fn from(error: DriveError) -> Self {
        JobError::Drive(error)
    }
}

/// A turn to be run.
pub(super) struct Job<'a> {
    pub(super) engine: Arc<Engine>,
    pub(super) state: &'a LoopState,
    pub(super) turn: TurnKey,
    session: &'a SessionUse,
    files: TurnFiles,
    prompt: String,
    place: Place,
}

impl Job<'_> {
    async fn run(&self, context: &mut Context) -> Result<TurnReport, JobError> {
        let mut files = vec![PrivateFile { path: self.files.prompt(), content: self.prompt.clone() }];
        files.extend(workspace::before_turn(context, self.state, self.turn, &self.files).await?);
        if *context.end.borrow() {
            return Ok(TurnReport::bare(TurnOutcome::Interrupted));
        }
        let mut begins = Some(self.files.begin().map_err(|source| transcript_error(&self.files.dir, source))?);
        self.engine.begin_shipping(self.state, self.turn);
        private_files(&files).map_err(|source| transcript_error(&self.files.dir, source))?;
        let started_at = self.engine.clock.now();
        if let Some(Live { running, tools, .. }) = context.live.take(self.turn.role, self.session()).await {
            let reading = self.reading(true)?;
            self.has_begun(&mut begins).await?;
            running.begin_turn(&self.paths());
            let followed = self.followed(context, running, reading).await?;
            if !followed.never_began {
                return self.finish(context, followed, tools, started_at).await;
            }
            tracing::info!(turn = %self.state.turn_id(self.turn), "the agent's process exited after its last turn");
        }
        // Before the sandbox is described, which has to show it.
        let tools = self.tools()?;
        let spec = self.spec()?;
        let home = spec.command.env.get("HOME");
        let missed = spec.sandbox.as_ref().and_then(|policy| Missed::new(&policy.places, home));
        let reading = self.reading(false)?;
        self.has_begun(&mut begins).await?;
        faults::point("turn.before_start");
        let running = self.engine.launcher.start(&spec).await.map_err(DriveError::from)?;
        faults::point("turn.started");
        let followed = self.followed(context, running, reading).await?;
        let mut report = self.finish(context, followed, tools, started_at).await?;
        if let (TurnOutcome::Failed { message, .. }, Some(missed)) = (&mut report.outcome, missed) {
            let said = format!("{message}\n{}", end_of(&self.files.stderr()));
            missed.hints(&said).iter().for_each(|hint| message.push_str(&format!("; {hint}")));
        }
        Ok(report)
    }

    /// Follows the turn to its end, and saves its files on the way where other machines may continue it.
    async fn followed(
        &self,
        context: &mut Context,
        running: Running,
        reading: Reading,
    ) -> Result<Followed, DriveError> {
        tokio::select! {
            followed = follow(context, self, running, reading) => followed,
            never = snapshot::keep_taking(&self.engine, self.state, self.turn) => match never {},
        }
    }

    /// Waits until it is on disk that the turn begins.
    async fn has_begun(&self, begins: &mut Option<JoinHandle<io::Result<()>>>) -> Result<(), DriveError> {
        let Some(begins) = begins.take() else { return Ok(()) };
        let on_disk = begins.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        on_disk.map_err(|source| transcript_error(&self.files.dir, source))
    }

    /// The socket of this process's tools. Agents that cannot be told of MCP servers may start `windlass mcp` too.
    fn tools(&self) -> Result<Option<ToolSocket>, DriveError> {
        if !review::offers_tools(self.state, self.turn) {
            return Ok(None);
        }
        // A kept process keeps its tools through many turns, so they find out the turn.
        let whose = if self.keeps() { Whose::Role(self.turn.role) } else { Whose::Turn(self.turn) };
        ToolSocket::open(&self.engine, &self.state.id, whose).map_err(|error| DriveError::Lost(error.to_string()))
    }

    /// Reports the turn, and keeps the process for the next one if it is fit for that.
    async fn finish(
        &self,
        context: &Context,
        followed: Followed,
        tools: Option<ToolSocket>,
        started_at: jiff::Timestamp,
    ) -> Result<TurnReport, JobError> {
        faults::point("turn.closed");
        ground(&self.engine, self.state).keep_logins(self.turn.role.name());
        let took = self.engine.clock.now().as_millisecond() - started_at.as_millisecond();
        let mut report =
            followed.reading.report(context, followed.record.as_ref(), u64::try_from(took).unwrap_or(0))?;
        if followed.record.is_none() {
            report.outcome = TurnOutcome::NotTried { trouble: trouble::supervisor_gone(), began: true };
        }
        if let Some(running) = followed.waits {
            if followed.fit && self.keeps() && report.outcome.is_finished() {
                let session = report.session.clone().or_else(|| self.session().map(str::to_owned));
                context.live.keep(self.turn.role, Live { running, session, tools });
            } else {
                live::end(running).await;
            }
        }
        Ok(report)
    }

    fn session(&self) -> Option<&str> {
        match self.session {
            SessionUse::Resume { session } => Some(session),
            SessionUse::Fresh | SessionUse::FreshInstead => None,
        }
    }

    /// Whether the process is to take the next turn too.
    fn keeps(&self) -> bool {
        let can = windlass_agents::keeps_alive(&self.state.agent(self.turn.role).profile);
        self.state.spec.session == SessionPolicy::KeepAlive && can
    }

    /// Where the agent starts; the top of its checkout if the directory was removed.
    fn start_dir(&self) -> PathBuf {
        let dir = self.engine.start_dir(self.state, &self.place.dir);
        if dir.is_dir() { dir } else { self.place.dir.clone() }
    }

    fn request(&self) -> TurnRequest<'_> {
        let mut env = self.engine.agent_environment(self.state, self.turn);
        if self.keeps() {
            env.insert(live::TAG.into(), live::tag(self.state, self.turn.role));
        }
        if review::offers_tools(self.state, self.turn) {
            let socket = self.engine.data.tool_socket(&self.state.id, self.turn.role);
            env.insert(SOCKET_VARIABLE.into(), socket.to_string_lossy().into_owned());
        }
        TurnRequest {
            agent: self.state.agent(self.turn.role),
            prompt: &self.prompt,
            prompt_file: self.files.prompt(),
            session: self.session(),
            cwd: self.start_dir(),
            env,
            own_program: self.engine.own_program.clone(),
        }
    }

    fn facts(&self) -> LaunchFacts {
        LaunchFacts {
            turn_id: self.state.turn_id(self.turn),
            as_root: rustix::process::geteuid().is_root(),
            mcp_servers: review::servers(&self.engine, self.state, self.turn),
            read_only: self.turn.role.only_reads(),
            confined: self.state.spec.sandbox.level != SandboxLevel::Off,
            keep_alive: self.keeps(),
            ..LaunchFacts::default()
        }
    }

    /// A reader for the turn's output; in a process that `has_session` only the prompt is left to be said.
    fn reading(&self, has_session: bool) -> Result<Reading, LaunchError> {
        let facts = session_facts(self.state, self.turn);
        let session = if windlass_agents::converses(&self.state.agent(self.turn.role).profile, self.keeps()) {
            windlass_agents::conversation(&self.request(), &self.facts(), &facts, has_session)?
        } else {
            windlass_agents::session_with(&self.state.agent(self.turn.role).profile, &facts)
        };
        Ok(Reading::with(self.state, self.turn, &self.files, &self.prompt, session))
    }

    fn paths(&self) -> TurnPaths {
        TurnPaths {
            stdout: self.files.stdout(),
            stderr: self.files.stderr(),
            times: Some(self.files.times()),
            exit_record: self.files.exit_record(),
        }
    }

    fn spec(&self) -> Result<ShimSpec, JobError> {
        let mut launch = windlass_agents::launch_with(&self.request(), &self.facts())?;
        private_files(&launch.files).map_err(|source| transcript_error(&self.files.dir, source))?;
        if self.keeps() {
            // An engine that was killed may have left one that is not quite gone.
            sweep(self.state, self.turn);
        }
        let sandbox = self.sandbox(&mut launch.command)?;
        let TurnPaths { stdout, stderr, times, exit_record } = self.paths();
        Ok(ShimSpec {
            command: launch.command,
            stdout,
            stderr,
            times,
            exit_record,
            secrets: self.engine.secrets(self.state).known.clone(),
            cap_bytes: None,
            grace_ms: ShimSpec::DEFAULT_GRACE_MS,
            containment: ContainmentRequest::Auto,
            sandbox,
            limits: limits::of_tree(self.state),
        })
    }

    fn sandbox(&self, command: &mut CommandSpec) -> Result<Option<SandboxPolicy>, SandboxError> {
        let profile = &self.state.agent(self.turn.role).profile;
        let ground = ground(&self.engine, self.state);
        let confined = Confined {
            who: self.turn.role.name(),
            // What it writes into a checkout of its own is thrown away.
            writes: self.state.spec.sandbox.writes() && (self.place.judge.is_some() || !self.turn.role.only_reads()),
            dir: &self.place.dir,
            judge: self.place.judge.as_ref(),
            files: &self.files.dir,
            shown: command
                .env
                .get(SOCKET_VARIABLE)
                .map(Path::new)
                .and_then(Path::parent)
                .map(Path::to_owned)
                .into_iter()
                .collect(),
            result: windlass_agents::usage_file(profile, &self.files.prompt()),
            own_places: windlass_agents::own_places(profile, &command.env, &command.cwd),
            credentials: false,
        };
        ground.confine(command, confined)
    }
}

/// What became of a turn that an earlier driver started.
pub(super) async fn recover(context: Context, state: &LoopState, turn: TurnKey) -> Result<Input, DriveError> {
    let files = context.engine.data.turn(&state.id, turn);
    // The machine that lost the loop may have shipped a part: it counts as used, though its tree is gone.
    if state.turn().is_some_and(|running| running.moved) {
        context.engine.fetch_turn(&state.id, turn).await?;
    }
    // The shim of the engine that is gone may still be ending its tree; it says how that went.
    let path = files.exit_record();
    let record =
        tokio::task::spawn_blocking(move || settled_exit_record(&path)).await.ok().and_then(Result::ok).flatten();
    // A turn whose output could not be written was ended for that; it is told once, and then tried again.
    let record = record.filter(|record| !matches!(record.ended, Ended::WriteFailed { .. }));
    sweep(state, turn);
    let prompt = std::fs::read_to_string(files.prompt()).unwrap_or_default();
    let started_at = state.turn().map_or(context.engine.clock.now(), |running| running.started_at);
    let ended_at = record.as_ref().map_or(started_at, |record| record.ended_at);
    let took = ended_at.as_millisecond() - started_at.as_millisecond();
    let report = Reading::new(state, turn, &files, &prompt).report(
        &context,
        record.as_ref(),
        u64::try_from(took).unwrap_or(0),
    )?;
    Ok(Input::turn_ended(turn, report))
}

/// What the reader of a turn's output has to know about the agent session it runs in.
pub(super) fn session_facts(state: &LoopState, turn: TurnKey) -> SessionFacts {
    let resumed = state.turn().filter(|running| running.key == turn).and_then(|running| match &running.session {
        SessionUse::Resume { session } => Some(session.clone()),
        SessionUse::Fresh | SessionUse::FreshInstead => None,
    });
    let usage_before = resumed.as_ref().and_then(|session| state.session_usage.get(session)).cloned();
    let chosen = || windlass_agents::chosen_session(&state.agent(turn.role).profile, &state.turn_id(turn));
    SessionFacts { session: resumed.or_else(chosen), usage_before: usage_before.unwrap_or_default() }
}

/// The end of what an agent said on standard error.
fn end_of(path: &Path) -> String {
    const MOST: usize = 64 << 10;
    let bytes = std::fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(MOST)..]).into_owned()
}

/// Ends processes that carry the turn's tag.
pub(super) fn sweep(state: &LoopState, turn: TurnKey) {
    sweep_tagged("WINDLASS_TURN", &state.turn_id(turn));
    // A process that lives from turn to turn carries the tag of its first.
    if state.spec.session == SessionPolicy::KeepAlive {
        sweep_tagged(live::TAG, &live::tag(state, turn.role));
    }
}

fn sweep_tagged(key: &str, tag: &str) {
    match windlass_supervise::sweep(key, tag) {
        Ok(found) if found.is_empty() => {}
        Ok(found) => tracing::warn!(%tag, ?found, "killed leftover processes"),
        Err(error) => tracing::warn!(%tag, %error, "cannot find leftover processes"),
    }
}
