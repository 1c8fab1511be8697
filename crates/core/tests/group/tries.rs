//! Best of N: the rules, and what holds for every sequence of inputs.

use jiff::Timestamp;
use proptest::prelude::*;
use windlass_core::group::tries::{
    Losers, Rule, StoppedBecause, Tries, TriesEffect, TriesEvent, TriesInput, TriesSpec, TrySpec,
};
use windlass_core::group::{
    DiffSize, Group, GroupId, GroupRefusal, GroupStatus, HiddenGates, LoopReport, Standing, replay,
};
use windlass_core::ids::LoopId;
use windlass_core::spec::LoopSpec;
use windlass_core::stop::{End, Outcome};

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_760_000_000 + second, 0).unwrap()
}

/// A specification as a journal has it; nothing of it matters to the group.
fn loop_spec() -> Box<LoopSpec> {
    Box::new(
        serde_json::from_value(serde_json::json!({
            "goal": "fix it", "recipe": "promise",
            "agent": { "name": "demo", "profile": {} },
            "session": "resume", "commit": "engine", "done": { "type": "gates" }, "gates": [],
            "limits": { "max_iterations": 5, "duration_ms": null, "budget_usd": null, "max_tokens": null },
            "on_limit": "stop", "on_failure": { "type": "stop" },
            "time": { "turn_timeout_ms": 1, "stall_timeout_ms": 1, "max_stalls": 1 },
            "workspace": { "kind": "clone", "branch": "b", "base": null, "allow_dirty": false },
            "follow_up": "continue",
        }))
        .expect("a specification"),
    )
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    tries: u32,
    first: bool,
    losers: Losers,
    budget_usd: Option<f64>,
    max_tokens: Option<u64>,
}

const THREE: Wanted = Wanted { tries: 3, first: false, losers: Losers::Keep, budget_usd: None, max_tokens: None };

fn loop_id(number: u32) -> LoopId {
    LoopId(format!("l{number}"))
}

fn created(wanted: Wanted) -> TriesEvent {
    let tries = (1..=wanted.tries)
        .map(|number| TrySpec { loop_id: loop_id(number), name: format!("fix-{number}"), spec: loop_spec() })
        .collect();
    let Wanted { first, losers, budget_usd, max_tokens, .. } = wanted;
    let spec = TriesSpec { goal: "fix it".into(), tries, first, losers, budget_usd, max_tokens };
    TriesEvent::TriesCreated { id: GroupId("g".into()), name: "fix".into(), project: "/p".into(), spec: Box::new(spec) }
}

/// A group with its journal.
struct Played {
    group: Tries,
    journal: Vec<(Timestamp, TriesEvent)>,
}

impl Played {
    fn new(wanted: Wanted) -> Self {
        let first = created(wanted);
        Self { group: Tries::created(at(0), &first).unwrap(), journal: vec![(at(0), first)] }
    }

    fn give(&mut self, input: &TriesInput) -> Result<Vec<TriesEvent>, GroupRefusal> {
        let now = at(i64::try_from(self.journal.len()).unwrap());
        let events = self.group.decide(input, now)?;
        for event in &events {
            self.group = self.group.clone().evolve(now, event);
            self.journal.push((now, event.clone()));
        }
        Ok(events)
    }

    fn ran(&mut self, number: u32, report: LoopReport) {
        self.give(&TriesInput::Ran { number, report }).unwrap();
    }

    fn measured(&mut self, number: u32, added: u64) {
        let diff = Some(DiffSize { files: 1, added, removed: 0 });
        self.give(&TriesInput::Measured { number, diff }).unwrap();
    }
}

fn ended(end: End) -> LoopReport {
    LoopReport::new(Standing::Ended { end })
}

fn verified() -> LoopReport {
    LoopReport { outcome: Some(Outcome::Verified), ..ended(End::Completed) }
}

#[test]
fn a_new_group_runs_every_try_and_nothing_else() {
    let played = Played::new(THREE);
    let wanted: Vec<TriesEffect> = (1..=3).map(|number| TriesEffect::RunTry { number }).collect();
    assert_eq!(played.group.effects(), wanted);
}

#[test]
fn the_smaller_diff_wins_among_verified_tries_and_the_rule_is_named() {
    let mut played = Played::new(THREE);
    for (number, report, lines) in [(1, ended(End::Exhausted), 1), (2, verified(), 40), (3, verified(), 12)] {
        played.ran(number, report);
        assert!(played.group.effects().contains(&TriesEffect::Measure { number }));
        played.measured(number, lines);
    }
    let ranking = played.group.ranking.clone().unwrap();
    assert_eq!((ranking.order, ranking.winner, ranking.because), (vec![3, 2, 1], Some(3), Some(Rule::Diff)));
    assert_eq!(played.group.status, GroupStatus::Ended(End::Completed));
    assert_eq!(played.group.effects(), []);
}

