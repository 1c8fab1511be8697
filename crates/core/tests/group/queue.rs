//! The queue of goals: the rules, and what holds for every sequence of inputs.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use windlass_core::agent::AccountWindow;
use windlass_core::group::queue::{
    After, GoalSpec, NewGoal, Position, Queue, QueueEffect, QueueEvent, QueueInput, QueueLimits, Stage, Why,
};
use windlass_core::group::{Group, GroupId, GroupRefusal, LoopReport, Standing, replay};
use windlass_core::ids::LoopId;
use windlass_core::stop::{End, Outcome};

fn at(second: i64) -> Timestamp {
    Timestamp::new(1_760_000_000 + second, 0).unwrap()
}

fn loop_id(number: u32) -> LoopId {
    LoopId(format!("l{number}"))
}

/// A new goal; its loop's id fits if it gets this number.
fn goal(number: u32, project: &str, account: &str, after: &[After]) -> NewGoal {
    let spec = GoalSpec {
        loop_id: loop_id(number),
        project: project.to_owned(),
        goal: format!("goal {number}"),
        name: None,
        account: account.to_owned(),
        request: serde_json::json!({ "goal": format!("goal {number}") }),
    };
    NewGoal { after: after.to_vec(), spec }
}

fn on(number: u32) -> After {
    After::Goal { number }
}

fn ended(end: End) -> LoopReport {
    LoopReport::new(Standing::Ended { end })
}

fn verified() -> LoopReport {
    LoopReport { outcome: Some(Outcome::Verified), ..ended(End::Completed) }
}

fn claimed() -> LoopReport {
    LoopReport { outcome: Some(Outcome::Claimed), ..ended(End::Completed) }
}

fn limited(until: Timestamp) -> LoopReport {
    LoopReport::new(Standing::Waiting { until: Some(until), rate_limit: true })
}

/// A queue with its journal and its clock.
struct Played {
    queue: Queue,
    journal: Vec<(Timestamp, QueueEvent)>,
    now: Timestamp,
}

impl Played {
    fn new(limits: QueueLimits) -> Self {
        let first = QueueEvent::QueueCreated { id: GroupId("queue".into()) };
        let queue = Queue::created(at(0), &first).unwrap();
        let mut played = Self { queue, journal: vec![(at(0), first)], now: at(0) };
        played.give(&QueueInput::Open { limits, merge: false }).unwrap();
        played
    }

    fn give(&mut self, input: &QueueInput) -> Result<Vec<QueueEvent>, GroupRefusal> {
        let events = self.queue.decide(input, self.now)?;
        for event in &events {
            self.queue = self.queue.clone().evolve(self.now, event);
            self.journal.push((self.now, event.clone()));
        }
        Ok(events)
    }

    fn add(&mut self, goals: Vec<NewGoal>) {
        self.give(&QueueInput::Add { goals }).unwrap();
    }

    /// Admits all goals that may start, and says which.
    fn admit(&mut self) -> Vec<u32> {
        let mut admitted = Vec::new();
        while let Some(number) = self.queue.next() {
            assert!(self.queue.effects().contains(&QueueEffect::Admit { number }));
            self.give(&QueueInput::Admit { number }).unwrap();
            admitted.push(number);
        }
        admitted
    }

    fn ran(&mut self, number: u32, report: LoopReport) {
        self.give(&QueueInput::Ran { number, report }).unwrap();
    }

    fn why(&self, number: u32) -> Option<Why> {
        self.queue.why(self.queue.goal(number).unwrap())
    }
}

const WIDE: QueueLimits = QueueLimits {
    per_project: 9,
    per_account: 9,
    machine: 9,
    tokens_per_hour: None,
    usd_per_hour: None,
    window_percent: None,
};

