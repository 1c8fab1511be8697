//! What happens when one of the supervising processes is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use windlass_supervise::{ContainmentRequest, Ended, EndedBy, ProcessEvent, ShimSpec, settled_exit_record, sweep};

use crate::world::{World, block_on, launcher, on_each_strong_rung, until_said, within};

crate::cases![
    a_killed_engine_takes_its_tree_along,
    a_killed_engine_loses_no_output,
    a_killed_shim_takes_its_tree_along,
    a_killed_nursery_leaves_its_shims_alone_and_is_replaced,
    a_killed_reaper_takes_the_tree_along,
    a_sweep_finds_what_was_left,
];

fn pid(number: u32) -> Pid {
    Pid::from_raw(number.cast_signed()).unwrap()
}

/// An engine in its own process with a tree that is ready, and the id of its shim.
fn engine(world: &World, spec: &ShimSpec) -> (Child, u32) {
    std::fs::write(world.path("spec.json"), serde_json::to_vec(spec).unwrap()).unwrap();
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .arg("engine")
        .arg(world.path("spec.json"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(engine.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (engine, line.trim().parse().unwrap())
}

/// Waits until the process has ended.
fn wait_for_end(process: impl std::os::fd::AsFd) {
    let mut events = [rustix::event::PollFd::new(&process, rustix::event::PollFlags::IN)];
    let patience = rustix::time::Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut events, Some(&patience)), Ok(1), "it did not end");
}

fn a_killed_engine_takes_its_tree_along() {
    on_each_strong_rung(|rung| {
        for _ in 0..5 {
            let world = World::new();
            let spec = ShimSpec { containment: rung, ..world.staying("zoo") };
            let (mut engine, shim) = engine(&world, &spec);
            let shim = pidfd_open(pid(shim), PidfdFlags::empty()).unwrap();
            // One look may miss the one that hops.
            within(Duration::from_secs(5), "the zoo is complete", || world.alive().len() >= 6);
            engine.kill().unwrap();
            within(Duration::from_secs(1), "the tree is gone", || world.alive().is_empty());
            // A successor that comes at once still gets the record.
            let settled = settled_exit_record(&spec.exit_record).unwrap();
            assert_eq!(settled.map(|record| record.by), Some(EndedBy::EngineGone));
            wait_for_end(shim);
            world.assert_gone();
            let record = world.record().expect("the end is recorded");
            assert_eq!(record.by, EndedBy::EngineGone);
            assert_eq!(record.ended, Ended::Signaled { signal: 9 });
            engine.wait().unwrap();
        }
    });
}

fn a_killed_engine_loses_no_output() {
    let world = World::new();
    // Says that it is ready, and then more than a pipe holds.
    let script = "echo ready; head -c 3000000 /dev/zero; echo done; exec sleep 30";
    let spec = world.command("sh", &["-c", script, &world.token]);
    let (mut engine, shim) = engine(&world, &spec);
    let shim = pidfd_open(pid(shim), PidfdFlags::empty()).unwrap();
    within(Duration::from_secs(10), "all is written", || world.stdout().ends_with(b"done\n"));
    engine.kill().unwrap();
    engine.wait().unwrap();
    wait_for_end(shim);
    assert_eq!(world.stdout().len(), 6 + 3_000_000 + 5);
    assert_eq!(world.record().unwrap().stdout_bytes, 3_000_011);
}

fn a_killed_shim_takes_its_tree_along() {
    on_each_strong_rung(|rung| {
        for _ in 0..5 {
            let world = World::new();
            let spec = ShimSpec { containment: rung, ..world.staying("zoo") };
            // Of an earlier tree; it must not pass for the end of this one.
            crate::world::run(&world.agent("exit", "0"));
            std::fs::remove_file(&spec.stdout).unwrap();
            let last = block_on(async {
                let mut running = launcher().start(&spec).await.unwrap();
                until_said(&mut running, &spec.stdout, "ready").await;
                kill_process(pid(running.shim_pid().unwrap()), Signal::KILL).unwrap();
                let mut last = None;
                while let Some(event) = running.next().await {
                    last = Some(event);
                }
                last
            });
            assert!(matches!(last, Some(ProcessEvent::Lost { .. })), "never a success: {last:?}");
            within(Duration::from_secs(1), "the tree is gone", || world.alive().is_empty());
            assert_eq!(world.record(), None);
        }
    });
}

fn a_killed_reaper_takes_the_tree_along() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..world.staying("zoo") };
        let last = block_on(async {
            let mut running = launcher().start(&spec).await.unwrap();
            until_said(&mut running, &spec.stdout, "ready").await;
            let shim = running.shim_pid().unwrap();
            let children = format!("/proc/{shim}/task/{shim}/children");
            let reaper = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
            kill_process(pid(reaper), Signal::KILL).unwrap();
            let mut last = None;
            while let Some(event) = running.next().await {
                last = Some(event);
            }
            last.unwrap()
        });
        world.assert_gone();
        match (rung, last) {
            // Nothing in the tree can have done it.
            (ContainmentRequest::PidNamespace, ProcessEvent::Lost { .. }) => assert_eq!(world.record(), None),
            (ContainmentRequest::Subreaper, ProcessEvent::Closed(record)) => {
                assert_eq!((record.ended, record.by), (Ended::Signaled { signal: 9 }, EndedBy::Itself));
            }
            (rung, last) => panic!("{rung:?}: {last:?}"),
        }
    });
}

fn a_killed_nursery_leaves_its_shims_alone_and_is_replaced() {
    let (first, second) = (World::new(), World::new());
    let launcher = launcher();
    let staying = first.staying("zoo");
    let record = block_on(async {
        let mut running = launcher.start(&staying).await.unwrap();
        until_said(&mut running, &staying.stdout, "ready").await;
        let nursery = parent_of(running.shim_pid().unwrap());
        assert_ne!(nursery, std::process::id(), "a shim is forked by the nursery");
        kill_process(pid(nursery), Signal::KILL).unwrap();
        let mut next = launcher.start(&second.agent("exit", "3")).await.unwrap();
        assert_ne!(parent_of(next.shim_pid().unwrap()), nursery);
        assert_eq!(crate::world::finish(&mut next).await.1.ended, Ended::Exited { code: 3 });
        running.stop();
        crate::world::finish(&mut running).await.1
    });
    assert_eq!(record.by, EndedBy::Stopped, "the tree ran on");
    first.assert_gone();
}

fn parent_of(process: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn a_sweep_finds_what_was_left() {
    let world = World::new();
    let mut orphan = Command::new(std::env::current_exe().unwrap());
    orphan.args(["agent", "quiet", &world.token]).env("WINDLASS_TREES_TEST", &world.token);
    let mut children: Vec<_> = (0..3).map(|_| orphan.spawn().unwrap()).collect();
    let mut expected: Vec<_> = children.iter().map(Child::id).collect();
    // A child carries its tag from its exec on, which may come a little after spawn returns.
    within(Duration::from_secs(5), "all run", || world.alive().len() == 3);
    let mut killed = sweep("WINDLASS_TREES_TEST", &world.token).unwrap();
    killed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(killed, expected);
    world.assert_gone();
    for child in &mut children {
        child.wait().unwrap();
    }
}
