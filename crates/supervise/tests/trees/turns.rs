//! Processes that live through several turns, and the standard input that is written to meanwhile.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use windlass_process::Stdin;
use windlass_supervise::{
    Ended, EndedBy, ExitRecord, ProcessEvent, Running, ShimSpec, TurnPaths, read_exit_record, settled_exit_record,
};

use crate::world::{World, block_on, finish, launcher, on_each_strong_rung, until_said, within};

crate::cases![
    input_arrives_whole_and_then_ends,
    turns_share_a_process_and_nothing_else,
    what_comes_between_turns_belongs_to_the_next,
    a_process_that_ends_between_turns_is_told_and_its_last_words_kept,
    a_turn_that_is_ended_too_late_has_the_end_of_its_process,
    a_stop_does_not_wait_behind_input,
    input_that_nobody_reads_holds_up_nothing,
    a_turn_without_a_place_ends_the_process,
    a_killed_engine_takes_an_idle_process_along,
    a_killed_engine_loses_the_turn_under_way_and_no_other,
    a_killed_shim_loses_the_turn_under_way_and_no_other,
];

fn with_pipe(spec: ShimSpec) -> ShimSpec {
    let mut spec = spec;
    spec.command.stdin = Stdin::Pipe;
    spec
}

fn paths(world: &World, turn: u32) -> TurnPaths {
    let dir = world.path(&format!("turn-{turn}"));
    std::fs::create_dir_all(&dir).unwrap();
    paths_in(&dir)
}

fn paths_in(dir: &Path) -> TurnPaths {
    TurnPaths {
        stdout: dir.join("stdout"),
        stderr: dir.join("stderr"),
        times: Some(dir.join("times")),
        exit_record: dir.join("exit.json"),
    }
}

/// A spec whose first turn is `turn-1`.
fn first_turn(world: &World, spec: ShimSpec) -> ShimSpec {
    let TurnPaths { stdout, stderr, times, exit_record } = paths(world, 1);
    with_pipe(ShimSpec { stdout, stderr, times, exit_record, ..spec })
}

async fn end_turn(running: &mut Running) -> ExitRecord {
    running.end_turn();
    loop {
        match running.next().await {
            Some(ProcessEvent::TurnOver(record)) => return record,
            Some(ProcessEvent::Output { .. }) => {}
            other => panic!("the turn did not end: {other:?}"),
        }
    }
}

async fn begin_turn(running: &mut Running, paths: &TurnPaths) {
    running.begin_turn(paths);
    let answer = running.next().await;
    assert_eq!(answer, Some(ProcessEvent::TurnBegun));
}

fn said(paths: &TurnPaths) -> String {
    std::fs::read_to_string(&paths.stdout).unwrap()
}

fn input_arrives_whole_and_then_ends() {
    let world = World::new();
    let spec = with_pipe(world.agent("stdin", ""));
    // Many times what a pipe holds, with every byte there is.
    let input: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 257) as u8).collect();
    let record = block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        for chunk in input.chunks(700_001) {
            running.send(chunk);
        }
        running.close_input();
        finish(&mut running).await.1
    });
    assert_eq!(record.ended, Ended::Exited { code: 0 });
    let mut expected = input;
    expected.extend(b"<end>");
    assert!(world.stdout() == expected, "{} bytes came back", world.stdout().len());
}

fn turns_share_a_process_and_nothing_else() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..first_turn(&world, world.staying("talker")) };
        let (one, two) = (paths(&world, 1), paths(&world, 2));
        let last = block_on(async {
            let mut running = launcher().start(&spec).await.unwrap();
            running.send(b"a\n");
            until_said(&mut running, &one.stdout, " a\n").await;
            let record = end_turn(&mut running).await;
            assert_eq!((&record.ended, record.by), (&Ended::TurnOver, EndedBy::Itself));
            assert_eq!(record.stdout_bytes, said(&one).len() as u64);
            assert_eq!(read_exit_record(&one.exit_record).unwrap(), Some(record), "on disk before it is told");
            begin_turn(&mut running, &two).await;
            assert_eq!(read_exit_record(&two.exit_record).unwrap(), None);
            running.send(b"b\n");
            until_said(&mut running, &two.stdout, " b\n").await;
            running.close_input();
            finish(&mut running).await.1
        });
        let pid = said(&one).split(' ').next().unwrap().to_owned();
        assert_eq!(said(&one), format!("{pid} a\n"));
        assert_eq!(said(&two), format!("{pid} b\n<end>"));
        assert_eq!(last.ended, Ended::Exited { code: 0 });
        assert_eq!(last.stdout_bytes, said(&two).len() as u64);
        assert_eq!(read_exit_record(&two.exit_record).unwrap(), Some(last));
        for turn in [&one, &two] {
            assert_eq!(std::fs::metadata(turn.times.as_ref().unwrap()).unwrap().len() % 16, 0);
        }
        world.assert_gone();
    });
}

