//! The system calls that the type system cannot check, each behind a safe function.
//!
//! Invariant: nothing here decides anything. Functions marked *signal-safe* neither allocate nor lock,
//! so they may be called between `fork` and `exec`, also in a process that had threads.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

/// Which side of a fork this is.
#[derive(Debug)]
pub(crate) enum Forked {
    Parent { child: i32 },
    Child,
}

/// What waiting for a child gave.
#[derive(Debug)]
pub(crate) enum Waited {
    Ended {
        pid: i32,
        status: i32,
    },
    /// There are children, none has ended.
    Running,
    NoChildren,
}

fn forked(result: i64) -> io::Result<Forked> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        child => Ok(Forked::Parent { child: child as i32 }),
    }
}

pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: fork has no preconditions. Callers run only signal-safe code in the child, or are
    // single-threaded (the shim and its reaper).
    forked(i64::from(unsafe { libc::fork() }))
}

/// `fork` into new namespaces.
#[cfg(target_os = "linux")]
pub(crate) fn fork_into(namespaces: c_int) -> io::Result<Forked> {
    let flags = (namespaces | libc::SIGCHLD) as libc::c_ulong;
    let none: libc::c_ulong = 0;
    // SAFETY: without CLONE_VM and with no stack this is fork(2): the child runs on its own copy of the
    // caller's stack. No pointer is passed. Callers keep to what `fork` above asks of them.
    forked(unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) })
}

/// The same, as a member of the control group (version 2) whose directory is open as `group`.
#[cfg(target_os = "linux")]
pub(crate) fn fork_into_group(namespaces: c_int, group: RawFd) -> io::Result<Forked> {
    /// From `linux/sched.h`; it does not fit the type that `libc` gives it.
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let number = |value: c_int| u64::try_from(value).unwrap_or(0);
    // `struct clone_args`, which `libc` does not have everywhere: flags, pidfd, child_tid, parent_tid, exit_signal,
    // stack, stack_size, tls, set_tid, set_tid_size, cgroup. Zero means "not requested".
    let mut args = [0_u64; 11];
    args[0] = number(namespaces) | CLONE_INTO_CGROUP;
    args[4] = number(libc::SIGCHLD);
    args[10] = number(group);
    // SAFETY: as above: no memory is shared and no stack is given, so this is fork(2). `args` outlives the call, and its
    // size is the given one.
    forked(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) })
}

/// Signal-safe. Ends this process without running anything else.
pub(crate) fn exit_now(code: c_int) -> ! {
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Signal-safe.
pub(crate) fn kill(pid: i32, signal: c_int) -> io::Result<()> {
    // SAFETY: kill takes two integers.
    check(unsafe { libc::kill(pid, signal) })
}

pub(crate) fn wait_for_any(block: bool) -> Waited {
    wait(-1, block)
}

pub(crate) fn wait_for(pid: i32) -> Waited {
    wait(pid, true)
}

fn wait(which: i32, block: bool) -> Waited {
    let flags = if block { 0 } else { libc::WNOHANG };
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        match unsafe { libc::waitpid(which, &raw mut status, flags) } {
            0 => return Waited::Running,
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return Waited::NoChildren,
            pid => return Waited::Ended { pid, status },
        }
    }
}

