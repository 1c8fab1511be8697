//! Errors of a turn, each shown once: agents report the same one as an event, as their result and on standard error.

use crate::style::one_line;

#[derive(Debug, Default)]
pub(super) struct Errors {
    shown: Vec<String>,
}

impl Errors {
    pub(super) fn begin_turn(&mut self) {
        self.shown.clear();
    }

    /// Whether nothing of the kind was shown in this turn.
    pub(super) fn is_new(&mut self, message: &str) -> bool {
        let message = one_line(message.trim(), 300);
        if self.shown.iter().any(|known| known.contains(&message) || message.contains(known.as_str())) {
            return false;
        }
        self.shown.push(message);
        true
    }

    /// Output without the frames of stack traces, and without errors that were shown already.
    pub(super) fn without_traces(&self, text: &str) -> String {
        let kept = text.lines().filter(|line| {
            let line = line.trim();
            let repeated = line.len() > 20 && self.shown.iter().any(|known| known.contains(line));
            !is_frame(line) && !repeated
        });
        kept.map(|line| format!("{line}\n")).collect()
    }
}

/// A frame as Node, Python and Java print it.
fn is_frame(line: &str) -> bool {
    line.strip_prefix("at ").is_some_and(|rest| rest.contains(':') || rest.contains("native"))
        || (line.starts_with("File \"") && line.contains("\", line "))
}

#[cfg(test)]
mod tests {
    use super::Errors;

    #[test]
    fn an_error_is_shown_once_a_turn() {
        let mut errors = Errors::default();
        assert!(errors.is_new("API Error: 401 invalid key"));
        assert!(!errors.is_new("API Error: 401 invalid key\nmore"));
        assert!(!errors.is_new("401 invalid key"));
        assert!(errors.is_new("another"));
        errors.begin_turn();
        assert!(errors.is_new("401 invalid key"));
    }

    #[test]
    fn stack_frames_are_left_out() {
        let trace = "Error: boom\n    at run (/x/y.js:1:2)\n    at async main (file:///x:3)\nat the end\n";
        assert_eq!(Errors::default().without_traces(trace), "Error: boom\nat the end\n");
    }
}
