//! What should be under way, derived from the state alone.

use jiff::{SignedDuration, Timestamp};

use super::activity::{Activity, Doing};
use super::event::{Restore, SessionUse};
use super::input::GateKey;
use super::state::LoopState;
use super::turn::RunningTurn;
use crate::ids::TurnKey;
use crate::spec::Done;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    OpenWorkspace {
        restore: Restore,
    },
    RunTurn {
        turn: TurnKey,
        session: SessionUse,
    },
    /// End the turn's process tree and report what it came to.
    EndTurn {
        turn: TurnKey,
    },
    /// Copy files into the workspace and run its set-up commands.
    SetUpWorkspace,
    /// Put what the turn did into words.
    Summarise {
        turn: TurnKey,
    },
    /// Close the turn with a commit, also if somebody asks for a stop; if that takes too long, when the loop resumes.
    Checkpoint {
        turn: TurnKey,
    },
    RunGate {
        gate: GateKey,
    },
    /// Close a section with a commit of its own; a stop is handled as in a checkpoint.
    Seal {
        section: u32,
    },
    /// Take back what came after a commit, and keep it reachable; a stop is handled as in a checkpoint.
    Undo {
        commit: String,
    },
    SetTimer {
        timer: Timer,
    },
}

impl Effect {
    /// Whether it reads or writes the loop's workspace.
    pub fn needs_files(&self) -> bool {
        match self {
            Effect::OpenWorkspace { .. }
            | Effect::RunTurn { .. }
            | Effect::EndTurn { .. }
            | Effect::SetUpWorkspace
            | Effect::Summarise { .. }
            | Effect::Checkpoint { .. }
            | Effect::RunGate { .. }
            | Effect::Seal { .. }
            | Effect::Undo { .. } => true,
            Effect::SetTimer { .. } => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    pub kind: TimerKind,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerKind {
    /// A wait is over.
    Wait,
    /// The turn has run for as long as it may.
    TurnTimeout(TurnKey),
    /// The loop has run for as long as it may.
    Duration,
}

pub fn effects(state: &LoopState) -> Vec<Effect> {
    match &state.activity {
        Activity::Created
        | Activity::Queued { .. }
        | Activity::Deciding(_)
        | Activity::Paused { .. }
        | Activity::Completed { .. }
        | Activity::Stopped { .. } => Vec::new(),
        Activity::Waiting { until, then, .. } => {
            let wait = Timer { kind: TimerKind::Wait, at: *until };
            let duration = duration_timer(state).filter(|_| !then.closes_work());
            [Some(wait), duration].into_iter().flatten().map(|timer| Effect::SetTimer { timer }).collect()
        }
        Activity::Running(doing) => running(state, doing),
    }
}

fn running(state: &LoopState, doing: &Doing) -> Vec<Effect> {
    match doing {
        Doing::OpenWorkspace { .. } => vec![Effect::OpenWorkspace { restore: state.restore() }],
        Doing::SetUp { .. } => with_duration(state, Some(Effect::SetUpWorkspace)),
        Doing::Baseline { .. } | Doing::Gates => {
            with_duration(state, state.next_gate().map(|gate| Effect::RunGate { gate }))
        }
        Doing::Turn(turn) => work(state, turn),
        Doing::Summarise { turn } => vec![Effect::Summarise { turn: turn.key }],
        Doing::Checkpoint { turn, .. } => vec![Effect::Checkpoint { turn: turn.key }],
        Doing::Seal { section } => vec![Effect::Seal { section: *section }],
        Doing::Undo { commit, .. } => vec![Effect::Undo { commit: commit.clone() }],
    }
}

fn work(state: &LoopState, turn: &RunningTurn) -> Vec<Effect> {
    if turn.interrupt.is_some() {
        return vec![Effect::EndTurn { turn: turn.key }];
    }
    let timeout =
        Timer { kind: TimerKind::TurnTimeout(turn.key), at: later(turn.started_at, state.spec.time.turn_timeout_ms) };
    let mut wanted = vec![Effect::RunTurn { turn: turn.key, session: turn.session.clone() }];
    wanted.extend([Some(timeout), duration_timer(state)].into_iter().flatten().map(|timer| Effect::SetTimer { timer }));
    wanted
}

/// What is not a turn ends with the loop's time too.
fn with_duration(state: &LoopState, effect: Option<Effect>) -> Vec<Effect> {
    let timer = duration_timer(state).filter(|_| effect.is_some() && state.duration_ends_phase());
    effect.into_iter().chain(timer.map(|timer| Effect::SetTimer { timer })).collect()
}

impl LoopState {
    /// Whether the loop's time ends what is under way. A loop that works until its time is up is judged after that.
    pub(super) fn duration_ends_phase(&self) -> bool {
        match self.spec.done {
            Done::Duration { ms } => self.iteration == 0 || self.duration_limit_ms().is_some_and(|limit| limit < ms),
            Done::Promise { .. } | Done::Gates | Done::Count { .. } | Done::Review => true,
        }
    }
}

fn duration_timer(state: &LoopState) -> Option<Timer> {
    let limit = state.duration_limit_ms()?;
    let left = limit.saturating_sub(state.elapsed_ms);
    Some(Timer { kind: TimerKind::Duration, at: later(state.updated_at, left) })
}

/// A time so much later; the end of time when that is past it.
pub(super) fn later(from: Timestamp, ms: u64) -> Timestamp {
    let span = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    from.checked_add(span).unwrap_or(Timestamp::MAX)
}
