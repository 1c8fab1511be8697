//! Loops that go on without the files they had.
#![allow(clippy::wildcard_enum_match_arm, reason = "a property looks at a few events and passes over the rest")]

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::driven::*;
use crate::transition_places::recipes;
use crate::walk::{Walk, walks};
use windlass_core::agent::TurnOutcome;
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{
    Activity, Doing, Effect, Event, Input, LoopState, Next, Opener, Phase, Refusal, Restore, RestoredSnapshot,
    SessionUse, Verdict, WorkspaceOpening,
};
use windlass_core::prompt::Facts;
use windlass_core::spec::{CommitPolicy, LoopSpec, WorkspaceKind};
use windlass_core::stop::{Status, StopReason};
use windlass_core::summary::SummariserKind;

fn moved() -> Input {
    Input::Moved { from: Some("a".into()), to: "b".into() }
}

/// The turn whose work no commit holds yet.
fn uncommitted(state: &LoopState) -> Option<TurnKey> {
    let closing = |doing: &Doing| match doing {
        Doing::Summarise { turn } | Doing::Checkpoint { turn, .. } => Some(turn.key),
        Doing::Turn(turn) => Some(turn.key).filter(|key| !key.role.only_reads()),
        _ => None,
    };
    match &state.activity {
        Activity::Running(doing) | Activity::Waiting { then: Next::Same(doing), .. } => closing(doing),
        _ => None,
    }
}

#[test]
// promise: recovery-14
fn in_every_phase_of_every_recipe_a_move_clears_sessions_and_makes_an_uncommitted_turn_due_again() {
    let mut phases = BTreeSet::new();
    for place in recipes().into_iter().flat_map(|recipe| recipe.places) {
        let mut driven = (place.reach)();
        let (before, lost) = (driven.state.clone(), uncommitted(&driven.state));
        let Ok(events) = driven.give(moved()) else {
            assert!(!before.is_under_way() || before.workspace.is_none(), "{}", place.name);
            continue;
        };
        assert_eq!(events[0].name(), "loop_moved", "{}", place.name);
        assert!(driven.state.sessions.is_empty(), "{}", place.name);
        assert_eq!(driven.state.head_commit(), before.head_commit(), "{}", place.name);
        if before.status() == Status::Running {
            phases.insert(before.phase());
        }
        match before.phase() {
            Phase::Gates
            | Phase::Seal
            | Phase::Undo
            | Phase::Work
            | Phase::Review
            | Phase::Plan
            | Phase::PostAction => {
                assert_eq!(driven.state.phase(), before.phase(), "{}", place.name);
            }
            Phase::Checkpoint | Phase::Summarise if before.wish.is_none() && before.status() == Status::Running => {
                assert_eq!(driven.state.phase(), Phase::Prepare, "{}", place.name);
            }
            _ => {}
        }
        // An end that the driver finds recorded does not count: the tree is lost.
        if let (Some(turn), Some(running)) = (lost, driven.state.turn().map(|turn| turn.key)) {
            assert_eq!(turn, running, "{}", place.name);
            driven.ok(Input::turn_ended(turn, claimed()));
            assert!(!matches!(driven.state.phase(), Phase::Checkpoint | Phase::Summarise), "{}", place.name);
            assert!(driven.state.sessions.is_empty(), "{}", place.name);
        }
        if let Some(turn) = lost {
            assert_eq!(driven.give(Input::Checkpointed { turn, checkpoint: checkpoint_of(turn) }), Err(Refusal::Stale));
        }
    }
    let missing: Vec<Phase> = [Phase::Prepare, Phase::Work, Phase::Checkpoint, Phase::Gates, Phase::Review]
        .into_iter()
        .chain([Phase::Seal, Phase::PostAction, Phase::Undo])
        .filter(|phase| !phases.contains(phase))
        .collect();
    assert!(missing.is_empty(), "no place is in {missing:?}");
}

