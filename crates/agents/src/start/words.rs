//! Command lines of the adapters that know their agent.
//!
//! Program and first words come from the profile, then the adapter's own, then the profile's `args`. The prompt comes
//! on standard input, which has no limit; an argument is limited to 128 KiB.

use std::path::PathBuf;

use serde_json::{Map, Value};
use windlass_process::{CommandSpec, Stdin};

use crate::turn::{Launch, LaunchError, PrivateFile, TurnRequest};

/// The kernel takes no longer argument.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

#[derive(Debug)]
pub(crate) struct Words<'a> {
    pub request: &'a TurnRequest<'a>,
    spec: CommandSpec,
    files: Vec<PrivateFile>,
}

impl<'a> Words<'a> {
    /// `program` is started if the profile names none.
    pub(crate) fn new(request: &'a TurnRequest<'a>, program: &str) -> Self {
        let profile = &request.agent.profile;
        let mut command = profile.command.iter();
        let mut env = request.env.clone();
        env.extend(profile.env.clone());
        let spec = CommandSpec {
            program: command.next().filter(|first| !first.is_empty()).map_or(program, String::as_str).to_owned(),
            args: command.cloned().collect(),
            env,
            cwd: request.cwd.clone(),
            stdin: Stdin::File { path: request.prompt_file.clone() },
        };
        Self { request, spec, files: Vec::new() }
    }

    pub(crate) fn add<const N: usize>(&mut self, words: [&str; N]) -> &mut Self {
        self.spec.args.extend(words.map(str::to_owned));
        self
    }

    /// A flag and its value, if there is one.
    pub(crate) fn option(&mut self, flag: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.add([flag, value]),
            None => self,
        }
    }

    pub(crate) fn model(&mut self, flag: &str) -> &mut Self {
        let model = self.request.agent.profile.model.as_deref().filter(|model| !model.is_empty());
        self.option(flag, model)
    }

    pub(crate) fn stdin(&mut self, stdin: Stdin) -> &mut Self {
        self.spec.stdin = stdin;
        self
    }

    /// The extra arguments of the profile.
    pub(crate) fn extra(&mut self) -> &mut Self {
        self.spec.args.extend(self.request.agent.profile.args.iter().cloned());
        self
    }

    /// Sets a variable unless the user has set it.
    pub(crate) fn env(&mut self, name: &str, value: &str) -> &mut Self {
        self.spec.env.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        self
    }

    /// Sets a variable whatever it was before.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> &mut Self {
        self.spec.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The agent's configuration directory from the profile, in the agent's variable for it.
    pub(crate) fn config_dir(&mut self, variable: &str) -> &mut Self {
        let Some(dir) = &self.request.agent.profile.config_dir else { return self };
        let home = self.spec.env.get("HOME");
        let dir = match (dir.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => format!("{home}/{below}"),
            _ => dir.clone(),
        };
        self.set(variable, &dir)
    }

    /// The value of a variable for this agent, if set.
    pub(crate) fn said(&self, name: &str) -> Option<&str> {
        self.spec.env.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A variable that cannot be shared with what the user put there.
    pub(crate) fn set_alone(&mut self, name: &'static str, value: &str) -> Result<&mut Self, LaunchError> {
        if self.said(name).is_some() {
            return Err(LaunchError::VariableTaken { agent: self.request.agent.name.clone(), variable: name });
        }
        Ok(self.set(name, value))
    }

    /// The JSON object that the user has in a variable; an empty one if there is none.
    pub(crate) fn said_json(&self, name: &'static str) -> Result<Map<String, Value>, LaunchError> {
        let Some(said) = self.said(name) else { return Ok(Map::new()) };
        serde_json::from_str(said)
            .map_err(|_| LaunchError::VariableNotJson { agent: self.request.agent.name.clone(), variable: name })
    }

    /// The path of a private file next to the prompt, to be written before the start.
    pub(crate) fn file(&mut self, name: &str, content: String) -> String {
        let path: PathBuf = self.request.prompt_file.with_file_name(name);
        let shown = path.to_string_lossy().into_owned();
        self.files.push(PrivateFile { path, content });
        shown
    }

    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.spec.env.remove(name);
        self
    }

    pub(crate) fn finish(&mut self) -> Result<Launch, LaunchError> {
        let mut spec = self.spec.clone();
        let own = self.request.own_program.to_string_lossy();
        for word in std::iter::once(&mut spec.program).chain(&mut spec.args) {
            if word == "{self}" {
                *word = own.clone().into_owned();
            }
            if word.len() > LONGEST_ARGUMENT {
                let agent = self.request.agent.name.clone();
                return Err(LaunchError::PromptTooLong { agent, bytes: word.len() });
            }
            if word.contains('\0') {
                return Err(LaunchError::PromptHasNul);
            }
        }
        Ok(Launch { command: spec, files: self.files.clone() })
    }
}

/// A session id for an agent that takes one, the same for the same turn.
pub(crate) fn session_id(turn_id: &str) -> Option<String> {
    if turn_id.is_empty() {
        return None;
    }
    // FNV-1a: it must be the same everywhere and forever, not secret.
    let hash = turn_id.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    // Agents check for the version and variant bits of a random UUID.
    let uuid = hash & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{uuid:032x}");
    Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_a_uuid_and_depends_on_the_turn_alone() {
        let id = session_id("0199-loop/3-coder-1").unwrap();
        assert_eq!(id, session_id("0199-loop/3-coder-1").unwrap());
        assert_ne!(id, session_id("0199-loop/3-coder-2").unwrap());
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(&id[14..15], "4");
        assert!(matches!(&id[19..20], "8" | "9" | "a" | "b"), "{id}");
        assert_eq!(session_id(""), None);
    }
}