#[test]
fn goals_start_in_their_order_up_to_each_limit_and_each_says_which_one_holds_it_back() {
    let mut played = Played::new(QueueLimits { per_project: 2, per_account: 3, machine: 4, ..WIDE });
    let new = [(1, "p", "a"), (2, "p", "a"), (3, "p", "a"), (4, "q", "a"), (5, "q", "a"), (6, "q", "b"), (7, "r", "b")];
    played.add(new.map(|(number, project, account)| goal(number, project, account, &[])).to_vec());
    assert_eq!(played.admit(), [1, 4, 7, 2]);
    assert_eq!(played.why(3), Some(Why::Account { account: "a".into(), running: 3, most: 3 }));
    assert_eq!(played.why(6), Some(Why::Machine { running: 4, most: 4 }));
    played.ran(4, verified());
    assert_eq!(played.why(3), Some(Why::Project { running: 2, most: 2 }));
    assert_eq!(played.admit(), [5]);
}

#[test]
fn a_goal_starts_when_those_it_depends_on_are_verified_and_is_blocked_when_one_is_not() {
    let mut played = Played::new(WIDE);
    played.add(vec![goal(1, "p", "a", &[]), goal(2, "p", "a", &[]), goal(3, "p", "a", &[on(1), on(2)].map(new_of))]);
    played.add(vec![goal(4, "p", "a", &[on(3)])]);
    assert_eq!(played.admit(), [1, 2]);
    assert_eq!(played.why(3), Some(Why::After { numbers: vec![1, 2] }));
    played.ran(1, verified());
    assert_eq!(played.why(3), Some(Why::After { numbers: vec![2] }));
    played.ran(2, claimed());
    assert_eq!(played.why(3), Some(Why::Blocked { number: 2 }));
    assert_eq!(played.why(4), Some(Why::Blocked { number: 2 }));
    assert_eq!(played.queue.effects(), []);
    // Somebody restarts its loop by hand, and it is verified after all.
    played.give(&QueueInput::Seen { loop_id: loop_id(2), report: LoopReport::new(Standing::Running) }).unwrap();
    assert_eq!(played.queue.effects(), [QueueEffect::RunGoal { number: 2 }]);
    played.ran(2, verified());
    assert_eq!(played.admit(), [3]);
}

/// The goals of one addition have the numbers 1, 2, 3.
fn new_of(after: After) -> After {
    match after {
        After::Goal { number } => After::New { index: number - 1 },
        After::New { .. } => after,
    }
}

#[test]
fn projects_take_turns() {
    let mut played = Played::new(QueueLimits { machine: 1, ..WIDE });
    let projects = ["p", "p", "p", "p", "q", "q", "r"];
    played.add((1..).zip(projects).map(|(number, project)| goal(number, project, "a", &[])).collect());
    let mut order = Vec::new();
    while let [number] = played.admit()[..] {
        order.push(number);
        played.ran(number, verified());
    }
    assert_eq!(order, [1, 5, 7, 2, 6, 3, 4]);
}

#[test]
fn a_rate_limit_holds_the_goals_of_its_account_back_and_no_others() {
    let mut played = Played::new(QueueLimits { per_project: 1, ..WIDE });
    played.add(vec![goal(1, "p", "a", &[]), goal(2, "p", "a", &[]), goal(3, "p", "b", &[])]);
    assert_eq!(played.admit(), [1]);
    let until = at(600);
    // While its driver is there it has its place.
    played.give(&QueueInput::Seen { loop_id: loop_id(1), report: limited(until) }).unwrap();
    assert_eq!(played.admit(), Vec::<u32>::new());
    played.ran(1, limited(until));
    assert_eq!(played.why(2), Some(Why::AccountLimited { account: "a".into(), until }));
    assert_eq!(played.admit(), [3]);
    let waits = QueueEffect::WaitUntil { account: "a".into(), until };
    assert!(played.queue.effects().contains(&waits));
    let woke = QueueInput::Woke { account: "a".into() };
    assert_eq!(played.give(&woke), Err(GroupRefusal::Stale), "not before its time");
    played.ran(3, verified());
    assert_eq!(played.admit(), Vec::<u32>::new());
    played.now = until;
    played.give(&woke).unwrap();
    assert_eq!(played.admit(), [1], "what has begun goes first");
    played.ran(1, verified());
    assert_eq!(played.admit(), [2]);
}

