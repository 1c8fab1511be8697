//! The block that a fresh agent session gets: the task, the plan, what was done so far.
//!
//! Its size is bounded by a number of tokens: the newest iterations are told in full as far as there is room, and each
//! older one in a line.

use std::collections::BTreeMap;

use minijinja::context;

use super::text::{PLAN, TASK_CONTEXT};
use super::{last_chars, who_commits};
use crate::machine::{IterationRecord, LoopState};
use crate::spec::Done;

const LONGEST_SUMMARY: usize = 600;
/// Of an older iteration, which has one line; the first that makes all lines fit is taken.
const LONGEST_LINES: [usize; 3] = [120, 40, 0];
/// The plan's share of the block.
const PLAN_SHARE: f64 = 0.5;

/// `count` never says more than the bytes of a text, nor more of a text than of its parts together.
pub(super) fn build(state: &LoopState, count: &dyn Fn(&str) -> usize) -> String {
    let most = state.spec.context.max_tokens;
    let plan = plan(state, count);
    let earlier = earlier(state);
    if let Some(text) = all_in_full(state, &earlier, plan.as_deref(), most) {
        return text;
    }
    // The goal is never cut, so the rest gives way: first old words, then the plan, then whole iterations.
    let with_plan = LONGEST_LINES.map(|longest| (longest, plan.as_deref()));
    let without = plan.is_some().then_some((0, None));
    let fitting = with_plan.into_iter().chain(without).find_map(|(longest, plan)| {
        let room = Room { most, longest, plan, count };
        room.fill(state, &earlier)
    });
    fitting.unwrap_or_else(|| {
        let (older, newest) = earlier.split_at(earlier.len().saturating_sub(1));
        block(state, &digest(older).unwrap_or_default(), newest, LONGEST_SUMMARY / 4, None)
    })
}

/// All there is to tell, if its bytes are within the limit: nothing is counted then.
fn all_in_full(state: &LoopState, earlier: &[&IterationRecord], plan: Option<&str>, most: usize) -> Option<String> {
    let mut left = most;
    for record in earlier {
        left = left.checked_sub(full(record, LONGEST_SUMMARY).len())?;
    }
    Some(block(state, "", earlier, LONGEST_SUMMARY, plan)).filter(|text| text.len() <= most)
}

/// What a block may take, and how it is told.
struct Room<'a> {
    most: usize,
    /// Of an older iteration's summary.
    longest: usize,
    plan: Option<&'a str>,
    count: &'a dyn Fn(&str) -> usize,
}

impl Room<'_> {
    /// A line for each iteration, and as many of the newest in full as there is room for; nothing if not even the lines fit.
    ///
    /// Parts are counted one by one, each of which a long loop has counted before. So the cost of a turn does not grow with
    /// the turns before it beyond what fits.
    fn fill(&self, state: &LoopState, earlier: &[&IterationRecord]) -> Option<String> {
        /// What joining parts may add.
        const SEAMS: usize = 8;
        let frame = block(state, "-", &[], LONGEST_SUMMARY, self.plan);
        let mut left = self.most.checked_sub((self.count)(&frame) + SEAMS)?;
        let mut lines = Vec::new();
        for record in earlier.iter().rev() {
            let line = line(record, self.longest);
            left = left.checked_sub((self.count)(&line) + 1)?;
            lines.push(line);
        }
        lines.reverse();
        let mut in_full = 0;
        // The newest first, as long as there is room for more than their line.
        for (record, line) in earlier.iter().zip(&lines).rev() {
            let more = ((self.count)(&full(record, LONGEST_SUMMARY)) + 1).saturating_sub((self.count)(line));
            let Some(rest) = left.checked_sub(more) else { break };
            left = rest;
            in_full += 1;
        }
        let (older, newest) = earlier.split_at(earlier.len() - in_full);
        Some(block(state, &lines[..older.len()].join("\n"), newest, LONGEST_SUMMARY, self.plan))
    }
}

/// The plan for a first turn, which has no block.
pub(super) fn plan_alone(state: &LoopState, count: &dyn Fn(&str) -> usize) -> Option<String> {
    plan(state, count).map(|plan| PLAN.fill(state, context! { plan }))
}

