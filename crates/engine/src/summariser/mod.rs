//! Summaries and commit messages written by a model; what they are made of and held to is in `core::summary`.
//!
//! Invariant: a summariser never costs the commit. `write` always has a summary and a message; what went wrong on the
//! way is a warning. Time and size are bounded, and a key is never part of an error or a log line.

mod client;
mod failure;
mod protocol;

use tracing::warn;
use windlass_core::commit_message;
use windlass_core::summary::{self, NO_ACTIONS};
pub use windlass_core::summary::{
    EndpointSettings, Material, Protocol, SummariserKind, SummariserSettings, Summary, TurnHistory,
};

use client::Client;
pub use failure::{CallError, SummaryError};

use crate::tokens;

/// Enough for the three lines of a commit message in any script.
const MESSAGE_TOKENS: u32 = 300;

/// What is recorded and committed of an iteration, whatever happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub summary: String,
    pub commit_message: String,
    /// What failed on the way, to be told once.
    pub warnings: Vec<String>,
}

/// The summary that asks nobody.
pub fn deterministic(material: &Material) -> Summary {
    let commit_message = commit_message::compose(material.iteration, &material.last_words, material.promise.as_deref());
    Summary { summary: summary::from_facts(material), commit_message }
}

/// What to ask an agent in its own turn. It needs the material's history.
pub fn ask(material: &Material) -> String {
    summary::ask_both(material)
}

/// Reads what the agent answered to `ask`.
pub fn read_answer(settings: &SummariserSettings, material: &Material, answer: &str) -> Result<Summary, SummaryError> {
    let (told, message) = summary::read_both(answer).ok_or(SummaryError::Summary(CallError::WrongForm))?;
    let told = if settings.generate_summary { cleaned(&told, settings) } else { summary::from_facts(material) };
    let commit_message = summary::read_message(material.iteration, &message, &told);
    Ok(Summary { summary: told, commit_message })
}

/// Asks the endpoint: first for the summary, then for the message.
pub async fn by_endpoint(settings: &SummariserSettings, material: &Material) -> Result<Summary, SummaryError> {
    let client = Client::new(settings).map_err(SummaryError::Summary)?;
    let told = if !settings.generate_summary {
        summary::from_facts(material)
    } else if material.history.is_empty() {
        NO_ACTIONS.to_owned()
    } else {
        let most = settings.summary_max_tokens;
        let answer = client.ask(None, summary::ask_summary(material), most).await.map_err(SummaryError::Summary)?;
        // The tokenizer's tables may have to be loaded, which takes longer than a loop's other work may wait.
        let settings = settings.clone();
        tokio::task::spawn_blocking(move || cleaned(&answer, &settings))
            .await
            .map_err(|_| SummaryError::Summary(CallError::Interrupted))?
    };
    let model = settings.commit_message_model.as_deref();
    let question = summary::ask_message(material, &told);
    let answer = match client.ask(model, question, MESSAGE_TOKENS).await {
        Ok(answer) => answer,
        // An answer without words has its own rule, and is not a failure.
        Err(CallError::Empty) => String::new(),
        Err(source) => return Err(SummaryError::Message { summary: told, source }),
    };
    let commit_message = summary::read_message(material.iteration, &answer, &told);
    Ok(Summary { summary: told, commit_message })
}

/// What an attempt reached, with what stands in where it failed.
pub fn settle(material: &Material, attempt: Result<Summary, SummaryError>) -> Written {
    let error = match attempt {
        Ok(Summary { summary, commit_message }) => {
            return Written { summary, commit_message, warnings: Vec::new() };
        }
        Err(error) => error,
    };
    warn!(%error, iteration = material.iteration, "the summariser failed");
    let warnings = vec![error.to_string()];
    match error {
        SummaryError::Summary(cause) => {
            let summary = if cause.is_unavailable() { summary::NO_CLIENT } else { summary::GENERATION_FAILED };
            // The history of the branch gets the facts, not the news that a model did not answer.
            let commit_message = deterministic(material).commit_message;
            Written { summary: summary.to_owned(), commit_message, warnings }
        }
        SummaryError::Message { summary, .. } => {
            let commit_message = summary::fallback_message(material.iteration, &summary);
            Written { summary, commit_message, warnings }
        }
    }
}

/// The summary as the settings want it, except for `agent`, whose turn the driver runs: it gets the deterministic one.
pub async fn write(settings: &SummariserSettings, material: &Material) -> Written {
    match settings.kind {
        SummariserKind::Endpoint if settings.enabled => settle(material, by_endpoint(settings, material).await),
        SummariserKind::Endpoint | SummariserKind::Agent | SummariserKind::Deterministic => {
            settle(material, Ok(deterministic(material)))
        }
    }
}

fn cleaned(answer: &str, settings: &SummariserSettings) -> String {
    summary::clean_summary(answer, settings.summary_max_tokens as usize, &tokens::count)
}