#[test]
fn goals_are_moved_and_removed_only_where_nothing_is_lost() {
    let mut played = Played::new(QueueLimits { machine: 1, ..WIDE });
    played.add(vec![goal(1, "p", "a", &[]), goal(2, "p", "a", &[]), goal(3, "p", "a", &[]), goal(4, "p", "a", &[])]);
    played.add(vec![goal(5, "p", "a", &[on(4)])]);
    let to = |number, to| QueueInput::Move { number, to };
    let numbers = |played: &Played| played.queue.goals.iter().map(|goal| goal.number).collect::<Vec<_>>();
    played.give(&to(3, Position::First)).unwrap();
    played.give(&to(1, Position::Last)).unwrap();
    played.give(&to(5, Position::Before { number: 4 })).unwrap();
    assert_eq!(numbers(&played), [3, 2, 5, 4, 1]);
    assert_eq!(played.admit(), [3]);
    assert_eq!(played.give(&to(3, Position::Last)), Err(GroupRefusal::Started { number: 3 }));
    assert_eq!(played.give(&to(2, Position::Before { number: 9 })), Err(GroupRefusal::NoGoal { number: 9 }));
    assert_eq!(played.give(&to(2, Position::Before { number: 2 })), Err(GroupRefusal::NoGoal { number: 2 }));
    let remove = |number| QueueInput::Remove { number };
    assert_eq!(played.give(&remove(4)), Err(GroupRefusal::NeededBy { number: 4, by: 5 }));
    assert_eq!(played.give(&remove(3)), Err(GroupRefusal::Started { number: 3 }));
    assert_eq!(played.give(&remove(9)), Err(GroupRefusal::NoGoal { number: 9 }));
    played.give(&remove(5)).unwrap();
    played.give(&remove(4)).unwrap();
    played.ran(3, verified());
    played.give(&remove(3)).unwrap();
    played.add(vec![goal(6, "p", "a", &[])]);
    assert_eq!(numbers(&played), [2, 1, 6], "a number is used once");
}

#[test]
fn unknown_dependencies_and_circles_are_refused_and_add_nothing() {
    let mut played = Played::new(WIDE);
    let next = |index| After::New { index };
    let circle = vec![goal(1, "p", "a", &[]), goal(2, "p", "a", &[next(2)]), goal(3, "p", "a", &[next(1)])];
    assert_eq!(played.give(&QueueInput::Add { goals: circle }), Err(GroupRefusal::Cycle));
    let itself = vec![goal(1, "p", "a", &[next(0)])];
    assert_eq!(played.give(&QueueInput::Add { goals: itself }), Err(GroupRefusal::Cycle));
    let unknown = vec![goal(1, "p", "a", &[on(1)])];
    assert_eq!(played.give(&QueueInput::Add { goals: unknown }), Err(GroupRefusal::NoGoal { number: 1 }));
    assert!(played.queue.goals.is_empty());
    played.add(vec![goal(1, "p", "a", &[next(1)]), goal(2, "p", "a", &[])]);
    assert_eq!(played.admit(), [2]);
}

#[test]
fn a_goal_that_could_not_start_is_tried_again_by_the_next_driver() {
    let mut played = Played::new(WIDE);
    played.add(vec![goal(1, "p", "a", &[]), goal(2, "p", "a", &[After::New { index: 0 }])]);
    played.admit();
    played.give(&QueueInput::Failed { number: 1, message: "no such agent".into() }).unwrap();
    assert_eq!(played.queue.goal(1).unwrap().stage, Stage::Failed { message: "no such agent".into() });
    assert_eq!(played.why(2), Some(Why::Blocked { number: 1 }));
    assert_eq!(played.queue.effects(), []);
    played.give(&QueueInput::Open { limits: WIDE, merge: false }).unwrap();
    assert_eq!(played.admit(), [1]);
}

