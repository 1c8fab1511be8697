//! Commands about milestones.

use clap::{Args, Subcommand};
use windlass_config::{Commands, Gates, Iterations, Options};

use super::values::{gate, not_blank, setting};
use crate::run::Watching;

/// Make, list, show and start milestones: units of work that a developer builds and an acceptor accepts
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass milestone add search --title Search --goal \"Find notes\" --feature \"a box\" --criterion \"it works\"
  windlass milestone start search --agent claude --reviewer codex --gate \"cargo test\"
  windlass milestone list

A milestone is a file, .windlass/milestones/ID.md, that you may write by hand. Its work is on the branch milestone/ID.")]
pub struct MilestoneArgs {
    #[command(subcommand)]
    pub command: MilestoneCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum MilestoneCommand {
    Add(AddArgs),
    /// List the milestones of this project and how they stand
    #[command(after_help = "\
Examples:
  windlass milestone list
  windlass milestone list --json")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one milestone, and whether its file was edited since it was started
    #[command(after_help = "\
Examples:
  windlass milestone show search
  windlass milestone show search --json")]
    Show {
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Start(Box<StartArgs>),
}

/// Write the file of a new milestone
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass milestone add search --title Search --goal \"Find notes\" --feature \"a box\" --criterion \"it works\"
  windlass milestone add s --title S --goal G --feature \"F1: a box (acceptance: it has the focus)\" --criterion C")]
pub struct AddArgs {
    pub id: String,
    #[arg(long, value_parser = not_blank)]
    pub title: String,
    /// What is to be reached
    #[arg(long, value_parser = not_blank)]
    pub goal: String,
    /// A feature, such as "F1: a search box (acceptance: it has the focus)". Can be given many times
    #[arg(long = "feature", value_name = "TEXT", required = true, value_parser = not_blank)]
    pub features: Vec<String>,
    /// What has to hold of the whole. Can be given many times
    #[arg(long = "criterion", value_name = "TEXT", required = true, value_parser = not_blank)]
    pub criteria: Vec<String>,
    #[arg(long, value_name = "TEXT")]
    pub constraints: Option<String>,
    /// You have to agree before it counts as completed
    #[arg(long)]
    pub human_review: bool,
    /// Lower ones are built first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub order: Option<i64>,
}

/// Start a milestone: developer and acceptor take turns until the acceptor accepts the whole
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass milestone start search --agent claude --reviewer codex --gate \"cargo test\"
  windlass milestone start search --agent-command ./dev.sh --reviewer-command ./accept.sh --detach

Exit code 6: a person is asked. 'windlass approve' or 'windlass reject --reason' answers.")]
pub struct StartArgs {
    pub id: String,
    /// The developer's agent
    #[arg(long, value_name = "A", value_parser = not_blank)]
    agent: Option<String>,
    /// The same as a command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "agent")]
    pub agent_command: Option<String>,
    #[arg(long, value_name = "M", value_parser = not_blank)]
    model: Option<String>,
    /// The acceptor's agent
    #[arg(long, value_name = "A[:M]", value_parser = not_blank)]
    reviewer: Option<String>,
    /// The same as a command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "reviewer")]
    pub reviewer_command: Option<String>,
    /// A command that judges the work. Can be given many times
    #[arg(long = "gate", value_name = "CMD", value_parser = gate)]
    gates: Vec<String>,
    /// A command that judges a claim after every gate passed; the agents learn only that a hidden gate failed. Repeatable
    #[arg(long = "hidden-gate", value_name = "CMD", value_parser = gate)]
    hidden_gates: Vec<String>,
    /// The recipe, one with an acceptor [default: the one for milestones; see 'windlass recipe list']
    #[arg(long, value_name = "NAME", value_parser = not_blank)]
    recipe: Option<String>,
    /// How often the developer runs at most [default: by recipe]
    #[arg(long, value_name = "N", value_parser = setting::<Iterations>)]
    max_iterations: Option<Iterations>,
    /// You have to agree before it counts as completed
    #[arg(long)]
    human_review: bool,
    /// Agree to what this repository's own files run, as 'windlass trust --yes' does
    #[arg(long)]
    pub trust: bool,
    /// Start and return
    #[arg(long)]
    detach: bool,
    /// Print the feed as one JSON object a line
    #[arg(long)]
    json: bool,
}

impl StartArgs {
    pub fn watching(&self) -> Watching {
        Watching { json: self.json, detach: self.detach }
    }

    /// The flags as the highest layer of the settings.
    pub fn options(&self) -> Options {
        Options {
            recipe: self.recipe.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            reviewer: self.reviewer.clone(),
            gates: (!self.gates.is_empty()).then(|| self.gates.clone()).and_then(|gates| Gates::new(gates).ok()),
            hidden_gates: (!self.hidden_gates.is_empty())
                .then(|| self.hidden_gates.clone())
                .and_then(|commands| Commands::new(commands).ok()),
            max_iterations: self.max_iterations,
            human_review: self.human_review.then_some(true),
            ..Options::default()
        }
    }
}
