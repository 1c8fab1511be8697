//! Errors as a user reads them: what happened, why, what to do.

pub mod exit;

use std::fmt::Write as _;

use windlass_app::{Kind, Problem};
use windlass_engine::engine::EngineError;
use windlass_store::StoreError;
use windlass_workspace::WorkspaceError;

use exit::Exit;

/// An error on its way to the user.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
    pub causes: Vec<String>,
    pub hint: Option<String>,
}

impl Failure {
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), causes: Vec::new(), hint: Some(hint.into()) }
    }

    pub fn of(exit: Exit, error: &dyn std::error::Error, hint: Option<String>) -> Self {
        let message = error.to_string();
        let mut causes: Vec<String> = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if text != message && causes.last() != Some(&text) {
                causes.push(text);
            }
            source = cause.source();
        }
        Self { exit, message, causes, hint }
    }

    /// `error: …`, `caused by: …`, `hint: …`, a line each.
    pub fn text(&self) -> String {
        let mut text = format!("error: {}\n", self.message);
        for cause in &self.causes {
            let _ = writeln!(text, "caused by: {cause}");
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(text, "hint: {hint}");
        }
        text
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let exit = match problem.code {
            Kind::Failed | Kind::TooMany => Exit::Failed,
            Kind::AgentMissing => Exit::Errored,
            Kind::Invalid
            | Kind::NotFound
            | Kind::Unauthorized
            | Kind::Forbidden
            | Kind::Misdirected
            | Kind::Refused
            | Kind::TrustNeeded
            | Kind::TooLarge => Exit::Usage,
        };
        Self { exit, message: problem.message, causes: problem.causes, hint: problem.hint }
    }
}

/// Errors of what drives and follows loops, which is not a request.
macro_rules! through_problem {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Problem::from(error).into()
            }
        }
    )*};
}

through_problem!(EngineError, StoreError, WorkspaceError, std::io::Error);
