//! The command line of one turn of each CLI, headless and with structured output.
//!
//! Invariant: the prompt is an argument, so stdin must be empty: codex and opencode wait forever at an open pipe.

use super::Cli;

/// Which session a turn belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    New,
    /// A new one under an id of our own, where the CLI takes one; else as [`Session::New`].
    Named(String),
    Resume(String),
}

impl Cli {
    /// The arguments of a turn.
    ///
    /// # Panics
    /// For the ACP adapters, which have no turns of their own.
    pub fn turn(self, prompt: &str, session: &Session) -> Vec<String> {
        let mut args: Vec<&str> = match self {
            Cli::Claude => vec!["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"],
            Cli::Codex => vec!["exec"],
            Cli::Opencode => vec!["run", "--format", "json", "--auto", "--title", "t"],
            Cli::Gemini => vec!["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
            Cli::Copilot => {
                vec!["--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update", "--no-color"]
            }
            Cli::Qwen => vec!["--auth-type", "openai", "--output-format", "stream-json", "--approval-mode", "yolo"],
            Cli::Pi => vec!["--mode", "json", "--model", self.model()],
            Cli::Cline => vec!["--json"],
            Cli::Aider => {
                vec!["--yes-always", "--stream", "--no-pretty", "--no-fancy-input", "--no-show-release-notes"]
            }
            Cli::Vibe => vec!["--auto-approve", "--trust", "--output", "streaming"],
            Cli::Kimi => vec!["--output-format", "stream-json"],
            Cli::Goose => vec!["run", "--quiet", "--output-format", "stream-json", "--no-session"],
            Cli::ClaudeAcp | Cli::CodexAcp => panic!("{} is driven over ACP", self.name()),
        };
        match self {
            Cli::Claude => args.extend(["--model", self.model()]),
            Cli::Gemini => args.extend(["-m", self.model()]),
            Cli::Copilot => args.push("--disable-builtin-mcps"),
            Cli::Qwen => args.extend(["--max-wall-time", "120s"]),
            Cli::Aider => {
                args.extend(["--no-show-model-warnings", "--no-check-update", "--no-analytics", "--no-detect-urls"]);
                args.extend(["--no-suggest-shell-commands", "--no-gitignore", "--no-auto-commits"]);
                args.extend(["--no-dirty-commits", "--chat-history-file", "/dev/null"]);
                args.extend(["--input-history-file", "/dev/null", "--model", self.model()]);
            }
            Cli::Codex
            | Cli::Opencode
            | Cli::Pi
            | Cli::Cline
            | Cli::Vibe
            | Cli::Goose
            | Cli::Kimi
            | Cli::ClaudeAcp
            | Cli::CodexAcp => {}
        }
        let mut args: Vec<String> = args.into_iter().map(str::to_owned).collect();
        args.extend(self.session(session));
        match self {
            Cli::Codex => {
                let fixed = ["--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"];
                args.extend(fixed.map(str::to_owned));
                if let Session::Resume(id) = session {
                    args.push(id.clone());
                }
                args.push(prompt.to_owned());
            }
            Cli::Opencode | Cli::Cline => args.push(prompt.to_owned()),
            Cli::Pi => args.extend(["--print".to_owned(), prompt.to_owned()]),
            Cli::Aider => args.extend(["--message".to_owned(), prompt.to_owned()]),
            Cli::Goose => args.extend(["--text".to_owned(), prompt.to_owned()]),
            Cli::Claude
            | Cli::Gemini
            | Cli::Copilot
            | Cli::Qwen
            | Cli::Vibe
            | Cli::Kimi
            | Cli::ClaudeAcp
            | Cli::CodexAcp => {
                args.extend(["-p".to_owned(), prompt.to_owned()]);
            }
        }
        args
    }

    fn session(self, session: &Session) -> Vec<String> {
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
        match (session, self) {
            (Session::New, _) => Vec::new(),
            (Session::Named(id), Cli::Claude | Cli::Gemini | Cli::Qwen) => words(&["--session-id", id]),
            (Session::Named(id), Cli::Copilot) => vec![format!("--session-id={id}")],
            (Session::Named(_), _) => Vec::new(),
            (Session::Resume(_), Cli::Codex) => words(&["resume"]),
            // They have no way to, without a terminal.
            (Session::Resume(_), Cli::Cline | Cli::Aider | Cli::Goose) => Vec::new(),
            (Session::Resume(id), Cli::Opencode | Cli::Pi | Cli::Kimi) => words(&["--session", id]),
            (Session::Resume(id), Cli::Copilot) => vec![format!("--resume={id}")],
            (Session::Resume(id), _) => words(&["--resume", id]),
        }
    }
}
