//! One endpoint, asked over HTTP.
//!
//! The key leaves this file only as a header to the address that the user named: redirects are not followed, and an
//! error text that echoes it is cleaned.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use windlass_core::summary::{EndpointSettings, Protocol, Question, SummariserSettings};

use super::failure::CallError;
use super::protocol::{self, LimitName};
use crate::http::{self, causes};

const LONGEST_ANSWER: usize = 1024 * 1024;
/// Of a refusal only the beginning is read.
const LONGEST_REFUSAL: usize = 64 * 1024;

pub(super) struct Client<'a> {
    http: reqwest::Client,
    url: Url,
    endpoint: &'a EndpointSettings,
    key: Option<String>,
    headers: HeaderMap,
    timeout_ms: u64,
}

impl<'a> Client<'a> {
    pub(super) fn new(settings: &'a SummariserSettings) -> Result<Self, CallError> {
        let endpoint = settings.endpoint.as_ref().ok_or(CallError::NoEndpoint)?;
        let url = Url::parse(&protocol::path(endpoint.protocol, &endpoint.base_url))
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or(CallError::BadAddress)?;
        let key = key(endpoint)?;
        let headers = headers(endpoint, key.as_deref())?;
        let http = http::client(&url).build().map_err(|error| CallError::Setup(causes(error)))?;
        Ok(Self { http, url, endpoint, key, headers, timeout_ms: settings.timeout_ms })
    }

    /// One question, one answer, within the time that one request may take.
    pub(super) async fn ask(&self, model: Option<&str>, question: Question, most: u32) -> Result<String, CallError> {
        let limit = Duration::from_millis(self.timeout_ms);
        let asking = self.ask_in_time(model.unwrap_or(&self.endpoint.model), &question, most);
        let answer = tokio::time::timeout(limit, asking).await;
        answer.unwrap_or(Err(CallError::TimedOut { after_ms: self.timeout_ms })).map_err(|error| self.redacted(error))
    }

    async fn ask_in_time(&self, model: &str, question: &Question, most: u32) -> Result<String, CallError> {
        let own = self.url.host_str() == Some("api.openai.com");
        let name = if own { LimitName::MaxCompletionTokens } else { LimitName::MaxTokens };
        match self.send(model, question, most, name).await {
            // The same models stand behind gateways with other names.
            Err(CallError::Refused { status: 400, detail })
                if name == LimitName::MaxTokens && detail.contains("max_completion_tokens") =>
            {
                self.send(model, question, most, LimitName::MaxCompletionTokens).await
            }
            answered => answered,
        }
    }

    async fn send(&self, model: &str, asked: &Question, most: u32, name: LimitName) -> Result<String, CallError> {
        let protocol = self.endpoint.protocol;
        let body = protocol::body(protocol, model, asked, most, name).to_string();
        let request = self.http.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = request.send().await.map_err(|error| CallError::Unreachable(causes(error)))?;
        let status = response.status();
        if !status.is_success() {
            let (body, _) = read(response, LONGEST_REFUSAL).await?;
            return Err(CallError::Refused { status: status.as_u16(), detail: protocol::detail(&body) });
        }
        let (body, whole) = read(response, LONGEST_ANSWER).await?;
        if whole { protocol::text(protocol, &body) } else { Err(CallError::TooLong { limit: LONGEST_ANSWER }) }
    }

    fn redacted(&self, error: CallError) -> CallError {
        let Some(key) = self.key.as_deref() else { return error };
        let clean = |text: String| text.replace(key, "[key]");
        match error {
            CallError::Refused { status, detail } => CallError::Refused { status, detail: clean(detail) },
            CallError::Unreachable(text) => CallError::Unreachable(clean(text)),
            CallError::NotUnderstood(text) => CallError::NotUnderstood(clean(text)),
            CallError::Setup(text) => CallError::Setup(clean(text)),
            CallError::NoEndpoint
            | CallError::NoKey { .. }
            | CallError::OddKey { .. }
            | CallError::BadAddress
            | CallError::TimedOut { .. }
            | CallError::TooLong { .. }
            | CallError::Empty
            | CallError::WrongForm
            | CallError::Agent(_)
            | CallError::Interrupted => error,
        }
    }
}

impl std::fmt::Debug for Client<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("model", &self.endpoint.model).finish_non_exhaustive()
    }
}

fn key(endpoint: &EndpointSettings) -> Result<Option<String>, CallError> {
    let Some(name) = endpoint.api_key_env.as_deref().filter(|name| !name.is_empty()) else { return Ok(None) };
    // Names that the system forbids make `var` fail, as a variable does that is not set.
    let key = std::env::var(name).unwrap_or_default();
    let key = key.trim();
    if key.is_empty() { Err(CallError::NoKey { name: name.to_owned() }) } else { Ok(Some(key.to_owned())) }
}

fn headers(endpoint: &EndpointSettings, key: Option<&str>) -> Result<HeaderMap, CallError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (name, value) = match endpoint.protocol {
        Protocol::Openai => (AUTHORIZATION, key.map(|key| format!("Bearer {key}"))),
        Protocol::Anthropic => {
            headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
            (HeaderName::from_static("x-api-key"), key.map(str::to_owned))
        }
    };
    if let Some(value) = value {
        let env = endpoint.api_key_env.clone().unwrap_or_default();
        let mut value = HeaderValue::from_str(&value).map_err(|_| CallError::OddKey { name: env })?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The body up to a limit, and whether that was all of it.
async fn read(mut response: Response, most: usize) -> Result<(Vec<u8>, bool), CallError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| CallError::Unreachable(causes(error)))? {
        let room = most - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            return Ok((body, false));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((body, true))
}
