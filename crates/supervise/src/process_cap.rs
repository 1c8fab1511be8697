//! A cap on how many processes and threads a tree can have, so that one that forks without end leaves room for others.
//!
//! It is the highest process number of the tree's own PID namespace, which Linux has for each since 6.14. Invariant: on an
//! older kernel that number is the whole machine's, so there it is never touched.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::sys::{self, Forked, Waited};

/// More than the largest builds take.
const MOST: u32 = 16_384;
/// The kernel keeps so many numbers for itself.
const LEAST: u32 = 301;

const PID_MAX: &str = "/proc/sys/kernel/pid_max";

/// Whether namespaces have their own numbers here.
pub(crate) fn works() -> bool {
    has_own_numbers(&rustix::system::uname().release().to_string_lossy())
}

/// The default process limit of a loop.
pub(crate) fn default_limit() -> u32 {
    let of_machine = std::fs::read_to_string(PID_MAX).ok().and_then(|text| text.trim().parse().ok());
    a_quarter(of_machine.unwrap_or(MOST))
}

/// The cap in the kernel's format, if supported.
pub(crate) fn words(limit: u32) -> Option<CString> {
    works().then(|| limit.max(LEAST).to_string()).and_then(|text| CString::new(text).ok())
}

/// Caps the PID namespace whose first process this is, and which has its own `/proc`. Signal-safe.
pub(crate) fn cap_own(words: &CStr) -> Result<(), Errno> {
    let file = openat(CWD, c"/proc/sys/kernel/pid_max", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, words.to_bytes()).map(drop)
}

/// Caps the PID namespace whose first process is `init`.
pub(crate) fn cap(init: u32, limit: u32) -> io::Result<()> {
    let words = words(limit).ok_or(io::ErrorKind::Unsupported)?;
    let open = |kind: &str| File::open(format!("/proc/{init}/ns/{kind}"));
    let (user, numbers) = (open("user")?, open("pid")?);
    let is_own = |file: &File, kind: &str| -> io::Result<bool> {
        Ok(file.metadata()?.ino() == std::fs::metadata(format!("/proc/self/ns/{kind}"))?.ino())
    };
    if is_own(&numbers, "pid")? {
        return Err(io::Error::other("the process tree has no separate PID namespace"));
    }
    let user = if is_own(&user, "user")? { None } else { Some(user) };
    // What a process enters is the namespace of its children, so it takes two.
    in_child(|| {
        if let Some(user) = &user {
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        move_into_link_name_space(numbers.as_fd(), Some(LinkNameSpaceType::ProcessID))?;
        in_child(|| Ok(cap_own(&words)?))
    })
}

/// A quarter of what the machine has, at most.
fn a_quarter(of_machine: u32) -> u32 {
    (of_machine / 4).clamp(LEAST, MOST)
}

fn in_child(act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match sys::fork()? {
        Forked::Child => sys::exit_now(i32::from(act().is_err())),
        Forked::Parent { child } => match sys::wait_for(child) {
            Waited::Ended { status: 0, .. } => Ok(()),
            Waited::Ended { .. } | Waited::Running | Waited::NoChildren => Err(io::Error::other("refused")),
        },
    }
}

fn has_own_numbers(release: &str) -> bool {
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (6, 14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_told_apart() {
        assert!(has_own_numbers("6.14.0-rc1") && has_own_numbers("6.18.44-fc-v445") && has_own_numbers("7.0"));
        assert!(!has_own_numbers("6.8.0-45-generic") && !has_own_numbers("5.15.0") && !has_own_numbers("unknown"));
    }

    #[test]
    fn a_tree_has_a_quarter_of_the_machine_at_most() {
        assert_eq!([32_768, 4_194_304, 1_000].map(a_quarter), [8_192, MOST, LEAST]);
    }

    #[test]
    fn the_namespace_that_this_process_is_in_is_never_capped() {
        let before = std::fs::read_to_string(PID_MAX).unwrap();
        assert!(cap(std::process::id(), MOST).is_err());
        assert_eq!(std::fs::read_to_string(PID_MAX).unwrap(), before);
    }
}
