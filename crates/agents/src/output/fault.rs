//! What kind of failure an agent reported.
//!
//! Codes and HTTP statuses decide; words are checked only where an agent gives nothing else, and only in the message
//! of an error, never in what the agent said or read.

use std::sync::LazyLock;

use jiff::{SignedDuration, Timestamp};
use regex::Regex;
use serde_json::Value;
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};

use super::reset::{self, Reset};

const LONGEST_MESSAGE: usize = 2_000;

/// A failure as far as it is understood.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub kind: ErrorKind,
    pub message: String,
    pub reset: Option<Reset>,
}

impl Fault {
    pub(crate) fn new(kind: ErrorKind, message: impl AsRef<str>) -> Self {
        Self { kind, message: cut(message.as_ref().trim(), LONGEST_MESSAGE).to_owned(), reset: None }
    }

    /// From what an agent gives as text only, with whatever status and code came along.
    pub(crate) fn of(status: Option<u16>, code: &str, message: &str) -> Self {
        let inner = embedded(message);
        let error = inner.as_ref().map(|value| value.get("error").unwrap_or(value));
        let text = |name: &str| error.and_then(|error| error.get(name)).and_then(Value::as_str);
        let said = text("message").unwrap_or(message);
        let number = error.and_then(|error| error.get("code")).and_then(Value::as_u64);
        let status = status.or_else(|| number.and_then(|code| u16::try_from(code).ok())).or_else(|| spoken(message));
        let codes = [code, text("code").unwrap_or(""), text("type").unwrap_or(""), text("status").unwrap_or("")];
        let mut kind = kind_of(status, &codes, said);
        let reset = (kind == ErrorKind::RateLimit)
            .then(|| inner.as_ref().and_then(reset::in_fields).or_else(|| reset::in_text(message)))
            .flatten();
        if kind == ErrorKind::RateLimit && reset.is_none() && said.contains("billing") {
            // Nothing to wait for: a user must pay.
            kind = ErrorKind::Billing;
        }
        Fault { reset, ..Fault::new(kind, said) }
    }

    /// A span of time that started when the error was reported becomes a time, if that moment is known.
    pub(crate) fn reported_at(mut self, at: Option<Timestamp>) -> Self {
        if let (Some(Reset::AfterMs(ms)), Some(at)) = (self.reset, at) {
            self.reset = Some(Reset::At(later(at, ms)));
        }
        self
    }

    pub(crate) fn event(&self) -> AgentEvent {
        let (retry_at, retry_after_ms) = match self.reset {
            Some(Reset::At(at)) => (Some(at), None),
            Some(Reset::AfterMs(ms)) => (None, Some(ms)),
            None => (None, None),
        };
        AgentEvent::Error { kind: self.kind, message: self.message.clone(), retry_at, retry_after_ms }
    }

    pub(crate) fn outcome(&self, now: Timestamp) -> TurnOutcome {
        match self.kind {
            ErrorKind::RateLimit => TurnOutcome::RateLimited {
                until: self.reset.map(|reset| match reset {
                    Reset::At(at) => at,
                    Reset::AfterMs(ms) => later(now, ms),
                }),
                message: self.message.clone(),
            },
            ErrorKind::Overloaded
            | ErrorKind::Network
            | ErrorKind::ContextOverflow
            | ErrorKind::Auth
            | ErrorKind::Billing
            | ErrorKind::ModelNotFound
            | ErrorKind::UnknownSession
            | ErrorKind::ResourceLimit
            | ErrorKind::Other => TurnOutcome::Failed { kind: self.kind, message: self.message.clone() },
        }
    }
}

fn later(from: Timestamp, ms: u64) -> Timestamp {
    let span = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    from.checked_add(span).unwrap_or(Timestamp::MAX)
}

/// The start of a text, at most so many bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The JSON object inside a message such as `[API Error: {…}]`.
fn embedded(message: &str) -> Option<Value> {
    let object = message.get(message.find('{')?..=message.rfind('}')?)?;
    serde_json::from_str(object).ok()
}

