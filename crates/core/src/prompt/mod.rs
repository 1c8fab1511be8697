//! What an agent is told: one builder, texts in files, every part bounded.
//!
//! Values are put into a text once and never read as a template again, so a goal that looks like a placeholder stays
//! as the user wrote it.

mod reviewed;
mod task_context;
mod text;

use minijinja::context;
use minijinja::value::Value;

use crate::agent::{ErrorKind, TurnOutcome};
use crate::duration::human;
use crate::machine::{AnsweredBy, GateMark, GateReport, LoopState, SessionUse, Verdict};
use crate::spec::CommitPolicy;

use text::{
    ANSWER, ASK_PROMISE, ASK_QUESTION, BASELINE, BEGUN_AGAIN, COMMITS_AGENT, COMMITS_ENGINE, FORKED, GATES_FAILED,
    GOAL, HELD_BACK, HIDDEN_FAILED, MERGED_TARGET, NUDGE, OVERFLOW, PROTECTED, RECOVERY, RESTORED, STEERING,
    STEERING_PENDING,
};
pub use text::{TEXTS, Text, TextError};

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

/// What a prompt is told beside the loop's state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// What a reviewer looks at.
    pub changes: Option<Changes>,
    /// The agent has the tools of this very program.
    pub tools: bool,
}

/// What lies between two commits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    pub from: String,
    pub to: String,
    /// The commits, one a line.
    pub log: String,
    /// The files with their counts, one a line; empty where nothing changed.
    pub files: String,
    pub diff: String,
}

/// The prompt of the turn that is under way. `count` counts tokens.
pub fn build(state: &LoopState, facts: &Facts, count: &dyn Fn(&str) -> usize) -> String {
    if let Some(prompt) = reviewed::build(state, facts) {
        return prompt;
    }
    let resumed = state.turn().is_some_and(|turn| matches!(turn.session, SessionUse::Resume { .. }));
    let mut parts: Vec<String> = Vec::new();
    if resumed || state.iteration <= 1 {
        parts.push(GOAL.fill(state, context! { goal => state.spec.goal.trim_end() }));
        if !resumed {
            parts.extend(who_commits(state));
        }
    } else {
        parts.push(task_context::build(state, count));
    }
    if state.iteration <= 1 {
        parts.extend(task_context::plan_alone(state, count));
    }
    parts.extend(forked(state));
    parts.extend(baseline(state));
    parts.extend(merged_target(state));
    parts.extend(recovery(state));
    parts.extend(overflow(state));
    parts.extend(protected(state));
    parts.extend(held_back(state));
    parts.extend(refusal(state));
    parts.extend(nudge(state));
    parts.extend(steering(state));
    parts.extend(answers(state));
    parts.extend(ask_question(state, facts));
    parts.extend(state.spec.done.promise().map(|promise| ASK_PROMISE.fill(state, context! { promise })));
    if resumed {
        parts.push(state.spec.follow_up.clone());
    }
    parts.join("\n\n")
}

fn who_commits(state: &LoopState) -> Option<String> {
    match state.spec.commit {
        CommitPolicy::Engine => Some(COMMITS_ENGINE.fill(state, context! {})),
        CommitPolicy::Agent => Some(COMMITS_AGENT.fill(state, context! {})),
        CommitPolicy::Off => None,
    }
}

/// What is known of the gates before the agent touched anything; told once to each agent session.
fn baseline(state: &LoopState) -> Option<String> {
    let resumed = state.turn().is_some_and(|turn| matches!(turn.session, SessionUse::Resume { .. }));
    let named = |is: &dyn Fn(usize) -> bool| -> Vec<String> {
        let gates = state.spec.gates.iter().enumerate();
        gates.filter(|(index, gate)| !gate.hidden && is(*index)).map(|(_, gate)| gate.command.clone()).collect()
    };
    let failing = named(&|index| state.failed_before(index));
    let flaky = named(&|index| state.is_flaky(index));
    let nothing = resumed || state.continued.merged.is_some() || (failing.is_empty() && flaky.is_empty());
    (!nothing).then(|| BASELINE.fill(state, context! { failing, flaky }))
}

