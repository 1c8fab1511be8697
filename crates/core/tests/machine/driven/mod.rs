//! A machine driven by hand: inputs in, events folded, the journal kept. Shared by the tests of the machine.
#![allow(dead_code, reason = "every test file uses another part of it")]
#![allow(unreachable_pub, reason = "a module of several test crates")]

pub mod reviewed;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use windlass_core::agent::{AccountWindow, ErrorKind, TurnOutcome, TurnReport};
use windlass_core::ids::{LoopId, Role, TurnKey};
use windlass_core::machine::{
    ChangedFile, CheckpointReport, Effect, Event, GateKey, GateReport, Input, LoopState, Opener, Raise, Refusal,
    Replayed, Verdict, WorkspaceOpening, decide, effects, evolve,
};
use windlass_core::profile::AgentProfile;
use windlass_core::resources::ResourceSpec;
use windlass_core::review::MarkedQuestion;
use windlass_core::sandbox::SandboxSpec;
use windlass_core::spec::{
    AgentChoice, CommitPolicy, ContextSpec, Done, GateSpec, GateWhen, Limits, LoopSpec, OnFailure, OnLimit,
    SessionPolicy, TimeLimits, Verify, WorkspaceKind, WorkspaceSpec,
};
use windlass_core::summary::SummariserSettings;
use windlass_core::usage::Usage;

pub const PROMISE: &str = "<promise>COMPLETE</promise>";
pub const MINUTE: u64 = 60_000;
pub const HOUR: u64 = 60 * MINUTE;

pub fn start_of_time() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// The promise recipe as `windlass run` resolves it, without gates.
pub fn promise_loop() -> LoopSpec {
    LoopSpec {
        fallbacks: Vec::new(),
        review: None,
        summing_up: None,
        goal: "Build the feature".into(),
        recipe: "promise".into(),
        agent: AgentChoice { name: "scripted".into(), profile: AgentProfile::default() },
        session: SessionPolicy::Resume,
        commit: CommitPolicy::Engine,
        done: Done::Promise { promise: Some(PROMISE.into()) },
        gates: Vec::new(),
        limits: Limits { max_iterations: Some(5), ..Limits::default() },
        on_limit: OnLimit::Stop,
        on_rate_limit: windlass_core::spec::OnRateLimit::default(),
        on_failure: OnFailure::Stop,
        question_wait_ms: 0,
        time: TimeLimits { turn_timeout_ms: HOUR, stall_timeout_ms: 5 * MINUTE, max_stalls: 3 },
        workspace: WorkspaceSpec {
            kind: WorkspaceKind::Clone,
            branch: "windlass/feature".into(),
            base: None,
            allow_dirty: false,
            setup: Vec::new(),
            setup_credentials: false,
            copy: Vec::new(),
            baseline: false,
            verify: Verify::default(),
            subdir: None,
        },
        protect: Vec::new(),
        secrets_allow: Vec::new(),
        env_pass: Vec::new(),
        summariser: SummariserSettings::default(),
        context: ContextSpec::default(),
        sandbox: SandboxSpec::default(),
        resources: ResourceSpec::default(),
        follow_up: "continue".into(),
        group: None,
        prompts: std::collections::BTreeMap::new(),
        parent: None,
    }
}

pub fn gate(command: &str) -> GateSpec {
    GateSpec { command: command.into(), timeout_ms: 10 * MINUTE, when: GateWhen::Turn, hidden: false }
}

pub fn hidden_gate(command: &str) -> GateSpec {
    GateSpec { when: GateWhen::Claim, hidden: true, ..gate(command) }
}

pub fn key(iteration: u32, attempt: u32) -> TurnKey {
    TurnKey { iteration, role: Role::Coder, attempt }
}

#[derive(Debug)]
pub struct Driven {
    pub state: LoopState,
    pub journal: Vec<Replayed>,
    pub now: Timestamp,
}

impl Driven {
    pub fn created(spec: LoopSpec) -> Self {
        let now = start_of_time();
        let created = Event::LoopCreated {
            id: LoopId("l1".into()),
            name: "feature".into(),
            project: "/repo".into(),
            spec: Box::new(spec),
        };
        Self { state: LoopState::created(now, &created).unwrap(), journal: vec![(now, created)], now }
    }

    /// A loop whose first turn is under way.
    pub fn working(spec: LoopSpec) -> Self {
        let mut driven = Self::created(spec);
        driven.start();
        if !driven.state.is_external() {
            driven.ok(workspace_opened());
        }
        driven
    }

    pub fn pass(&mut self, ms: u64) {
        self.now = self.now.checked_add(SignedDuration::from_millis(ms.try_into().unwrap())).unwrap();
    }

    pub fn give(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        let events = decide(&self.state, &input, self.now)?;
        self.state = events.iter().fold(self.state.clone(), |state, event| evolve(state, self.now, event));
        self.journal.extend(events.iter().map(|event| (self.now, event.clone())));
        Ok(events)
    }

    #[track_caller]
    pub fn ok(&mut self, input: Input) -> Vec<Event> {
        let shown = format!("{input:?}");
        self.give(input).unwrap_or_else(|refusal| panic!("{shown} was refused: {refusal}"))
    }

    #[track_caller]
    pub fn refused(&mut self, input: Input) -> Refusal {
        let shown = format!("{input:?}");
        match self.give(input) {
            Ok(events) => panic!("{shown} was accepted: {events:?}"),
            Err(refusal) => refusal,
        }
    }