#[test]
// promise: queue-10
fn a_part_of_each_hour_is_kept_and_goals_start_again_when_it_has_passed() {
    let limits = QueueLimits { tokens_per_hour: Some(800), usd_per_hour: Some(10.0), ..WIDE };
    let mut played = Played::new(QueueLimits { per_account: 1, ..limits });
    played.add((1..=4).map(|number| goal(number, "p", "a", &[])).chain([goal(5, "p", "b", &[])]).collect());
    let used = |tokens, report: LoopReport| LoopReport { tokens, ..report };
    let seen = |number, report| QueueInput::Seen { loop_id: loop_id(number), report };
    assert_eq!(played.admit(), [1, 5]);
    let running = || LoopReport::new(Standing::Running);
    played.give(&seen(1, used(100, running()))).unwrap();
    assert_eq!(
        played.give(&seen(1, used(101, running()))),
        Ok(Vec::new()),
        "the journal has no line for such a small change"
    );
    played.now = at(600);
    played.ran(1, used(500, verified()));
    assert_eq!(played.admit(), [2]);
    played.now = at(1200);
    // What runs goes on, and is counted on the way.
    played.give(&seen(2, used(300, running()))).unwrap();
    let until = at(600 + 3600);
    assert_eq!(played.why(3), Some(Why::AccountUsedUp { account: "a".into(), until: at(3600) }));
    played.ran(2, used(600, verified()));
    assert_eq!(played.why(3), Some(Why::AccountUsedUp { account: "a".into(), until }));
    played.ran(5, used(9000, verified()));
    assert_eq!(played.queue.effects(), [QueueEffect::WaitUntil { account: "a".into(), until }]);
    let woke = QueueInput::Woke { account: "a".into() };
    assert_eq!(played.give(&woke), Err(GroupRefusal::Stale), "not before its time");
    played.now = until;
    played.give(&woke).unwrap();
    assert_eq!(played.admit(), [3]);
    played.ran(3, LoopReport { cost_usd: Some(10.0), ..verified() });
    assert_eq!(played.admit(), Vec::<u32>::new(), "dollars count as well");
    played.give(&QueueInput::Open { limits: WIDE, merge: false }).unwrap();
    assert_eq!(played.admit(), [4]);
}

#[test]
// promise: queue-10
fn a_part_of_the_windows_that_an_agent_reports_is_kept_until_they_reset() {
    let window = |name: &str, used_percent, resets_at| AccountWindow { name: name.into(), used_percent, resets_at };
    let mut played = Played::new(QueueLimits { per_account: 1, window_percent: Some(80), ..WIDE });
    played.add((1..=4).map(|number| goal(number, "p", "a", &[])).chain([goal(5, "p", "b", &[])]).collect());
    assert_eq!(played.admit(), [1, 5]);
    let reports = |account: Vec<AccountWindow>, report: LoopReport| LoopReport { account, ..report };
    let seen = |number, report| QueueInput::Seen { loop_id: loop_id(number), report };
    let running = || LoopReport::new(Standing::Running);
    let (soon, late) = (at(900), at(90_000));
    played
        .give(&seen(1, reports(vec![window("five_hour", 79, Some(soon)), window("week", 10, Some(late))], running())))
        .unwrap();
    assert!(played.queue.used_up.is_empty());
    // It is known while the turn runs.
    let full = vec![window("five_hour", 80, Some(soon)), window("week", 10, Some(late))];
    played.give(&seen(1, reports(full.clone(), running()))).unwrap();
    played.ran(1, reports(full, verified()));
    assert_eq!(played.why(2), Some(Why::AccountUsedUp { account: "a".into(), until: soon }));
    assert_eq!(played.admit(), Vec::<u32>::new());
    played.now = soon;
    played.give(&QueueInput::Woke { account: "a".into() }).unwrap();
    assert_eq!(played.admit(), [2], "the window has reset");
    played.ran(2, reports(vec![window("five_hour", 3, Some(at(18_900))), window("week", 85, None)], verified()));
    let hour = at(900 + 3600);
    assert_eq!(played.why(3), Some(Why::AccountUsedUp { account: "a".into(), until: hour }), "without a known end");
    played.give(&QueueInput::Open { limits: WIDE, merge: false }).unwrap();
    assert_eq!(played.admit(), [3, 4], "nothing is kept");
}

