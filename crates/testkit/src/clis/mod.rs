//! The real agent CLIs at the versions the tests are written against: where they are, how one is pointed at the
//! scripted model, how a turn of it is started.
//!
//! They are installed by `cargo run -p windlass-testkit --bin agent-clis -- install` into a cache that every run
//! reuses: `$WINDLASS_TEST_CLIS`, else `windlass-test-clis` in the user's cache directory.
//!
//! ```no_run
//! use windlass_testkit::{World, clis::{Cli, Session}, model::ModelServer};
//!
//! let Some(program) = Cli::Claude.installed_or_say_skipped("my_test") else { return };
//! let server = ModelServer::with_toml("[[turn]]\nsteps = [{ say = \"hello\" }]");
//! let world = World::new();
//! let setup = Cli::Claude.setup(&program, &world.home(), &server.url());
//! setup.write_files();
//! let mut command = world.command(&setup.program);
//! command.envs(&setup.env).args(Cli::Claude.turn("hi", &Session::New));
//! world.run(command).assert_code(0);
//! ```
//!
//! Invariant: a setup writes below the given home only, and knows no key but a dummy.

mod places;
mod setup;
mod turn;

use places::platform;
pub use places::{cache_dir, node};
pub use setup::{CliSetup, KEY};
pub use turn::Session;

use std::io::Write;
use std::path::PathBuf;

use crate::model::Wire;

/// A CLI that the tests know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cli {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Copilot,
    Qwen,
    /// Without an adapter: a profile of Windlass says all that is known of it.
    Pi,
    /// As pi.
    Cline,
    /// As pi. It comes from PyPI.
    Aider,
    /// As Aider.
    Vibe,
    /// As pi.
    Goose,
    /// As pi. It needs a newer node than the others, which is installed with it.
    Kimi,
    /// Speaks ACP for Claude Code.
    ClaudeAcp,
    /// Speaks ACP for Codex.
    CodexAcp,
}

impl Cli {
    /// The agents with an adapter.
    pub const SIX: [Cli; 6] = *Cli::ALL.first_chunk().expect("they are the first");

    /// The agents of the conformance table.
    pub const AGENTS: [Cli; 12] = *Cli::ALL.first_chunk().expect("they are the first");

