//! One loop in full, and the summary at the end of `run`.

use std::fmt::Write as _;

use jiff::Timestamp;
use windlass_agents::Facts;
pub use windlass_app::words::count;
use windlass_app::{fork_words, plan_rows};
use windlass_core::duration::human;
use windlass_core::ids::Role;
use windlass_core::machine::{AcceptedFeature, Aim, AnsweredBy, LoopState, Phase, Question, Verdict};
use windlass_core::milestone::Milestone;
use windlass_core::spec::WorkspaceKind;
use windlass_core::stop::{End, Outcome, PauseReason, Status, StopReason};
use windlass_core::usage::{CostBasis, Usage};
use windlass_engine::loop_log;

use crate::render::{clock_time, left, pause, reason};
use crate::style::{Style, fitted, one_line, short};

/// What the loop is doing, in words.
pub fn doing(state: &LoopState) -> String {
    match &state.status() {
        Status::Queued => "queued".to_owned(),
        Status::Running => match state.phase() {
            Phase::Prepare => "opening the workspace".to_owned(),
            Phase::Setup => "setting up the workspace".to_owned(),
            Phase::Baseline => "running gates on the base commit".to_owned(),
            Phase::Summarise => "summarizing".to_owned(),
            Phase::Work => format!("{} working{}", state.agent(Role::Coder).display_name(), aim(state)),
            Phase::Plan => format!("{} writing the plan", state.agent(Role::Planner).display_name()),
            Phase::Review => match &state.spec.review {
                Some(review) => format!("{} reviewing{}", state.agent(review.kind.role()).display_name(), aim(state)),
                None => "reviewing".to_owned(),
            },
            Phase::Seal => "finishing the section".to_owned(),
            Phase::PostAction => format!("{} running the post-action", state.agent(Role::Finisher).display_name()),
            Phase::Undo => "reverting the post-action".to_owned(),
            Phase::Checkpoint => "committing".to_owned(),
            Phase::Gates => format!("gate {} of {}", state.gates.len() + 1, state.spec.gates.len()),
            Phase::Decide => "deciding".to_owned(),
        },
        Status::Waiting { until, why } => {
            let now = Timestamp::now();
            format!(
                "waiting until {}, {} left ({})",
                clock_time(*until, now),
                left(*until, now),
                one_line(&why.to_string(), 60)
            )
        }
        Status::Paused { why } => format!("paused: {}", pause(why)),
        Status::Ended { end } => end.name().to_owned(),
    }
}

/// A question in one line, with its answer.
pub fn question(asked: &Question) -> String {
    let question = one_line(&asked.question, 120);
    match (&asked.answer, asked.until) {
        (None, Some(until)) => {
            let now = Timestamp::now();
            let default = asked.default.as_ref().map_or("none".to_owned(), |default| one_line(default, 60));
            format!("{question} (open until {}, default: {default})", clock_time(until, now))
        }
        (None, None) => format!("{question} (open)"),
        (Some(answer), _) => match (answer.by, answer.text.as_ref().map(|text| one_line(text, 100))) {
            (AnsweredBy::Person, text) => format!("{question} → {}", text.unwrap_or_default()),
            (AnsweredBy::Default, Some(text)) => format!("{question} → not answered; default: {text}"),
            (AnsweredBy::Default, None) => format!("{question} → not answered; the agent decides"),
        },
    }
}

/// What the agent works on, if there is more than one part.
fn aim(state: &LoopState) -> String {
    let Some(review) = &state.review else { return String::new() };
    match review.aim() {
        Aim::Section { .. } if state.accepts_features() => " on the next feature".to_owned(),
        Aim::Section { number } => format!(" on section {number} of {}", review.section_count()),
        Aim::Whole if review.section_count() > 1 || state.accepts_features() => " on everything".to_owned(),
        Aim::Whole => String::new(),
    }
}

/// What will happen, before it does.
pub fn plan(state: &LoopState, notes: &[String], style: Style) -> String {
    let mut text = format!("{}\n", style.bold(&format!("windlass · {}", state.name)));
    for (label, value) in plan_rows(state) {
        text.push_str(&style.field(label, 7, &value));
    }
    for note in notes {
        let _ = writeln!(text, "  {} {}", style.warn("note   "), fitted(note, 10, 10));
    }
    text
}