#[test]
fn the_rules_are_asked_in_their_order() {
    let base = LoopReport { cost_usd: Some(2.0), tokens: 1, elapsed_ms: 10, findings_open: 1, ..verified() };
    let claimed = LoopReport { outcome: Some(Outcome::Claimed), cost_usd: Some(0.1), ..base.clone() };
    let better: [(Rule, LoopReport, LoopReport, u64, u64); 6] = [
        (Rule::Verified, base.clone(), claimed, 90, 1),
        (Rule::HiddenGates, LoopReport { hidden_gates: HiddenGates::Passed, ..base.clone() }, base.clone(), 90, 1),
        (Rule::Findings, LoopReport { findings_open: 0, ..base.clone() }, base.clone(), 90, 1),
        (Rule::Diff, LoopReport { cost_usd: None, ..base.clone() }, base.clone(), 1, 2),
        (
            Rule::Cost,
            LoopReport { elapsed_ms: 99, ..base.clone() },
            LoopReport { cost_usd: None, ..base.clone() },
            5,
            5,
        ),
        (Rule::Time, LoopReport { elapsed_ms: 9, ..base.clone() }, base.clone(), 5, 5),
    ];
    for (rule, winner, loser, winner_lines, loser_lines) in better {
        let mut played = Played::new(Wanted { tries: 2, ..THREE });
        played.ran(1, loser);
        played.measured(1, loser_lines);
        played.ran(2, winner);
        played.measured(2, winner_lines);
        let ranking = played.group.ranking.clone().unwrap();
        assert_eq!((ranking.winner, ranking.because), (Some(2), Some(rule)));
    }
}

#[test]
fn first_stops_the_others_once_one_is_verified() {
    let mut played = Played::new(Wanted { first: true, ..THREE });
    for number in [1, 3] {
        let running = LoopReport::new(Standing::Running);
        played.give(&TriesInput::Seen { loop_id: loop_id(number), report: running }).unwrap();
    }
    played.ran(2, verified());
    assert_eq!(played.group.stopped, Some(StoppedBecause::First { number: 2 }));
    let wanted = played.group.effects();
    for number in [1, 3] {
        assert!(wanted.contains(&TriesEffect::StopTry { number }), "{wanted:?}");
        assert!(!wanted.contains(&TriesEffect::RunTry { number }), "{wanted:?}");
        played.give(&TriesInput::Seen { loop_id: loop_id(number), report: ended(End::Cancelled) }).unwrap();
        played.measured(number, 0);
    }
    played.measured(2, 100);
    assert_eq!(played.group.ranking.as_ref().unwrap().winner, Some(2));
}

#[test]
fn the_budget_of_all_tries_stops_them_together() {
    let mut played = Played::new(Wanted { budget_usd: Some(1.0), ..THREE });
    let spent = |usd: f64| LoopReport { cost_usd: Some(usd), tokens: 1, ..LoopReport::new(Standing::Running) };
    for (number, usd) in [(1, 0.4), (2, 0.4), (3, 0.1)] {
        played.give(&TriesInput::Seen { loop_id: loop_id(number), report: spent(usd) }).unwrap();
    }
    assert_eq!(played.group.stopped, None);
    played.give(&TriesInput::Seen { loop_id: loop_id(3), report: spent(0.2) }).unwrap();
    assert_eq!(played.group.stopped, Some(StoppedBecause::Budget));
    for number in 1..=3 {
        played.ran(number, ended(End::Cancelled));
        played.measured(number, 0);
    }
    assert_eq!(played.group.status, GroupStatus::Ended(End::Exhausted));
}

#[test]
fn losers_are_dropped_before_the_group_ends() {
    let mut played = Played::new(Wanted { tries: 2, losers: Losers::Drop, ..THREE });
    played.ran(1, verified());
    played.measured(1, 1);
    played.ran(2, ended(End::Errored));
    played.measured(2, 1);
    assert_eq!(played.group.effects(), [TriesEffect::Drop { number: 2 }]);
    assert_eq!(played.group.status, GroupStatus::Running);
    played.give(&TriesInput::Dropped { number: 2, saved: Vec::new() }).unwrap();
    assert_eq!(played.group.status, GroupStatus::Ended(End::Completed));
}

#[test]
fn a_group_without_a_winner_rests_while_a_try_needs_a_person_and_resumes_it() {
    let mut played = Played::new(Wanted { tries: 2, ..THREE });
    played.ran(1, LoopReport::new(Standing::Paused));
    played.measured(1, 1);
    played.ran(2, ended(End::Exhausted));
    played.measured(2, 1);
    assert_eq!(played.group.status, GroupStatus::Paused);
    assert_eq!(played.group.effects(), []);
    played.give(&TriesInput::Resume).unwrap();
    assert_eq!(played.group.effects(), [TriesEffect::RunTry { number: 1 }]);
    // It pauses again at once: that is not run for ever.
    played.ran(1, LoopReport::new(Standing::Paused));
    played.measured(1, 1);
    assert_eq!(played.group.status, GroupStatus::Paused);
}

