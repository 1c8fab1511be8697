//! The stream of all loops and groups, from the board.

use std::fmt::Write as _;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use tokio::sync::watch;
use windlass_app::{FeedQuery, LoopSummary, summary};
use windlass_engine::engine::status_word;
use windlass_store::LOOP;

use super::sse::{HEARTBEAT, stream};
use crate::app::{App, Subscribed};
use crate::http::extract::Query;
use crate::http::refused::Refused;

pub(crate) async fn events(
    State(app): State<App>,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let said = headers.get("last-event-id").and_then(|value| value.to_str().ok()).or(query.after.as_deref());
    // `after=now`: the list was just fetched, only what changes from here on is wanted.
    let after = match said {
        Some("now") => app.board.last(),
        said => app.board.place(said).unwrap_or(0),
    };
    let watching = Watching {
        news: app.board.news.clone(),
        shutdown: app.shutdown.clone(),
        after,
        first: true,
        _counted: app.subscribed(),
        app,
    };
    Ok(stream(futures_util::stream::unfold(watching, |mut watching| async move {
        let part = watching.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(part.into()), watching))
    })))
}

struct Watching {
    app: App,
    news: watch::Receiver<u64>,
    shutdown: watch::Receiver<bool>,
    after: u64,
    first: bool,
    _counted: Subscribed,
}

/// That a group changed. What is new is asked for by its kind.
#[derive(Debug, Serialize)]
struct GroupChanged<'a> {
    id: &'a str,
    kind: &'a str,
    project: &'a str,
    name: &'a str,
    status: &'a str,
}

impl Watching {
    /// A loop as it is now. A group is an event of another name, so that readers of loops pass over it.
    async fn item(&self, id: &str) -> Option<String> {
        let row = self.app.engine.store.get(id).await.ok()??;
        if row.entry.kind == LOOP {
            let listed = self.app.local.found(id).await.ok()?;
            let row = summary(&self.app.engine, &listed).ok()?;
            let row = LoopSummary { last_words: self.app.board.words(id), ..row };
            return Some(format!("data: {}", serde_json::to_string(&row).ok()?));
        }
        let entry = &row.entry;
        let changed = GroupChanged {
            id: &entry.id,
            kind: &entry.kind,
            project: &entry.project,
            name: &entry.name,
            status: status_word(&row),
        };
        Some(format!("event: group\ndata: {}", serde_json::to_string(&changed).ok()?))
    }

    async fn next(&mut self) -> Option<String> {
        /// So many loops in one part.
        const AT_ONCE: usize = 20;
        if std::mem::take(&mut self.first) {
            return Some("retry: 1000\n\n".to_owned());
        }
        loop {
            if *self.shutdown.borrow() {
                return None;
            }
            self.news.mark_unchanged();
            let mut text = String::new();
            for (at, id) in self.app.board.changed_since(self.after).into_iter().take(AT_ONCE) {
                self.after = at;
                let Some(item) = self.item(&id).await else { continue };
                let _ = write!(text, "id: {}-{at}\n{item}\n\n", self.app.board.boot);
            }
            if !text.is_empty() {
                return Some(text);
            }
            tokio::select! {
                woken = self.news.changed() => if woken.is_err() { return None },
                () = tokio::time::sleep(HEARTBEAT) => return Some(":\n\n".to_owned()),
                _ = self.shutdown.wait_for(|leave| *leave) => return None,
            }
        }
    }
}
