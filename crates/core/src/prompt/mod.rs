//! What an agent is told: one builder, texts in files, every part bounded.
//!
//! Values are put into a text once and never read as a template again, so a goal that looks like a placeholder stays
//! as the user wrote it.

use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior, context};

use crate::agent::{ErrorKind, TurnOutcome};
use crate::machine::{IterationRecord, LoopState, SessionUse, Verdict};
use crate::spec::CommitPolicy;

const ASK_PROMISE: &str = include_str!("texts/ask_promise.md");
const COMMITS_ENGINE: &str = include_str!("texts/commits_engine.md");
const COMMITS_AGENT: &str = include_str!("texts/commits_agent.md");
const GATES_FAILED: &str = include_str!("texts/gates_failed.md");
const RECOVERY: &str = include_str!("texts/recovery.md");
const STEERING: &str = include_str!("texts/steering.md");
const STEERING_PENDING: &str = include_str!("texts/steering_pending.md");
const NUDGE: &str = include_str!("texts/nudge.md");
const TASK_CONTEXT: &str = include_str!("texts/task_context.md");

/// Iterations told in full; older ones are in git.
const RECENT_ITERATIONS: usize = 5;
const LONGEST_SUMMARY: usize = 600;
const LONGEST_GATE_OUTPUT: usize = 4_000;

/// The prompt of a turn that goes on in the same agent session: the goal, a blank line, the follow-up word.
pub fn build_follow_up_prompt(goal: &str, follow_up: &str) -> String {
    format!("{goal}\n\n{follow_up}")
}

/// The word that asks an agent to go on, in the language of the locale.
pub fn follow_up_word(locale: &str) -> &'static str {
    let tag = locale.split(['.', '@']).next().unwrap_or_default().replace('_', "-").to_ascii_lowercase();
    match tag.as_str() {
        "zh-tw" | "zh-hk" | "zh-mo" => "繼續",
        "zh" | "zh-cn" | "zh-sg" => "继续",
        _ if tag.starts_with("zh-hant") => "繼續",
        _ if tag.starts_with("zh-hans") => "继续",
        _ => "continue",
    }
}

/// The prompt of the turn that is under way.
pub fn build(state: &LoopState) -> String {
    let resumed = state.turn.as_ref().is_some_and(|turn| matches!(turn.session, SessionUse::Resume { .. }));
    let mut parts: Vec<String> = Vec::new();
    if resumed || state.iteration <= 1 {
        parts.push(state.spec.goal.trim_end().to_owned());
        if !resumed {
            parts.extend(who_commits(state).map(str::to_owned));
        }
    } else {
        parts.push(task_context(state));
    }
    parts.extend(recovery(state));
    parts.extend(refusal(state));
    parts.extend(nudge(state));
    parts.extend(steering(state));
    parts.extend(state.spec.done.promise().map(|promise| fill(ASK_PROMISE, context! { promise })));
    if resumed {
        parts.push(state.spec.follow_up.clone());
    }
    parts.join("\n\n")
}

fn who_commits(state: &LoopState) -> Option<&'static str> {
    match state.spec.commit {
        CommitPolicy::Engine => Some(COMMITS_ENGINE.trim_end()),
        CommitPolicy::Agent => Some(COMMITS_AGENT.trim_end()),
        CommitPolicy::Off => None,
    }
}

fn task_context(state: &LoopState) -> String {
    let current = state.turn.as_ref().map_or(state.iteration, |turn| turn.key.iteration);
    let earlier: Vec<&IterationRecord> = state.iterations.iter().filter(|record| record.iteration < current).collect();
    let recent = &earlier[earlier.len().saturating_sub(RECENT_ITERATIONS)..];
    let records: Vec<Value> = recent
        .iter()
        .map(|record| {
            context! {
                iteration => record.iteration,
                commit_status => commit_status(record),
                files => files_display(record),
                summary => summary(record),
            }
        })
        .collect();
    fill(
        TASK_CONTEXT,
        context! {
            goal => state.spec.goal.trim_end(),
            iteration => state.iteration,
            total => state.iteration_limit().map_or("ongoing".to_owned(), |max| max.to_string()),
            base_commit => state.workspace.as_ref().and_then(|workspace| workspace.base_commit.clone()),
            records,
            commits => who_commits(state).unwrap_or("Your changes stay uncommitted: do not run git commit."),
        },
    )
}

