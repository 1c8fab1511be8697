//! What trees may take of the machine, in real control groups. Every agent here is bounded by itself as well.

use windlass_process::Stdin;
use windlass_supervise::cgroup::{Cgroups, Layout};
use windlass_supervise::{
    ContainmentRequest, Ended, EndedBy, Group, GroupLimits, ProcessEvent, ShimSpec, TreeLimits, find_cgroups,
};

use crate::world::{World, block_on, finish, launcher, on_each_strong_rung, run, until_said};

crate::cases![
    a_tree_is_in_its_group_and_the_shim_is_not,
    memory_over_the_limit_ends_the_process_and_is_recorded,
    a_process_over_the_limit_is_ended_and_the_rest_goes_on,
    a_tree_that_forks_without_end_is_refused_and_that_is_recorded,
    each_turn_is_told_of_its_own_hits,
    without_a_group_memory_is_watched,
    a_group_that_cannot_be_entered_leaves_the_watch,
    a_tree_is_born_in_a_group_of_version_2,
    trees_are_the_first_to_go_when_memory_is_short,
    an_agent_starts_under_the_cap_on_processes_and_finds_nothing_but_its_reaper,
];

const MIB: u64 = 1 << 20;

/// A group of its own for a case, gone afterwards.
struct OwnGroup(Group);

impl OwnGroup {
    fn new(world: &World, limits: &GroupLimits) -> Option<Self> {
        let cgroups = find_cgroups().map_err(|why| eprintln!("SKIPPED: {why}")).ok()?;
        let group = cgroups.group(&world.token);
        group.make(limits).expect("the place was found to be writable");
        Some(Self(group))
    }

    fn limits(&self, memory_bytes: Option<u64>) -> TreeLimits {
        TreeLimits { group: Some(self.0.clone()), memory_bytes, ..TreeLimits::default() }
    }
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        self.0.remove().expect("no process is left in it");
        assert_eq!(self.0.left(), Vec::<std::path::PathBuf>::new());
    }
}

/// A shell whose standard input never ends by itself.
fn shell(world: &World, script: &str, limits: TreeLimits) -> ShimSpec {
    let mut spec = world.command("/bin/bash", &["-c", script]);
    spec.command.stdin = Stdin::Pipe;
    ShimSpec { limits, ..spec }
}

/// The shell itself takes 150 MB, and keeps them.
const HOG: &str = "x=$(head -c 150000000 /dev/zero | tr '\\0' x); echo has it; read never";
/// A child takes 250 MB.
const CHILD_HOG: &str = "head -c 300000000 /dev/zero | tail -c 250000000 | wc -c";

/// The groups of a tree's main process and of its shim, seen from outside; a sandbox has its own view.
fn groups_in_use(world: &World, limits: TreeLimits, rung: ContainmentRequest) -> (String, String) {
    let groups_of = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let spec = ShimSpec { containment: rung, ..shell(world, "echo up; read never", limits) };
    block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        let Some(ProcessEvent::Started { pid, .. }) = running.next().await else { panic!("it does not start") };
        until_said(&mut running, &world.path("stdout"), "up").await;
        let groups = (groups_of(pid), groups_of(running.shim_pid().unwrap()));
        running.close_input();
        finish(&mut running).await;
        groups
    })
}

fn a_tree_is_in_its_group_and_the_shim_is_not() {
    on_each_strong_rung(|rung| {
        let world = World::new();
        let Some(group) = OwnGroup::new(&world, &GroupLimits::default()) else { return };
        let (tree, shim) = groups_in_use(&world, group.limits(None), rung);
        assert!(tree.contains(&world.token), "{tree}");
        assert!(!shim.contains(&world.token), "{shim}");
    });
}

fn memory_over_the_limit_ends_the_process_and_is_recorded() {
    let world = World::new();
    let limits = GroupLimits { memory_bytes: Some(64 * MIB), ..GroupLimits::default() };
    let Some(group) = OwnGroup::new(&world, &limits) else { return };
    let (_, record) = run(&shell(&world, HOG, group.limits(limits.memory_bytes)));
    assert_eq!(record.ended, Ended::Signaled { signal: 9 });
    assert_eq!((record.by, record.memory_kills, record.refused_forks), (EndedBy::Itself, 1, 0));
    assert_eq!(world.record(), Some(record), "also for an engine that starts again");
}

fn a_process_over_the_limit_is_ended_and_the_rest_goes_on() {
    let world = World::new();
    let limits = GroupLimits { memory_bytes: Some(64 * MIB), ..GroupLimits::default() };
    let Some(group) = OwnGroup::new(&world, &limits) else { return };
    let script = format!("{CHILD_HOG}; echo still here");
    let (_, record) = run(&shell(&world, &script, group.limits(limits.memory_bytes)));
    assert_eq!((&record.ended, record.memory_kills), (&Ended::Exited { code: 0 }, 1));
    assert!(String::from_utf8_lossy(&world.stdout()).contains("still here"));
}

