//! Any command as an agent: prompt on stdin or in its arguments, standard output read as text or as JSON lines.

use jiff::{SignedDuration, Timestamp};
use regex::Regex;
use windlass_core::agent::{AgentEvent, ErrorKind, TurnOutcome};
use windlass_core::profile::{AgentProfile, OutputFormat};
use windlass_core::usage::Usage;
use windlass_process::{CommandSpec, Stdin};

use crate::output::fault::Fault;
use crate::output::jsonl::JsonSession;
use crate::output::lines::LineSplitter;
use crate::output::rounds::Rounds;
use crate::output::text::TextDecoder;
use crate::start::{Adapter, Injected};
use crate::turn::{Exit, Launch, LaunchError, LaunchFacts, Session, SessionFacts, TurnRequest};

mod mapped;

/// The kernel takes no longer argument.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;
/// A JSON line beyond this is kept only in the transcript.
const LONGEST_JSON_LINE: usize = 16 * 1024 * 1024;
/// Patterns are looked for in lines up to this length.
const LONGEST_PATTERN_LINE: usize = 64 * 1024;
/// Text is passed on at the end of a line, or after this much of one.
const TEXT_CHUNK: usize = 64 * 1024;
const STDERR_TAIL: usize = 2_000;
/// The session of an agent that names none, but can resume the last one of its directory.
const LAST_SESSION: &str = "last";
/// Shown at the end of a turn of an agent that prints JSON which its profile does not map.
const READ_AS_WORDS: &str = "windlass: this agent prints JSON lines, which Windlass reads as plain text. To extract the \
                             answer, set answer_pattern or output = \"jsonl\" in its profile";

/// The adapter.
#[derive(Debug)]
pub(crate) struct Described;

impl Adapter for Described {
    fn launch(
        &self,
        request: &TurnRequest<'_>,
        facts: &LaunchFacts,
        injected: &Injected,
    ) -> Result<Launch, LaunchError> {
        launch(request, facts, injected).map(|command| Launch { command, files: Vec::new() })
    }

    fn session(&self, profile: &AgentProfile, _facts: &SessionFacts) -> Box<dyn Session> {
        session(profile)
    }

    /// Nothing is known of such a program but its command.
    fn refuses(&self) -> &'static [&'static str] {
        &["mcp_servers", "system_prompt", "denied_tools", "settings"]
    }
}

fn launch(request: &TurnRequest<'_>, facts: &LaunchFacts, injected: &Injected) -> Result<CommandSpec, LaunchError> {
    let agent = request.agent.name.clone();
    let profile = &request.agent.profile;
    let mut words = profile.command.clone();
    if profile.model.as_deref().is_some_and(|model| !model.is_empty()) {
        words.extend(profile.model_args.clone());
    }
    if injected.system_prompt.is_some() {
        words.extend(profile.system_prompt_args.clone());
    }
    if injected.read_only && !facts.confined {
        words.extend(profile.read_only_args.clone());
    }
    match request.session {
        Some(LAST_SESSION) if !profile.resume_last_args.is_empty() => words.extend(profile.resume_last_args.clone()),
        Some(_) => words.extend(profile.resume_args.clone()),
        None => {}
    }
    words.extend(profile.args.clone());
    let takes_prompt = words.iter().any(|word| word.contains("{prompt}") || word.contains("{prompt_file}"));
    let mut filled = Vec::with_capacity(words.len());
    for word in words {
        filled.push(fill(&word, request, injected, &agent)?);
    }
    let mut filled = filled.into_iter();
    let program = filled.next().filter(|program| !program.is_empty()).ok_or(LaunchError::NoCommand { agent })?;
    let mut env = request.env.clone();
    env.extend(profile.env.clone());
    let variable = profile.places.as_ref().and_then(|places| places.variable.clone());
    if let (Some(variable), Some(dir)) = (variable, &profile.config_dir) {
        let dir = match (dir.strip_prefix("~/"), env.get("HOME")) {
            (Some(below), Some(home)) => format!("{home}/{below}"),
            _ => dir.clone(),
        };
        env.insert(variable, dir);
    }
    Ok(CommandSpec {
        program,
        args: filled.collect(),
        env,
        cwd: request.cwd.clone(),
        stdin: if takes_prompt { Stdin::Null } else { Stdin::File { path: request.prompt_file.clone() } },
    })
}

