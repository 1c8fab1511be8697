//! A log file for each loop, in fixed words that people grep for and follow with `tail -f`.
//!
//! Best effort: the journal is what counts, so a log that cannot be written costs nothing but the log.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;
use windlass_core::agent::TurnOutcome;
use windlass_core::ids::LoopId;
use windlass_core::machine::{CheckpointReport, Event, GateOn, Interrupt, LoopState, Opinion, ReviewEvent, evolve};
use windlass_core::spec::Done;

use crate::data::{DataDir, private_dir};

const LONGEST: usize = 300;

/// Appends what the events mean. `state` is the loop before them.
pub(crate) fn append(data: &DataDir, state: &LoopState, at: Timestamp, events: &[Event]) {
    let clock = at.strftime("%H:%M:%S");
    let mut text = String::new();
    // What a loop came to includes what the same decision said before its end.
    let folds = events.iter().any(|event| matches!(event, Event::LoopStopped { .. }));
    let mut now = Cow::Borrowed(state);
    for event in events {
        for line in lines(&now, event) {
            let _ = writeln!(text, "[{clock}] {line}");
        }
        if folds {
            now = Cow::Owned(evolve(now.into_owned(), at, event));
        }
    }
    write(data, &state.name, &state.id, &text);
}

/// Appends one line of the engine's own, about what is no event.
pub(crate) fn note(data: &DataDir, name: &str, id: &LoopId, at: Timestamp, line: &str) {
    write(data, name, id, &format!("[{}] {}\n", at.strftime("%H:%M:%S"), one_line(line)));
}

fn write(data: &DataDir, name: &str, id: &LoopId, text: &str) {
    if text.is_empty() {
        return;
    }
    let path = data.loop_log(name, id);
    let written = path.parent().map_or(Ok(()), private_dir).and_then(|()| {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())
    });
    if let Err(error) = written {
        tracing::debug!(path = %path.display(), %error, "cannot write the loop's log");
    }
}

fn lines(state: &LoopState, event: &Event) -> Vec<String> {
    match event {
        Event::LoopOpened { .. } => vec![format!("Loop {}: {}", state.name, condition(state))],
        Event::IterationStarted { iteration } => vec![format!("Iteration {iteration}: Starting...")],
        Event::TurnEnded { turn, report, .. } => match &report.outcome {
            TurnOutcome::Failed { message, .. }
            | TurnOutcome::NotStarted { message, .. }
            | TurnOutcome::RateLimited { message, .. } => {
                vec![format!("Iteration {}: {}", turn.iteration, one_line(message))]
            }
            TurnOutcome::NotTried { trouble, .. } => {
                vec![format!("Iteration {}: could not run: {}", turn.iteration, one_line(&trouble.to_string()))]
            }
            TurnOutcome::Finished | TurnOutcome::Interrupted | TurnOutcome::CutOff => Vec::new(),
        },
        Event::Summarised { summary, .. } => summary.problem.iter().map(|problem| one_line(problem)).collect(),
        Event::Checkpointed { turn, checkpoint, .. } => checkpointed(state, turn.iteration, checkpoint),
        Event::GateEnded { gate, report, .. } => {
            let verdict = if report.verdict.passed() { "passed" } else { "failed" };
            let on = if gate.on == GateOn::Base { " on the base commit" } else { "" };
            let gate = if report.hidden { "Hidden gate" } else { "Gate" };
            vec![format!("{gate} {verdict}{on}: {}", one_line(&report.command))]
        }
        Event::WaitStarted { until, why } => {
            vec![format!("Waiting until {}: {}", until.strftime("%H:%M:%S"), one_line(&why.to_string()))]
        }
        Event::Minimised { smaller } => {
            vec![format!("Kept {} of {} hunks in {}", smaller.kept, smaller.hunks, one_line(&smaller.commit))]
        }
        Event::Merged { merge } => vec![format!("Merged into {}", one_line(&merge.target))],
        Event::MergeRefused { refused } => vec![format!("Not merged into {}", one_line(&refused.target))],
        Event::RolledBack { to_iteration, .. } => vec![format!("Rolled back to iteration {to_iteration}")],
        Event::LoopStopped { stop_reason, .. } => {
            let mut lines = vec![format!("Loop stopped: {}", stop_reason.name())];
            lines.extend(result_line(state));
            lines
        }
        Event::LoopPaused { .. } => vec!["Loop paused".to_owned()],
        Event::LoopMoved { to, .. } => {
            vec![format!("Workspace missing on {}; continuing from the last commit", one_line(to))]
        }
        Event::NetworkDenied { host, count: 1, .. } => vec![format!("Network denied: {}", one_line(host))],
        Event::ResidueChecked { left } => {
            left.iter().map(|left| format!("Left behind: {} {}", left.kind.name(), one_line(&left.what))).collect()
        }
        Event::AgentChanged { role, from, to, why, .. } => {
            vec![format!("Switched {role} from {from} to {to}: {}", one_line(why))]
        }
        Event::Review(event) => review_lines(event),
        Event::LoopCreated { .. }
        | Event::DriverAttached { .. }
        | Event::LoopQueued { .. }
        | Event::QueueLeft { .. }
        | Event::NotTried { .. }
        | Event::NetworkDenied { .. }
        | Event::PhaseEntered { .. }
        | Event::WorkspaceOpened { .. }
        | Event::TurnStarted { .. }
        | Event::SessionFound { .. }
        | Event::UsageReported { .. }
        | Event::TurnInterrupted { .. }
        | Event::SessionLost { .. }
        | Event::WorkspaceSetUp
        | Event::IterationJudged { .. }
        | Event::ClaimRefused { .. }
        | Event::ProgressStalled { .. }
        | Event::WaitEnded
        | Event::PauseRequested { .. }
        | Event::StopRequested
        | Event::SteeringQueued { .. } => Vec::new(),
        Event::QuestionAsked { id, question, .. } => vec![format!("Question {id}: {question}")],
        Event::QuestionAnswered { id, by, answer, .. } => {
            let answer = answer.as_deref().unwrap_or("no answer; the agent decides");
            vec![format!("Answer to {id} ({}): {answer}", by.name())]
        }
    }
}

