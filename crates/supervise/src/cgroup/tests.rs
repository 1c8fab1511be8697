//! Control groups as files: where they are found, how limits are written to them, and what they counted.

use std::fs;

use super::find::choose;
use super::*;

const UNIFIED: &str = "41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const SEPARATE: &str = "\
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
const SESSION: &str = "user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope";

/// A directory that looks like the file system of the kernel.
struct Fake(tempfile::TempDir);

impl Fake {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join("sys/fs/cgroup").join(path)
    }

    /// A group that this user may divide.
    fn divisible(&self, path: &str, handed_down: &str) -> PathBuf {
        let dir = self.group(path, &[]);
        for (file, text) in
            [("cgroup.procs", ""), ("cgroup.controllers", "cpu memory pids\n"), ("cgroup.subtree_control", handed_down)]
        {
            fs::write(dir.join(file), text).unwrap();
        }
        dir
    }

    fn group(&self, path: &str, files: &[(&str, &str)]) -> PathBuf {
        let dir = self.at(path);
        fs::create_dir_all(&dir).unwrap();
        for (file, text) in files {
            fs::write(dir.join(file), text).unwrap();
        }
        dir
    }

    fn choose(&self, mounts: &str, own: &str) -> Result<Cgroups, String> {
        choose(mounts, own, self.0.path())
    }
}

fn read(dir: &Path, file: &str) -> String {
    fs::read_to_string(dir.join(file)).unwrap().trim().to_owned()
}

#[test]
fn the_highest_group_of_the_users_own_is_taken_whichever_session_asks() {
    let fake = Fake::new();
    let manager = fake.divisible("user.slice/user-1000.slice/user@1000.service", "memory pids cpu\n");
    fake.divisible("user.slice/user-1000.slice/user@1000.service/app.slice", "");
    fake.divisible(SESSION, "");
    let found = fake.choose(UNIFIED, &format!("0::/{SESSION}\n")).unwrap();
    assert_eq!(found.layout, Layout::V2);
    assert_eq!(
        (found.memory, found.processes, found.cpu),
        (Some(manager.clone()), Some(manager.clone()), Some(manager))
    );
}

#[test]
fn a_controller_that_is_offered_is_handed_down_and_one_that_is_not_is_missing() {
    let fake = Fake::new();
    let dir = fake.divisible("a.slice", "memory\n");
    fs::write(dir.join("cgroup.controllers"), "memory pids\n").unwrap();
    let found = fake.choose(UNIFIED, "0::/a.slice\n").unwrap();
    assert_eq!(read(&dir, "cgroup.subtree_control"), "+pids");
    assert_eq!((found.memory, found.cpu), (Some(dir), None));
}

#[test]
fn a_limit_that_somebody_set_is_never_left() {
    let fake = Fake::new();
    fake.divisible("", "memory pids\n");
    let limited = fake.divisible("work.slice", "memory pids\n");
    fs::write(limited.join("memory.max"), "1073741824\n").unwrap();
    fake.divisible("work.slice/windlass.service", "");
    let found = fake.choose(UNIFIED, "0::/work.slice/windlass.service\n").unwrap();
    assert_eq!(found.memory, Some(limited.clone()));
    fs::write(limited.join("memory.max"), "max\n").unwrap();
    let found = fake.choose(UNIFIED, "0::/work.slice/windlass.service\n").unwrap();
    assert_eq!(found.memory, Some(fake.at("")));
}

#[test]
fn a_container_sees_its_own_group_at_the_top() {
    let fake = Fake::new();
    let top = fake.divisible("", "memory pids\n");
    let mounts = UNIFIED.replace(" / /sys", " /docker/abc /sys");
    assert_eq!(fake.choose(&mounts, "0::/docker/abc\n").unwrap().memory, Some(top));
}

#[test]
fn without_a_place_it_is_said_why() {
    let fake = Fake::new();
    let said = |mounts: &str, own: &str| fake.choose(mounts, own).unwrap_err();
    assert_eq!(said("", ""), "this machine has no control groups");
    fake.group("user.slice/session-3.scope", &[]);
    let why = said(UNIFIED, "0::/user.slice/session-3.scope\n");
    assert!(why.starts_with("no parent cgroup can be divided") && why.contains("session-3.scope"), "{why}");
}