/// Puts values in place of the names in one pass, so that a prompt that looks like a name stays as it is.
fn fill(word: &str, request: &TurnRequest<'_>, injected: &Injected, agent: &str) -> Result<String, LaunchError> {
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let values: [(&str, &dyn Fn() -> String); 6] = [
        ("{prompt}", &|| request.prompt.to_owned()),
        ("{prompt_file}", &|| path(&request.prompt_file)),
        ("{self}", &|| path(&request.own_program)),
        ("{session}", &|| text(request.session)),
        ("{model}", &|| text(request.agent.profile.model.as_deref())),
        ("{system_prompt}", &|| text(injected.system_prompt.as_deref())),
    ];
    let mut filled = String::new();
    let mut rest = word;
    while let Some(start) = rest.find('{') {
        filled.push_str(&rest[..start]);
        rest = &rest[start..];
        let named = values.iter().find(|(name, _)| rest.starts_with(name));
        let (name, value) = named.map_or(("{", "{".to_owned()), |(name, value)| (*name, value()));
        filled.push_str(&value);
        rest = &rest[name.len()..];
    }
    filled.push_str(rest);
    if filled.len() > LONGEST_ARGUMENT {
        return Err(LaunchError::PromptTooLong { agent: agent.to_owned(), bytes: filled.len() });
    }
    if filled.contains('\0') {
        return Err(LaunchError::PromptHasNul);
    }
    Ok(filled)
}

/// Whether the patterns of a profile can be used; the error names the key.
pub fn check_patterns(profile: &AgentProfile) -> Result<(), (&'static str, regex::Error)> {
    let patterns = [
        ("session_pattern", &profile.session_pattern),
        ("usage_pattern", &profile.usage_pattern),
        ("answer_pattern", &profile.answer_pattern),
        ("noise_pattern", &profile.noise_pattern),
        ("error_pattern", &profile.error_pattern),
    ];
    for (key, pattern) in patterns {
        if let Some(pattern) = pattern {
            Regex::new(pattern).map_err(|error| (key, error))?;
        }
    }
    Ok(())
}

/// A reader of what the profile says that its program prints.
fn session(profile: &AgentProfile) -> Box<dyn Session> {
    let last = (!profile.resume_last_args.is_empty()).then(|| LAST_SESSION.to_owned());
    match profile.output.unwrap_or_default() {
        OutputFormat::Jsonl if !profile.events.is_empty() => {
            Box::new(JsonSession::new(mapped::Mapped::new(profile, last)))
        }
        OutputFormat::Jsonl | OutputFormat::Text => Box::new(CommandSession::new(profile, last)),
    }
}

#[derive(Debug)]
pub(crate) struct CommandSession {
    output: Output,
    /// Standard error, if the profile says what an error looks like.
    aside: Option<(LineSplitter, Regex)>,
    /// The session to report if the program names none.
    last: Option<String>,
    stderr_tail: Vec<u8>,
    /// The last error the agent reported and has not recovered from.
    error: Option<AgentEvent>,
    /// Of JSON lines: plain text does not say what is a step.
    rounds: Rounds,
    /// Whether plain-text output contained JSON; `None` if the profile defines the answer.
    prints_json: Option<bool>,
    /// The text is in a code block, where JSON is what it shows.
    fenced: bool,
}

#[derive(Debug)]
enum Output {
    Text { decoder: TextDecoder, pending: String, patterns: Option<Box<Patterns>> },
    Jsonl { lines: LineSplitter },
}