#[test]
// promise: recovery-14
fn turn_that_lost_its_tree_starts_fresh_at_the_commit_with_its_message() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn_and_checkpoint(finished());
    driven.ok(Input::Steer { id: "m1".into(), text: "be quick".into(), now: false });
    driven.end_turn_and_checkpoint(finished());
    driven.end_turn(claimed());
    assert_eq!(driven.state.phase(), Phase::Checkpoint);
    let events = driven.ok(moved());
    assert_eq!(names(&events), ["loop_moved", "phase_entered"]);
    let cut_turn = key(3, 1);
    let restore = Restore::Reset { commit: "commit-2.coder.1".into(), cut_turn, moved: true };
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore }]);
    let events = driven.ok(workspace_opened());
    let Some(Event::TurnStarted { turn, session, steering, recovery, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!((*turn, session, *recovery), (key(3, 2), &SessionUse::Fresh, false));
    assert_eq!(steering, &["m1"], "what the lost turn was told is told again");
    assert_eq!(driven.state.claims.made, 0);
}

/// What a machine restored of the lost turn.
fn snapshot(commit: &str) -> RestoredSnapshot {
    RestoredSnapshot { commit: commit.into(), taken_at: "2026-05-01T10:00:00Z".parse().unwrap(), files_changed: 2 }
}

fn opened_with(commit: &str) -> Input {
    let Input::WorkspaceOpened { opening } = workspace_opened() else { unreachable!() };
    Input::WorkspaceOpened { opening: WorkspaceOpening { snapshot: Some(snapshot(commit)), ..opening } }
}

fn prompt(state: &LoopState) -> String {
    windlass_core::prompt::build(state, &Facts::default(), &|text| text.len())
}

#[test]
fn turn_that_was_lost_continues_with_its_snapshot_in_a_fresh_session_that_is_told() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::SessionSeen { turn: key(1, 1), session: "s1".into() });
    driven.ok(moved());
    // What it claimed is lost with it, though the snapshot may have all of its files.
    driven.end_turn(claimed());
    let restore = Restore::Reset { commit: "base".into(), cut_turn: key(1, 1), moved: true };
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore }]);
    let events = driven.ok(opened_with("wip-1"));
    let Some(Event::TurnStarted { turn, session, recovery, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!((*turn, session, *recovery), (key(1, 2), &SessionUse::Fresh, true));
    assert_eq!((driven.state.claims.made, driven.state.head_commit()), (0, Some("base")));
    let told = prompt(&driven.state);
    assert!(told.contains("changes as they were at 2026-05-01T10:00:00Z"), "{told}");
    // The next machine is lost before it saved anything: the snapshot is still known.
    driven.ok(moved());
    driven.end_turn(cut_off());
    let known = |driven: &Driven| driven.state.workspace.as_ref().unwrap().snapshot.clone();
    assert_eq!(known(&driven), Some(snapshot("wip-1")));
    driven.ok(workspace_opened());
    assert_eq!(known(&driven), None);
    let told = prompt(&driven.state);
    assert!(!told.contains("2026-05-01"), "{told}");
}

#[test]
fn turn_that_is_tried_again_where_its_files_are_needs_no_snapshot() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(moved());
    driven.end_turn(cut_off());
    driven.ok(opened_with("wip-1"));
    driven.end_turn(cut_off());
    let restore = Restore::Reset { commit: "base".into(), cut_turn: key(1, 2), moved: false };
    assert_eq!(driven.effects(), [Effect::OpenWorkspace { restore }]);
}

#[test]
fn lost_summary_is_made_again_with_its_turn() {
    let mut spec = promise_loop();
    spec.summariser.kind = SummariserKind::Agent;
    let mut driven = Driven::working(spec);
    driven.end_turn(claimed());
    assert_eq!(driven.state.phase(), Phase::Summarise);
    driven.ok(moved());
    assert_eq!(driven.state.phase(), Phase::Prepare);
}