/// The cost in words, and whether it is an estimate.
pub fn cost(usage: &Usage) -> String {
    match (usage.cost_usd, usage.cost_basis) {
        (None, _) => "cost unknown".to_owned(),
        (Some(usd), CostBasis::ListPrice) => format!("${usd:.2} (list price)"),
        (Some(usd), CostBasis::Agent | CostBasis::Unknown) => format!("${usd:.2}"),
    }
}

pub fn usage(usage: &Usage) -> Option<String> {
    if usage.is_empty() {
        return None;
    }
    let cost = cost(usage);
    Some(format!(
        "{} tokens in, {} out, {} cached, {cost}",
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens + usage.cache_write_tokens
    ))
}

/// A line of the summary.
pub fn row(label: &str, value: &str, style: Style) -> String {
    style.field(label, 9, value)
}

/// How the loop ended, and how to get its work. `word` is the displayed status.
pub fn summary(state: &LoopState, word: &str, style: Style) -> String {
    let mut text = String::new();
    let headline = match &state.status() {
        Status::Ended { end: End::Completed } => completed(state, style),
        Status::Ended { end } => {
            let why = state.stop_reason().as_ref().map(reason).unwrap_or_default();
            style.bad(&format!("■ {}: {why}", end.name()))
        }
        Status::Paused { why } => style.warn(&format!("‖ {}: {}", state.status().name(), pause(why))),
        Status::Queued | Status::Running | Status::Waiting { .. } => style.warn(&format!("■ {word}: {}", doing(state))),
    };
    let _ = writeln!(text, "{}", fitted(&headline, 0, 2));
    let mut row = |label: &str, value: String| text.push_str(&self::row(label, &value, style));
    if state.status().is_ended()
        && let Some(line) = loop_log::result_line(state)
    {
        row("result", line);
    }
    let took = human(state.elapsed_ms);
    row("loop", format!("{}, {} in {took}", state.name, count(state.iteration, "iteration")));
    if let Some(parent) = &state.spec.parent {
        row("fork", fork_words(parent));
    }
    if let Some(used) = usage(&state.used().total()) {
        row("usage", used);
    }
    if state.claims.made > 0 {
        row("claims", format!("{}, {} refused", count(state.claims.made, "completion claim"), state.claims.refused));
    }
    if !matches!(state.status(), Status::Ended { end: End::Completed }) {
        rows_of_failing_gates(state, &mut row);
    }
    if let Some(gap) = hidden_gap(state) {
        row("hidden", style.warn(&gap));
    }
    let commits: Vec<_> = state.iterations.iter().filter(|record| record.checkpoint.created).collect();
    for record in &commits[commits.len().saturating_sub(10)..] {
        if let Some(commit) = &record.checkpoint.commit {
            row("commit", format!("{} iteration {}", short(commit), record.iteration));
        }
    }
    for file in state.held_back() {
        row("held back", one_line(file, 200));
    }
    for file in state.last_turn.iter().flat_map(|last| &last.report.put_back) {
        row("reverted", format!("{}: changed by the last turn", one_line(&file.path, 200)));
    }
    for note in state.iterations.last().iter().flat_map(|last| &last.checkpoint.notes).take(10) {
        row("note", one_line(note, 300));
    }
    row_review(state, &mut row);
    row_work(state, &mut row);
    if !state.denied_hosts.is_empty() {
        let hosts: Vec<&str> = state.denied_hosts.keys().map(String::as_str).collect();
        row("denied", format!("{} (allow hosts with network_hosts in the settings)", one_line(&hosts.join(", "), 200)));
    }
    row_residue(state, &mut row);
    if let Some(StopReason::AgentMissing { .. }) = &state.stop_reason() {
        row(
            "hint",
            "see installed agents with `windlass agents`; select another with --agent or --agent-command".to_owned(),
        );
    }
    if let Status::Paused { why: PauseReason::Auth { .. } } = &state.status() {
        row("log in", log_in(state));
    }
    match &state.status() {
        Status::Ended { end: End::Completed } => {}
        _ if word == "interrupted" => row("resume", format!("windlass resume {}", state.name)),
        Status::Paused { why: PauseReason::Review | PauseReason::Rejections { .. } } => {
            row("answer", format!("windlass approve {0}, or windlass reject {0} --reason \"…\"", state.name));
        }
        Status::Ended { end: End::Exhausted } => {
            let more = state.stop_reason().as_ref().and_then(raised).unwrap_or("--max-iterations +5");
            row("resume", format!("windlass resume {} {more}", state.name));
        }
        Status::Paused { why: PauseReason::Limit { limit } } => {
            let more = raised(limit).map(|more| format!(" {more}")).unwrap_or_default();
            row("resume", format!("windlass resume {}{more}", state.name));
        }
        Status::Ended { .. } | Status::Paused { .. } | Status::Queued | Status::Running | Status::Waiting { .. } => {
            row("resume", format!("windlass resume {}", state.name));
        }
    }
    text
}