fn a_tree_that_forks_without_end_is_refused_and_that_is_recorded() {
    let world = World::new();
    let limits = GroupLimits { processes: Some(40), ..GroupLimits::default() };
    let Some(group) = OwnGroup::new(&world, &limits) else { return };
    // At most 120 sleepers, whatever happens to the limit.
    let script = "i=0; while [ $i -lt 120 ]; do sleep 1000 & i=$((i+1)); done; echo all of them";
    let spec = ShimSpec { limits: group.limits(None), ..world.command("/bin/sh", &["-c", script]) };
    let (_, record) = run(&spec);
    assert!(record.refused_forks > 0 && record.leftovers < 40, "{record:?}");
}

fn each_turn_is_told_of_its_own_hits() {
    let world = World::new();
    let limits = GroupLimits { memory_bytes: Some(64 * MIB), ..GroupLimits::default() };
    let Some(group) = OwnGroup::new(&world, &limits) else { return };
    for kills in [1, 0] {
        let script = if kills > 0 { CHILD_HOG } else { "true" };
        let (_, record) = run(&shell(&world, script, group.limits(limits.memory_bytes)));
        assert_eq!(record.memory_kills, kills, "the group counts on, a tree has its own");
    }
}

fn without_a_group_memory_is_watched() {
    let world = World::new();
    let limits = TreeLimits { memory_bytes: Some(64 * MIB), ..TreeLimits::default() };
    let (_, record) = run(&shell(&world, HOG, limits));
    assert_eq!((&record.ended, record.by), (&Ended::Signaled { signal: 9 }, EndedBy::Itself));
    assert_eq!(record.memory_kills, 1);
}

fn a_group_that_cannot_be_entered_leaves_the_watch() {
    let world = World::new();
    let nowhere = Some(world.path("no-such-group"));
    let group = Cgroups { layout: Layout::V2, memory: nowhere.clone(), processes: nowhere, cpu: None }.group("x");
    let limits = TreeLimits { group: Some(group), memory_bytes: Some(64 * MIB), ..TreeLimits::default() };
    assert_eq!(run(&shell(&world, HOG, limits)).1.memory_kills, 1);
}

/// Also where version 2 has no controllers, as long as it is mounted: the way in is the same.
fn a_tree_is_born_in_a_group_of_version_2() {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let unified = mounts.lines().find(|line| line.contains(" - cgroup2 ")).and_then(|line| line.split(' ').nth(4));
    let Some(unified) = unified else { return eprintln!("SKIPPED: version 2 is not mounted") };
    let world = World::new();
    let place = std::path::Path::new(unified).join(&world.token);
    if let Err(error) = std::fs::create_dir(&place) {
        return eprintln!("SKIPPED: {}: {error}", place.display());
    }
    let only = Some(place.clone());
    let group = Cgroups { layout: Layout::V2, memory: None, processes: None, cpu: only }.group("born");
    std::fs::create_dir_all(place.join("windlass/born")).unwrap();
    let limits = TreeLimits { group: Some(group.clone()), ..TreeLimits::default() };
    let mut seen = Vec::new();
    on_each_strong_rung(|rung| seen.push(groups_in_use(&world, limits.clone(), rung).0));
    group.remove().unwrap();
    std::fs::remove_dir(&place).unwrap();
    assert!(seen.iter().all(|groups| groups.contains("/windlass/born")), "{seen:?}");
}

fn an_agent_starts_under_the_cap_on_processes_and_finds_nothing_but_its_reaper() {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut parts = release.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (parts.next().unwrap(), parts.next().unwrap()) < (6, 14) {
        return eprintln!("SKIPPED: this kernel has one highest process number for all");
    }
    // Without a fork: what the shell finds is there when it starts.
    let script = "read most < /proc/sys/kernel/pid_max; set -- /proc/[0-9]*; echo $most $#";
    for _ in 0..20 {
        let world = World::new();
        let limits = TreeLimits { processes: Some(500), ..TreeLimits::default() };
        let spec = ShimSpec { containment: ContainmentRequest::PidNamespace, ..shell(&world, script, limits) };
        run(&spec);
        assert_eq!(String::from_utf8_lossy(&world.stdout()).trim(), "500 2");
    }
}

fn trees_are_the_first_to_go_when_memory_is_short() {
    let world = World::new();
    let (_, record) = run(&shell(&world, "cat /proc/self/oom_score_adj", TreeLimits::default()));
    assert_eq!(record.ended, Ended::Exited { code: 0 });
    assert_eq!(String::from_utf8_lossy(&world.stdout()).trim(), "500");
}
