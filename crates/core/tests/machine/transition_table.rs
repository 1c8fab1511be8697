//! The machine's transitions, tabulated by driving it, and held in docs/transitions.md.
#![allow(clippy::disallowed_methods, reason = "the test reads and writes a document; the machine does not")]
#![allow(unreachable_pub, reason = "a module of a test crate")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::driven::*;
use crate::transition_places::{Place, recipes};
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::machine::{
    Act, Effect, Event, GateKey, Input, LoopState, Merge, MergeObstacle, Opener, Phase, Raise, Refusal, RefusedMerge,
    Smaller, TimerKind, Verdict, WorkspaceFailure,
};
use windlass_core::stop::{PauseReason, Status};
use windlass_core::trouble::{Trouble, TroubleKind};

#[test]
fn transitions_page_is_what_the_machine_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/transitions.md");
    let page = fs::read_to_string(&path).unwrap_or_default();
    let current = table();
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, current).expect("docs/transitions.md can be written");
        return;
    }
    assert!(
        page == current,
        "docs/transitions.md is out of date; run\n\n    \
         UPDATE=1 cargo test -p windlass-core --test machine transition_table\n\nand look at what changed"
    );
}

#[test]
fn every_place_is_what_it_is_called_and_every_input_is_accepted_somewhere() {
    let mut accepted = vec![false; inputs().len()];
    for place in recipes().into_iter().flat_map(|recipe| recipe.places) {
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

/// Something that is reported or asked for; it may let time pass first.
pub struct Case {
    pub name: &'static str,
    pub input: fn(&mut Driven) -> Input,
}

/// Inputs that are noted and move nothing, wherever they are accepted; the table leaves them out.
const QUIET: [&str; 8] = [
    "attach",
    "session seen",
    "usage within budget",
    "steer",
    "question asked",
    "host denied",
    "residue checked",
    "merged",
];

#[test]
fn quiet_inputs_change_neither_status_nor_phase() {
    for place in recipes().into_iter().flat_map(|recipe| recipe.places) {
        for case in inputs().iter().filter(|case| QUIET.contains(&case.name)) {
            if let Ok((becomes, _)) = outcome(&place, case) {
                assert_eq!(becomes, place_of(&(place.reach)().state), "{} in {}", case.name, place.name);
            }
        }
    }
}

fn table() -> String {
    let mut text = format!(
        "# Transitions of the machine\n\nGenerated from the code; `UPDATE=1 cargo test -p windlass-core --test machine \
         transition_table` writes it again, and a test keeps it current.\n\nWhat a row does not name is refused and \
         changes nothing. A line in *italics* is a special case of the line above it and shows only what differs. Left \
         out: {}, which are recorded and move nothing (`steer --now` also interrupts a coder's turn that has a \
         session).\n",
        QUIET.join(", ")
    );
    for recipe in recipes() {
        write!(text, "\n## {}\n\n{}\n\n| in | on | becomes | events |\n|---|---|---|---|\n", recipe.name, recipe.about)
            .unwrap();
        for place in &recipe.places {
            let base = recipe.places.iter().find(|base| base.name != place.name && place.is_case_of(base));
            let name = if base.is_some() { format!("*{}*", place.name) } else { place.name.to_owned() };
            for (becomes, events, on) in rows(place, base) {
                writeln!(text, "| {name} | {} | {becomes} | {events} |", on.join(", ")).unwrap();
            }
        }
    }
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
    match &state.status() {
        Status::Running => format!("running · {}", state.phase().name()),
        Status::Queued | Status::Waiting { .. } | Status::Paused { .. } | Status::Ended { .. } => {
            state.status().name().to_owned()
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
            PauseReason::ProviderLimit { .. } => "provider_limit",
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

/// The turn that is or was under way.
pub fn turn(driven: &Driven) -> windlass_core::ids::TurnKey {
    let running = driven.state.turn().map(|turn| turn.key);
    running.or(driven.state.last_turn.as_ref().map(|last| last.key)).unwrap_or(key(1, 1))
}

pub fn ended(driven: &Driven, report: TurnReport) -> Input {
    Input::turn_ended(turn(driven), report)
}

fn gate_ended(driven: &Driven, verdict: Verdict) -> Input {
    let judged = if driven.state.phase() == Phase::Gates { driven.state.gates.len() } else { 0 };
    Input::GateEnded {
        gate: GateKey { on: driven.state.iteration.into(), index: judged, attempt: 1 },
        report: gate_report("cargo test", verdict, driven.state.head_commit().map(str::to_owned)),
    }
}

pub fn inputs() -> Vec<Case> {
    vec![
        Case { name: "start", input: |_| open(Opener::Start) },
        Case { name: "resume", input: |_| open(Opener::Resume) },
        Case {
            name: "resume with a raised limit",
            input: |_| Input::Open { by: Opener::Resume, raise: Raise { max_iterations: 1, ..Raise::default() } },
        },
        Case { name: "restart", input: |_| open(Opener::Restart) },
        Case { name: "no place is free", input: |_| Input::Queue { max_running: 8 } },
        Case { name: "place free", input: |_| Input::LeaveQueue { turn_began: false } },
        Case { name: "attach", input: |_| Input::Attach { alive_until: None } },
        Case { name: "moved", input: |_| Input::Moved { from: None, to: "b".into() } },
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
        Case { name: "turn finished with a question", input: |driven| ended(driven, asking("Which?", Some("this"))) },
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
        Case {
            name: "could not run",
            input: |driven| Input::NotTried {
                effect: driven.effects().into_iter().next().unwrap_or(Effect::SetUpWorkspace),
                trouble: Trouble { kind: TroubleKind::Sandbox, message: String::new() },
            },
        },
        Case { name: "audit clean", input: |driven| ended(driven, reviewed::clean()) },
        Case { name: "audit dirty", input: |driven| ended(driven, reviewed::dirty()) },
        Case { name: "accepted", input: |driven| ended(driven, reviewed::accepted()) },
        Case { name: "rejected", input: |driven| ended(driven, reviewed::rejected("no")) },
        Case { name: "answer unreadable", input: |driven| ended(driven, reviewed::verdict("hm")) },
        Case { name: "sealed", input: |driven| Input::Sealed { section: 1, checkpoint: checkpoint_of(turn(driven)) } },
        Case {
            name: "undone",
            input: |driven| {
                let agreed = driven.state.review.as_ref().and_then(|review| review.agreed.clone()?.commit);
                Input::Undone { commit: agreed.unwrap_or_default(), tree: String::new(), saved: None }
            },
        },
        Case { name: "approve", input: |_| Input::Approve { reason: None } },
        Case { name: "reject", input: |_| Input::Reject { reason: "no".into() } },
        Case { name: "continue", input: |_| Input::Continue { goal: None, target: None, raise: Raise::default() } },
        Case {
            name: "merged",
            input: |_| Input::Merged { merge: Merge { commit: "m1".into(), target: "main".into() } },
        },
        Case {
            name: "merge refused",
            input: |_| {
                let why = MergeObstacle::Conflicts { files: vec!["a".into()] };
                Input::MergeRefused { refused: RefusedMerge { target: "main".into(), why } }
            },
        },
        Case {
            name: "minimised",
            input: |driven| {
                let head = driven.state.head_commit().unwrap_or_default().to_owned();
                Input::Minimised { smaller: Smaller { commit: "s1".into(), head, kept: 1, hunks: 3 } }
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
        Case {
            name: "question asked",
            input: |driven| Input::Acted {
                turn: turn(driven),
                act: Act::Ask { question: "Where?".into(), default: None },
            },
        },
        Case { name: "answer", input: |_| Input::Answer { question: None, text: "that".into() } },
        Case { name: "steer", input: |_| Input::Steer { id: "m1".into(), text: String::new(), now: false } },
    ]
}
