//! Signals that ask this process to leave.

use std::io::IsTerminal;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use windlass_app::Problem;

pub type Told = watch::Receiver<Option<u8>>;

/// The first INT, TERM or HUP asks the driver to leave; the second ends the process at once, which ends its agents.
pub fn watch_signals() -> Result<(Told, watch::Receiver<bool>), Problem> {
    watch_signals_saying("interrupted: stopping the agent; press Ctrl-C again to kill it at once")
}

/// The same with other words for the first Ctrl-C.
pub fn watch_signals_saying(words: &'static str) -> Result<(Told, watch::Receiver<bool>), Problem> {
    let (tell, told) = watch::channel(None);
    let (ask, asked) = watch::channel(false);
    let immune = ignores_hang_up();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            let number: u8 = tokio::select! {
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
                _ = hang_up.recv(), if !immune => 1,
            };
            if tell.borrow().is_some() {
                std::process::exit(128 + i32::from(number));
            }
            tell.send_replace(Some(number));
            if number == 2 && std::io::stderr().is_terminal() {
                eprintln!("\r\x1b[2K{words}");
            }
            ask.send_replace(true);
        }
    });
    Ok((told, asked))
}

/// Whether this process was started by `nohup` or the like: who closes the terminal then means the loop to go on.
fn ignores_hang_up() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