fn what_comes_between_turns_belongs_to_the_next() {
    let world = World::new();
    let spec = first_turn(&world, world.staying("talker"));
    let (one, two) = (paths(&world, 1), paths(&world, 2));
    block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        running.send(b"a\n");
        until_said(&mut running, &one.stdout, " a\n").await;
        end_turn(&mut running).await;
        running.send(b"between\n");
        // The shim takes one order after the other, so that the answer cannot come before the turn.
        begin_turn(&mut running, &two).await;
        until_said(&mut running, &two.stdout, " between\n").await;
        running.kill();
        finish(&mut running).await;
    });
    assert!(said(&one).ends_with(" a\n"), "{}", said(&one));
}

fn a_process_that_ends_between_turns_is_told_and_its_last_words_kept() {
    let world = World::new();
    let spec = first_turn(&world, world.staying("talker"));
    let (one, two) = (paths(&world, 1), paths(&world, 2));
    let (events, record) = block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        running.send(b"a\n");
        until_said(&mut running, &one.stdout, " a\n").await;
        end_turn(&mut running).await;
        running.send(b"die\n");
        let ended = running.next().await;
        assert_eq!(ended, Some(ProcessEvent::Exited(Ended::Exited { code: 3 })));
        running.begin_turn(&two);
        finish(&mut running).await
    });
    assert!(!events.contains(&ProcessEvent::TurnBegun), "{events:?}");
    assert_eq!((record.ended, record.by), (Ended::Exited { code: 3 }, EndedBy::Itself));
    assert!(!two.stdout.exists() && !two.exit_record.exists(), "nothing was begun");
    let kept = read_exit_record(&one.exit_record).unwrap().unwrap();
    assert_eq!(kept.ended, Ended::TurnOver, "the turn that was over stays over");
    assert_eq!(std::fs::read(world.path("turn-1/stderr.late")).unwrap(), b"dying\n");
    assert_eq!(std::fs::metadata(&one.stderr).unwrap().len(), 0);
}

fn a_turn_that_is_ended_too_late_has_the_end_of_its_process() {
    let world = World::new();
    let spec = first_turn(&world, world.staying("talker"));
    let one = paths(&world, 1);
    let record = block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        running.send(b"die\n");
        loop {
            match running.next().await {
                Some(ProcessEvent::Exited(_)) => break,
                Some(ProcessEvent::Started { .. } | ProcessEvent::Output { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        running.end_turn();
        finish(&mut running).await.1
    });
    assert_eq!(record.ended, Ended::Exited { code: 3 });
    assert_eq!(read_exit_record(&one.exit_record).unwrap(), Some(record));
}

fn a_stop_does_not_wait_behind_input() {
    let world = World::new();
    let spec = first_turn(&world, world.staying("deaf"));
    let record = block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        running.send(&vec![b'x'; 2_000_000]);
        until_said(&mut running, &spec.stdout, "ready").await;
        running.stop();
        finish(&mut running).await.1
    });
    assert_eq!((record.ended, record.by), (Ended::Signaled { signal: 15 }, EndedBy::Stopped));
    world.assert_gone();
}

fn input_that_nobody_reads_holds_up_nothing() {
    let world = World::new();
    let spec = first_turn(&world, world.staying("closes-stdin"));
    block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        until_said(&mut running, &spec.stdout, "ready").await;
        running.send(&vec![b'x'; 2_000_000]);
        let record = end_turn(&mut running).await;
        assert_eq!(record.ended, Ended::TurnOver);
        running.kill();
        finish(&mut running).await;
    });
    world.assert_gone();
}