/// Log lines for review events.
fn review_lines(event: &ReviewEvent) -> Vec<String> {
    match event {
        ReviewEvent::Planned { plan } => vec![format!("Plan: {} sections", plan.count())],
        ReviewEvent::FindingWritten { finding, .. } => {
            vec![format!(
                "Finding {} [{}] {}: {}",
                finding.id,
                finding.severity,
                finding.place(),
                one_line(&finding.description)
            )]
        }
        ReviewEvent::FindingResolved { id, .. } => vec![format!("Finding {id} resolved")],
        ReviewEvent::Reviewed { ruling, .. } => vec![match ruling {
            Opinion::Clean { .. } => "Review: clean".to_owned(),
            Opinion::Accepted => "Review: accepted".to_owned(),
            Opinion::Dirty { open } => format!("Review: open findings: {}", open.join(", ")),
            Opinion::Rejected { reason } => format!("Review: rejected: {}", one_line(reason)),
        }],
        ReviewEvent::RejectedUnseen { reason, .. } => vec![format!("Counted as a rejection: {}", one_line(reason))],
        ReviewEvent::AnswerUnreadable { turn, why } => {
            vec![format!("Invalid answer from the {}: {}", turn.role, one_line(why))]
        }
        ReviewEvent::SectionFinished { section, title, .. } => {
            vec![format!("Section {section} done: {}", one_line(title))]
        }
        ReviewEvent::PersonRuled { approved, reason } => {
            let word = if *approved { "Approved" } else { "Rejected" };
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {}", one_line(reason)));
            vec![format!("{word} by a user{reason}")]
        }
        ReviewEvent::PostActionEnded { .. } => vec!["Post-action finished".to_owned()],
        ReviewEvent::PostActionRefused { failing } => {
            vec![format!("Post-action reverted: {} failed", failing.join(", "))]
        }
        ReviewEvent::MilestoneAmended { .. }
        | ReviewEvent::AimChanged { .. }
        | ReviewEvent::PlanAdjusted { .. }
        | ReviewEvent::VerdictGiven { .. }
        | ReviewEvent::Reported { .. }
        | ReviewEvent::DecisionsTold { .. }
        | ReviewEvent::QuestionDeferred { .. }
        | ReviewEvent::ReviewSkipped { .. }
        | ReviewEvent::PostActionUndone { .. } => Vec::new(),
    }
}

fn checkpointed(state: &LoopState, iteration: u32, checkpoint: &CheckpointReport) -> Vec<String> {
    let last = state.last_turn.as_ref();
    let words = state.summary().map(|said| said.summary.as_str());
    let words = words.or(last.map(|last| last.report.last_words.as_str())).unwrap_or_default();
    let words = if words.trim().is_empty() { "No significant actions in this iteration." } else { words };
    let mut lines = vec![format!("Iteration {iteration} summary: {}", one_line(words))];
    if checkpoint.files_changed > 0
        && let Some(commit) = &checkpoint.commit
    {
        lines.push(format!("Committed: {}", commit.chars().take(7).collect::<String>()));
    }
    let this = last.is_some_and(|last| last.report.outcome.is_finished());
    let succeeded = state.iterations.iter().filter(|record| record.success).count() + usize::from(this);
    let failed = state.iterations.len() + 1 - succeeded;
    lines.push(format!("=== Iteration {iteration} complete: {succeeded} succeeded, {failed} failed ==="));
    lines
}

fn condition(state: &LoopState) -> String {
    match &state.spec.done {
        Done::Count { iterations } => format!("{iterations} iterations"),
        Done::Duration { ms } => windlass_core::duration::human(*ms),
        Done::Promise { .. } => "until the completion promise".to_owned(),
        Done::Gates => "one turn, then the gates".to_owned(),
        Done::Review => "until the reviewer approves".to_owned(),
    }
}

/// What came of a loop that works so many times or so long: `5/5 attempted, 4 succeeded, 1 failed`.
pub fn result_line(state: &LoopState) -> Option<String> {
    let of = match &state.spec.done {
        Done::Count { iterations } => format!("/{iterations}"),
        Done::Duration { .. } => String::new(),
        Done::Promise { .. } | Done::Gates | Done::Review => return None,
    };
    let succeeded = state.iterations.iter().filter(|record| record.success).count();
    // A turn that the clock ended did not fail.
    let timed_out = state.iterations.last().is_some_and(|record| {
        !record.success
            && state
                .last_turn
                .as_ref()
                .is_some_and(|last| last.key == record.turn && matches!(last.interrupt, Some(Interrupt::Limit { .. })))
    });
    let failed = state.iterations.len() - succeeded - usize::from(timed_out);
    let mut line =
        format!("Loop execution complete: {}{of} attempted, {succeeded} succeeded, {failed} failed", state.iteration);
    if timed_out {
        line.push_str(", 1 ended by the time limit");
    }
    Some(line)
}

fn one_line(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.chars().count() <= LONGEST { line } else { line.chars().take(LONGEST).chain(['…']).collect() }
}
