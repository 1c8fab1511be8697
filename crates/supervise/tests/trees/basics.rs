//! How a tree starts, what it is given, and how its end is told.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use windlass_process::Stdin;
use windlass_supervise::{
    Containment, ContainmentRequest, Ended, EndedBy, ProcessEvent, SpawnFailure, SpawnFailureKind,
};

use crate::world::{World, on_each_strong_rung, run};

crate::cases![
    an_exit_code_is_told_and_recorded,
    a_signal_is_told_and_recorded,
    every_rung_runs_a_program,
    a_missing_program_is_named,
    a_missing_directory_is_named,
    a_file_without_permission_is_told_apart,
    a_file_that_is_no_program_is_told_apart,
    a_missing_interpreter_is_told_apart,
    an_unwritable_transcript_starts_nothing,
    the_child_path_finds_the_program,
    stdin_is_a_file_and_then_ends,
    stdin_is_empty_when_there_is_none,
    a_missing_stdin_file_starts_nothing,
    the_environment_is_exactly_the_one_asked_for,
    no_descriptor_leaks_into_the_agent,
    signals_are_at_their_defaults,
    the_pid_told_is_the_one_the_engine_sees,
    a_tree_has_a_cap_of_its_own_and_the_machine_keeps_its_own,
];

fn an_exit_code_is_told_and_recorded() {
    let world = World::new();
    let (events, record) = run(&world.agent("exit", "7"));
    let ended = Ended::Exited { code: 7 };
    assert!(matches!(events[0], ProcessEvent::Started { .. }), "{events:?}");
    assert_eq!(events[1], ProcessEvent::Exited(ended.clone()));
    assert_eq!(events[2], ProcessEvent::Closed(record.clone()));
    assert_eq!(events.len(), 3);
    assert_eq!((&record.ended, record.by, record.leftovers), (&ended, EndedBy::Itself, 0));
    assert_eq!(world.record(), Some(record));
}

fn a_signal_is_told_and_recorded() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let mut spec = world.agent("signal", "11");
        spec.containment = rung;
        let (_, record) = run(&spec);
        assert_eq!(record.ended, Ended::Signaled { signal: 11 });
        assert_eq!(world.record(), Some(record));
    });
}

fn every_rung_runs_a_program() {
    let rungs = [
        (ContainmentRequest::PidNamespace, Containment::PidNamespace),
        (ContainmentRequest::Subreaper, Containment::Subreaper),
        (ContainmentRequest::ProcessGroup, Containment::ProcessGroup),
    ];
    let probed = windlass_supervise::probe();
    for ((request, expected), _) in rungs.into_iter().zip(probed).filter(|(_, rung)| rung.available) {
        let world = World::new();
        let mut spec = world.agent("both", "");
        spec.containment = request;
        let (events, record) = run(&spec);
        let ProcessEvent::Started { containment, .. } = events[0] else { panic!("{events:?}") };
        // A sandbox has its own PID namespace, whatever was requested.
        let sandboxed = crate::world::SANDBOXED.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(containment, if sandboxed { Containment::PidNamespace } else { expected });
        assert_eq!(record.ended, Ended::Exited { code: 0 });
        assert_eq!((record.stdout_bytes, record.stderr_bytes), (9, 10));
        assert_eq!(world.stdout(), b"to stdout");
        assert_eq!(std::fs::read(world.path("stderr")).unwrap(), b"to stderr!");
    }
}

/// Runs something that cannot start, and returns why.
fn refusal(world: &World, spec: &windlass_supervise::ShimSpec) -> SpawnFailure {
    let (events, record) = run(spec);
    let [ProcessEvent::SpawnFailed(failure), ProcessEvent::Closed(_)] = &events[..] else { panic!("{events:?}") };
    assert_eq!(record.ended, Ended::SpawnFailed(failure.clone()));
    if record.not_recorded.is_none() {
        assert_eq!(world.record(), Some(record));
    }
    failure.clone()
}

fn a_missing_program_is_named() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let mut spec = world.command("no-such-agent", &[]);
        spec.containment = rung;
        let failure = refusal(&world, &spec);
        assert_eq!(failure.kind, SpawnFailureKind::ProgramNotFound);
        assert!(failure.message.contains("no-such-agent") && failure.message.contains("PATH"));
        let failure = refusal(&world, &world.command("/no/such/agent", &[]));
        assert_eq!(failure.kind, SpawnFailureKind::ProgramNotFound);
        assert_eq!(failure.message, "program `/no/such/agent` does not exist");
    });
}

fn a_missing_directory_is_named() {
    let world = World::new();
    let mut spec = world.agent("exit", "0");
    spec.command.cwd = world.path("gone");
    let failure = refusal(&world, &spec);
    assert_eq!(failure.kind, SpawnFailureKind::DirectoryNotFound);
    assert!(failure.message.contains("gone"), "{failure}");
    std::fs::write(world.path("gone"), "").unwrap();
    assert_eq!(refusal(&world, &spec).kind, SpawnFailureKind::DirectoryNotUsable);
}

fn script(world: &World, content: &str, mode: u32) -> windlass_supervise::ShimSpec {
    let path = world.path("program");
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    world.command(path.to_str().unwrap(), &[])
}

