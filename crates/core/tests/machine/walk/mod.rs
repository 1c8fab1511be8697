//! Random walks through the machine: mostly plausible answers to what it wants, commands, and nonsense.
//!
//! A step is one random number, thrown as dice where the walk needs to choose: that is much cheaper than a tree of
//! strategies, and a walk is shortened as well by leaving steps out.
#![allow(unreachable_pub, reason = "a module of a test crate")]
#![allow(dead_code, reason = "every test file uses another part of it")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a property looks at a few events and passes over the rest")]

pub mod reviewed;
pub mod rules;

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{
    Act, CheckpointReport, Effect, Event, GateKey, Input, LoopState, Merge, Opener, Raise, Refusal, Smaller,
    SummaryReport, Timer, TimerKind, Verdict, WorkspaceFailure, WorkspaceOpening, effects,
};
use windlass_core::review::MarkedQuestion;
use windlass_core::spec::{
    CommitPolicy, Done, GateSpec, GateWhen, Limits, LoopSpec, OnFailure, OnLimit, SessionPolicy, TimeLimits,
    WorkspaceKind,
};
use windlass_core::summary::SummariserKind;
use windlass_core::trouble::{Trouble, TroubleKind};
use windlass_core::usage::{Usage, UsageByModel};

use crate::driven::{
    Driven, MINUTE, PROMISE, checkpoint_of, gate, gate_report, hidden_gate, key, opening, promise_loop, start_of_time,
    window,
};

/// One input and what came of it.
#[derive(Debug)]
pub struct Given {
    pub before: LoopState,
    pub at: Timestamp,
    pub input: Input,
    pub result: Result<Vec<Event>, Refusal>,
    pub after: LoopState,
}

impl Given {
    pub fn events(&self) -> &[Event] {
        self.result.as_deref().unwrap_or_default()
    }
}

#[derive(Debug)]
pub struct Walk {
    pub given: Vec<Given>,
    pub driven: Driven,
}

impl Walk {
    /// Every event after the creation, with what it was decided on.
    pub fn events(&self) -> impl Iterator<Item = (&Given, &Event)> {
        self.given.iter().flat_map(|given| given.events().iter().map(move |event| (given, event)))
    }
}

/// What a walk has much of, so that also what takes many of the same in a row is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mood {
    Mixed,
    /// Most answers are the expected ones.
    Smooth,
    Stalls,
    CutOffs,
    FailingGates,
    NoAnswers,
    LostSessions,
    /// Hardly anything can be tried.
    Troubles,
}

pub fn walks() -> impl Strategy<Value = Walk> {
    (spec(), moods(), steps(120)).prop_map(|(spec, mood, steps)| walk(spec, mood, &steps))
}

fn steps(most: usize) -> impl Strategy<Value = Vec<u64>> {
    vec(any::<u64>().no_shrink(), 1..most)
}

fn moods() -> impl Strategy<Value = Mood> {
    prop_oneof![
        6 => Just(Mood::Mixed),
        3 => Just(Mood::Smooth),
        1 => Just(Mood::Stalls),
        1 => Just(Mood::CutOffs),
        1 => Just(Mood::FailingGates),
        1 => Just(Mood::NoAnswers),
        1 => Just(Mood::LostSessions),
        1 => Just(Mood::Troubles),
    ]
}

fn walk(spec: LoopSpec, mood: Mood, steps: &[u64]) -> Walk {
    let mut driven = Driven::created(spec);
    let mut given = Vec::new();
    for step in steps {
        let mut dice = Dice { mood, seed: *step };
        driven.now = driven.now.checked_add(SignedDuration::from_nanos(dice.wait_ns())).unwrap();
        let Some(input) = dice.input(&mut driven) else { continue };
        let before = driven.state.clone();
        let at = driven.now;
        let result = driven.give(input.clone());
        given.push(Given { before, at, input, result, after: driven.state.clone() });
    }
    Walk { given, driven }
}

struct Dice {
    mood: Mood,
    seed: u64,
}