/// The plan, cut at a line when it is longer than its share.
fn plan(state: &LoopState, count: &dyn Fn(&str) -> usize) -> Option<String> {
    let plan = state.spec.context.plan.as_deref().map(str::trim).filter(|plan| !plan.is_empty())?;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let most = (state.spec.context.max_tokens as f64 * PLAN_SHARE) as usize;
    if count(plan) <= most {
        return Some(plan.to_owned());
    }
    let mut kept = String::new();
    let mut tokens = 0;
    for line in plan.lines() {
        tokens += count(line) + 1;
        if tokens > most {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept.push_str("[... rest of the plan omitted ...]");
    Some(kept)
}

fn earlier(state: &LoopState) -> Vec<&IterationRecord> {
    let current = state.turn().map_or(state.iteration, |turn| turn.key.iteration);
    let told = state.iterations.iter().filter(|record| record.iteration < current && !record.undone);
    told.map(|record| &**record).collect()
}

fn block(
    state: &LoopState,
    older: &str,
    newest: &[&IterationRecord],
    longest_summary: usize,
    plan: Option<&str>,
) -> String {
    let records: Vec<String> = newest.iter().map(|record| full(record, longest_summary)).collect();
    TASK_CONTEXT.fill(state, context! {
            goal => state.spec.goal.trim_end(),
            plan,
            iteration => state.iteration,
            total => total(state),
            base_commit => state.workspace.as_ref().and_then(|workspace| workspace.base_commit.clone()),
            older => Some(older).filter(|older| !older.is_empty()),
            records,
            commits => who_commits(state).unwrap_or_else(|| "Your changes stay uncommitted: do not run git commit.".to_owned()),
        },
    )
}

/// What is told of an iteration where there is room.
fn full(record: &IterationRecord, longest_summary: usize) -> String {
    format!(
        "### Iteration {} → {}\nFiles: {}\nSummary: {}",
        record.iteration,
        commit_status(record),
        files_display(record),
        summary(record, longest_summary)
    )
}

/// The least that is told of an iteration.
fn line(record: &IterationRecord, longest: usize) -> String {
    let failed = if record.success { "" } else { " (failed)" };
    let head = format!("- Iteration {} → {}{failed}", record.iteration, commit_status(record));
    match record.summary.split_whitespace().collect::<Vec<_>>().join(" ") {
        words if words.is_empty() || longest == 0 => head,
        words if words.chars().count() <= longest => format!("{head}: {words}"),
        words => format!("{head}: {} …", words.chars().take(longest).collect::<String>().trim_end()),
    }
}

fn total(state: &LoopState) -> String {
    match state.spec.done {
        Done::Duration { .. } => "ongoing".to_owned(),
        Done::Promise { .. } | Done::Gates | Done::Review | Done::Count { .. } => {
            state.iteration_limit().map_or("ongoing".to_owned(), |max| max.to_string())
        }
    }
}

/// Many iterations in a few words.
fn digest(older: &[&IterationRecord]) -> Option<String> {
    const NAMED_FILES: usize = 5;
    let (first, last) = (older.first()?, older.last()?);
    let changed = older.iter().filter(|record| record.checkpoint.files_changed > 0).count();
    let failed = older.iter().filter(|record| !record.success).count();
    let mut touched: BTreeMap<&str, usize> = BTreeMap::new();
    for file in older.iter().flat_map(|record| &record.checkpoint.files) {
        *touched.entry(&file.path).or_default() += 1;
    }
    let mut touched: Vec<(&str, usize)> = touched.into_iter().collect();
    touched.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let named: Vec<&str> = touched.iter().take(NAMED_FILES).map(|(path, _)| *path).collect();
    let files = if named.is_empty() { "none".to_owned() } else { named.join(", ") };
    Some(format!(
        "### Iterations {} to {}, in short\n{changed} of them changed files, {failed} failed. Files changed most: {files}",
        first.iteration, last.iteration
    ))
}

/// `commit <first 7>`, `no changes`, or that nobody commits.
pub(super) fn commit_status(record: &IterationRecord) -> String {
    match &record.checkpoint.commit {
        Some(_) | None if record.checkpoint.files_changed == 0 => "no changes".to_owned(),
        Some(commit) => format!("commit {}", commit.chars().take(7).collect::<String>()),
        None => "not committed".to_owned(),
    }
}

pub(super) fn files_display(record: &IterationRecord) -> String {
    const SHOWN: usize = 5;
    let files = &record.checkpoint.files;
    if files.is_empty() {
        return "none".to_owned();
    }
    let shown: Vec<&str> = files.iter().take(SHOWN).map(|file| file.path.as_str()).collect();
    let more = record.checkpoint.files_changed.saturating_sub(shown.len() as u64);
    let list = shown.join(", ");
    if more == 0 { list } else { format!("{list}, ... ({more} more)") }
}

pub(super) fn summary(record: &IterationRecord, longest: usize) -> String {
    let words = record.summary.trim();
    if words.is_empty() {
        return "No significant actions in this iteration.".to_owned();
    }
    let mut text = last_chars(words, longest).replace('\n', " ");
    if !record.success {
        text.push_str(" (this turn failed)");
    }
    text
}
