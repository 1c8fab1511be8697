//! Commands about loops that exist.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use windlass_core::ids::Role;
use windlass_engine::config::Options;

use super::goal::GoalSource;
use super::raise::RaiseArgs;
use super::settings::{Chosen, SettingFlags};
use super::values::{loop_name, not_blank, since, statuses};
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

In the status column, ✔ marks verified work. A completed loop without it shows its outcome instead: claimed, unchanged, in place, or \
rolled back.")]
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
    /// Show only loops started within a duration such as 7d, or since a date such as 2026-11-01 (UTC)
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

With --exit-code, exits with the code that 'run' would exit with, with 10 if the loop is running, or with 11 if it was \
interrupted.")]
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
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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
    /// reports that it does not know whether the driver still runs
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
/// The agent gets the goal, or a new one, and any merge conflicts. The limits on iterations and time start
/// over. Gates and reviewers check the result again.
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

/// Start a new loop from a checkpoint of another one
///
/// The fork has the goal, gates, limits, and settings of the loop, unless you change them here, and its own branch. Its work is
/// compared with the base of the loop, so 'verified' covers all of it. The loop itself does not change.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass fork fix-login --at 2 --agent codex
  windlass fork fix-login --model opus --max-iterations 5
  windlass fork fix-login \"fix it without a new dependency\" --at 1 --detach
  windlass compare fix-login fix-login-fork")]
pub struct ForkArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// New goal, in quotes; - reads it from standard input [default: keep the goal]
    #[arg(value_parser = not_blank)]
    goal: Option<String>,
    /// Read the new goal from a file
    #[arg(long, value_name = "FILE", conflicts_with = "goal")]
    prompt_file: Option<PathBuf>,
    /// Start from the checkpoint of iteration N; 0 is where the loop started [default: the last one]
    #[arg(long, value_name = "N")]
    pub at: Option<u32>,
    /// Name of the new loop: a-z 0-9 - _, unique in the project [default: NAME-fork]
    #[arg(long = "name", value_name = "NEW", value_parser = loop_name, id = "new_name")]
    pub new_name: Option<String>,
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
    settings: SettingFlags<OfFork>,
    /// Run any program as the agent, as in 'windlass run'
    #[arg(long, value_name = "WORDS", conflicts_with = "agent", help_heading = "Agent")]
    pub agent_command: Option<String>,
    /// Run any program as the reviewer, like --agent-command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "reviewer", help_heading = "Agent")]
    pub reviewer_command: Option<String>,
}

impl ForkArgs {
    /// Loop and source of the goal. One value with a space in it is a goal for the latest loop, because no name has a space.
    pub fn name_and_goal(&self) -> (Option<&str>, Option<GoalSource>) {
        let (name, goal) = match (self.name.get(), self.goal.as_deref()) {
            (Some(goal), None) if goal.contains(char::is_whitespace) => (None, Some(goal)),
            both => both,
        };
        let source = match (&self.prompt_file, goal) {
            (Some(path), _) => Some(GoalSource::File(path.clone())),
            (None, Some("-")) => Some(GoalSource::Stdin),
            (None, text) => text.map(|text| GoalSource::Text(text.to_owned())),
        };
        (name, source)
    }

    /// The flags as settings.
    pub fn options(&self) -> Options {
        self.settings.options()
    }
}

/// The settings that a fork has flags for.
#[derive(Debug, Clone)]
enum OfFork {}

impl Chosen for OfFork {
    const FLAGS: Option<&'static [(&'static str, &'static str)]> = Some(&[
        ("agent", "Agent to run, as agent or agent:model [default: the loop's]"),
        ("model", "Model to use [default: the loop's, or the default of the new agent]"),
        ("reviewer", "Agent that reviews the work in the audited and milestone recipes [default: the loop's]"),
        ("recipe", "Recipe: a named set of defaults [default: the loop's]"),
        ("max_iterations", "Limit the number of iterations of the fork, 1–100 [default: the loop's limit]"),
        ("duration", "Limit the fork's duration, such as 90m [default: the loop's limit]"),
        ("budget_usd", "Limit the fork's cost in US dollars [default: the loop's limit]"),
        ("max_tokens", "Limit the fork's tokens [default: the loop's limit]"),
        ("gates", "Command that checks the work, instead of the loop's gates. Repeatable"),
        ("hidden_gates", "Command that checks a completion claim, instead of the loop's hidden gates. Repeatable"),
        (
            "session",
            "Resume the agent's session, start a fresh one each turn, or keep one process alive [default: the loop's]",
        ),
    ]);
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
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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

/// Answer a question from the agent
#[derive(Debug, Clone, Args)]
#[command(override_usage = "windlass answer [OPTIONS] [NAME] <ANSWER>")]
#[command(after_help = "\
Examples:
  windlass answer \"use SQLite\"                the latest loop
  windlass answer fix-login \"yes, drop the old table\"
  windlass answer fix-login --question q2 \"no\"")]
pub struct AnswerArgs {
    /// Loop name, or the start of one if only one loop matches [default: the latest loop of this project]
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::loops))]
    first: String,
    /// Answer for the agent's next turn, in quotes
    #[arg(value_name = "ANSWER", value_parser = not_blank)]
    second: Option<String>,
    /// Question to answer, such as q2 [default: the only open one]
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    pub question: Option<String>,
    /// Print the loop as JSON
    #[arg(long)]
    pub json: bool,
}

impl AnswerArgs {
    /// Loop and answer. One value alone is an answer for the latest loop.
    pub fn name_and_answer(&self) -> (Option<&str>, &str) {
        match &self.second {
            Some(answer) => (Some(&self.first), answer),
            None => (None, &self.first),
        }
    }
}

/// Watch and control all loops on the terminal
///
/// Shows what runs and what needs you, in every project. Keys: Enter opens a loop's feed, m sends a message, w answers a
/// question, p pauses, r resumes, s stops, a approves, x rejects, / filters, ? shows help, q quits. Loops keep running.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass top
  windlass top --ended
  windlass --server https://build.example:4747 top")]
pub struct TopArgs {
    /// Show loops that have ended too
    #[arg(long)]
    pub ended: bool,
}
