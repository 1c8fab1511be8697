//! `windlass queue`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use windlass_engine::config::{Commands, Gates, Iterations, Millis, Options, Tokens, Usd};

use super::super::values::{gate, loop_name, not_blank, setting};
use super::milestone::some;
use crate::complete;

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
    /// Trust commands defined in this repository, like 'windlass trust --yes', for CI
    #[arg(long)]
    pub trust: bool,

    /// Agent to run, by profile name. Goals are counted by it [default: the first installed one]
    #[arg(long, value_parser = not_blank, help_heading = "Agent", add = ArgValueCandidates::new(complete::agents))]
    agent: Option<String>,
    /// Run any program as the agent, as in 'windlass run'
    #[arg(long, value_name = "WORDS", conflicts_with = "agent", help_heading = "Agent")]
    pub agent_command: Option<String>,
    /// Model to use [default: the agent's default]
    #[arg(long, value_parser = not_blank, help_heading = "Agent")]
    model: Option<String>,
    /// Agent that reviews the work in the audited recipe [default: the same agent, in a separate session]
    #[arg(long, value_name = "A[:M]", value_parser = not_blank, help_heading = "Agent", add = ArgValueCandidates::new(complete::agents))]
    reviewer: Option<String>,

    /// Recipe: a named set of defaults [default: promise]
    #[arg(long, value_parser = not_blank, help_heading = "When it is done", add = ArgValueCandidates::new(complete::recipes))]
    recipe: Option<String>,
    /// Command that checks the work; exit code 0 passes. Repeatable
    #[arg(long = "gate", value_name = "CMD", value_parser = gate, help_heading = "When it is done")]
    gates: Vec<String>,
    /// Command that checks a completion claim after all gates pass. The agent sees only that a hidden gate failed. Repeatable
    #[arg(long = "hidden-gate", value_name = "CMD", value_parser = gate, help_heading = "When it is done")]
    hidden_gates: Vec<String>,

    /// Limit the number of iterations of each goal, 1–100 [default: set by the recipe]
    #[arg(long, value_name = "N", value_parser = setting::<Iterations>, allow_negative_numbers = true, help_heading = "Limits")]
    max_iterations: Option<Iterations>,
    /// Limit the duration of each goal, such as 90m
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, allow_negative_numbers = true, help_heading = "Limits")]
    duration: Option<Millis>,
    /// Limit the cost of each goal in US dollars, if the agent reports its cost
    #[arg(long, value_name = "X", value_parser = setting::<Usd>, allow_negative_numbers = true, help_heading = "Limits")]
    budget_usd: Option<Usd>,
    /// Limit the number of tokens of each goal, if the agent reports its usage
    #[arg(long, value_name = "N", value_parser = setting::<Tokens>, allow_negative_numbers = true, help_heading = "Limits")]
    max_tokens: Option<Tokens>,
    /// Revision to start the branches from [default: HEAD when the goal starts]
    #[arg(long, value_name = "REV", value_parser = not_blank, help_heading = "Workspace")]
    pub base: Option<String>,
}

impl QueueAddArgs {
    pub fn has_gates(&self) -> bool {
        !self.gates.is_empty() || !self.hidden_gates.is_empty()
    }

    /// The flags as the highest layer of the settings.
    pub fn options(&self) -> Options {
        Options {
            agent: self.agent.clone(),
            recipe: self.recipe.clone(),
            model: self.model.clone(),
            reviewer: self.reviewer.clone(),
            gates: some(&self.gates).and_then(|gates| Gates::new(gates).ok()),
            hidden_gates: some(&self.hidden_gates).and_then(|commands| Commands::new(commands).ok()),
            max_iterations: self.max_iterations,
            duration: self.duration,
            budget_usd: self.budget_usd,
            max_tokens: self.max_tokens,
            ..Options::default()
        }
    }
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
