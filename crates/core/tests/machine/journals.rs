//! Journals of loops of every recipe, recorded by some build: every later build replays them to the same state.
//!
//! `RECORD=1 cargo test -p windlass-core --test machine journals` writes the journals that are missing, never one that exists.
#![allow(clippy::disallowed_methods, reason = "the test reads and writes journals; the machine does not")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::findings::{NewFinding, Severity};
use windlass_core::ids::Role;
use windlass_core::machine::{
    Act, CheckpointReport, Effect, Event, Input, LoopState, Merge, MergeObstacle, Opener, Question, Raise,
    RefusedMerge, Replayed, Smaller, TimerKind, Verdict, effects, replay,
};
use windlass_core::spec::{Done, Limits, LoopSpec, OnFailure, OnLimit, PostAction, ReviewSpec};
use windlass_core::trouble::{Trouble, TroubleKind};

use crate::driven::reviewed::{self, answer, block, clean, dirty};
use crate::driven::*;
use crate::event_json;

/// The journal's format, as the engine writes it into every event.
const FORMAT: u64 = 3;

struct Recording {
    name: &'static str,
    make: fn() -> Driven,
}

const RECORDINGS: [Recording; 14] = [
    Recording { name: "promise-completed-and-continued", make: promise_completed_and_continued },
    Recording { name: "promise-paused-and-rolled-back", make: promise_paused_and_rolled_back },
    Recording { name: "promise-minimised", make: promise_minimised },
    Recording { name: "promise-merge-refused", make: promise_merge_refused },
    Recording { name: "promise-moved", make: promise_moved },
    Recording { name: "promise-failures", make: promise_failures },
    Recording { name: "promise-without-progress", make: promise_without_progress },
    Recording { name: "promise-questions", make: promise_questions },
    Recording { name: "promise-account", make: promise_account },
    Recording { name: "refine-until-the-count", make: refine_until_the_count },
    Recording { name: "audited-sections-and-post-action", make: audited_sections_and_post_action },
    Recording { name: "audited-planned-and-rolled-back", make: audited_planned_and_rolled_back },
    Recording { name: "milestone-accepted-and-continued", make: milestone_accepted_and_continued },
    Recording { name: "milestone-rejected-and-limited", make: milestone_rejected_and_limited },
];

#[test]
// promise: recovery-8
fn recorded_journals_replay_to_the_recorded_state() {
    record_missing();
    let mut names = BTreeSet::new();
    for path in journals() {
        let journal = read(&path);
        names.extend(journal.iter().map(|(_, event)| event.name()));
        let recorded = fs::read_to_string(path.with_extension("state.json")).expect("the state is recorded too");
        let recorded: Value = serde_json::from_str(&recorded).unwrap();
        assert_eq!(shown(&journal), recorded, "{}", path.display());
    }
    let events = event_json::every_event();
    let missing: Vec<&str> = events.iter().map(Event::name).filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "no recorded journal has {missing:?}");
}

#[test]
fn every_recipe_has_a_recorded_journal() {
    let recorded: Vec<String> = journals().iter().map(|path| path.display().to_string()).collect();
    let recipes = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/recipes")).unwrap();
    for recipe in recipes.map(|file| file.unwrap().path()) {
        let recipe = recipe.file_stem().unwrap().display();
        assert!(recorded.iter().any(|path| path.contains(&format!("/{recipe}-"))), "{recipe} has no journal");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals")
}

fn journals() -> Vec<PathBuf> {
    let files = fs::read_dir(folder()).expect("there is a folder of journals").map(|file| file.unwrap().path());
    let mut journals: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")).collect();
    journals.sort();
    assert!(!journals.is_empty());
    journals
}

fn record_missing() {
    if std::env::var_os("RECORD").is_none() {
        return;
    }
    for Recording { name, make } in RECORDINGS {
        let path = folder().join(format!("{name}.jsonl"));
        if path.exists() {
            continue;
        }
        let journal = make().journal;
        let lines = journal.iter().map(|(at, event)| {
            let mut line = serde_json::to_value(event).unwrap();
            line["v"] = json!(FORMAT);
            line["at"] = json!(at);
            format!("{line}\n")
        });
        fs::create_dir_all(folder()).unwrap();
        fs::write(&path, lines.collect::<String>()).unwrap();
        let state = serde_json::to_string_pretty(&shown(&journal)).unwrap();
        fs::write(path.with_extension("state.json"), state + "\n").unwrap();
    }
}

fn read(path: &Path) -> Vec<Replayed> {
    let text = fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let at: Value = serde_json::from_str(line).unwrap();
        let at: Timestamp = serde_json::from_value(at["at"].clone()).unwrap();
        let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        (at, event)
    };
    text.lines().map(line).collect()
}

