//! Colours, only on a terminal.

use std::io::IsTerminal;

use windlass_app::words::harmless;
pub use windlass_app::words::{one_line, safe, short};

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

/// Git's words about files that came from elsewhere, made safe for a terminal: its colours stay, everything else that a
/// terminal would obey is shown, since a reader of changes has to see it.
pub fn safe_patch(patch: &[u8]) -> String {
    let patch = String::from_utf8_lossy(patch);
    let mut shown = String::with_capacity(patch.len());
    let mut rest = &*patch;
    while let Some(at) = rest.find(|c| !harmless(c)) {
        let (text, from) = rest.split_at(at);
        shown.push_str(text);
        let colour = from.strip_prefix("\x1b[").and_then(|after| {
            let end = after.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            after[end..].starts_with('m').then_some("\x1b[".len() + end + 1)
        });
        let length = match (colour, from.chars().next()) {
            (Some(length), _) => {
                shown.push_str(&from[..length]);
                length
            }
            (None, Some(c)) => {
                match u8::try_from(c) {
                    Ok(byte) if byte.is_ascii() => shown.extend(['^', char::from(byte ^ 0x40)]),
                    Ok(_) | Err(_) => shown.push_str(&format!("<U+{:04X}>", u32::from(c))),
                }
                c.len_utf8()
            }
            (None, None) => break,
        };
        rest = &from[length..];
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::{safe, safe_patch};

    #[test]
    fn what_turns_the_text_around_is_taken_out() {
        assert_eq!(safe("a\u{202e}b\u{2066}c\td\u{7f}"), "abc\td");
    }

    #[test]
    fn a_patch_keeps_gits_colours_and_shows_what_a_terminal_would_obey() {
        let patch = "\x1b[1mdiff\x1b[m\n\x1b[32m+a\x1b]52;c;eA==\x07\x1b[2J\x1b[3\tb\r\u{9b}\u{202e}é\x1b[m\n";
        assert_eq!(
            safe_patch(patch.as_bytes()),
            "\x1b[1mdiff\x1b[m\n\x1b[32m+a^[]52;c;eA==^G^[[2J^[[3\tb^M<U+009B><U+202E>é\x1b[m\n"
        );
    }
}
