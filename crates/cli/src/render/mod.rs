//! The feed in words: what the agent says, what it does, what the gates say.

mod clock;
mod hints;
mod review;
mod shown_errors;
mod tools;

use jiff::Timestamp;
use windlass_agents::plain_text;
use windlass_core::agent::{AgentEvent, TurnOutcome, TurnReport};
use windlass_core::duration::human;
use windlass_core::ids::Role;
use windlass_core::machine::{
    AnsweredBy, CheckpointReport, Event, GateOn, GateReport, Interrupt, MergedTarget, Opener, Phase, RefusedBecause,
    SessionUse, Smaller, StallStep, Verdict,
};
use windlass_core::stop::{PauseReason, StopReason};
use windlass_engine::environment::Variables;
use windlass_engine::feed::{FeedBody, FeedItem};

use crate::style::{Style, folded, one_line, safe, short, terminal};

pub use clock::{clock_time, left};
use hints::Hints;
pub use review::finding_line;
use shown_errors::Errors;

/// Turns feed items into lines. It keeps the part of a line that has not ended yet.
#[derive(Debug)]
pub struct Renderer {
    style: Style,
    max_iterations: Option<u32>,
    pending: String,
    fresh_told: bool,
    /// What gates judge before the first turn.
    first_judged: &'static str,
    hints: Hints,
    /// The workspace, which paths are shown relative to.
    workspace: String,
    errors: Errors,
    /// The width of the terminal, if there is one.
    width: Option<usize>,
}

const LONGEST_LINE: usize = 4_000;

impl Renderer {
    pub fn new(style: Style) -> Self {
        Self {
            style,
            max_iterations: None,
            pending: String::new(),
            fresh_told: false,
            first_judged: "the base commit",
            hints: Hints::default(),
            workspace: String::new(),
            errors: Errors::default(),
            width: terminal(),
        }
    }

    /// Adds hints about variables of this environment that gates do not get.
    #[must_use]
    pub fn in_environment(mut self, env: Variables) -> Self {
        self.hints = Hints::of(env);
        self
    }

    /// The lines for an item, each with its end.
    pub fn render(&mut self, item: &FeedItem) -> String {
        match &item.body {
            FeedBody::Journal(event) => {
                let mut text = self.flush();
                let said = self.event(event, item.at);
                text.push_str(&self.width.map_or_else(|| said.clone(), |width| fold_own(&said, width)));
                text
            }
            FeedBody::Live { event, .. } => self.live(event),
            FeedBody::Stderr { text, .. } => {
                let text = self.errors.without_traces(text);
                self.lines(&text, |style, line| style.dim(&format!("  ! {line}")))
            }
            FeedBody::Skipped { bytes, .. } => {
                let note = format!("  … {} of output not shown; see `windlass logs --raw`", size(*bytes));
                format!("{}{}\n", self.flush(), self.style.dim(&note))
            }
        }
    }