/// How the loop stood after every event, and all that is known of it at the end.
fn shown(journal: &[Replayed]) -> Value {
    let steps: Vec<String> = (1..=journal.len())
        .map(|count| {
            let state = replay(journal[..count].to_vec()).unwrap();
            format!("{}: {} · {}", journal[count - 1].1.name(), state.status().name(), state.phase().name())
        })
        .collect();
    let state = replay(journal.to_vec()).unwrap();
    json!({ "steps": steps, "end": end(&state) })
}

fn end(state: &LoopState) -> Value {
    let workspace = state.workspace.as_ref();
    let review = state.review.as_ref().map(|review| {
        json!({
            "aim": review.aim(),
            "plan": review.plan,
            "adjustments": review.audit().map_or(0, |audit| audit.adjustments.len()),
            "finished": review.finished(),
            "findings": review.findings().all(),
            "accepted": review.accepted(),
            "rejections": review.rejections,
            "reasons": review.reasons,
            "direction": review.direction,
            "questions": review.questions,
            "post_action": review.post_action,
        })
    });
    let mut end = json!({
        "status": state.status(),
        "stop_reason": state.stop_reason(),
        "outcome": state.outcome(),
        "merged": state.merged,
        "goal": state.spec.goal,
        "iteration": state.iteration,
        "iterations": state.iterations.iter().map(|record| json!(**record)).collect::<Vec<_>>(),
        "head_commit": state.head_commit(),
        "base_commit": workspace.and_then(|workspace| workspace.base_commit.clone()),
        "gates": state.gates,
        "baseline": *state.baseline,
        "claims": state.claims,
        "sessions": state.sessions.iter().map(|(role, id)| (role.name(), id)).collect::<Vec<_>>(),
        "agents": state.chosen.iter().map(|(role, index)| (role.name(), index)).collect::<Vec<_>>(),
        "steering": state.steering.iter().map(|one| json!([one.id, one.delivered])).collect::<Vec<_>>(),
        "denied_hosts": state.denied_hosts,
        "usage": state.used().total(),
        "elapsed_ms": state.elapsed_ms,
        "in_a_row": json!({
            "cut_offs": state.counters.cut_offs,
            "stalls": state.counters.stalls,
            "failures": state.counters.failures,
            "rate_limits": state.counters.rate_limits,
            "no_answers": state.counters.no_answers,
            "sessions_lost": state.counters.sessions_lost,
            "unchanged": state.counters.same,
        }),
        "review": review,
        "wants": effects(state).iter().map(wanted).collect::<Vec<_>>(),
    });
    // Journals that were recorded before there were questions have none.
    if !state.questions.is_empty() {
        let shown = |question: &Question| {
            let answer = question.answer.as_ref();
            let answer = answer.map(|answer| json!([answer.by, answer.text, answer.at, answer.delivered]));
            json!([question.id, question.turn, question.question, question.default, question.until, answer])
        };
        end["questions"] = state.questions.iter().map(shown).collect();
    }
    if !state.account.is_empty() {
        end["account"] = serde_json::json!(state.account);
    }
    end
}

