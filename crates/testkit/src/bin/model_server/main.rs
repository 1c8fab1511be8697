//! `windlass-model-server`: the scripted model as a program, to try an agent by hand.
//!
//!     windlass-model-server --script FILE [--port N] [--port-file F] [--gates DIR]
//!
//! It prints its address, then a line per request. A gate opens when a file of its name appears in the gates'
//! directory. Invariant: it listens on loopback only and runs until it is ended.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::path::PathBuf;
use std::process::ExitCode;

use windlass_testkit::model::{ModelServer, Script};

const USAGE: &str = "usage: windlass-model-server --script FILE [--port N] [--port-file F] [--gates DIR]";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("windlass-model-server: {message}");
            ExitCode::from(64)
        }
    }
}

fn run() -> Result<(), String> {
    let (mut script, mut port, mut port_file, mut gates) = (None, 0_u16, None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--help" {
            println!("{USAGE}");
            return Ok(());
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"))?;
        match word.as_str() {
            "--script" => script = Some(PathBuf::from(value)),
            "--port" => port = value.parse().map_err(|_| format!("{value} is no port"))?,
            "--port-file" => port_file = Some(PathBuf::from(value)),
            "--gates" => gates = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown word {word}\n{USAGE}")),
        }
    }
    let script = Script::read(&script.ok_or(USAGE)?).map_err(|e| e.to_string())?;
    let server = ModelServer::start_on(script, port, gates).map_err(|e| format!("cannot listen: {e}"))?;
    if let Some(file) = port_file {
        // Renamed into place, so that whoever waits for the file never reads half a number.
        let half = file.with_extension("half");
        std::fs::write(&half, server.port().to_string())
            .and_then(|()| std::fs::rename(&half, &file))
            .map_err(|e| format!("cannot write {}: {e}", file.display()))?;
    }
    println!("{}", server.url());
    let mut shown = 0;
    loop {
        let requests = server.wait_more_requests(shown);
        for seen in &requests {
            println!("{}", seen.line());
        }
        shown += requests.len();
    }
}
