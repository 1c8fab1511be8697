//! Commands about loops that exist.

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use windlass_core::ids::Role;

use super::raise::RaiseArgs;
use super::values::{not_blank, since, statuses};
use crate::complete;

/// Which loop a command is about.
#[derive(Debug, Clone, Args)]
pub struct LoopName {
    /// Loop name, or the start of one if only one loop matches [default: the latest loop of this project]
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::loops))]
    name: Option<String>,
}

impl LoopName {
    pub fn get(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// List the loops of this project, newest first
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass list
  windlass list --status open,verified --since 7d
  windlass list --all --agent claude --page 2

In the status column, ✔ marks verified work. A completed loop without it shows its outcome instead: claimed, unchanged,
in place or rolled back.")]
pub struct ListArgs {
    /// List the loops of every project, grouped by project
    #[arg(long)]
    pub all: bool,
    /// Show only loops with these statuses or outcomes, separated by commas, such as running, exhausted, verified, or
    /// claimed. 'open' selects all loops that have not ended
    #[arg(long, value_name = "STATUS", value_parser = statuses)]
    pub status: Option<String>,
    /// Show only loops of this agent
    #[arg(long, value_name = "AGENT", value_parser = not_blank, add = ArgValueCandidates::new(complete::agents))]
    pub agent: Option<String>,
    /// Show only loops started since a duration such as 7d, or a date such as 2026-11-01 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Loops per page
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub limit: u16,
    /// Page to show
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub page: u16,
    /// Print a JSON array of all matching loops
    #[arg(long, conflicts_with_all = ["limit", "page"])]
    pub json: bool,
}

/// Show a loop's phase, iterations, gates, usage, limits, and workspace
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass status                      the latest loop of this project
  windlass status fix-login --json
  windlass status fix-login --exit-code; echo $?

With --exit-code, exits with the code that 'run' would exit with, 10 if the loop is running, 11 if it was interrupted.")]
pub struct StatusArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Report the loop's state as the exit code
    #[arg(long)]
    pub exit_code: bool,
}

/// Show the output of a loop's agents
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass logs fix-login -f
  windlass logs fix-login --iteration 2
  windlass logs fix-login --raw --iteration 2 > turn.txt")]
pub struct LogsArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Follow the output until the loop ends, then exit with the code that 'run' would
    #[arg(short, long)]
    pub follow: bool,
    /// Print the agent's raw output
    #[arg(long, conflicts_with = "json")]
    pub raw: bool,
    /// Show only iteration N, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
    /// Show only this role: coder, auditor, acceptor, summariser, planner, or finisher
    #[arg(long, value_name = "ROLE")]
    pub role: Option<Role>,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

/// Arguments of commands that take only the name of a loop.
#[derive(Debug, Clone, Args)]
pub struct LoopArgs {
    #[command(flatten)]
    pub name: LoopName,
}

/// Pause a loop after its current turn
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass pause fix-login
  windlass pause fix-login --now
  windlass resume fix-login")]
pub struct PauseArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Interrupt the current turn instead of waiting for it to end
    #[arg(long)]
    pub now: bool,
}

/// Resume a loop that was interrupted, paused, or hit a limit
///
/// The loop keeps its agent session, phase, and counters.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass resume fix-login
  windlass resume fix-login --max-iterations +5
  windlass resume fix-login --duration +30m --budget-usd +2")]
pub struct ResumeArgs {
    #[command(flatten)]
    pub name: LoopName,
    #[command(flatten)]
    pub raise: RaiseArgs,
    /// Take the loop from a driver on another machine or in another container that no longer runs. Use it if Windlass
    /// cannot tell
    #[arg(long)]
    pub take_over: bool,
    /// Run in the background. Follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

/// Restart a loop that is not completed, with a new agent session
///
/// Resets error counters to 0. Keeps the workspace and the iteration count.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass restart fix-login
  windlass restart fix-login --max-iterations +5")]
pub struct RestartArgs {
    #[command(flatten)]
    pub name: LoopName,
    #[command(flatten)]
    pub raise: RaiseArgs,
    /// Run in the background. Follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

/// Continue a completed loop on the same branch, after merging the target into it
///
/// The agent gets the goal, or a new one, and any merge conflicts. This new stretch of the loop may use as many
/// iterations and as much time as the loop used before. Gates and reviewers check the result again.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass continue fix-login
  windlass continue fix-login \"also cover the logout\" --max-iterations +5
  windlass continue fix-login --into develop --detach")]
pub struct ContinueArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// New goal, in quotes [default: keep the current goal]
    #[arg(value_parser = not_blank)]
    goal: Option<String>,
    /// Merge BRANCH into the loop's branch first [default: the branch that the loop started from]
    #[arg(long, value_name = "BRANCH", value_parser = not_blank)]
    pub into: Option<String>,
    #[command(flatten)]
    pub raise: RaiseArgs,
    /// Run in the background. Follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

impl ContinueArgs {
    /// Loop and goal. One value with a space in it is a goal for the latest loop, because no name has a space.
    pub fn name_and_goal(&self) -> (Option<&str>, Option<&str>) {
        match (self.name.get(), self.goal.as_deref()) {
            (Some(goal), None) if goal.contains(char::is_whitespace) => (None, Some(goal)),
            both => both,
        }
    }
}

/// Send a message to the agent
#[derive(Debug, Clone, Args)]
#[command(override_usage = "windlass steer [OPTIONS] [NAME] <MESSAGE>")]
#[command(after_help = "\
Examples:
  windlass steer \"use the new parser\"         the latest loop
  windlass steer fix-login \"leave the database schema as it is\"
  windlass steer fix-login --now \"stop: that is the wrong file\"")]
pub struct SteerArgs {
    /// Loop name, or the start of one if only one loop matches [default: the latest loop of this project]
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::loops))]
    first: String,
    /// Message for the agent's next turn, in quotes
    #[arg(value_name = "MESSAGE", value_parser = not_blank)]
    second: Option<String>,
    /// Interrupt the current turn instead of waiting for it to end, and continue its session with the message
    #[arg(long)]
    pub now: bool,
}

impl SteerArgs {
    /// Loop and message. One value alone is a message for the latest loop.
    pub fn name_and_message(&self) -> (Option<&str>, &str) {
        match &self.second {
            Some(message) => (Some(&self.first), message),
            None => (None, &self.first),
        }
    }
}