/// `commit <first 7>`, `no changes`, or that nobody commits.
fn commit_status(record: &IterationRecord) -> String {
    match &record.checkpoint.commit {
        Some(_) | None if record.checkpoint.files_changed == 0 => "no changes".to_owned(),
        Some(commit) => format!("commit {}", commit.chars().take(7).collect::<String>()),
        None => "not committed".to_owned(),
    }
}

fn files_display(record: &IterationRecord) -> String {
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

fn summary(record: &IterationRecord) -> String {
    let words = record.summary.trim();
    if words.is_empty() {
        return "No significant actions in this iteration.".to_owned();
    }
    let mut text = last_chars(words, LONGEST_SUMMARY).replace('\n', " ");
    if !record.success {
        text.push_str(" (this turn failed)");
    }
    text
}

fn recovery(state: &LoopState) -> Option<String> {
    state.turn.as_ref().filter(|turn| turn.recovery)?;
    let why = match state.last_turn.as_ref().map(|last| &last.report.outcome) {
        Some(TurnOutcome::RateLimited { .. }) => "a rate limit",
        Some(TurnOutcome::Failed { kind, .. }) => match kind {
            ErrorKind::RateLimit => "a rate limit",
            ErrorKind::Overloaded | ErrorKind::Network => "the provider did not answer",
            ErrorKind::ContextOverflow
            | ErrorKind::Auth
            | ErrorKind::ModelNotFound
            | ErrorKind::UnknownSession
            | ErrorKind::Other => "the agent could not go on",
        },
        Some(TurnOutcome::Interrupted) => "it was interrupted",
        Some(TurnOutcome::CutOff | TurnOutcome::Finished | TurnOutcome::NotStarted { .. }) | None => {
            "the machine or the engine went away"
        }
    };
    Some(fill(RECOVERY, context! { why }))
}

fn refusal(state: &LoopState) -> Option<String> {
    let judged = state.iterations.last()?;
    let failing: Vec<Value> = state
        .gates
        .iter()
        .filter(|gate| !gate.verdict.passed())
        .map(|gate| {
            let how = match gate.verdict {
                Verdict::TimedOut => "timed out".to_owned(),
                Verdict::NotStarted => "could not be started".to_owned(),
                Verdict::Fail | Verdict::Pass => {
                    gate.exit_code.map_or("ended by a signal".to_owned(), |code| format!("exit code {code}"))
                }
            };
            let output = last_chars(gate.output_tail.trim_end(), LONGEST_GATE_OUTPUT);
            context! { command => gate.command.as_str(), how, fence => fence_around(&output), output }
        })
        .collect();
    if !failing.is_empty() {
        let gates = state.gates.len();
        // A turn that failed is not judged: what is known is older than its commit.
        let when = if judged.success {
            "after your last turn"
        } else {
            "when last run; your last turn ended with an error, so that nothing was run after it"
        };
        return Some(fill(GATES_FAILED, context! { claimed => judged.claim && judged.success, gates, when, failing }));
    }
    let unseen_message = judged.claim && judged.success && state.spec.done.promise().is_some();
    unseen_message.then(|| STEERING_PENDING.trim_end().to_owned())
}

fn nudge(state: &LoopState) -> Option<String> {
    let iterations = state.counters.same;
    (iterations >= 3).then(|| fill(NUDGE, context! { iterations }))
}

fn steering(state: &LoopState) -> Vec<String> {
    let Some(turn) = &state.turn else { return Vec::new() };
    state
        .steering
        .iter()
        .filter(|message| message.delivered == Some(turn.key))
        .map(|message| fill(STEERING, context! { text => message.text.as_str() }))
        .collect()
}

/// A fence that the text itself does not close.
fn fence_around(text: &str) -> String {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    fence
}

/// The end of a text, which for output of programs is the part that matters.
fn last_chars(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(count - most).collect();
    format!("[…] {tail}")
}

fn fill(text: &str, values: Value) -> String {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("length", minijinja::filters::length);
    // The texts are part of the program and filled by tests: one that does not render is a bug.
    environment.render_str(text, values).unwrap_or_else(|error| unreachable!("{error:#}")).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
