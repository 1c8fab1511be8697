//! Command lines of the adapters that know their agent.
//!
//! Program and first words come from the profile, then the adapter's own, then the profile's `args`. The prompt comes
//! on standard input, which has no limit: an argument holds 128 KiB.

use windlass_core::command::{CommandSpec, Stdin};

use crate::{LaunchError, TurnRequest};

/// The kernel takes no longer argument.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

#[derive(Debug)]
pub(crate) struct Words<'a> {
    pub request: &'a TurnRequest<'a>,
    spec: CommandSpec,
}

impl<'a> Words<'a> {
    /// `program` is started if the profile names none.
    pub(crate) fn new(request: &'a TurnRequest<'a>, program: &str) -> Self {
        let mut command = request.agent.profile.command.iter();
        let spec = CommandSpec {
            program: command.next().filter(|first| !first.is_empty()).map_or(program, String::as_str).to_owned(),
            args: command.cloned().collect(),
            env: request.env.clone(),
            cwd: request.cwd.clone(),
            stdin: Stdin::File { path: request.prompt_file.clone() },
        };
        Self { request, spec }
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

    pub(crate) fn unset(&mut self, name: &str) -> &mut Self {
        self.spec.env.remove(name);
        self
    }

    pub(crate) fn finish(&mut self) -> Result<CommandSpec, LaunchError> {
        let mut spec = self.spec.clone();
        spec.env.extend(self.request.agent.profile.env.clone());
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
        Ok(spec)
    }
}

/// A session id for an agent that takes one, the same for the same turn.
pub(crate) fn session_id(turn_id: &str) -> Option<String> {
    if turn_id.is_empty() {
        return None;
    }
    // FNV-1a: it has to be the same everywhere and for ever, not secret.
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
