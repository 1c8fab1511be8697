//! What must hold in every state and after every input, checked against books that the machine does not write.
#![allow(clippy::wildcard_enum_match_arm, reason = "an invariant looks at a few inputs and passes over the rest")]

use std::collections::BTreeSet;

use jiff::Timestamp;
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{
    Act, Answer, Effect, Event, GateOn, Input, LoopState, Opener, Opinion, Raise, Refusal, ReviewEvent, Timer,
    TimerKind,
};
use windlass_core::stop::{End, PauseReason, Status};

use super::inputs::plain;
use super::machine::Machine;
use super::specs::HOUR;

/// The longest way from any state to its end, if nothing is out of the ordinary.
const LONGEST: usize = 120;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    WantsWhileRunning,
    LimitsHeld,
    DoneOnlyIfJudged,
    StopEnds,
    EndInReach,
    ReplayEqualsLive,
    AnswersMatch,
    EndedStays,
    WishHeld,
}

impl Invariant {
    pub const ALL: [Invariant; 9] = [
        Invariant::WantsWhileRunning,
        Invariant::LimitsHeld,
        Invariant::DoneOnlyIfJudged,
        Invariant::StopEnds,
        Invariant::EndInReach,
        Invariant::ReplayEqualsLive,
        Invariant::AnswersMatch,
        Invariant::EndedStays,
        Invariant::WishHeld,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Invariant::WantsWhileRunning => "wants something while it runs",
            Invariant::LimitsHeld => "limits held",
            Invariant::DoneOnlyIfJudged => "done only if judged",
            Invariant::StopEnds => "stop ends every state",
            Invariant::EndInReach => "every state can reach an end",
            Invariant::ReplayEqualsLive => "replay equals live",
            Invariant::AnswersMatch => "answers match effects",
            Invariant::EndedStays => "ended loops stay ended",
            Invariant::WishHeld => "no turn against a wish",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Invariant::ALL.into_iter().find(|one| one.name().replace(' ', "-") == name)
    }
}

/// Why an invariant does not hold.
pub type Broken = Result<(), (Invariant, String)>;

fn broken(invariant: Invariant, what: impl Into<String>) -> Broken {
    Err((invariant, what.into()))
}

/// What was really judged, by the inputs alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Books {
    /// Gates whose last verdict on a commit was a pass.
    passed: BTreeSet<(String, usize)>,
    /// A reviewer or a user agreed after the last work.
    agreed: bool,
    /// What the reviewer said through a tool in the turn under way.
    said: Option<bool>,
}

/// One input, and what came of it.
#[derive(Debug)]
pub struct Step<'a> {
    pub before: &'a LoopState,
    pub wanted: &'a [Effect],
    pub at: Timestamp,
    pub input: &'a Input,
    pub result: &'a Result<Vec<Event>, Refusal>,
    pub after: &'a LoopState,
    pub books: &'a Books,
}

impl Books {
    /// The books after an input that was accepted.
    pub fn after(&self, before: &LoopState, input: &Input, events: &[Event], after: &LoopState) -> Books {
        let mut books = self.clone();
        if let Input::GateEnded { gate, report } = input
            && gate.on != GateOn::Base
            && let Some(head) = before.head_commit()
        {
            let key = (head.to_owned(), gate.index);
            if report.verdict.passed() {
                books.passed.insert(key);
            } else {
                books.passed.remove(&key);
            }
        }
        match input {
            Input::Acted { act: Act::Say { verdict }, .. } => books.said = Some(agrees(verdict)),
            Input::TurnEnded { turn, answer, report } => {
                let said = books.said.take();
                if turn.role.reviews() && report.outcome.is_finished() {
                    books.agreed = said.unwrap_or_else(|| answer_agrees(answer));
                }
            }
            Input::Approve { .. } => books.agreed = true,
            Input::RolledBack { .. } => books.agreed = false,
            Input::Checkpointed { turn, .. }
                if turn.role == Role::Coder && before.head_commit() != after.head_commit() =>
            {
                books.agreed = false;
            }
            _ if events.iter().any(|event| matches!(event, Event::TurnStarted { .. })) => books.said = None,
            _ => {}
        }
        books
    }
}

fn agrees(opinion: &Opinion) -> bool {
    matches!(opinion, Opinion::Clean { .. } | Opinion::Accepted)
}

fn answer_agrees(answer: &Answer) -> bool {
    match answer {
        Answer::Audit(Ok(audit)) => audit.verdict == windlass_core::review::AuditVerdict::Clean,
        Answer::Acceptance(Ok(opinion)) => agrees(opinion),
        Answer::Audit(Err(_)) | Answer::Acceptance(Err(_)) | Answer::Unread | Answer::Plan(_) | Answer::Work { .. } => {
            false
        }
    }
}