    fn live(&mut self, event: &AgentEvent) -> String {
        let style = self.style;
        match event {
            AgentEvent::Text { text } => self.said(text),
            AgentEvent::Thinking { text } => self.lines(text, |style, line| style.dim(&format!("  ~ {line}"))),
            AgentEvent::ToolUse { name, input, .. } => {
                let shown = format!("  ▸ {}", tools::call(name, input, &self.workspace));
                format!("{}{}\n", self.flush(), style.accent(&shown))
            }
            AgentEvent::ToolResult { output, is_error, .. } => {
                let mark = if *is_error { "✗" } else { "◂" };
                let shown = tools::result(output, *is_error, &self.workspace);
                format!("{}{}\n", self.flush(), style.dim(&format!("    {mark} {shown}")))
            }
            AgentEvent::Error { message, .. } | AgentEvent::Result { is_error: true, text: message } => {
                match self.errors.is_new(message) {
                    true => format!("{}{}\n", self.flush(), style.bad(&format!("  error: {}", one_line(message, 300)))),
                    false => self.flush(),
                }
            }
            AgentEvent::Raw { line } => self.lines(line, |style, line| style.dim(&format!("    {line}"))),
            AgentEvent::Session { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Account { .. }
            | AgentEvent::Result { .. } => String::new(),
        }
    }

    /// Assistant text, whole lines at once; a line that does not end is shown in parts.
    fn said(&mut self, text: &str) -> String {
        self.pending.push_str(&safe(text));
        let mut shown = String::new();
        while let Some(end) = self.pending.find('\n') {
            let line: String = self.pending.drain(..=end).collect();
            shown.push_str(&format!("  {}\n", clipped(line.trim_end())));
        }
        if self.pending.len() > LONGEST_LINE {
            shown.push_str(&self.flush());
        }
        shown
    }

    fn flush(&mut self) -> String {
        if self.pending.is_empty() {
            return String::new();
        }
        let line = std::mem::take(&mut self.pending);
        format!("  {}\n", clipped(line.trim_end()))
    }

    fn lines(&mut self, text: &str, paint: impl Fn(Style, &str) -> String) -> String {
        let mut shown = self.flush();
        for line in safe(text).lines().filter(|line| !line.trim().is_empty()) {
            shown.push_str(&paint(self.style, &clipped(line)));
            shown.push('\n');
        }
        shown
    }

    fn event(&mut self, event: &Event, at: Timestamp) -> String {
        let style = self.style;
        let line = match event {
            Event::LoopCreated { spec, .. } => {
                self.max_iterations = spec.limits.max_iterations;
                self.hints.begin(&spec.env_pass);
                return String::new();
            }
            Event::LoopOpened { by, raise, .. } => {
                if raise.max_iterations > 0 {
                    self.max_iterations = self.max_iterations.map(|max| max + raise.max_iterations);
                }
                match by {
                    Opener::Start => return String::new(),
                    Opener::Resume => style.bold("resumed"),
                    Opener::Restart => style.bold("restarted with a new agent session"),
                    Opener::Continue => style.bold("continued"),
                }
            }
            Event::DriverAttached { .. } => style.dim("resuming where it stopped"),
            Event::LoopMoved { from, to } => {
                let from = from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default();
                style.warn(&format!(
                    "moved{from} to {to}, where its workspace is missing; continuing from the last commit"
                ))
            }
            Event::WorkspaceOpened { opening } => {
                self.workspace.clone_from(&opening.dir);
                let mut notes: Vec<String> =
                    opening.notes.iter().map(|note| style.warn(&format!("note: {note}"))).collect();
                if let Some(saved) = &opening.saved {
                    let whose = if opening.target.is_some() {
                        "uncommitted changes"
                    } else {
                        "changes of the interrupted turn"
                    };
                    notes.push(style.warn(&format!("saved the {whose} at {saved}")));
                }
                if let Some(target) = opening.target.as_ref().filter(|target| target.news) {
                    self.first_judged = "the merge";
                    notes.push(self.merged(target));
                }
                notes.join("\n")
            }
            Event::IterationStarted { iteration } => {
                let of = self.max_iterations.map_or(String::new(), |max| format!(" of {max}"));
                style.bold(&format!("▶ iteration {iteration}{of}"))
            }
            Event::TurnStarted { turn, session, .. } => {
                self.errors.begin_turn();
                let again = if turn.attempt > 1 && turn.role == Role::Coder {
                    format!("  attempt {}", turn.attempt)
                } else {
                    String::new()
                };
                let fresh = match session {
                    // Show it once; the journal has it for every turn.
                    SessionUse::FreshInstead if !std::mem::replace(&mut self.fresh_told, true) => {
                        "  (the agent reported no session ID, so each turn starts a new session)"
                    }
                    SessionUse::FreshInstead | SessionUse::Fresh | SessionUse::Resume { .. } => "",
                };
                style.dim(&format!("{again}{fresh}"))
            }
            Event::TurnInterrupted { why, .. } => style.warn(&format!("  stopping the turn: {}", interrupt(why))),
            Event::TurnEnded { report, .. } => return self.turn_ended(report),
            Event::SessionLost { message, .. } => {
                style.warn(&format!("  the agent's session is lost ({}); starting a new one", one_line(message, 120)))
            }
            Event::Checkpointed { checkpoint, .. } => self.checkpointed(checkpoint),
            Event::PhaseEntered { phase: Phase::Gates, .. } => style.dim("  running gates …"),
            Event::PhaseEntered { phase: Phase::Baseline, .. } => {
                style.dim(&format!("running gates on {} …", self.first_judged))
            }
            Event::PhaseEntered { phase: Phase::Setup, .. } => style.dim("setting up the workspace …"),
            Event::Summarised { summary, .. } => match &summary.problem {
                Some(problem) => style.warn(&format!("  {}", one_line(problem, 300))),
                None => style.dim(&format!("  summary: {}", one_line(&summary.summary, 300))),
            },
            Event::GateEnded { gate, report, .. } if gate.on == GateOn::Base => {
                format!("{}{}", self.baseline(gate.attempt, report), self.hint(report))
            }
            Event::GateEnded { gate, report, .. } => {
                let again = if gate.attempt > 1 {
                    style.dim(&format!("  run {} of a flaky gate\n", gate.attempt))
                } else {
                    String::new()
                };
                format!("{again}{}{}", self.gate(report), self.hint(report))
            }
            Event::ClaimRefused { because, .. } => match because {
                RefusedBecause::HeldBack { .. } => style.warn("  claim refused: some files are held back"),
                RefusedBecause::Gates { failing } => {
                    let gates = if failing.len() == 1 { "gate" } else { "gates" };
                    style.warn(&format!("  claim refused: {} {gates} failed", failing.len()))
                }
                RefusedBecause::SteeringPending => style.warn("  claim refused: the agent has not read a message yet"),
            },
            Event::ProgressStalled { iterations, step } => {
                let what = match step {
                    StallStep::Nudge => "nudging the agent",
                    StallStep::FreshSession => "starting a new agent session",
                    StallStep::Stop => "stopping",
                };
                style.warn(&format!("  no progress for {iterations} iterations: {what}"))
            }
            Event::WaitStarted { until, why } => {
                let time = clock_time(*until, at);
                style.warn(&format!(
                    "  waiting until {time} ({}): {}",
                    left(*until, at),
                    one_line(&why.to_string(), 200)
                ))
            }
            Event::LoopQueued { max_running } => {
                style.warn(&format!("queued: {max_running} of {max_running} loops are running"))
            }
            Event::PauseRequested { .. } => style.warn("  pause requested"),
            Event::LoopPaused { why } => style.warn(&format!("paused: {}", pause(why))),
            Event::StopRequested => style.warn("  stop requested"),
            Event::SteeringQueued { text, .. } => {
                style.accent(&format!("  message for the next turn: {}", one_line(text, 200)))
            }
            Event::QuestionAsked { id, question, default, until, .. } => {
                let default =
                    default.as_ref().map_or(String::new(), |default| format!(" (default: {})", one_line(default, 100)));
                let until =
                    until.map_or(String::new(), |until| format!("; answer until {}", until.strftime("%H:%M:%S UTC")));
                style.warn(&format!("  question {id}: {}{default}{until}", one_line(question, 200)))
            }
            Event::QuestionAnswered { id, by: AnsweredBy::Person, answer, .. } => {
                style.accent(&format!("  answer to {id}: {}", one_line(answer.as_deref().unwrap_or_default(), 200)))
            }
            Event::QuestionAnswered { id, by: AnsweredBy::Default, answer, .. } => style.dim(&match answer {
                Some(default) => format!("  {id} not answered; default taken: {}", one_line(default, 200)),
                None => format!("  {id} not answered; the agent decides"),
            }),
            Event::RolledBack { to_iteration, commit, saved, .. } => {
                let place =
                    if *to_iteration == 0 { "the base commit".to_owned() } else { format!("iteration {to_iteration}") };
                let kept = saved.as_ref().map_or(String::new(), |saved| format!("; the undone work is at {saved}"));
                style.warn(&format!("rolled back to {place} ({}){kept}", short(commit)))
            }
            Event::Minimised { smaller } => {
                let Smaller { commit, kept, hunks, .. } = smaller;
                style.good(&format!("minimised to {kept} of {hunks} hunks ({})", short(commit)))
            }
            Event::Merged { merge } => style.good(&format!("merged into {} ({})", merge.target, short(&merge.commit))),
            Event::MergeRefused { refused } => style.bad(&one_line(&refused.to_string(), 300)),
            Event::PhaseEntered { phase: Phase::Review, .. } => style.dim("  reviewing …"),
            Event::PhaseEntered { phase: Phase::Plan, .. } => style.dim("writing the plan …"),
            Event::PhaseEntered { phase: Phase::PostAction, .. } => style.dim("  post-action …"),
            Event::Review(event) => review::event(event, style),
            Event::AgentChanged { role, from, to, why, .. } => {
                style.warn(&format!("  switched {role} from {from} to {to}: {}", one_line(why, 200)))
            }
            Event::NetworkDenied { host, why, count: 1 } => {
                style.warn(&format!("  network access to {} denied: {why}", one_line(host, 200)))
            }
            Event::NetworkDenied { .. }
            | Event::SessionFound { .. }
            | Event::UsageReported { .. }
            | Event::AccountReported { .. }
            | Event::WorkspaceSetUp
            | Event::PhaseEntered { .. }
            | Event::IterationJudged { .. }
            | Event::WaitEnded
            | Event::QueueLeft { .. }
            | Event::NotTried { .. }
            | Event::ResidueChecked { .. }
            | Event::LoopStopped { .. } => return String::new(),
        };
        if line.trim().is_empty() { String::new() } else { format!("{line}\n") }
    }

    fn turn_ended(&mut self, report: &TurnReport) -> String {
        let style = self.style;
        let took = human(report.duration_ms);
        let line = match &report.outcome {
            TurnOutcome::Finished if report.claim => format!("  agent claims to be done ({took})"),
            TurnOutcome::Finished => style.dim(&format!("  turn ended ({took})")),
            TurnOutcome::Failed { message, .. } if self.errors.is_new(message) => {
                style.bad(&format!("  turn failed: {}", one_line(message, 400)))
            }
            TurnOutcome::Failed { .. } => style.bad(&format!("  turn failed ({took})")),
            TurnOutcome::RateLimited { message, .. } => {
                style.warn(&format!("  rate limit: {}", one_line(message, 200)))
            }
            TurnOutcome::NotStarted { message, .. } => {
                style.bad(&format!("  cannot start the agent: {}", one_line(message, 400)))
            }
            TurnOutcome::Interrupted => style.warn("  turn interrupted"),
            TurnOutcome::CutOff => style.warn("  turn cut off"),
            TurnOutcome::NotTried { trouble, .. } => {
                style.warn(&format!("  Windlass could not run the turn ({})", one_line(&trouble.to_string(), 300)))
            }
        };
        let (of_git, files) = report.put_back.iter().partition::<Vec<_>, _>(|file| is_of_git(&file.path));
        let changed: String =
            [(of_git, "reverted changes to git's own files"), (files, "reverted changes of a read-only role")]
                .into_iter()
                .filter(|(files, _)| !files.is_empty())
                .map(|(files, said)| {
                    let names: Vec<&str> = files.iter().take(5).map(|file| file.path.as_str()).collect();
                    style.warn(&format!("\n  {said}: {}", names.join(", ")))
                })
                .collect();
        // A failed turn already reports its limits.
        let survived = report.outcome.is_finished();
        let hits = report.limits_hit.iter().filter(|_| survived).map(|hit| format!("\n  {}", hit.words("the agent's")));
        let hits: String = hits.map(|note| style.warn(&note)).collect();
        format!("{line}{changed}{hits}\n")
    }

    fn checkpointed(&self, checkpoint: &CheckpointReport) -> String {
        let style = self.style;
        let files = match checkpoint.files_changed {
            1 => "1 file".to_owned(),
            count => format!("{count} files"),
        };
        let mut lines = match &checkpoint.commit {
            Some(commit) if checkpoint.files_changed > 0 => {
                style.dim(&format!("  checkpoint {}: {files}", short(commit)))
            }
            Some(_) => style.dim("  no files changed"),
            None => style.dim(&format!("  {files} changed, not committed")),
        };
        if !checkpoint.restored.is_empty() {
            let files: Vec<&str> = checkpoint.restored.iter().take(5).map(|file| file.path.as_str()).collect();
            lines.push_str(&style.warn(&format!("\n  restored protected files: {}", files.join(", "))));
        }
        for file in &checkpoint.held_back {
            lines.push_str(&style.bad(&format!("\n  held back: {}", one_line(file, 200))));
        }
        for note in &checkpoint.notes {
            lines.push_str(&style.warn(&format!("\n  note: {}", one_line(note, 300))));
        }
        lines
    }

    /// The target on the branch of a continued loop.
    fn merged(&self, target: &MergedTarget) -> String {
        let style = self.style;
        let mut text =
            style.dim(&format!("merged {} ({}) into the loop's branch", target.branch, short(&target.commit)));
        for file in target.conflicts.iter().take(20) {
            text.push_str(&style.warn(&format!("\n  conflict in {}; the agent will resolve it", one_line(file, 200))));
        }
        text
    }

    /// A verdict on the base: what fails already is news, what passes is expected.
    fn baseline(&self, attempt: u32, report: &GateReport) -> String {
        let style = self.style;
        let command = format!("{}{}", if report.hidden { "hidden: " } else { "" }, one_line(&report.command, 120));
        match (report.verdict.passed(), attempt) {
            (true, 1) => style.dim(&format!("  ✓ {command} passes on {}", self.first_judged)),
            (false, 1) => {
                style.dim(&format!("  ✗ {command} fails on {}; retrying to detect flakiness", self.first_judged))
            }
            (true, _) => style.warn(&format!(
                "  ! {command} is flaky: it failed and passed on the same files; Windlass will run it up to 3 times"
            )),
            (false, _) => {
                let tail = self.last_lines(report);
                style.warn(&format!("  ! {command} already fails on {}", self.first_judged)) + &tail
            }
        }
    }

    fn hint(&mut self, report: &GateReport) -> String {
        let hint = self.hints.after(report);
        hint.map_or(String::new(), |hint| self.style.dim(&format!("\n    hint: {hint}")))
    }

    /// The end of what a gate printed.
    fn last_lines(&self, report: &GateReport) -> String {
        const SHOWN: usize = 8;
        // npm advertises its next version below every failure.
        let news = |line: &&str| !line.trim().is_empty() && !line.starts_with("npm notice");
        let output: Vec<&str> = report.output_tail.lines().filter(news).collect();
        let last = &output[output.len().saturating_sub(SHOWN)..];
        last.iter().map(|line| self.style.dim(&format!("\n{QUOTE}{}", clipped(&safe(line))))).collect()
    }

    fn gate(&self, report: &GateReport) -> String {
        let style = self.style;
        let took = human(report.duration_ms);
        let command = one_line(&report.command, 120);
        let gate = if report.hidden { "hidden gate" } else { "gate" };
        let mut lines = match report.verdict {
            Verdict::Pass => style.good(&format!("  ✓ {gate} {command} ({took})")),
            Verdict::Fail => {
                let how = report.exit_code.map_or("killed by a signal".to_owned(), |code| format!("exit code {code}"));
                style.bad(&format!("  ✗ {gate} {command}: {how} ({took})"))
            }
            Verdict::TimedOut => style.bad(&format!("  ✗ {gate} {command}: timed out after {took}")),
            Verdict::NotStarted => style.bad(&format!("  ✗ {gate} {command}: could not be started")),
        };
        if !report.verdict.passed() {
            lines.push_str(&self.last_lines(report));
        }
        if !report.changed.is_empty() {
            let files: Vec<&str> = report.changed.iter().take(5).map(|file| file.path.as_str()).collect();
            lines.push_str(&style.warn(&format!("\n    reverted files that the gate changed: {}", files.join(", "))));
        }
        lines
    }
}

/// What a gate printed, as it is quoted below its verdict.
const QUOTE: &str = "      ";

/// Fits Windlass's own lines to the terminal; quoted output keeps its lines.
fn fold_own(text: &str, width: usize) -> String {
    let fold = |line: &str| if plain_text(line).starts_with(QUOTE) { line.to_owned() } else { folded(line, width) };
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

fn clipped(line: &str) -> String {
    const SHOWN: usize = 2_000;
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} more bytes)", &line[..end], line.len() - end),
        None => line.to_owned(),
    }
}

