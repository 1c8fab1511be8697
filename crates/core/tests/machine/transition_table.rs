//! The machine's transitions, tabulated by driving it, and held in ARCHITECTURE.md.
#![allow(clippy::disallowed_methods, reason = "the test reads and writes a document; the machine does not")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::driven::*;
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::machine::{
    Event, GateKey, Input, LoopState, Opener, Phase, Raise, Refusal, TimerKind, Verdict, WorkspaceFailure,
};
use windlass_core::spec::{Limits, LoopSpec, OnFailure, OnLimit};
use windlass_core::stop::{PauseReason, Status};

const START: &str = "<!-- transitions:start -->";
const END: &str = "<!-- transitions:end -->";

#[test]
fn the_table_in_the_architecture_page_is_what_the_machine_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let page = fs::read_to_string(&path).expect("ARCHITECTURE.md can be read");
    let (before, rest) = page.split_once(START).expect("ARCHITECTURE.md has the marker where the table starts");
    let (_, after) = rest.split_once(END).expect("ARCHITECTURE.md has the marker where the table ends");
    let current = format!("{before}{START}\n{}{END}{after}", table());
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, current).expect("ARCHITECTURE.md can be written");
        return;
    }
    assert!(
        page == current,
        "the transition table in ARCHITECTURE.md is out of date; run\n\n    \
         UPDATE=1 cargo test -p windlass-core --test machine transition_table\n\nand look at what changed"
    );
}

#[test]
fn every_place_is_what_it_is_called_and_every_input_is_accepted_somewhere() {
    let mut accepted = vec![false; inputs().len()];
    for place in places() {
        let driven = (place.reach)();
        assert!(place.name.starts_with(&place_of(&driven.state)), "{} is {}", place.name, place_of(&driven.state));
        for (index, case) in inputs().iter().enumerate() {
            accepted[index] |= outcome(&place, case).is_ok();
        }
    }
    for (case, accepted) in inputs().iter().zip(accepted) {
        assert!(accepted, "`{}` is refused everywhere", case.name);
    }
}

/// A loop in some state, reached by inputs.
struct Place {
    name: &'static str,
    reach: fn() -> Driven,
}

/// Something that is reported or asked for; it may let time pass first.
struct Case {
    name: &'static str,
    input: fn(&mut Driven) -> Input,
}

/// Inputs that are noted and move nothing, wherever they are accepted; the table leaves them out.
const QUIET: [&str; 6] = ["attach", "session seen", "usage within budget", "steer", "host denied", "residue checked"];

#[test]
fn quiet_inputs_change_neither_status_nor_phase() {
    for place in places() {
        for case in inputs().iter().filter(|case| QUIET.contains(&case.name)) {
            if let Ok((becomes, _)) = outcome(&place, case) {
                assert_eq!(becomes, place_of(&(place.reach)().state), "{} in {}", case.name, place.name);
            }
        }
    }
}

fn table() -> String {
    let mut text = format!(
        "\nA promise loop with one gate, five iterations, a budget and a duration limit; `on_failure = stop` and \
         `on_limit = stop` where nothing else is said. What a row does not name is refused and changes nothing. \
         A line in *italics* is a special case of the line above it and shows only what differs. Left out: {}, which \
         are noted and move nothing (`steer --now` also interrupts a coder's turn that has a session).\n\n\
         | in | on | becomes | events |\n|---|---|---|---|\n",
        QUIET.join(", ")
    );
    let places = places();
    for place in &places {
        let base = places.iter().find(|base| base.name != place.name && place.is_case_of(base));
        let name = if base.is_some() { format!("*{}*", place.name) } else { place.name.to_owned() };
        for (becomes, events, on) in rows(place, base) {
            writeln!(text, "| {name} | {} | {becomes} | {events} |", on.join(", ")).unwrap();
        }
    }
    text.push('\n');
    text
}

impl Place {
    fn is_case_of(&self, base: &Place) -> bool {
        self.name.split(',').next() == Some(base.name)
    }
}