#[test]
fn a_goal_that_waits_for_an_answer_leaves_its_slot_of_the_machine_to_others() {
    let mut played = Played::new(QueueLimits { machine: 1, per_project: 2, ..WIDE });
    played.add((1..=3).map(|number| goal(number, "p", "a", &[])).collect());
    assert_eq!(played.admit(), [1]);
    let waits = LoopReport::new(Standing::Waiting { until: Some(at(60)), rate_limit: false });
    played.give(&QueueInput::Seen { loop_id: loop_id(1), report: waits }).unwrap();
    assert_eq!(played.admit(), [2]);
    assert_eq!(played.why(3), Some(Why::Project { running: 2, most: 2 }), "it counts for its project and account");
}

#[test]
fn with_merging_a_goal_starts_when_those_it_depends_on_are_merged() {
    let mut played = Played::new(WIDE);
    played.give(&QueueInput::Open { limits: WIDE, merge: true }).unwrap();
    played.add(vec![goal(1, "p", "a", &[]), goal(2, "p", "a", &[After::New { index: 0 }])]);
    assert_eq!(played.admit(), [1]);
    played.ran(1, verified());
    assert_eq!(played.queue.effects(), [QueueEffect::MergeGoal { number: 1 }]);
    assert_eq!(played.why(2), Some(Why::After { numbers: vec![1] }));
    played.give(&QueueInput::NotMerged { number: 1, message: "conflict".into() }).unwrap();
    assert_eq!((played.why(2), played.queue.effects()), (Some(Why::Unmerged { number: 1 }), Vec::new()));
    // The next driver tries again.
    played.give(&QueueInput::Open { limits: WIDE, merge: true }).unwrap();
    played.give(&QueueInput::Merged { number: 1 }).unwrap();
    assert_eq!(played.give(&QueueInput::Merged { number: 1 }), Err(GroupRefusal::Stale));
    assert_eq!(played.admit(), [2]);
}

/// A step of a simulated driver: which effect of those that are wanted, and how a loop goes on.
#[derive(Debug, Clone, Copy)]
struct Step {
    which: prop::sample::Index,
    goes: Goes,
}

#[derive(Debug, Clone, Copy)]
enum Goes {
    Verified,
    Claimed,
    Exhausted,
    Paused,
    Limited,
    NotMade,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let goes = prop_oneof![
        6 => Just(Goes::Verified),
        1 => Just(Goes::Claimed),
        1 => Just(Goes::Exhausted),
        1 => Just(Goes::Paused),
        2 => Just(Goes::Limited),
        1 => Just(Goes::NotMade),
    ];
    let step = (any::<prop::sample::Index>(), goes).prop_map(|(which, goes)| Step { which, goes });
    prop::collection::vec(step, 0..80)
}

/// Project, account, and for each dependency one of the goals before it.
type Wanted = (usize, usize, Vec<prop::sample::Index>);

fn goals() -> impl Strategy<Value = Vec<Wanted>> {
    let dependencies = prop::collection::vec(any::<prop::sample::Index>(), 0..3);
    prop::collection::vec((0..3_usize, 0..3_usize, dependencies), 1..25)
}

fn new_goals(wanted: &[Wanted]) -> Vec<NewGoal> {
    let one = |(index, (project, account, after)): (usize, &Wanted)| {
        let index_of = |each: &prop::sample::Index| After::New { index: u32::try_from(each.index(index)).unwrap() };
        let after: Vec<After> = if index == 0 { Vec::new() } else { after.iter().map(index_of).collect() };
        let number = u32::try_from(index).unwrap() + 1;
        goal(number, ["p", "q", "r"][*project], ["a", "b", "c"][*account], &after)
    };
    wanted.iter().enumerate().map(one).collect()
}

fn limits() -> impl Strategy<Value = QueueLimits> {
    (1..4_u32, 1..4_u32, 1..6_u32).prop_map(|(per_project, per_account, machine)| QueueLimits {
        per_project,
        per_account,
        machine,
        ..WIDE
    })
}

