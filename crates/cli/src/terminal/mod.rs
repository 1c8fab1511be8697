//! The terminal: what is printed, what is asked, and the keys that interrupt.

mod signals;
pub mod style;

use std::io::{BufRead, IsTerminal, Write};

use crate::failure::Failure;

pub use signals::{Told, watch_signals, watch_signals_saying};
use style::printable;

/// Prints; nobody listening is no reason to stop a loop.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(printable(text).as_bytes()).and_then(|()| out.flush());
}

/// Asks a question at the terminal; without one the answer is no.
pub fn answered(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut error = std::io::stderr().lock();
    let _ = write!(error, "{question}");
    let _ = error.flush();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(match answer.trim() {
        "" => question.contains("[Y/"),
        answer => matches!(answer, "y" | "Y" | "yes"),
    })
}