/// The gates that fail on the last commit, with what Windlass knows of the cause.
fn rows_of_failing_gates(state: &LoopState, row: &mut impl FnMut(&str, String)) {
    const SHOWN: usize = 5;
    for gate in state.gates.values().filter(|gate| !gate.verdict.passed()).take(SHOWN) {
        let how = match (gate.verdict, gate.exit_code) {
            (Verdict::TimedOut, _) => "timed out".to_owned(),
            (Verdict::NotStarted, _) => "could not be started".to_owned(),
            (Verdict::Fail | Verdict::Pass, Some(code)) => format!("exit code {code}"),
            (Verdict::Fail | Verdict::Pass, None) => "killed by a signal".to_owned(),
        };
        let hidden = if gate.hidden { "hidden: " } else { "" };
        row("failing", format!("{hidden}{}: {how}", one_line(&gate.command, 120)));
        let own = gate.output_tail.lines().filter_map(|line| line.strip_prefix("[windlass: ")?.strip_suffix(']'));
        for hint in own.take(SHOWN) {
            row("hint", one_line(hint, 400));
        }
    }
}

/// Claims that passed the visible gates but failed a hidden one.
fn hidden_gap(state: &LoopState) -> Option<String> {
    match state.claims.failed_hidden {
        0 => None,
        1 => Some("1 claim passed the visible gates and failed a hidden one".to_owned()),
        claims => Some(format!("{claims} claims passed the visible gates and failed a hidden one")),
    }
}

/// Without a sandbox gates and reviewers could read and write everything that the user can.
const WITHOUT_SANDBOX: &str = "; sandbox off, so the result may depend on other files of this machine";

fn completed(state: &LoopState, style: Style) -> String {
    let unconfined = state.is_verified() && state.spec.sandbox.is_off();
    let outcome = outcome(state, style);
    if unconfined { outcome + &style.warn(WITHOUT_SANDBOX) } else { outcome }
}

fn outcome(state: &LoopState, style: Style) -> String {
    match state.outcome() {
        Some(Outcome::Verified) => style.good(match (state.spec.gates.is_empty(), &state.spec.review) {
            (false, None) => "✔ completed: verified, all gates passed on the recorded commit",
            (false, Some(_)) => {
                "✔ completed: verified, the reviewer approved and all gates passed on the recorded commit"
            }
            (true, _) => "✔ completed: verified, the reviewer approved the recorded commit (no gates configured)",
        }),
        Some(Outcome::CheckedInPlace) => style.warn("✔ completed: checked in place, not verified on a commit"),
        Some(Outcome::Unchanged) => style.warn("✔ completed: no changes"),
        Some(Outcome::RolledBack) => style.warn("✔ completed: then rolled back, not verified"),
        Some(Outcome::Claimed) | None => style.warn("✔ completed: claimed, not verified"),
    }
}

/// The command that logs the agent in.
fn log_in(state: &LoopState) -> String {
    let agent = state.agent(state.last_turn.as_ref().map_or(Role::Coder, |last| last.key.role));
    let facts = Facts::of(&agent.profile);
    match facts.login {
        Some(login) => format!("{login}, or set a valid API key ({})", facts.keys.join(", ")),
        None => format!("log in with `{}`, or set a valid API key", agent.display_name()),
    }
}