    /// Everything that is installed: agents with an adapter, agents without, and programs that speak ACP for one.
    pub const ALL: [Cli; 14] = [
        Cli::Claude,
        Cli::Codex,
        Cli::Opencode,
        Cli::Gemini,
        Cli::Copilot,
        Cli::Qwen,
        Cli::Pi,
        Cli::Cline,
        Cli::Aider,
        Cli::Vibe,
        Cli::Goose,
        Cli::Kimi,
        Cli::ClaudeAcp,
        Cli::CodexAcp,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Cli::Claude => "claude",
            Cli::Codex => "codex",
            Cli::Opencode => "opencode",
            Cli::Gemini => "gemini",
            Cli::Copilot => "copilot",
            Cli::Qwen => "qwen",
            Cli::Pi => "pi",
            Cli::Cline => "cline",
            Cli::Aider => "aider",
            Cli::Vibe => "mistral-vibe",
            Cli::Goose => "goose",
            Cli::Kimi => "kimi",
            Cli::ClaudeAcp => "claude-agent-acp",
            Cli::CodexAcp => "codex-acp",
        }
    }

    pub fn by_name(name: &str) -> Option<Cli> {
        Cli::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The package, of npm or of PyPI.
    pub fn package(self) -> &'static str {
        match self {
            Cli::Claude => "@anthropic-ai/claude-code",
            Cli::Codex => "@openai/codex",
            Cli::Opencode => "opencode-ai",
            Cli::Gemini => "@google/gemini-cli",
            Cli::Copilot => "@github/copilot",
            Cli::Qwen => "@qwen-code/qwen-code",
            Cli::Pi => "@mariozechner/pi-coding-agent",
            // The program alone; the package `cline` brings a library of 290 MB besides.
            Cli::Cline if cfg!(all(target_os = "linux", target_arch = "x86_64")) => "@cline/cli-linux-x64",
            Cli::Cline if cfg!(target_os = "linux") => "@cline/cli-linux-arm64",
            Cli::Cline if cfg!(target_arch = "x86_64") => "@cline/cli-darwin-x64",
            Cli::Cline => "@cline/cli-darwin-arm64",
            Cli::Aider => "aider-chat",
            Cli::Vibe => "mistral-vibe",
            Cli::Goose if cfg!(all(target_os = "linux", target_arch = "x86_64")) => "@aaif/goose-binary-linux-x64",
            Cli::Goose if cfg!(target_os = "linux") => "@aaif/goose-binary-linux-arm64",
            Cli::Goose if cfg!(target_arch = "x86_64") => "@aaif/goose-binary-darwin-x64",
            Cli::Goose => "@aaif/goose-binary-darwin-arm64",
            Cli::Kimi => "@moonshot-ai/kimi-code",
            Cli::ClaudeAcp => "@agentclientprotocol/claude-agent-acp",
            Cli::CodexAcp => "@agentclientprotocol/codex-acp",
        }
    }

    /// The versions of Python that it runs with, the best first, if it comes from PyPI; else it comes from npm.
    pub fn pythons(self) -> Option<&'static [&'static str]> {
        match self {
            Cli::Aider => Some(&["3.12", "3.11", "3.10"]),
            Cli::Vibe => Some(&["3.13", "3.12", "3.14"]),
            Cli::Claude | Cli::Codex | Cli::Opencode | Cli::Gemini | Cli::Copilot | Cli::Qwen | Cli::Pi => None,
            Cli::Cline | Cli::Goose | Cli::Kimi | Cli::ClaudeAcp | Cli::CodexAcp => None,
        }
    }

    /// Whether a turn can go on in the session of the one before.
    pub fn resumes(self) -> bool {
        !matches!(self, Cli::Cline | Cli::Aider | Cli::Goose)
    }

    /// The version that is installed.
    pub fn version(self) -> &'static str {
        match self {
            Cli::Claude => "2.1.325",
            Cli::Codex => "0.166.0",
            Cli::Opencode => "1.18.33",
            Cli::Gemini => "0.61.0",
            Cli::Copilot => "1.0.102",
            Cli::Qwen => "0.24.4",
            Cli::Pi => "0.73.1",
            Cli::Cline => "3.0.65",
            Cli::Aider => "0.86.2",
            Cli::Vibe => "3.0.2",
            Cli::Goose => "1.34.0",
            Cli::Kimi => "2.1.0",
            Cli::ClaudeAcp => "0.49.0",
            Cli::CodexAcp => "2.6.0",
        }
    }

    /// The version of the package, which counts in its own way for some.
    pub fn package_version(self) -> &'static str {
        if self == Cli::Goose { "0.20.1" } else { self.version() }
    }

    /// What is installed beside the package: a node of its own.
    pub fn node_package(self) -> Option<String> {
        (self == Cli::Kimi).then(|| format!("node-{}@22.23.3", platform()))
    }

    /// The API by which it asks the model.
    pub fn wire(self) -> Wire {
        match self {
            Cli::Claude | Cli::ClaudeAcp => Wire::Anthropic,
            Cli::Codex | Cli::CodexAcp => Wire::Responses,
            Cli::Gemini => Wire::Gemini,
            Cli::Opencode
            | Cli::Copilot
            | Cli::Qwen
            | Cli::Pi
            | Cli::Cline
            | Cli::Aider
            | Cli::Vibe
            | Cli::Goose
            | Cli::Kimi => Wire::Chat,
        }
    }

    /// The model that the setup names.
    pub fn model(self) -> &'static str {
        match self {
            Cli::Claude | Cli::ClaudeAcp => "claude-sonnet-4-5",
            Cli::Codex | Cli::CodexAcp => "gpt-5.5",
            Cli::Gemini => "gemini-2.5-pro",
            Cli::Copilot => "gpt-4.1",
            Cli::Pi => "local/scripted",
            Cli::Aider => "openai/scripted",
            Cli::Opencode | Cli::Qwen | Cli::Cline | Cli::Vibe | Cli::Goose | Cli::Kimi => "scripted",
        }
    }

    /// Its program, or none after saying loudly that this test was skipped.
    pub fn installed_or_say_skipped(self, test: &str) -> Option<PathBuf> {
        let program = self.program();
        if program.is_none() {
            let (name, version) = (self.name(), self.version());
            let place = cache_dir();
            let said = format!(
                "\n*** SKIPPED: {test}: {name} {version} is not installed in {}\n\
                 *** to run it: cargo run -p windlass-testkit --bin agent-clis -- install {name}\n\n",
                place.display()
            );
            // Not by a macro: what those print in a test that passes is never seen. All at once: others print too.
            let _ = std::io::stderr().write_all(said.as_bytes());
        }
        program
    }
}