fn interrupt(why: &Interrupt) -> String {
    match why {
        Interrupt::Stop => "stop".to_owned(),
        Interrupt::Pause => "pause".to_owned(),
        Interrupt::Shutdown => "interrupted".to_owned(),
        Interrupt::Stall => "no output for too long".to_owned(),
        Interrupt::Steer => "new message".to_owned(),
        Interrupt::TurnTimeout => "turn timeout".to_owned(),
        Interrupt::Limit { limit } => reason(limit),
        Interrupt::Disk { message } => one_line(message, 400),
    }
}

pub fn pause(why: &PauseReason) -> String {
    match why {
        PauseReason::Person => "paused by a user".to_owned(),
        PauseReason::Limit { limit } => reason(limit),
        PauseReason::Disk { message } => one_line(message, 400),
        PauseReason::ProviderLimit { message } => {
            format!("provider limit reached: {}", one_line(message, 400))
        }
        PauseReason::Auth { message } => format!("the agent is not logged in: {}", one_line(message, 200)),
        PauseReason::Infrastructure { step, trouble } => {
            format!("{step} could not run ({})", one_line(&trouble.to_string(), 400))
        }
        PauseReason::Reviewer { role, agent, message } => {
            format!("no verdict from the {role} ({agent}): {}", one_line(message, 300))
        }
        PauseReason::Review => "reviewer approved; your approval is required".to_owned(),
        PauseReason::Rejections { reasons } => {
            let last = reasons.last().map(|reason| one_line(reason, 200)).unwrap_or_default();
            format!("rejected {} times in a row; last reason: {last}", reasons.len())
        }
    }
}

