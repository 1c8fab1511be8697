//! `windlass top`: everything at work, live on the terminal.
//!
//! A face over [`App`]: it makes requests, reads feeds, and is woken by changes. Draws only if something is different.

mod draw;
mod model;
mod screen;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};
use windlass_app::{
    AnswerLoop, App, ApproveLoop, Changes, DiffLoop, DiffView, ListLoops, LoopFeed, LoopSummary, PauseLoop, Problem,
    RejectLoop, ResumeLoop, SteerLoop, StopLoop,
};

use crate::args::TopArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::Renderer;
use crate::style::{Style, printable};
use model::{Ask, Model, Wish};
use screen::{Screen, Typed};

/// Between two looks at the list, however much changes: people read no faster.
const CALM: Duration = Duration::from_millis(200);
/// Loops in the list.
const MOST_LOOPS: usize = 1_000;
/// Files of a diffstat.
const MOST_FILES: usize = 12;

type Slot<'a, T> = Option<Pin<Box<dyn Future<Output = T> + 'a>>>;

pub async fn top(app: &App, args: &TopArgs) -> Result<Exit, Failure> {
    let mut signals = Signals::new()?;
    let changes = app.changes()?;
    let first = list(app).await?;
    let mut top = Top::new(app, args, changes);
    top.model.listed(first);
    let mut screen = Screen::open()?;
    let exit = top.run(&mut screen, &mut signals).await;
    drop(screen);
    exit
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 15,
            _ = self.interrupt.recv() => 2,
            _ = self.hangup.recv() => 1,
        }
    }
}

struct Top<'a> {
    app: &'a App,
    model: Model,
    changes: Changes,
    listing: Slot<'a, Result<Vec<LoopSummary>, Problem>>,
    wish: Slot<'a, Result<String, Problem>>,
    wishes: VecDeque<Wish>,
    stat: Slot<'a, (String, Result<Vec<String>, Problem>)>,
    opening: Slot<'a, Result<LoopFeed, Problem>>,
    feed: Option<LoopFeed>,
    /// Nobody drives the loop whose feed is shown.
    at_rest: bool,
    renderer: Renderer,
}

impl<'a> Top<'a> {
    fn new(app: &'a App, args: &TopArgs, changes: Changes) -> Self {
        let model = Model { now: Timestamp::now(), ended: args.ended, ..Model::default() };
        Self {
            app,
            model,
            changes,
            listing: None,
            wish: None,
            wishes: VecDeque::new(),
            stat: None,
            opening: None,
            feed: None,
            at_rest: false,
            renderer: Renderer::new(Style::plain()),
        }
    }

    async fn run(&mut self, screen: &mut Screen, signals: &mut Signals) -> Result<Exit, Failure> {
        let mut keys = screen::keys();
        let mut second = tokio::time::interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut different = true;
        loop {
            if std::mem::replace(&mut different, true) {
                screen.draw(&mut self.model)?;
            }
            tokio::select! {
                typed = keys.recv() => match typed {
                    Some(Typed::Key(key)) => {
                        for ask in self.model.key(key) {
                            if self.ask(ask) {
                                return Ok(Exit::Completed);
                            }
                        }
                    }
                    Some(Typed::Pasted(text)) => self.model.pasted(&text),
                    Some(Typed::Resized) => {}
                    Some(Typed::Gone) | None => return Ok(Exit::Signal(1)),
                },
                signal = signals.next() => return Ok(Exit::Signal(signal)),
                changed = self.changes.wait(), if self.listing.is_none() => {
                    match changed {
                        Ok(()) => {
                            self.listing = Some(Box::pin(list_soon(self.app)));
                            different = false;
                        }
                        Err(problem) => return Err(problem.into()),
                    }
                }
                listed = finished(&mut self.listing) => {
                    match listed {
                        Ok(rows) => {
                            self.model.now = Timestamp::now();
                            self.model.listed(rows);
                        }
                        Err(problem) => self.model.say(problem.message, true),
                    }
                    self.look_again().await;
                }
                done = finished(&mut self.wish) => {
                    match done {
                        Ok(done) => self.model.say(done, false),
                        Err(problem) => self.model.say(told(&problem), true),
                    }
                    self.next_wish();
                }
                (id, stat) = finished(&mut self.stat) => {
                    self.model.diffstat(&id, stat.unwrap_or_else(|problem| vec![problem.message]));
                }
                opened = finished(&mut self.opening) => match opened {
                    Ok(feed) => {
                        (self.feed, self.at_rest) = (Some(feed), false);
                        self.catch_up().await;
                    }
                    Err(problem) => self.model.say(problem.message, true),
                },
                more = more(&mut self.feed, self.at_rest) => {
                    match more {
                        Ok(more) => self.at_rest = !more,
                        Err(problem) => {
                            self.at_rest = true;
                            self.model.say(problem.message, true);
                        }
                    }
                    different = self.catch_up().await;
                }
                _ = second.tick() => {
                    self.model.now = Timestamp::now();
                    different = self.model.rows.iter().any(|row| row.driven);
                }
            }
        }
    }