fn wanted(effect: &Effect) -> String {
    match effect {
        Effect::OpenWorkspace { restore } => format!("open the workspace, {}", json!(restore)),
        Effect::RunTurn { turn, session } => format!("run turn {turn}, {}", json!(session)),
        Effect::EndTurn { turn } => format!("end turn {turn}"),
        Effect::SetUpWorkspace => "set up the workspace".to_owned(),
        Effect::Summarise { turn } => format!("summarize turn {turn}"),
        Effect::Checkpoint { turn } => format!("close turn {turn} with a commit"),
        Effect::RunGate { gate } => format!("run gate {}", json!(gate)),
        Effect::Seal { section } => format!("seal section {section}"),
        Effect::Undo { commit } => format!("undo to {commit}"),
        Effect::SetTimer { timer } => format!("wait until {}", timer.at),
    }
}

/// Asked by tool and in the answer, answered by a person, by a default, and by nobody.
fn promise_questions() -> Driven {
    let spec = LoopSpec { question_wait_ms: 30 * MINUTE, gates: vec![gate("cargo test")], ..promise_loop() };
    let mut driven = Driven::working(spec);
    let turn = driven.turn();
    driven.ok(Input::Acted { turn, act: Act::Ask { question: "Which?".into(), default: Some("this".into()) } });
    driven.end_turn_and_checkpoint(asking("Where?", None));
    driven.judge(Verdict::Fail);
    driven.pass(MINUTE);
    driven.ok(Input::Answer { question: Some("q1".into()), text: "that".into() });
    driven.pass(HOUR);
    driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    driven.end_turn_and_checkpoint(asking("Which?", None));
    driven.judge(Verdict::Pass);
    driven.end_turn_and_checkpoint(TurnReport { claim: true, ..asking("When?", Some("now")) });
    driven.judge(Verdict::Pass);
    driven.ok(Input::Pause { now: false });
    driven.pass(HOUR);
    driven.ok(open(Opener::Resume));
    driven
}

fn promise_account() -> Driven {
    let mut driven = Driven::working(promise_loop());
    let turn = driven.turn();
    driven.ok(Input::AccountSeen { turn, windows: vec![window(83)] });
    driven.end_turn_and_checkpoint(claimed());
    driven
}

fn promise_completed_and_continued() -> Driven {
    let mut spec = LoopSpec { gates: vec![gate("cargo test"), hidden_gate("./hidden.sh")], ..promise_loop() };
    spec.workspace.baseline = true;
    spec.workspace.setup = vec!["npm ci".into()];
    spec.summariser.kind = windlass_core::summary::SummariserKind::Agent;
    let mut driven = Driven::created(spec);
    driven.start();
    driven.ok(Input::Queue { max_running: 8 });
    driven.pass(MINUTE);
    driven.ok(Input::LeaveQueue { turn_began: false });
    driven.ok(workspace_opened());
    driven.ok(Input::SetUp);
    // The first gate fails on the base, and fails again.
    for verdict in [Verdict::Fail, Verdict::Fail, Verdict::Pass] {
        answer_gate(&mut driven, verdict);
    }
    let turn = driven.turn();
    driven.ok(Input::SessionSeen { turn, session: "s1".into() });
    driven.pass(MINUTE);
    driven.ok(Input::UsageSeen { turn, usage: usage(0.25, 100) });
    driven.ok(Input::NetworkDenied { host: "a.org:443".into(), why: "not listed".into(), count: 1 });
    driven.ok(Input::Steer { id: "m1".into(), text: "be brief".into(), now: false });
    driven.end_turn(costing(0.5, 200, claimed()));
    summarise(&mut driven);
    driven.checkpoint();
    answer_gate(&mut driven, Verdict::Fail);
    driven.end_turn(costing(0.5, 200, claimed()));
    summarise(&mut driven);
    driven.checkpoint();
    answer_gate(&mut driven, Verdict::Pass);
    answer_gate(&mut driven, Verdict::Pass);
    driven.ok(Input::ResidueChecked { left: Vec::new() });
    driven.ok(Input::Merged { merge: Merge { commit: "m1".into(), target: "main".into() } });
    driven.pass(HOUR);
    driven.ok(Input::Continue { goal: Some("Now the docs".into()), target: None, raise: Raise::default() });
    driven.ok(workspace_opened());
    driven
}