fn a_turn_without_a_place_ends_the_process() {
    let world = World::new();
    let spec = first_turn(&world, world.staying("talker"));
    let one = paths(&world, 1);
    let record = block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        running.send(b"a\n");
        until_said(&mut running, &one.stdout, " a\n").await;
        end_turn(&mut running).await;
        running.begin_turn(&paths_in(&world.path("nowhere")));
        finish(&mut running).await.1
    });
    assert!(matches!(record.ended, Ended::WriteFailed { out_of_space: false, .. }), "{record:?}");
    world.assert_gone();
}

/// An engine in its own process: plays one turn, starts a second if there is a place for it, and prints the
/// shim's id.
pub(crate) fn engine(spec: &str) -> ! {
    let spec: ShimSpec = serde_json::from_slice(&std::fs::read(spec).unwrap()).unwrap();
    let second = spec.stdout.parent().unwrap().with_file_name("turn-2");
    block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        running.send(b"a\n");
        until_said(&mut running, &spec.stdout, " a\n").await;
        end_turn(&mut running).await;
        if second.exists() {
            begin_turn(&mut running, &paths_in(&second)).await;
            running.send(b"b\n");
            until_said(&mut running, &second.join("stdout"), " b\n").await;
        }
        println!("{}", running.shim_pid().unwrap());
        while running.next().await.is_some() {}
    });
    std::process::exit(0)
}

/// Starts that engine, waits until it is where it will be killed, and kills `whom` of engine and shim.
fn kill_amid(world: &World, spec: &ShimSpec, whom: Whom) {
    std::fs::write(world.path("spec.json"), serde_json::to_vec(spec).unwrap()).unwrap();
    let mut engine = Command::new(std::env::current_exe().unwrap())
        .arg("engine-with-turns")
        .arg(world.path("spec.json"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(engine.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let shim = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
    let shim_ended = pidfd_open(shim, PidfdFlags::empty()).unwrap();
    match whom {
        Whom::Engine => engine.kill().unwrap(),
        Whom::Shim => kill_process(shim, Signal::KILL).unwrap(),
    }
    engine.wait().unwrap();
    let mut events = [rustix::event::PollFd::new(&shim_ended, rustix::event::PollFlags::IN)];
    let patience = rustix::time::Timespec { tv_sec: 10, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut events, Some(&patience)), Ok(1), "the shim did not end");
    within(Duration::from_secs(2), "the tree is gone", || world.alive().is_empty());
}

#[derive(Clone, Copy)]
enum Whom {
    Engine,
    Shim,
}

fn a_killed_engine_takes_an_idle_process_along() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..first_turn(&world, world.staying("talker")) };
        kill_amid(&world, &spec, Whom::Engine);
        let record = settled_exit_record(&spec.exit_record).unwrap().unwrap();
        assert_eq!(record.ended, Ended::TurnOver);
    });
}

fn a_killed_engine_loses_the_turn_under_way_and_no_other() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..first_turn(&world, world.staying("talker")) };
        let two = paths(&world, 2);
        kill_amid(&world, &spec, Whom::Engine);
        assert_eq!(settled_exit_record(&spec.exit_record).unwrap().unwrap().ended, Ended::TurnOver);
        let cut = settled_exit_record(&two.exit_record).unwrap().unwrap();
        assert_eq!((cut.ended, cut.by), (Ended::Signaled { signal: 9 }, EndedBy::EngineGone));
        assert_eq!(cut.stdout_bytes, said(&two).len() as u64);
        assert!(said(&two).ends_with(" b\n"));
    });
}

fn a_killed_shim_loses_the_turn_under_way_and_no_other() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let spec = ShimSpec { containment: rung, ..first_turn(&world, world.staying("talker")) };
        let two = paths(&world, 2);
        kill_amid(&world, &spec, Whom::Shim);
        assert_eq!(settled_exit_record(&spec.exit_record).unwrap().unwrap().ended, Ended::TurnOver);
        assert_eq!(settled_exit_record(&two.exit_record).unwrap(), None, "nobody saw it end");
        assert!(said(&two).ends_with(" b\n"));
    });
}