    /// Whether to quit.
    fn ask(&mut self, ask: Ask) -> bool {
        let app = self.app;
        match ask {
            Ask::Quit => return true,
            Ask::OpenFeed { id } => {
                self.renderer = Renderer::new(Style::plain());
                self.opening = Some(Box::pin(async move { app.feed(&id).await }));
            }
            Ask::CloseFeed => (self.feed, self.opening) = (None, None),
            Ask::DiffStat { id } => self.stat = Some(Box::pin(async move { (id.clone(), diffstat(app, id).await) })),
            Ask::Wish(wish) => {
                self.wishes.push_back(wish);
                self.next_wish();
            }
        }
        false
    }

    fn next_wish(&mut self) {
        if self.wish.is_none()
            && let Some(wish) = self.wishes.pop_front()
        {
            let app = self.app;
            self.wish = Some(Box::pin(grant(app, wish)));
        }
    }

    /// Somebody may drive the loop of the feed again, or it has an event that nobody reported.
    async fn look_again(&mut self) {
        if let Some(feed) = self.feed.as_mut().filter(|_| self.at_rest) {
            self.at_rest = feed.again().await.is_err();
            self.catch_up().await;
        }
    }

    /// Takes what has come of the feed; whether anything has.
    async fn catch_up(&mut self) -> bool {
        let (Some(feed), Some(id)) = (&mut self.feed, self.model.feed.as_ref().map(|feed| feed.id.clone())) else {
            return false;
        };
        let mut any = false;
        while let Ok(Some(item)) = feed.next().await {
            let text = printable(&self.renderer.render(&item));
            self.model.fed(&id, text.lines().map(str::to_owned));
            any |= !text.is_empty();
        }
        any
    }
}

async fn finished<T>(slot: &mut Slot<'_, T>) -> T {
    match slot {
        Some(future) => {
            let done = future.await;
            *slot = None;
            done
        }
        None => pending().await,
    }
}

async fn more(feed: &mut Option<LoopFeed>, at_rest: bool) -> Result<bool, Problem> {
    match feed.as_mut().filter(|_| !at_rest) {
        Some(feed) => feed.wait().await,
        None => pending().await,
    }
}

async fn list(app: &App) -> Result<Vec<LoopSummary>, Problem> {
    let request = ListLoops { limit: Some(MOST_LOOPS), history: true, ..ListLoops::default() };
    Ok(app.run(request).await?.loops)
}

async fn list_soon(app: &App) -> Result<Vec<LoopSummary>, Problem> {
    tokio::time::sleep(CALM).await;
    list(app).await
}

async fn diffstat(app: &App, id: String) -> Result<Vec<String>, Problem> {
    Ok(stat_lines(&app.run(DiffLoop { id, ..DiffLoop::default() }).await?))
}

fn stat_lines(diff: &DiffView) -> Vec<String> {
    let (added, removed) = diff.files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    let files = diff.files.len() + diff.files_left_out;
    let mut lines: Vec<String> = diff
        .files
        .iter()
        .take(MOST_FILES)
        .map(|file| match file.binary {
            true => format!("{} {} (binary)", file.status, file.path),
            false => format!("{} {}  +{} -{}", file.status, file.path, file.added, file.removed),
        })
        .collect();
    if files > lines.len() {
        lines.push(format!("… and {} more", files - lines.len()));
    }
    lines.push(format!("{files} files changed, +{added} -{removed}"));
    lines
}

async fn grant(app: &App, wish: Wish) -> Result<String, Problem> {
    let (view, done) = match wish {
        Wish::Steer { id, message } => {
            (app.run(SteerLoop { id, message, now: false }).await?, "message queued for the next turn")
        }
        Wish::Pause { id } => (app.run(PauseLoop { id, now: false }).await?, "pausing after the current turn"),
        Wish::Stop { id } => (app.run(StopLoop { id }).await?, "stopped"),
        Wish::Resume { id } => (app.run(ResumeLoop { id, ..ResumeLoop::default() }).await?, "resumed"),
        Wish::Approve { id } => (app.run(ApproveLoop { id, reason: None }).await?, "approved"),
        Wish::Reject { id, reason } => {
            (app.run(RejectLoop { id, reason: Some(reason) }).await?, "rejected; the agent continues")
        }
        Wish::Answer { id, question, text } => {
            let question = Some(question).filter(|question| !question.is_empty());
            (app.run(AnswerLoop { id, text, question }).await?, "answered; the next turn gets it")
        }
    };
    Ok(format!("{}: {done}", view.name))
}

fn told(problem: &Problem) -> String {
    match &problem.hint {
        Some(hint) => format!("{} ({hint})", problem.message),
        None => problem.message.clone(),
    }
}
