//! The programs that are compared, each started with its best flags.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Versions that are installed.
const RALPH: &str = "2.10.1";
const RALPHY: &str = "4.7.2";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Windlass,
    Bash,
    Ralph,
    Ralphy,
}

/// One run of one peer: a repository, and beside it what the agent reads and leaves.
#[derive(Debug)]
pub struct Trial {
    pub repo: PathBuf,
    pub dir: PathBuf,
    /// Iterations that are allowed.
    pub limit: u32,
}

impl Peer {
    pub const ALL: [Peer; 4] = [Peer::Windlass, Peer::Bash, Peer::Ralph, Peer::Ralphy];

    pub fn name(self) -> &'static str {
        match self {
            Peer::Windlass => "Windlass",
            Peer::Bash => "bash loop",
            Peer::Ralph => "ralph-orchestrator",
            Peer::Ralphy => "ralphy",
        }
    }

    /// What it does not have by design, so that no row counts it as a fault.
    pub fn lacks(self) -> &'static str {
        match self {
            Peer::Windlass => "",
            Peer::Bash => {
                "everything that is not in its five lines: it resumes by being started again, and has no gates, limits of time, or records"
            }
            Peer::Ralph => "gates of its own: the agent is asked to run them",
            Peer::Ralphy => {
                "a promise: a task is done when its agent exits without an error, and the agent is asked to test"
            }
        }
    }

    fn cache() -> PathBuf {
        let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        std::env::var_os("PEERS_CACHE")
            .map(PathBuf::from)
            .or(home.map(|dir| dir.join("windlass-peers")))
            .unwrap_or_default()
    }

    pub fn program(self, windlass: &Path) -> PathBuf {
        match self {
            Peer::Windlass => windlass.to_owned(),
            Peer::Bash => "/bin/bash".into(),
            Peer::Ralph => Self::cache().join("ralph/bin/ralph"),
            Peer::Ralphy => Self::cache().join("npm/node_modules/.bin/ralphy"),
        }
    }

    /// Installs it into the cache, unless it is there. The packages come from where cargo and npm are told to look.
    pub fn install(self, windlass: &Path) -> Result<(), String> {
        if self.program(windlass).exists() {
            return Ok(());
        }
        let cache = Self::cache();
        let mut command = match self {
            Peer::Windlass => return Err("build it first: cargo build --release -p windlass".to_owned()),
            Peer::Bash => return Err("there is no /bin/bash".to_owned()),
            Peer::Ralph => {
                let mut command = Command::new("cargo");
                command
                    .args(["install", "ralph-cli", "--locked", "--version", RALPH, "--root"])
                    .arg(cache.join("ralph"));
                command
            }
            Peer::Ralphy => {
                let mut command = Command::new("npm");
                command.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(cache.join("npm"));
                command.arg(format!("ralphy-cli@{RALPHY}"));
                command
            }
        };
        let status = command.status().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("its installation ended with {status}")) }
    }

    pub fn version(self, windlass: &Path) -> String {
        let output = Command::new(self.program(windlass)).arg("--version").stdin(Stdio::null()).output();
        let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let first = said.lines().next().unwrap_or_default();
        let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
        first.split_whitespace().find(is_version).unwrap_or("unknown").to_owned()
    }

    /// The command for a trial; `again` starts it after it was killed, with what it has for that.
    pub fn command(self, windlass: &Path, trial: &Trial, again: bool) -> Command {
        let limit = trial.limit.to_string();
        let agent = format!("sh {}", trial.dir.join("agent.sh").display());
        let mut command = Command::new(self.program(windlass));
        match self {
            Peer::Windlass if again => {
                command.args(["resume", "trial"]);
            }
            Peer::Windlass => {
                command.args(["run", "make it fixed", "--name", "trial", "--agent-command", &agent]);
                command.args(["--gate", "grep -q fixed state", "--max-iterations", &limit, "--session", "fresh"]);
                // What the trial is told by, and what its processes are found by.
                command.args(["--env-pass", "PEERS_*", "--env-pass", "WINDLASS_TEST_*"]);
            }
            Peer::Bash => {
                let script = "i=0; while [ $i -lt $1 ]; do $0 <PROMPT.md >out; git add -A; git commit -qm loop; \
                              if grep -qF '<promise>COMPLETE</promise>' out; then exit 0; fi; i=$((i+1)); done; exit 1";
                command.args(["-c", script, &agent, &limit]);
                // The variable is split into words, as one writes such a loop.
            }
            Peer::Ralph => {
                let config = format!(
                    "cli:\n  backend: custom\n  command: sh\n  args: [\"{}\"]\n  prompt_mode: stdin\nevent_loop:\n  \
                     prompt_file: PROMPT.md\n  completion_promise: \"<promise>COMPLETE</promise>\"\n  max_iterations: {limit}\n",
                    trial.dir.join("agent.sh").display()
                );
                let _ = fs::write(trial.repo.join("ralph.yml"), config);
                command.args(["run", "--no-tui", "--max-iterations", &limit]);
                if again {
                    command.arg("--continue");
                }
            }
            Peer::Ralphy => {
                let tasks: String = (1..=if trial.limit > 1 { trial.limit + 2 } else { 1 })
                    .map(|number| format!("- [ ] part {number} of making it fixed\n"))
                    .collect();
                if !again {
                    let _ = fs::write(trial.repo.join("PRD.md"), format!("# Work\n\n{tasks}"));
                }
                command.args(["--prd", "PRD.md", "--max-iterations", &limit, "--retry-delay", "0", "--no-merge"]);
            }
        }
        command
    }
}