fn summarise(driven: &mut Driven) {
    let Some(Effect::Summarise { turn }) = driven.effects().first().cloned() else { panic!("{:?}", driven.effects()) };
    let summary = windlass_core::machine::SummaryReport {
        summary: "what was done".into(),
        commit_message: Some("a message".into()),
        problem: None,
        usage: usage(0.01, 5),
    };
    driven.ok(Input::Summarised { turn, summary });
}

/// The verdict of the gate that is wanted, whichever it is.
#[track_caller]
fn answer_gate(driven: &mut Driven, verdict: Verdict) {
    let Some(Effect::RunGate { gate }) = driven.effects().first().cloned() else { panic!("{:?}", driven.effects()) };
    let report = driven.report_of(gate.index, verdict);
    driven.ok(Input::GateEnded { gate, report });
}

fn promise_paused_and_rolled_back() -> Driven {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    for iteration in 1..=3 {
        driven.end_turn_and_checkpoint(finished());
        if iteration == 3 {
            driven.ok(Input::Pause { now: false });
        }
        driven.judge(Verdict::Fail);
    }
    let (commit, tree) = ("commit-1.coder.1".to_owned(), "tree-1.coder.1".to_owned());
    driven.ok(Input::RolledBack { to_iteration: 1, commit, tree, saved: Some("refs/windlass/l1/back".into()) });
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    driven.ok(Input::Attach { alive_until: None });
    driven.ok(Input::Pause { now: true });
    driven.end_turn(interrupted());
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    driven.ok(Input::Stop);
    driven.end_turn(interrupted());
    driven.ok(open(Opener::Restart));
    driven.ok(workspace_opened());
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    driven
}

/// The files are lost in a turn, in its checkpoint and in the gates.
fn promise_moved() -> Driven {
    let mut spec = LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() };
    spec.workspace.setup = vec!["npm ci".into()];
    let mut driven = Driven::created(spec);
    driven.start();
    driven.ok(workspace_opened());
    driven.ok(Input::SetUp);
    let moved = |from: Option<&str>| Input::Moved { from: from.map(str::to_owned), to: "here".into() };
    driven.ok(moved(Some("there")));
    driven.end_turn(claimed());
    for lost in [true, false] {
        driven.ok(workspace_opened());
        driven.ok(Input::SetUp);
        driven.end_turn(finished());
        if lost {
            driven.ok(moved(None));
        }
    }
    driven.checkpoint();
    driven.ok(moved(None));
    driven.judge(Verdict::Fail);
    driven.ok(workspace_opened());
    driven.ok(Input::SetUp);
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    driven
}

fn promise_minimised() -> Driven {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    let head = driven.state.head_commit().unwrap_or_default().to_owned();
    driven.ok(Input::Minimised { smaller: Smaller { commit: "s1".into(), head, kept: 1, hunks: 3 } });
    driven
}

fn promise_merge_refused() -> Driven {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    let why = MergeObstacle::Gate { command: "cargo test".into(), output_tail: "1 failed\n".into() };
    driven.ok(Input::MergeRefused { refused: RefusedMerge { target: "main".into(), why } });
    driven
}

fn promise_failures() -> Driven {
    let fallbacks = vec![reviewed::agent("second")];
    let on_failure = OnFailure::Retry { times: 1 };
    let mut driven = Driven::working(LoopSpec { fallbacks, on_failure, ..promise_loop() });
    driven.end_turn(failed(ErrorKind::Overloaded));
    wait(&mut driven);
    driven.end_turn(failed(ErrorKind::UnknownSession));
    driven.ok(workspace_opened());
    let trouble = Trouble { kind: TroubleKind::Git, message: "no git".into() };
    driven.end_turn(finished());
    let effect = driven.effects()[0].clone();
    driven.ok(Input::NotTried { effect, trouble });
    wait(&mut driven);
    driven.checkpoint();
    for _ in 0..2 {
        driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
        wait(&mut driven);
    }
    let turn = driven.turn();
    driven.ok(Input::Stalled { turn });
    driven.end_turn(interrupted());
    driven.ok(workspace_opened());
    driven.end_turn(TurnReport::bare(TurnOutcome::NotStarted { message: "no such file".into(), missing: true }));
    driven
}

