//! Secrets, known by name or by shape, and their replacement.
//!
//! Everything that is stored or sent passes here first: transcripts as a stream of bytes ([`Redactor`]), everything else
//! as whole texts ([`Rules::text`]). The replacement (`[redacted:NAME]`) contains no character that JSON
//! escapes, so JSON lines stay valid.

mod beginnings;
mod known;
mod scan;
mod shapes;
mod stream;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use known::{in_dotenv, in_environment};
pub use scan::{Place, Scan};
pub use stream::Redactor;

use beginnings::Beginnings;
use shapes::SHAPES;

/// A value that is not to be seen, and what to call it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KnownSecret {
    pub name: String,
    value: String,
}

impl KnownSecret {
    /// Shorter values are words that occur in any text.
    pub const SHORTEST: usize = 8;
    const LONGEST: usize = 16 * 1024;

    /// `None` for a value that is too short to distinguish from ordinary text.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Option<Self> {
        let (name, value) = (name.into(), value.into().trim().to_owned());
        let fits = (Self::SHORTEST..=Self::LONGEST).contains(&value.len());
        fits.then_some(Self { name, value })
    }

    /// The value, and its JSON-escaped forms, also in JSON inside JSON.
    fn forms(&self) -> Vec<String> {
        let escaped = |text: &str| {
            let quoted = serde_json::Value::String(text.to_owned()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let mut forms = vec![self.value.clone()];
        for _ in 0..2 {
            let next = escaped(forms.last().map_or("", String::as_str));
            if !forms.contains(&next) {
                forms.push(next);
            }
        }
        forms
    }
}

impl fmt::Debug for KnownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KnownSecret({})", self.name)
    }
}

/// What is looked for.
#[derive(Clone)]
pub struct Rules {
    beginnings: Arc<Beginnings>,
    known: Arc<[Form]>,
    /// The beginnings that a match starts with, to see one that is cut off: the shapes' first.
    triggers: Arc<[Vec<u8>]>,
    /// Their numbers, by their first byte in lower case.
    starts: Arc<[Vec<Start>]>,
    longest: usize,
}

#[derive(Debug)]
struct Form {
    name: String,
    value: Vec<u8>,
}

/// A trigger, and its next bytes in lower case, by which most are distinguished without looking further.
#[derive(Debug, Clone, Copy)]
struct Start {
    next: [u8; 2],
    number: usize,
}

/// Of a known value so much is looked for at first; the rest is compared then.
const TRIGGER: usize = 32;

/// Something that is not to be seen, from one byte to before another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub name: String,
    pub from: usize,
    pub to: usize,
}

impl Default for Rules {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("known", &self.known.len()).finish_non_exhaustive()
    }
}

impl Rules {
    /// The shapes that are always looked for, and these values.
    pub fn new(secrets: &[KnownSecret]) -> Self {
        let mut known: Vec<Form> = Vec::new();
        for secret in secrets {
            for form in secret.forms() {
                let value = form.into_bytes();
                if !known.iter().any(|other| other.value == value) {
                    known.push(Form { name: secret.name.clone(), value });
                }
            }
        }
        let shapes = SHAPES.iter().map(|shape| shape.trigger.as_bytes().to_vec());
        let values = known.iter().map(|form| form.value[..form.value.len().min(TRIGGER)].to_vec());
        let triggers: Vec<Vec<u8>> = shapes.chain(values).collect();
        let in_any_case = SHAPES.iter().filter(|shape| shape.in_any_case()).map(|shape| shape.trigger.as_bytes());
        let beginnings = Beginnings::of(triggers.iter().map(Vec::as_slice), in_any_case);
        let mut starts = vec![Vec::new(); 256];
        for (number, trigger) in triggers.iter().enumerate() {
            let [first, next @ ..] = [0, 1, 2].map(|at| trigger[at].to_ascii_lowercase());
            starts[usize::from(first)].push(Start { next, number });
        }
        let longest = triggers.iter().map(Vec::len).max().unwrap_or(0);
        Self {
            beginnings: Arc::new(beginnings),
            known: known.into(),
            triggers: triggers.into(),
            starts: starts.into(),
            longest,
        }
    }

    /// A text without its secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text.as_bytes());
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut at = 0;
        for Found { name, from, to } in found {
            // Triggers and tokens are ASCII, and a known value is a text: no character is cut.
            clean.push_str(text.get(at..from).unwrap_or_default());
            clean.push_str(&mark(&name));
            at = to;
        }
        clean.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// The secrets in a whole text, in order.
    pub fn find(&self, bytes: &[u8]) -> Vec<Found> {
        let mut found = Vec::new();
        let mut redactor = Redactor::new(self.clone());
        redactor.walk(bytes, |name, from, to| found.push(Found { name: name.to_owned(), from, to }));
        found
    }
}

/// The replacement of a secret.
pub fn mark(name: &str) -> String {
    let plain: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).collect();
    format!("[redacted:{plain}]")
}
