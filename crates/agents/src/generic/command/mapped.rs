//! JSON lines of an agent's own format, read by the rules of its profile.
//!
//! All rules that fit a line apply, in their order. A rule with nothing but its condition marks a line as known.

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;
use windlass_core::profile::{AgentProfile, EndOfTurn, EventRule};
use windlass_core::usage::Usage;

use crate::output::fault::Fault;
use crate::output::jsonl::{Dialect, Turn};
use crate::output::prices::Prices;

#[derive(Debug)]
pub(crate) struct Mapped {
    rules: Arc<[EventRule]>,
    prices: Prices,
    /// The error in a line of standard error.
    error: Option<Regex>,
    /// The model of the last line that named one.
    model: String,
    session: Option<String>,
    /// Some line was known.
    began: bool,
}

impl Mapped {
    /// `session` is the one to report if the agent names none.
    pub(crate) fn new(profile: &AgentProfile, session: Option<String>) -> Self {
        let model = profile.model.clone().unwrap_or_default();
        let error = profile.error_pattern.as_deref().and_then(|pattern| Regex::new(pattern).ok());
        let rules = profile.events.as_slice().into();
        Self { rules, prices: Prices::of(profile), error, model, session, began: false }
    }
}

impl Dialect for Mapped {
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool {
        let mut known = false;
        let rules = Arc::clone(&self.rules);
        for rule in rules.iter().filter(|rule| fits(rule, line)) {
            let items = match &rule.each {
                None => vec![line],
                Some(path) => match at(line, path).and_then(Value::as_array) {
                    Some(items) => items.iter().collect(),
                    None => continue,
                },
            };
            known = true;
            for item in items {
                self.apply(rule, item, turn);
            }
        }
        self.began |= known;
        known
    }

    fn error_aside<'a>(&self, line: &'a str) -> Option<&'a str> {
        let found = self.error.as_ref()?.captures(line)?;
        Some(found.get(1).or(found.get(0))?.as_str())
    }

    fn end(&mut self, turn: &mut Turn<'_>) {
        if !self.began {
            return;
        }
        if let Some(session) = self.session.take() {
            turn.session(&session);
        }
        let says_its_end = self.rules.iter().any(|rule| rule.end.is_some());
        if !says_its_end && turn.known_fault().is_none() {
            turn.close("", false);
        }
    }
}

impl Mapped {
    fn apply(&mut self, rule: &EventRule, item: &Value, turn: &mut Turn<'_>) {
        let value = |path: &Option<String>| at(item, path.as_deref()?).filter(|value| !value.is_null());
        let text = |path: &Option<String>| value(path).map(plain).unwrap_or_default();
        // A list of parts at the same place is for a rule with `each`.
        let words = |path: &Option<String>| value(path).and_then(Value::as_str).unwrap_or_default();
        if let Some(session) = value(&rule.session) {
            self.session = None;
            turn.session(&plain(session));
        }
        if let Some(model) = value(&rule.model) {
            self.model = plain(model);
        }
        turn.thinking(words(&rule.thinking));
        let (said, part, tool) = (words(&rule.text), words(&rule.text_part), text(&rule.tool));
        if !said.is_empty() || !part.is_empty() || !tool.is_empty() {
            turn.recovered();
        }
        if !said.is_empty() {
            turn.text(said);
        }
        turn.text_part(part);
        let id = text(&rule.tool_id);
        if !tool.is_empty() {
            turn.tool_use(&id, &tool, value(&rule.tool_input).unwrap_or(&Value::Null));
        }
        if rule.tool_result.is_some() {
            let failed = value(&rule.tool_failed).is_some_and(is_true);
            turn.tool_result(&id, value(&rule.tool_result).unwrap_or(&Value::Null), failed);
        }
        self.count(rule, &value, turn);
        let error = text(&rule.error);
        if !error.is_empty() {
            let status = text(&rule.error_status).parse().ok();
            turn.trouble(Fault::of(status, &text(&rule.error_code), &error));
        }
        match rule.end {
            Some(EndOfTurn::Finished) => turn.close("", false),
            Some(EndOfTurn::Failed) => turn.close("", true),
            None => {}
        }
    }

    fn count<'a>(&self, rule: &EventRule, value: &impl Fn(&Option<String>) -> Option<&'a Value>, turn: &mut Turn<'_>) {
        let tokens = |path: &Option<String>| value(path).and_then(Value::as_u64).unwrap_or(0);
        let cached = tokens(&rule.cache_read_tokens) + tokens(&rule.cache_write_tokens);
        let input = tokens(&rule.input_tokens);
        let contained = if rule.input_has_cached == Some(true) { cached } else { 0 };
        let mut usage = Usage {
            input_tokens: input.saturating_sub(contained),
            output_tokens: tokens(&rule.output_tokens),
            reasoning_tokens: tokens(&rule.reasoning_tokens),
            cache_read_tokens: tokens(&rule.cache_read_tokens),
            cache_write_tokens: tokens(&rule.cache_write_tokens),
            ..Usage::default()
        };
        if usage.tokens() == 0 {
            return;
        }
        usage.messages = 1;
        // An agent that does not know a model's price names 0.
        let named = value(&rule.cost_usd).and_then(Value::as_f64).filter(|cost| *cost > 0.0);
        let usage = match named {
            Some(cost) => Usage { cost_usd: Some(cost), ..usage }.named_by_agent(),
            None => self.prices.priced(&self.model, usage),
        };
        turn.usage(&self.model, usage);
    }
}

/// The value at a path: names of fields, and numbers for the items of a list, from its end if negative.
fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(items) => {
            let index: isize = step.parse().ok()?;
            match usize::try_from(index) {
                Ok(index) => items.get(index),
                Err(_) => items.len().checked_sub(index.unsigned_abs()).and_then(|index| items.get(index)),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => value.get(step),
    })
}

fn fits(rule: &EventRule, line: &Value) -> bool {
    rule.when.iter().all(|(path, wanted)| {
        let found = at(line, path).map(plain).unwrap_or_default();
        match wanted.strip_suffix('*') {
            Some(start) => !found.is_empty() && found.starts_with(start),
            None => found == *wanted,
        }
    })
}

/// A text as it is, anything else as JSON; null is nothing.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A tool failed if the value is true or says something.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(failed) => *failed,
        Value::String(text) => !text.is_empty() && text != "false",
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}