#[derive(Debug)]
struct Patterns {
    line: String,
    session: Option<Regex>,
    usage: Option<Regex>,
    answer: Option<Regex>,
    noise: Option<Regex>,
    error: Option<Regex>,
}

impl CommandSession {
    pub(crate) fn new(profile: &AgentProfile, last: Option<String>) -> Self {
        let compile = |pattern: &Option<String>| pattern.as_deref().and_then(|text| Regex::new(text).ok());
        let output = match profile.output.unwrap_or_default() {
            OutputFormat::Jsonl => Output::Jsonl { lines: LineSplitter::new(LONGEST_JSON_LINE) },
            OutputFormat::Text => {
                let patterns = Patterns {
                    line: String::new(),
                    session: compile(&profile.session_pattern),
                    usage: compile(&profile.usage_pattern),
                    answer: compile(&profile.answer_pattern),
                    noise: compile(&profile.noise_pattern),
                    error: compile(&profile.error_pattern),
                };
                let all = [&patterns.session, &patterns.usage, &patterns.answer, &patterns.noise, &patterns.error];
                let any = all.into_iter().any(Option::is_some);
                Output::Text {
                    decoder: TextDecoder::default(),
                    pending: String::new(),
                    patterns: any.then(|| Box::new(patterns)),
                }
            }
        };
        let read_whole = profile.output.unwrap_or_default() == OutputFormat::Text && profile.answer_pattern.is_none();
        let aside = compile(&profile.error_pattern).map(|pattern| (LineSplitter::new(LONGEST_PATTERN_LINE), pattern));
        let prints_json = read_whole.then_some(false);
        Self {
            output,
            aside,
            last,
            stderr_tail: Vec::new(),
            error: None,
            rounds: Rounds::default(),
            prints_json,
            fenced: false,
        }
    }

    /// Of text output: an error that a pattern found, and figures of a later request, which show that it was overcome.
    fn look_back(&mut self, events: &[AgentEvent]) {
        for event in events {
            match event {
                AgentEvent::Session { .. } => self.last = None,
                AgentEvent::Error { .. } if matches!(self.output, Output::Text { .. }) => {
                    self.error = Some(event.clone());
                }
                AgentEvent::Usage { .. } if matches!(self.output, Output::Text { .. }) => self.error = None,
                AgentEvent::Error { .. }
                | AgentEvent::Usage { .. }
                | AgentEvent::Account { .. }
                | AgentEvent::Text { .. }
                | AgentEvent::Thinking { .. }
                | AgentEvent::ToolUse { .. }
                | AgentEvent::ToolResult { .. }
                | AgentEvent::Result { .. }
                | AgentEvent::Raw { .. } => {}
            }
        }
    }

