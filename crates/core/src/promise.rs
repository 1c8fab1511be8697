//! Whether the agent claims to be done: the completion promise in its own words, not in an echo of its prompt.
//!
//! The detector eats assistant text in chunks of any size and keeps at most one bounded line, so a promise split
//! over writes is found and a line of any length costs no memory.

use std::collections::HashMap;

/// Longer lines are searched as they stream by and are never taken for an echo.
const LONGEST_LINE: usize = 256 * 1024;

/// The plain rule: an exact, case-sensitive substring; an empty promise is never found.
pub fn check_completion_promise(output: &str, promise: &str) -> bool {
    !promise.is_empty() && output.contains(promise)
}

/// Finds a claim in streamed assistant text.
///
/// A line that equals a line of the prompt, but for quote marks and indentation, is an echo, and so is everything in
/// a run of two or more such lines. A line that is the promise alone is a claim unless it lies inside such a run.
/// A blank line ends a run, unless the prompt itself goes on with the next line of the output.
#[derive(Debug)]
pub struct ClaimDetector {
    promise: String,
    prompt: PromptLines,
    line: String,
    /// The current line is longer than `LONGEST_LINE`; `line` holds only the last bytes of it.
    long_line: bool,
    run: Run,
    claimed: bool,
}

#[derive(Debug, Default)]
struct Run {
    length: usize,
    last: String,
    blank_since: bool,
    /// The run so far is one line, and that is the promise alone.
    promise_alone: bool,
}

impl ClaimDetector {
    pub fn new(promise: &str, prompt: &str) -> Self {
        Self {
            promise: promise.to_owned(),
            prompt: PromptLines::of(prompt),
            line: String::new(),
            long_line: false,
            run: Run::default(),
            claimed: false,
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
        let bare = bare(&line);
        if bare.is_empty() {
            self.run.blank_since = true;
        } else if self.prompt.has(bare) {
            let goes_on = !self.run.blank_since || self.prompt.follows(&self.run.last, bare);
            if self.run.length > 0 && !goes_on {
                self.close_run();
            }
            self.run.length += 1;
            self.run.promise_alone = self.run.length == 1 && without_marks(&line) == self.promise;
            bare.clone_into(&mut self.run.last);
            self.run.blank_since = false;
        } else {
            self.close_run();
            self.claimed |= line.contains(&self.promise);
        }
    }

    fn close_run(&mut self) {
        self.claimed |= self.run.promise_alone;
        self.run = Run::default();
    }
}

/// The prompt's lines without quote marks, indentation and blank ones, and which line follows which.
#[derive(Debug)]
pub(crate) struct PromptLines {
    followers: HashMap<String, Vec<String>>,
}

impl PromptLines {
    pub fn of(prompt: &str) -> Self {
        let lines: Vec<&str> = prompt.lines().map(bare).filter(|line| !line.is_empty()).collect();
        let mut followers: HashMap<String, Vec<String>> = HashMap::new();
        for (index, line) in lines.iter().enumerate() {
            let next = followers.entry((*line).to_owned()).or_default();
            next.extend(lines.get(index + 1).map(|line| (*line).to_owned()));
        }
        Self { followers }
    }

    pub fn has(&self, line: &str) -> bool {
        self.followers.contains_key(line)
    }

    pub fn follows(&self, before: &str, line: &str) -> bool {
        self.followers.get(before).is_some_and(|next| next.iter().any(|known| known == line))
    }
}

const QUOTES: [char; 7] = ['"', '\'', '`', '“', '”', '‘', '’'];

/// The line without indentation, quote prefixes (`> `, `| `) and quotation marks around it.
pub(crate) fn bare(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || c == '>' || c == '|')
        .trim()
        .trim_start_matches(QUOTES)
        .trim_end_matches(QUOTES)
        .trim()
}