fn promise_without_progress() -> Driven {
    let limits = Limits { max_iterations: Some(20), ..Limits::default() };
    let mut driven = Driven::working(LoopSpec { limits, gates: vec![gate("cargo test")], ..promise_loop() });
    while driven.state.is_open() {
        driven.end_turn(finished());
        let checkpoint = unchanged(&driven);
        let turn = driven.state.last_turn.as_ref().unwrap().key;
        driven.ok(Input::Checkpointed { turn, checkpoint });
        driven.judge(Verdict::Fail);
    }
    driven
}

/// What the last turn left if that is what was there before.
fn unchanged(driven: &Driven) -> CheckpointReport {
    CheckpointReport {
        commit: driven.state.head_commit().map(str::to_owned),
        tree: "tree-base".into(),
        files: Vec::new(),
        files_changed: 0,
        created: false,
        ..checkpoint_of(driven.state.last_turn.as_ref().unwrap().key)
    }
}

/// Waits as long as the loop wants, and opens the workspace if it is wanted then.
fn wait(driven: &mut Driven) {
    let Some(Effect::SetTimer { timer }) = driven.effects().first().cloned() else { return };
    driven.now = timer.at;
    driven.ok(Input::TimerFired { timer: timer.kind });
    if let Some(Effect::OpenWorkspace { .. }) = driven.effects().first() {
        driven.ok(workspace_opened());
    }
}

fn refine_until_the_count() -> Driven {
    let done = Done::Count { iterations: 3 };
    let spec = LoopSpec { done, limits: Limits::default(), gates: vec![gate("cargo test")], ..promise_loop() };
    let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..spec });
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    driven.end_turn(cut_off());
    driven.ok(workspace_opened());
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    wait(&mut driven);
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    driven
}

#[track_caller]
fn work(driven: &mut Driven) {
    assert_eq!(driven.turn().role, Role::Coder);
    driven.end_turn_and_checkpoint(answer(
        "done\n<!-- coder-decisions:start -->\n### Decisions\n- kept it small\n<!-- coder-decisions:end -->\n",
    ));
    while let Some(Effect::RunGate { .. }) = driven.effects().first() {
        answer_gate(driven, Verdict::Pass);
    }
}

#[track_caller]
fn seal(driven: &mut Driven, section: u32) {
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    driven.ok(Input::Sealed { section, checkpoint: checkpoint_of(turn) });
    while let Some(Effect::RunGate { .. }) = driven.effects().first() {
        answer_gate(driven, Verdict::Pass);
    }
}

fn audited_sections_and_post_action() -> Driven {
    let post_action = Some(PostAction { prompt: Some("tidy up".into()), skill: None });
    let review = ReviewSpec { post_action, human_review: true, ..reviewed::audit() };
    let spec = reviewed::audited(Some(reviewed::TWO_SECTIONS), review);
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..spec });
    let turn = driven.turn();
    driven.ok(Input::Acted { turn, act: Act::Ask { question: "which?".into(), default: Some("this".into()) } });
    driven.end_turn_and_checkpoint(answer("done"));
    driven.judge(Verdict::Fail);
    work(&mut driven);
    driven.end_turn(dirty());
    work(&mut driven);
    let turn = driven.turn();
    driven.ok(Input::Acted {
        turn,
        act: Act::AdjustPlan { section: 2, body: "## Two\nOtherwise.".into(), rationale: "it has to be".into() },
    });
    driven.ok(Input::Acted { turn, act: Act::ResolveFinding { id: "f1".into() } });
    driven.end_turn(answer("looks good"));
    driven.end_turn(clean());
    seal(&mut driven, 1);
    work(&mut driven);
    driven.end_turn(clean());
    seal(&mut driven, 2);
    driven.end_turn(clean());
    driven.end_turn_and_checkpoint(answer("tidied"));
    driven.judge(Verdict::Fail);
    driven.ok(Input::Undone { commit: head(&driven), tree: "tree".into(), saved: Some("refs/kept".into()) });
    driven.ok(Input::Reject { reason: "name it otherwise".into() });
    driven.ok(workspace_opened());
    driven
}