    /// Remembers what decides the outcome.
    fn note(error: &mut Option<AgentEvent>, event: &AgentEvent) {
        match event {
            AgentEvent::Error { .. } => *error = Some(event.clone()),
            AgentEvent::Result { is_error: false, .. } => *error = None,
            AgentEvent::Result { is_error: true, text } => {
                // The earlier error is more specific.
                if error.is_none() {
                    *error = Some(AgentEvent::Error {
                        kind: ErrorKind::Other,
                        message: text.clone(),
                        retry_at: None,
                        retry_after_ms: None,
                    });
                }
            }
            AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolUse { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Session { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Account { .. }
            | AgentEvent::Raw { .. } => {}
        }
    }
}

impl Session for CommandSession {
    fn stdout(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>) {
        let before = events.len();
        match &mut self.output {
            Output::Text { decoder, pending, patterns } => {
                decoder.push(bytes, pending);
                if let Some(end) = pending.rfind('\n') {
                    let rest = pending.split_off(end + 1);
                    for line in pending.lines() {
                        if line.trim_start().starts_with("```") {
                            self.fenced = !self.fenced;
                        } else if self.prints_json == Some(false) && !self.fenced {
                            self.prints_json = Some(is_json_object(line));
                        }
                    }
                    hand_on(std::mem::replace(pending, rest), patterns.as_deref_mut(), events);
                }
                if pending.len() > TEXT_CHUNK {
                    hand_on(std::mem::take(pending), patterns.as_deref_mut(), events);
                }
            }
            Output::Jsonl { lines } => {
                let (error, rounds) = (&mut self.error, &mut self.rounds);
                lines.push(bytes, |line, cut| {
                    if let Some(event) = json_line(line, cut) {
                        Self::note(error, &event);
                        rounds.see(&event);
                        events.push(event);
                    }
                });
            }
        }
        self.look_back(&events[before..]);
    }

    fn stderr(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>) {
        let before = events.len();
        if let Some((lines, pattern)) = &mut self.aside {
            lines.push(bytes, |line, _| events.extend(error_in(pattern, &String::from_utf8_lossy(line))));
        }
        self.look_back(&events[before..]);
        let keep = bytes.len().min(STDERR_TAIL);
        self.stderr_tail.extend_from_slice(&bytes[bytes.len() - keep..]);
        let excess = self.stderr_tail.len().saturating_sub(STDERR_TAIL);
        self.stderr_tail.drain(..excess);
    }

    fn finish(&mut self, events: &mut Vec<AgentEvent>) {
        let before = events.len();
        if let Some((lines, pattern)) = &mut self.aside {
            lines.finish(|line, _| events.extend(error_in(pattern, &String::from_utf8_lossy(line))));
        }
        match &mut self.output {
            Output::Text { decoder, pending, patterns } => {
                decoder.finish(pending);
                if !pending.is_empty() {
                    hand_on(std::mem::take(pending), patterns.as_deref_mut(), events);
                }
                if let Some(patterns) = patterns {
                    let line = std::mem::take(&mut patterns.line);
                    patterns.look(&line, events);
                }
                if self.prints_json == Some(true) {
                    events.push(AgentEvent::Raw { line: READ_AS_WORDS.to_owned() });
                }
            }
            Output::Jsonl { lines } => {
                let error = &mut self.error;
                lines.finish(|line, cut| {
                    if let Some(event) = json_line(line, cut) {
                        Self::note(error, &event);
                        events.push(event);
                    }
                });
            }
        }
        self.look_back(&events[before..]);
        if let Some(id) = self.last.take() {
            events.push(AgentEvent::Session { id });
        }
    }

    fn spins(&self) -> Option<(ErrorKind, String)> {
        self.rounds.spins()
    }

    fn outcome(&self, exit: Exit, now: Timestamp) -> TurnOutcome {
        if let Some(AgentEvent::Error { kind, message, retry_at, retry_after_ms }) = &self.error {
            return match kind {
                ErrorKind::RateLimit => {
                    let after = retry_after_ms.map(|ms| {
                        let span = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
                        now.checked_add(span).unwrap_or(Timestamp::MAX)
                    });
                    TurnOutcome::RateLimited { until: retry_at.or(after), message: message.clone() }
                }
                ErrorKind::Overloaded
                | ErrorKind::Network
                | ErrorKind::ContextOverflow
                | ErrorKind::Auth
                | ErrorKind::Billing
                | ErrorKind::ModelNotFound
                | ErrorKind::UnknownSession
                | ErrorKind::ResourceLimit
                | ErrorKind::Other => TurnOutcome::Failed { kind: *kind, message: message.clone() },
            };
        }
        if exit == Exit::Code(0) {
            return TurnOutcome::Finished;
        }
        let said = crate::plain_text(&String::from_utf8_lossy(&self.stderr_tail));
        let said = said.trim();
        let message = if said.is_empty() { exit.to_string() } else { format!("{exit}: {said}") };
        TurnOutcome::Failed { kind: ErrorKind::Other, message }
    }
}

/// The error that a line names.
fn error_in(pattern: &Regex, line: &str) -> Option<AgentEvent> {
    let found = pattern.captures(line)?;
    Some(Fault::of(None, "", found.get(1).or(found.get(0))?.as_str()).event())
}

/// Only whole lines are checked, so that it does not matter how the output was cut.
fn is_json_object(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
}

fn hand_on(text: String, patterns: Option<&mut Patterns>, events: &mut Vec<AgentEvent>) {
    let Some(patterns) = patterns else {
        events.push(AgentEvent::Text { text });
        return;
    };
    let answers_only = patterns.answer.is_some();
    let mut words = String::with_capacity(text.len());
    for part in text.split_inclusive('\n') {
        if patterns.line.len() + part.len() <= LONGEST_PATTERN_LINE {
            patterns.line.push_str(part);
        }
        if part.ends_with('\n') {
            let line = std::mem::take(&mut patterns.line);
            patterns.look(&line, events);
        }
        let whole_line = part.trim_end();
        if !answers_only && patterns.noise.as_ref().is_some_and(|noise| noise.is_match(whole_line)) {
            events.push(AgentEvent::Raw { line: whole_line.to_owned() });
        } else {
            words.push_str(part);
        }
    }
    if !answers_only && !words.is_empty() {
        events.push(AgentEvent::Text { text: words });
    }
}

/// A number of tokens, which may be in thousands or millions: `2.7k`.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within these bounds nothing is lost")]
fn tokens_in(text: &str) -> Option<u64> {
    let (figures, times) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1e3),
        b'm' | b'M' => (&text[..text.len() - 1], 1e6),
        _ => return text.parse().ok(),
    };
    let tokens = figures.parse::<f64>().ok().filter(|figure| (0.0..1e9).contains(figure))? * times;
    Some(tokens.round() as u64)
}

