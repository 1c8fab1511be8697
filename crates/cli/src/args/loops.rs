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

In the status column, ✔ marks verified work. A completed loop without it says what it is instead: claimed, unchanged,
in place or rolled back.")]
pub struct ListArgs {
    /// List the loops of every project, grouped by project
    #[arg(long)]
    pub all: bool,
    /// Only loops with one of these statuses or outcomes, separated by commas, such as running, exhausted, verified or
    /// claimed. 'open' means every loop that has not ended
    #[arg(long, value_name = "STATUS", value_parser = statuses)]
    pub status: Option<String>,
    /// Only loops of this agent
    #[arg(long, value_name = "AGENT", value_parser = not_blank, add = ArgValueCandidates::new(complete::agents))]
    pub agent: Option<String>,
    /// Only loops started since then: a duration such as 7d, or a date such as 2026-11-01 (UTC)
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

/// Show one loop in full: phase, iterations, gates, usage, limits, where its work is
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass status                      the latest loop of this project
  windlass status fix-login --json
  windlass status fix-login --exit-code; echo $?

With --exit-code: the code that 'run' would have ended with, 10 while it goes on, 11 if it was interrupted.")]
pub struct StatusArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Exit with a code that says how the loop stands
    #[arg(long)]
    pub exit_code: bool,
}

/// Show what a loop's agents said and did
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass logs fix-login -f
  windlass logs fix-login --iteration 2
  windlass logs fix-login --raw --iteration 2 > turn.txt")]
pub struct LogsArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Follow until the loop ends, and exit as 'run' would
    #[arg(short, long)]
    pub follow: bool,
    /// The agent's output, byte for byte
    #[arg(long, conflicts_with = "json")]
    pub raw: bool,
    /// Only this iteration, from 1 on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
    /// Only this role: coder, auditor, acceptor, summariser, planner or finisher
    #[arg(long, value_name = "ROLE")]
    pub role: Option<Role>,
    /// Print the feed as one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// The name of a loop, and nothing else.
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
    /// Interrupt the current turn
    #[arg(long)]
    pub now: bool,
}

/// Go on with a loop that is interrupted, paused or at a limit
///
/// It keeps its agent session, phase and counters.
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
    /// Start and return; follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print the feed as one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Go on with a loop in any state but completed, with a fresh agent session
///
/// Error counters start at 0; the workspace stays, and iterations keep counting.
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
    /// Start and return; follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print the feed as one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Continue a completed loop: a new stretch on the same branch, with the merge target merged in
///
/// The agent gets the goal, or a new one, and the conflicts of the merge if there are any. The stretch may use as many
/// iterations and as much time as the loop used before. Gates and reviewer judge the result anew.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass continue fix-login
  windlass continue fix-login \"also cover the logout\" --max-iterations +5
  windlass continue fix-login --into develop --detach")]
pub struct ContinueArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// What the new stretch is for, in quotes [default: the goal stays]
    #[arg(value_parser = not_blank)]
    goal: Option<String>,
    /// Merge this branch in [default: the branch that the loop started from]
    #[arg(long, value_name = "BRANCH", value_parser = not_blank)]
    pub into: Option<String>,
    #[command(flatten)]
    pub raise: RaiseArgs,
    /// Start and return; follow it later with 'windlass logs NAME -f'
    #[arg(long)]
    pub detach: bool,
    /// Print the feed as one JSON object a line
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

/// Give a loop a message for its next turn
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
    /// What to tell the agent, in quotes
    #[arg(value_name = "MESSAGE", value_parser = not_blank)]
    second: Option<String>,
    /// Interrupt the current turn, and continue its session with the message
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