static STATUS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(?:status(?: code)?|HTTP|API Error|last error|request rejected)[:(/ ]+\(?([1-5]\d\d)\b|^([45]\d\d) ",
    )
    .ok()
});

/// The HTTP status that a message names.
fn spoken(message: &str) -> Option<u16> {
    let found = STATUS.as_ref()?.captures(message)?;
    found.get(1).or(found.get(2))?.as_str().parse().ok()
}

/// The kind by code, then by status, then by words.
pub(crate) fn kind_of(status: Option<u16>, codes: &[&str], message: &str) -> ErrorKind {
    for code in codes {
        if let Some(kind) = by_code(code) {
            return kind;
        }
    }
    let words = message.to_lowercase();
    match status {
        Some(429) => ErrorKind::RateLimit,
        Some(402) => ErrorKind::Billing,
        Some(401 | 403) if by_words(&words) == ErrorKind::Billing => ErrorKind::Billing,
        Some(401 | 403) => ErrorKind::Auth,
        Some(404) if words.contains("model") => ErrorKind::ModelNotFound,
        Some(408) => ErrorKind::Network,
        Some(413) => ErrorKind::ContextOverflow,
        // The server is up; only a later retry helps.
        Some(500..=599) => ErrorKind::Overloaded,
        Some(_) | None => by_words(&words),
    }
}

fn by_code(code: &str) -> Option<ErrorKind> {
    Some(match code.to_ascii_lowercase().as_str() {
        "rate_limit"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "resource_exhausted"
        | "quota_exceeded"
        | "usage_limit_reached"
        | "quota" => ErrorKind::RateLimit,
        "overloaded" | "overloaded_error" | "server_is_overloaded" | "server_error" | "unavailable" => {
            ErrorKind::Overloaded
        }
        "auth"
        | "authentication"
        | "authentication_error"
        | "authentication_failed"
        | "invalid_api_key"
        | "permission_error"
        | "unauthenticated"
        | "permission_denied"
        | "providerautherror" => ErrorKind::Auth,
        "billing_error"
        | "billing_hard_limit_reached"
        | "credit_balance_too_low"
        | "insufficient_quota"
        | "insufficient_credits"
        | "payment_required" => ErrorKind::Billing,
        "context_length_exceeded" | "contextoverflowerror" | "prompt_too_long" | "context_limit" => {
            ErrorKind::ContextOverflow
        }
        "model_not_found" | "providermodelnotfounderror" | "model_not_supported" => ErrorKind::ModelNotFound,
        _ => return None,
    })
}

const WORDS: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::UnknownSession,
        &[
            "no conversation found",
            "no rollout found",
            "session not found",
            "no saved session",
            "invalid session identifier",
            "no session, task, or name matched",
            "no session found",
            "no previous sessions found",
        ],
    ),
    (
        ErrorKind::ContextOverflow,
        &[
            "prompt is too long",
            "prompt as too long",
            "context length",
            "context window",
            "context limit",
            "maximum number of tokens",
            "input is too long",
            "too many tokens",
            "hit a token limit",
            "contextwindowexceedederror",
        ],
    ),
    (
        ErrorKind::Billing,
        &["credit balance", "insufficient credit", "out of credits", "payment required", "billing hard limit"],
    ),
    (
        ErrorKind::RateLimit,
        &[
            "rate limit",
            "rate_limit",
            "ratelimiterror",
            "too many requests",
            "usage limit",
            "quota",
            "hit your limit",
            "slow down",
        ],
    ),
    (
        ErrorKind::ModelNotFound,
        &[
            "modelnotfound",
            "model_not_found",
            "unknown model",
            "invalid model",
            "issue with the selected model",
            "no such model",
        ],
    ),
    (
        ErrorKind::Auth,
        &[
            "unauthorized",
            "unauthenticated",
            "authentication",
            "api key",
            "api_key",
            "not logged in",
            "log in",
            "/login",
            "auth method",
        ],
    ),
    (
        ErrorKind::Overloaded,
        &[
            "overloaded",
            "high demand",
            "at capacity",
            "internal server error",
            "service unavailable",
            "serviceunavailableerror",
            "badgatewayerror",
        ],
    ),
    (
        ErrorKind::Network,
        &[
            "connection",
            "connect to",
            "econnrefused",
            "econnreset",
            "enotfound",
            "etimedout",
            "eai_again",
            "fetch failed",
            "stream disconnected",
            "stream ended",
            "finish reason",
            "finish_reason",
            "stream_truncated",
            "terminated (cause",
            "socket",
            "network",
            "timed out",
            "error sending request",
            "error decoding response body",
            "peer closed connection",
            // LiteLLM's own words for all that it cannot tell.
            "internalservererror",
        ],
    ),
];

