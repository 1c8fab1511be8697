//! The other end of the API: commands that ask a server, of this machine or of another one.

mod board;
mod feed;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;
use windlass_core::ids::LoopId;
use windlass_engine::http;

use windlass_app::Until;
use windlass_app::{ErrorBody, Problem};

pub(crate) use board::Board;
pub(crate) use feed::Feed;

/// The longest response.
const LONGEST: usize = 64 * 1024 * 1024;

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("'{said}' is not a valid server address")]
    Address { said: String },
    #[error("cannot reach the server at {url}: {why}")]
    Unreachable { url: String, why: String },
    #[error("{url} is not a compatible Windlass server: {why}")]
    Odd { url: String, why: String },
    /// The server refused the request.
    #[error("{}", .0.message)]
    Refused(Box<Problem>),
}

/// A server, and the token that opens it.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: Url,
    token: String,
}

/// Without the token.
impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("url", &self.address()).finish_non_exhaustive()
    }
}

impl Client {
    /// The address in what a user typed, and the code if it is a login link.
    pub fn parse(typed: &str) -> Result<(String, Option<String>), ClientError> {
        let mut url = address(typed)?;
        let code = url.fragment().and_then(|part| part.strip_prefix("code=")).map(str::to_owned);
        url.set_fragment(None);
        url.set_query(None);
        url.set_path("/");
        // The name may point to the other of 127.0.0.1 and ::1, where another program can have the same port.
        if url.scheme() == "http" && url.host_str() == Some("localhost") {
            let _ = url.set_host(Some("127.0.0.1"));
        }
        Ok((url.as_str().trim_end_matches('/').to_owned(), code))
    }

    /// `token` is a session's secret, or the master token.
    pub fn new(url: &str, token: &str) -> Result<Self, ClientError> {
        let url = address(url)?;
        let http = http::client(&url)
            .build()
            .map_err(|error| ClientError::Unreachable { url: url.to_string(), why: http::causes(error) })?;
        Ok(Self { http, url, token: token.to_owned() })
    }

    /// The server's address for display.
    pub fn address(&self) -> String {
        self.url.as_str().trim_end_matches('/').to_owned()
    }

    /// What a route answers.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, &str)]) -> Result<T, ClientError> {
        self.read(self.request(Method::GET, path, query)).await
    }

    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ClientError> {
        self.send_json(Method::POST, path, body).await
    }

    pub(crate) async fn send_json<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).unwrap_or_default();
        let request = self.request(method, path, &[]);
        self.read(request.header(CONTENT_TYPE, "application/json").body(body)).await
    }

    /// The feed after an event of the journal.
    pub fn feed(&self, id: &LoopId, after: u64, until: Until) -> Feed {
        Feed::new(self.clone(), id.clone(), after, until)
    }

    pub(crate) fn request(&self, method: Method, path: &str, query: &[(&str, &str)]) -> RequestBuilder {
        let mut url = self.url.clone();
        url.set_path(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.http.request(method, url).header(AUTHORIZATION, format!("Bearer {}", self.token))
    }

    /// Sends it; what is not an answer but a refusal is an error.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let bytes = self.bytes(response).await?;
        let refused = serde_json::from_slice::<ErrorBody>(&bytes);
        Err(match refused {
            Ok(body) => ClientError::Refused(Box::new(body.error.problem)),
            Err(_) => self.odd(format!("responded with {status}")),
        })
    }

    async fn read<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ClientError> {
        let response = self.send(request).await?;
        let bytes = self.bytes(response).await?;
        serde_json::from_slice(&bytes).map_err(|error| self.odd(error.to_string()))
    }

    async fn bytes(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            if bytes.len() + chunk.len() > LONGEST {
                return Err(self.odd("the response is too long".to_owned()));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    pub(crate) fn unreachable(&self, error: reqwest::Error) -> ClientError {
        ClientError::Unreachable { url: self.address(), why: http::causes(error) }
    }

    pub(crate) fn odd(&self, why: String) -> ClientError {
        ClientError::Odd { url: self.address(), why }
    }
}

fn address(typed: &str) -> Result<Url, ClientError> {
    let wrong = || ClientError::Address { said: typed.split(['?', '#']).next().unwrap_or_default().to_owned() };
    let url = Url::parse(typed).map_err(|_| wrong())?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_is_parsed_into_address_and_code() {
        let parsed = |typed: &str| Client::parse(typed).unwrap();
        assert_eq!(parsed("https://b.example:4747/#code=abc"), ("https://b.example:4747".into(), Some("abc".into())));
        assert_eq!(parsed("http://127.0.0.1:4747/loops/x?a=b#main"), ("http://127.0.0.1:4747".into(), None));
        assert_eq!(parsed("http://localhost:4747").0, "http://127.0.0.1:4747");
        for typed in ["nowhere", "file:///etc", "ftp://x"] {
            assert!(matches!(Client::parse(typed), Err(ClientError::Address { .. })), "{typed}");
        }
    }
}
