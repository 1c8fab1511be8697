//! Whether the agent claims to be done: the completion promise in its own words, not in an echo of its prompt.
//!
//! The detector eats assistant text in chunks of any size and keeps at most one bounded line, so a promise split
//! over writes is found and a line of any length costs no memory.

mod prompt_lines;

use std::sync::Arc;

use serde_json::Value;

pub(crate) use prompt_lines::{PromptLines, Repeated, Trail, undecorated};

/// Longer lines are searched as they stream by and are never taken for an echo.
const LONGEST_LINE: usize = 256 * 1024;
/// Texts in texts (JSON in a string of JSON) are checked so far down.
const MOST_NESTED: u8 = 3;

/// The plain rule: an exact, case-sensitive substring; an empty promise is never found.
pub fn check_completion_promise(output: &str, promise: &str) -> bool {
    !promise.is_empty() && output.contains(promise)
}

/// Finds a claim in streamed assistant text.
///
/// A line that equals a line of the prompt, but for quote marks and indentation, is an echo, and so is everything in
/// a run of two or more such lines. A line that is the promise alone is a claim unless it is inside such a run.
/// A blank line ends a run, unless the prompt itself continues with the next line of the output. Lines in a box, with a
/// bullet or a number, or behind a prefix make a run where they follow each other as in the prompt. A line that holds
/// other lines (a JSON string, a text with escaped line breaks) is judged by those. A promise after the same words as in
/// the prompt, or before the same words, is an echo wherever the lines break.
#[derive(Debug)]
pub struct ClaimDetector {
    promise: String,
    prompt: Arc<PromptLines>,
    line: String,
    /// The current line is longer than `LONGEST_LINE`; `line` holds only the last bytes of it.
    long_line: bool,
    run: Run,
    trail: Trail,
    claimed: bool,
    nested: u8,
}

#[derive(Debug, Default)]
struct Run {
    length: usize,
    last: Option<Repeated>,
    blank_since: bool,
    /// The run so far is one line, and that is the promise alone.
    promise_alone: bool,
}

impl ClaimDetector {
    pub fn new(promise: &str, prompt: &str) -> Self {
        Self::within(promise, Arc::new(PromptLines::of(prompt)), 0)
    }

    fn within(promise: &str, prompt: Arc<PromptLines>, nested: u8) -> Self {
        Self {
            promise: promise.to_owned(),
            prompt,
            line: String::new(),
            long_line: false,
            run: Run::default(),
            trail: Trail::default(),
            claimed: false,
            nested,
        }
    }

    pub fn push(&mut self, text: &str) {
        if self.claimed || self.promise.is_empty() {
            return;
        }
        let mut rest = text;
        while let Some(end) = rest.find('\n') {
            self.extend_line(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.extend_line(rest);
    }

    /// The end of one message: whatever follows is on a new line.
    pub fn end_message(&mut self) {
        if !self.line.is_empty() || self.long_line {
            self.end_line();
        }
    }

    /// The verdict, once all text is in.
    pub fn finish(mut self) -> bool {
        self.end_message();
        self.close_run();
        self.claimed
    }

    fn extend_line(&mut self, part: &str) {
        self.line.push_str(part);
        if self.line.len() > LONGEST_LINE {
            self.long_line = true;
        }
        if self.long_line {
            self.claimed |= self.line.contains(&self.promise);
            let mut keep_from = self.line.len().saturating_sub(self.promise.len());
            while !self.line.is_char_boundary(keep_from) {
                keep_from += 1;
            }
            self.line.drain(..keep_from);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.long_line) {
            self.claimed |= line.contains(&self.promise);
            self.close_run();
            return;
        }
        if let Some(texts) = self.texts_in(&line) {
            self.close_run();
            let mut inside = Self::within(&self.promise, Arc::clone(&self.prompt), self.nested + 1);
            inside.trail = std::mem::take(&mut self.trail);
            for text in &texts {
                inside.push(text);
                inside.end_message();
            }
            inside.close_run();
            self.claimed |= inside.claimed;
            self.trail = inside.trail;
            return;
        }
        let says = self.says(&line);
        self.trail.push(undecorated(&line));
        if undecorated(&line).is_empty() {
            self.claimed |= says;
            self.run.blank_since = true;
            return;
        }
        let last = self.run.last.as_ref();
        let Some(repeated) = self.prompt.repeated(&line, last.map_or("", |last| &last.line)) else {
            self.close_run();
            self.claimed |= says;
            return;
        };
        if !last.is_some_and(|last| self.prompt.goes_on(last, self.run.blank_since, &repeated)) {
            self.close_run();
        }
        self.run.length += 1;
        let alone = says && self.run.length == 1 && repeated.line == undecorated(&self.promise);
        // Behind other words the agent says it, unless the line before it was an echo too.
        self.claimed |= alone && repeated.is_tail();
        self.run.promise_alone = alone;
        self.run.last = Some(repeated);
        self.run.blank_since = false;
    }

    /// Whether the line has the promise among other words than the prompt.
    fn says(&self, line: &str) -> bool {
        line.match_indices(&self.promise).any(|(at, promise)| {
            let mut trail = self.trail.clone();
            trail.push(undecorated(&line[..at]));
            !self.prompt.continues(&trail, promise)
                && !self.prompt.surrounds(&trail, promise, &line[at + promise.len()..])
        })
    }

    /// The texts that a line holds, if it holds the promise and is more than a line of text.
    fn texts_in(&self, line: &str) -> Option<Vec<String>> {
        if self.nested >= MOST_NESTED {
            return None;
        }
        let says = line.contains(&self.promise);
        // Some programs write `<` as an escape.
        if (says || line.contains("\\u00"))
            && let Some(json) = json_in(line)
        {
            let mut texts = Vec::new();
            strings(&json, &mut texts);
            return Some(texts);
        }
        (says && line.contains("\\n")).then(|| vec![line.replace("\\n", "\n").replace("\\\"", "\"")])
    }

    fn close_run(&mut self) {
        self.claimed |= self.run.promise_alone;
        self.run = Run::default();
    }
}

/// The JSON that a line is, or that stands behind a word such as `data:`.
fn json_in(line: &str) -> Option<Value> {
    let line = line.trim();
    let start = if line.starts_with(['[', '"']) { 0 } else { line.find('{')? };
    serde_json::from_str(&line[start..]).ok()
}

fn strings(json: &Value, found: &mut Vec<String>) {
    match json {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(object) => object.values().for_each(|value| strings(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