fn by_words(words: &str) -> ErrorKind {
    // All that undici says of a body that ended early.
    if words.trim() == "terminated" {
        return ErrorKind::Network;
    }
    // With the id in between.
    if words.contains("session \"") && words.contains("\" not found") {
        return ErrorKind::UnknownSession;
    }
    let found = WORDS.iter().find(|(_, list)| list.iter().any(|word| words.contains(word)));
    let no_model = words.contains("model") && ["does not exist", "not found"].iter().any(|no| words.contains(no));
    found.map_or(if no_model { ErrorKind::ModelNotFound } else { ErrorKind::Other }, |(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_before_statuses_and_statuses_before_words() {
        assert_eq!(kind_of(Some(400), &["context_length_exceeded"], ""), ErrorKind::ContextOverflow);
        assert_eq!(kind_of(Some(429), &["unheard_of"], "connection"), ErrorKind::RateLimit);
        assert_eq!(kind_of(Some(529), &[], "rate limit"), ErrorKind::Overloaded);
        assert_eq!(kind_of(Some(404), &[], "model: nope"), ErrorKind::ModelNotFound);
        assert_eq!(kind_of(Some(404), &[], "page"), ErrorKind::Other);
        assert_eq!(kind_of(None, &[], "Unable to connect to API (ECONNREFUSED)"), ErrorKind::Network);
        assert_eq!(kind_of(None, &[], "The model `nope` does not exist"), ErrorKind::ModelNotFound);
        assert_eq!(kind_of(None, &[], "it rained"), ErrorKind::Other);
    }

    #[test]
    fn an_error_inside_a_message_is_found() {
        let fault =
            Fault::of(None, "", "[API Error: {\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"?\"}}]");
        assert_eq!(fault, Fault { kind: ErrorKind::Overloaded, message: "busy".into(), reset: None });
        let fault = Fault::of(None, "", "unexpected status 401 Unauthorized: no, url: x");
        assert_eq!(fault.kind, ErrorKind::Auth);
    }

    #[test]
    fn a_quota_that_only_money_restores_needs_a_person() {
        let kind = |status, code, message| Fault::of(status, code, message).kind;
        assert_eq!(kind(None, "", "Quota exceeded. Check your plan and billing details."), ErrorKind::Billing);
        assert_eq!(kind(Some(400), "", "Your credit balance is too low to access the API."), ErrorKind::Billing);
        assert_eq!(kind(Some(429), "insufficient_quota", "You exceeded your current quota"), ErrorKind::Billing);
        assert_eq!(kind(Some(402), "", "no"), ErrorKind::Billing);
        assert_eq!(kind(Some(403), "", "You are out of credits"), ErrorKind::Billing);
        assert_eq!(kind(Some(403), "", "forbidden"), ErrorKind::Auth);
        let soon = "You exceeded your current quota, please check your plan and billing details. Please retry in 34s.";
        assert_eq!(Fault::of(Some(429), "", soon).kind, ErrorKind::RateLimit);
    }

    #[test]
    fn a_limit_is_dated_from_when_it_was_reported() {
        let at: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        let fault = Fault::of(Some(429), "", "slow down, try again in 90 seconds").reported_at(Some(at));
        let until = Some("2026-11-15T12:01:30Z".parse().unwrap());
        assert_eq!(
            fault.outcome(Timestamp::MAX),
            TurnOutcome::RateLimited { until, message: "slow down, try again in 90 seconds".into() }
        );
    }
}
