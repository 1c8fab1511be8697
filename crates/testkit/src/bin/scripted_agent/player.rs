//! Plays the steps of one turn in order.
//!
//! Invariant: steps have no memory of each other; all a step knows is the turn's id, its prompt and where the
//! script is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use windlass_testkit::script::{CheckEnv, EchoStyle, NameList, Split, Step, fill};
use windlass_testkit::{Records, TurnId, TurnStart, watch};

use crate::speech::{STDERR, STDOUT, write_all};
use crate::{encoding, files, leftover, signals, speech};

/// One turn being played.
pub(crate) struct Player {
    /// Where gates and touched files are, outside the working tree so that they do not change it.
    dir: PathBuf,
    records: Records,
    values: BTreeMap<&'static str, String>,
    prompt: Vec<u8>,
}

impl Player {
    pub(crate) fn new(
        script: &Path,
        records: Records,
        start: &TurnStart,
        id: Option<TurnId>,
        prompt: Vec<u8>,
    ) -> Player {
        let mut values = BTreeMap::from([
            ("count", start.number.to_string()),
            ("pid", std::process::id().to_string()),
            ("turn", start.turn.clone().unwrap_or_default()),
            ("loop", start.loop_id.clone().unwrap_or_default()),
        ]);
        if let Some(id) = id {
            values.insert("iteration", id.iteration.to_string());
            values.insert("role", id.role);
            values.insert("attempt", id.attempt.to_string());
        }
        let dir = script.parent().unwrap_or(Path::new("/")).to_owned();
        Player { dir, records, values, prompt }
    }

    pub(crate) fn play(&self, steps: &[Step]) -> Result<ExitCode, String> {
        for (i, step) in steps.iter().enumerate() {
            if let Step::Exit(code) = step {
                // Codes wrap as the system does it.
                return Ok(ExitCode::from(code.to_le_bytes()[0]));
            }
            self.step(step).map_err(|e| format!("step {}: {e}", i + 1))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    pub(crate) fn step(&self, step: &Step) -> Result<(), String> {
        match step {
            Step::Say(text) => write_all(STDOUT, format!("{}\n", self.fill(text)).as_bytes()),
            Step::Print(text) => write_all(STDOUT, self.fill(text).as_bytes()),
            Step::Stderr(text) => write_all(STDERR, format!("{}\n", self.fill(text)).as_bytes()),
            Step::Bytes(encoded) => write_all(STDOUT, &encoding::decode(encoded)?),
            Step::ShiftJis(text) => {
                let mut bytes = encoding::shift_jis(text)?;
                bytes.push(b'\n');
                write_all(STDOUT, &bytes)
            }
            Step::EchoPrompt(echo) => self.echo(echo.style),
            Step::Split(split) => self.split(split),
            Step::Flood(flood) => speech::flood(flood),
            Step::Event(event) => write_all(STDOUT, format!("{}\n", event.line()).as_bytes()),
            Step::Json(value) => write_all(STDOUT, format!("{value}\n").as_bytes()),
            Step::Write(file) => files::write(&self.fill(&file.path), &self.fill(&file.content)),
            Step::Append(file) => files::append(&self.fill(&file.path), &self.fill(&file.content)),
            Step::Delete(path) => files::delete(&self.fill(path)),
            Step::Rename(rename) => files::rename(rename),
            Step::Chmod(chmod) => files::chmod(chmod),
            Step::Symlink(symlink) => files::symlink(symlink),
            Step::Run(command) => match files::run(command)? {
                Some(failure) => write_all(STDERR, format!("{failure}\n").as_bytes()),
                None => Ok(()),
            },
            Step::GitCommit(message) => files::git_commit(&self.fill(message)),
            Step::SleepMs(ms) => {
                std::thread::sleep(Duration::from_millis(*ms));
                Ok(())
            }
            Step::Hang(hang) => {
                if hang.ignore_signals {
                    signals::ignore_usual();
                }
                if let Some(name) = &hang.touch {
                    self.touch(name)?;
                }
                signals::hang()
            }
            Step::IgnoreSignals(list) => signals::ignore(list),
            Step::WaitFor(name) => self.wait_for(name),
            Step::Touch(name) => self.touch(name),
            Step::Leave(leave) => leftover::leave(leave, &self.dir, &self.records),
            Step::PrintEnv(names) => print_env(names),
            Step::CheckEnv(check) => check_env(check),
            // `play` has seen it already.
            Step::Exit(_) => Ok(()),
            Step::Ask(_) | Step::WaitCancel(_) | Step::EndTurn(_) => {
                Err("only for an agent with a protocol".to_owned())
            }
            Step::DieWhen(name) => {
                let path = self.dir.join(name);
                // Held until the process is gone, so that others can wait for its death.
                let alive = std::fs::File::create(path.with_extension("alive")).map_err(|e| e.to_string())?;
                alive.lock().map_err(|e| e.to_string())?;
                std::thread::spawn(move || {
                    let _alive = alive;
                    let _ = watch::wait_exists(&path, None);
                    std::process::exit(9);
                });
                Ok(())
            }
            Step::KillSelf(signal) => signals::kill_self(signal),
            Step::Crash(_) => signals::crash(),
        }
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        fill(text, &self.values)
    }

    fn echo(&self, style: EchoStyle) -> Result<(), String> {
        let mark: &[u8] = match style {
            EchoStyle::Plain => b"",
            EchoStyle::Quoted => b"> ",
            EchoStyle::Indented => b"    ",
        };
        let mut bytes = Vec::with_capacity(self.prompt.len());
        for line in self.prompt.split_inclusive(|&b| b == b'\n') {
            bytes.extend_from_slice(mark);
            bytes.extend_from_slice(line);
        }
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        write_all(STDOUT, &bytes)
    }

    fn split(&self, split: &Split) -> Result<(), String> {
        for (i, chunk) in split.chunks.iter().enumerate() {
            if i > 0 {
                if let Some(gate) = split.gates.get(i - 1) {
                    self.wait_for(gate)?;
                }
                std::thread::sleep(Duration::from_millis(split.pause_ms));
            }
            write_all(STDOUT, &encoding::chunk(chunk)?)?;
        }
        Ok(())
    }

    pub(crate) fn touch(&self, name: &str) -> Result<(), String> {
        let path = self.dir.join(name);
        std::fs::write(&path, "").map_err(|e| format!("cannot touch {}: {e}", path.display()))
    }

    fn wait_for(&self, name: &str) -> Result<(), String> {
        let path = self.dir.join(name);
        watch::wait_exists(&path, None).map(|_| ()).map_err(|e| format!("cannot wait for {}: {e}", path.display()))
    }
}

fn print_env(names: &NameList) -> Result<(), String> {
    let mut lines: Vec<String> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value))
        .filter(|(name, _)| match names {
            NameList::All(_) => true,
            NameList::Named(wanted) => wanted.contains(name),
        })
        .map(|(name, value)| format!("{name}={}\n", value.to_string_lossy()))
        .collect();
    lines.sort();
    write_all(STDOUT, lines.concat().as_bytes())
}

fn check_env(check: &CheckEnv) -> Result<(), String> {
    let value = std::env::var_os(&check.name).map(|v| v.to_string_lossy().into_owned());
    if value == check.is {
        return Ok(());
    }
    Err(format!("check_env: {} is {value:?}, expected {:?}", check.name, check.is))
}
