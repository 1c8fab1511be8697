//! A feed read from a server. If the connection breaks, it reconnects after the last item.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::{Method, Response};
use windlass_core::ids::LoopId;
use windlass_engine::feed::FeedItem;

use super::{Client, ClientError};
use windlass_app::Until;

/// How long the server may be away: a restart takes less.
const TRIES: u32 = 30;
const BETWEEN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct Feed {
    client: Client,
    id: LoopId,
    until: Until,
    /// The id of the last item.
    last: String,
    stream: Option<Response>,
    /// What has come of an event that is not whole yet.
    begun: Vec<u8>,
    items: VecDeque<FeedItem>,
}

impl Feed {
    pub(crate) fn new(client: Client, id: LoopId, after: u64, until: Until) -> Self {
        let last = after.to_string();
        Self { client, id, until, last, stream: None, begun: Vec::new(), items: VecDeque::new() }
    }

    /// The next item that is here already.
    pub fn ready(&mut self) -> Option<FeedItem> {
        self.items.pop_front()
    }

    /// Waits until more has come; `false` at the end of the feed.
    pub async fn wait(&mut self) -> Result<bool, ClientError> {
        let mut tries = 0;
        loop {
            let Some(stream) = &mut self.stream else {
                match self.open().await {
                    Ok(stream) => self.stream = Some(stream),
                    Err(ClientError::Unreachable { .. }) if tries > 0 && tries < TRIES => {
                        tries += 1;
                        tokio::time::sleep(BETWEEN).await;
                    }
                    Err(error) => return Err(error),
                }
                continue;
            };
            match stream.chunk().await {
                Ok(Some(chunk)) => {
                    self.take(&chunk)?;
                    if !self.items.is_empty() {
                        return Ok(true);
                    }
                }
                Ok(None) => return Ok(false),
                // The server has gone, perhaps to come again.
                Err(_) => {
                    self.stream = None;
                    self.begun.clear();
                    tries = tries.max(1);
                }
            }
        }
    }

    async fn open(&self) -> Result<Response, ClientError> {
        let path = format!("/api/loops/{}/events", self.id);
        let query = [("after", self.last.as_str()), ("until", self.until.word())];
        self.client.send(self.client.request(Method::GET, &path, &query)).await
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), ClientError> {
        self.begun.extend_from_slice(chunk);
        let mut taken = 0;
        while let Some(length) = self.begun[taken..].windows(2).position(|two| two == b"\n\n") {
            let event = String::from_utf8_lossy(&self.begun[taken..taken + length]).into_owned();
            taken += length + 2;
            let said = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            match (said("event: ").as_deref(), said("data: ")) {
                (None, Some(data)) => {
                    let item = serde_json::from_str(&data).map_err(|error| self.client.odd(error.to_string()))?;
                    self.items.push_back(item);
                    self.last = said("id: ").unwrap_or_else(|| self.last.clone());
                }
                (Some("error"), Some(data)) => {
                    let problem = serde_json::from_str(&data).map_err(|error| self.client.odd(error.to_string()))?;
                    return Err(ClientError::Refused(problem));
                }
                // The retry delay, the start of the feed, or a keep-alive.
                _ => {}
            }
        }
        self.begun.drain(..taken);
        Ok(())
    }
}
