//! What the scripted agent leaves beside its script, written by the agent and read by the test:
//! `<script>.turns` (one JSON line per start), `<script>.prompts/N`, `<script>.pids` (one line per leftover).
//!
//! Invariant: a start is recorded before anything else the turn does, under a lock, so that the number of lines is
//! the number of turns run however they end. A prompt appears whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::process::ProcessId;

/// Where the records of one script are.
#[derive(Debug, Clone)]
pub struct Records {
    script: PathBuf,
}

/// One start of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct TurnStart {
    /// Counted from 1 over all starts of this script.
    pub number: usize,
    pub process: ProcessId,
    /// `WINDLASS_TURN` as it was set.
    pub turn: Option<String>,
    /// `WINDLASS_LOOP` as it was set.
    pub loop_id: Option<String>,
    pub args: Vec<String>,
    pub cwd: PathBuf,
}

/// A child that was left behind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Leftover {
    pub kind: String,
    pub process: ProcessId,
}

/// The parts of `<loop>.<iteration>.<role>.<attempt>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnId {
    pub loop_id: String,
    pub iteration: usize,
    pub role: String,
    pub attempt: usize,
}

impl TurnId {
    pub fn parse(text: &str) -> Option<TurnId> {
        let mut parts = text.rsplitn(4, '.');
        let attempt = parts.next()?.parse().ok()?;
        let role = parts.next()?.to_owned();
        let iteration = parts.next()?.parse().ok()?;
        let loop_id = parts.next()?.to_owned();
        Some(TurnId { loop_id, iteration, role, attempt })
    }
}

impl TurnStart {
    /// The parsed `WINDLASS_TURN`, if it was set and has the form of a turn id.
    pub fn id(&self) -> Option<TurnId> {
        self.turn.as_deref().and_then(TurnId::parse)
    }
}

impl Records {
    pub fn of(script: &Path) -> Records {
        Records { script: script.to_owned() }
    }

    pub fn turns_file(&self) -> PathBuf {
        self.beside(".turns")
    }

    pub fn pids_file(&self) -> PathBuf {
        self.beside(".pids")
    }

    pub fn prompt_file(&self, number: usize) -> PathBuf {
        self.beside(".prompts").join(number.to_string())
    }

    /// Records a start; `make` gets its number.
    pub fn add_start(&self, make: impl FnOnce(usize) -> TurnStart) -> io::Result<TurnStart> {
        let mut file = open_append(&self.turns_file())?;
        // Two agents may start at once: counting and appending is one step under the lock.
        flock(&file, FlockOperation::LockExclusive)?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let start = make(text.lines().count() + 1);
        append(&mut file, &start)?;
        Ok(start)
    }

    pub fn add_leftover(&self, leftover: &Leftover) -> io::Result<()> {
        append(&mut open_append(&self.pids_file())?, leftover)
    }

    pub fn add_prompt(&self, number: usize, prompt: &[u8]) -> io::Result<()> {
        let path = self.prompt_file(number);
        fs::create_dir_all(self.beside(".prompts"))?;
        let unfinished = path.with_extension("part");
        fs::write(&unfinished, prompt)?;
        fs::rename(unfinished, path)
    }

    pub fn turns(&self) -> Vec<TurnStart> {
        read_lines(&self.turns_file())
    }

    pub fn leftovers(&self) -> Vec<Leftover> {
        read_lines(&self.pids_file())
    }

    /// The prompt of the n-th start (from 1) as the agent received it.
    pub fn prompt(&self, number: usize) -> Option<Vec<u8>> {
        fs::read(self.prompt_file(number)).ok()
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        let mut path = OsString::from(&self.script);
        path.push(suffix);
        PathBuf::from(path)
    }
}

fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).open(path)
}

fn append(file: &mut File, record: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    // One write: with O_APPEND a line is never torn by another writer.
    file.write_all(&line)
}

fn read_lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap_or_default();
    // A line without its newline is one that is being written this moment.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| {
            serde_json::from_str(line).unwrap_or_else(|e| panic!("bad line in {}: {e}: {line}", path.display()))
        })
        .collect()
}
