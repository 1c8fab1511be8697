//! Watching what is at work, here or on a server: that some loop changed, and the feed of one.
//!
//! Nothing is polled: a data directory reports writes, a driver and a server report news.

use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::ids::LoopId;
use windlass_engine::changes;
use windlass_engine::engine::Engine;
use windlass_engine::feed::{FeedItem, FeedReader, News};

use super::{App, Remote, RemoteChanges, RemoteFeed};
use crate::problem::Problem;
use crate::requests::Until;

/// How far a viewer may fall behind before output is passed over.
const MOST_BEHIND: u64 = 4 * 1024 * 1024;

/// Reports that some loop changed. What is new is asked for with a request.
#[derive(Debug)]
pub enum Changes {
    Here(watch::Receiver<u64>),
    There(Box<dyn RemoteChanges>),
}

impl Changes {
    /// Returns after a change since the last call.
    pub async fn wait(&mut self) -> Result<(), Problem> {
        match self {
            Changes::Here(changed) => match changed.changed().await {
                Ok(()) => Ok(()),
                Err(_) => std::future::pending().await,
            },
            Changes::There(server) => server.wait().await,
        }
    }
}

/// The feed of one loop, also after its driver is gone and another one comes.
#[derive(Debug)]
pub enum LoopFeed {
    Here { engine: Arc<Engine>, id: LoopId, reader: Box<FeedReader>, news: News },
    There { server: Arc<dyn Remote>, id: LoopId, feed: Box<dyn RemoteFeed>, seen: u64 },
}

impl LoopFeed {
    /// The next item that is here already.
    pub async fn next(&mut self) -> Result<Option<FeedItem>, Problem> {
        match self {
            LoopFeed::Here { reader, .. } => Ok(reader.next().await?),
            LoopFeed::There { feed, seen, .. } => {
                let item = feed.ready();
                *seen = item.as_ref().map_or(*seen, |item| item.seq);
                Ok(item)
            }
        }
    }

    /// Waits until there may be more; `false` if nobody drives the loop.
    pub async fn wait(&mut self) -> Result<bool, Problem> {
        match self {
            LoopFeed::Here { news, .. } => Ok(news.wait().await),
            LoopFeed::There { feed, .. } => feed.wait().await,
        }
    }

    /// Listens again, because the loop changed after its driver was gone.
    pub async fn again(&mut self) -> Result<(), Problem> {
        match self {
            LoopFeed::Here { engine, id, news, .. } => *news = News::of(engine, id).await?,
            LoopFeed::There { server, id, feed, seen } => *feed = server.feed(id, *seen, Until::Rest),
        }
        Ok(())
    }
}

impl App {
    /// Reports changes from now on.
    pub fn changes(&self) -> Result<Changes, Problem> {
        Ok(match self {
            App::Here(local) => Changes::Here(changes::watch(local.context.data().root())?),
            App::There(server) => Changes::There(server.changes()),
        })
    }

    /// The feed of a loop from its start.
    pub async fn feed(&self, id: &str) -> Result<LoopFeed, Problem> {
        let id = LoopId(id.to_owned());
        Ok(match self {
            App::Here(local) => {
                let engine = local.readable().await?;
                let reader = FeedReader::open(&engine, &id, 0).await?.at_most_behind(MOST_BEHIND);
                let news = News::of(&engine, &id).await?;
                LoopFeed::Here { engine, id, reader: Box::new(reader), news }
            }
            App::There(server) => {
                let feed = server.feed(&id, 0, Until::Rest);
                LoopFeed::There { server: Arc::clone(server), id, feed, seen: 0 }
            }
        })
    }
}