/// A stop reason in words.
pub fn reason(reason: &StopReason) -> String {
    match reason {
        StopReason::Completed => "the work is done".to_owned(),
        StopReason::MaxIterations { max: 1 } => "reached the limit of 1 iteration".to_owned(),
        StopReason::MaxIterations { max } => format!("reached the limit of {max} iterations"),
        StopReason::Duration { limit_ms } => format!("reached the time limit of {}", human(*limit_ms)),
        StopReason::Budget { limit_usd, spent_usd } => {
            format!("reached the budget of ${limit_usd:.2} (${spent_usd:.2} spent)")
        }
        StopReason::Tokens { limit, used } => format!("reached the limit of {limit} tokens ({used} used)"),
        StopReason::GatesFailed { gates } => format!("{} gates still fail", gates.len()),
        StopReason::HeldBack { files } => {
            format!("some files are held back: {}", one_line(&files.join(", "), 400))
        }
        StopReason::Cancelled => "stopped by a user".to_owned(),
        StopReason::Stall { stalls } => format!("the agent stalled {stalls} times in a row"),
        StopReason::NoProgress { iterations } => {
            format!("no changes in {iterations} consecutive iterations")
        }
        StopReason::AgentFailed { message } => format!("the agent failed: {}", one_line(message, 400)),
        StopReason::AgentMissing { message } => format!("cannot start the agent: {}", one_line(message, 400)),
        StopReason::ProviderLimit { message } => format!("the provider refused: {}", one_line(message, 400)),
        StopReason::ErrorMaxRetries { message } => format!("too many failures in a row: {}", one_line(message, 400)),
        StopReason::WorkspaceMissing { message } => format!("the workspace is missing: {}", one_line(message, 400)),
        StopReason::CutOff { times } => format!("the turn was cut off {times} times in a row"),
        StopReason::SetupFailed { message } => format!("the set-up failed: {}", one_line(message, 400)),
    }
}

pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{} KB", bytes / 1_024),
        _ => format!("{} MB", bytes / 1_048_576),
    }
}

/// Whether the path is in a git directory or points to one.
fn is_of_git(path: &str) -> bool {
    path.split('/').any(|part| part.eq_ignore_ascii_case(".git"))
}
