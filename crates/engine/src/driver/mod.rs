//! The driver: one actor per loop that performs what the machine wants.
//!
//! It is the only writer of its loop (lease), appends every decision before it acts on it, starts what is wanted and
//! missing, and ends what runs unwanted. It decides nothing by itself.

mod follow;
mod gate;
mod judge;
mod live;
mod merge_gates;
mod performing;
mod queueing;
mod reading;
mod review;
mod setup;
mod shell;
mod snapshot;
mod summary;
mod trouble;
mod turn;
mod workspace;

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use windlass_core::machine::{Effect, Event, Input, LoopState, Refusal, Wish, decide, effects, evolve};
use windlass_core::sandbox::NetworkAccess;
use windlass_core::stop::Status;

use crate::command::{Answer, Command};
use crate::copilot_loop;
use crate::data::rubbish;
use crate::engine::{Engine, workspace_of};
pub use crate::failure::DriveError;
use crate::journal;
use crate::limits;
use crate::loop_log;
use crate::notify::Notifier;
use crate::places::{Leave, Place};
use crate::proxy::{Denied, Proxy, Upstream, host_list};
use crate::sandbox::Ground;
use crate::socket::Line;
use crate::view::catalogue_entry;
pub use merge_gates::{Candidates, FreshRun, RedGate};
pub(crate) use merge_gates::{SET_UP, judge_afresh, judge_merge};
use performing::{Performing, Report};
pub(crate) use queueing::Queueing;
use windlass_faults as faults;
use windlass_store::Append;
pub(crate) use workspace::{opening as workspace_opening, request as workspace_request};

/// How a driver left its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// Ended, paused, or parked: there is nothing to do here.
    Settled,
    /// The process was interrupted.
    ShutDown,
}

/// Who waits for the removal of what the loop no longer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tidying {
    /// The process that drove the loop.
    Waits,
    /// Nobody: a command wants its answer. The next process removes what is left.
    GoesOn,
}

/// Where the loop's processes run.
fn ground<'a>(engine: &'a Engine, state: &'a LoopState) -> Ground<'a> {
    Ground::of(&engine.data, &engine.env, state, workspace_of(state).ok())
}

/// What the machine decided, and when.
struct Decided {
    at: Timestamp,
    events: Vec<Event>,
}

pub(crate) struct Driver {
    engine: Arc<Engine>,
    state: LoopState,
    token: String,
    line: Arc<Line>,
    performing: Performing,
    reports: mpsc::UnboundedReceiver<Report>,
    shutdown: watch::Receiver<bool>,
    leaving: bool,
    /// Commands whose answer waits until the loop has come to rest.
    answer_at_rest: Vec<String>,
    notifier: Arc<Notifier>,
    /// What a running loop needs, of which there are so many.
    place: Option<Place>,
    queueing: Queueing,
}

impl Driver {
    pub(crate) fn new(
        engine: Arc<Engine>,
        state: LoopState,
        token: String,
        line: Arc<Line>,
        shutdown: watch::Receiver<bool>,
    ) -> Self {
        let (sender, reports) = mpsc::unbounded_channel();
        let leaving = *shutdown.borrow();
        let performing = Performing::new(Arc::clone(&engine), sender, Arc::clone(&line));
        let notifier = Arc::new(Notifier::of(&engine, &state));
        let answer_at_rest = Vec::new();
        Self {
            engine,
            state,
            token,
            line,
            performing,
            reports,
            leaving,
            shutdown,
            answer_at_rest,
            notifier,
            place: None,
            queueing: Queueing::Background,
        }
    }

    /// Who tells of this loop; whoever drives waits for it when the loop is left.
    pub(crate) fn notifier(&self) -> Arc<Notifier> {
        Arc::clone(&self.notifier)
    }

    /// Drives until the loop pauses or ends, or the process is interrupted. Nothing of the loop runs afterwards.
    pub(crate) async fn run(mut self) -> Result<Left, DriveError> {
        if self.engine.outside.is_none() && self.engine.ports.claim(&self.state.id.0).is_none() {
            tracing::warn!(loop_id = %self.state.id, "no free port range");
        }
        let result = match self.open_proxy() {
            Ok(proxy) => {
                let result = self.drive().await;
                self.performing.end_all().await;
                if self.engine.outside.is_none() {
                    workspace::leave(&self.engine, &self.state).await;
                }
                drop(proxy);
                result
            }
            Err(error) => Err(error),
        };
        if self.engine.outside.is_none() {
            self.release_files();
        }
        let certified = if result.is_ok() { self.certify().await } else { Ok(()) };
        self.engine.ports.release(&self.state.id.0);
        certified?;
        if result.is_ok() && !self.answer_at_rest.is_empty() {
            let answer = Answer::done(&self.state);
            let answers = std::mem::take(&mut self.answer_at_rest);
            self.append(self.nothing(), Vec::new(), answers.into_iter().map(|id| (id, answer.clone())).collect())
                .await?;
        }
        result
    }

