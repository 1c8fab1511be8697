//! `windlass-scripted-agent`: a real program that stands in for a coding agent and plays a script.
//!
//! Invariants: the start is recorded before anything else happens; a mistake in the script or in the way it is
//! started ends the agent with code 64 and a message, never with a turn that only looks played; whatever the agent
//! leaves behind dies by itself.

#![allow(unsafe_code, reason = "a program that forks, ignores signals and closes everything; never shipped")]

mod encoding;
mod files;
mod leftover;
mod live;
mod player;
mod signals;
mod speech;

use std::ffi::OsString;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use windlass_testkit::script::{Protocol, Script, Select, Stdin};
use windlass_testkit::{ProcessId, Records, TurnId, TurnStart};

use player::Player;

/// Wrong use: no script, a bad one, a step that cannot be done.
const WRONG_USE: u8 = 64;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    if args.first().is_some_and(|a| a == leftover::BARE_FLAG) {
        leftover::live_bare(args.get(1));
    }
    if args.iter().any(|a| a == "--version") {
        let _ = speech::write_all(speech::STDOUT, b"windlass-scripted-agent 0.1.0\n");
        return ExitCode::SUCCESS;
    }
    signals::as_a_plain_program();
    match play(args) {
        Ok(code) => code,
        Err(message) => {
            let line = format!("windlass-scripted-agent: {message}\n");
            let _ = speech::write_all(speech::STDERR, line.as_bytes());
            ExitCode::from(WRONG_USE)
        }
    }
}

/// What the command line says; every other word is recorded and otherwise ignored, as the flags of real agents are.
#[derive(Default)]
struct Arguments {
    script: Option<PathBuf>,
    prompt: Option<Vec<u8>>,
    prompt_file: Option<PathBuf>,
}

impl Arguments {
    fn parse(args: &[OsString]) -> Result<Arguments, String> {
        use std::os::unix::ffi::OsStrExt;
        let mut parsed = Arguments::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let flag = arg.to_str().unwrap_or_default();
            let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
            match flag {
                "--script" => parsed.script = Some(value()?.into()),
                "--prompt-file" => parsed.prompt_file = Some(value()?.into()),
                "--prompt" | "--" => parsed.prompt = Some(value()?.as_bytes().to_vec()),
                _ => {}
            }
        }
        if parsed.script.is_none() {
            parsed.script = std::env::var_os("SCRIPTED_AGENT").map(PathBuf::from);
        }
        Ok(parsed)
    }

    /// The prompt, from an argument or a file if one is named, else from stdin to its end.
    fn prompt(&self, stdin: Stdin) -> Result<Vec<u8>, String> {
        if let Some(path) = &self.prompt_file {
            return std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()));
        }
        if let Some(prompt) = &self.prompt {
            return Ok(prompt.clone());
        }
        let mut prompt = Vec::new();
        match stdin {
            Stdin::Read => {
                let read = std::io::stdin().lock().read_to_end(&mut prompt);
                read.map_err(|e| format!("cannot read stdin: {e}"))?;
            }
            Stdin::Ignore => {}
        }
        Ok(prompt)
    }
}

fn play(args: Vec<OsString>) -> Result<ExitCode, String> {
    let arguments = Arguments::parse(&args)?;
    let path = arguments.script.as_deref().ok_or("no script: give --script FILE or set SCRIPTED_AGENT")?;
    let path = path.canonicalize().map_err(|e| format!("no script at {}: {e}", path.display()))?;
    let records = Records::of(&path);
    let script = Script::read(&path);
    if let Ok(script) = &script
        && script.protocol != Protocol::Plain
    {
        return live::play(&path, script, &records, &args);
    }
    let start = record_start(&records, &args)?;
    let script = script?;
    let id = start.id();
    let index = match script.select {
        Select::Count => start.number - 1,
        Select::Iteration => iteration(&start, id.as_ref())? - 1,
    };
    let turn = script.turn(index);
    let prompt = arguments.prompt(turn.stdin)?;
    records.add_prompt(start.number, &prompt).map_err(|e| format!("cannot store the prompt: {e}"))?;
    let player = Player::new(&path, records, &start, id, prompt);
    player.play(&turn.steps)
}

fn record_start(records: &Records, args: &[OsString]) -> Result<TurnStart, String> {
    let variable = |name: &str| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
    records
        .add_start(|number| TurnStart {
            number,
            process: ProcessId::own(),
            turn: variable("WINDLASS_TURN"),
            loop_id: variable("WINDLASS_LOOP"),
            args: args.iter().map(|a| a.to_string_lossy().into_owned()).collect(),
            cwd: std::env::current_dir().unwrap_or_default(),
        })
        .map_err(|e| format!("cannot write {}: {e}", records.turns_file().display()))
}

fn iteration(start: &TurnStart, id: Option<&TurnId>) -> Result<usize, String> {
    let iteration = id.map(|id| id.iteration).filter(|&i| i > 0);
    iteration.ok_or_else(|| {
        format!("select = \"iteration\" needs WINDLASS_TURN=<loop>.<iteration>.<role>.<attempt>, not {:?}", start.turn)
    })
}
