//! Signals of the agent itself: ignoring, hanging, dying of one.
//!
//! Invariant: SIGALRM is never ignored; it is the safety net that ends what hangs.

use windlass_testkit::script::{SignalList, SignalName};

/// When a hanging agent is ended although the script says "forever": only matters if the test and its world were
/// killed and nobody else ends the agent.
const FOR_EVER_S: u32 = 3600;

/// Rust programs ignore SIGPIPE; agents are ordinary programs and die of it.
pub(crate) fn as_a_plain_program() {
    // SAFETY: resets a disposition before anything else runs.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

pub(crate) fn ignore(list: &SignalList) -> Result<(), String> {
    match list {
        SignalList::Default(_) => ignore_usual(),
        SignalList::Named(names) => {
            for name in names {
                ignore_one(number(name)?)?;
            }
        }
    }
    Ok(())
}

/// What asks a program to end.
pub(crate) fn ignore_usual() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        // SAFETY: SIG_IGN runs no code of ours.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn ignore_one(signal: i32) -> Result<(), String> {
    if signal == libc::SIGALRM {
        return Err("ALRM cannot be ignored: it is the safety net".to_owned());
    }
    // SAFETY: SIG_IGN runs no code of ours.
    if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(format!("signal {signal} cannot be ignored"));
    }
    Ok(())
}

/// Waits for signals until one ends the process.
pub(crate) fn hang() -> ! {
    // A handler, not the default: the first process of a pid namespace gets only signals that it handles.
    let handler: extern "C" fn(libc::c_int) = end;
    // SAFETY: the handler only calls _exit, which a handler may; alarm and pause only take integers.
    unsafe {
        libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
        libc::alarm(FOR_EVER_S);
    }
    loop {
        // SAFETY: as above.
        unsafe { libc::pause() };
    }
}

extern "C" fn end(signal: libc::c_int) {
    // SAFETY: may be called in a handler.
    unsafe { libc::_exit(128 + signal) }
}

/// Dies of the signal, or returns if it is ignored.
pub(crate) fn kill_self(name: &SignalName) -> Result<(), String> {
    let signal = number(name)?;
    no_core_file();
    // SAFETY: takes integers. Rust's runtime has a handler for SEGV that returns, so the default is put back, unless
    // the script ignored the signal.
    unsafe {
        if libc::signal(signal, libc::SIG_DFL) == libc::SIG_IGN {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::raise(signal);
    }
    Ok(())
}

pub(crate) fn crash() -> ! {
    no_core_file();
    std::process::abort();
}

/// A core file would be a change in the working tree.
fn no_core_file() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
}

fn number(name: &SignalName) -> Result<i32, String> {
    match name {
        SignalName::Number(number) => Ok(*number),
        SignalName::Name(name) => Ok(match name.trim_start_matches("SIG") {
            "HUP" => libc::SIGHUP,
            "INT" => libc::SIGINT,
            "QUIT" => libc::SIGQUIT,
            "ABRT" => libc::SIGABRT,
            "KILL" => libc::SIGKILL,
            "SEGV" => libc::SIGSEGV,
            "PIPE" => libc::SIGPIPE,
            "ALRM" => libc::SIGALRM,
            "TERM" => libc::SIGTERM,
            "STOP" => libc::SIGSTOP,
            "USR1" => libc::SIGUSR1,
            "USR2" => libc::SIGUSR2,
            other => return Err(format!("unknown signal {other}")),
        }),
    }
}