pub(crate) fn ignore_signals(signals: &[c_int]) {
    for signal in signals {
        // SAFETY: SIG_IGN installs no code of ours.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

pub(crate) fn default_signal(signal: c_int) {
    // SAFETY: SIG_DFL installs no code of ours.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Signal-safe. Every signal to its default and none blocked, as a fresh program expects.
pub(crate) fn reset_signals() {
    for signal in 1..65 {
        // SAFETY: SIG_DFL installs no code of ours; signals that refuse it or do not exist stay.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: the set is initialised by sigemptyset before it is read, and lives through the calls.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

static CHILD_ENDED: AtomicI32 = AtomicI32::new(-1);

extern "C" fn child_ended(_signal: c_int) {
    // SAFETY: write is signal-safe, and the byte lives through the call. A full pipe is as good as one
    // byte, so the result does not matter; errno is kept for the code that was interrupted.
    unsafe {
        let errno = errno_location();
        let saved = *errno;
        libc::write(CHILD_ENDED.load(Ordering::Relaxed), [1_u8].as_ptr().cast(), 1);
        *errno = saved;
    }
}

#[cfg(target_os = "linux")]
unsafe fn errno_location() -> *mut c_int {
    // SAFETY: always valid for the calling thread.
    unsafe { libc::__errno_location() }
}

#[cfg(not(target_os = "linux"))]
unsafe fn errno_location() -> *mut c_int {
    // SAFETY: always valid for the calling thread.
    unsafe { libc::__error() }
}

/// From now on the end of a child makes `pipe` readable. `pipe` must be non-blocking.
pub(crate) fn tell_of_children(pipe: RawFd) -> io::Result<()> {
    CHILD_ENDED.store(pipe, Ordering::Relaxed);
    // SAFETY: the structure is plain data, and the handler does only signal-safe things.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        action.sa_sigaction = child_ended as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&raw mut action.sa_mask);
        check(libc::sigaction(libc::SIGCHLD, &raw const action, std::ptr::null_mut()))
    }
}

/// A descriptor, by number, that this process inherited or that its caller has open.
pub(crate) fn borrowed(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: callers name descriptors that stay open for as long as the process uses them.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Signal-safe.
pub(crate) fn duplicate_onto(fd: RawFd, onto: RawFd) -> io::Result<()> {
    // SAFETY: dup2 takes two integers; what `onto` was is given up by the caller.
    check(unsafe { libc::dup2(fd, onto) })
}

/// Signal-safe. Closes every descriptor from 3 on that is not in `keep`, which must be sorted.
pub(crate) fn close_all_but(keep: &[RawFd]) {
    let mut first = 3;
    for fd in keep {
        close_range(first, *fd - 1);
        first = *fd + 1;
    }
    close_range(first, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: three integers. Callers run where no owner of these descriptors is used any more.
    if unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } == 0 {
        return;
    }
    for fd in first..=last.min(4096) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// Signal-safe. No descriptor from 3 on will survive `exec`.
pub(crate) fn close_rest_on_exec() {
    #[cfg(target_os = "linux")]
    // SAFETY: three integers, and no descriptor is closed yet.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) } == 0 {
        return;
    }
    for fd in 3..4096 {
        // SAFETY: sets a flag on a descriptor, or fails if there is none.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// Strings as `exec` wants them.
#[derive(Debug)]
pub(crate) struct StringArray {
    /// Owns what `pointers` points to.
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl StringArray {
    pub(crate) fn new(strings: Vec<CString>) -> Self {
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { _strings: strings, pointers }
    }
}

/// Signal-safe. Returns only if it failed.
pub(crate) fn execute(program: &CStr, args: &StringArray, env: &StringArray) -> io::Error {
    // SAFETY: both arrays are null-terminated, and their strings are owned by them.
    unsafe { libc::execve(program.as_ptr(), args.pointers.as_ptr(), env.pointers.as_ptr()) };
    io::Error::last_os_error()
}

fn check(result: c_int) -> io::Result<()> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Keeps this process and all that come from it away from abstract sockets that were made outside. `Ok(false)`: the kernel,
/// older than 6.12 or without Landlock, cannot do that.
#[cfg(target_os = "linux")]
pub(crate) fn leave_abstract_sockets() -> io::Result<bool> {
    /// `struct landlock_ruleset_attr`, of which only the last field is used.
    #[repr(C)]
    struct Attributes {
        handled_access_fs: u64,
        handled_access_net: u64,
        scoped: u64,
    }
    const SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1;
    let wanted = Attributes { handled_access_fs: 0, handled_access_net: 0, scoped: SCOPE_ABSTRACT_UNIX_SOCKET };
    // SAFETY: the kernel reads as many bytes from the structure as `size` says.
    let made = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const wanted, size_of_val(&wanted), 0) };
    let Ok(rules) = c_int::try_from(made) else { return Err(io::ErrorKind::InvalidData.into()) };
    if rules < 0 {
        let error = io::Error::last_os_error();
        let absent = [libc::ENOSYS, libc::EOPNOTSUPP, libc::EINVAL, libc::E2BIG, libc::ENOMSG, libc::EPERM];
        return if error.raw_os_error().is_some_and(|code| absent.contains(&code)) { Ok(false) } else { Err(error) };
    }
    // SAFETY: no pointer is passed; the descriptor was made above and is closed here.
    let restricted = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) };
    let failed = io::Error::last_os_error();
    // SAFETY: nothing else owns this descriptor.
    unsafe { libc::close(rules) };
    if restricted == 0 { Ok(true) } else { Err(failed) }
}

/// From now on this process and those after it see its own control group as the topmost one, if the kernel can do that.
#[cfg(target_os = "linux")]
pub(crate) fn hide_control_groups() -> bool {
    // SAFETY: one integer; no memory is shared with another thread, because callers have one.
    unsafe { libc::unshare(libc::CLONE_NEWCGROUP) == 0 }
}

/// A new network namespace has a loopback device that is down.
#[cfg(target_os = "linux")]
pub(crate) fn bring_up_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: plain data, for which zeros are valid.
    let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is a structure of the type that this command reads, and outlives the call.
    check(unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&socket), libc::SIOCSIFFLAGS as _, &raw const request) })
}

/// How everything of a mount, or of all mounts of a tree, may be used from now on. No program of it gets rights, no device works,
/// and what is mounted or unmounted elsewhere changes nothing in it.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct MountAttributes {
    pub(crate) read_only: bool,
    /// Also what is mounted below it.
    pub(crate) below: bool,
}

/// An error before Linux 5.12.
#[cfg(target_os = "linux")]
pub(crate) fn set_mount_attributes(tree: BorrowedFd<'_>, wanted: MountAttributes) -> io::Result<()> {
    let read_only = if wanted.read_only { libc::MOUNT_ATTR_RDONLY } else { 0 };
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | read_only,
        attr_clr: 0,
        propagation: libc::MS_PRIVATE,
        userns_fd: 0,
    };
    let below = if wanted.below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a null-terminated string, and the kernel reads as many bytes from the structure as the size says.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            std::os::fd::AsRawFd::as_raw_fd(&tree),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | below,
            &raw const attributes,
            size_of_val(&attributes),
        )
    };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
