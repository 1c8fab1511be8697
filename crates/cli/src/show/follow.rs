//! Following a loop: its feed on standard output, in words or as JSON, with a status line on a terminal.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use windlass_app::{Problem, RemoteFeed};
use windlass_core::duration::human;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState};
use windlass_engine::engine::Engine;
use windlass_engine::feed::{FeedBody, FeedItem, FeedReader, News};

use crate::render::Renderer;
use crate::style::{Style, json_line, printable};

/// How far a user's view may fall behind before output is passed over.
const MOST_BEHIND: u64 = 4 * 1024 * 1024;

/// So much is written at once.
const AT_ONCE: usize = 64 * 1024;

/// Prints a feed.
#[derive(Debug)]
pub struct Follower {
    source: Source,
    renderer: Option<Renderer>,
    status: StatusLine,
    only: Only,
    /// Nobody reads any more; the loop continues all the same.
    closed: bool,
}

/// Where the feed comes from.
#[derive(Debug)]
enum Source {
    Here(Box<FeedReader>),
    There(Box<dyn RemoteFeed>),
}

impl Source {
    async fn next(&mut self) -> Result<Option<FeedItem>, Problem> {
        match self {
            Source::Here(reader) => Ok(reader.next().await?),
            Source::There(feed) => Ok(feed.ready()),
        }
    }
}

/// Which items are wanted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Only {
    pub iteration: Option<u32>,
    pub role: Option<windlass_core::ids::Role>,
}

impl Follower {
    pub async fn open(engine: &Engine, id: &LoopId, after: u64, json: bool, live: bool) -> Result<Self, Problem> {
        let reader = FeedReader::open(engine, id, after).await?;
        let reader = if json || !live { reader } else { reader.at_most_behind(MOST_BEHIND) };
        Ok(Self {
            source: Source::Here(Box::new(reader)),
            renderer: (!json).then(|| {
                let renderer = Renderer::new(Style::for_stdout());
                if live { renderer.in_environment(engine.env.clone()) } else { renderer }
            }),
            status: StatusLine::new(!json && live),
            only: Only::default(),
            closed: false,
        })
    }

    /// The feed of a loop on another machine.
    pub fn remote(feed: Box<dyn RemoteFeed>, json: bool, live: bool) -> Self {
        Self {
            source: Source::There(feed),
            renderer: (!json).then(|| Renderer::new(Style::for_stdout())),
            status: StatusLine::new(!json && live),
            only: Only::default(),
            closed: false,
        }
    }

    #[must_use]
    pub fn only(mut self, only: Only) -> Self {
        self.only = only;
        self
    }

    /// Prints all there is for now.
    async fn catch_up(&mut self) -> Result<(), Problem> {
        let mut pending = String::new();
        loop {
            let Some(item) = self.source.next().await? else { break };
            self.status.see(&item);
            if self.closed || !self.only.wants(&item) {
                continue;
            }
            match &mut self.renderer {
                Some(renderer) => pending.push_str(&printable(&renderer.render(&item))),
                None => pending.push_str(&json_line(&item)),
            }
            if pending.len() >= AT_ONCE {
                self.print(std::mem::take(&mut pending)).await;
            }
        }
        if !pending.is_empty() {
            self.print(pending).await;
        }
        self.status.draw();
        Ok(())
    }

