//! What to print for an invalid command line or a request for help.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use windlass_engine::config::{ValueError, nearest};

/// A command line that starts nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Help or version requested: standard output, exit code 0.
    Asked { text: String },
    /// Help because nothing was typed: standard error, exit code 2.
    NothingTyped { text: String },
    /// Wrong use: standard error, exit code 2.
    Wrong { error: String, hints: Vec<String> },
}

impl Refusal {
    pub(super) fn of(error: &clap::Error, words: &[OsString]) -> Self {
        let rendered = error.render();
        if !error.use_stderr() {
            Refusal::Asked { text: rendered.ansi().to_string() }
        } else if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            Refusal::NothingTyped { text: rendered.ansi().to_string() }
        } else {
            wrong(error, &rendered.to_string(), words)
        }
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Refusal::Asked { .. } => 0,
            Refusal::NothingTyped { .. } | Refusal::Wrong { .. } => 2,
        }
    }

    /// What to print, with styles that only a terminal should get.
    pub fn text(&self) -> String {
        match self {
            Refusal::Asked { text } | Refusal::NothingTyped { text } => text.clone(),
            Refusal::Wrong { error, hints } => {
                let mut text = format!("error: {error}\n");
                hints.iter().for_each(|hint| text.push_str(&format!("hint: {hint}\n")));
                text
            }
        }
    }
}

/// Converts clap's error to our format: one line for the error, one for each hint.
fn wrong(error: &clap::Error, rendered: &str, words: &[OsString]) -> Refusal {
    let mut lines = rendered.lines();
    let mut fault = String::new();
    let mut hints = Vec::new();
    for line in lines.by_ref().take_while(|line| !line.trim().is_empty()) {
        let line = line.trim();
        if let Some(values) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'))
            && values.starts_with("possible values")
        {
            hints.push(values.to_owned());
            continue;
        }
        if !fault.is_empty() {
            fault.push(' ');
        }
        fault.push_str(line.strip_prefix("error: ").unwrap_or(line));
    }
    hints.extend(lines.filter_map(|line| line.trim().strip_prefix("tip: ").map(str::to_owned)));
    if let Some(value) = error.source().and_then(|source| source.downcast_ref::<ValueError>()) {
        hints.extend(value.hint.as_deref().map(str::to_owned));
    }
    let (command, definition) = typed_command(words);
    if !hints.iter().any(|hint| hint.contains("similar")) {
        hints.splice(0..0, similar(error, &definition));
    }
    hints.extend(forgotten_quotes(error, &command));
    hints.push(format!("see '{command} --help' for all options"));
    Refusal::Wrong { error: fault, hints }
}

/// The longest prefix of the words that is a command.
fn typed_command(words: &[OsString]) -> (String, clap::Command) {
    let mut definition = super::definition();
    let mut command = definition.get_name().to_owned();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "-C" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            let Some(sub) = word.to_str().and_then(|word| definition.find_subcommand(word)).cloned() else { break };
            command = format!("{command} {}", sub.get_name());
            definition = sub;
        }
    }
    (command, definition)
}

/// Suggests a name for a word that is too short for clap's own suggestion.
fn similar(error: &clap::Error, definition: &clap::Command) -> Option<String> {
    let kind = error.kind();
    if kind == ErrorKind::InvalidSubcommand {
        let known = definition.get_subcommands().filter(|sub| !sub.is_hide_set()).map(clap::Command::get_name);
        let near = nearest(word(error, ContextKind::InvalidSubcommand)?, known)?;
        return Some(format!("a similar subcommand exists: '{near}'"));
    }
    if kind == ErrorKind::UnknownArgument {
        let typed = word(error, ContextKind::InvalidArg)?.strip_prefix("--")?;
        let near = nearest(typed, definition.get_arguments().filter_map(clap::Arg::get_long))?;
        return Some(format!("a similar argument exists: '--{near}'"));
    }
    None
}

fn word(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    }
}

/// Detects a goal typed without quotes or without `run`.
fn forgotten_quotes(error: &clap::Error, command: &str) -> Option<String> {
    let kind = error.kind();
    if kind == ErrorKind::UnknownArgument && matches!(command, "windlass run" | "windlass steer") {
        word(error, ContextKind::InvalidArg).filter(|word| !word.starts_with('-'))?;
        return Some(format!("put the text in quotes: {command} … \"make the tests pass\""));
    }
    if kind == ErrorKind::MissingRequiredArgument && command == "windlass run" {
        return Some("add a goal: windlass run \"make the tests pass\"".to_owned());
    }
    if kind == ErrorKind::InvalidSubcommand {
        let goal = word(error, ContextKind::InvalidSubcommand).filter(|word| word.contains(' '))?;
        return Some(format!("start a loop with run: windlass run \"{}\"", goal.escape_debug()));
    }
    None
}
