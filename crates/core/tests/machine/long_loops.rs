//! What a decision copies of a loop that has been through a lot. The tests fold the events into a copy of the state, as
//! `decide` does, so what they do not share with the state before is what the decision copied.

use windlass_core::machine::{History, Input, LoopState, USAGE_EVERY_MS, Verdict};
use windlass_core::spec::{Limits, LoopSpec, SessionPolicy};

use crate::driven::reviewed::{self, TWO_SECTIONS, audited, dirty};
use crate::driven::*;

const LONG: usize = 2_000;
/// Entries in a block of a history.
const BLOCK: usize = 64;

fn long(spec: LoopSpec) -> Driven {
    let limits = Limits { max_iterations: Some(10_000), ..Limits::default() };
    Driven::working(LoopSpec { limits, session: SessionPolicy::Fresh, ..spec })
}

fn in_session(driven: &Driven, report: windlass_core::agent::TurnReport) -> windlass_core::agent::TurnReport {
    costing(
        0.0,
        1,
        windlass_core::agent::TurnReport { session: Some(format!("session of {}", driven.turn())), ..report },
    )
}

/// How many entries, and how many references to entries, the later history does not share with the earlier one.
fn copied<T>(before: &History<T>, after: &History<T>) -> (usize, usize) {
    let entries = (0..before.len()).filter(|index| !after[*index].is_same_as(&before[*index])).count();
    (entries, after.not_shared_with(before).count())
}

/// Does it, and checks what that copied of the iterations.
fn step(driven: &mut Driven, changed: usize, act: impl FnOnce(&mut Driven)) -> LoopState {
    let before = driven.state.clone();
    act(driven);
    let (records, references) = copied(&before.iterations, &driven.state.iterations);
    assert!(records <= changed, "{records} iterations are copied");
    assert!(references <= BLOCK, "{references} references are copied");
    assert!(driven.state.spec.is_same_as(&before.spec));
    assert!(driven.state.session_usage.len() <= 2, "one session of each role, not one of each turn");
    before
}

#[test]
fn a_decision_on_a_long_loop_copies_no_history() {
    let mut driven = long(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    while driven.state.iterations.len() < LONG + 2 * BLOCK {
        let seen = driven.state.iterations.len() < LONG;
        let iteration = |driven: &mut Driven| {
            driven.end_turn(in_session(driven, finished()));
        };
        if seen {
            iteration(&mut driven);
            driven.checkpoint();
            driven.judge(Verdict::Fail);
            continue;
        }
        let before = step(&mut driven, 0, |driven| {
            driven.pass(USAGE_EVERY_MS);
            driven.ok(Input::UsageSeen { turn: driven.turn(), usage: usage(0.0, 1) });
        });
        assert!(driven.state.session_usage.is_same_as(&before.session_usage));
        step(&mut driven, 0, iteration);
        step(&mut driven, 0, |driven| drop(driven.checkpoint()));
        // The last iteration gets its verdict.
        step(&mut driven, 1, |driven| drop(driven.judge(Verdict::Fail)));
    }
}

#[test]
fn a_decision_on_a_long_audit_copies_nothing_that_it_does_not_change() {
    let mut driven = long(audited(Some(TWO_SECTIONS), reviewed::audit()));
    while driven.state.iterations.len() < 3 * BLOCK {
        let report = in_session(&driven, finished());
        let before = step(&mut driven, 0, |driven| drop(driven.end_turn(report)));
        let (then, now) = (before.review.unwrap(), driven.state.review.clone().unwrap());
        assert!(now.audit().unwrap().findings.is_same_as(&then.audit().unwrap().findings));
        assert!(now.plan.as_ref().unwrap().is_same_as(then.plan.as_ref().unwrap()));
        step(&mut driven, 0, |driven| drop(driven.checkpoint()));
        let report = in_session(&driven, dirty());
        let before = step(&mut driven, 1, |driven| drop(driven.end_turn(report)));
        let (then, now) = (before.review.unwrap(), driven.state.review.clone().unwrap());
        let (known, references) = copied(&then.past, &now.past);
        assert!(known == 0 && references <= BLOCK, "{known} and {references} are copied");
        assert!(now.plan.as_ref().unwrap().is_same_as(then.plan.as_ref().unwrap()));
    }
    assert!(driven.state.review.unwrap().past.len() > 2 * BLOCK);
}