fn a_file_without_permission_is_told_apart() {
    let world = World::new();
    let spec = script(&world, "#!/bin/sh\n", 0o644);
    assert_eq!(refusal(&world, &spec).kind, SpawnFailureKind::ProgramNotPermitted);
}

fn a_file_that_is_no_program_is_told_apart() {
    let world = World::new();
    let spec = script(&world, "echo no shebang\n", 0o755);
    assert_eq!(refusal(&world, &spec).kind, SpawnFailureKind::ProgramNotRunnable);
}

fn a_missing_interpreter_is_told_apart() {
    let world = World::new();
    let spec = script(&world, "#!/no/such/interpreter\n", 0o755);
    assert_eq!(refusal(&world, &spec).kind, SpawnFailureKind::InterpreterNotFound);
}

fn an_unwritable_transcript_starts_nothing() {
    let world = World::new();
    let mut spec = world.agent("exit", "0");
    spec.stdout = world.path("no/such/directory");
    let failure = refusal(&world, &spec);
    assert_eq!(failure.kind, SpawnFailureKind::OutputUnwritable);
    assert!(failure.message.contains("no/such/directory"), "{failure}");
}

fn the_child_path_finds_the_program() {
    let world = World::new();
    let program = world.path("bin/only-here");
    std::fs::create_dir(world.path("bin")).unwrap();
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), program).unwrap();
    let mut spec = world.command("only-here", &["agent", "say", "found"]);
    // Empty and relative entries mean the child's directory.
    spec.command.env.insert("PATH".into(), "/no/such:/etc/passwd:bin".into());
    let (_, record) = run(&spec);
    assert_eq!(record.ended, Ended::Exited { code: 0 });
    assert_eq!(world.stdout(), b"found");
}

fn stdin_is_a_file_and_then_ends() {
    let world = World::new();
    std::fs::write(world.path("prompt"), "do it\0\n").unwrap();
    let mut spec = world.agent("stdin", "");
    spec.command.stdin = Stdin::File { path: world.path("prompt") };
    run(&spec);
    assert_eq!(world.stdout(), b"do it\0\n<end>");
}

fn stdin_is_empty_when_there_is_none() {
    let world = World::new();
    run(&world.agent("stdin", ""));
    assert_eq!(world.stdout(), b"<end>");
}

fn a_missing_stdin_file_starts_nothing() {
    let world = World::new();
    let mut spec = world.agent("stdin", "");
    spec.command.stdin = Stdin::File { path: world.path("nowhere") };
    assert_eq!(refusal(&world, &spec).kind, SpawnFailureKind::StdinUnreadable);
}

fn the_environment_is_exactly_the_one_asked_for() {
    let world = World::new();
    let mut spec = world.agent("environment", "");
    spec.command.env = BTreeMap::from([("A".into(), "1=2 3".into()), ("B".into(), String::new())]);
    run(&spec);
    assert_eq!(world.stdout(), b"A=1=2 3\nB=\n");
}

fn no_descriptor_leaks_into_the_agent() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        // As a careless parent of the engine would leave one: without close-on-exec.
        let file = std::fs::File::open("/dev/null").unwrap();
        let leaky = rustix::io::dup(&file).unwrap();
        rustix::io::fcntl_setfd(&leaky, rustix::io::FdFlags::empty()).unwrap();
        let mut spec = world.agent("descriptors", "");
        spec.containment = rung;
        run(&spec);
        // 3 is the one it lists them with.
        assert_eq!(String::from_utf8(world.stdout()).unwrap(), "0 1 2 3");
        drop(leaky);
    });
}

fn signals_are_at_their_defaults() {
    let world = World::new();
    run(&world.command("cat", &["/proc/self/status"]));
    let text = String::from_utf8(world.stdout()).unwrap();
    let set = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split_ascii_whitespace().last().unwrap(), 16).unwrap()
    };
    assert_eq!((set("SigBlk"), set("SigCgt")), (0, 0));
    // Without 32 and 33, which belong to the C library and cannot be set back.
    assert_eq!(set("SigIgn") & !(0b11 << 31), 0, "{text}");
}

fn the_pid_told_is_the_one_the_engine_sees() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let mut spec = world.staying("sleep");
        spec.containment = rung;
        crate::world::block_on(async {
            let mut running = crate::world::launcher().start(&spec).await.unwrap();
            let Some(ProcessEvent::Started { pid, .. }) = running.next().await else { panic!() };
            assert_eq!(world.alive(), [pid]);
            running.kill();
            crate::world::finish(&mut running).await;
        });
        world.assert_gone();
    });
}

/// Only where the kernel has the number for each namespace, since 6.14; elsewhere there is nothing to see.
fn a_tree_has_a_cap_of_its_own_and_the_machine_keeps_its_own() {
    let own = || std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    let before = own();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    if (parts.next(), parts.next()) < (Some(6), Some(14)) {
        eprintln!("SKIPPED: Linux {} has one number for the machine", release.trim());
        return;
    }
    let world = World::new();
    // The cap comes a moment after the program starts.
    let script = "until [ $(cat /proc/sys/kernel/pid_max) -le 16384 ]; do :; done";
    let (_, record) = run(&world.command("/bin/sh", &["-c", script]));
    assert_eq!(record.ended, Ended::Exited { code: 0 });
    assert_eq!(own(), before);
}
