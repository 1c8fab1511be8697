//! Where on this machine groups can be made.
//!
//! As high as this user may, so that every session finds the same place again; but never outside a group that has a
//! separate memory limit, which was set on purpose.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use super::{Cgroups, Layout, set};

/// The value of "no limit" in version 1: the largest number of pages.
const NO_LIMIT_V1: u64 = 1 << 62;

/// The place for this process's groups, or why there is none.
pub fn find_cgroups() -> Result<Cgroups, String> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    choose(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), Path::new("/"))
}

/// `root` is the prefix of the paths in the tables.
pub(super) fn choose(mounts: &str, own: &str, root: &Path) -> Result<Cgroups, String> {
    let mounts: Vec<Mount> = mounts.lines().filter_map(|line| Mount::read(line, root)).collect();
    let in_group = |controller: &str| own.lines().find_map(|line| path_of(line, controller));
    let unified = mounts.iter().find(|mount| mount.is_unified).zip(in_group(""));
    let mut why = "this machine has no control groups".to_owned();
    if let Some((mount, path)) = unified {
        match unified_place(mount, path) {
            Ok(found) => return Ok(found),
            Err(reason) => why = reason,
        }
    }
    let separate = |controller: &str| {
        let mount = mounts.iter().find(|mount| mount.controllers.iter().any(|one| one == controller))?;
        Some(separate_place(mount, in_group(controller)?))
    };
    let [memory, processes, cpu] = ["memory", "pids", "cpu"].map(separate);
    if let Some(Err(reason)) = [&memory, &processes, &cpu].into_iter().flatten().find(|found| found.is_err()) {
        why.clone_from(reason);
    }
    let found = Cgroups {
        layout: Layout::V1,
        memory: memory.and_then(Result::ok),
        processes: processes.and_then(Result::ok),
        cpu: cpu.and_then(Result::ok),
    };
    if found.dirs().is_empty() { Err(why) } else { Ok(found) }
}

/// A hierarchy of groups, as far as it can be seen here.
#[derive(Debug)]
struct Mount {
    point: PathBuf,
    /// The group that is at its top.
    top: String,
    is_unified: bool,
    controllers: Vec<String>,
}

impl Mount {
    /// A line of `mountinfo`: the fields before ` - ` are the mount's, those behind it the file system's.
    fn read(line: &str, root: &Path) -> Option<Self> {
        let (of_mount, of_system) = line.split_once(" - ")?;
        let mut of_mount = of_mount.split(' ').skip(3);
        let (top, point) = (of_mount.next()?, of_mount.next()?);
        let mut of_system = of_system.split(' ');
        let kind = of_system.next()?;
        let options = of_system.nth(1)?;
        (kind == "cgroup" || kind == "cgroup2").then(|| Self {
            point: root.join(point.trim_start_matches('/')),
            top: top.to_owned(),
            is_unified: kind == "cgroup2",
            controllers: if kind == "cgroup" { options.split(',').map(str::to_owned).collect() } else { Vec::new() },
        })
    }

    /// The group at `path` and all above it, the highest first.
    fn down_to(&self, path: &str) -> Vec<PathBuf> {
        let below = if self.top == "/" { path } else { path.strip_prefix(self.top.as_str()).unwrap_or("") };
        let mut dirs = vec![self.point.clone()];
        for part in below.split('/').filter(|part| !part.is_empty()) {
            let last = dirs.last().map(|dir| dir.join(part));
            dirs.extend(last);
        }
        dirs
    }
}

/// A line of `/proc/self/cgroup`, number:controllers:path, if it is the controller's; version 2 has none named.
fn path_of<'a>(line: &'a str, controller: &str) -> Option<&'a str> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (names, path) = (parts.next()?, parts.next()?);
    names.split(',').any(|name| name == controller).then_some(path)
}

/// The groups from the lowest one on that has a limit.
fn within_limits(dirs: Vec<PathBuf>, limited: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let from = dirs.iter().rposition(|dir| limited(dir)).unwrap_or(0);
    dirs.into_iter().skip(from).collect()
}

fn unified_place(mount: &Mount, path: &str) -> Result<Cgroups, String> {
    let limited = |dir: &Path| read(dir, "memory.max").is_some_and(|text| text != "max");
    let mut why = String::new();
    for dir in within_limits(mount.down_to(path), limited) {
        match takes_groups(&dir) {
            Ok(()) => {
                let cpu = hand_down(&dir, "cpu").is_ok();
                return Ok(Cgroups {
                    layout: Layout::V2,
                    memory: Some(dir.clone()),
                    processes: Some(dir.clone()),
                    cpu: cpu.then_some(dir),
                });
            }
            Err(reason) => why = format!("{}: {reason}", dir.display()),
        }
    }
    Err(format!("no parent cgroup can be divided ({why})"))
}

/// Whether groups that are made there can have limits of memory and processes.
fn takes_groups(dir: &Path) -> Result<(), String> {
    for file in [dir.to_owned(), dir.join("cgroup.procs"), dir.join("cgroup.subtree_control")] {
        access(&file, Access::WRITE_OK).map_err(|error| error.to_string())?;
    }
    for controller in ["memory", "pids"] {
        hand_down(dir, controller).map_err(|error| format!("the controller {controller}: {error}"))?;
    }
    Ok(())
}

/// Has the groups below a directory be counted by a controller.
pub(super) fn hand_down(dir: &Path, controller: &str) -> io::Result<()> {
    let has = |file: &str| read(dir, file).is_some_and(|text| text.split(' ').any(|name| name == controller));
    if has("cgroup.subtree_control") {
        return Ok(());
    }
    if !has("cgroup.controllers") {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "not delegated to this cgroup"));
    }
    set(dir, "cgroup.subtree_control", &format!("+{controller}"))
}

fn separate_place(mount: &Mount, path: &str) -> Result<PathBuf, String> {
    let limited = |dir: &Path| {
        let bytes = read(dir, "memory.limit_in_bytes").and_then(|text| text.parse::<u64>().ok());
        bytes.is_some_and(|bytes| bytes < NO_LIMIT_V1)
    };
    let mut why = String::new();
    for dir in within_limits(mount.down_to(path), limited) {
        match access(&dir, Access::WRITE_OK) {
            Ok(()) => return Ok(dir),
            Err(error) => why = format!("{}: {error}", dir.display()),
        }
    }
    Err(format!("no parent cgroup can be divided ({why})"))
}

fn read(dir: &Path, file: &str) -> Option<String> {
    std::fs::read_to_string(dir.join(file)).ok().map(|text| text.trim().to_owned())
}
