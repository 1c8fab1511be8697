//! Agents that print one JSON object a line: what all of them have in common.
//!
//! An unrecognized line is kept unchanged and breaks nothing. A turn is finished only if the agent said so in its
//! own closing line *and* ended with exit code 0: several of them exit with 0 after a cut stream or a signal.

use std::fmt;

use jiff::Timestamp;
use serde_json::Value;
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};
use windlass_core::usage::Usage;

use super::fault::{Fault, cut, kind_of};
use super::lines::LineSplitter;
use super::reset;
use super::rounds::Rounds;
use crate::turn::{Exit, Progress, Session};

/// A JSON line beyond this is kept only in the transcript.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Longest part of an unrecognized line, or of a tool's input or output, that is passed on.
const LONGEST_DETAIL: usize = 64 * 1024;
const STDERR_TAIL: usize = 2_000;
const LONGEST_STDERR_LINE: usize = 16 * 1024;
const LONGEST_QUOTE: usize = 500;
/// What one adapter knows: the meaning of a line.
pub(crate) trait Dialect: Send + fmt::Debug {
    /// Reads one line. Returns false if this adapter does not recognize it.
    fn line(&mut self, line: &Value, turn: &mut Turn<'_>) -> bool;

    /// The error in a line of standard error, for agents that wait for a limit and report it only there.
    fn said_aside<'a>(&self, _line: &'a str) -> Option<&'a str> {
        None
    }

    /// The error in a line of standard error, for agents that report it only there.
    fn error_aside<'a>(&self, _line: &'a str) -> Option<&'a str> {
        None
    }

    /// The output is at its end.
    fn end(&mut self, _turn: &mut Turn<'_>) {}

    /// The content of the usage file that some agents write next to the output.
    fn usage_file(&mut self, _content: &Value, _turn: &mut Turn<'_>) {}

    /// As `Session::input`.
    fn input(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// As `Session::progress`.
    fn progress(&self) -> Progress {
        Progress::Working
    }

    /// As `Session::interrupt`.
    fn interrupt(&mut self) -> bool {
        false
    }

    /// The failure that follows from the exit code alone.
    fn by_exit_code(&self, _code: i32) -> Option<ErrorKind> {
        None
    }
}

/// What is known of the turn so far.
#[derive(Debug, Default)]
struct Known {
    session: Option<String>,
    /// Lines of the agent's format.
    understood: bool,
    /// The first line that was not JSON.
    gibberish: Option<String>,
    /// Text was passed on and its line is not at its end.
    open_text: bool,
    /// Whether the agent's closing line was seen, and whether it reports a failure.
    closed: Option<bool>,
    /// Why it failed, if the agent reported it.
    fault: Option<Fault>,
    rounds: Rounds,
    /// The line only shows that the agent is alive.
    heartbeat: bool,
    /// Something else came since it was last asked.
    active: bool,
    stderr: Vec<u8>,
}

/// Where an adapter puts what it understood.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    pub events: &'a mut Vec<AgentEvent>,
    known: &'a mut Known,
}

impl Turn<'_> {
    /// A whole message; it ends its line, so that a promise in it is seen.
    pub(crate) fn text(&mut self, text: &str) {
        self.end_text();
        if !text.is_empty() {
            self.known.rounds.said(text);
            let end = if text.ends_with('\n') { "" } else { "\n" };
            self.events.push(AgentEvent::Text { text: format!("{text}{end}") });
        }
    }

    /// A part of a message.
    pub(crate) fn text_part(&mut self, text: &str) {
        if !text.is_empty() {
            self.known.open_text = !text.ends_with('\n');
            self.events.push(AgentEvent::Text { text: text.to_owned() });
        }
    }

    /// The message that came in parts is at its end.
    pub(crate) fn end_text(&mut self) {
        if std::mem::take(&mut self.known.open_text) {
            self.events.push(AgentEvent::Text { text: "\n".to_owned() });
        }
    }

    pub(crate) fn thinking(&mut self, text: &str) {
        if !text.is_empty() {
            self.end_text();
            self.events.push(AgentEvent::Thinking { text: text.to_owned() });
        }
    }

    pub(crate) fn tool_use(&mut self, id: &str, name: &str, input: &Value) {
        self.end_text();
        self.known.rounds.call(name, &input.to_string());
        let input = shown(&shortened(input));
        self.events.push(AgentEvent::ToolUse { id: id.to_owned(), name: name.to_owned(), input });
    }

    pub(crate) fn tool_result(&mut self, id: &str, output: &Value, is_error: bool) {
        self.end_text();
        self.known.rounds.result(&output.to_string(), is_error);
        self.events.push(AgentEvent::ToolResult { id: id.to_owned(), output: shown(output), is_error });
    }

    pub(crate) fn usage(&mut self, model: &str, usage: Usage) {
        if usage.tokens() > 0 || usage.messages > 0 || usage.cost_usd.is_some_and(|cost| cost != 0.0) {
            self.events.push(AgentEvent::Usage { model: model.to_owned(), usage });
        }
    }

    /// The agent's session, reported once.
    pub(crate) fn session(&mut self, id: &str) {
        if !id.is_empty() && self.known.session.as_deref() != Some(id) {
            self.known.session = Some(id.to_owned());
            self.events.push(AgentEvent::Session { id: id.to_owned() });
        }
    }

    /// Something went wrong, for now or permanently: the closing line decides. What is already known is not reported again.
    pub(crate) fn trouble(&mut self, mut fault: Fault) {
        self.end_text();
        // To try again is not to get further.
        self.heartbeat();
        self.known.rounds.error(&fault);
        if let Some(before) = &self.known.fault
            && before.kind == fault.kind
        {
            // A later report of the same may leave out when it will be over.
            fault.reset = fault.reset.or(before.reset);
            if before.message == fault.message && before.reset == fault.reset {
                return;
            }
        }
        self.events.push(fault.event());
        self.known.fault = Some(fault);
    }

    /// The line only shows that the agent is alive.
    pub(crate) fn heartbeat(&mut self) {
        self.known.heartbeat = true;
    }

    /// The agent continues, so whatever was wrong is over, and a closing line before this was not the last.
    pub(crate) fn recovered(&mut self) {
        self.known.fault = None;
        self.known.closed = None;
    }

    pub(crate) fn known_fault(&self) -> Option<&Fault> {
        self.known.fault.as_ref()
    }

    /// The agent's closing line.
    pub(crate) fn close(&mut self, text: &str, is_error: bool) {
        self.end_text();
        if !is_error {
            self.known.fault = None;
        }
        self.known.closed = Some(is_error);
        let text = cut(text, LONGEST_DETAIL).to_owned();
        self.events.push(AgentEvent::Result { text, is_error });
    }
}