/// What each input does there; inputs that do the same share a row.
fn rows(place: &Place, base: Option<&Place>) -> Vec<(String, String, Vec<&'static str>)> {
    let mut rows: Vec<(String, String, Vec<&'static str>)> = Vec::new();
    for case in inputs().iter().filter(|case| !QUIET.contains(&case.name)) {
        let outcome_here = outcome(place, case);
        let (becomes, events) = match (outcome_here, base.map(|base| outcome(base, case))) {
            (here, Some(there)) if here == there => continue,
            (Err(_), None) => continue,
            (Err(_), Some(Err(_))) => continue,
            (Err(refusal), Some(Ok(_))) => ("—".to_owned(), format!("refused: {refusal}")),
            (Ok(done), _) => done,
        };
        match rows.iter_mut().find(|row| row.0 == becomes && row.1 == events) {
            Some(row) => row.2.push(case.name),
            None => rows.push((becomes, events, vec![case.name])),
        }
    }
    if rows.is_empty() {
        rows.push(("—".into(), "everything is refused".into(), vec!["—"]));
    }
    rows
}

fn outcome(place: &Place, case: &Case) -> Result<(String, String), Refusal> {
    let mut driven = (place.reach)();
    let input = (case.input)(&mut driven);
    let events = driven.give(input)?;
    let shown: Vec<String> = events.iter().map(show).collect();
    Ok((place_of(&driven.state), if shown.is_empty() { "none".into() } else { shown.join(", ") }))
}

fn place_of(state: &LoopState) -> String {
    match &state.status {
        Status::Running => format!("running · {}", state.phase.name()),
        Status::Queued | Status::Waiting { .. } | Status::Paused { .. } | Status::Ended { .. } => {
            state.status.name().to_owned()
        }
    }
}

/// The event's name, and why where that is what matters.
fn show(event: &Event) -> String {
    let name = event.name();
    if let Event::LoopStopped { stop_reason, .. } = event {
        return format!("{name} ({})", stop_reason.name());
    }
    if let Event::LoopPaused { why } = event {
        let why = match why {
            PauseReason::Person => "person",
            PauseReason::Limit { .. } => "limit",
            PauseReason::Auth { .. } => "auth",
            PauseReason::Disk { .. } => "disk",
            PauseReason::Infrastructure { .. } => "infrastructure",
            PauseReason::Reviewer { .. } => "reviewer",
            PauseReason::Review => "review",
            PauseReason::Rejections { .. } => "rejections",
        };
        return format!("{name} ({why})");
    }
    if let Event::PhaseEntered { phase, .. } = event {
        return format!("{name} ({})", phase.name());
    }
    name.to_owned()
}

fn spec() -> LoopSpec {
    LoopSpec {
        gates: vec![gate("cargo test")],
        limits: Limits {
            max_iterations: Some(5),
            duration_ms: Some(5 * HOUR),
            budget_usd: Some(1.0),
            max_tokens: None,
        },
        ..promise_loop()
    }
}

fn working() -> Driven {
    Driven::working(spec())
}

fn after_turn(report: TurnReport) -> Driven {
    let mut driven = working();
    driven.end_turn(report);
    driven
}

fn working_after(input: Input) -> Driven {
    let mut driven = working();
    driven.ok(input);
    driven
}

fn in_gates(report: TurnReport) -> Driven {
    let mut driven = after_turn(report);
    driven.checkpoint();
    driven
}

fn places() -> Vec<Place> {
    vec![
        Place { name: "queued", reach: || Driven::created(spec()) },
        Place {
            name: "running · prepare",
            reach: || {
                let mut driven = Driven::created(spec());
                driven.start();
                driven
            },
        },
        Place { name: "running · prepare, a turn is to be tried again", reach: || after_turn(cut_off()) },
        Place { name: "running · work", reach: working },
        Place { name: "running · work, to pause", reach: || working_after(Input::Pause { now: false }) },
        Place { name: "running · work, stopping", reach: || working_after(Input::Stop) },
        Place { name: "running · work, pausing now", reach: || working_after(Input::Pause { now: true }) },
        Place { name: "running · work, stalled", reach: || working_after(Input::Stalled { turn: key(1, 1) }) },
        Place {
            name: "running · work, stalled for the third time",
            reach: || {
                let mut driven = working();
                for attempt in 1..=2 {
                    driven.ok(Input::Stalled { turn: key(1, attempt) });
                    driven.end_turn(interrupted());
                    driven.ok(workspace_opened());
                }
                driven.ok(Input::Stalled { turn: key(1, 3) });
                driven
            },
        },
        Place {
            name: "running · work, cut off twice before",
            reach: || {
                let mut driven = working();
                for _ in 0..2 {
                    driven.end_turn(cut_off());
                    driven.ok(workspace_opened());
                }
                driven
            },
        },
        Place { name: "running · work, shutting down", reach: || working_after(Input::Shutdown) },
        Place {
            name: "running · work, out of budget",
            reach: || working_after(Input::UsageSeen { turn: key(1, 1), usage: usage(2.0, 1) }),
        },
        Place { name: "running · checkpoint", reach: || after_turn(finished()) },
        Place {
            name: "running · checkpoint, stopping",
            reach: || {
                let mut driven = after_turn(finished());
                driven.ok(Input::Stop);
                driven
            },
        },
        Place { name: "running · checkpoint, the turn failed", reach: || after_turn(failed(ErrorKind::Other)) },
        Place {
            name: "running · checkpoint, the turn failed, `on_failure = continue`",
            reach: || {
                let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..spec() });
                driven.end_turn(failed(ErrorKind::Other));
                driven
            },
        },
        Place {
            name: "running · checkpoint, out of budget",
            reach: || {
                let mut driven = working_after(Input::UsageSeen { turn: key(1, 1), usage: usage(2.0, 1) });
                driven.end_turn(costing(2.0, 1, interrupted()));
                driven
            },
        },
        Place { name: "running · gates", reach: || in_gates(finished()) },
        Place { name: "running · gates, claimed", reach: || in_gates(claimed()) },
        Place {
            name: "running · gates, claimed, steering is pending",
            reach: || {
                let mut driven = in_gates(claimed());
                driven.ok(Input::Steer { id: "m0".into(), text: "first".into(), now: false });
                driven
            },
        },
        Place {
            name: "running · gates, to pause",
            reach: || {
                let mut driven = in_gates(finished());
                driven.ok(Input::Pause { now: false });
                driven
            },
        },
        Place { name: "running · gates, last iteration", reach: || last_iteration(OnLimit::Stop) },
        Place {
            name: "running · gates, last iteration, `on_limit = pause`", reach: || last_iteration(OnLimit::Pause)
        },
        Place { name: "waiting for a provider", reach: || after_turn(failed(ErrorKind::Overloaded)) },
        Place {
            name: "waiting after a failure",
            reach: || {
                let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..spec() });
                driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
                driven
            },
        },
        Place { name: "paused in a turn", reach: || after_turn(failed(ErrorKind::Auth)) },
        Place {
            name: "paused between iterations",
            reach: || {
                let mut driven = in_gates(finished());
                driven.ok(Input::Pause { now: false });
                driven.judge(Verdict::Fail);
                driven
            },
        },
        Place {
            name: "paused at a limit",
            reach: || {
                let mut driven = last_iteration(OnLimit::Pause);
                driven.judge(Verdict::Fail);
                driven
            },
        },
        Place {
            name: "exhausted",
            reach: || {
                let mut driven = last_iteration(OnLimit::Stop);
                driven.judge(Verdict::Fail);
                driven
            },
        },
        Place {
            name: "cancelled in a turn",
            reach: || {
                let mut driven = working_after(Input::Stop);
                driven.end_turn(interrupted());
                driven
            },
        },
        Place {
            name: "cancelled in the gates",
            reach: || {
                let mut driven = in_gates(finished());
                driven.ok(Input::Stop);
                driven
            },
        },
        Place {
            name: "errored",
            reach: || {
                let mut driven = after_turn(failed(ErrorKind::Other));
                driven.checkpoint();
                driven
            },
        },
        Place {
            name: "completed",
            reach: || {
                let mut driven = in_gates(claimed());
                driven.judge(Verdict::Pass);
                driven
            },
        },
    ]
}

