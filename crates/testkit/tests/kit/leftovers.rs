//! Children that the scripted agent leaves behind: each kind really escapes as it says, is recorded, and dies by
//! itself or with its world.

use std::fs;
use std::path::PathBuf;

use windlass_testkit::script::{Leave, LeaveKind};
use windlass_testkit::{ScriptedAgent, Stream, TAG, World, alive, processes_with_env, scripted_agent};

fn leaving(world: &World, settings: &str) -> ScriptedAgent {
    world.script(&format!("[[turn]]\nsteps = [{{ leave = {{ {settings} }} }}, {{ say = \"bye\" }}]"))
}

/// Plays the turn and waits for the agent itself, not for what it left.
fn play(world: &World, agent: &ScriptedAgent) -> u32 {
    let running = world.start(world.agent(agent));
    assert!(running.wait_ended().success());
    running.pid()
}

/// The field of a process' stat line that stands `after` the one with its state.
fn stat_field(pid: u32, after: usize) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is alive");
    let (_, rest) = stat.rsplit_once(") ").expect("a stat line");
    rest.split(' ').nth(after).expect("a field").parse().expect("a pid")
}

fn parent_of(pid: u32) -> u32 {
    stat_field(pid, 1)
}

// Zero where group or session started outside of the pid namespace or with init: the functions of rustix take no zero.

fn group_of(pid: u32) -> u32 {
    stat_field(pid, 2)
}

fn session_of(pid: u32) -> u32 {
    stat_field(pid, 3)
}

