//! Whether an agent goes round in circles inside one turn.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use windlass_core::agent::{AgentEvent, ErrorKind};

use super::fault::{Fault, cut};

/// An agent that meets the same error so often, and gets no further in between, will continue forever. Those that give up
/// by themselves do so after about ten tries.
const MOST_SAME_ERRORS: u32 = 25;
/// To ask again with a prompt that is too long costs the most; a summary of the session helps at once or never.
const MOST_OVERFLOWS: u32 = 5;
/// So many tool calls of a turn are remembered.
const MOST_CALLS: usize = 2_000;
/// Of each, so much.
const LONGEST_CALL: usize = 500;
/// An agent whose last messages, tool calls and results are so many, and only so few different ones, goes round in circles.
const LONG_ENOUGH: usize = 400;
const FEW_STEPS: usize = 4;

/// What a turn repeats.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// The last error, and how often it came since a tool last worked.
    same_error: Option<(Fault, u32)>,
    /// Tool calls since then: to make the same one again after an error is not to get further.
    calls: BTreeSet<String>,
    new_call: bool,
    /// Digests of the last messages, tool calls and results.
    steps: VecDeque<u64>,
}

impl Rounds {
    /// Counts errors that differ in their numbers alone as one.
    pub(crate) fn error(&mut self, fault: &Fault) {
        let words = |fault: &Fault| fault.message.replace(|c: char| c.is_ascii_digit(), "");
        let times = match &self.same_error {
            Some((last, times)) if last.kind == fault.kind && words(last) == words(fault) => *times,
            Some(_) | None => 0,
        };
        self.same_error = Some((fault.clone(), times + 1));
    }

    /// A whole message.
    pub(crate) fn said(&mut self, text: &str) {
        self.step(text);
    }

    pub(crate) fn call(&mut self, name: &str, input: &str) {
        self.step((name, input));
        if self.calls.len() >= MOST_CALLS {
            self.calls.clear();
        }
        self.new_call |= self.calls.insert(format!("{name} {}", cut(input, LONGEST_CALL)));
    }

    pub(crate) fn result(&mut self, output: &str, is_error: bool) {
        if !is_error && std::mem::take(&mut self.new_call) {
            self.same_error = None;
        }
        self.step((output, is_error));
    }

    /// An event of a program that says whole events. Its text may come in parts, which repeat each other.
    pub(crate) fn see(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolUse { name, input, .. } => self.call(name, input),
            AgentEvent::ToolResult { output, is_error, .. } => self.result(output, *is_error),
            AgentEvent::Error { kind, message, .. } => self.error(&Fault::new(*kind, message)),
            AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Account { .. }
            | AgentEvent::Result { .. }
            | AgentEvent::Raw { .. } => {}
        }
    }

    fn step(&mut self, step: impl Hash) {
        let mut digest = DefaultHasher::new();
        step.hash(&mut digest);
        if self.steps.len() >= LONG_ENOUGH {
            self.steps.pop_front();
        }
        self.steps.push_back(digest.finish());
    }

    /// As `Session::spins`.
    pub(crate) fn spins(&self) -> Option<(ErrorKind, String)> {
        let few = || self.steps.iter().collect::<BTreeSet<_>>().len() <= FEW_STEPS;
        if self.steps.len() >= LONG_ENOUGH && few() {
            return Some((ErrorKind::Other, "the agent repeated the same steps again and again".to_owned()));
        }
        let (fault, times) = self.same_error.as_ref()?;
        let most = if fault.kind == ErrorKind::ContextOverflow { MOST_OVERFLOWS } else { MOST_SAME_ERRORS };
        (times >= &most)
            .then(|| (fault.kind, format!("the agent failed {times} times with the same error: {}", fault.message)))
    }
}
