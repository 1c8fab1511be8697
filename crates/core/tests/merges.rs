//! The merge queue's machine, driven by a world in which entries conflict, fail alone or in combination, and flicker, with
//! results that come late or twice, and replays in between.

use std::collections::BTreeSet;

use jiff::Timestamp;
use windlass_core::group::merges::{
    Advance, Build, Candidate, Conflict, EntryState, Merges, MergesEffect, MergesEvent, MergesInput, MergesSpec,
    PausedBecause, RefusedBecause, ReturnEnd, Verdict,
};
use windlass_core::group::{Group, GroupId, GroupRefusal, GroupStatus, replay};
use windlass_core::ids::LoopId;
use windlass_core::stop::End;

fn id(name: &str) -> LoopId {
    LoopId(name.to_owned())
}

fn candidate(name: &str) -> Candidate {
    Candidate { loop_id: id(name), name: name.to_owned() }
}

/// What the gates and git would say.
#[derive(Default)]
struct World {
    /// The target: the entries that it has, in order.
    target: Vec<String>,
    /// Pairs that cannot be merged with each other, until the second was given back.
    conflicts: BTreeSet<(String, String)>,
    /// Sets of entries on which the gates fail together.
    red: Vec<BTreeSet<String>>,
    /// The gates fail the first time that a commit has it.
    flaky: BTreeSet<String>,
    flickered: BTreeSet<String>,
    target_red: bool,
    /// Somebody else's commits on the target.
    foreign: u32,
    /// What was judged green.
    green: BTreeSet<String>,
    never_resolved: BTreeSet<String>,
}

impl World {
    fn name_of(&self, has: &[String]) -> String {
        format!("{}+{}", self.foreign, has.join(","))
    }

    fn has(commit: &str) -> Vec<String> {
        commit.split_once('+').unwrap().1.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn conflict(&self, has: &[String], name: &str) -> bool {
        has.iter().any(|other| self.conflicts.contains(&(other.clone(), name.to_owned())))
    }

    fn verdict(&mut self, commit: &str) -> Verdict {
        let has: BTreeSet<String> = Self::has(commit).into_iter().collect();
        let flickers = !has.is_disjoint(&self.flaky) && self.flickered.insert(commit.to_owned());
        let red = self.target_red || self.red.iter().any(|set| set.is_subset(&has));
        if !red && !flickers {
            self.green.insert(commit.to_owned());
            return Verdict::Green;
        }
        Verdict::Red { gate: "test".to_owned(), output: "no".to_owned(), flaky: !red }
    }

    fn perform(&mut self, effect: &MergesEffect) -> MergesInput {
        match effect {
            MergesEffect::Build { number, members } => {
                let mut has = self.target.clone();
                let base = self.name_of(&has);
                let (mut merged, mut conflicts, mut present) = (Vec::new(), Vec::new(), Vec::new());
                for member in members {
                    if self.target.contains(&member.0) {
                        present.push(member.clone());
                    } else if self.conflict(&has, &member.0) {
                        let with_target = self.conflict(&self.target, &member.0);
                        conflicts.push(Conflict { loop_id: member.clone(), files: vec!["f".to_owned()], with_target });
                    } else {
                        has.push(member.0.clone());
                        merged.push(member.clone());
                    }
                }
                let commit = self.name_of(&has);
                let build = Build { base, commit, merged, present, conflicts, unmergeable: Vec::new() };
                MergesInput::Built { number: *number, build }
            }
            MergesEffect::Judge { number, commit, .. } => {
                MergesInput::Judged { number: *number, verdict: self.verdict(commit) }
            }
            MergesEffect::JudgeTarget { number, commit, .. } => {
                MergesInput::TargetJudged { number: *number, verdict: self.verdict(commit) }
            }
            MergesEffect::Advance { number, from, to } => {
                let end = if *to == self.name_of(&self.target) {
                    Advance::Moved { commit: to.clone() }
                } else if *from == self.name_of(&self.target) {
                    assert!(self.green.contains(to), "{to} was not judged");
                    self.target = Self::has(to);
                    Advance::Moved { commit: to.clone() }
                } else {
                    Advance::Elsewhere
                };
                MergesInput::Advanced { number: *number, end }
            }
            MergesEffect::NoteMerged { loop_id, .. } | MergesEffect::NoteRefused { loop_id, .. } => {
                MergesInput::Noted { loop_id: loop_id.clone() }
            }
            MergesEffect::Return { loop_id, .. } => {
                if !self.never_resolved.contains(&loop_id.0) {
                    self.conflicts.retain(|(_, second)| *second != loop_id.0);
                }
                MergesInput::Returned { loop_id: loop_id.clone(), end: ReturnEnd::Verified }
            }
            MergesEffect::StopLoop { .. } => MergesInput::Seen,
        }
    }
}

struct Queue {
    state: Merges,
    journal: Vec<(Timestamp, MergesEvent)>,
}

impl Queue {
    fn with(names: &[&str], batch: u32) -> Self {
        let spec = MergesSpec { target: "main".to_owned(), batch, returns: 2 };
        let first = MergesEvent::MergesCreated {
            id: GroupId("q".to_owned()),
            name: "merge-main".to_owned(),
            project: "/p".to_owned(),
            spec,
            candidates: names.iter().map(|name| candidate(name)).collect(),
        };
        let now = Timestamp::UNIX_EPOCH;
        Self { state: Merges::created(now, &first).unwrap(), journal: vec![(now, first)] }
    }

