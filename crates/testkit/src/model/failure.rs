//! The ways an answer can fail, in each vendor's own words: status, headers, body.
//!
//! Invariant: a failure without numbers of its own is the vendor's plain one; what a script overrides is sent as it
//! stands there.

use std::collections::BTreeMap;
use std::time::SystemTime;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{Asked, Wire};
use super::reply::{Frame, fresh_id};

/// What kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Too many requests: 429.
    RateLimit,
    /// The allowance of a subscription is used up until it resets: 429 with the vendor's marks of it.
    UsageLimit,
    /// No money left.
    Quota,
    /// 500.
    ServerError,
    /// 529 at Anthropic, 503 elsewhere.
    Overloaded,
    /// A wrong key.
    Auth,
    /// 403.
    Permission,
    /// The transcript is longer than the model's context.
    Overflow,
    ModelNotFound,
    /// 400 with a reason that no program can know.
    BadRequest,
}

/// A failure as a script says it: a kind alone, or a kind with details.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub struct Failure {
    pub kind: FailureKind,
    /// The `retry-after` header.
    pub retry_after_s: Option<u64>,
    /// The vendor's way to say when a limit resets.
    pub reset_in_s: Option<u64>,
    pub message: Option<String>,
    pub status: Option<u16>,
    pub headers: BTreeMap<String, String>,
    /// Start a good answer and report the failure inside its stream.
    pub in_stream: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Kind(FailureKind),
    Detailed(Detailed),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Detailed {
    kind: FailureKind,
    retry_after_s: Option<u64>,
    reset_in_s: Option<u64>,
    message: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    in_stream: bool,
}

impl From<Written> for Failure {
    fn from(written: Written) -> Failure {
        match written {
            Written::Kind(kind) => Failure::of(kind),
            Written::Detailed(d) => Failure {
                kind: d.kind,
                retry_after_s: d.retry_after_s,
                reset_in_s: d.reset_in_s,
                message: d.message,
                status: d.status,
                headers: d.headers,
                in_stream: d.in_stream,
            },
        }
    }
}

