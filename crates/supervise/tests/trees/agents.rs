//! The agents that misbehave. Every one of them ends by itself within [`LIFE`], and none makes more than
//! a few hundred processes, so a failing case leaves nothing behind for long.
#![allow(unsafe_code)]
// To leave children behind is what they are for.
#![allow(clippy::zombie_processes)]

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const LIFE: Duration = Duration::from_secs(30);
const HOPS: u32 = 400;

/// `args` are the role and its parameter. Roles that stay take a token, by which they are found.
pub(crate) fn main(args: &[String]) -> ! {
    let parameter = args.get(1).map_or("", String::as_str);
    match args[0].as_str() {
        "exit" => std::process::exit(parameter.parse().unwrap()),
        "signal" => signal_self(parameter.parse().unwrap()),
        "say" => say(parameter.as_bytes()),
        "both" => {
            say(b"to stdout");
            std::io::stderr().write_all(b"to stderr!").unwrap();
        }
        "bytes" => say(&ODD_BYTES),
        "flood" => flood(parameter.parse().unwrap()),
        "stdin" => {
            let mut input = Vec::new();
            std::io::stdin().read_to_end(&mut input).unwrap();
            say(&input);
            say(b"<end>");
        }
        "environment" => std::env::vars().for_each(|(key, value)| println!("{key}={value}")),
        "descriptors" => {
            let fds = std::fs::read_dir("/proc/self/fd").unwrap().map(|fd| fd.unwrap().file_name());
            let mut fds: Vec<_> = fds.map(|fd| fd.into_string().unwrap()).collect();
            fds.sort();
            say(fds.join(" ").as_bytes());
        }
        "sleep" => {
            say(b"ready\n");
            std::thread::sleep(LIFE);
        }
        "polite" => {
            handle_term();
            say(b"ready\n");
            std::thread::sleep(LIFE);
        }
        "stubborn" => {
            ignore_term();
            say(b"ready\n");
            std::thread::sleep(LIFE);
        }
        // Does not say anything: for use below another agent, whose output is what counts.
        "quiet" => {
            ignore_term();
            std::thread::sleep(LIFE);
        }
        "holder" => {
            // Leaves a child behind that holds stdout and writes when it is told to end.
            let mut child = Command::new("/proc/self/exe");
            child.args(["agent", "last-words", parameter]);
            child_ready(child.stdin(Stdio::null()).stderr(Stdio::piped()));
            say(b"parent done\n");
        }
        "last-words" => {
            handle_term_with(b"last words\n");
            std::io::stderr().write_all(b"r").unwrap();
            std::thread::sleep(LIFE);
        }
        "stubborn-holder" => {
            let mut child = Command::new("/proc/self/exe");
            child.args(["agent", "quiet", parameter]).stdin(Stdio::null()).spawn().unwrap();
            say(b"parent done\n");
        }
        "double" => drop(quiet(parameter).spawn().unwrap()),
        "zoo" => zoo(parameter),
        "talker" => talk(),
        "deaf" => {
            say(b"ready\n");
            std::thread::sleep(LIFE);
        }
        "closes-stdin" => {
            // SAFETY: nobody uses the descriptor any more.
            unsafe { libc::close(0) };
            say(b"ready\n");
            std::thread::sleep(LIFE);
        }
        role => panic!("no agent {role}"),
    }
    std::process::exit(0)
}

/// Invalid UTF-8, NUL, escapes, and no newline at the end.
pub(crate) const ODD_BYTES: [u8; 13] = *b"\xff\xfe\0\x1b[31m\r\n\x83\x5c\xc3";

/// Everything that makes a tree hard to end, at once. Ignores TERM itself.
fn zoo(token: &str) {
    ignore_term();
    let same_group = quiet(token).spawn().unwrap();
    let mut escapee = quiet(token);
    // SAFETY: setsid is signal-safe.
    unsafe { escapee.pre_exec(|| drop_errors(libc::setsid())) };
    let escapee = escapee.spawn().unwrap();
    // Double fork: the one in between ends and leaves an orphan. Then one of that kind in a session of
    // its own, with an empty environment and nothing open.
    let mut between = Command::new("/proc/self/exe");
    between.args(["agent", "double", token]).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(between.status().unwrap().success());
    let mut daemon = Command::new("/proc/self/exe");
    daemon.args(["agent", "double", token]).env_clear();
    // SAFETY: setsid and close are signal-safe, and the child has no use for these descriptors.
    unsafe {
        daemon.pre_exec(|| {
            for fd in 0..3 {
                libc::close(fd);
            }
            drop_errors(libc::setsid())
        });
    }
    assert!(daemon.status().unwrap().success());
    hopper();
    say(b"ready\n");
    std::thread::sleep(LIFE);
    drop((same_group, escapee));
}

/// Answers each line of its input; some lines mean more.
fn talk() {
    let lives_until = Instant::now() + LIFE;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.as_str() {
            "die" => {
                std::io::stderr().write_all(b"dying\n").unwrap();
                std::process::exit(3);
            }
            _ => say(format!("{} {line}\n", std::process::id()).as_bytes()),
        }
        if Instant::now() > lives_until {
            return;
        }
    }
    say(b"<end>");
}

fn quiet(token: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["agent", "quiet", token]).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn drop_errors(_: i32) -> std::io::Result<()> {
    Ok(())
}

/// A process that is another one every 10 ms.
fn hopper() {
    // SAFETY: this process has one thread, and the child only sleeps, forks and exits.
    unsafe {
        if libc::fork() != 0 {
            return;
        }
        for _ in 0..HOPS {
            std::thread::sleep(Duration::from_millis(10));
            if libc::fork() != 0 {
                libc::_exit(0);
            }
        }
        libc::_exit(0);
    }
}

fn child_ready(command: &mut Command) {
    let mut child = command.spawn().unwrap();
    let mut byte = [0];
    child.stderr.take().unwrap().read_exact(&mut byte).unwrap();
}

fn say(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).unwrap();
    stdout.flush().unwrap();
}

fn flood(bytes: u64) {
    let chunk: Vec<u8> = (0..100_000_u32).map(|n| if n % 80 == 79 { b'\n' } else { b'x' }).collect();
    let mut stdout = std::fs::File::from(rustix::stdio::stdout().try_clone_to_owned().unwrap());
    let mut left = bytes;
    while left > 0 {
        let size = left.min(chunk.len() as u64);
        stdout.write_all(&chunk[..size as usize]).unwrap();
        left -= size;
    }
}

fn signal_self(signal: i32) {
    // SAFETY: plain calls; the default action is to end.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    let deadline = Instant::now() + LIFE;
    while Instant::now() < deadline {}
}

fn ignore_term() {
    // SAFETY: installs no code of ours.
    unsafe { libc::signal(libc::SIGTERM, libc::SIG_IGN) };
}

static WORDS: std::sync::OnceLock<&'static [u8]> = std::sync::OnceLock::new();

extern "C" fn on_term(_: i32) {
    let words = WORDS.get().copied().unwrap_or_default();
    // SAFETY: write and _exit are signal-safe, and the words live for ever.
    unsafe {
        libc::write(1, words.as_ptr().cast(), words.len());
        libc::_exit(5);
    }
}

fn handle_term() {
    handle_term_with(b"bye\n");
}

fn handle_term_with(words: &'static [u8]) {
    WORDS.set(words).unwrap();
    // SAFETY: the handler does only signal-safe things.
    unsafe { libc::signal(libc::SIGTERM, on_term as extern "C" fn(i32) as usize) };
}