/// Whose work the workspace has already; told to each agent session that does not know it yet.
fn forked(state: &LoopState) -> Option<String> {
    let parent = state.spec.parent.as_ref().filter(|parent| parent.iteration > 0)?;
    let resumed = state.turn().is_some_and(|turn| matches!(turn.session, SessionUse::Resume { .. }));
    let base_commit = state.workspace.as_ref().and_then(|workspace| workspace.base_commit.clone());
    let (agent, name) = (parent.agent.as_str(), parent.name.as_str());
    let values = context! { parent => name, agent, iteration => parent.iteration, base_commit };
    (!resumed).then(|| FORKED.fill(state, values))
}

/// What the agent changed where it may not.
fn protected(state: &LoopState) -> Option<String> {
    let restored = &state.iterations.last().filter(|last| !last.undone)?.checkpoint.restored;
    let files: Vec<String> = restored.iter().take(20).map(|file| file.path.clone()).collect();
    (!files.is_empty()).then(|| PROTECTED.fill(state, context! { files }))
}

/// What was merged into the branch before this turn. A target that had nothing new is not worth a word.
fn merged_target(state: &LoopState) -> Option<String> {
    let merged = state.continued.merged.as_ref()?;
    let conflicts: Vec<String> = merged.conflicts.iter().take(50).cloned().collect();
    let runs = state.baseline.values().filter_map(|runs| runs.last());
    let failing: Vec<Value> = runs.filter(|gate| !gate.hidden && !gate.verdict.passed()).map(failure).collect();
    merged.news.then(|| MERGED_TARGET.fill(state, context! { branch => merged.branch.as_str(), conflicts, failing }))
}

/// What of the agent's work is not accepted.
fn held_back(state: &LoopState) -> Option<String> {
    let files: Vec<String> = state.held_back().iter().take(20).cloned().collect();
    (!files.is_empty()).then(|| HELD_BACK.fill(state, context! { files }))
}

fn recovery(state: &LoopState) -> Option<String> {
    let turn = state.turn()?;
    if !turn.recovery {
        let cut_off = state.last_turn.as_ref().is_some_and(|last| last.report.outcome == TurnOutcome::CutOff);
        let saved = state.workspace.as_ref().and_then(|workspace| workspace.saved.as_deref());
        return saved.filter(|_| cut_off).map(|saved| BEGUN_AGAIN.fill(state, context! { saved }));
    }
    let commits_itself = state.spec.commit == CommitPolicy::Agent;
    let snapshot = state.workspace.as_ref().and_then(|workspace| workspace.snapshot.as_ref());
    if let Some(snapshot) = snapshot {
        let taken_at = snapshot.taken_at.to_string();
        return Some(RESTORED.fill(state, context! { taken_at, commits_itself }));
    }
    let why = match state.last_turn.as_ref().map(|last| &last.report.outcome) {
        Some(TurnOutcome::RateLimited { .. }) => "a rate limit",
        Some(TurnOutcome::Failed { kind, .. }) => match kind {
            ErrorKind::RateLimit => "a rate limit",
            ErrorKind::Overloaded | ErrorKind::Network => "the provider did not respond",
            ErrorKind::ContextOverflow
            | ErrorKind::Auth
            | ErrorKind::Billing
            | ErrorKind::ModelNotFound
            | ErrorKind::UnknownSession
            | ErrorKind::ResourceLimit
            | ErrorKind::Other => "the agent could not continue",
        },
        Some(TurnOutcome::Interrupted) => "interrupted",
        Some(
            TurnOutcome::CutOff | TurnOutcome::Finished | TurnOutcome::NotStarted { .. } | TurnOutcome::NotTried { .. },
        )
        | None => "the machine or the engine stopped",
    };
    Some(RECOVERY.fill(state, context! { why, commits_itself }))
}