/// The gates of the last iteration that is allowed.
fn last_iteration(on_limit: OnLimit) -> Driven {
    let limits = Limits { max_iterations: Some(1), ..spec().limits };
    let mut driven = Driven::working(LoopSpec { limits, on_limit, ..spec() });
    driven.end_turn_and_checkpoint(finished());
    driven
}

/// The turn that is or was under way.
fn turn(driven: &Driven) -> windlass_core::ids::TurnKey {
    let running = driven.state.turn.as_ref().map(|turn| turn.key);
    running.or(driven.state.last_turn.as_ref().map(|last| last.key)).unwrap_or(key(1, 1))
}

fn ended(driven: &Driven, report: TurnReport) -> Input {
    Input::TurnEnded { turn: turn(driven), report }
}

fn gate_ended(driven: &Driven, verdict: Verdict) -> Input {
    let judged = if driven.state.phase == Phase::Gates { driven.state.gates.len() } else { 0 };
    Input::GateEnded {
        gate: GateKey { iteration: driven.state.iteration, index: judged, attempt: 1 },
        report: gate_report("cargo test", verdict, driven.state.head_commit().map(str::to_owned)),
    }
}

fn inputs() -> Vec<Case> {
    vec![
        Case { name: "start", input: |_| open(Opener::Start) },
        Case { name: "resume", input: |_| open(Opener::Resume) },
        Case {
            name: "resume with a raised limit",
            input: |_| Input::Open { by: Opener::Resume, raise: Raise { max_iterations: 1, ..Raise::default() } },
        },
        Case { name: "restart", input: |_| open(Opener::Restart) },
        Case { name: "attach", input: |_| Input::Attach { alive_until: None } },
        Case { name: "shutdown", input: |_| Input::Shutdown },
        Case { name: "workspace opened", input: |_| workspace_opened() },
        Case {
            name: "workspace missing",
            input: |_| Input::WorkspaceFailed { failure: WorkspaceFailure::Missing { message: String::new() } },
        },
        Case {
            name: "session seen",
            input: |driven| Input::SessionSeen { turn: turn(driven), session: "another".into() },
        },
        Case {
            name: "usage within budget",
            input: |driven| Input::UsageSeen { turn: turn(driven), usage: usage(0.1, 1) },
        },
        Case {
            name: "usage over budget",
            input: |driven| Input::UsageSeen { turn: turn(driven), usage: usage(2.0, 1) },
        },
        Case { name: "stall", input: |driven| Input::Stalled { turn: turn(driven) } },
        Case { name: "disk short", input: |driven| Input::DiskShort { turn: turn(driven), message: "full".into() } },
        Case { name: "turn finished", input: |driven| ended(driven, finished()) },
        Case { name: "turn finished with a claim", input: |driven| ended(driven, claimed()) },
        Case { name: "turn failed", input: |driven| ended(driven, failed(ErrorKind::Other)) },
        Case { name: "provider overloaded", input: |driven| ended(driven, failed(ErrorKind::Overloaded)) },
        Case {
            name: "rate limited",
            input: |driven| {
                let outcome = TurnOutcome::RateLimited { until: None, message: String::new() };
                ended(driven, TurnReport::bare(outcome))
            },
        },
        Case { name: "session unknown", input: |driven| ended(driven, failed(ErrorKind::UnknownSession)) },
        Case { name: "not logged in", input: |driven| ended(driven, failed(ErrorKind::Auth)) },
        Case {
            name: "agent missing",
            input: |driven| {
                let outcome = TurnOutcome::NotStarted { message: String::new(), missing: true };
                ended(driven, TurnReport::bare(outcome))
            },
        },
        Case { name: "turn interrupted", input: |driven| ended(driven, interrupted()) },
        Case { name: "turn cut off", input: |driven| ended(driven, cut_off()) },
        Case {
            name: "checkpointed",
            input: |driven| Input::Checkpointed { turn: turn(driven), checkpoint: checkpoint_of(turn(driven)) },
        },
        Case { name: "gate passed", input: |driven| gate_ended(driven, Verdict::Pass) },
        Case { name: "gate failed", input: |driven| gate_ended(driven, Verdict::Fail) },
        Case {
            name: "wait over",
            input: |driven| {
                driven.pass(HOUR);
                Input::TimerFired { timer: TimerKind::Wait }
            },
        },
        Case {
            name: "turn timeout",
            input: |driven| {
                driven.pass(HOUR);
                Input::TimerFired { timer: TimerKind::TurnTimeout(turn(driven)) }
            },
        },
        Case {
            name: "duration limit",
            input: |driven| {
                driven.pass(5 * HOUR);
                Input::TimerFired { timer: TimerKind::Duration }
            },
        },
        Case { name: "stop", input: |_| Input::Stop },
        Case { name: "pause", input: |_| Input::Pause { now: false } },
        Case { name: "pause --now", input: |_| Input::Pause { now: true } },
        Case {
            name: "rolled back",
            input: |_| Input::RolledBack {
                to_iteration: 0,
                commit: "c0".into(),
                tree: String::new(),
                saved: Some("refs/windlass/l1/rollback/1".into()),
            },
        },
        Case {
            name: "host denied",
            input: |_| Input::NetworkDenied { host: "a.org:443".into(), why: "not listed".into(), count: 1 },
        },
        Case { name: "residue checked", input: |_| Input::ResidueChecked { left: Vec::new() } },
        Case { name: "steer", input: |_| Input::Steer { id: "m1".into(), text: String::new(), now: false } },
    ]
}
