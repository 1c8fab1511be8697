//! `windlass queue`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use windlass_engine::config::Options;

use super::super::settings::{Chosen, SettingFlags};
use super::super::values::{loop_name, not_blank};

/// Queue goals and work them off within limits, in the order of their dependencies
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass queue add \"fix the login\" --gate \"cargo test\"
  windlass queue add --file goals.md --gate \"cargo test\"
  windlass queue add \"document the login\" --after 1
  windlass queue list
  windlass queue start

'windlass serve' works the queue off as well.")]
pub struct QueueArgs {
    #[command(subcommand)]
    pub command: QueueCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum QueueCommand {
    Add(Box<QueueAddArgs>),
    /// List the goals in their order, with what each one waits for
    #[command(after_help = "\
Examples:
  windlass queue list
  windlass queue list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Move(QueueMoveArgs),
    /// Remove a goal that has not started or has ended. Its loop stays
    #[command(after_help = "\
Examples:
  windlass queue remove 3
  windlass queue remove 3 --json")]
    Remove {
        /// Number or name of the goal
        #[arg(value_name = "ID", value_parser = not_blank)]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Work the queue off until nothing is left or can run. Ctrl-C interrupts it; start it again to resume
    #[command(after_help = "\
Examples:
  windlass queue start
  windlass queue start --merge
  windlass queue start --json

Exit codes: 0 all goals completed, 6 a goal needs you, 7 a goal failed or is blocked.")]
    Start {
        /// Hand verified goals to the merge queue. Goals that depend on them start when they are merged
        #[arg(long)]
        merge: bool,
        /// Print events as JSON, one object per line
        #[arg(long)]
        json: bool,
    },
}

/// Add goals to the queue: all of them, or none if one is wrong
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass queue add \"fix the login\" --gate \"cargo test\" --agent claude
  windlass queue add \"fix the login\" \"add a search box\"
  windlass queue add --file goals.txt
  windlass queue add --file plan.md --in-order
  windlass queue add --issue 42 --issue 43 --budget-usd 5
  windlass queue add \"document the login\" --after 1 --name docs

In a Markdown list, items that are done (- [x]) are skipped.")]
pub struct QueueAddArgs {
    /// What the agent should do, in quotes. Several values are several goals
    #[arg(value_name = "GOAL", value_parser = not_blank, required_unless_present_any = ["file", "issues"])]
    pub goals: Vec<String>,
    /// Read goals from a file: one per line, or the open items of a Markdown list; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "goals")]
    pub file: Option<PathBuf>,
    /// Take a goal from an issue, by number or address, with gh, glab, or tea. Repeatable
    #[arg(long = "issue", value_name = "N|URL", value_parser = not_blank, conflicts_with_all = ["goals", "file"], id = "issues")]
    pub issues: Vec<String>,
    /// Start only when this goal is verified, by number or name. Repeatable
    #[arg(long, value_name = "ID", value_parser = not_blank)]
    pub after: Vec<String>,
    /// Start each goal only when the one before it is verified
    #[arg(long)]
    pub in_order: bool,
    /// Name of the loop: a-z 0-9 - _, unique in the project [default: derived from the goal]
    #[arg(long, value_parser = loop_name)]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Trust commands defined in this repository, like 'windlass trust --yes'
    #[arg(long)]
    pub trust: bool,

    #[command(flatten)]
    settings: SettingFlags<OfGoals>,
    /// Run any program as the agent, as in 'windlass run'
    #[arg(long, value_name = "WORDS", conflicts_with = "agent", help_heading = "Agent")]
    pub agent_command: Option<String>,

    /// Revision to start the branches from [default: HEAD when the goal starts]
    #[arg(long, value_name = "REV", value_parser = not_blank, help_heading = "Workspace")]
    pub base: Option<String>,
}

impl QueueAddArgs {
    pub fn has_gates(&self) -> bool {
        self.settings.has_gates()
    }

    /// The flags as the highest layer of the settings.
    pub fn options(&self) -> Options {
        self.settings.options()
    }
}

/// The settings that goals of the queue have flags for.
#[derive(Debug, Clone)]
enum OfGoals {}

impl Chosen for OfGoals {
    const FLAGS: Option<&'static [(&'static str, &'static str)]> = Some(&[
        ("agent", "Agent to run, by profile name. Goals are counted by it [default: the first installed one]"),
        ("model", ""),
        ("reviewer", ""),
        ("recipe", "Recipe: a named set of defaults [default: promise]"),
        ("gates", ""),
        ("hidden_gates", ""),
        ("max_iterations", "Limit the number of iterations of each goal, 1–100 [default: set by the recipe]"),
        ("duration", "Limit the duration of each goal, such as 90m"),
        ("budget_usd", "Limit the cost of each goal in US dollars, if the agent reports its cost"),
        ("max_tokens", "Limit the number of tokens of each goal, if the agent reports its usage"),
    ]);
}

/// Move a goal that has not started to another place in the order
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass queue move 5 --first
  windlass queue move 5 --before 2
  windlass queue move 5 --last")]
pub struct QueueMoveArgs {
    /// Number or name of the goal
    #[arg(value_name = "ID", value_parser = not_blank)]
    pub id: String,
    /// Move it before this goal
    #[arg(long, value_name = "ID", value_parser = not_blank, required_unless_present_any = ["first", "last"])]
    pub before: Option<String>,
    /// Move it to the start
    #[arg(long, conflicts_with = "before")]
    pub first: bool,
    /// Move it to the end
    #[arg(long, conflicts_with_all = ["before", "first"])]
    pub last: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