/// What must hold after an input.
pub fn step(machine: Machine, step: &Step<'_>) -> Broken {
    answers_match(step)?;
    let Ok(events) = step.result else { return Ok(()) };
    ended_stays(step)?;
    limits(step, events)?;
    wish(step, events)?;
    judged(step, events)?;
    replayed(machine, step, events)
}

/// What must hold in a state.
pub fn state(machine: Machine, state: &LoopState, wanted: &[Effect]) -> Broken {
    wants_while_running(state, wanted)?;
    stop_ends(machine, state)?;
    end_in_reach(machine, state)
}

fn wants_while_running(state: &LoopState, wanted: &[Effect]) -> Broken {
    let rests = |why: &str| broken(Invariant::WantsWhileRunning, format!("{why}: {:?}", state.activity));
    match state.status() {
        Status::Queued | Status::Paused { .. } | Status::Ended { .. } if !wanted.is_empty() => {
            rests("it rests and wants something")
        }
        Status::Running if !wanted.iter().any(Effect::needs_files) => rests("it runs and wants nothing"),
        Status::Waiting { until, .. } => {
            let timer = Effect::SetTimer { timer: Timer { kind: TimerKind::Wait, at: until } };
            if wanted.contains(&timer) { Ok(()) } else { rests("it waits for nothing") }
        }
        Status::Queued | Status::Running | Status::Paused { .. } | Status::Ended { .. } => Ok(()),
    }
}

fn limits(step: &Step<'_>, events: &[Event]) -> Broken {
    let state = step.after;
    if let Some(max) = state.iteration_limit().filter(|max| state.iteration > *max) {
        return broken(Invariant::LimitsHeld, format!("iteration {} of {max}", state.iteration));
    }
    if !events.iter().any(|event| matches!(event, Event::TurnStarted { .. })) {
        return Ok(());
    }
    // Usage does not change with the start of a turn, so what is known after the decision was known before.
    let limits = &state.spec.limits;
    let over = state.duration_limit_ms().is_some_and(|limit| state.elapsed_at(step.at) >= limit)
        || limits.budget_usd.is_some_and(|limit| state.used().known_cost_usd >= limit)
        || limits.max_tokens.is_some_and(|limit| state.used().total().tokens() >= limit);
    if over { broken(Invariant::LimitsHeld, "a turn starts beyond a limit") } else { Ok(()) }
}

fn judged(step: &Step<'_>, events: &[Event]) -> Broken {
    for event in events {
        let Event::LoopStopped { verified: true, head_commit, .. } = event else { continue };
        let Some(head) = head_commit else { return broken(Invariant::DoneOnlyIfJudged, "verified without a commit") };
        let gates = step.after.spec.gates.len();
        if let Some(gate) = (0..gates).find(|gate| !step.books.passed.contains(&(head.clone(), *gate))) {
            return broken(Invariant::DoneOnlyIfJudged, format!("gate {gate} did not pass on {head}"));
        }
        if step.after.spec.review.is_some() && !step.books.agreed {
            return broken(Invariant::DoneOnlyIfJudged, format!("nobody approved {head}"));
        }
    }
    Ok(())
}

fn wish(step: &Step<'_>, events: &[Event]) -> Broken {
    let mut wish = step.before.wish.is_some();
    for event in events {
        if matches!(event, Event::LoopOpened { .. } | Event::Review(ReviewEvent::PersonRuled { .. })) {
            wish = false;
        }
        if wish && matches!(event, Event::TurnStarted { .. }) {
            return broken(Invariant::WishHeld, "a turn starts although a stop or a pause was requested");
        }
    }
    Ok(())
}

fn ended_stays(step: &Step<'_>) -> Broken {
    let Status::Ended { end } = step.before.status() else { return Ok(()) };
    let same = step.after.status() == step.before.status();
    let allowed = match step.input {
        Input::Open { by, .. } => *by != Opener::Start && end != End::Completed,
        Input::Continue { .. } => end == End::Completed,
        Input::RolledBack { .. }
        | Input::ResidueChecked { .. }
        | Input::Merged { .. }
        | Input::MergeRefused { .. }
        | Input::Minimised { .. } => same,
        Input::AmendMilestone { .. } => same && end != End::Completed,
        _ => false,
    };
    if allowed { Ok(()) } else { broken(Invariant::EndedStays, format!("accepted after its end: {:?}", step.input)) }
}

fn replayed(machine: Machine, step: &Step<'_>, events: &[Event]) -> Broken {
    let mut state = step.before.clone();
    for event in events {
        match machine.read_back(event) {
            Ok(event) => state = machine.evolve(state, step.at, &event),
            Err(error) => return broken(Invariant::ReplayEqualsLive, error),
        }
    }
    if state == *step.after {
        Ok(())
    } else {
        broken(Invariant::ReplayEqualsLive, "the journal leads to another state")
    }
}

fn answers_match(step: &Step<'_>) -> Broken {
    match is_wanted(step) {
        Some(wanted) if wanted != step.result.is_ok() => {
            let what = if wanted { "refused although it is wanted" } else { "accepted although nothing wants it" };
            broken(Invariant::AnswersMatch, format!("{what}: {:?}", step.input))
        }
        Some(_) | None => Ok(()),
    }
}