    /// Prints as things happen, until nobody drives the loop any more. What comes from a server brings its own news.
    pub async fn follow(&mut self, news: &mut News) -> Result<(), Problem> {
        let mut second = tokio::time::interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            self.catch_up().await?;
            let more = async {
                match &mut self.source {
                    Source::Here(_) => Ok(news.wait().await),
                    Source::There(feed) => feed.wait().await,
                }
            };
            tokio::select! {
                more = more => if !more? { break },
                _ = second.tick(), if self.status.on => self.status.draw(),
            }
        }
        self.catch_up().await?;
        self.status.clear();
        Ok(())
    }

    /// On its own thread: a reader that has stopped reading must not hold up the driver in this process.
    async fn print(&mut self, text: String) {
        self.status.clear();
        let written = tokio::task::spawn_blocking(move || {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        self.closed = !matches!(written.await, Ok(Ok(())));
    }
}

impl Only {
    fn wants(&self, item: &FeedItem) -> bool {
        let (iteration, role) = match &item.body {
            FeedBody::Live { turn, .. } | FeedBody::Stderr { turn, .. } | FeedBody::Skipped { turn, .. } => {
                (Some(turn.iteration), Some(turn.role))
            }
            FeedBody::Journal(event) => match event.as_ref() {
                Event::TurnStarted { turn, .. }
                | Event::TurnEnded { turn, .. }
                | Event::TurnInterrupted { turn, .. }
                | Event::SessionFound { turn, .. }
                | Event::UsageReported { turn, .. }
                | Event::QuestionAsked { turn, .. }
                | Event::SessionLost { turn, .. } => (Some(turn.iteration), Some(turn.role)),
                Event::Checkpointed { turn, .. } | Event::Summarised { turn, .. } => (Some(turn.iteration), None),
                Event::IterationStarted { iteration }
                | Event::PhaseEntered { iteration, .. }
                | Event::IterationJudged { iteration, .. }
                | Event::ClaimRefused { iteration, .. } => (Some(*iteration), None),
                Event::GateEnded { gate, .. } => (Some(gate.on.number()), None),
                Event::Review(event) => {
                    let turn = event.turn();
                    (turn.map(|turn| turn.iteration), turn.map(|turn| turn.role))
                }
                Event::LoopCreated { .. }
                | Event::LoopOpened { .. }
                | Event::DriverAttached { .. }
                | Event::LoopMoved { .. }
                | Event::LoopQueued { .. }
                | Event::QueueLeft { .. }
                | Event::NotTried { .. }
                | Event::Merged { .. }
                | Event::MergeRefused { .. }
                | Event::Minimised { .. }
                | Event::WorkspaceOpened { .. }
                | Event::WorkspaceSetUp
                | Event::AgentChanged { .. }
                | Event::ProgressStalled { .. }
                | Event::WaitStarted { .. }
                | Event::WaitEnded
                | Event::PauseRequested { .. }
                | Event::LoopPaused { .. }
                | Event::StopRequested
                | Event::SteeringQueued { .. }
                | Event::QuestionAnswered { .. }
                | Event::RolledBack { .. }
                | Event::NetworkDenied { .. }
                | Event::ResidueChecked { .. }
                | Event::LoopStopped { .. } => (None, None),
            },
        };
        self.iteration.is_none_or(|wanted| iteration == Some(wanted))
            && self.role.is_none_or(|wanted| role == Some(wanted))
    }
}

/// The last line of the terminal: iteration, time, cost.
#[derive(Debug)]
struct StatusLine {
    on: bool,
    drawn: bool,
    state: Option<LoopState>,
}

impl StatusLine {
    fn new(wanted: bool) -> Self {
        let on = wanted && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        Self { on, drawn: false, state: None }
    }

    fn see(&mut self, item: &FeedItem) {
        if !self.on {
            return;
        }
        if let FeedBody::Journal(event) = &item.body {
            self.state = match self.state.take() {
                Some(state) => Some(windlass_core::machine::evolve(state, item.at, event)),
                None => LoopState::created(item.at, event),
            };
        }
    }

    fn draw(&mut self) {
        let Some(state) = self.state.as_ref().filter(|state| self.on && state.is_open()) else { return };
        let of = state.spec.limits.max_iterations.map_or(String::new(), |max| format!("/{max}"));
        let elapsed = human(state.elapsed_at(jiff::Timestamp::now()));
        let usage = state.used().total();
        let cost = match usage.cost_usd {
            Some(_) => format!(" · {}", crate::status::cost(&usage)),
            None if usage.tokens() > 0 => format!(" · {} tokens, cost unknown", usage.tokens()),
            None => String::new(),
        };
        let doing = crate::status::doing(state);
        let style = Style::for_stdout();
        let line =
            style.dim(&format!("{} · {doing} · iteration {}{of} · {elapsed}{cost}", state.name, state.iteration));
        let mut out = std::io::stderr().lock();
        // Cut at the edge of the terminal: of a line that wraps, the next drawing would clear only the end.
        let _ = write!(out, "\r\x1b[2K\x1b[?7l{line}\x1b[?7h").and_then(|()| out.flush());
        self.drawn = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let mut out = std::io::stderr().lock();
            let _ = write!(out, "\r\x1b[2K").and_then(|()| out.flush());
        }
    }
}