    /// Lets go of what a loop has on the machine while it is driven.
    fn release_files(&self) {
        limits::release(&self.state.id);
        if let Ok(workspace) = workspace_of(&self.state) {
            self.engine.workspaces.rest(&workspace);
        }
        if self.state.status().is_ended() {
            set_temp_aside(&self.engine, &self.state);
            if let Ok(workspace) = workspace_of(&self.state) {
                self.engine.workspaces.release(&workspace);
            }
        }
    }

    /// The way out for a loop whose network is a rule; what it refuses is journalled.
    fn open_proxy(&self) -> Result<Option<Proxy>, DriveError> {
        if !self.under_way() {
            return Ok(None);
        }
        let reports = self.performing.reports();
        // Before the client has its answer, so that what it does then is told later.
        way_out(&self.engine, &self.state, move |Denied { host, why, count }| {
            let _ = reports.send(Report::News(Input::NetworkDenied { host, why, count }));
        })
    }

    /// Looks for what is left of a loop that has come to rest.
    async fn certify(&mut self) -> Result<(), DriveError> {
        if self.under_way() || self.state.status() == Status::Queued || self.state.residue.is_some() {
            return Ok(());
        }
        let left = match &self.engine.outside {
            Some(outside) => outside.residue(&self.state).await,
            None => self.engine.residue(&self.state).await,
        };
        for one in &left {
            tracing::warn!(loop_id = %self.state.id, kind = one.kind.name(), what = one.what, "left behind");
        }
        match self.decide(&Input::ResidueChecked { left }) {
            Ok(decided) => self.append(decided, Vec::new(), Vec::new()).await,
            Err(refusal) => Err(DriveError::Lost(refusal.to_string())),
        }
    }

    async fn drive(&mut self) -> Result<Left, DriveError> {
        crate::sandbox::docker::clear(&self.state).await;
        self.take_commands().await?;
        if !self.take_place().await? {
            return Ok(Left::ShutDown);
        }
        let mut looked = false;
        loop {
            self.take_commands().await?;
            if !self.take_place().await? {
                return Ok(Left::ShutDown);
            }
            if !self.under_way() {
                return Ok(Left::Settled);
            }
            let (leave, wanted) = (self.leave_as(), self.wanted());
            if wanted.is_empty() && leave != Leave::Stay {
                if self.pause_instead().await? {
                    continue;
                }
                return Ok(Left::ShutDown);
            }
            if leave == Leave::Stay && self.parks(&wanted).await? {
                return Ok(Left::Settled);
            }
            // Answering a command or waiting opens no workspace.
            if !looked && wanted.iter().any(Effect::needs_files) {
                looked = true;
                self.look_for_files().await?;
                continue;
            }
            self.performing.reconcile(&self.state, &wanted).await;
            tokio::select! {
                // In this order, so that a simulation repeats; no flood of reports keeps the process from leaving.
                biased;
                changed = self.shutdown.changed(), if !self.leaving => {
                    // A sender that is gone cannot ask for anything any more.
                    self.leaving = changed.is_err() || *self.shutdown.borrow();
                    self.leave().await?;
                }
                () = self.engine.drain.begins(), if leave == Leave::Stay => {}
                report = self.reports.recv() => match report {
                    Some(report) => self.hear(report).await?,
                    None => return Err(DriveError::Lost("no effect can report results".into())),
                },
                () = self.line.wake.notified() => {}
            }
        }
    }

    /// A loop whose files are not here continues from its last commit.
    async fn look_for_files(&mut self) -> Result<(), DriveError> {
        self.engine.use_files(&self.state, &self.token).await?;
        let lost = match &self.engine.outside {
            Some(outside) => outside.files_are_lost(&self.state).await,
            None => workspace::is_lost(&self.engine, &self.state).await,
        };
        if lost {
            self.hear(Report::News(Input::Moved { from: None, to: host_name() })).await?;
            faults::point("moved.after");
        }
        self.ensure_workspace().await
    }