    fn say(&mut self, input: &MergesInput) -> Result<usize, GroupRefusal> {
        let now = Timestamp::UNIX_EPOCH;
        let events = self.state.decide(input, now)?;
        for event in &events {
            self.state = self.state.clone().evolve(now, event);
            self.journal.push((now, event.clone()));
        }
        let json = serde_json::to_string(&self.journal.last().unwrap().1).unwrap();
        assert_eq!(serde_json::from_str::<MergesEvent>(&json).unwrap(), self.journal.last().unwrap().1);
        assert_eq!(replay::<Merges>(self.journal.clone()).as_ref(), Some(&self.state), "a replay comes to the same");
        Ok(events.len())
    }

    /// Until nothing is wanted.
    fn run(&mut self, world: &mut World) {
        self.say(&MergesInput::Resume).unwrap();
        for _ in 0..1_000 {
            let Some(effect) = self.state.effects().into_iter().next() else { return };
            let input = world.perform(&effect);
            self.say(&input).unwrap();
        }
        panic!("it does not come to an end: {:?}", self.state);
    }

    fn of(&self, name: &str) -> &EntryState {
        &self.state.entry(&id(name)).unwrap().state
    }

    fn merged(&self) -> Vec<&str> {
        let merged = self.state.entries.iter().filter(|entry| matches!(entry.state, EntryState::Merged { .. }));
        merged.map(|entry| entry.candidate.name.as_str()).collect()
    }
}

#[test]
// promise: merges-1
fn all_green_is_one_batch_in_order() {
    let (mut world, mut queue) = (World::default(), Queue::with(&["a", "b", "c"], 4));
    queue.run(&mut world);
    assert_eq!(world.target, ["a", "b", "c"]);
    assert_eq!((queue.state.batches, queue.state.status), (1, GroupStatus::Ended(End::Completed)));
}

#[test]
// promise: merges-2
fn red_batch_is_halved_until_the_one_to_blame_is_alone() {
    let mut world = World { red: vec![BTreeSet::from(["c".to_owned()])], ..World::default() };
    let mut queue = Queue::with(&["a", "b", "c", "d", "e"], 8);
    queue.run(&mut world);
    assert_eq!(world.target, ["a", "b", "d", "e"]);
    assert!(
        matches!(queue.of("c"), EntryState::Refused { why: RefusedBecause::Gate { gate, .. }, noted: true } if gate == "test")
    );
}

#[test]
// promise: merges-2
fn combination_that_is_red_blames_the_later_one() {
    let mut world = World { red: vec![BTreeSet::from(["a".to_owned(), "d".to_owned()])], ..World::default() };
    let mut queue = Queue::with(&["a", "b", "c", "d"], 4);
    queue.run(&mut world);
    assert_eq!(world.target, ["a", "b", "c"]);
    assert!(matches!(queue.of("d"), EntryState::Refused { why: RefusedBecause::Gate { .. }, noted: true }));
}

#[test]
// promise: merges-2
fn flaky_gate_gets_one_more_run() {
    let mut world = World { flaky: BTreeSet::from(["a".to_owned()]), ..World::default() };
    let mut queue = Queue::with(&["a", "b"], 4);
    queue.run(&mut world);
    assert_eq!((world.target.len(), queue.state.batches), (2, 1));
    assert_eq!(queue.journal.iter().filter(|(_, event)| matches!(event, MergesEvent::BatchRerun { .. })).count(), 1);
}

#[test]
// promise: merges-3
fn red_target_pauses_and_blames_nobody() {
    let mut world = World { target_red: true, ..World::default() };
    let mut queue = Queue::with(&["a", "b"], 4);
    queue.run(&mut world);
    assert_eq!(queue.state.status, GroupStatus::Paused);
    assert!(matches!(&queue.state.paused, Some(PausedBecause::TargetRed { gate, .. }) if gate == "test"));
    assert!(queue.state.entries.iter().all(|entry| entry.state == EntryState::Queued));
    world.target_red = false;
    queue.run(&mut world);
    assert_eq!(world.target, ["a", "b"]);
}

#[test]
// promise: merges-4
fn conflict_goes_back_to_its_agent_so_often_and_no_more() {
    let pair = |first: &str, second: &str| (first.to_owned(), second.to_owned());
    let mut world = World {
        conflicts: BTreeSet::from([pair("a", "b"), pair("a", "c")]),
        never_resolved: BTreeSet::from(["c".to_owned()]),
        ..World::default()
    };
    let mut queue = Queue::with(&["a", "b", "c", "d"], 4);
    queue.run(&mut world);
    assert_eq!(world.target, ["a", "d", "b"], "who comes back is behind the others");
    assert_eq!((queue.state.entry(&id("b")).unwrap().returns, queue.state.entry(&id("c")).unwrap().returns), (1, 2));
    assert!(
        matches!(queue.of("c"), EntryState::Refused { why: RefusedBecause::Conflict { files }, .. } if files == &["f"])
    );
}

#[test]
// promise: merges-5
fn moved_target_is_built_upon_again() {
    let (mut world, mut queue) = (World::default(), Queue::with(&["a"], 4));
    queue.say(&MergesInput::Resume).unwrap();
    while !matches!(queue.state.effects()[0], MergesEffect::Advance { .. }) {
        let input = world.perform(&queue.state.effects()[0]);
        queue.say(&input).unwrap();
    }
    world.foreign = 1;
    let input = world.perform(&queue.state.effects()[0]);
    queue.say(&input).unwrap();
    assert!(world.target.is_empty() && matches!(queue.state.effects()[0], MergesEffect::Build { number: 2, .. }));
    queue.run(&mut world);
    assert_eq!(world.target, ["a"]);
}

#[test]
// promise: merges-5
fn blocked_target_pauses_with_the_reason() {
    let (mut world, mut queue) = (World::default(), Queue::with(&["a"], 4));
    queue.say(&MergesInput::Resume).unwrap();
    while !matches!(queue.state.effects()[0], MergesEffect::Advance { .. }) {
        let input = world.perform(&queue.state.effects()[0]);
        queue.say(&input).unwrap();
    }
    let end = Advance::Blocked { message: "not clean".to_owned() };
    queue.say(&MergesInput::Advanced { number: 1, end }).unwrap();
    assert!(matches!(&queue.state.paused, Some(PausedBecause::Blocked { message }) if message == "not clean"));
    assert_eq!((queue.of("a"), queue.state.effects()), (&EntryState::Queued, Vec::new()));
}

#[test]
fn entries_are_added_and_removed_while_they_wait() {
    let (mut world, mut queue) = (World::default(), Queue::with(&["a", "b"], 1));
    queue.say(&MergesInput::Add { candidates: vec![candidate("c"), candidate("a")] }).unwrap();
    assert_eq!(queue.state.entries.len(), 3, "one that waits is not added again");
    assert_eq!(queue.state.effects(), [], "nothing starts before somebody works on it");
    queue.say(&MergesInput::Resume).unwrap();
    let refused = |queue: &mut Queue, name: &str| queue.say(&MergesInput::Remove { loop_id: id(name) });
    assert_eq!(refused(&mut queue, "a"), Err(GroupRefusal::NotWaiting), "its batch is under way");
    assert_eq!(refused(&mut queue, "b"), Ok(1));
    assert_eq!(refused(&mut queue, "b"), Err(GroupRefusal::NotWaiting));
    queue.run(&mut world);
    assert_eq!(world.target, ["a", "c"]);
    assert_eq!(queue.of("b"), &EntryState::Refused { why: RefusedBecause::Removed, noted: true });
}

#[test]
// promise: merges-7
fn stopped_queue_refuses_what_is_not_merged_and_stops_the_loops_it_gave_back() {
    let pair = ("a".to_owned(), "b".to_owned());
    let mut world = World { conflicts: BTreeSet::from([pair]), ..World::default() };
    let mut queue = Queue::with(&["a", "b", "c"], 1);
    queue.say(&MergesInput::Resume).unwrap();
    while !matches!(queue.of("b"), EntryState::Returned { .. }) {
        let input = world.perform(&queue.state.effects()[0]);
        queue.say(&input).unwrap();
    }
    queue.say(&MergesInput::Stop).unwrap();
    assert_eq!(queue.say(&MergesInput::Stop), Err(GroupRefusal::AlreadyAsked));
    assert_eq!(queue.of("c"), &EntryState::Refused { why: RefusedBecause::Stopped, noted: true });
    assert!(queue.state.effects().contains(&MergesEffect::StopLoop { loop_id: id("b") }));
    let end = ReturnEnd::Other { message: "stopped".to_owned() };
    queue.say(&MergesInput::Returned { loop_id: id("b"), end }).unwrap();
    assert_eq!((world.target.as_slice(), queue.merged()), (&["a".to_owned()][..], vec!["a"]));
    assert_eq!(queue.state.status, GroupStatus::Ended(End::Cancelled));
}

#[test]
// promise: merges-7
fn stopped_queue_waits_for_the_target_that_is_being_moved() {
    let (mut world, mut queue) = (World::default(), Queue::with(&["a", "b"], 1));
    queue.say(&MergesInput::Resume).unwrap();
    while !matches!(queue.state.effects()[0], MergesEffect::Advance { .. }) {
        let input = world.perform(&queue.state.effects()[0]);
        queue.say(&input).unwrap();
    }
    queue.say(&MergesInput::Stop).unwrap();
    assert!(matches!(queue.state.effects()[..], [MergesEffect::Advance { .. }]));
    for _ in 0..2 {
        let input = world.perform(&queue.state.effects()[0]);
        queue.say(&input).unwrap();
    }
    assert_eq!((world.target.as_slice(), queue.merged()), (&["a".to_owned()][..], vec!["a"]));
    assert_eq!(queue.of("b"), &EntryState::Refused { why: RefusedBecause::Stopped, noted: true });
    assert_eq!(queue.state.status, GroupStatus::Ended(End::Cancelled));
}

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[test]
// promise: merges-1
fn random_queues_settle_every_entry_and_merge_nothing_unjudged() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let mut world = World::default();
        for _ in 0..dice.roll(3) {
            let size = 1 + dice.roll(2);
            world.red.push((0..size).map(|_| names[usize::try_from(dice.roll(8)).unwrap()].to_owned()).collect());
        }
        for _ in 0..dice.roll(5) {
            let mut pick = || names[usize::try_from(dice.roll(8)).unwrap()].to_owned();
            let (first, second) = (pick(), pick());
            if first != second {
                world.conflicts.insert((first, second.clone()));
                if dice.roll(2) == 0 {
                    world.never_resolved.insert(second);
                }
            }
        }
        let mut queue = Queue::with(&names, 1 + u32::try_from(dice.roll(8)).unwrap());
        queue.say(&MergesInput::Resume).unwrap();
        let mut late: Vec<MergesInput> = Vec::new();
        for step in 0.. {
            assert!(step < 2_000, "seed {seed}: {:?}", queue.state);
            let wanted = queue.state.effects();
            if wanted.is_empty() {
                match queue.state.status {
                    GroupStatus::Ended(_) => break,
                    GroupStatus::Paused => {
                        queue.say(&MergesInput::Resume).unwrap();
                        continue;
                    }
                    GroupStatus::Running => panic!("seed {seed}: nothing is wanted: {:?}", queue.state),
                }
            }
            if dice.roll(200) == 0 {
                let _ = queue.say(&MergesInput::Stop);
                continue;
            }
            if dice.roll(10) == 0 {
                world.foreign += u32::from(dice.roll(3) == 0);
                if let Some(stale) = late.pop() {
                    let _ = queue.say(&stale);
                }
                // The driver is killed, and the next one has only the journal.
                queue.state = replay(queue.journal.clone()).unwrap();
                continue;
            }
            let effect = wanted[usize::try_from(dice.roll(wanted.len() as u64)).unwrap()].clone();
            let input = world.perform(&effect);
            // A result may be lost with its driver: the effect is performed again.
            if dice.roll(8) == 0 {
                late.push(input);
                continue;
            }
            queue.say(&input).unwrap();
        }
        for entry in &queue.state.entries {
            let name = &entry.candidate.name;
            assert_eq!(world.target.contains(name), queue.merged().contains(&name.as_str()), "seed {seed}: {name}");
            assert!(entry.returns <= 2, "seed {seed}");
            assert!(
                matches!(entry.state, EntryState::Merged { noted: true, .. } | EntryState::Refused { noted: true, .. }),
                "seed {seed}: {name} is {:?}",
                entry.state
            );
        }
        assert!(world.red.iter().all(|set| !set.iter().all(|name| world.target.contains(name))), "seed {seed}");
    }
}
