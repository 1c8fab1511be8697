//! Where requests run: on this machine, or on a server.
//!
//! Invariant: both take the same requests and answer with the same reports. A face of Windlass that can make a request
//! here can make it there.

mod watch;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use windlass_core::ids::LoopId;
use windlass_core::machine::{LoopState, evolve};
use windlass_engine::feed::FeedItem;
use windlass_engine::view::LoopView;

use crate::history::LoopJournal;
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::{FindLoop, Until};

pub use watch::{Changes, LoopFeed};

/// A server, as far as requests go.
#[async_trait]
pub trait Remote: fmt::Debug + Send + Sync {
    /// Has the request of this name run there.
    async fn ask(&self, name: &'static str, request: Value) -> Result<Value, Problem>;

    /// The feed of a loop after an event of its journal.
    fn feed(&self, id: &LoopId, after: u64, until: Until) -> Box<dyn RemoteFeed>;

    /// That some loop changed there, from now on.
    fn changes(&self) -> Box<dyn RemoteChanges>;

    /// Where it is, for people.
    fn address(&self) -> String;
}

/// A feed that comes from a server.
#[async_trait]
pub trait RemoteFeed: fmt::Debug + Send {
    /// The next item that has arrived.
    fn ready(&mut self) -> Option<FeedItem>;

    /// Waits until more has arrived; `false` at the end of the feed.
    async fn wait(&mut self) -> Result<bool, Problem>;
}

/// A server's report that some loop changed.
#[async_trait]
pub trait RemoteChanges: fmt::Debug + Send {
    /// Waits until some loop has changed; reconnects after a break.
    async fn wait(&mut self) -> Result<(), Problem>;
}

/// Where requests run.
#[derive(Debug)]
pub enum App {
    Here(Box<Local>),
    There(Arc<dyn Remote>),
}

impl App {
    pub async fn run<R: Request>(&self, request: R) -> Result<R::Report, Problem> {
        let server = match self {
            App::Here(local) => return request.perform(local).await,
            App::There(server) => server,
        };
        let odd = |error: serde_json::Error| {
            let message = format!("the server at {} has an incompatible version: {error}", server.address());
            Problem::new(Kind::Failed, message).hint("compare the versions")
        };
        let report = server.ask(R::NAME, serde_json::to_value(&request).map_err(odd)?).await?;
        serde_json::from_value(report).map_err(odd)
    }

    /// The loop of this name, id or start of a name, or the latest one; in this project if we are in one.
    pub async fn find(&self, name: Option<&str>) -> Result<LoopView, Problem> {
        let project = match self {
            App::Here(local) => local.context.project_if_any().await.map(|path| path.to_string_lossy().into_owned()),
            App::There(_) => None,
        };
        let found = self.run(FindLoop { project, name: name.map(str::to_owned) }).await;
        found.map_err(|problem| match (self, name) {
            (App::There(server), Some(name)) if problem.code == Kind::NotFound => {
                Problem { message: format!("loop '{name}' not found on {}", server.address()), ..problem }
            }
            (App::Here(_) | App::There(_), _) => problem,
        })
    }

    /// The state of a loop, which follows from its journal; with the number of its last event.
    pub async fn state(&self, id: &str) -> Result<(LoopState, u64), Problem> {
        let mut marks = self.run(LoopJournal { id: id.to_owned(), ..LoopJournal::default() }).await?.into_iter();
        let begun = marks.next().and_then(|mark| Some((LoopState::created(mark.at, &mark.event)?, mark.seq)));
        let none = || Problem::new(Kind::Failed, "the loop's journal is incomplete").hint("compare the versions");
        Ok(marks.fold(begun.ok_or_else(none)?, |(state, _), mark| (evolve(state, mark.at, &mark.event), mark.seq)))
    }
}
