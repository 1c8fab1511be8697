//! A program on a real terminal of its own, and the screen that a person would see.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};

/// More than anything here takes, also on a busy machine.
const HUNG: Duration = Duration::from_secs(60);

/// What came from the program.
struct Seen {
    screen: vt100::Parser,
    bytes: Vec<u8>,
}

pub struct Pty {
    child: Child,
    ours: Option<File>,
    theirs: File,
    before: Termios,
    seen: Arc<(Mutex<Seen>, Condvar)>,
}

impl Pty {
    /// Starts it in a session of its own, so that this is its controlling terminal.
    #[track_caller]
    pub fn start(command: &Command, columns: u16, rows: u16) -> Pty {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("a terminal");
        let name = ptsname(&ours, Vec::new()).expect("its name");
        let path = OsStr::from_bytes(name.as_bytes());
        let theirs = OpenOptions::new().read(true).write(true).open(path).expect("the other side");
        let ours = File::from(ours);
        tcsetwinsize(&ours, size(columns, rows)).expect("a size");
        let before = tcgetattr(&theirs).expect("its settings");
        let mut within = Command::new("setsid");
        within.arg("--ctty").arg(command.get_program()).args(command.get_args());
        within.env_clear();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                within.env(name, value);
            }
        }
        within.env("TERM", "xterm-256color");
        if let Some(dir) = command.get_current_dir() {
            within.current_dir(dir);
        }
        let again = || theirs.try_clone().expect("a descriptor");
        let child = within.stdin(again()).stdout(again()).stderr(again()).spawn().expect("setsid starts it");
        let screen = vt100::Parser::new(rows, columns, 0);
        let seen = Arc::new((Mutex::new(Seen { screen, bytes: Vec::new() }), Condvar::new()));
        let (told, mut from) = (Arc::clone(&seen), ours.try_clone().expect("a descriptor"));
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut chunk) {
                let mut seen = told.0.lock().unwrap();
                seen.screen.process(&chunk[..read]);
                seen.bytes.extend_from_slice(&chunk[..read]);
                told.1.notify_all();
            }
        });
        Pty { child, ours: Some(ours), theirs, before, seen }
    }

    pub fn types(&mut self, text: &str) {
        self.ours.as_mut().expect("it is open").write_all(text.as_bytes()).expect("it takes keys");
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        self.seen.0.lock().unwrap().screen.screen_mut().set_size(rows, columns);
        tcsetwinsize(self.ours.as_ref().expect("it is open"), size(columns, rows)).expect("a size");
    }

    /// Waits until the screen is as wanted; its lines.
    #[track_caller]
    pub fn wait_screen(&self, wanted: impl Fn(&str) -> bool) -> String {
        let until = Instant::now() + HUNG;
        let mut seen = self.seen.0.lock().unwrap();
        loop {
            let shown = seen.screen.screen().contents();
            if wanted(&shown) {
                return shown;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the screen stays so:\n{shown}");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it runs");
    }

    /// Waits for its end, and that the terminal is as it was.
    #[track_caller]
    pub fn wait_left(mut self) -> ExitStatus {
        let status = self.child.wait().expect("it is a child");
        let after = tcgetattr(&self.theirs).expect("its settings");
        assert_eq!(after.local_modes, self.before.local_modes, "it echoes and reads lines again");
        assert_eq!((after.input_modes, after.output_modes), (self.before.input_modes, self.before.output_modes));
        self.wait_screen(|_| true);
        let until = Instant::now() + HUNG;
        let mut seen = self.seen.0.lock().unwrap();
        while seen.screen.screen().alternate_screen() || seen.screen.screen().hide_cursor() {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the other screen or the cursor is not given back");
            seen = self.seen.1.wait_timeout(seen, left).unwrap().0;
        }
        status
    }

    /// Hangs up, as a terminal does that is closed.
    pub fn hang_up(mut self) -> ExitStatus {
        self.signal(rustix::process::Signal::HUP);
        drop(self.ours.take());
        self.child.wait().expect("it is a child")
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