/// Whether the input answers what is under way; nothing for what people ask and the driver reports.
fn is_wanted(step: &Step<'_>) -> Option<bool> {
    let wanted = step.wanted;
    let runs =
        |turn: &TurnKey| wanted.iter().any(|effect| matches!(effect, Effect::RunTurn { turn: key, .. } if key == turn));
    let ends = |turn: &TurnKey| wanted.contains(&Effect::EndTurn { turn: *turn });
    Some(match step.input {
        Input::TurnEnded { turn, .. }
        | Input::SessionSeen { turn, .. }
        | Input::UsageSeen { turn, .. }
        | Input::AccountSeen { turn, .. } => runs(turn) || ends(turn),
        Input::Stalled { turn } | Input::DiskShort { turn, .. } => runs(turn),
        Input::SetUp => wanted.contains(&Effect::SetUpWorkspace),
        Input::Summarised { turn, .. } => wanted.contains(&Effect::Summarise { turn: *turn }),
        Input::Checkpointed { turn, .. } => wanted.contains(&Effect::Checkpoint { turn: *turn }),
        Input::Sealed { section, .. } => wanted.contains(&Effect::Seal { section: *section }),
        Input::Undone { commit, .. } => wanted.contains(&Effect::Undo { commit: commit.clone() }),
        Input::GateEnded { gate, .. } => wanted.contains(&Effect::RunGate { gate: gate.clone() }),
        Input::WorkspaceOpened { .. } => wanted.iter().any(|effect| matches!(effect, Effect::OpenWorkspace { .. })),
        _ => return None,
    })
}

/// From each state, a stop and the plainest answers lead to an end.
fn stop_ends(machine: Machine, state: &LoopState) -> Broken {
    if state.status().is_ended() {
        return Ok(());
    }
    let mut at = Walk { machine, state: state.clone(), now: state.updated_at };
    let asked = at.give(&Input::Stop);
    if let Err(refusal) = &asked
        && *refusal != Refusal::AlreadyAsked
    {
        return broken(Invariant::StopEnds, format!("a stop is refused: {refusal}"));
    }
    for _ in 0..LONGEST {
        if at.state.status().is_ended() {
            return Ok(());
        }
        if !at.answer() {
            break;
        }
    }
    broken(Invariant::StopEnds, format!("a stop leaves it {} in {}", at.state.status().name(), at.state.phase().name()))
}

/// Without a stop too: by the plainest answers, and a user who resumes, raises a limit that was reached, and approves.
fn end_in_reach(machine: Machine, state: &LoopState) -> Broken {
    let mut at = Walk { machine, state: state.clone(), now: state.updated_at };
    for _ in 0..LONGEST {
        if at.state.status().is_ended() {
            return Ok(());
        }
        if !at.answer() && !at.ask() {
            break;
        }
    }
    let why = format!("it stays {} in {}", at.state.status().name(), at.state.phase().name());
    broken(Invariant::EndInReach, why)
}

struct Walk {
    machine: Machine,
    state: LoopState,
    now: Timestamp,
}

impl Walk {
    fn give(&mut self, input: &Input) -> Result<(), Refusal> {
        let events = self.machine.decide(&self.state, input, self.now)?;
        let state = self.state.clone();
        self.state = events.iter().fold(state, |state, event| self.machine.evolve(state, self.now, event));
        Ok(())
    }

    /// Answers the first thing that is wanted.
    fn answer(&mut self) -> bool {
        let Some(effect) = self.machine.effects(&self.state).into_iter().next() else { return false };
        let input = plain(&self.state, &effect, &mut self.now);
        self.give(&input).is_ok()
    }

    /// What a user does with a loop that rests.
    fn ask(&mut self) -> bool {
        let open = |raise| Input::Open { by: Opener::Resume, raise };
        let raised = Raise { max_iterations: 1, duration_ms: 10 * HOUR, ..Raise::default() };
        let max_tokens = self.state.spec.limits.max_tokens.map_or(0, |_| 100);
        let more = Raise { budget_usd: 10.0, max_tokens, ..raised };
        let tries = match self.state.status() {
            Status::Paused { why: PauseReason::Review | PauseReason::Rejections { .. } } => {
                vec![Input::Approve { reason: None }]
            }
            Status::Queued if self.state.awaits_place() => vec![Input::LeaveQueue { turn_began: false }],
            Status::Queued => vec![Input::Open { by: Opener::Start, raise: Raise::default() }],
            Status::Paused { why: PauseReason::Limit { .. } } => vec![open(more)],
            Status::Paused { .. } => vec![open(Raise::default()), open(more)],
            Status::Running | Status::Waiting { .. } | Status::Ended { .. } => Vec::new(),
        };
        tries.iter().any(|input| self.give(input).is_ok())
    }
}