/// An object with its long texts cut, each with its length, so that what is shown of it is still JSON.
fn shortened(value: &Value) -> Value {
    const LONG: usize = 8 * 1024;
    let Value::Object(fields) = value else { return value.clone() };
    let short = |value: &Value| match value {
        Value::String(text) if text.len() > LONG => {
            Value::String(format!("{}… ({} bytes)", cut(text, LONG), text.len()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            value.clone()
        }
    };
    fields.iter().map(|(name, value)| (name.clone(), short(value))).collect()
}

/// A value as a user would like to see it: a text as it is, anything else as JSON.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(|part| part.get("text").is_some()) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part.get("text")?.as_str()).collect();
            texts.join("\n")
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    cut(&text, LONGEST_DETAIL).to_owned()
}

#[derive(Debug)]
pub(crate) struct JsonSession<D> {
    dialect: D,
    lines: LineSplitter,
    aside: LineSplitter,
    known: Known,
}

impl<D: Dialect> JsonSession<D> {
    pub(crate) fn new(dialect: D) -> Self {
        let aside = LineSplitter::new(LONGEST_STDERR_LINE);
        Self { dialect, lines: LineSplitter::new(LONGEST_LINE), aside, known: Known::default() }
    }
}

fn read_line<D: Dialect>(dialect: &mut D, known: &mut Known, line: &[u8], was_cut: bool, events: &mut Vec<AgentEvent>) {
    if line.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    let parsed: Option<Value> = if was_cut { None } else { serde_json::from_slice(line).ok() };
    known.heartbeat = false;
    if let Some(value) = parsed.filter(Value::is_object) {
        let mut turn = Turn { events, known };
        if dialect.line(&value, &mut turn) {
            known.understood = true;
            known.active |= !known.heartbeat;
            return;
        }
    }
    known.active = true;
    let line = String::from_utf8_lossy(&line[..line.len().min(LONGEST_DETAIL)]);
    if known.gibberish.is_none() {
        let quote = crate::plain_text(cut(line.trim(), LONGEST_QUOTE));
        known.gibberish = Some(quote.replace(char::is_control, " "));
    }
    events.push(AgentEvent::Raw { line: line.into_owned() });
}

/// Takes only limits from there, and only until the agent reports an error, which is more specific, unless standard error is
/// where the agent reports errors.
fn read_aside<D: Dialect>(dialect: &D, known: &mut Known, line: &[u8], events: &mut Vec<AgentEvent>) {
    let line = String::from_utf8_lossy(line);
    if let Some(message) = dialect.error_aside(line.trim_end()) {
        return Turn { events, known }.trouble(Fault::of(None, "", message));
    }
    let Some(message) = dialect.said_aside(&line) else { return };
    let fault = Fault::of(None, "", message);
    if fault.kind == ErrorKind::RateLimit && known.fault.is_none() {
        Turn { events, known }.trouble(fault);
    }
}

impl<D: Dialect> Session for JsonSession<D> {
    fn stdout(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>) {
        let Self { dialect, lines, known, .. } = self;
        lines.push(bytes, |line, was_cut| read_line(dialect, known, line, was_cut, events));
    }

    fn stderr(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>) {
        let Self { dialect, aside, known, .. } = self;
        aside.push(bytes, |line, _| read_aside(dialect, known, line, events));
        let keep = bytes.len().min(STDERR_TAIL);
        self.known.stderr.extend_from_slice(&bytes[bytes.len() - keep..]);
        let excess = self.known.stderr.len().saturating_sub(STDERR_TAIL);
        self.known.stderr.drain(..excess);
    }

    fn usage_file(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>) {
        if let Ok(content) = serde_json::from_slice(bytes) {
            self.dialect.usage_file(&content, &mut Turn { events, known: &mut self.known });
        }
    }

    fn finish(&mut self, events: &mut Vec<AgentEvent>) {
        let Self { dialect, lines, aside, known } = self;
        aside.finish(|line, _| read_aside(dialect, known, line, events));
        lines.finish(|line, was_cut| read_line(dialect, known, line, was_cut, events));
        let mut turn = Turn { events, known };
        turn.end_text();
        dialect.end(&mut turn);
    }

    fn outcome(&self, exit: Exit, now: Timestamp) -> TurnOutcome {
        let known = &self.known;
        if known.closed == Some(false) && exit.is_clean() {
            return TurnOutcome::Finished;
        }
        let mut fault = match &known.fault {
            Some(fault) => fault.clone(),
            None => self.unexplained(exit),
        };
        if let (ErrorKind::Other, Exit::Code(code)) = (fault.kind, exit)
            && let Some(kind) = self.dialect.by_exit_code(code)
        {
            fault.kind = kind;
            fault.reset = fault.reset.or_else(|| reset::in_text(&fault.message));
        }
        fault.outcome(now)
    }

    fn took_a_step(&mut self) -> bool {
        std::mem::take(&mut self.known.active)
    }

    fn spins(&self) -> Option<(ErrorKind, String)> {
        self.known.rounds.spins()
    }

    fn input(&mut self) -> Vec<u8> {
        self.dialect.input()
    }

    fn progress(&self) -> Progress {
        self.dialect.progress()
    }

    fn interrupt(&mut self) -> bool {
        self.dialect.interrupt()
    }
}

impl<D: Dialect> JsonSession<D> {
    /// Why a turn failed for which the agent reported no reason.
    fn unexplained(&self, exit: Exit) -> Fault {
        let known = &self.known;
        let stderr = crate::plain_text(&String::from_utf8_lossy(&known.stderr));
        let stderr = stderr.replace(|c: char| c.is_control() && c != '\n', " ");
        let stderr = stderr.trim();
        let said = if stderr.is_empty() { known.gibberish.as_deref().unwrap_or("") } else { stderr };
        let with = |what: String| if said.is_empty() { what } else { format!("{what}: {said}") };
        if known.closed == Some(true) {
            return Fault::new(
                ErrorKind::Other,
                with(format!("the agent reported a failure without a reason ({exit})")),
            );
        }
        if known.closed == Some(false) {
            return Fault::new(ErrorKind::Other, with(format!("the agent reported success, but: {exit}")));
        }
        match exit {
            Exit::Signal(_) => Fault::new(ErrorKind::Other, with(format!("the agent was {exit} before its result"))),
            Exit::Code(0) if known.understood => Fault::new(
                ErrorKind::Network,
                "the agent's output ends without a result (exit code 0), as after a lost connection",
            ),
            Exit::Code(0) if known.gibberish.is_some() => {
                Fault::new(ErrorKind::Other, with("the agent's output is not in its known format".to_owned()))
            }
            Exit::Code(0) => Fault::new(ErrorKind::Other, with("the agent printed nothing (exit code 0)".to_owned())),
            // Before the first line of its own format the agent has done no work: the output is about its start.
            Exit::Code(_) if !known.understood => Fault::new(kind_of(None, &[], stderr), with(exit.to_string())),
            Exit::Code(_) | Exit::Waits => {
                Fault::new(ErrorKind::Other, with(format!("the agent's output ends without a result ({exit})")))
            }
        }
    }
}

/// A text field, or nothing.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

/// A number of tokens, or 0.
pub(crate) fn count(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// An HTTP status, if there is one.
pub(crate) fn status(value: &Value, name: &str) -> Option<u16> {
    value.get(name).and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok())
}

/// A time as these agents write it: RFC 3339, or milliseconds since 1970.
pub(crate) fn time(value: &Value, name: &str) -> Option<Timestamp> {
    let value = value.get(name)?;
    match value.as_i64() {
        Some(ms) => Timestamp::from_millisecond(ms).ok(),
        None => value.as_str()?.parse().ok(),
    }
}