#[test]
fn a_background_child_holds_stdout_after_the_agent_has_gone() {
    let world = World::new();
    let agent = leaving(&world, r#"kind = "holds_stdout", wait_for = "go", say = "late""#);
    let running = world.start(world.agent(&agent));
    assert!(running.wait_ended().success());
    let left = agent.pids();
    assert_eq!(left.len(), 1);
    assert!(left[0].process.alive());
    running.wait_bytes(Stream::Stdout, 4);
    assert_eq!(running.stdout_so_far(), b"bye\n");
    agent.open_gate("go");
    assert_eq!(running.wait().stdout, "bye\nlate\n");
    left[0].process.wait_dead();
}

#[test]
fn a_double_forked_child_has_lost_its_parent_but_not_its_group() {
    let world = World::new();
    let agent = leaving(&world, r#"kind = "double_fork""#);
    let own_group = group_of(std::process::id());
    let ended = play(&world, &agent);
    let left = agent.pids()[0].process;
    assert!(left.alive());
    assert_ne!(parent_of(left.pid), ended);
    assert_eq!(group_of(left.pid), own_group);
}

#[test]
fn a_setsid_escapee_has_a_session_of_its_own() {
    let world = World::new();
    let agent = leaving(&world, r#"kind = "setsid", ignore_signals = true"#);
    play(&world, &agent);
    let left = agent.pids()[0].process;
    assert_ne!(session_of(left.pid), session_of(std::process::id()));
    let tag = world.root().file_name().and_then(|n| n.to_str()).expect("a name");
    let tagged = processes_with_env(TAG, tag);
    assert!(tagged.iter().any(|p| p.pid == left.pid), "it carries the tag: {tagged:?}");
}

#[test]
fn a_bare_escapee_has_no_environment_no_file_and_no_directory() {
    let world = World::new();
    let agent = leaving(&world, r#"kind = "setsid_bare""#);
    play(&world, &agent);
    let left = agent.pids()[0].process;
    let open = fs::read_dir(format!("/proc/{}/fd", left.pid)).expect("it is alive");
    assert_eq!(open.count(), 0);
    let environ = fs::read(format!("/proc/{}/environ", left.pid)).expect("it is alive");
    assert!(environ.is_empty());
    assert!(left.alive());
    assert_eq!(fs::read_link(format!("/proc/{}/cwd", left.pid)).ok(), Some(PathBuf::from("/")));
    assert!(world.processes().iter().any(|p| p.pid == left.pid), "the world knows it all the same");
}

#[test]
fn a_hopper_changes_its_pid_and_stops_at_the_cap() {
    let world = World::new();
    let agent = leaving(&world, r#"kind = "hopper", hops = 100_000, life_ms = 1_500"#);
    play(&world, &agent);
    let most = usize::try_from(Leave::MAX_HOPS).expect("a small number") + 1;
    let left = agent.wait_pids(most);
    for one in &left {
        one.process.wait_dead();
    }
    assert_eq!(agent.pids().len(), most, "no hop after the cap");
    let mut pids: Vec<u32> = left.iter().map(|l| l.process.pid).collect();
    pids.dedup();
    assert!(pids.len() > 1);
}

#[test]
fn leftovers_die_by_themselves_also_when_they_ignore_signals() {
    let world = World::new();
    for kind in ["holds_stdout", "double_fork", "setsid", "setsid_bare", "hopper"] {
        let settings = format!("kind = \"{kind}\", life_ms = 50, ignore_signals = true, hops = 3");
        let agent = leaving(&world, &settings);
        play(&world, &agent);
        assert!(!agent.pids().is_empty(), "{kind} recorded itself");
        agent.pids().iter().for_each(|l| l.process.wait_dead());
    }
    world.wait_no_processes();
}

#[test]
fn no_script_can_ask_for_more_than_the_caps() {
    let leave = |kind, life_ms, hops| Leave {
        kind,
        life_ms,
        ignore_signals: false,
        say: None,
        wait_for: None,
        hops,
        every_ms: None,
    };
    assert_eq!(leave(LeaveKind::Setsid, Some(9_999_999), None).capped_life_ms(), 60_000);
    assert_eq!(leave(LeaveKind::Setsid, None, None).capped_life_ms(), 60_000);
    assert_eq!(leave(LeaveKind::Setsid, Some(5), None).capped_life_ms(), 5);
    assert_eq!(leave(LeaveKind::Hopper, None, Some(10_000)).capped_life_ms(), 20_000);
    assert_eq!(leave(LeaveKind::Hopper, None, Some(10_000)).capped_hops(), 200);
}

#[test]
fn a_dropped_world_leaves_no_process_behind() {
    let world = World::new();
    let mut recorded = Vec::new();
    for kind in ["holds_stdout", "double_fork", "setsid", "setsid_bare", "hopper"] {
        let settings = format!("kind = \"{kind}\", ignore_signals = true, every_ms = 20");
        let agent = leaving(&world, &settings);
        play(&world, &agent);
        recorded.push(agent);
    }
    let deaf = world.script("[[turn]]\nsteps = [{ hang = { ignore_signals = true, touch = \"deaf\" } }]");
    let running = world.start(world.agent(&deaf));
    deaf.wait_touched("deaf");
    let left: Vec<_> = recorded.iter().flat_map(ScriptedAgent::pids).collect();
    assert!(left.len() >= 5);
    let root = world.root().to_owned();
    let tag = root.file_name().and_then(|n| n.to_str()).expect("a name").to_owned();
    drop(world);
    running.wait_ended();
    assert!(left.iter().all(|l| !l.process.alive()));
    assert_eq!(processes_with_env(TAG, &tag), []);
    assert!(!root.exists());
}

#[test]
fn a_process_in_a_pid_namespace_is_found_from_outside() {
    let world = World::new();
    let agent =
        world.script("[[turn]]\nsteps = [{ leave = { kind = \"setsid_bare\" } }, { touch = \"ready\" }, \"hang\"]");
    let unshared = |words: &[&str]| {
        let mut command = world.command("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]).args(words);
        command
    };
    // Not every system lets its users have namespaces; without them there is nothing to find.
    if !unshared(&["true"]).output().is_ok_and(|o| o.status.success()) {
        return;
    }
    let mut command = unshared(&[]);
    command.arg(scripted_agent()).arg("--script").arg(&agent.path);
    let running = world.start(command);
    agent.wait_touched("ready");
    let left = agent.pids()[0].process;
    let seen = left.seen_from_here().expect("it is alive");
    assert_ne!(seen, left.pid);
    drop(world);
    running.wait_ended();
    assert!(!alive(seen) && !left.alive());
}