    /// A loop that goes on in the middle of an iteration finds its workspace as it left it. A turn says by itself what
    /// became of it, and the workspace is opened before the next.
    async fn ensure_workspace(&mut self) -> Result<(), DriveError> {
        if self.state.status() != Status::Running {
            return Ok(());
        }
        let error = match self.performing.ensure_workspace(&self.state).await {
            Ok(None) => return Ok(()),
            Ok(Some(failed)) => return self.hear(Report::News(failed)).await,
            Err(error) if self.state.turn().is_some() => {
                tracing::warn!(loop_id = %self.state.id, %error, "cannot open the workspace yet");
                return Ok(());
            }
            Err(error) => error,
        };
        let effect = effects(&self.state).into_iter().next();
        let (Some(effect), Some(trouble)) = (effect, trouble::of_error(&error)) else { return Err(error) };
        self.hear(Report::News(Input::NotTried { effect, trouble })).await
    }

    fn under_way(&self) -> bool {
        self.state.is_under_way()
    }

    fn leave_as(&self) -> Leave {
        if self.leaving { Leave::Now } else { self.engine.drain.leave(&self.shutdown) }
    }

    /// The effects that the machine wants. A process that leaves performs only what must end first: an interrupted turn, a commit. A
    /// process that drains also lets running turns and gates end, and commits their work.
    fn wanted(&self) -> Vec<Effect> {
        let wanted = effects(&self.state);
        let at_boundary = match self.leave_as() {
            Leave::Stay => return wanted,
            Leave::AtBoundary => true,
            Leave::Now => false,
        };
        let (timers, mut kept): (Vec<Effect>, Vec<Effect>) =
            wanted.into_iter().partition(|effect| matches!(effect, Effect::SetTimer { .. }));
        kept.retain(|effect| match effect {
            Effect::EndTurn { .. } | Effect::Checkpoint { .. } | Effect::Seal { .. } | Effect::Undo { .. } => true,
            // `stop` answers when the loop has stopped; the commit follows.
            Effect::Summarise { .. } => at_boundary || self.state.wish == Some(Wish::Stop),
            Effect::OpenWorkspace { .. } | Effect::SetUpWorkspace | Effect::RunTurn { .. } | Effect::RunGate { .. } => {
                at_boundary && self.performing.runs(effect)
            }
            Effect::SetTimer { .. } => false,
        });
        if at_boundary && !kept.is_empty() {
            // The limits of what still runs.
            kept.extend(timers);
        }
        kept
    }

