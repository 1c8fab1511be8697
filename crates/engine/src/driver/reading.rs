//! The transcript of a turn, read up to where it is, and what it says of the turn.

use jiff::{SignedDuration, Timestamp};
use windlass_agents::{Exit, Progress, Session};
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{Input, LoopState, USAGE_EVERY_MS};
use windlass_core::resources::ResourceSpec;
use windlass_supervise::{Ended, EndedBy, ExitRecord, SpawnFailureKind};

use super::performing::Context;
use super::turn::session_facts;
use super::{DriveError, transcript_error, trouble};
use crate::data::TurnFiles;
use crate::limits;
use crate::transcript::{TranscriptReader, TurnWatcher};

pub(super) struct Reading {
    turn: TurnKey,
    files: TurnFiles,
    transcript: TranscriptReader,
    watcher: TurnWatcher,
    session_told: bool,
    account_told: Vec<windlass_core::agent::AccountWindow>,
    /// When to report the turn's usage to the machine again; it journals usage only so often.
    usage_due: Option<Timestamp>,
    /// Why the turn was ended, if the agent would never have ended it.
    spun: Option<(ErrorKind, String)>,
    resources: ResourceSpec,
}

impl Reading {
    pub(super) fn new(state: &LoopState, turn: TurnKey, files: &TurnFiles, prompt: &str) -> Self {
        let session = windlass_agents::session_with(&state.agent(turn.role).profile, &session_facts(state, turn));
        Self::with(state, turn, files, prompt, session)
    }

    /// Reads with this session, which may also want to say something.
    pub(super) fn with(
        state: &LoopState,
        turn: TurnKey,
        files: &TurnFiles,
        prompt: &str,
        session: Box<dyn Session>,
    ) -> Self {
        let mut watcher = TurnWatcher::new(state.spec.done.promise(), prompt);
        if state.review.is_some() {
            watcher = watcher.answers(turn.role);
        }
        if let Some((spec, review)) = state.reviewed()
            && let Some(milestone) = &spec.milestone
        {
            let accepted = review.accepted().iter().filter_map(|feature| feature.id.clone()).collect();
            watcher = watcher.of_milestone(milestone.clone(), accepted);
        }
        Self {
            turn,
            files: files.clone(),
            transcript: TranscriptReader::with(files, &state.agent(turn.role).profile, session),
            watcher,
            session_told: false,
            account_told: Vec::new(),
            usage_due: None,
            spun: None,
            resources: state.spec.resources.clone(),
        }
    }

    pub(super) fn catch_up(&mut self, context: &Context) -> Result<(), DriveError> {
        loop {
            let batch = self.transcript.read().map_err(|source| transcript_error(&self.files.dir, source))?;
            let mut used = false;
            for event in &batch.events {
                self.watcher.see(event);
                used |= matches!(event, windlass_core::agent::AgentEvent::Usage { .. });
            }
            if self.account_told != self.watcher.account() {
                self.account_told = self.watcher.account().to_vec();
                context.tell(Input::AccountSeen { turn: self.turn, windows: self.account_told.clone() });
            }
            if used {
                self.tell_usage(context);
                let every = SignedDuration::from_millis(USAGE_EVERY_MS.cast_signed());
                self.usage_due = context.engine.clock.now().checked_add(every).ok();
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

    pub(super) fn usage_due(&self) -> Option<Timestamp> {
        self.usage_due
    }

    pub(super) fn tell_usage(&mut self, context: &Context) {
        self.usage_due = None;
        context.tell(Input::UsageSeen { turn: self.turn, usage: self.watcher.usage().clone() });
    }

    /// What is to be written to the agent.
    pub(super) fn input(&mut self) -> Vec<u8> {
        self.transcript.input()
    }

    pub(super) fn progress(&self) -> Progress {
        self.transcript.progress()
    }

    /// Whether the agent did more than to show that it is there, since this was last asked.
    pub(super) fn took_a_step(&mut self) -> bool {
        self.transcript.took_a_step()
    }

    /// Whether the agent would continue forever; then the turn has failed for that.
    pub(super) fn spins(&mut self) -> bool {
        self.spun = self.transcript.spins();
        self.spun.is_some()
    }

    pub(super) fn interrupt(&mut self) -> bool {
        self.transcript.interrupt()
    }

    pub(super) fn report(
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
            Some(record) => self.judge(record, context.engine.clock.now()),
        };
        let mut report = self.watcher.report(outcome, exit, duration_ms);
        if let Some(record) = record {
            limits::blame(&mut report, record, &self.resources);
        }
        Ok(report)
    }

    /// Some agents wait out a rate limit in silence until they are stalled; what they said of it still holds.
    fn interrupted(&self, exit: Exit, now: Timestamp) -> TurnOutcome {
        if let Some((kind, message)) = self.spun.clone() {
            return TurnOutcome::Failed { kind, message };
        }
        match self.transcript.outcome(exit, now) {
            limited @ TurnOutcome::RateLimited { .. } => limited,
            TurnOutcome::Finished
            | TurnOutcome::Failed { .. }
            | TurnOutcome::NotStarted { .. }
            | TurnOutcome::NotTried { .. }
            | TurnOutcome::Interrupted
            | TurnOutcome::CutOff => TurnOutcome::Interrupted,
        }
    }

    fn judge(&self, record: &ExitRecord, now: Timestamp) -> (TurnOutcome, Option<Exit>) {
        let exit = match &record.ended {
            Ended::Exited { code } => Exit::Code(*code),
            Ended::Signaled { signal } => Exit::Signal(*signal),
            Ended::TurnOver => Exit::Waits,
            Ended::SpawnFailed(failure) => {
                match record.by {
                    EndedBy::Itself => {}
                    // Windlass stopped it before it had started, which is not the agent's fault.
                    EndedBy::Stopped => return (TurnOutcome::Interrupted, None),
                    EndedBy::EngineGone => return (TurnOutcome::CutOff, None),
                }
                if let Some(trouble) = trouble::of_spawn(failure) {
                    return (TurnOutcome::NotTried { trouble, began: false }, None);
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
                    | SpawnFailureKind::SandboxUnavailable
                    | SpawnFailureKind::Other => false,
                };
                return (TurnOutcome::NotStarted { message: failure.message.clone(), missing }, None);
            }
            Ended::WriteFailed { out_of_space, message } => {
                return (
                    TurnOutcome::NotTried { trouble: trouble::of_write(*out_of_space, message), began: true },
                    None,
                );
            }
        };
        match record.by {
            EndedBy::Itself => (self.transcript.outcome(exit, now), Some(exit)),
            EndedBy::Stopped => (self.interrupted(exit, now), Some(exit)),
            EndedBy::EngineGone => (TurnOutcome::CutOff, Some(exit)),
        }
    }
}
