//! How a new process gets into a group before it does anything.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;

use super::{Group, Layout};
use crate::sys::{self, Forked};

/// Under memory pressure of the whole machine the kernel ends a tree before the engine and its shims.
const ENDED_EARLIER: &[u8] = b"500";

/// The open ends of a group. The shim opens them, because the opener's permissions count.
#[derive(Debug, Default)]
pub(crate) struct Placement {
    /// A child can start in the group: moving a process stalls the whole machine for some 10 ms.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has groups"))]
    birth: Option<File>,
    members: Vec<File>,
}

impl Placement {
    pub(crate) fn open(group: Option<&Group>) -> io::Result<Self> {
        let Some(Group(cgroups)) = group else { return Ok(Self::default()) };
        let dirs = cgroups.dirs();
        let members = dirs.iter().map(|dir| File::options().write(true).open(dir.join("cgroup.procs")));
        let birth = match cgroups.layout {
            Layout::V2 => dirs.first().map(File::open).transpose()?,
            Layout::V1 => None,
        };
        Ok(Self { birth, members: members.collect::<io::Result<_>>()? })
    }

    /// Forks a process that is in the group, with new namespaces where `flags` has them.
    pub(crate) fn fork(&self, flags: i32) -> io::Result<Forked> {
        #[cfg(target_os = "linux")]
        if let Some(birth) = &self.birth
            && let Ok(forked) = sys::fork_into_group(flags, birth.as_raw_fd())
        {
            return Ok(self.settled(forked, false));
        }
        #[cfg(target_os = "linux")]
        let forked = if flags == 0 { sys::fork()? } else { sys::fork_into(flags)? };
        #[cfg(not(target_os = "linux"))]
        let forked = {
            let _ = flags;
            sys::fork()?
        };
        Ok(self.settled(forked, true))
    }

    /// In the child; signal-safe. What cannot be done is seen by the shim, which then watches the tree itself.
    fn settled(&self, forked: Forked, moves: bool) -> Forked {
        if let Forked::Child = forked {
            for file in self.members.iter().filter(|_| moves) {
                let _ = rustix::io::write(file.as_fd(), b"0");
            }
            #[cfg(target_os = "linux")]
            be_ended_earlier();
        }
        forked
    }
}

#[cfg(target_os = "linux")]
fn be_ended_earlier() {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    if let Ok(file) = openat(CWD, c"/proc/self/oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::io::write(&file, ENDED_EARLIER);
    }
}