    /// Nothing runs any more, so that a pause that was asked for has come; says whether that changed anything.
    async fn pause_instead(&mut self) -> Result<bool, DriveError> {
        if self.state.wish != Some(Wish::Pause) {
            return Ok(false);
        }
        match self.decide(&Input::Pause { now: true }) {
            Ok(decided) => self.append(decided, Vec::new(), Vec::new()).await.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    async fn leave(&mut self) -> Result<(), DriveError> {
        match self.decide(&Input::Shutdown) {
            Ok(decided) => self.append(decided, Vec::new(), Vec::new()).await,
            // No turn is under way.
            Err(_) => Ok(()),
        }
    }

    async fn hear(&mut self, report: Report) -> Result<(), DriveError> {
        let input = match report {
            Report::News(input) => input,
            Report::Done { effect, result } => {
                self.performing.forget(&effect);
                match result {
                    Ok(input) => input,
                    Err(error) => {
                        let Some(trouble) = trouble::of_error(&error) else { return Err(error) };
                        tracing::warn!(loop_id = %self.state.id, %trouble, "could not run");
                        Input::NotTried { effect, trouble }
                    }
                }
            }
        };
        match self.decide(&input) {
            Ok(decided) if decided.events.is_empty() => Ok(()),
            Ok(decided) => self.append(decided, Vec::new(), Vec::new()).await,
            Err(refusal) => {
                tracing::debug!(loop_id = %self.state.id, %refusal, ?input, "refused");
                Ok(())
            }
        }
    }

    /// One time for a decision and for its events: a replay must see what the decision saw.
    fn decide(&self, input: &Input) -> Result<Decided, Refusal> {
        let at = self.engine.clock.now();
        decide(&self.state, input, at)
            .map(|events| Decided { at, events: self.engine.secrets(&self.state).clean(events) })
    }

    fn nothing(&self) -> Decided {
        Decided { at: self.engine.clock.now(), events: Vec::new() }
    }

    /// What other processes left in the inbox, each taken exactly once with the events it leads to.
    async fn take_commands(&mut self) -> Result<(), DriveError> {
        for item in self.engine.store.pending(&self.state.id.0).await? {
            let input = Command::parse(&item.body).map(|command| command.input(&item.id));
            let decided = input.map_err(|error| Answer::refused(&error)).and_then(|input| {
                let at_rest = matches!(input, Input::Stop) || matches!(input, Input::Pause { now: true });
                self.decide(&input).map(|decided| (decided, at_rest)).map_err(|refusal| Answer::refused(&refusal))
            });
            match decided {
                Ok((decided, true)) => {
                    self.append(decided, vec![item.id.clone()], Vec::new()).await?;
                    self.answer_at_rest.push(item.id);
                }
                Ok((decided, false)) => {
                    let answer = Answer::accepted(&decided.events);
                    self.append(decided, vec![item.id.clone()], vec![(item.id, answer)]).await?;
                }
                Err(refused) => {
                    self.append(self.nothing(), vec![item.id.clone()], vec![(item.id, refused)]).await?;
                }
            }
        }
        Ok(())
    }

    /// Makes a decision durable, and only then part of the state.
    async fn append(
        &mut self,
        Decided { at, events }: Decided,
        consumed: Vec<String>,
        answers: Vec<(String, Answer)>,
    ) -> Result<(), DriveError> {
        let mut next = self.state.clone();
        for event in &events {
            next = evolve(next, at, event);
        }
        faults::point("append.before");
        self.engine
            .store
            .append(Append {
                loop_id: self.state.id.0.clone(),
                expected_seq: self.state.seq,
                events: events.iter().map(|event| journal::encode(at, event)).collect(),
                entry: catalogue_entry(&next),
                token: self.token.clone(),
                consumed,
                answers: answers.into_iter().map(|(id, answer)| (id, answer.to_json())).collect(),
            })
            .await?;
        faults::point("append.after");
        copilot_loop::log(&self.state, &events);
        loop_log::append(&self.engine.data, &self.state, at, &events);
        self.notifier.tell(&next, at, &events);
        self.state = next;
        self.line.tell();
        Ok(())
    }
}

/// Opens the proxy of a loop whose network is a list, and tells which hosts it refused. One whose network is closed has an
/// empty list, so that what was asked for is known.
fn way_out(
    engine: &Engine,
    state: &LoopState,
    tell: impl Fn(Denied) + Send + Sync + 'static,
) -> Result<Option<Proxy>, DriveError> {
    let spec = &state.spec.sandbox;
    let hosts: &[String] = match spec.network {
        NetworkAccess::List => &spec.hosts,
        NetworkAccess::Deny if !spec.is_off() => &[],
        NetworkAccess::Deny | NetworkAccess::Allow => return Ok(None),
    };
    let lost = |error: &dyn std::fmt::Display| DriveError::Lost(format!("cannot open the proxy: {error}"));
    let list = host_list(hosts).map_err(|error| lost(&error))?;
    let path = engine.data.proxy_socket(&state.id);
    Proxy::listen(&path, list, Upstream::from_env(&engine.env), tell).map(Some).map_err(|error| lost(&error))
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Moves the judge's checkout away, and what the loop's processes left in their temporary directory. A stop does
/// not wait for their removal.
fn set_temp_aside(engine: &Engine, state: &LoopState) {
    if let Err(error) = judge::hand_on(engine, state) {
        tracing::warn!(loop_id = %state.id, %error, "cannot keep what gates built on the base");
    }
    for dir in [engine.data.loop_temp(&state.id.0), engine.data.judge(&state.id.0)] {
        if let Err(error) = rubbish::set_aside(&engine.data, &dir) {
            tracing::warn!(loop_id = %state.id, %error, "cannot move a temporary directory of the loop away");
        }
    }
}

fn transcript_error(dir: &std::path::Path, source: std::io::Error) -> DriveError {
    let path = dir.display().to_string();
    if source.kind() == std::io::ErrorKind::StorageFull {
        DriveError::DiskFull { path }
    } else {
        DriveError::Transcript { path, source }
    }
}
