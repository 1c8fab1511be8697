//! What must not be seen of a loop: the user's keys, wherever they turn up.
//!
//! Transcripts are redacted by the shim before they are written. Everything else goes through here: events before they
//! are part of the state and the journal, prompts before they are written and sent, what is in the inbox.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use windlass_core::machine::{Event, LoopState};
use windlass_core::spec::LoopSpec;
use windlass_redact::secrets::{KnownSecret, Rules, in_dotenv, in_environment};
use windlass_workspace::Unwanted;

use super::Engine;

/// A larger file holds no settings.
const LARGEST_DOTENV: u64 = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Secrets {
    pub(crate) known: Vec<KnownSecret>,
    pub(crate) rules: Rules,
}

/// The last ones that were requested: most loops of a process have the same.
#[derive(Debug, Default)]
pub(crate) struct LastSecrets(Mutex<Arc<Secrets>>);

impl Engine {
    /// What no commit of this loop may hold.
    pub(crate) fn unwanted(&self, state: &LoopState) -> Unwanted {
        Unwanted { secrets: self.secrets(state).rules.clone(), allowed: state.spec.secrets_allow.clone() }
    }

    pub(crate) fn secrets(&self, state: &LoopState) -> Arc<Secrets> {
        self.secrets_of(&state.spec, Path::new(&state.project))
    }

    pub(crate) fn secrets_of(&self, spec: &LoopSpec, project: &Path) -> Arc<Secrets> {
        let mut known = in_environment(&self.env);
        for file in &spec.workspace.copy {
            known.extend(in_file(&project.join(file)));
        }
        let review = spec.review.iter().flat_map(|review| std::iter::once(&review.reviewer).chain(&review.fallbacks));
        let agents = std::iter::once(&spec.agent).chain(&spec.fallbacks).chain(&spec.summing_up).chain(review);
        for profile in agents.map(|agent| &agent.profile) {
            known.extend(in_environment(&profile.env));
            known.extend(profile.mcp_servers.values().flat_map(|server| in_environment(&server.env)));
        }
        self.last_secrets.get(known)
    }

    /// Those that are known without any loop.
    pub(crate) fn own_secrets(&self) -> Arc<Secrets> {
        self.last_secrets.get(in_environment(&self.env))
    }
}

impl LastSecrets {
    fn get(&self, mut known: Vec<KnownSecret>) -> Arc<Secrets> {
        known.sort();
        known.dedup();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.known != known {
            *last = Arc::new(Secrets { rules: Rules::new(&known), known });
        }
        Arc::clone(&last)
    }
}

fn in_file(path: &Path) -> Vec<KnownSecret> {
    let small = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST_DOTENV);
    let text = small.then(|| std::fs::read_to_string(path).ok()).flatten();
    text.map(|text| in_dotenv(&text)).unwrap_or_default()
}

impl Secrets {
    pub(crate) fn text(&self, text: &str) -> String {
        self.rules.text(text).into_owned()
    }

    /// The events as they may be kept.
    pub(crate) fn clean(&self, events: Vec<Event>) -> Vec<Event> {
        events.into_iter().map(|event| self.event(event)).collect()
    }

    fn event(&self, event: Event) -> Event {
        let json = serde_json::to_string(&event).unwrap_or_default();
        if self.rules.find(json.as_bytes()).is_empty() {
            return event;
        }
        let cleaned = serde_json::to_value(&event).and_then(|mut value| {
            self.value(&mut value);
            serde_json::from_value(value)
        });
        cleaned.unwrap_or_else(|error| unreachable!("only texts were changed: {error}"))
    }

    /// A specification's words. What an agent is started with stays: it would not work without its keys.
    pub(crate) fn clean_spec(&self, spec: &mut LoopSpec) {
        spec.goal = self.text(&spec.goal);
        if let Some(plan) = &mut spec.context.plan {
            *plan = self.text(plan);
        }
        if let Some(review) = &mut spec.review {
            for document in &mut review.documents {
                document.text = self.text(&document.text);
            }
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.value(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.value(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