fn head(driven: &Driven) -> String {
    let Some(Effect::Undo { commit }) = driven.effects().first().cloned() else { panic!("{:?}", driven.effects()) };
    commit
}

fn audited_planned_and_rolled_back() -> Driven {
    let review = ReviewSpec { planning: true, human_review: true, ..reviewed::audit() };
    let mut driven = Driven::working(reviewed::audited(None, review));
    driven.end_turn(answer("no plan"));
    driven.end_turn(answer(reviewed::TWO_SECTIONS));
    work(&mut driven);
    let turn = driven.turn();
    let finding = NewFinding {
        file: "a.rs".into(),
        line: Some(1),
        severity: Severity::Bug,
        description: "wrong".into(),
        scenario: None,
        section: None,
    };
    driven.ok(Input::Acted { turn, act: Act::WriteFinding { finding } });
    driven.end_turn(block(r#"{"verdict": "dirty"}"#));
    driven.ok(Input::Stop);
    driven.end_turn(interrupted());
    let (commit, tree) = ("base".to_owned(), "tree-base".to_owned());
    driven.ok(Input::RolledBack { to_iteration: 0, commit, tree, saved: None });
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    for section in 1..=2 {
        work(&mut driven);
        driven.end_turn(clean());
        seal(&mut driven, section);
    }
    driven.end_turn(clean());
    driven.ok(Input::Approve { reason: Some("good".into()) });
    driven
}

fn milestone_accepted_and_continued() -> Driven {
    let mut driven = Driven::working(reviewed::milestone());
    reviewed::round(&mut driven, reviewed::feature("F1", None), reviewed::rejected("no test"));
    reviewed::develop(&mut driven, reviewed::feature("F1", None));
    let turn = driven.turn();
    driven.ok(Input::SessionSeen { turn, session: "acceptor".into() });
    driven.end_turn(reviewed::accepted());
    reviewed::round(&mut driven, reviewed::feature("F2", None), reviewed::accepted());
    reviewed::round(&mut driven, reviewed::all_features(), reviewed::rejected("an empty query is no error"));
    reviewed::round(&mut driven, reviewed::feature("F2", None), reviewed::accepted());
    reviewed::develop(&mut driven, reviewed::all_features());
    let turn = driven.turn();
    driven.ok(Input::Acted { turn, act: Act::Say { verdict: windlass_core::machine::Opinion::Accepted } });
    driven.end_turn(answer("see the tool"));
    driven.ok(Input::Continue { goal: None, target: None, raise: Raise::default() });
    driven.ok(workspace_opened());
    driven
}

fn milestone_rejected_and_limited() -> Driven {
    let mut driven = Driven::working(LoopSpec {
        on_limit: OnLimit::Pause,
        limits: Limits { max_iterations: Some(5), ..Limits::default() },
        ..reviewed::milestone()
    });
    let turn = driven.turn();
    driven.end_turn(reviewed::feature("F1", None));
    let checkpoint = unchanged(&driven);
    driven.ok(Input::Checkpointed { turn, checkpoint });
    for reason in ["two", "three"] {
        reviewed::round(&mut driven, reviewed::feature("F1", None), reviewed::rejected(reason));
    }
    let text = reviewed::MILESTONE.replace("by author", "by author and year");
    let milestone = windlass_core::milestone::Milestone::parse("search", &text).unwrap();
    driven.ok(Input::AmendMilestone { milestone: Box::new(milestone) });
    driven.ok(Input::Approve { reason: None });
    driven.ok(workspace_opened());
    for _ in 0..2 {
        reviewed::round(&mut driven, reviewed::feature("F2", None), reviewed::accepted());
    }
    driven
}
