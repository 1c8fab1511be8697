//! `windlass run`.

use std::path::PathBuf;

use clap::Args;
use windlass_core::group::tries::Losers;
use windlass_engine::config::Options;

use super::goal::GoalSource;
use super::settings::{All, SettingFlags};
use super::values::{loop_name, losers, not_blank};

/// Start a loop and follow it
///
/// The agent works in a separate workspace, turn by turn, until it claims to be done and all gates pass, or until it
/// hits a limit.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass run \"make the tests pass\" --agent-command \"./my-agent.sh\" --gate \"cargo test\"
  windlass run --issue 42
  windlass run \"fix the parser\" --agents claude,codex:gpt-5 --first --gate \"cargo test\"
  windlass run --prompt-file task.md --agent demo --max-iterations 8 --duration 90m
  windlass run \"make the parser faster\" --agent-command \"./my-agent.sh\" --iter 5 --gate \"cargo test\"
  git log -1 --format=%B | windlass run - --gate \"npm test\" --detach

Exit codes: 0 completed, 1 Windlass failed, 2 usage error, 3 limit reached, 4 stopped by a user, 5 stalled, \
6 paused or needs review, 7 agent failed.")]
pub struct RunArgs {
    /// What the agent should do, in quotes; - reads it from standard input
    #[arg(value_name = "GOAL", required_unless_present_any = ["prompt_file", "issue"])]
    goal: Option<String>,
    /// Read the goal from a file
    #[arg(long, value_name = "FILE", conflicts_with = "goal")]
    prompt_file: Option<PathBuf>,
    /// Take the goal from an issue, by number or address, with gh, glab, or tea
    #[arg(long, value_name = "N|URL", value_parser = not_blank, conflicts_with_all = ["goal", "prompt_file"])]
    pub issue: Option<String>,
    /// Name of the loop: a-z 0-9 - _, unique in the project [default: derived from the goal]
    #[arg(long, value_parser = loop_name)]
    pub name: Option<String>,
    /// Run the goal N times in parallel, from the same commit, and pick the best. Limits on cost and tokens
    /// apply to all tries together
    #[arg(long, value_name = "N", conflicts_with = "in_place")]
    pub tries: Option<u32>,
    /// Agents for the tries, as agent or agent:model, used in turn [default: the same agent for each]
    #[arg(long, value_name = "A,B:MODEL", value_delimiter = ',', conflicts_with_all = ["agent", "agent_command", "model", "in_place"])]
    pub agents: Vec<String>,
    /// Stop the other tries when one is verified
    #[arg(long)]
    pub first: bool,
    /// Keep or remove the workspaces of tries that were not picked. Their branches stay [default: keep]
    #[arg(long, value_name = "keep|drop", value_parser = losers)]
    pub losers: Option<Losers>,
    /// Run in the background. Follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
    /// Trust commands defined in this repository, like 'windlass trust --yes'
    #[arg(long)]
    pub trust: bool,

    #[command(flatten)]
    settings: SettingFlags<All>,
    /// Run any program as the agent. Words are split as in a shell, but no shell runs. The prompt replaces {prompt} or
    /// {prompt_file}, or else goes to standard input
    #[arg(long, value_name = "WORDS", conflicts_with = "agent", help_heading = "Agent")]
    pub agent_command: Option<String>,

    /// Run any program as the reviewer, like --agent-command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "reviewer", help_heading = "Agent")]
    pub reviewer_command: Option<String>,

    /// Run N iterations that build on each other, 1–100 (refine) [default: 5]
    #[arg(
        long,
        value_name = "N",
        allow_hyphen_values = true,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    pub iter: Option<String>,
    /// Run as many iterations as fit into this time, such as 90m (refine)
    #[arg(
        long,
        value_name = "D",
        allow_hyphen_values = true,
        conflicts_with = "no_loop",
        help_heading = "When it is done"
    )]
    pub time: Option<String>,
    /// Run one turn, then the gates
    #[arg(long, conflicts_with = "max_iterations", help_heading = "When it is done")]
    pub no_loop: bool,

    /// Revision to start the branch from [default: HEAD]
    #[arg(long, value_name = "REV", value_parser = not_blank, help_heading = "Workspace")]
    pub base: Option<String>,
    /// Allow uncommitted changes with --in-place
    #[arg(long, requires = "in_place", help_heading = "Workspace")]
    pub allow_dirty: bool,
}

impl RunArgs {
    /// Where the goal comes from. Clap ensures that there is exactly one source.
    pub fn goal_source(&self) -> GoalSource {
        match (&self.prompt_file, self.goal.as_deref()) {
            (Some(path), _) => GoalSource::File(path.clone()),
            (None, Some("-")) => GoalSource::Stdin,
            (None, text) => GoalSource::Text(text.unwrap_or_default().to_owned()),
        }
    }

    /// Whether gates are given.
    pub fn has_gates(&self) -> bool {
        self.settings.has_gates()
    }

    /// The flags as the highest layer of the settings.
    pub fn options(&self) -> Options {
        self.settings.options()
    }
}