#[test]
fn workspace_is_set_up_again_before_the_next_turn() {
    let mut spec = LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() };
    spec.workspace.setup = vec!["npm ci".into()];
    let mut driven = Driven::created(spec);
    driven.start();
    driven.ok(workspace_opened());
    driven.ok(Input::SetUp);
    driven.end_turn_and_checkpoint(finished());
    driven.ok(moved());
    assert_eq!(driven.state.phase(), Phase::Gates, "a commit is judged wherever it is");
    driven.judge(Verdict::Pass);
    assert_eq!(driven.state.phase(), Phase::Prepare);
    driven.ok(workspace_opened());
    assert_eq!(driven.effects().first(), Some(&Effect::SetUpWorkspace));
    driven.ok(Input::SetUp);
    assert_eq!(driven.turn(), key(2, 1));
}

#[test]
fn tree_of_the_user_and_tree_without_commits_do_not_move() {
    let mut in_place = promise_loop();
    in_place.workspace.kind = WorkspaceKind::InPlace;
    for spec in [in_place, LoopSpec { commit: CommitPolicy::Off, ..promise_loop() }] {
        assert_eq!(Driven::working(spec).refused(moved()), Refusal::Stale);
    }
    let mut driven = Driven::created(promise_loop());
    assert_eq!(driven.refused(moved()), Refusal::NotUnderWay);
    driven.ok(open(Opener::Start));
    assert_eq!(driven.refused(moved()), Refusal::Stale, "there were no files yet");
}

/// After any moves, no turn is committed as finished, and no claim accepted, whose tree was lost.
fn nothing_lost_is_committed(walk: &Walk) -> Result<(), TestCaseError> {
    let mut lost = BTreeSet::new();
    for given in &walk.given {
        for event in given.events() {
            match event {
                Event::LoopMoved { .. } => lost.extend(uncommitted(&given.before)),
                Event::TurnEnded { turn, report, .. } if lost.contains(turn) => {
                    prop_assert!(turn.role.only_reads() || report.outcome != TurnOutcome::Finished);
                }
                Event::Checkpointed { turn, .. } if lost.contains(turn) => {
                    let last = given.before.last_turn.as_ref().unwrap();
                    prop_assert!(last.key == *turn && !last.report.outcome.is_finished());
                }
                _ => {}
            }
        }
        let claimed = given.after.last_turn.as_ref().filter(|last| last.key.role == Role::Coder);
        if let Some(last) = claimed.filter(|last| lost.contains(&last.key)) {
            let claims = last.report.claim && last.report.outcome.is_finished();
            prop_assert!(!claims, "a claim for lost work");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    // promise: recovery-14
    fn no_claim_is_accepted_for_a_tree_that_was_lost(walk in walks()) {
        nothing_lost_is_committed(&walk)?;
    }
}

#[test]
// promise: recovery-6
fn turns_that_are_lost_with_their_machines_count_apart_from_those_that_were_cut_off() {
    let lose = |driven: &mut Driven| {
        driven.ok(moved());
        driven.end_turn(cut_off());
    };
    let mut driven = Driven::working(promise_loop());
    for lost in 1..10 {
        lose(&mut driven);
        assert_eq!((driven.state.status(), driven.state.counters.lost), (Status::Running, lost));
        assert_eq!(driven.state.counters.cut_offs, 0);
        driven.ok(workspace_opened());
    }
    lose(&mut driven);
    assert_eq!(driven.state.stop_reason(), Some(StopReason::CutOff { times: 10 }));
    // A turn that comes to its end begins the count again.
    let mut driven = Driven::working(promise_loop());
    for _ in 0..9 {
        lose(&mut driven);
        driven.ok(workspace_opened());
    }
    driven.end_turn_and_checkpoint(claimed());
    assert_eq!(driven.state.counters.lost, 0);
}
