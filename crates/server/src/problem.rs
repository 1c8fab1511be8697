//! What went wrong, as every response says it: a code for programs, words and a way out for people.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_engine::engine::EngineError;
use windlass_engine::journal::JournalError;
use windlass_engine::trust::Demand;
use windlass_store::StoreError;

/// What kind of problem it is; the status code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What was asked for cannot be understood, or names a setting that cannot be.
    Invalid,
    NotFound,
    /// No token, or a wrong one.
    Unauthorized,
    /// It comes from another site.
    Forbidden,
    /// Another host was meant.
    Misdirected,
    /// The loop does not take that now.
    Refused,
    /// The project wants a person's consent first.
    TrustNeeded,
    TooLarge,
    TooMany,
    Failed,
}

impl Kind {
    pub fn status(self) -> StatusCode {
        match self {
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Unauthorized => StatusCode::UNAUTHORIZED,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::Misdirected => StatusCode::MISDIRECTED_REQUEST,
            Kind::Refused | Kind::TrustNeeded => StatusCode::CONFLICT,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Kind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// An error on its way to a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub code: Kind,
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// The setting or the part of the request that is meant.
    pub field: Option<String>,
    /// Why, from the nearest cause on.
    pub causes: Vec<String>,
    /// What would run, where consent is needed.
    pub details: Option<Box<[Demand]>>,
}

/// What a failed request answers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    pub error: Problem,
}

impl Problem {
    pub fn new(code: Kind, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, field: None, causes: Vec::new(), details: None }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub fn no_loop(id: &str) -> Self {
        let shown: String = id.chars().take(80).collect();
        Self::new(Kind::NotFound, format!("there is no loop '{shown}'")).hint("GET /api/loops lists them")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let code = self.code;
        let mut response = (code.status(), Json(ErrorBody { error: self })).into_response();
        let headers = response.headers_mut();
        match code {
            Kind::TooMany => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            Kind::Unauthorized => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Kind::Invalid
            | Kind::NotFound
            | Kind::Forbidden
            | Kind::Misdirected
            | Kind::Refused
            | Kind::TrustNeeded
            | Kind::TooLarge
            | Kind::Failed => {}
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let hint = error.hint();
        Self { hint, ..of(Kind::Failed, &error) }
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        let code = if matches!(error, JournalError::NoSuchLoop { .. }) { Kind::NotFound } else { Kind::Failed };
        of(code, &error)
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Journal(error) => error.into(),
            EngineError::Refused(_) | EngineError::Driven { .. } => of(Kind::Refused, &error),
            EngineError::Workspace(_)
            | EngineError::Drive(_)
            | EngineError::Socket(_)
            | EngineError::Data(_)
            | EngineError::NoAnswer
            | EngineError::Unanswered { .. }
            | EngineError::TurnOver { .. }
            | EngineError::Identity => of(Kind::Failed, &error),
        }
    }
}

fn of(code: Kind, error: &dyn std::error::Error) -> Problem {
    let mut problem = Problem::new(code, error.to_string());
    let mut source = error.source();
    while let Some(cause) = source {
        problem.causes.push(cause.to_string());
        source = cause.source();
    }
    problem
}
