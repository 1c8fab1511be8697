//! Where installed CLIs are.
//!
//! Invariant: a CLI counts as installed only if its installation was finished and its program is there.

use std::path::{Path, PathBuf};

use super::Cli;

/// The file that says that an installation was finished.
const FINISHED: &str = ".installed";

/// Where all CLIs are installed.
pub fn cache_dir() -> PathBuf {
    if let Some(dir) = std::env::var_os("WINDLASS_TEST_CLIS") {
        return PathBuf::from(dir);
    }
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/".into())).join(".cache");
    std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from).join("windlass-test-clis")
}

/// The platform as npm packages call it.
pub fn platform() -> String {
    let os = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}-{arch}")
}

/// Node itself, which some of the CLIs are started by.
pub fn node() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("node")).find(|file| file.is_file())
}

impl Cli {
    /// The directory of its installation.
    pub fn dir(self) -> PathBuf {
        cache_dir().join(format!("{}-{}", self.name(), self.version()))
    }

    /// The environment of a CLI that is written in Python.
    pub fn environment(self) -> PathBuf {
        self.dir().join("venv")
    }

    /// The file that an installer writes last.
    pub fn finished_mark(self) -> PathBuf {
        self.dir().join(FINISHED)
    }

    /// Its program, if it is installed.
    pub fn program(self) -> Option<PathBuf> {
        if !self.finished_mark().is_file() { None } else { self.unproven_program() }
    }

    /// Its program as it is in the directory, finished or not. The platform's own binary if there is one: the
    /// launchers around it need install scripts or leave processes behind.
    pub fn unproven_program(self) -> Option<PathBuf> {
        if self.pythons().is_some() {
            let name = if self == Cli::Vibe { "vibe" } else { self.name() };
            return Some(self.environment().join("bin").join(name)).filter(|file| file.is_file());
        }
        let modules = self.dir().join("node_modules");
        let platform = platform();
        let file = match self {
            Cli::Claude => modules.join(format!("@anthropic-ai/claude-code-{platform}/claude")),
            Cli::Codex => codex_binary(&modules.join(format!("@openai/codex-{platform}/vendor")))?,
            Cli::Opencode => modules.join(format!("opencode-{platform}/bin/opencode")),
            Cli::Copilot => modules.join(format!("@github/copilot-{platform}/copilot")),
            Cli::Cline | Cli::Goose => modules.join(self.package()).join("bin").join(self.name()),
            Cli::Gemini | Cli::Qwen | Cli::Pi | Cli::Kimi | Cli::Aider | Cli::Vibe | Cli::ClaudeAcp | Cli::CodexAcp => {
                modules.join(".bin").join(self.name())
            }
        };
        file.is_file().then_some(file)
    }
}

/// Below a directory with the name of the target.
fn codex_binary(vendor: &Path) -> Option<PathBuf> {
    let targets = std::fs::read_dir(vendor).ok()?;
    targets.filter_map(|t| Some(t.ok()?.path().join("bin/codex"))).find(|file| file.is_file())
}