/// The line without the marks that Markdown puts around a word.
fn without_marks(line: &str) -> &str {
    bare(line).trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '#' | '~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMISE: &str = "<promise>COMPLETE</promise>";
    const PROMPT: &str = "Make the tests pass.\n\nWhen everything is done and checked, end your answer with this on a line of its own:\n<promise>COMPLETE</promise>";

    fn claimed(output: &str) -> bool {
        let whole = in_chunks(output, output.len().max(1));
        for size in 1..20 {
            assert_eq!(in_chunks(output, size), whole, "chunks of {size} characters");
        }
        whole
    }

    fn in_chunks(output: &str, size: usize) -> bool {
        let mut detector = ClaimDetector::new(PROMISE, PROMPT);
        let characters: Vec<char> = output.chars().collect();
        for chunk in characters.chunks(size) {
            detector.push(&chunk.iter().collect::<String>());
        }
        detector.finish()
    }

    #[test]
    fn tc_loop_002_the_exact_promise_and_nothing_else() {
        let output = "… <promise>COMPLETE-HUNTER</promise>";
        assert!(check_completion_promise(output, "<promise>COMPLETE-HUNTER</promise>"));
        assert!(!check_completion_promise(output, "<promise>OTHER</promise>"));
        assert!(!check_completion_promise(output, ""));
    }

    #[test]
    fn a_promise_anywhere_in_the_text_is_a_claim() {
        assert!(claimed("<promise>COMPLETE</promise>"));
        assert!(claimed("All done.\n\n<promise>COMPLETE</promise>\n\nSummary: fixed it."));
        assert!(claimed("I am done: <promise>COMPLETE</promise> bye"));
        assert!(claimed("**<promise>COMPLETE</promise>**\r\n"));
        assert!(claimed("> <promise>COMPLETE</promise>"));
        assert!(!claimed("<promise>complete</promise>"));
        assert!(!claimed("<promise>COMPLETE"));
        assert!(!claimed(""));
    }

    #[test]
    fn an_echo_of_the_prompt_is_no_claim() {
        assert!(!claimed(PROMPT));
        assert!(!claimed(&format!("You said:\n{PROMPT}\nWorking on it.")));
        let quoted: String = PROMPT.lines().map(|line| format!("  > {line}\n")).collect();
        assert!(!claimed(&quoted));
        let spaced: String = PROMPT.lines().map(|line| format!("{line}\n\n")).collect();
        assert!(!claimed(&spaced));
    }

    #[test]
    fn a_promise_after_an_echo_is_a_claim() {
        assert!(claimed(&format!("{PROMPT}\nI fixed it.\n{PROMISE}\n")));
        assert!(claimed(&format!("{PROMPT}\n\n{PROMISE}\n")));
    }

    #[test]
    fn a_prompt_line_that_holds_the_promise_among_other_words_is_an_echo() {
        let prompt = "Fix it, then print <promise>COMPLETE</promise> and stop.";
        let mut detector = ClaimDetector::new(PROMISE, prompt);
        detector.push(&format!("> {prompt}\n"));
        assert!(!detector.finish());
    }

    #[test]
    fn the_promise_alone_in_the_middle_of_a_goal_is_still_an_echo() {
        let prompt = "Do it.\n\n<promise>COMPLETE</promise>\n\nThank you.";
        let mut detector = ClaimDetector::new(PROMISE, prompt);
        detector.push(prompt);
        assert!(!detector.finish());
    }

    #[test]
    fn a_line_of_any_length_is_searched_in_bounded_memory() {
        let mut detector = ClaimDetector::new(PROMISE, PROMPT);
        let chunk = "é".repeat(50_000);
        for _ in 0..40 {
            detector.push(&chunk);
            assert!(detector.line.len() <= LONGEST_LINE + chunk.len());
        }
        detector.push("<promise>COMP");
        detector.push("LETE</promise>");
        assert!(detector.finish());
    }

    #[test]
    fn an_empty_promise_is_never_claimed() {
        let mut detector = ClaimDetector::new("", PROMPT);
        detector.push("anything");
        assert!(!detector.finish());
    }

    #[test]
    fn the_end_of_a_message_is_the_end_of_a_line() {
        let mut detector = ClaimDetector::new(PROMISE, PROMPT);
        detector.push("<promise>COMP");
        detector.end_message();
        detector.push("LETE</promise>");
        assert!(!detector.finish());
    }
}