impl Dice {
    /// A number below `sides` (splitmix64).
    fn throw(&mut self, sides: u64) -> u64 {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.throw(sides) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.throw(from.len() as u64)).unwrap()].clone()
    }

    fn fraction(&mut self) -> f64 {
        self.throw(1 << 53) as f64 / (1_u64 << 53) as f64
    }

    /// Now and then the clock goes back.
    fn wait_ns(&mut self) -> i64 {
        let ns = |seconds: u64| i64::try_from(seconds * 1_000_000_000).unwrap();
        match self.throw(40) {
            0 => -i64::try_from(self.throw(3_600_000_000_000)).unwrap(),
            1..=10 => 0,
            11..=16 => i64::try_from(self.throw(600_000_000_000)).unwrap(),
            17..=20 => ns(self.throw(60)),
            _ => i64::try_from(self.throw(5_000_000_000)).unwrap(),
        }
    }

    fn input(&mut self, driven: &mut Driven) -> Option<Input> {
        let chance = self.throw(if self.mood == Mood::Smooth { 60 } else { 20 });
        match (chance, driven.state.status().name()) {
            (0, _) => Some(self.nonsense(&driven.state)),
            (1, _) if driven.state.review.is_some() => Some(self.ruling()),
            (1..=3, _) => Some(self.command()),
            (_, "awaiting_review") => Some(self.ruling()),
            (19, "running") => {
                Some(Input::NetworkDenied { host: "a.org:443".into(), why: "not listed".into(), count: 1 })
            }
            (_, "running" | "waiting") => self.answer(driven),
            (4, _) => Some(Input::ResidueChecked { left: Vec::new() }),
            _ if driven.state.outcome().is_some() && self.one_in(3) => {
                let goal = self.one_in(2).then(|| "more of it".to_owned());
                Some(Input::Continue { goal, target: None, raise: Raise::default() })
            }
            _ => Some(self.open()),
        }
    }

    fn answer(&mut self, driven: &mut Driven) -> Option<Input> {
        let wanted = effects(&driven.state);
        // Timers come last and are rarer than what they wait for.
        let effect = if self.one_in(4) { self.pick(&wanted) } else { wanted.first()?.clone() };
        let in_trouble = if self.mood == Mood::Troubles { !self.one_in(3) } else { self.one_in(30) };
        if in_trouble && !matches!(effect, Effect::SetTimer { .. }) {
            return Some(Input::NotTried { effect, trouble: self.trouble() });
        }
        Some(match effect {
            Effect::OpenWorkspace { .. } if self.one_in(40) => workspace_failed(),
            Effect::OpenWorkspace { .. } => {
                let head_commit = Some(format!("head-{}", self.throw(3)));
                Input::WorkspaceOpened { opening: WorkspaceOpening { head_commit, ..opening() } }
            }
            Effect::SetUpWorkspace if self.one_in(20) => setup_failed(),
            Effect::SetUpWorkspace => Input::SetUp,
            Effect::Summarise { turn } => Input::Summarised { turn, summary: self.summary() },
            Effect::RunTurn { turn, .. } if driven.state.review.is_some() && self.one_in(4) => {
                Input::Acted { turn, act: self.act(turn) }
            }
            Effect::RunTurn { turn, .. } if driven.state.review.is_none() && self.one_in(20) => {
                let MarkedQuestion { question, default } = self.question();
                Input::Acted { turn, act: Act::Ask { question, default } }
            }
            Effect::SetTimer { timer: Timer { kind: TimerKind::Wait, .. } }
                if driven.state.open_questions().next().is_some() && self.one_in(2) =>
            {
                self.person_answers()
            }
            Effect::RunTurn { turn, .. } => {
                let input = self.turn(turn);
                self.spoken(&driven.state, input)
            }
            Effect::EndTurn { turn } => {
                let outcome = if self.one_in(4) { self.outcome() } else { TurnOutcome::Interrupted };
                let input = Input::turn_ended(turn, self.report(outcome));
                self.spoken(&driven.state, input)
            }
            Effect::Checkpoint { turn } => {
                let unchanged = self.one_in(3) || self.mood == Mood::FailingGates;
                Input::Checkpointed { turn, checkpoint: checkpoint(&driven.state, unchanged) }
            }
            Effect::Seal { section } => {
                Input::Sealed { section, checkpoint: checkpoint(&driven.state, self.one_in(2)) }
            }
            Effect::Undo { commit } => {
                let agreed = driven.state.review.as_ref().and_then(|review| review.agreed.clone());
                Input::Undone { commit, tree: agreed.unwrap().tree.unwrap_or_default(), saved: None }
            }
            Effect::RunGate { gate } => Input::GateEnded { report: driven.report_of(gate.index, self.verdict()), gate },
            Effect::SetTimer { timer } => {
                driven.now = driven.now.max(timer.at);
                Input::TimerFired { timer: timer.kind }
            }
        })
    }

    fn turn(&mut self, turn: TurnKey) -> Input {
        match self.throw(12) {
            0 => Input::SessionSeen { turn, session: self.session() },
            1 => Input::UsageSeen { turn, usage: self.usage() },
            2 => Input::Stalled { turn },
            3 if self.mood != Mood::Stalls => {
                Input::AccountSeen { turn, windows: vec![window(u32::try_from(self.throw(101)).unwrap())] }
            }
            3.. if self.mood == Mood::Stalls => Input::Stalled { turn },
            _ => {
                let outcome = self.outcome();
                Input::turn_ended(turn, self.report(outcome))
            }
        }
    }

    fn outcome(&mut self) -> TurnOutcome {
        let failed = |kind| TurnOutcome::Failed { kind, message: "oops".into() };
        if !self.one_in(4) {
            match self.mood {
                Mood::Mixed | Mood::Troubles => {}
                Mood::Smooth | Mood::FailingGates => return TurnOutcome::Finished,
                Mood::Stalls => return TurnOutcome::Interrupted,
                Mood::CutOffs => return TurnOutcome::CutOff,
                Mood::NoAnswers => return failed(self.pick(&[ErrorKind::Overloaded, ErrorKind::Network])),
                Mood::LostSessions => {
                    return failed(self.pick(&[ErrorKind::ContextOverflow, ErrorKind::UnknownSession]));
                }
            }
        }
        match self.throw(20) {
            0..=8 => TurnOutcome::Finished,
            9..=11 => TurnOutcome::CutOff,
            12 if self.one_in(2) => TurnOutcome::NotTried { trouble: self.trouble(), began: self.one_in(2) },
            12 => TurnOutcome::Interrupted,
            13 => TurnOutcome::NotStarted { message: "no".into(), missing: self.one_in(2) },
            14..=15 => {
                let after = SignedDuration::from_secs(i64::try_from(self.throw(10_000)).unwrap());
                let until = (!self.one_in(3)).then(|| start_of_time() + after);
                TurnOutcome::RateLimited { until, message: "later".into() }
            }
            _ => failed(self.pick(&[
                ErrorKind::RateLimit,
                ErrorKind::Overloaded,
                ErrorKind::Network,
                ErrorKind::ContextOverflow,
                ErrorKind::Auth,
                ErrorKind::Billing,
                ErrorKind::ModelNotFound,
                ErrorKind::UnknownSession,
                ErrorKind::Other,
            ])),
        }
    }

    fn trouble(&mut self) -> Trouble {
        Trouble { kind: self.pick(&[TroubleKind::Sandbox, TroubleKind::Git, TroubleKind::Disk]), message: "no".into() }
    }

    fn report(&mut self, outcome: TurnOutcome) -> TurnReport {
        TurnReport {
            claim: self.one_in(5),
            session: (!self.one_in(3)).then(|| self.session()),
            usage: self.usage(),
            last_words: "words".into(),
            questions: (0..self.throw(24).saturating_sub(21)).map(|_| self.question()).collect(),
            duration_ms: self.throw(MINUTE),
            ..TurnReport::bare(outcome)
        }
    }

    fn question(&mut self) -> MarkedQuestion {
        let default = self.one_in(2).then(|| "that".to_owned());
        MarkedQuestion { question: format!("which of {}?", self.throw(30)), default }
    }

    fn person_answers(&mut self) -> Input {
        let question = (!self.one_in(3)).then(|| format!("q{}", 1 + self.throw(3)));
        Input::Answer { question, text: "this".into() }
    }

    fn summary(&mut self) -> SummaryReport {
        let commit_message = (!self.one_in(3)).then(|| "[iter] said".into());
        SummaryReport { summary: "what was done".into(), commit_message, problem: None, usage: self.usage() }
    }

    fn session(&mut self) -> String {
        format!("session-{}", self.throw(4))
    }

    fn usage(&mut self) -> UsageByModel {
        (0..self.throw(3))
            .map(|model| {
                let cost_usd = (!self.one_in(5)).then(|| self.fraction() * 0.7);
                let usage = Usage { output_tokens: self.throw(1_000), cost_usd, ..Usage::default() };
                (format!("model-{model}"), usage)
            })
            .collect()
    }

    fn verdict(&mut self) -> Verdict {
        if self.mood == Mood::FailingGates && !self.one_in(40) {
            return Verdict::Fail;
        }
        self.pick(&[Verdict::Pass, Verdict::Pass, Verdict::Pass, Verdict::Fail, Verdict::TimedOut, Verdict::NotStarted])
    }

    fn command(&mut self) -> Input {
        match self.throw(16) {
            0..=2 => self.open(),
            13 => self.person_answers(),
            15 => Input::Moved { from: self.one_in(2).then(|| "a".to_owned()), to: "b".into() },
            11 => Input::Queue { max_running: 2 },
            12 => Input::LeaveQueue { turn_began: self.one_in(2) },
            3 => Input::Attach { alive_until: None },
            4 => {
                let alive_until =
                    Some(start_of_time() + SignedDuration::from_secs(i64::try_from(self.throw(10_000)).unwrap()));
                Input::Attach { alive_until }
            }
            5 => Input::Shutdown,
            6 => Input::Stop,
            7 => Input::Pause { now: self.one_in(2) },
            8 => {
                let to_iteration = u32::try_from(self.throw(4)).unwrap();
                Input::RolledBack {
                    to_iteration,
                    commit: format!("back-to-{to_iteration}"),
                    tree: format!("tree-{to_iteration}"),
                    saved: None,
                }
            }
            9 => Input::Merged { merge: Merge { commit: format!("merge-{}", self.throw(3)), target: "main".into() } },
            14 => {
                let head = format!("commit-{}.coder.1", self.throw(4));
                Input::Minimised { smaller: Smaller { commit: "smaller".into(), head, kept: 1, hunks: 2 } }
            }
            _ => Input::Steer {
                id: format!("message-{}", self.throw(20)),
                text: "do it well".into(),
                now: self.throw(2) == 0,
            },
        }
    }

    fn open(&mut self) -> Input {
        let by = self.pick(&[Opener::Start, Opener::Resume, Opener::Resume, Opener::Restart]);
        let raise = match self.throw(4) {
            0 | 1 => Raise::default(),
            2 => Raise { max_iterations: 1, ..Raise::default() },
            _ => Raise {
                max_iterations: u32::try_from(self.throw(3)).unwrap(),
                duration_ms: self.throw(2) * self.throw(10 * MINUTE),
                budget_usd: if self.one_in(2) { self.fraction() } else { 0.0 },
                max_tokens: self.throw(2) * self.throw(1_000),
                ..Raise::default()
            },
        };
        Input::Open { by, raise }
    }

    /// An answer to something that may or may not be wanted.
    fn nonsense(&mut self, state: &LoopState) -> Input {
        let iteration = u32::try_from(self.throw(5)).unwrap();
        let turn = key(iteration, u32::try_from(1 + self.throw(3)).unwrap());
        match self.throw(13) {
            11 => Input::SetUp,
            12 => Input::Summarised { turn, summary: self.summary() },
            0 => {
                let outcome = self.outcome();
                Input::turn_ended(turn, self.report(outcome))
            }
            1 => Input::Checkpointed { turn, checkpoint: checkpoint_of(turn) },
            2 => Input::GateEnded {
                gate: GateKey { on: iteration.into(), index: usize::try_from(self.throw(3)).unwrap(), attempt: 1 },
                // By chance it is the gate that is wanted, and then it is the verdict on the last checkpoint.
                report: gate_report("late", Verdict::Pass, state.head_commit().map(str::to_owned)),
            },
            3 => Input::WorkspaceOpened { opening: opening() },
            4 => workspace_failed(),
            5 => Input::SessionSeen { turn, session: self.session() },
            6 => Input::UsageSeen { turn, usage: self.usage() },
            7 => Input::Stalled { turn },
            10 => Input::DiskShort { turn, message: "full".into() },
            8 => Input::TimerFired { timer: TimerKind::Wait },
            9 => Input::TimerFired { timer: TimerKind::Duration },
            _ => Input::TimerFired { timer: TimerKind::TurnTimeout(turn) },
        }
    }
}

