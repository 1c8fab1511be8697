//! Commands about loops that exist.

use clap::Args;
use windlass_core::ids::Role;

use super::raise::RaiseArgs;
use super::values::not_blank;

/// List the loops of this project
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass list
  windlass list --all --json")]
pub struct ListArgs {
    /// The loops of every project
    #[arg(long)]
    pub all: bool,
    /// Print a JSON array
    #[arg(long)]
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
    /// The loop's name [default: the latest one]
    pub name: Option<String>,
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
    /// The loop's name
    pub name: String,
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
    /// The loop's name
    pub name: String,
}

/// Pause a loop after its current turn
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass pause fix-login
  windlass pause fix-login --now
  windlass resume fix-login")]
pub struct PauseArgs {
    /// The loop's name
    pub name: String,
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
    /// The loop's name
    pub name: String,
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
    /// The loop's name
    pub name: String,
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
    /// The loop's name
    pub name: String,
    /// What the new stretch is for, in quotes [default: the goal stays]
    #[arg(value_parser = not_blank)]
    pub goal: Option<String>,
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

/// Give a loop a message for its next turn
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass steer fix-login \"leave the database schema as it is\"
  windlass steer fix-login --now \"stop: that is the wrong file\"")]
pub struct SteerArgs {
    /// The loop's name
    pub name: String,
    /// What the agent is told, in quotes
    #[arg(value_parser = not_blank)]
    pub message: String,
    /// Interrupt the turn that is at work, and go on in its session with the message
    #[arg(long)]
    pub now: bool,
}
