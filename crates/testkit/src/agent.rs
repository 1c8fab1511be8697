//! A script in the hands of a test: how to start the agent that plays it, and what it did.
//!
//! Invariant: everything is read back from the records that the agent itself wrote; the test's side guesses nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::records::{Leftover, Records, TurnStart};
use crate::{HUNG, watch};

/// The path of the scripted agent's binary, which cargo puts into the directory above the test executable's.
///
/// # Panics
/// If it has not been built: cargo builds binaries of a dependency only when asked.
pub fn scripted_agent() -> PathBuf {
    built("windlass-scripted-agent")
}

/// The MCP server with one tool, `tell_the_word`: `windlass-mcp-probe WORD`, with `PROBE_KEY` in its environment.
///
/// # Panics
/// If it has not been built.
pub fn mcp_probe() -> PathBuf {
    built("windlass-mcp-probe")
}

fn built(program: &str) -> PathBuf {
    let exe = std::env::current_exe().expect("path of the test executable");
    let name = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let found = exe.ancestors().skip(1).take(3).map(|dir| dir.join(&name)).find(|p| p.is_file());
    found.unwrap_or_else(|| {
        let release = if exe.components().any(|c| c.as_os_str() == "release") { " --release" } else { "" };
        panic!("{program} is not built beside {}; run: cargo build -p windlass-testkit{release}", exe.display())
    })
}

/// One script, ready to be played.
#[derive(Debug, Clone)]
pub struct ScriptedAgent {
    /// The script's file; everything the agent records is beside it.
    pub path: PathBuf,
    records: Records,
}

impl ScriptedAgent {
    pub(crate) fn new(path: PathBuf) -> ScriptedAgent {
        let records = Records::of(&path);
        ScriptedAgent { path, records }
    }

    /// For `--agent-command`: prompt on stdin.
    pub fn command_line(&self) -> String {
        let agent = scripted_agent();
        format!("{} --script {}", quoted(&agent), quoted(&self.path))
    }

    /// For `--agent-command`, with more words after it, such as `--prompt-file {prompt_file}`.
    pub fn command_line_with(&self, words: &str) -> String {
        format!("{} {words}", self.command_line())
    }

    /// All starts so far, in order.
    pub fn turns(&self) -> Vec<TurnStart> {
        self.records.turns()
    }

    /// The prompts of all starts so far, in order, as text; a start whose prompt has not been read yet gives "".
    pub fn prompts(&self) -> Vec<String> {
        let prompt = |number| self.records.prompt(number).unwrap_or_default();
        (1..=self.turns().len()).map(|number| String::from_utf8_lossy(&prompt(number)).into_owned()).collect()
    }

    /// The prompt of the n-th start (from 1), byte for byte.
    pub fn prompt_bytes(&self, number: usize) -> Option<Vec<u8>> {
        self.records.prompt(number)
    }

    /// All children that were left behind so far, dead or alive.
    pub fn pids(&self) -> Vec<Leftover> {
        self.records.leftovers()
    }

    /// The agents and leftovers of this script that are alive.
    pub fn still_alive(&self) -> Vec<Leftover> {
        let mut looked_at = None;
        loop {
            let agents = self
                .turns()
                .into_iter()
                .map(|turn| Leftover { kind: format!("turn {}", turn.number), process: turn.process });
            let all: Vec<Leftover> = agents.chain(self.pids()).collect();
            let count = all.len();
            let alive: Vec<Leftover> = all.into_iter().filter(|p| p.process.alive()).collect();
            // A hopper may have moved on while the others were checked. It is recorded before its predecessor
            // ends, so that nobody is left once all are dead and none has been added.
            if !alive.is_empty() || looked_at == Some(count) {
                return alive;
            }
            looked_at = Some(count);
        }
    }

    /// The file that a relative name in `touch`, `wait_for` and `gates` means.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.parent().expect("a script is in a directory").join(name)
    }

    /// Lets an agent continue that waits for `name`.
    pub fn open_gate(&self, name: &str) {
        let path = self.file(name);
        fs::write(&path, "").unwrap_or_else(|e| panic!("cannot make {}: {e}", path.display()));
    }

    /// Blocks until the agent has reached its step `touch = name`.
    ///
    /// # Panics
    /// If that does not happen within [`HUNG`].
    pub fn wait_touched(&self, name: &str) {
        self.wait(&self.file(name), || self.file(name).exists());
    }

    /// Blocks until the agent has been started `count` times in all; returns the last start.
    ///
    /// # Panics
    /// If that does not happen within [`HUNG`].
    pub fn wait_turns(&self, count: usize) -> TurnStart {
        self.wait(&self.records.turns_file(), || self.turns().len() >= count);
        self.turns().swap_remove(count - 1)
    }

    /// Blocks until `count` children have been left behind in all.
    ///
    /// # Panics
    /// If that does not happen within [`HUNG`].
    pub fn wait_pids(&self, count: usize) -> Vec<Leftover> {
        self.wait(&self.records.pids_file(), || self.pids().len() >= count);
        self.pids()
    }

    fn wait(&self, path: &Path, done: impl FnMut() -> bool) {
        let seen = watch::wait_until(path, Some(HUNG), done)
            .unwrap_or_else(|e| panic!("cannot watch {}: {e}", path.display()));
        assert!(seen, "nothing at {} within {HUNG:?}; turns so far: {:?}", path.display(), self.turns());
    }
}

/// Quoted as a POSIX shell reads it, which is how `--agent-command` splits words.
fn quoted(path: &Path) -> String {
    let text = path.to_str().expect("test paths are UTF-8");
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