fn workspace_failed() -> Input {
    Input::WorkspaceFailed { failure: WorkspaceFailure::Missing { message: "gone".into() } }
}

fn setup_failed() -> Input {
    Input::WorkspaceFailed { failure: WorkspaceFailure::Setup { message: "npm".into() } }
}

fn checkpoint(state: &LoopState, unchanged: bool) -> CheckpointReport {
    let turn = state.last_turn.as_ref().unwrap().key;
    let workspace = state.workspace.as_ref();
    if unchanged {
        return CheckpointReport {
            commit: workspace.and_then(|workspace| workspace.head_commit.clone()),
            tree: workspace.and_then(|workspace| workspace.tree.clone()).unwrap_or_default(),
            files: Vec::new(),
            files_changed: 0,
            created: false,
            ..checkpoint_of(turn)
        };
    }
    let commit = (state.spec.commit != CommitPolicy::Off).then(|| format!("commit-{turn}"));
    CheckpointReport { commit, ..checkpoint_of(turn) }
}

fn spec() -> impl Strategy<Value = LoopSpec> {
    let done = prop_oneof![
        5 => Just(Done::Promise { promise: Some(PROMISE.into()) }),
        1 => Just(Done::Promise { promise: None }),
        2 => Just(Done::Gates),
        2 => (1_u32..4).prop_map(|iterations| Done::Count { iterations }),
        2 => (1_u64..30 * MINUTE).prop_map(|ms| Done::Duration { ms }),
    ];
    let limits = (
        option::weighted(0.8, 1_u32..6),
        option::weighted(0.3, 1_u64..30 * MINUTE),
        option::weighted(0.3, 0.0_f64..4.0),
        option::weighted(0.3, 1_u64..5_000),
    )
        .prop_map(|(max_iterations, duration_ms, budget_usd, max_tokens)| Limits {
            max_iterations,
            duration_ms,
            budget_usd,
            max_tokens,
        });
    let kind = prop_oneof![
        7 => Just(WorkspaceKind::Clone),
        1 => Just(WorkspaceKind::InPlace),
        1 => Just(WorkspaceKind::External),
    ];
    let commit =
        prop_oneof![5 => Just(CommitPolicy::Engine), 1 => Just(CommitPolicy::Agent), 1 => Just(CommitPolicy::Off)];
    let on_failure = prop_oneof![
        Just(OnFailure::Stop),
        Just(OnFailure::Continue),
        (0_u32..3).prop_map(|times| OnFailure::Retry { times })
    ];
    let session = prop_oneof![Just(SessionPolicy::Resume), Just(SessionPolicy::Fresh), Just(SessionPolicy::KeepAlive)];
    let on_limit = prop_oneof![3 => Just(OnLimit::Stop), 1 => Just(OnLimit::Pause)];
    let on_claim = GateSpec { when: GateWhen::Claim, ..gate("cargo bench") };
    let gates = prop::sample::subsequence(
        vec![gate("cargo test"), on_claim, gate("cargo fmt --check"), hidden_gate("./hidden.sh")],
        0..=4,
    );
    let summariser = prop_oneof![3 => Just(SummariserKind::Deterministic), 1 => Just(SummariserKind::Agent)];
    let question_wait_ms = prop_oneof![2 => Just(0), 1 => 1_u64..20 * MINUTE];
    let ready = (any::<bool>(), any::<bool>(), summariser, question_wait_ms);
    (done, limits, kind, commit, on_failure, session, on_limit, gates, ready).prop_map(
        |(
            done,
            limits,
            kind,
            commit,
            on_failure,
            session,
            on_limit,
            gates,
            (baseline, setup, summariser, question_wait_ms),
        )| {
            let mut spec = promise_loop();
            spec.workspace.kind = kind;
            spec.workspace.baseline = baseline;
            spec.workspace.setup = setup.then(|| "npm ci".into()).into_iter().collect();
            spec.summariser.kind = summariser;
            LoopSpec {
                done,
                limits,
                commit,
                on_failure,
                session,
                on_limit,
                gates,
                question_wait_ms,
                time: TimeLimits { turn_timeout_ms: 20 * MINUTE, stall_timeout_ms: 5 * MINUTE, max_stalls: 3 },
                ..spec
            }
        },
    )
}
