//! The block that a fresh agent session gets: the task, the plan, what was done so far.
//!
//! Its size does not grow with the number of iterations: the last ones are told in full, the older ones as a digest,
//! and the whole is cut to a number of tokens.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use super::{fill, last_chars, who_commits};
use crate::machine::{IterationRecord, LoopState};
use crate::spec::Done;

const TASK_CONTEXT: &str = include_str!("texts/task_context.md");
const PLAN: &str = include_str!("texts/plan.md");

/// Iterations told in full; the older ones are folded.
const RECENT: usize = 3;
const LONGEST_SUMMARY: usize = 600;
/// The plan's share of the block.
const PLAN_SHARE: f64 = 0.5;

pub(super) fn build(state: &LoopState, count: &dyn Fn(&str) -> usize) -> String {
    let most = state.spec.context.max_tokens;
    let plan = plan(state, count);
    // The goal is never cut, so the rest gives way: first old words, then whole iterations, then the plan.
    let mut tried = String::new();
    for (recent, summary, plan) in [
        (RECENT, LONGEST_SUMMARY, plan.as_deref()),
        (RECENT, LONGEST_SUMMARY / 4, plan.as_deref()),
        (1, LONGEST_SUMMARY / 4, plan.as_deref()),
        (1, LONGEST_SUMMARY / 4, None),
    ] {
        tried = block(state, recent, summary, plan);
        if count(&tried) <= most {
            break;
        }
    }
    tried
}

/// The plan for a first turn, which has no block.
pub(super) fn plan_alone(state: &LoopState, count: &dyn Fn(&str) -> usize) -> Option<String> {
    plan(state, count).map(|plan| fill(PLAN, context! { plan }))
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
    kept.push_str("[... the rest of the plan is left out ...]");
    Some(kept)
}

fn block(state: &LoopState, recent: usize, longest_summary: usize, plan: Option<&str>) -> String {
    let current = state.turn.as_ref().map_or(state.iteration, |turn| turn.key.iteration);
    let earlier: Vec<&IterationRecord> = state
        .iterations
        .iter()
        .filter(|record| record.iteration < current && !record.undone)
        .map(|record| &**record)
        .collect();
    let (older, recent) = earlier.split_at(earlier.len().saturating_sub(recent));
    let records: Vec<Value> = recent
        .iter()
        .map(|record| {
            context! {
                iteration => record.iteration,
                commit_status => commit_status(record),
                files => files_display(record),
                summary => summary(record, longest_summary),
            }
        })
        .collect();
    fill(
        TASK_CONTEXT,
        context! {
            goal => state.spec.goal.trim_end(),
            plan,
            iteration => state.iteration,
            total => total(state),
            base_commit => state.workspace.as_ref().and_then(|workspace| workspace.base_commit.clone()),
            digest => digest(older),
            records,
            commits => who_commits(state).unwrap_or("Your changes stay uncommitted: do not run git commit."),
        },
    )
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