fn reports() -> impl Strategy<Value = LoopReport> {
    let standings = prop_oneof![
        1 => Just(Standing::Queued),
        4 => Just(Standing::Running),
        1 => Just(Standing::Waiting { until: None, rate_limit: true }),
        1 => Just(Standing::Paused),
        3 => Just(Standing::Ended { end: End::Completed }),
        1 => Just(Standing::Ended { end: End::Exhausted }),
        1 => Just(Standing::Ended { end: End::Cancelled }),
        1 => Just(Standing::Ended { end: End::Errored }),
    ];
    let amounts = (prop::option::of(0..400_u32), 0..2_000_u64, 0..3_u64, 0..4_u32, any::<bool>());
    (standings, amounts).prop_map(|(standing, (cents, tokens, findings_open, iterations, holds))| {
        let completed = standing == Standing::Ended { end: End::Completed };
        let outcome = if holds { Outcome::Verified } else { Outcome::Claimed };
        LoopReport {
            outcome: completed.then_some(outcome),
            cost_usd: cents.map(|cents| f64::from(cents) / 100.0),
            tokens,
            findings_open,
            iterations,
            ..LoopReport::new(standing)
        }
    })
}

fn inputs() -> impl Strategy<Value = Vec<TriesInput>> {
    let number = || 1..5_u32;
    let input = prop_oneof![
        4 => (number(), reports()).prop_map(|(number, report)| TriesInput::Seen { loop_id: loop_id(number), report }),
        4 => (number(), reports()).prop_map(|(number, report)| TriesInput::Ran { number, report }),
        1 => number().prop_map(|number| TriesInput::Failed { number, message: "no".into() }),
        6 => (number(), 0..50_u64).prop_map(|(number, added)| {
            TriesInput::Measured { number, diff: Some(DiffSize { files: 1, added, removed: 0 }) }
        }),
        2 => number().prop_map(|number| TriesInput::Dropped { number, saved: Vec::new() }),
        1 => Just(TriesInput::Stop),
        1 => Just(TriesInput::Resume),
    ];
    prop::collection::vec(input, 0..60)
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let budget = prop::option::of((1..6_u32).prop_map(f64::from));
    (2..4_u32, any::<bool>(), any::<bool>(), budget, prop::option::of(500..3_000_u64)).prop_map(
        |(tries, first, drops, budget_usd, max_tokens)| {
            let losers = if drops { Losers::Drop } else { Losers::Keep };
            Wanted { tries, first, losers, budget_usd, max_tokens }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    // promise: tries-5
    fn any_sequence_of_inputs_keeps_the_rules(wanted in wanted(), inputs in inputs()) {
        let mut played = Played::new(wanted);
        for input in &inputs {
            let before = played.group.clone();
            let decided = played.give(input);
            if let GroupStatus::Ended(end) = before.status {
                prop_assert_eq!(decided, Err(GroupRefusal::Ended { end }));
                prop_assert_eq!(&played.group, &before);
            }
            let group = &played.group;
            // What is wanted exists, and only a running group wants something.
            let effects = group.effects();
            prop_assert!(effects.is_empty() || group.status == GroupStatus::Running);
            prop_assert!(!effects.is_empty() || group.status != GroupStatus::Running, "a group that waits for nothing");
            // A choice is made once, among all, and its winner completed.
            if let Some(ranking) = &group.ranking {
                let mut order = ranking.order.clone();
                order.sort_unstable();
                prop_assert_eq!(order, (1..=wanted.tries).collect::<Vec<_>>());
                prop_assert!(before.ranking.as_ref().is_none_or(|known| known == ranking));
                let winner = ranking.winner.and_then(|winner| group.each().find(|(number, ..)| *number == winner));
                let completed = |report: &LoopReport| report.is_completed();
                prop_assert!(winner.is_none_or(|(_, _, each)| each.report.as_ref().is_some_and(completed)));
                let any = group.each().any(|(_, _, each)| each.report.as_ref().is_some_and(completed));
                prop_assert_eq!(ranking.winner.is_some(), any);
                // The winner is never dropped.
                let dropped = group.each().filter(|(_, _, each)| each.dropped);
                prop_assert!(dropped.into_iter().all(|(number, ..)| ranking.winner != Some(number)));
            }
            // While a budget is used up, no try is driven on.
            let over = wanted.max_tokens.is_some_and(|most| group.tokens() >= most);
            if over && group.ranking.is_none() {
                let runs = effects.iter().any(|effect| match effect {
                    TriesEffect::RunTry { number } => {
                        group.each().any(|(each, _, state)| each == *number && state.report.is_some())
                    }
                    TriesEffect::StopTry { .. } | TriesEffect::Measure { .. } | TriesEffect::Drop { .. } => false,
                });
                prop_assert!(!runs, "{:?}", effects);
            }
        }
        let replayed: Tries = replay(played.journal.clone()).unwrap();
        prop_assert_eq!(&replayed, &played.group);
        let written = serde_json::to_string(&played.journal).unwrap();
        let read: Vec<(Timestamp, TriesEvent)> = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(replay::<Tries>(read).unwrap(), played.group);
    }
}