/// How many of the milestone's features are accepted; several rounds may have been about the same one, or have named none.
fn features(milestone: &Milestone, accepted: &[AcceptedFeature]) -> String {
    let named = |id: &str| accepted.iter().filter_map(|one| one.id.as_deref()).any(|one| one.eq_ignore_ascii_case(id));
    let done = milestone.features.iter().filter(|feature| feature.done || named(&feature.id)).count();
    let nameless = accepted.iter().filter(|one| one.id.as_deref().is_none_or(str::is_empty)).count();
    let rest = if nameless > 0 { format!("; {nameless} accepted without a feature ID") } else { String::new() };
    format!("{done} of {} accepted{rest}", milestone.features.len())
}

fn row_review(state: &LoopState, row: &mut impl FnMut(&str, String)) {
    let Some(review) = &state.review else { return };
    if review.section_count() > 1 {
        row("sections", format!("{} of {} done", review.finished().len(), review.section_count()));
    }
    if let Some(milestone) = state.spec.review.as_ref().and_then(|spec| spec.milestone.as_ref()) {
        row("features", features(milestone, review.accepted()));
    }
    let open = review.findings().open().count();
    let resolved = review.findings().all().len() - open;
    if open + resolved > 0 {
        row("findings", format!("{open} open, {resolved} resolved (windlass findings {})", state.name));
    }
    for reason in &review.reasons {
        row("rejected", one_line(reason, 200));
    }
    for question in &review.questions {
        row("question", one_line(&question.question, 200));
    }
    if let Some(record) = &review.post_action {
        match record.undone_for.as_slice() {
            [] if record.summary.trim().is_empty() => {}
            [] => row("summary", one_line(&record.summary, 400)),
            failing => row("reverted", format!("the post-action, because gates failed: {}", failing.join(", "))),
        }
    }
}

/// What the loop left behind, or that it left nothing.
fn row_residue(state: &LoopState, row: &mut impl FnMut(&str, String)) {
    let Some(certificate) = &state.residue else { return };
    if certificate.is_clean() {
        row("clean-up", "nothing left behind".to_owned());
    }
    for left in &certificate.left {
        row("left over", format!("{} {} (fix: {})", left.kind.name(), one_line(&left.what, 200), left.fix));
    }
}

/// The flag that raises the limit that a loop reached.
fn raised(limit: &StopReason) -> Option<&'static str> {
    match limit {
        StopReason::MaxIterations { .. } => Some("--max-iterations +5"),
        StopReason::Duration { .. } => Some("--duration +30m"),
        StopReason::Budget { .. } => Some("--budget-usd +5"),
        StopReason::Tokens { .. } => Some("--max-tokens +100000"),
        StopReason::Completed
        | StopReason::GatesFailed { .. }
        | StopReason::HeldBack { .. }
        | StopReason::Cancelled
        | StopReason::Stall { .. }
        | StopReason::NoProgress { .. }
        | StopReason::AgentFailed { .. }
        | StopReason::AgentMissing { .. }
        | StopReason::ProviderLimit { .. }
        | StopReason::ErrorMaxRetries { .. }
        | StopReason::WorkspaceMissing { .. }
        | StopReason::CutOff { .. }
        | StopReason::SetupFailed { .. } => None,
    }
}

fn row_work(state: &LoopState, row: &mut impl FnMut(&str, String)) {
    let Some(workspace) = &state.workspace else { return };
    let (Some(base), Some(head)) = (&workspace.base_commit, &workspace.head_commit) else { return };
    if base == head {
        row("workspace", workspace.dir.clone());
        return;
    }
    match (&workspace.branch, state.spec.workspace.kind) {
        (Some(branch), WorkspaceKind::Clone) => {
            row("review", format!("windlass diff {0}, or git diff {1}..{branch}", state.name, short(base)));
            match &state.merged {
                Some(merge) => row("merged", format!("into {} at {}", merge.target, short(&merge.commit))),
                None => row("merge", format!("windlass merge {0}, or git merge {branch}", state.name)),
            }
            if let Some(refused) = &state.merge_refused {
                row("last merge", one_line(&refused.to_string(), 300));
            }
            row("workspace", workspace.dir.clone());
        }
        _ => row("review", format!("git diff {}..{}", short(base), short(head))),
    }
}
