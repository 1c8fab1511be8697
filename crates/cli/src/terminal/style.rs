//! Colours, only on a terminal.

use std::borrow::Cow;
use std::io::IsTerminal;

use unicode_width::UnicodeWidthStr as _;
use windlass_agents::plain_text;
use windlass_app::words::{all_harmless, harmless};
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

    /// A status word in its color.
    pub fn status(self, status: &str) -> String {
        self.painted_as(status, status)
    }

    /// A line of a summary: a label in a column, and its value, which a terminal shows in as many lines as it needs.
    pub fn field(self, label: &str, label_width: usize, value: &str) -> String {
        let indent = 2 + label.width().max(label_width) + 1;
        format!("  {} {}\n", self.dim(&format!("{label:<label_width$}")), fitted(value, indent, indent))
    }

    /// Text in the color of a status.
    pub fn painted_as(self, status: &str, text: &str) -> String {
        match status {
            "completed" => self.good(text),
            "running" | "queued" => self.accent(text),
            "waiting" | "paused" | "awaiting_review" | "interrupted" | "exhausted" => self.warn(text),
            _ => self.bad(text),
        }
    }
}

/// How many columns a line may have: those of the terminal, of `COLUMNS`, else 80.
pub fn columns() -> usize {
    const USUAL: usize = 80;
    let said = || std::env::var("COLUMNS").ok()?.trim().parse::<usize>().ok();
    terminal().or_else(said).filter(|columns| *columns > 0).unwrap_or(USUAL)
}

/// The columns of the terminal that standard output is, if it is one.
pub fn terminal() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Text that starts at column `at`, in as many lines as the terminal needs; without a terminal, one line.
pub fn fitted(text: &str, at: usize, indent: usize) -> String {
    terminal().map_or_else(|| text.to_owned(), |width| wrapped(text, at, indent, width))
}

/// Each line in as many lines as it needs at this width, continued under its text.
pub fn folded(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| wrapped(line, 0, hanging(line), width)).collect();
    lines.join("\n")
}

/// The column below the first word of a line, after its mark.
fn hanging(line: &str) -> usize {
    const MARK: usize = 2;
    let plain = plain_text(line);
    plain.len() - plain.trim_start().len() + MARK
}

/// Breaks a text between words, so that its lines end before `width`: the first starts at column `at`, the others at `indent`.
/// A word that fits on no line stays whole: it is often a path, to be copied. So does a path with spaces, if it comes first.
fn wrapped(text: &str, at: usize, indent: usize, width: usize) -> String {
    if text.starts_with('/') {
        return text.to_owned();
    }
    let (mut lines, mut at) = (String::with_capacity(text.len()), at);
    for (number, word) in text.split(' ').enumerate() {
        let length = plain_text(word).width();
        if number > 0 && at + 1 + length > width {
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            at = indent + length;
        } else {
            lines.push_str(if number > 0 { " " } else { "" });
            at += length + usize::from(number > 0);
        }
        lines.push_str(word);
    }
    lines
}

/// Text that came from elsewhere or holds such, made safe for a terminal: colours stay, everything else that a terminal would
/// obey is shown, since a reader has to see it.
pub fn printable(text: &str) -> String {
    if all_harmless(text) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
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

/// Says something on the side.
pub fn warn(text: impl std::fmt::Display) {
    eprintln!("warning: {}", printable(&text.to_string()));
}

/// A value as one line of JSON that a terminal shows and does not obey.
pub fn json_line(value: &impl serde::Serialize) -> String {
    let line = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    safe_json(&line).into_owned() + "\n"
}

/// JSON that a terminal shows and does not obey: what JSON itself leaves as it is, controls above ASCII and those that turn
/// the text around, is escaped. The value stays the same.
pub fn safe_json(json: &str) -> Cow<'_, str> {
    if all_harmless(json) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        if harmless(c) {
            safe.push(c);
        } else {
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::{folded, json_line, printable, safe, wrapped};

    #[test]
    fn a_long_value_breaks_between_words_and_never_inside_one() {
        assert_eq!(wrapped("one two three", 4, 4, 12), "one two\n    three");
        assert_eq!(wrapped("one two", 4, 4, 11), "one two", "it fits exactly");
        assert_eq!(wrapped("in /a/path/that/is/long now", 4, 4, 12), "in\n    /a/path/that/is/long\n    now");
        assert_eq!(wrapped("\x1b[32mgood\x1b[0m day", 4, 4, 12), "\x1b[32mgood\x1b[0m day", "colors take no room");
        assert_eq!(wrapped("", 4, 4, 12), "");
        assert_eq!(wrapped("/home/new user/x", 4, 4, 12), "/home/new user/x", "a path can be copied");
    }

    #[test]
    fn folded_lines_continue_under_their_text() {
        assert_eq!(folded("✔ completed: verified", 14), "✔ completed:\n  verified");
        assert_eq!(folded("  ✗ gate test failed\n  ok", 12), "  ✗ gate\n    test\n    failed\n  ok");
        assert_eq!(folded("\x1b[33m  note: a b\x1b[0m", 9), "\x1b[33m  note: a\n    b\x1b[0m");
    }

    #[test]
    fn what_turns_the_text_around_is_taken_out() {
        assert_eq!(safe("a\u{202e}b\u{2066}c\td\u{7f}"), "abc\td");
    }

    #[test]
    fn json_has_nothing_that_a_terminal_obeys_and_says_the_same() {
        let text = "a\u{9b}31m\u{202e}b\u{200f}\u{61c}\u{7f}\n\u{1b}é\u{2066}";
        let line = json_line(&serde_json::json!({ "text": text, text: [1] }));
        assert!(line.trim_end().chars().all(|c| !c.is_control() && (c.is_ascii() || c == 'é')), "{line:?}");
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read, serde_json::json!({ "text": text, text: [1] }));
        assert_eq!(json_line(&"plain"), "\"plain\"\n");
    }

    #[test]
    fn a_patch_keeps_gits_colours_and_shows_what_a_terminal_would_obey() {
        let patch = "\x1b[1mdiff\x1b[m\n\x1b[32m+a\x1b]52;c;eA==\x07\x1b[2J\x1b[3\tb\r\u{9b}\u{202e}é\x1b[m\n";
        assert_eq!(
            printable(patch),
            "\x1b[1mdiff\x1b[m\n\x1b[32m+a^[]52;c;eA==^G^[[2J^[[3\tb^M<U+009B><U+202E>é\x1b[m\n"
        );
    }
}
