//! Everything that can be reported or asked for, and which of it is expected in a state.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use windlass_core::agent::{AccountWindow, ErrorKind, TurnOutcome, TurnReport};
use windlass_core::findings::{NewFinding, Severity};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{
    Act, ChangedFile, CheckpointReport, Effect, GateKey, GateOn, GateReport, Input, LoopState, Merge, MergeObstacle,
    Opener, Opinion, Raise, RefusedMerge, Smaller, SummaryReport, TimerKind, Verdict, WorkspaceFailure,
    WorkspaceOpening, effects,
};
use windlass_core::milestone::Milestone;
use windlass_core::review::{self, FeatureReport, MarkedQuestion, Report};
use windlass_core::stop::Status;
use windlass_core::trouble::{Trouble, TroubleKind};
use windlass_core::usage::{Usage, UsageByModel};

use super::specs::{HOUR, MILESTONE};

/// An input. It may let time pass first.
pub struct Case {
    pub name: &'static str,
    pub input: fn(&LoopState, &mut Timestamp) -> Input,
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The answers that are nothing out of the ordinary.
pub fn is_expected(state: &LoopState, wanted: &[Effect], name: &str) -> bool {
    let names: &[&str] = match wanted.first() {
        Some(Effect::OpenWorkspace { .. }) => &["workspace opened"],
        Some(Effect::SetUpWorkspace) => &["set up"],
        Some(Effect::RunTurn { turn, .. }) => match (turn.role, &state.spec.review) {
            (Role::Coder, Some(review)) if review.milestone.is_some() => &["feature done", "all features done"],
            // It asks as often as it works.
            (Role::Coder, None) if state.spec.recipe == "asked" => &["turn finished", "turn finished with a question"],
            (Role::Coder, None) => &["turn finished", "turn finished with a claim"],
            (Role::Auditor, _) => &["audit clean", "audit dirty"],
            (Role::Acceptor, _) => &["accepted", "rejected"],
            (Role::Planner, _) => &["plan written"],
            (Role::Coder | Role::Finisher | Role::Summariser, _) => &["turn finished"],
        },
        Some(Effect::EndTurn { .. }) => &["turn interrupted"],
        Some(Effect::Summarise { .. }) => &["summarised"],
        Some(Effect::Checkpoint { .. }) => &["checkpointed", "checkpointed without a change"],
        Some(Effect::RunGate { .. }) => &["gate passed", "gate failed"],
        Some(Effect::Seal { .. }) => &["sealed"],
        Some(Effect::Undo { .. }) => &["undone"],
        Some(Effect::SetTimer { .. }) if state.open_questions().next().is_some() => &["wait over", "answer"],
        Some(Effect::SetTimer { .. }) => &["wait over"],
        None => match state.status() {
            Status::Queued if !state.awaits_place() => &["start"],
            Status::Paused { .. } => &["approve", "reject"],
            Status::Queued | Status::Running | Status::Waiting { .. } | Status::Ended { .. } => &[],
        },
    };
    names.contains(&name)
}

/// The plainest answer to what is wanted.
pub fn plain(state: &LoopState, effect: &Effect, now: &mut Timestamp) -> Input {
    match effect {
        Effect::OpenWorkspace { .. } => workspace_opened(),
        Effect::SetUpWorkspace => Input::SetUp,
        Effect::RunTurn { turn, .. } => Input::turn_ended(*turn, plain_report(state, turn.role)),
        Effect::EndTurn { turn } => Input::turn_ended(*turn, TurnReport::bare(TurnOutcome::Interrupted)),
        Effect::Summarise { turn } => Input::Summarised { turn: *turn, summary: summary() },
        Effect::Checkpoint { turn } => Input::Checkpointed { turn: *turn, checkpoint: checkpoint_of(*turn) },
        Effect::RunGate { gate } => Input::GateEnded { report: gate_report(state, Verdict::Pass), gate: gate.clone() },
        Effect::Seal { section } => Input::Sealed { section: *section, checkpoint: checkpoint_of(turn(state)) },
        Effect::Undo { commit } => Input::Undone { commit: commit.clone(), tree: String::new(), saved: None },
        Effect::SetTimer { timer } => {
            *now = timer.at.max(*now);
            Input::TimerFired { timer: timer.kind }
        }
    }
}

fn plain_report(state: &LoopState, role: Role) -> TurnReport {
    match role {
        Role::Coder if state.spec.review.as_ref().is_some_and(|review| review.milestone.is_some()) => all_features(),
        Role::Coder => TurnReport { claim: true, ..finished() },
        Role::Auditor if !open_findings(state).is_empty() => resolving(state),
        Role::Auditor => block(CLEAN),
        Role::Acceptor => verdict("ACCEPTED"),
        Role::Planner => answer(WRITTEN_PLAN),
        Role::Finisher | Role::Summariser => answer("done"),
    }
}

const CLEAN: &str = r#"{"verdict": "clean", "section_summary": {"done": ["it"]}}"#;
const DIRTY: &str =
    r#"{"verdict": "dirty", "findings": [{"file": "a.rs", "line": 3, "severity": "bug", "description": "wrong"}]}"#;
const WRITTEN_PLAN: &str = "<!-- windlass-section -->\n## One\nFirst.\n\n<!-- windlass-section -->\n## Two\nSecond.\n";

fn open_findings(state: &LoopState) -> Vec<String> {
    let review = state.review.as_ref();
    review.map(|review| review.findings().open().map(|finding| finding.id.to_string()).collect()).unwrap_or_default()
}

fn resolving(state: &LoopState) -> TurnReport {
    let open: Vec<String> = open_findings(state).iter().map(|id| format!("\"{id}\"")).collect();
    block(&format!(
        r#"{{"verdict": "clean", "resolved": [{}], "section_summary": {{"done": ["it"]}}}}"#,
        open.join(", ")
    ))
}

/// The turn that is or was under way.
fn turn(state: &LoopState) -> TurnKey {
    let running = state.turn().map(|turn| turn.key);
    let last = state.last_turn.as_ref().map(|last| last.key);
    running.or(last).unwrap_or(TurnKey { iteration: 1, role: Role::Coder, attempt: 1 })
}

fn ended(state: &LoopState, report: TurnReport) -> Input {
    Input::turn_ended(turn(state), report)
}

fn finished() -> TurnReport {
    TurnReport { session: Some("s1".into()), ..TurnReport::bare(TurnOutcome::Finished) }
}

fn failed(kind: ErrorKind) -> TurnReport {
    TurnReport::bare(TurnOutcome::Failed { kind, message: "oops".into() })
}

fn asking(questions: &[&str]) -> TurnReport {
    let asked = |question: &&str| MarkedQuestion { question: (*question).into(), default: Some("this".into()) };
    TurnReport { questions: questions.iter().map(asked).collect(), ..finished() }
}

fn answer(text: &str) -> TurnReport {
    TurnReport { answer: Some(text.into()), ..TurnReport::bare(TurnOutcome::Finished) }
}

fn block(json: &str) -> TurnReport {
    answer(&format!("Looked.\n\n```windlass-review\n{json}\n```\n"))
}

fn verdict(words: &str) -> TurnReport {
    TurnReport { verdict: Some(review::Verdict::read(words, "")), ..answer(words) }
}

fn feature(commit: Option<&str>) -> TurnReport {
    let report = FeatureReport {
        feature: "F1: a feature".into(),
        feature_id: Some("F1".into()),
        commit: commit.map(Into::into),
        ..FeatureReport::default()
    };
    TurnReport { developer: Some(Box::new(Report::Feature(report))), ..answer("the report") }
}

fn all_features() -> TurnReport {
    let report = Report::AllFeaturesComplete { commits: Vec::new(), summary: "All of it.".into() };
    TurnReport { developer: Some(Box::new(report)), ..answer("the report") }
}

fn usage(usd: f64) -> UsageByModel {
    let used = Usage { output_tokens: 1, cost_usd: Some(usd), messages: 1, ..Usage::default() };
    BTreeMap::from([("m".to_owned(), used)])
}

fn opening() -> WorkspaceOpening {
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
        handle: serde_json::Value::Null,
    }
}

