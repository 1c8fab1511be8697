//! The commit message that a model wrote, held to its rules.
//!
//! Invariant: the first line starts with `[iter-N] ` of this iteration and has at most 50 characters.

use super::answer::cleanup_summary_tags;
use crate::commit_message::first_line;
use crate::text::truncate_str;

const LONGEST_TASK: usize = 200;
const MOST_FILES: usize = 10;
const LONGEST_FILE: usize = 200;
const LONGEST_BODY: usize = 1_000;

pub fn task_display(task: &str) -> String {
    truncate_str(task.trim(), LONGEST_TASK)
}

/// The first ten of the files, and how many more there are.
pub fn files_display(files: &[String], all: u64) -> String {
    let shown = files.len().min(MOST_FILES);
    // A name may hold a line's end; here it must not.
    let name = |file: &String| truncate_str(&file.replace(char::is_control, "?"), LONGEST_FILE);
    let list = files[..shown].iter().map(name).collect::<Vec<_>>().join(", ");
    match all.max(files.len() as u64).saturating_sub(shown as u64) {
        0 if list.is_empty() => "none".to_owned(),
        0 => list,
        more => format!("{list}, ... ({more} more)"),
    }
}

/// The message where nobody wrote one.
pub fn fallback_message(iteration: u32, summary: &str) -> String {
    let subject = format!("[iter-{iteration}] Iteration {iteration} changes");
    match summary.trim() {
        "" => subject,
        summary => format!("{subject}\n\n{summary}"),
    }
}

/// A model's message with its rules enforced; the fallback if there is nothing in it.
pub fn read_message(iteration: u32, answer: &str, summary: &str) -> String {
    let text = cleanup_summary_tags(answer);
    let mut lines = text.lines().map(str::trim_end).filter(|line| !is_trailer(line));
    let Some(first) = lines.by_ref().map(str::trim).find(|line| !line.is_empty()) else {
        return fallback_message(iteration, summary);
    };
    let words = without_prefix(first);
    if !words.chars().any(char::is_alphanumeric) {
        return fallback_message(iteration, summary);
    }
    let subject = first_line(iteration, words);
    let rest: Vec<&str> = lines.collect();
    let body = rest.join("\n").trim().to_owned();
    // What did not fit into the first line is not lost.
    let body = if subject.ends_with('…') && !words.ends_with('…') { format!("{words}\n{body}") } else { body };
    match truncate_str(body.trim(), LONGEST_BODY).as_str() {
        "" => subject,
        body => format!("{subject}\n\n{body}"),
    }
}

/// `[iter-7] Fix it` is `Fix it`, whichever number the model put there.
fn without_prefix(line: &str) -> &str {
    let line = line.trim_matches(['"', '`', '*', '#', ' ']);
    let Some(rest) = line.strip_prefix("[iter-") else { return line };
    rest.split_once(']').map_or(line, |(_, words)| words.trim_start_matches([':', ' ']))
}

/// A checkpoint is found again by its trailers: only the engine writes them.
fn is_trailer(line: &str) -> bool {
    line.trim_start().get(..9).is_some_and(|start| start.eq_ignore_ascii_case("windlass-"))
}