/// A failure ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Failure {
    pub fn of(kind: FailureKind) -> Failure {
        let (retry_after_s, reset_in_s, message, status) = (None, None, None, None);
        Failure { kind, retry_after_s, reset_in_s, message, status, headers: BTreeMap::new(), in_stream: false }
    }

    pub(super) fn sent(&self, asked: &Asked) -> Sent {
        let (status, headers, body) = match asked.wire {
            Wire::Anthropic => self.anthropic(asked),
            Wire::Responses | Wire::Chat => self.openai(asked),
            Wire::Gemini => self.gemini(asked),
        };
        let mut headers: Vec<(String, String)> = headers;
        headers.push(("request-id".to_owned(), "req_scripted".to_owned()));
        headers.extend(self.retry_after_s.map(|s| ("retry-after".to_owned(), s.to_string())));
        headers.extend(self.headers.clone());
        Sent { status, headers, body }
    }

    /// The failure as events of a stream that started well.
    pub(super) fn streamed(&self, asked: &Asked) -> Vec<Frame> {
        let body = self.sent(asked).body;
        match asked.wire {
            Wire::Anthropic => vec![Frame::event("error", &body)],
            Wire::Responses => {
                let id = fresh_id("resp_");
                let error = json!({ "code": body["error"]["code"], "message": body["error"]["message"] });
                let started = json!({ "id": id, "object": "response", "status": "in_progress", "error": null });
                let failed = json!({ "id": id, "object": "response", "status": "failed", "error": error });
                vec![
                    Frame::event("response.created", &json!({ "type": "response.created", "response": started })),
                    Frame::event("response.failed", &json!({ "type": "response.failed", "response": failed })),
                ]
            }
            Wire::Chat | Wire::Gemini => vec![Frame::data(&body)],
        }
    }

    fn anthropic(&self, asked: &Asked) -> (u16, Vec<(String, String)>, Value) {
        let (status, kind, message) = match self.kind {
            FailureKind::RateLimit => (429, "rate_limit_error", "scripted rate limit: please slow down".to_owned()),
            FailureKind::UsageLimit => (429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.".to_owned()),
            FailureKind::Quota => (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.".to_owned()),
            FailureKind::ServerError => (500, "api_error", "scripted internal server error".to_owned()),
            FailureKind::Overloaded => (529, "overloaded_error", "Overloaded".to_owned()),
            FailureKind::Auth => (401, "authentication_error", "invalid x-api-key".to_owned()),
            FailureKind::Permission => (403, "permission_error", "Your API key does not have permission to use the specified resource.".to_owned()),
            FailureKind::Overflow => (400, "invalid_request_error", "prompt is too long: 214873 tokens > 200000 maximum".to_owned()),
            FailureKind::ModelNotFound => (404, "not_found_error", format!("model: {}", asked.model)),
            FailureKind::BadRequest => (400, "invalid_request_error", "scripted bad request".to_owned()),
        };
        let mut headers = Vec::new();
        if let Some(at) = self.reset_at() {
            if self.kind == FailureKind::UsageLimit {
                headers = pairs(&[
                    ("anthropic-ratelimit-unified-status", "rejected"),
                    ("anthropic-ratelimit-unified-representative-claim", "five_hour"),
                    ("anthropic-ratelimit-unified-5h-status", "rejected"),
                    ("anthropic-ratelimit-unified-reset", &at.as_second().to_string()),
                    ("anthropic-ratelimit-unified-5h-reset", &at.as_second().to_string()),
                ]);
            } else {
                let at = at.to_string();
                headers = pairs(&[
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", &at),
                    ("anthropic-ratelimit-tokens-reset", &at),
                ]);
            }
        }
        let error = json!({ "type": kind, "message": self.message(message) });
        let body = json!({ "type": "error", "error": error, "request_id": "req_scripted" });
        (self.status.unwrap_or(status), headers, body)
    }

    fn openai(&self, asked: &Asked) -> (u16, Vec<(String, String)>, Value) {
        let (status, kind, code, message) = match self.kind {
            FailureKind::RateLimit => (429, "requests", json!("rate_limit_exceeded"), "scripted rate limit: please slow down".to_owned()),
            FailureKind::UsageLimit => (429, "usage_limit_reached", Value::Null, "The usage limit has been reached".to_owned()),
            FailureKind::Quota => (429, "insufficient_quota", json!("insufficient_quota"), "You exceeded your current quota, please check your plan and billing details.".to_owned()),
            FailureKind::ServerError => (500, "server_error", Value::Null, "scripted internal server error".to_owned()),
            FailureKind::Overloaded => (503, "service_unavailable_error", json!("server_is_overloaded"), "Our servers are currently overloaded. Please try again later.".to_owned()),
            FailureKind::Auth => (401, "invalid_request_error", json!("invalid_api_key"), "Incorrect API key provided: test-key.".to_owned()),
            FailureKind::Permission => (403, "invalid_request_error", json!("insufficient_permissions"), "You have insufficient permissions for this operation.".to_owned()),
            FailureKind::Overflow => (400, "invalid_request_error", json!("context_length_exceeded"), "This model's maximum context length is 128000 tokens. However, your messages resulted in 214873 tokens. Your input exceeds the context window of this model. Please adjust your input and try again.".to_owned()),
            FailureKind::ModelNotFound => (404, "invalid_request_error", json!("model_not_found"), format!("The model `{}` does not exist or you do not have access to it.", asked.model)),
            FailureKind::BadRequest => (400, "invalid_request_error", Value::Null, "scripted bad request".to_owned()),
        };
        let mut error = json!({ "message": self.message(message), "type": kind, "param": null, "code": code });
        let mut headers = Vec::new();
        if let (Some(seconds), Some(at)) = (self.reset_in_s, self.reset_at()) {
            if self.kind == FailureKind::UsageLimit {
                error["plan_type"] = json!("plus");
                error["resets_at"] = json!(at.as_second());
                error["resets_in_seconds"] = json!(seconds);
            } else {
                headers = pairs(&[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", &format!("{seconds}s")),
                ]);
            }
        }
        (self.status.unwrap_or(status), headers, json!({ "error": error }))
    }

    fn gemini(&self, asked: &Asked) -> (u16, Vec<(String, String)>, Value) {
        let (status, message) = match self.kind {
            FailureKind::RateLimit => (429, "scripted rate limit: please slow down".to_owned()),
            FailureKind::UsageLimit | FailureKind::Quota => {
                (429, "You exceeded your current quota, please check your plan and billing details.".to_owned())
            }
            FailureKind::ServerError => (500, "scripted internal server error".to_owned()),
            FailureKind::Overloaded => (503, "The model is overloaded. Please try again later.".to_owned()),
            // Google answers a wrong key as a bad request.
            FailureKind::Auth => (400, "API key not valid. Please pass a valid API key.".to_owned()),
            FailureKind::Permission => (403, "The caller does not have permission".to_owned()),
            FailureKind::Overflow => (
                400,
                "The input token count (1214873) exceeds the maximum number of tokens allowed (1048576).".to_owned(),
            ),
            FailureKind::ModelNotFound => (
                404,
                format!(
                    "models/{} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
                    asked.model
                ),
            ),
            FailureKind::BadRequest => (400, "scripted bad request".to_owned()),
        };
        let status = self.status.unwrap_or(status);
        let details = self.gemini_details(asked);
        let mut error = json!({ "code": status, "message": self.message(message), "status": google_status(status) });
        if !details.is_empty() {
            error["details"] = Value::Array(details);
        }
        (status, Vec::new(), json!({ "error": error }))
    }

    fn gemini_details(&self, asked: &Asked) -> Vec<Value> {
        let google = |name: &str| format!("type.googleapis.com/google.rpc.{name}");
        let mut details = Vec::new();
        if self.kind == FailureKind::Auth && self.status.is_none() {
            details
                .push(json!({ "@type": google("ErrorInfo"), "reason": "API_KEY_INVALID", "domain": "googleapis.com",
                "metadata": { "service": "generativelanguage.googleapis.com" } }));
        }
        if matches!(self.kind, FailureKind::Quota | FailureKind::UsageLimit) {
            details.push(json!({ "@type": google("QuotaFailure"), "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                "quotaDimensions": { "location": "global", "model": asked.model }, "quotaValue": "50" }] }));
        }
        if let Some(seconds) = self.reset_in_s.or(self.retry_after_s) {
            details.push(json!({ "@type": google("RetryInfo"), "retryDelay": format!("{seconds}s") }));
        }
        details
    }

    fn message(&self, of_the_vendor: String) -> String {
        self.message.clone().unwrap_or(of_the_vendor)
    }

    fn reset_at(&self) -> Option<Timestamp> {
        let now = Timestamp::try_from(SystemTime::now()).ok()?;
        let seconds = i64::try_from(self.reset_in_s?).ok()?;
        Timestamp::from_second(now.as_second().checked_add(seconds)?).ok()
    }
}

fn google_status(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        _ => "UNKNOWN",
    }
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