fn workspace_opened() -> Input {
    Input::WorkspaceOpened { opening: opening() }
}

fn checkpoint_of(turn: TurnKey) -> CheckpointReport {
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

fn unchanged(state: &LoopState) -> CheckpointReport {
    let tree = state.workspace.as_ref().and_then(|workspace| workspace.tree.clone()).unwrap_or_default();
    CheckpointReport {
        commit: state.head_commit().map(str::to_owned),
        tree,
        files: Vec::new(),
        files_changed: 0,
        created: false,
        ..checkpoint_of(turn(state))
    }
}

fn gate_report(state: &LoopState, verdict: Verdict) -> GateReport {
    GateReport {
        command: "cargo test".into(),
        hidden: false,
        verdict,
        exit_code: Some(i32::from(!verdict.passed())),
        commit: state.head_commit().map(str::to_owned),
        tree: String::new(),
        duration_ms: 1,
        output_tail: "what the gate printed".into(),
        output_sha256: None,
        changed: Vec::new(),
    }
}

fn gate_ended(state: &LoopState, verdict: Verdict) -> Input {
    let due = effects(state).into_iter().find_map(|effect| match effect {
        Effect::RunGate { gate } => Some(gate),
        Effect::OpenWorkspace { .. }
        | Effect::SetUpWorkspace
        | Effect::RunTurn { .. }
        | Effect::EndTurn { .. }
        | Effect::Summarise { .. }
        | Effect::Checkpoint { .. }
        | Effect::Seal { .. }
        | Effect::Undo { .. }
        | Effect::SetTimer { .. } => None,
    });
    let gate = due.unwrap_or(GateKey { on: GateOn::from(state.iteration), index: 0, attempt: 1 });
    Input::GateEnded { gate, report: gate_report(state, verdict) }
}

/// The section whose commit is due.
fn sealed(state: &LoopState) -> Input {
    let section = state.review.as_ref().and_then(|review| review.section_number()).unwrap_or(1);
    Input::Sealed { section, checkpoint: checkpoint_of(turn(state)) }
}

fn summary() -> SummaryReport {
    SummaryReport { summary: "what was done".into(), commit_message: None, problem: None, usage: UsageByModel::new() }
}

fn finding(line: u32) -> NewFinding {
    NewFinding {
        file: "a.rs".into(),
        line: Some(line),
        severity: Severity::Bug,
        description: "wrong".into(),
        scenario: None,
        section: None,
    }
}

fn acted(state: &LoopState, act: Act) -> Input {
    Input::Acted { turn: turn(state), act }
}

fn pass(now: &mut Timestamp, ms: u64) {
    let span = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    *now = now.checked_add(span).unwrap_or(Timestamp::MAX);
}

fn trouble() -> Trouble {
    Trouble { kind: TroubleKind::Sandbox, message: String::new() }
}

fn open(by: Opener) -> Input {
    Input::Open { by, raise: Raise::default() }
}

macro_rules! cases {
    ($($name:literal: $input:expr;)*) => { vec![$(Case { name: $name, input: $input }),*] };
}

pub fn all() -> Vec<Case> {
    [people(), driver(), turns(), answers(), acts()].into_iter().flatten().collect()
}

fn people() -> Vec<Case> {
    cases! {
        "start": |_, _| open(Opener::Start);
        "resume": |_, _| open(Opener::Resume);
        "resume with more iterations": |_, _| {
            Input::Open { by: Opener::Resume, raise: Raise { max_iterations: 1, ..Raise::default() } }
        };
        "resume with more tokens": |_, _| {
            Input::Open { by: Opener::Resume, raise: Raise { max_tokens: 1, ..Raise::default() } }
        };
        "restart": |_, _| open(Opener::Restart);
        "continue": |_, _| Input::Continue { goal: None, target: None, raise: Raise::default() };
        "stop": |_, _| Input::Stop;
        "pause": |_, _| Input::Pause { now: false };
        "pause --now": |_, _| Input::Pause { now: true };
        "steer": |_, _| Input::Steer { id: "m1".into(), text: String::new(), now: false };
        "steer --now": |_, _| Input::Steer { id: "m2".into(), text: String::new(), now: true };
        "answer": |_, _| Input::Answer { question: None, text: "that".into() };
        "approve": |_, _| Input::Approve { reason: None };
        "reject": |_, _| Input::Reject { reason: "no".into() };
        "rolled back": |_, _| {
            Input::RolledBack { to_iteration: 0, commit: "base".into(), tree: String::new(), saved: None }
        };
        "merged": |_, _| Input::Merged { merge: Merge { commit: "m1".into(), target: "main".into() } };
        "merge refused": |_, _| {
            let why = MergeObstacle::Conflicts { files: vec!["a".into()] };
            Input::MergeRefused { refused: RefusedMerge { target: "main".into(), why } }
        };
        "minimised": |state, _| {
            let head = state.head_commit().unwrap_or_default().to_owned();
            Input::Minimised { smaller: Smaller { commit: "s1".into(), head, kept: 1, hunks: 3 } }
        };
        "milestone amended": |state, _| {
            let known = state.spec.review.as_ref().and_then(|review| review.milestone.clone());
            match known.or_else(|| Milestone::parse("search", MILESTONE).ok()) {
                Some(milestone) => Input::AmendMilestone { milestone: Box::new(milestone) },
                None => Input::Stop,
            }
        };
    }
}

fn driver() -> Vec<Case> {
    cases! {
        "no place is free": |_, _| Input::Queue { max_running: 8 };
        "place free": |_, _| Input::LeaveQueue { turn_began: false };
        "attach": |_, _| Input::Attach { alive_until: None };
        "moved": |_, _| Input::Moved { from: None, to: "b".into() };
        "shutdown": |_, _| Input::Shutdown;
        "workspace missing": |_, _| {
            Input::WorkspaceFailed { failure: WorkspaceFailure::Missing { message: String::new() } }
        };
        "set-up failed": |_, _| {
            Input::WorkspaceFailed { failure: WorkspaceFailure::Setup { message: String::new() } }
        };
        "could not run": |state, _| {
            let effect = effects(state).into_iter().next().unwrap_or(Effect::SetUpWorkspace);
            Input::NotTried { effect, trouble: trouble() }
        };
        "host denied": |_, _| {
            Input::NetworkDenied { host: "a.org:443".into(), why: "not listed".into(), count: 1 }
        };
        "residue checked": |_, _| Input::ResidueChecked { left: Vec::new() };
        "stall": |state, _| Input::Stalled { turn: turn(state) };
        "disk short": |state, _| Input::DiskShort { turn: turn(state), message: "full".into() };
        "session seen": |state, _| Input::SessionSeen { turn: turn(state), session: "s2".into() };
        "usage within budget": |state, _| Input::UsageSeen { turn: turn(state), usage: usage(0.1) };
        "usage over budget": |state, _| Input::UsageSeen { turn: turn(state), usage: usage(2.0) };
        "account seen": |state, _| {
            let window = AccountWindow { name: "five_hour".into(), used_percent: 83, resets_at: None };
            Input::AccountSeen { turn: turn(state), windows: vec![window] }
        };
        "wait over": |_, now| {
            pass(now, HOUR);
            Input::TimerFired { timer: TimerKind::Wait }
        };
        "turn timeout": |state, now| {
            pass(now, HOUR);
            Input::TimerFired { timer: TimerKind::TurnTimeout(turn(state)) }
        };
        "duration limit": |_, now| {
            pass(now, 5 * HOUR);
            Input::TimerFired { timer: TimerKind::Duration }
        };
        "timer too early": |_, _| Input::TimerFired { timer: TimerKind::Duration };
    }
}

fn turns() -> Vec<Case> {
    cases! {
        "turn finished": |state, _| ended(state, finished());
        "turn finished with a claim": |state, _| ended(state, TurnReport { claim: true, ..finished() });
        "turn finished with a question": |state, _| ended(state, asking(&["Which?"]));
        "turn finished with two questions": |state, _| ended(state, asking(&["Which?", "When?"]));
        "turn finished over budget": |state, _| ended(state, TurnReport { usage: usage(2.0), ..finished() });
        "turn failed": |state, _| ended(state, failed(ErrorKind::Other));
        "provider overloaded": |state, _| ended(state, failed(ErrorKind::Overloaded));
        "rate limited": |state, _| {
            ended(state, TurnReport::bare(TurnOutcome::RateLimited { until: None, message: String::new() }))
        };
        "session unknown": |state, _| ended(state, failed(ErrorKind::UnknownSession));
        "not logged in": |state, _| ended(state, failed(ErrorKind::Auth));
        "no credit left": |state, _| ended(state, failed(ErrorKind::Billing));
        "agent missing": |state, _| {
            ended(state, TurnReport::bare(TurnOutcome::NotStarted { message: String::new(), missing: true }))
        };
        "turn interrupted": |state, _| ended(state, TurnReport::bare(TurnOutcome::Interrupted));
        "turn cut off": |state, _| ended(state, TurnReport::bare(TurnOutcome::CutOff));
        "result of another turn": |_, _| {
            Input::turn_ended(TurnKey { iteration: 9, role: Role::Coder, attempt: 1 }, finished())
        };
        "plan written": |state, _| ended(state, answer(WRITTEN_PLAN));
        "feature done": |state, _| ended(state, feature(None));
        "feature done in a commit that nobody knows": |state, _| ended(state, feature(Some("nowhere")));
        "all features done": |state, _| ended(state, all_features());
        "decisions told": |state, _| {
            let told = "Done.\n<!-- coder-decisions:start -->\n### Decisions\n- one\n<!-- coder-decisions:end -->\n";
            ended(state, answer(told))
        };
        "audit clean": |state, _| ended(state, block(CLEAN));
        "audit dirty": |state, _| ended(state, block(DIRTY));
        "audit clean, all resolved": |state, _| ended(state, resolving(state));
        "accepted": |state, _| ended(state, verdict("ACCEPTED"));
        "rejected": |state, _| ended(state, verdict("REJECTED: no"));
        "answer unreadable": |state, _| ended(state, verdict("hm"));
    }
}

fn answers() -> Vec<Case> {
    cases! {
        "workspace opened": |_, _| workspace_opened();
        "set up": |_, _| Input::SetUp;
        "summarised": |state, _| Input::Summarised { turn: turn(state), summary: summary() };
        "checkpointed": |state, _| {
            Input::Checkpointed { turn: turn(state), checkpoint: checkpoint_of(turn(state)) }
        };
        "checkpointed without a change": |state, _| {
            Input::Checkpointed { turn: turn(state), checkpoint: unchanged(state) }
        };
        "checkpointed with a secret held back": |state, _| {
            let checkpoint = checkpoint_of(turn(state));
            let held_back = vec![".env: a token".into()];
            Input::Checkpointed { turn: turn(state), checkpoint: CheckpointReport { held_back, ..checkpoint } }
        };
        "gate passed": |state, _| gate_ended(state, Verdict::Pass);
        "gate failed": |state, _| gate_ended(state, Verdict::Fail);
        "sealed": |state, _| sealed(state);
        "undone": |state, _| {
            let agreed = state.review.as_ref().and_then(|review| review.agreed.clone()?.commit);
            Input::Undone { commit: agreed.unwrap_or_default(), tree: String::new(), saved: None }
        };
    }
}

fn acts() -> Vec<Case> {
    cases! {
        "agent asks": |state, _| acted(state, Act::Ask { question: "Where?".into(), default: None });
        "agent writes a finding": |state, _| acted(state, Act::WriteFinding { finding: finding(5) });
        "agent resolves a finding": |state, _| {
            let id = open_findings(state).into_iter().next().unwrap_or_else(|| "a.rs:5".into());
            acted(state, Act::ResolveFinding { id })
        };
        "agent adjusts the plan": |state, _| {
            acted(state, Act::AdjustPlan { section: 2, body: "Second, better.".into(), rationale: "why".into() })
        };
        "agent says clean": |state, _| acted(state, Act::Say { verdict: Opinion::Clean { summary: None } });
        "agent says accepted": |state, _| acted(state, Act::Say { verdict: Opinion::Accepted });
        "agent reports": |state, _| {
            let report = Report::AllFeaturesComplete { commits: Vec::new(), summary: "All of it.".into() };
            acted(state, Act::Report { report: Box::new(report) })
        };
    }
}
