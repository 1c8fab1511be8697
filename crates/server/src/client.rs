//! The other end of the API, for commands that leave something to the server of their data directory.

use std::io;

use axum::body::Body;
use axum::http::{Request, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use tokio::net::TcpStream;
use windlass_core::ids::LoopId;
use windlass_engine::view::LoopView;

use crate::problem::ErrorBody;
use crate::secret::Secret;

/// An answer is no longer than that.
const LONGEST: usize = 16 * 1024 * 1024;

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("the server at {url} cannot be reached")]
    Unreachable {
        url: String,
        #[source]
        source: io::Error,
    },
    /// The server understood, and says no.
    #[error("{}", .0.message)]
    Refused(Box<crate::problem::Problem>),
}

/// A server on this machine.
#[derive(Debug, Clone)]
pub struct Client {
    url: String,
    host: String,
    secret: Secret,
}

impl Client {
    /// `None` where the server speaks TLS: whoever trusts its certificate is not known here.
    pub fn new(url: &str, secret: Secret) -> Option<Self> {
        Some(Self { url: url.to_owned(), host: url.strip_prefix("http://")?.to_owned(), secret })
    }

    /// Lets the server go on with a loop that nobody drives, with its limits as they are.
    pub async fn resume(&self, id: &LoopId) -> Result<LoopView, ClientError> {
        self.post(&format!("/api/loops/{id}/resume"), &serde_json::json!({})).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        let answer = self.ask(path, serde_json::to_vec(body).unwrap_or_default()).await;
        let (good, bytes) = answer.map_err(|source| ClientError::Unreachable { url: self.url.clone(), source })?;
        let odd = |source: serde_json::Error| ClientError::Unreachable { url: self.url.clone(), source: source.into() };
        if good {
            return serde_json::from_slice(&bytes).map_err(odd);
        }
        let body: ErrorBody = serde_json::from_slice(&bytes).map_err(odd)?;
        Err(ClientError::Refused(Box::new(body.error)))
    }

    async fn ask(&self, path: &str, body: Vec<u8>) -> io::Result<(bool, Vec<u8>)> {
        let stream = TcpStream::connect(&self.host).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        let request = Request::post(path)
            .header(header::HOST, &self.host)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.secret.text()))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::CONTENT_LENGTH, body.len())
            .body(Body::from(body))
            .map_err(io::Error::other)?;
        let response = sender.send_request(request).await.map_err(io::Error::other)?;
        let good = response.status().is_success();
        let bytes = axum::body::to_bytes(Body::new(response.into_body()), LONGEST).await.map_err(io::Error::other)?;
        Ok((good, bytes.to_vec()))
    }
}
