//! An agent that is talked to: one process, turn after turn, over a protocol.
//!
//! Invariants: every prompt is recorded like its own start, before anything is done for it, with the process
//! that took it; every line that came in is kept beside the script, in `<script>.input`.

mod acp;
mod claude;

use std::ffi::OsString;
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use windlass_testkit::Records;
use windlass_testkit::neutral::NeutralEvent;
use windlass_testkit::script::{EndTurn, Protocol, Script, Step};

use crate::player::Player;
use crate::speech::{STDOUT, write_all};

/// One way to talk.
trait Voice {
    /// Takes lines until one is a prompt; none at the end of input.
    fn prompt(&mut self, lines: &mut Lines) -> Result<Option<String>, String>;
    fn event(&mut self, event: &NeutralEvent) -> Result<(), String>;
    /// Asks for leave to use a tool; the answer as the agent understands it.
    fn ask(&mut self, tool: &str, lines: &mut Lines) -> Result<String, String>;
    /// Takes lines until one tells to end the turn.
    fn wait_cancel(&mut self, lines: &mut Lines) -> Result<(), String>;
    fn end(&mut self, end: &EndTurn) -> Result<(), String>;
}

/// What comes in, kept as it comes.
struct Lines {
    stdin: std::io::StdinLock<'static>,
    kept: std::fs::File,
}

impl Lines {
    fn next(&mut self) -> Result<Option<Value>, String> {
        let mut line = Vec::new();
        let got = self.stdin.read_until(b'\n', &mut line).map_err(|e| format!("cannot read stdin: {e}"))?;
        if got == 0 {
            return Ok(None);
        }
        self.kept.write_all(&line).map_err(|e| format!("cannot keep what came in: {e}"))?;
        serde_json::from_slice(&line).map(Some).map_err(|e| format!("not a JSON line: {e}"))
    }
}

fn say(value: &Value) -> Result<(), String> {
    write_all(STDOUT, format!("{value}\n").as_bytes())
}

pub(crate) fn play(path: &Path, script: &Script, records: &Records, args: &[OsString]) -> Result<ExitCode, String> {
    let mut kept = path.as_os_str().to_owned();
    kept.push(".input");
    let kept = std::fs::OpenOptions::new().create(true).append(true).open(&kept);
    let kept = kept.map_err(|e| format!("cannot keep what comes in: {e}"))?;
    let mut lines = Lines { stdin: std::io::stdin().lock(), kept };
    let mut voice: Box<dyn Voice> = match script.protocol {
        Protocol::Claude => Box::new(claude::Claude::new(args)),
        Protocol::Acp => Box::new(acp::Acp::new(script.acp)),
        Protocol::Plain => return Err("a plain agent takes no turns".to_owned()),
    };
    while let Some(prompt) = voice.prompt(&mut lines)? {
        let start = crate::record_start(records, args)?;
        records.add_prompt(start.number, prompt.as_bytes()).map_err(|e| format!("cannot store the prompt: {e}"))?;
        let turn = script.turn(start.number - 1);
        let player = Player::new(path, records.clone(), &start, start.id(), prompt.into_bytes());
        if let Some(code) = play_turn(&player, &turn.steps, &mut *voice, &mut lines)? {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Plays one turn; an exit code if the process ends with it.
fn play_turn(
    player: &Player,
    steps: &[Step],
    voice: &mut dyn Voice,
    lines: &mut Lines,
) -> Result<Option<ExitCode>, String> {
    let mut end = EndTurn::default();
    for step in steps {
        if let Step::Say(text) = step {
            voice.event(&NeutralEvent::Text { text: player.fill(text) })?;
        } else if let Step::Event(event) = step {
            voice.event(event)?;
        } else if let Step::Ask(tool) = step {
            let answer = voice.ask(tool, lines)?;
            voice.event(&NeutralEvent::Text { text: format!("permission for {tool}: {answer}") })?;
        } else if let Step::WaitCancel(_) = step {
            voice.wait_cancel(lines)?;
            player.touch("cancelled")?;
            end.stop_reason = Some("cancelled".to_owned());
        } else if let Step::EndTurn(how) = step {
            end = how.clone();
        } else if let Step::Exit(code) = step {
            return Ok(Some(ExitCode::from(code.to_le_bytes()[0])));
        } else {
            player.step(step)?;
        }
    }
    voice.end(&end)?;
    Ok(None)
}