impl Patterns {
    fn look(&self, line: &str, events: &mut Vec<AgentEvent>) {
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        let group = |pattern: &Option<Regex>| {
            let found = pattern.as_ref()?.captures(line)?;
            Some(found.get(1).or(found.get(0))?.as_str().to_owned())
        };
        if let Some(id) = group(&self.session) {
            events.push(AgentEvent::Session { id });
        }
        if let Some(found) = self.usage.as_ref().and_then(|pattern| pattern.captures(line)) {
            let number = |name: &str| found.name(name).map(|text| text.as_str().replace([',', '_'], ""));
            let tokens = |name: &str| number(name).and_then(|text| tokens_in(&text)).unwrap_or(0);
            events.push(AgentEvent::Usage {
                model: String::new(),
                usage: Usage {
                    input_tokens: tokens("input"),
                    output_tokens: tokens("output"),
                    cost_usd: number("cost").and_then(|text| text.parse().ok()),
                    ..Usage::default()
                }
                .named_by_agent(),
            });
        }
        events.extend(self.error.as_ref().and_then(|pattern| error_in(pattern, line)));
        if self.answer.is_some() {
            events.push(match group(&self.answer) {
                Some(answer) => AgentEvent::Text { text: format!("{answer}\n") },
                None => AgentEvent::Raw { line: line.to_owned() },
            });
        }
    }
}

/// A neutral event, or the line as it is. Text events are messages: each ends its line.
fn json_line(line: &[u8], cut: bool) -> Option<AgentEvent> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let parsed = if cut { None } else { serde_json::from_slice(line).ok() };
    Some(match parsed {
        Some(AgentEvent::Text { mut text }) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            AgentEvent::Text { text }
        }
        Some(AgentEvent::Usage { model, usage }) => AgentEvent::Usage { model, usage: usage.named_by_agent() },
        Some(event) => event,
        None => {
            let shown = &line[..line.len().min(TEXT_CHUNK)];
            AgentEvent::Raw { line: String::from_utf8_lossy(shown).into_owned() }
        }
    })
}

#[cfg(test)]
mod tests;