    pub fn start(&mut self) -> Vec<Event> {
        self.ok(open(Opener::Start))
    }

    pub fn turn(&self) -> TurnKey {
        self.state.turn().expect("a turn is under way").key
    }

    /// Ends the turn that is under way.
    #[track_caller]
    pub fn end_turn(&mut self, report: TurnReport) -> Vec<Event> {
        let turn = self.turn();
        self.ok(Input::turn_ended(turn, report))
    }

    /// Closes the last turn with a commit of its own, named after the turn.
    #[track_caller]
    pub fn checkpoint(&mut self) -> Vec<Event> {
        let turn = self.state.last_turn.as_ref().unwrap().key;
        self.ok(Input::Checkpointed { turn, checkpoint: checkpoint_of(turn) })
    }

    /// Ends the turn as reported and closes it with a commit.
    #[track_caller]
    pub fn end_turn_and_checkpoint(&mut self, report: TurnReport) -> Vec<Event> {
        self.end_turn(report);
        self.checkpoint()
    }

    /// The next gate's verdict, on the last checkpoint.
    #[track_caller]
    pub fn judge(&mut self, verdict: Verdict) -> Vec<Event> {
        let gate = GateKey { on: self.state.iteration.into(), index: self.state.gates.len(), attempt: 1 };
        let report = self.gate_report(verdict);
        self.ok(Input::GateEnded { gate, report })
    }

    pub fn gate_report(&self, verdict: Verdict) -> GateReport {
        self.report_of(self.state.gates.len(), verdict)
    }

    pub fn report_of(&self, index: usize, verdict: Verdict) -> GateReport {
        let gate = &self.state.spec.gates[index];
        let report = gate_report(&gate.command, verdict, self.state.head_commit().map(str::to_owned));
        GateReport { hidden: gate.hidden, ..report }
    }

    pub fn effects(&self) -> Vec<Effect> {
        effects(&self.state)
    }

    pub fn stop_reason(&self) -> &str {
        self.state.stop_reason().as_ref().map_or("none", |reason| reason.name())
    }
}

pub fn open(by: Opener) -> Input {
    Input::Open { by, raise: Raise::default() }
}

pub fn opening() -> WorkspaceOpening {
    WorkspaceOpening {
        dir: "/data/worktrees/feature".into(),
        branch: Some("windlass/feature".into()),
        base_commit: Some("base".into()),
        head_commit: Some("base".into()),
        tree: "tree-base".into(),
        base_tree: None,
        saved: None,
        snapshot: None,
        notes: Vec::new(),
        recreated: false,
        target: None,
        handle: serde_json::json!({ "worktree": 1 }),
    }
}

pub fn workspace_opened() -> Input {
    Input::WorkspaceOpened { opening: opening() }
}

pub fn checkpoint_of(turn: TurnKey) -> CheckpointReport {
    CheckpointReport {
        commit: Some(format!("commit-{turn}")),
        tree: format!("tree-{turn}"),
        files: vec![ChangedFile { path: "src/lib.rs".into(), change: "modified".into() }],
        files_changed: 1,
        created: true,
        restored: Vec::new(),
        held_back: Vec::new(),
        agent_commits: Vec::new(),
        ignored_new: Vec::new(),
        ignored_new_count: 0,
        moved_refs: Vec::new(),
        notes: Vec::new(),
    }
}

pub fn gate_report(command: &str, verdict: Verdict, commit: Option<String>) -> GateReport {
    GateReport {
        command: command.into(),
        hidden: false,
        verdict,
        exit_code: Some(i32::from(!verdict.passed())),
        commit,
        tree: String::new(),
        duration_ms: 1,
        output_tail: "what the gate printed".into(),
        output_sha256: None,
        changed: Vec::new(),
    }
}

pub fn finished() -> TurnReport {
    TurnReport { session: Some("s1".into()), ..TurnReport::bare(TurnOutcome::Finished) }
}

/// A turn whose answer has a question.
pub fn asking(question: &str, default: Option<&str>) -> TurnReport {
    let asked = MarkedQuestion { question: question.into(), default: default.map(str::to_owned) };
    TurnReport { questions: vec![asked], ..finished() }
}

pub fn claimed() -> TurnReport {
    TurnReport { claim: true, ..finished() }
}

pub fn failed(kind: ErrorKind) -> TurnReport {
    TurnReport::bare(TurnOutcome::Failed { kind, message: "oops".into() })
}

pub fn cut_off() -> TurnReport {
    TurnReport::bare(TurnOutcome::CutOff)
}

pub fn interrupted() -> TurnReport {
    TurnReport::bare(TurnOutcome::Interrupted)
}

pub fn costing(usd: f64, tokens: u64, report: TurnReport) -> TurnReport {
    TurnReport { usage: usage(usd, tokens), ..report }
}

pub fn usage(usd: f64, tokens: u64) -> BTreeMap<String, Usage> {
    BTreeMap::from([(
        "m".to_owned(),
        Usage { output_tokens: tokens, cost_usd: Some(usd), messages: 1, ..Usage::default() },
    )])
}

/// An account of which so much is used.
pub fn window(used_percent: u32) -> AccountWindow {
    AccountWindow { name: "five_hour".into(), used_percent, resets_at: None }
}

pub fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(Event::name).collect()
}