fn counted(queue: &Queue, key: impl Fn(&GoalSpec) -> String) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for goal in queue.goals.iter().filter(|goal| goal.is_at_work()) {
        *counts.entry(key(&goal.spec)).or_insert(0) += 1;
    }
    counts
}

fn within_limits(queue: &Queue) -> Result<(), TestCaseError> {
    let most = |counts: BTreeMap<String, u32>| counts.into_values().max().unwrap_or(0);
    prop_assert!(most(counted(queue, |spec| spec.project.clone())) <= queue.limits.per_project);
    prop_assert!(most(counted(queue, |spec| spec.account.clone())) <= queue.limits.per_account);
    prop_assert!(most(counted(queue, |_| String::new())) <= queue.limits.machine);
    for goal in queue.goals.iter().filter(|goal| goal.is_at_work()) {
        let built = goal.after.iter().all(|number| queue.goal(*number).is_some_and(|other| other.is_verified()));
        prop_assert!(built, "goal {} started before its dependencies", goal.number);
    }
    Ok(())
}

/// One effect, performed. The clock moves to the time that is waited for.
fn perform(played: &mut Played, effect: &QueueEffect, goes: Goes) {
    match effect {
        QueueEffect::Admit { number } => drop(played.give(&QueueInput::Admit { number: *number }).unwrap()),
        QueueEffect::WaitUntil { account, until } => {
            played.now = played.now.max(*until);
            played.give(&QueueInput::Woke { account: account.clone() }).unwrap();
        }
        QueueEffect::MergeGoal { number } => {
            let number = *number;
            let input = match goes {
                Goes::Verified | Goes::Claimed | Goes::Limited => QueueInput::Merged { number },
                Goes::Exhausted | Goes::Paused | Goes::NotMade => {
                    QueueInput::NotMerged { number, message: "conflict".into() }
                }
            };
            played.give(&input).unwrap();
        }
        QueueEffect::RunGoal { number } => {
            let until = played.now.checked_add(SignedDuration::from_mins(1)).unwrap();
            let report = match goes {
                Goes::Verified => verified(),
                Goes::Claimed => claimed(),
                Goes::Exhausted => ended(End::Exhausted),
                Goes::Paused => LoopReport::new(Standing::Paused),
                Goes::Limited => limited(until),
                Goes::NotMade => {
                    let message = "no".to_owned();
                    played.give(&QueueInput::Failed { number: *number, message }).unwrap();
                    return;
                }
            };
            played.ran(*number, report);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    // promise: queue-1, queue-2
    fn whatever_becomes_of_loops_no_limit_is_exceeded_no_goal_is_lost_and_projects_take_turns(
        limits in limits(), merge in any::<bool>(), goals in goals(), steps in steps(),
    ) {
        let mut played = Played::new(limits);
        played.give(&QueueInput::Open { limits, merge }).unwrap();
        played.add(new_goals(&goals));
        // How often others started while a project had a goal that could.
        let mut passed: BTreeMap<String, usize> = BTreeMap::new();
        let mut started: Vec<u32> = Vec::new();
        for step in &steps {
            let effects = played.queue.effects();
            if effects.is_empty() {
                break;
            }
            let effect = step.which.get(&effects);
            if let QueueEffect::Admit { number } = effect {
                let mine = played.queue.goal(*number).unwrap().spec.project.clone();
                let candidates = played.queue.goals.iter().filter(|goal| match goal.stage {
                    Stage::Waiting | Stage::Parked => played.queue.why(goal).is_none(),
                    Stage::AtWork | Stage::Rests | Stage::Failed { .. } => false,
                });
                let free: Vec<String> = candidates.map(|goal| goal.spec.project.clone()).collect();
                passed.retain(|project, _| free.contains(project) && *project != mine);
                for other in ["p", "q", "r"].into_iter().filter(|other| *other != mine && free.iter().any(|f| f == other)) {
                    let times = passed.entry(other.to_owned()).or_insert(0);
                    *times += 1;
                    prop_assert!(*times <= 2, "{} of three projects waits too long", other);
                }
                let anew = played.queue.goal(*number).unwrap().stage == Stage::Parked;
                prop_assert!(anew || !started.contains(number), "goal {} started twice", number);
                started.push(*number);
            }
            perform(&mut played, effect, step.goes);
            within_limits(&played.queue)?;
            prop_assert_eq!(played.queue.goals.len(), goals.len());
        }
        // From here on all goes well: whatever can start does and ends.
        for _ in 0..500 {
            let Some(effect) = played.queue.effects().first().cloned() else { break };
            perform(&mut played, &effect, Goes::Verified);
            within_limits(&played.queue)?;
        }
        prop_assert_eq!(played.queue.effects(), []);
        for goal in &played.queue.goals {
            match (&goal.stage, played.queue.why(goal)) {
                (Stage::Rests | Stage::Failed { .. }, _)
                | (Stage::Waiting, Some(Why::Blocked { .. } | Why::Unmerged { .. })) => {}
                (Stage::Waiting, Some(Why::After { numbers })) => {
                    let rests = |number: &u32| played.queue.goal(*number).is_some_and(|other| match other.stage {
                        Stage::Rests | Stage::Waiting => true,
                        Stage::AtWork | Stage::Parked | Stage::Failed { .. } => false,
                    });
                    prop_assert!(numbers.iter().all(rests));
                }
                (stage, why) => prop_assert!(false, "goal {} is left {:?}: {:?}", goal.number, stage, why),
            }
        }
        prop_assert_eq!(&replay::<Queue>(played.journal.clone()).unwrap(), &played.queue);
        let written = serde_json::to_string(&played.journal).unwrap();
        let read: Vec<(Timestamp, QueueEvent)> = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(replay::<Queue>(read).unwrap(), played.queue);
    }

    #[test]
    fn any_input_at_any_time_loses_no_goal(goals in goals(), inputs in inputs()) {
        let mut played = Played::new(QueueLimits { per_project: 2, per_account: 2, machine: 3, ..WIDE });
        played.add(new_goals(&goals));
        let mut there: Vec<u32> = played.queue.goals.iter().map(|goal| goal.number).collect();
        for input in &inputs {
            let before = played.queue.clone();
            match played.give(input) {
                Ok(events) => there.retain(|number| !events.contains(&QueueEvent::GoalRemoved { number: *number })),
                Err(_) => prop_assert_eq!(&played.queue, &before),
            }
            let mut numbers: Vec<u32> = played.queue.goals.iter().map(|goal| goal.number).collect();
            numbers.sort_unstable();
            prop_assert_eq!(&numbers, &there);
            // Nothing is wanted of a goal that waits, rests or is gone.
            for effect in played.queue.effects() {
                if let QueueEffect::RunGoal { number } = effect {
                    prop_assert!(played.queue.goal(number).is_some_and(|goal| goal.is_at_work()));
                }
            }
        }
        prop_assert_eq!(replay::<Queue>(played.journal.clone()).unwrap(), played.queue);
    }
}

fn inputs() -> impl Strategy<Value = Vec<QueueInput>> {
    let number = || 1..12_u32;
    let reports = || {
        prop_oneof![
            Just(verified()),
            Just(claimed()),
            Just(LoopReport::new(Standing::Running)),
            Just(LoopReport::new(Standing::Paused)),
            Just(limited(at(1))),
            Just(LoopReport::new(Standing::Waiting { until: None, rate_limit: true })),
        ]
    };
    let input = prop_oneof![
        6 => number().prop_map(|number| QueueInput::Admit { number }),
        3 => (number(), reports()).prop_map(|(number, report)| QueueInput::Seen { loop_id: loop_id(number), report }),
        4 => (number(), reports()).prop_map(|(number, report)| QueueInput::Ran { number, report }),
        1 => number().prop_map(|number| QueueInput::Failed { number, message: "no".into() }),
        1 => number().prop_map(|number| QueueInput::Remove { number }),
        1 => (number(), number()).prop_map(|(number, other)| {
            QueueInput::Move { number, to: Position::Before { number: other } }
        }),
        1 => Just(QueueInput::Woke { account: "a".into() }),
    ];
    prop::collection::vec(input, 0..60)
}