/// Told to the session that follows one that was full.
pub(super) fn overflow(state: &LoopState) -> Option<String> {
    let fresh = state.turn().is_some_and(|turn| !matches!(turn.session, SessionUse::Resume { .. }));
    let outcome = state.last_turn.as_ref().map(|last| &last.report.outcome)?;
    let overflowed = matches!(outcome, TurnOutcome::Failed { kind: ErrorKind::ContextOverflow, .. });
    (fresh && overflowed).then(|| OVERFLOW.fill(state, context! {}))
}

/// A gate that failed, with the end of what it printed.
fn failure(gate: &GateReport) -> Value {
    let how = match gate.verdict {
        Verdict::TimedOut => "timed out".to_owned(),
        Verdict::NotStarted => "could not be started".to_owned(),
        Verdict::Fail | Verdict::Pass => {
            gate.exit_code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"))
        }
    };
    let output = last_chars(gate.output_tail.trim_end(), LONGEST_GATE_OUTPUT);
    context! { command => gate.command.as_str(), how, fence => fence_around(&output), output }
}

fn refusal(state: &LoopState) -> Option<String> {
    let judged = state.iterations.last().filter(|last| !last.undone)?;
    let failing: Vec<Value> = state.visible_gates().filter(|gate| !gate.verdict.passed()).map(failure).collect();
    if !failing.is_empty() {
        let gates = state.visible_gates().count();
        // Of turns that failed, only one that ran out of context is judged: what is known else is older than its commit.
        let ran = judged.gates.iter().any(|mark| *mark != GateMark::Skipped);
        let when = if judged.success || ran {
            "after your last turn"
        } else {
            "in the last run; your last turn ended with an error, so no gate ran after it"
        };
        return Some(
            GATES_FAILED.fill(state, context! { claimed => judged.claim && judged.success, gates, when, failing }),
        );
    }
    let hidden = state.hidden_failures();
    if hidden > 0 {
        return Some(HIDDEN_FAILED.fill(state, context! { hidden }));
    }
    let refused = judged.claim && judged.success && state.spec.done.promise().is_some();
    // An answer to its own question speaks for itself.
    let answered = !answers(state).is_empty() && steering(state).is_empty();
    let unseen_message = refused && state.held_back().is_empty() && !answered;
    unseen_message.then(|| STEERING_PENDING.fill(state, context! {}))
}

fn nudge(state: &LoopState) -> Option<String> {
    let iterations = state.counters.same;
    let failing = !state.counters.same_failing.is_empty();
    (iterations >= 3).then(|| NUDGE.fill(state, context! { iterations, failing }))
}

fn steering(state: &LoopState) -> Vec<String> {
    let Some(turn) = state.turn() else { return Vec::new() };
    state
        .steering
        .iter()
        .filter(|message| message.delivered == Some(turn.key))
        .map(|message| STEERING.fill(state, context! { text => message.text.as_str() }))
        .collect()
}

fn answers(state: &LoopState) -> Vec<String> {
    let Some(turn) = state.turn() else { return Vec::new() };
    let told = state.questions.iter().filter_map(|asked| Some((asked, asked.answer.as_ref()?)));
    told.filter(|(_, answer)| answer.delivered == Some(turn.key))
        .filter(|(asked, _)| asked.turn != turn.key)
        .map(|(asked, answer)| {
            let by_person = answer.by == AnsweredBy::Person;
            let (question, answer) = (asked.question.as_str(), answer.text.as_deref());
            ANSWER.fill(state, context! { question, answer, by_person })
        })
        .collect()
}

/// A loop that never waits does not invite questions: the agent decides, as it would without anybody.
fn ask_question(state: &LoopState, facts: &Facts) -> Option<String> {
    let wait = state.spec.question_wait_ms;
    (wait > 0).then(|| ASK_QUESTION.fill(state, context! { wait => human(wait), tools => facts.tools }))
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

#[cfg(test)]
mod tests;
