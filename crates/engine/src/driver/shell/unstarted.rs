//! Gates whose command the shell could not start.
//!
//! Only the exit code and the shell's words tell. A program that the user's command names and that is nowhere on PATH is a
//! matter of this machine: no commit can change it, so it is no verdict. Everything else the agent may mend, and is told.

use std::path::Path;

use windlass_core::machine::LoopState;
use windlass_core::trouble::{Trouble, TroubleKind};

use crate::driver::DriveError;

/// How shells end if they do not find a command, or may not execute it.
pub(super) const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// A shell says it in one of the last lines.
const MOST_LINES: usize = 20;

/// An error if the gate's own program is not installed. Nothing that ran before it can have brought it.
pub(super) fn not_installed(state: &LoopState, command: &str, output: &str, path: &str) -> Result<(), DriveError> {
    // Without a sandbox the agent may install it, and so may a set-up.
    let agents = state.iteration > 0 && state.spec.sandbox.is_off();
    if agents || !state.spec.workspace.setup.is_empty() {
        return Ok(());
    }
    let Some(name) = missing(output).filter(|name| starts_with(command, name)) else { return Ok(()) };
    let place = match &state.spec.sandbox.docker {
        Some(docker) => format!("in the image {}", docker.image),
        None if is_nowhere(name, path) => "on PATH".to_owned(),
        None => return Ok(()),
    };
    let message = format!("{name} is not {place}; install it, or start a loop with another gate than: {command}");
    Err(DriveError::NotTried(Trouble { kind: TroubleKind::Files, message }))
}

/// What to tell whoever reads the output of a gate that ended like this.
pub(super) fn note(code: i32, output: &str) -> Option<String> {
    let said = match (code, missing(output)) {
        (NOT_FOUND, Some(name)) => format!(
            "exit code 127: the command {name} was not found. Gates see the commit and what the set-up made; if a command \
             installs it, pass that with --setup"
        ),
        (NOT_FOUND, None) => "exit code 127 usually means that a command was not found".to_owned(),
        (NOT_EXECUTABLE, _) => "exit code 126: a file cannot be executed. Make it executable in the commit with `git \
             update-index --chmod=+x FILE`, or run it with its interpreter, such as `sh FILE`"
            .to_owned(),
        (_, _) => return None,
    };
    Some(format!("\n[windlass: {said}]\n"))
}

/// The command that a shell did not find, in the words of bash, dash, busybox, ksh, zsh and fish. A path is none: it may be in
/// the commit.
fn missing(output: &str) -> Option<&str> {
    let lines = output.lines().rev().take(MOST_LINES);
    let names = lines.filter_map(|line| {
        let line = line.trim();
        let before = line.strip_suffix(": command not found").or_else(|| line.strip_suffix(": not found"));
        let name = before.and_then(|before| before.rsplit(": ").next());
        let after = ["command not found: ", "Unknown command: "];
        name.or_else(|| after.iter().find_map(|words| line.split(words).nth(1)))
    });
    names.map(str::trim).find(|name| !name.is_empty() && !name.contains(['/', ' ', '\t']))
}

/// Whether the command begins with this program, maybe in a directory.
fn starts_with(command: &str, name: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match &words[..] {
        ["cd", _, "&&", first, ..] | [first, ..] => *first == name,
        [] => false,
    }
}

/// Whether no directory of this search path has it. A directory that depends on where the gate runs could be the agent's.
fn is_nowhere(name: &str, path: &str) -> bool {
    std::env::split_paths(path).all(|dir| dir.is_absolute() && is_missing(&dir.join(name)))
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_read_from_the_words_of_every_shell() {
        let lines = [
            "/bin/bash: line 1: tool: command not found",
            "bash: tool: command not found",
            "/bin/sh: 1: tool: not found",
            "sh: tool: not found",
            "zsh:1: command not found: tool",
            "fish: Unknown command: tool",
        ];
        for line in lines {
            assert_eq!(missing(&format!("before\n{line}\n")), Some("tool"), "{line}");
        }
        for line in
            ["sh: 1: ./tool: not found", "error: module a b: not found", "ok", "bash: line 1: /x: command not found"]
        {
            assert_eq!(missing(line), None, "{line}");
        }
    }

    #[test]
    fn only_the_first_program_of_a_command_is_meant() {
        for command in ["tool", "tool --all | cat", "cd web && tool"] {
            assert!(starts_with(command, "tool"), "{command}");
        }
        for command in [". .venv/bin/activate && tool", "PATH=x tool", "npm run tool", ""] {
            assert!(!starts_with(command, "tool"), "{command}");
        }
    }

    #[test]
    fn program_in_a_directory_of_the_agent_is_not_missed() {
        assert!(is_nowhere("windlass-no-such-program", "/usr/bin:/bin"));
        assert!(!is_nowhere("windlass-no-such-program", "/usr/bin:node_modules/.bin"));
        assert!(!is_nowhere("sh", "/usr/bin:/bin"));
    }
}