#[test]
fn each_hierarchy_of_version_1_has_its_own_place() {
    let fake = Fake::new();
    for name in ["cpu", "memory", "pids", "unified"] {
        fake.group(name, &[]);
    }
    let limited = fake.group("memory/jobs", &[("memory.limit_in_bytes", "1073741824\n")]);
    fake.group("memory/jobs/7", &[("memory.limit_in_bytes", "9223372036854771712\n")]);
    let own = "8:pids:/\n4:memory:/jobs/7\n1:cpu,cpuacct:/\n0::/\n";
    let found = fake.choose(SEPARATE, own).unwrap();
    assert_eq!(found.layout, Layout::V1);
    let places = (found.memory, found.processes, found.cpu);
    assert_eq!(places, (Some(limited), Some(fake.at("pids")), Some(fake.at("cpu"))));
}

#[test]
fn limits_are_written_in_the_words_of_each_version() {
    let limits = GroupLimits { memory_bytes: Some(64 << 20), processes: Some(50), cpu_weight: Some(200) };
    let fake = Fake::new();
    let base = fake.divisible("", "memory pids cpu\n");
    let handing = fake.divisible("windlass", "");
    let files = [("memory.max", ""), ("memory.swap.max", ""), ("pids.max", ""), ("cpu.weight", "")];
    let dir = fake.group("windlass/one", &files);
    let cgroups = |layout, dir: [&PathBuf; 3]| {
        let [memory, processes, cpu] = dir.map(|dir| Some(dir.clone()));
        Cgroups { layout, memory, processes, cpu }
    };
    cgroups(Layout::V2, [&base; 3]).group("one").make(&limits).unwrap();
    assert_eq!(files.map(|(file, _)| read(&dir, file)), ["67108864", "0", "50", "200"]);
    assert_eq!(read(&handing, "cgroup.subtree_control"), "+cpu", "the last of three");

    let bases = ["memory", "pids", "cpu"].map(|name| fake.group(name, &[]));
    let memory =
        fake.group("memory/windlass/one", &[("memory.limit_in_bytes", ""), ("memory.memsw.limit_in_bytes", "")]);
    let processes = fake.group("pids/windlass/one", &[("pids.max", "")]);
    let cpu = fake.group("cpu/windlass/one", &[("cpu.shares", "")]);
    let group = cgroups(Layout::V1, [&bases[0], &bases[1], &bases[2]]).group("one");
    group.make(&limits).unwrap();
    assert_eq!(
        (read(&memory, "memory.limit_in_bytes"), read(&processes, "pids.max")),
        ("67108864".into(), "50".into())
    );
    assert_eq!(read(&cpu, "cpu.shares"), "2048");
    group.make(&GroupLimits::default()).unwrap();
    assert_eq!(read(&processes, "pids.max"), "max");
}

#[test]
fn what_was_hit_is_read_from_either_version() {
    let fake = Fake::new();
    let dir = fake.group(
        "windlass/one",
        &[
            ("memory.events", "low 0\nhigh 0\nmax 31\noom 2\noom_kill 3\noom_group_kill 0\n"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"),
            ("pids.events", "max 7\n"),
        ],
    );
    let base = Some(fake.at(""));
    for (layout, memory) in [(Layout::V2, 3), (Layout::V1, 5)] {
        let group = Cgroups { layout, memory: base.clone(), processes: base.clone(), cpu: None }.group("one");
        assert_eq!(group.hits(), Hits { memory, processes: 7 });
        assert_eq!(group.left(), std::slice::from_ref(&dir));
    }
}

#[test]
fn with_version_1_only_the_hierarchies_that_are_needed_are_entered() {
    let own = |name: &str| Some(PathBuf::from("/groups").join(name));
    let limits = GroupLimits { processes: Some(9), ..GroupLimits::default() };
    let of = |layout| {
        let cgroups = Cgroups { layout, memory: own("memory"), processes: own("pids"), cpu: own("cpu") };
        cgroups.group_for("one", &limits).0
    };
    let separate = of(Layout::V1);
    assert_eq!((separate.memory, separate.cpu), (None, None));
    assert_eq!(separate.processes, Some("/groups/pids/windlass/one".into()));
    assert!(of(Layout::V2).memory.is_some(), "one directory for all");
}
