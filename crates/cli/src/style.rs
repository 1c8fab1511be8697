//! Colours, only on a terminal.

use std::io::IsTerminal;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    pub fn for_stdout() -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { colour: wanted && std::io::stdout().is_terminal() }
    }

    /// Never any.
    pub fn plain() -> Self {
        Self { colour: false }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub fn accent(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// The colour of a status word.
    pub fn status(self, status: &str) -> String {
        match status {
            "completed" => self.good(status),
            "running" | "queued" => self.accent(status),
            "waiting" | "paused" | "awaiting_review" | "interrupted" | "exhausted" => self.warn(status),
            _ => self.bad(status),
        }
    }
}

/// Text that came from elsewhere, made safe for a terminal: no escapes, no control characters but tab and new line.
pub fn safe(text: &str) -> String {
    windlass_agents::plain_text(text).chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect()
}

/// The first line, of at most so many characters.
pub fn one_line(text: &str, most: usize) -> String {
    let line = safe(text.lines().next().unwrap_or_default());
    if line.chars().count() <= most {
        return line;
    }
    let cut: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{cut}…")
}

pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
