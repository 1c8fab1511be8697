//! The way into a view for a process that was forked into new namespaces: its own `/proc` and `/dev`, a new root, no rights.
//!
//! bubblewrap does the same, but two programs have to start for it, and it reads the table of mounts again for each mount: that
//! takes longer than everything else before the agent starts.
//! Invariants: whatever fails here, the caller ends this process, so nothing runs half confined; nothing of the old root can be
//! reached afterwards, except through descriptors that the caller keeps.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, mkdir, open, symlink};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::process::{chdir, fchdir, pivot_root};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
};

use super::bwrap::{CAPABILITIES_OF_ROOT, PROC_SEALED};
use super::view::{self, ROOT, View};
use super::{Network, SandboxPolicy};
use crate::sys::{self, MountAttributes};

/// Devices that every program may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

const DEVICE_LINKS: [(&str, &str); 6] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("core", "/proc/kcore"),
    ("ptmx", "pts/ptmx"),
];

/// The namespaces that the process which enters must be forked into. That of control groups comes later, see [`enter`].
pub(crate) fn namespaces(policy: &SandboxPolicy, view: &View<'_>) -> i32 {
    let network = match policy.network {
        Network::Allow => 0,
        Network::Deny | Network::List { .. } => libc::CLONE_NEWNET,
    };
    view.namespaces() | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS | network
}

/// In that process, which is the first of its PID namespace. `cap` is how many processes may come after it.
pub(crate) fn enter(policy: &SandboxPolicy, view: &View<'_>, cap: Option<&CStr>) -> io::Result<()> {
    let root = view.mount()?;
    // Now, because this process was placed in its group after its other namespaces were made.
    sys::hide_control_groups();
    match policy.network {
        Network::Allow => {}
        Network::Deny | Network::List { .. } => sys::bring_up_loopback()?,
    }
    let proc_flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount(c"proc", in_root("/proc")?, c"proc", proc_flags, None)?;
    make_devices()?;
    fchdir(&root)?;
    // The old root is then on top of the new one, where the working directory still is.
    pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    chdir(c"/")?;
    // `docs/limits.md` covers systems without it.
    let _ = cap.map(crate::process_cap::cap_own);
    seal_kernel_settings()?;
    sys::set_mount_attributes(root.as_fd(), MountAttributes { read_only: true, below: false })?;
    give_up_rights()
}

fn in_root(path: &str) -> io::Result<CString> {
    Ok(CString::new(format!("{ROOT}{path}"))?)
}

fn make_devices() -> io::Result<()> {
    let dev = in_root("/dev")?;
    mount(c"tmpfs", &dev, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")?;
    let at = open(&dev, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for name in DEVICES {
        let device = view::clone_mount(&Path::new("/dev").join(name))?;
        view::show(&at, &Path::new("/").join(name), &device)?;
    }
    for (name, target) in DEVICE_LINKS {
        symlink(target, in_root(&format!("/dev/{name}"))?)?;
    }
    for name in ["shm", "pts"] {
        mkdir(in_root(&format!("/dev/{name}"))?, Mode::from_raw_mode(0o755))?;
    }
    let pts_flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(c"devpts", in_root("/dev/pts")?, c"devpts", pts_flags, c"newinstance,ptmxmode=0666,mode=620")?;
    Ok(())
}

/// A process without any capability can otherwise have the kernel run a program outside (`core_pattern`), if it is root.
fn seal_kernel_settings() -> io::Result<()> {
    let root = open(c"/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for path in PROC_SEALED {
        match view::tree(Path::new(path), true) {
            Ok(sealed) => view::show(&root, Path::new(path), &sealed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn give_up_rights() -> io::Result<()> {
    let kept = if rustix::process::geteuid().is_root() {
        CAPABILITIES_OF_ROOT.iter().fold(CapabilitySet::empty(), |all, (_, one)| all | *one)
    } else {
        CapabilitySet::empty()
    };
    clear_ambient_capability_set()?;
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(one) {
            continue;
        }
        match remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The kernel has no more.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}
