//! How a tree is ended: whole, soon, and no sooner than it must.

use std::time::Duration;

use jiff::Timestamp;
use windlass_supervise::{ContainmentRequest, Ended, EndedBy, ExitRecord, ProcessEvent, ShimSpec};

use crate::world::{World, block_on, finish, launcher, on_each_strong_rung, run, until_said};

crate::cases![
    a_polite_agent_ends_at_once_when_stopped,
    a_stubborn_agent_is_gone_within_three_seconds,
    the_grace_has_an_upper_bound,
    a_kill_ends_everything_at_once,
    a_stop_ends_everything,
    a_stop_right_after_the_start_is_kept,
    a_stop_after_the_end_does_no_harm,
    a_child_that_holds_stdout_may_say_its_last_words,
    a_stubborn_child_does_not_hold_up_the_end_for_long,
    dropping_a_tree_ends_it,
    the_lowest_rung_ends_the_group,
];

/// Starts a tree, waits until it is ready, does something to it, and returns its record and how long
/// its end took from there.
fn ended(world: &World, spec: &ShimSpec, end: impl Fn(&windlass_supervise::Running)) -> (ExitRecord, Duration) {
    block_on(async {
        let mut running = launcher().start(spec).await.unwrap();
        until_said(&mut running, &spec.stdout, "ready").await;
        let start = Timestamp::now();
        end(&running);
        let (_, record) = finish(&mut running).await;
        let took = gone_after(&record, start);
        world.assert_gone();
        (record, took)
    })
}

/// How long after `start` the tree was gone. When the engine hears of it depends on the disk too.
fn gone_after(record: &ExitRecord, start: Timestamp) -> Duration {
    record.ended_at.duration_since(start).unsigned_abs()
}

fn a_polite_agent_ends_at_once_when_stopped() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..world.staying("polite") };
        let (record, took) = ended(&world, &spec, |running| running.stop());
        assert_eq!((record.ended, record.by), (Ended::Exited { code: 5 }, EndedBy::Stopped));
        assert!(took < Duration::from_secs(2), "the grace is not waited for: {took:?}");
        assert_eq!(world.stdout(), b"ready\nbye\n");
    });
}

fn a_stubborn_agent_is_gone_within_three_seconds() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..world.staying("stubborn") };
        let (record, took) = ended(&world, &spec, |running| running.stop());
        assert_eq!((record.ended, record.by), (Ended::Signaled { signal: 9 }, EndedBy::Stopped));
        assert!(took < Duration::from_secs(3), "{took:?}");
        assert!(took >= Duration::from_millis(1900), "it had its grace: {took:?}");
    });
}

fn the_grace_has_an_upper_bound() {
    let world = World::new();
    let spec = ShimSpec { grace_ms: 60_000, ..world.staying("stubborn") };
    let (_, took) = ended(&world, &spec, |running| running.stop());
    assert!(took < Duration::from_secs(3), "{took:?}");
}

fn a_kill_ends_everything_at_once() {
    on_each_strong_rung(|rung| {
        for _ in 0..5 {
            let world = World::new();
            let spec = ShimSpec { containment: rung, ..world.staying("zoo") };
            let (record, took) = ended(&world, &spec, |running| running.kill());
            assert_eq!((record.ended, record.by), (Ended::Signaled { signal: 9 }, EndedBy::Stopped));
            assert!(took < Duration::from_secs(1), "{took:?}");
        }
    });
}

fn a_stop_ends_everything() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, grace_ms: 300, ..world.staying("zoo") };
        let (record, took) = ended(&world, &spec, |running| running.stop());
        assert_eq!((record.ended, record.by), (Ended::Signaled { signal: 9 }, EndedBy::Stopped));
        assert!(took < Duration::from_secs(3), "{took:?}");
    });
}

fn a_stop_right_after_the_start_is_kept() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..world.staying("sleep") };
        let (events, record) = block_on(async {
            let mut running = launcher().start(&spec).await.unwrap();
            running.stop();
            running.stop();
            finish(&mut running).await
        });
        assert_eq!((record.ended, record.by), (Ended::Signaled { signal: 15 }, EndedBy::Stopped));
        assert!(matches!(events[0], ProcessEvent::Started { .. }), "{events:?}");
        world.assert_gone();
    });
}

fn a_stop_after_the_end_does_no_harm() {
    let world = World::new();
    block_on(async {
        let mut running = launcher().start(&world.agent("exit", "0")).await.unwrap();
        let (_, record) = finish(&mut running).await;
        running.stop();
        running.kill();
        assert_eq!(running.next().await, None);
        assert_eq!((record.ended, record.by), (Ended::Exited { code: 0 }, EndedBy::Itself));
    });
}

fn a_child_that_holds_stdout_may_say_its_last_words() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..world.staying("holder") };
        let (events, record) = run(&spec);
        assert_eq!((record.ended, record.by), (Ended::Exited { code: 0 }, EndedBy::Itself));
        assert_eq!(record.leftovers, 1);
        assert_eq!(world.stdout(), b"parent done\nlast words\n");
        let exited = events.iter().position(|event| matches!(event, ProcessEvent::Exited(_))).unwrap();
        let told_later = &events[exited + 1..];
        assert!(told_later.iter().any(|event| matches!(event, ProcessEvent::Output { .. })));
        world.assert_gone();
    });
}

fn a_stubborn_child_does_not_hold_up_the_end_for_long() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..world.staying("stubborn-holder") };
        let record = block_on(async {
            let mut running = launcher().start(&spec).await.unwrap();
            while !matches!(running.next().await.unwrap(), ProcessEvent::Exited(_)) {}
            let start = Timestamp::now();
            let (_, record) = finish(&mut running).await;
            let took = gone_after(&record, start);
            assert!(took < Duration::from_secs(3), "{took:?}");
            record
        });
        assert_eq!((record.ended, record.leftovers), (Ended::Exited { code: 0 }, 1));
        world.assert_gone();
    });
}

fn dropping_a_tree_ends_it() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..world.staying("zoo") };
        block_on(async {
            let mut running = launcher().start(&spec).await.unwrap();
            until_said(&mut running, &spec.stdout, "ready").await;
        });
        crate::world::within(Duration::from_secs(1), "the tree is gone", || world.alive().is_empty());
        crate::world::within(Duration::from_secs(5), "the record is there", || world.record().is_some());
        assert_eq!(world.record().unwrap().by, EndedBy::EngineGone);
    });
}

fn the_lowest_rung_ends_the_group() {
    let world = World::new();
    let spec = ShimSpec { containment: ContainmentRequest::ProcessGroup, ..world.staying("stubborn-holder") };
    let (_, record) = run(&spec);
    assert_eq!(record.ended, Ended::Exited { code: 0 });
    crate::world::within(Duration::from_secs(1), "the group is gone", || world.alive().is_empty());

    let world = World::new();
    let spec = ShimSpec { containment: ContainmentRequest::ProcessGroup, ..world.staying("stubborn") };
    let (record, took) = ended(&world, &spec, |running| running.kill());
    assert_eq!((record.ended, record.by), (Ended::Signaled { signal: 9 }, EndedBy::Stopped));
    assert!(took < Duration::from_secs(1), "{took:?}");
}
