//! The feed of a loop as server-sent events, and the same read backwards.
//!
//! Invariant: an item's ID contains everything needed to resume after it, in this server or the next. Nothing is kept
//! for a subscriber but the part it is in; what several are about to read is read once for them (`tape`).

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use futures_util::Stream;
use tokio::sync::watch;
use windlass_core::ids::LoopId;
use windlass_engine::engine::status_word;
use windlass_engine::feed::{self, Cursor, FeedReader};

use crate::app::{App, Subscribed};
use crate::feeds::tape::Rider;
use crate::http::extract::{Path, Query};
use crate::http::refused::Refused;
use windlass_app::{CodedProblem, Kind, Problem};
use windlass_app::{FeedEntry, FeedPage};
use windlass_app::{FeedQuery, PageQuery, Until};

/// Interval of keep-alive comments that detect dead connections.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

pub(crate) async fn events(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let id = app.loop_id(&id).await?;
    // Before the first reading, so that nothing falls between the two.
    let (wake, tape) = app.wakes.of(&id);
    let said = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned).or(query.after);
    let (reader, opening) = match (said, query.tail) {
        (Some(said), _) => (FeedReader::resume(&app.engine, &id, &cursor(&said)?).await?, None),
        (None, Some(kib)) => {
            let at = feed::begin_near_end(&app.engine, &id, kib.min(MOST_KIB).saturating_mul(1024)).await?;
            (FeedReader::resume(&app.engine, &id, &at).await?, Some(at))
        }
        (None, None) => (FeedReader::resume(&app.engine, &id, &Cursor::default()).await?, Some(Cursor::default())),
    };
    let before = opening.filter(|at| at.seq > 0).map(|at| at.to_string());
    let first = opening.map(|_| format!("event: start\ndata: {}\n\n", serde_json::json!({ "before": before })));
    let rider = Rider::new(Arc::clone(&app.engine), id.clone(), tape, reader);
    let subscription = Subscription {
        rider,
        wake,
        shutdown: app.shutdown.clone(),
        first: Some(format!("retry: 1000\n\n{}", first.unwrap_or_default())),
        until: query.until,
        at_end: false,
        over: false,
        id,
        _counted: app.subscribed(),
        app,
    };
    Ok(stream(futures_util::stream::unfold(subscription, |mut subscription| async move {
        let part = subscription.next().await?;
        Some((Ok::<Bytes, std::convert::Infallible>(part), subscription))
    })))
}

/// A response of server-sent events.
pub(crate) fn stream(parts: impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(parts));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer responses would delay the stream.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Subscription {
    rider: Rider,
    wake: watch::Receiver<u64>,
    shutdown: watch::Receiver<bool>,
    first: Option<String>,
    until: Option<Until>,
    /// Reached the end; checks again for what came since.
    at_end: bool,
    over: bool,
    app: App,
    id: LoopId,
    _counted: Subscribed,
}

impl Subscription {
    /// The next part; `None` ends the stream.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first.into());
        }
        loop {
            if self.over || *self.shutdown.borrow() {
                return None;
            }
            let news = *self.wake.borrow_and_update();
            match self.rider.next((!self.at_end).then_some(news)).await {
                Ok(Some(part)) => return Some(part),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot read the feed");
                    let problem = serde_json::to_string(&CodedProblem::from(Problem::from(error))).unwrap_or_default();
                    // The client reconnects and resumes.
                    self.over = true;
                    return Some(format!("event: error\ndata: {problem}\n\n").into());
                }
            }
            if self.at_end {
                return None;
            }
            if is_over(&self.app, &self.id, self.until).await {
                self.at_end = true;
                continue;
            }
            tokio::select! {
                woken = self.wake.changed() => if woken.is_err() { return None },
                () = tokio::time::sleep(HEARTBEAT) => return Some(Bytes::from_static(b":\n\n")),
                _ = self.shutdown.wait_for(|leave| *leave) => return None,
            }
        }
    }
}

/// Whether nothing more is wanted, or nothing more can come.
async fn is_over(app: &App, id: &LoopId, until: Option<Until>) -> bool {
    match until {
        None => false,
        Some(Until::Now) => true,
        Some(Until::Rest) => {
            let found = app.local.found(&id.0).await;
            found.is_ok_and(|listed| !listed.is_driven() && !listed.is_parked && status_word(&listed) != "queued")
        }
    }
}

const MOST_KIB: u64 = 1024;

/// A page of the past.
pub(crate) async fn page(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<FeedPage>, Refused> {
    let id = app.loop_id(&id).await?;
    let bytes = query.limit.unwrap_or(64).clamp(1, MOST_KIB) * 1024;
    let before = match &query.before {
        Some(before) => cursor(before)?,
        None => end(&app, &id).await?,
    };
    let page = feed::page_before(&app.engine, &id, before, bytes).await?;
    let items = page.items.into_iter().map(|(at, item)| FeedEntry { cursor: at.to_string(), item }).collect();
    Ok(Json(FeedPage { items, before: page.before.map(|at| at.to_string()) }))
}

async fn end(app: &App, id: &LoopId) -> Result<Cursor, Refused> {
    Ok(feed::end(&app.engine, id).await?)
}

fn cursor(text: &str) -> Result<Cursor, Problem> {
    text.trim().parse().map_err(|error: feed::CursorError| {
        Problem::new(Kind::Invalid, error.to_string()).field("after").hint("use the ID of an item in this feed")
    })
}
