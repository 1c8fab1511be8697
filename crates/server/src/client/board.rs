//! A server's report that some loop changed. If the connection breaks, it reconnects.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::{Method, Response};
use windlass_app::{Problem, RemoteChanges};

use super::{Client, ClientError};

/// How long the server may be away: a restart takes less.
const TRIES: u32 = 30;
const BETWEEN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Board {
    client: Client,
    stream: Option<Response>,
    /// The connection broke before, so what changed meanwhile is not known.
    missed: bool,
}

impl Board {
    pub(crate) fn new(client: Client) -> Self {
        Self { client, stream: None, missed: false }
    }

    async fn changed(&mut self) -> Result<(), ClientError> {
        let mut tries = 0;
        loop {
            let Some(stream) = &mut self.stream else {
                let request = self.client.request(Method::GET, "/api/events", &[("after", "now")]);
                match self.client.send(request).await {
                    Ok(stream) => {
                        self.stream = Some(stream);
                        if std::mem::take(&mut self.missed) {
                            return Ok(());
                        }
                    }
                    Err(ClientError::Unreachable { .. }) if tries < TRIES => {
                        tries += 1;
                        tokio::time::sleep(BETWEEN).await;
                    }
                    Err(error) => return Err(error),
                }
                continue;
            };
            match stream.chunk().await {
                // A keep-alive is a comment.
                Ok(Some(chunk)) if chunk.windows(6).any(|part| part == b"data: ") => return Ok(()),
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => {
                    self.stream = None;
                    self.missed = true;
                }
            }
        }
    }
}

#[async_trait]
impl RemoteChanges for Board {
    async fn wait(&mut self) -> Result<(), Problem> {
        Ok(self.changed().await?)
    }
}
