//! Commands about milestones.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use windlass_engine::config::Options;

use super::super::settings::{Chosen, SettingFlags};
use super::super::values::not_blank;
use crate::args::Watching;
use crate::complete;

/// Manage milestones: units of work that one agent develops and another accepts
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass milestone add search --title Search --goal \"Find notes\" \\
      --feature \"a search box\" --criterion \"cargo test passes\"
  windlass milestone start search --agent claude --reviewer codex --gate \"cargo test\"
  windlass milestone list

A milestone is a file, .windlass/milestones/ID.md, which you can also write by hand. Its branch is milestone/ID.")]
pub struct MilestoneArgs {
    #[command(subcommand)]
    pub command: MilestoneCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum MilestoneCommand {
    Add(AddArgs),
    /// List this project's milestones and their status
    #[command(after_help = "\
Examples:
  windlass milestone list
  windlass milestone list --json")]
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show a milestone, and whether its file changed since it was started
    #[command(after_help = "\
Examples:
  windlass milestone show search
  windlass milestone show search --json")]
    Show {
        /// Milestone to show
        #[arg(add = ArgValueCandidates::new(complete::milestones))]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Start(Box<StartArgs>),
}

/// Create a milestone file
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass milestone add search --title Search --goal \"Find notes\" \\
      --feature \"a search box\" --criterion \"cargo test passes\"
  windlass milestone add search --title Search --goal \"Find notes\" \\
      --feature \"F1: a search box (acceptance: it has the focus)\" --criterion \"cargo test passes\"")]
pub struct AddArgs {
    /// Name of the milestone's file: a-z 0-9 - _
    pub id: String,
    /// Title of the milestone
    #[arg(long, value_parser = not_blank)]
    pub title: String,
    /// What the milestone should achieve
    #[arg(long, value_parser = not_blank)]
    pub goal: String,
    /// Feature to build, such as "F1: a search box (acceptance: it has the focus)". Repeatable
    #[arg(long = "feature", value_name = "TEXT", required = true, value_parser = not_blank)]
    pub features: Vec<String>,
    /// Acceptance criterion for the whole milestone. Repeatable
    #[arg(long = "criterion", value_name = "TEXT", required = true, value_parser = not_blank)]
    pub criteria: Vec<String>,
    /// What both agents must respect, such as "no new dependencies"
    #[arg(long, value_name = "TEXT")]
    pub constraints: Option<String>,
    /// Require your approval before the milestone completes
    #[arg(long)]
    pub human_review: bool,
    /// Position in the queue; lower numbers run first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub order: Option<i64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Start a milestone; developer and acceptor take turns until the acceptor accepts it
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass milestone start search --agent claude --reviewer codex --gate \"cargo test\"
  windlass milestone start search --agent-command ./dev.sh --reviewer-command ./accept.sh --detach

Exits with 6 if your review is needed. Answer with 'windlass approve' or 'windlass reject --reason'.")]
pub struct StartArgs {
    /// Milestone to start
    #[arg(add = ArgValueCandidates::new(complete::milestones))]
    pub id: String,
    #[command(flatten)]
    settings: SettingFlags<OfMilestone>,
    /// Run any program as the developer. The prompt replaces {prompt} or {prompt_file}, or else goes to standard input
    #[arg(long, value_name = "WORDS", value_parser = not_blank, help_heading = "Agent", conflicts_with = "agent")]
    pub agent_command: Option<String>,
    /// Run any program as the acceptor, like --agent-command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, help_heading = "Agent", conflicts_with = "reviewer")]
    pub reviewer_command: Option<String>,
    /// Trust commands defined in this repository, like 'windlass trust --yes'
    #[arg(long)]
    pub trust: bool,
    /// Run in the background
    #[arg(long)]
    detach: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl StartArgs {
    pub fn watching(&self) -> Watching {
        Watching { json: self.json, detach: self.detach }
    }

    /// The flags as the highest layer of the settings.
    pub fn options(&self) -> Options {
        self.settings.options()
    }
}

/// The settings that a milestone has flags for.
#[derive(Debug, Clone)]
enum OfMilestone {}

impl Chosen for OfMilestone {
    const FLAGS: Option<&'static [(&'static str, &'static str)]> = Some(&[
        ("agent", "Agent for the developer, by profile name [default: the first installed one]"),
        ("model", "Model of the developer [default: the agent's default]"),
        ("fallbacks", ""),
        ("reviewer", "Agent for the acceptor [default: the same agent, in a separate session]"),
        ("recipe", "Recipe to use; it must have an acceptor [default: milestone; see 'windlass recipe list']"),
        ("human_review", "Require your approval before the milestone completes"),
        ("max_iterations", "Limit the number of developer turns [default: set by the recipe]"),
        ("duration", ""),
        ("budget_usd", ""),
        ("max_tokens", ""),
        ("gates", ""),
        ("hidden_gates", ""),
        ("gate_timeout", ""),
        ("protect", ""),
        ("turn_timeout", ""),
        ("setup", ""),
        ("copy", ""),
        ("env_pass", ""),
        ("sandbox", ""),
        ("network", ""),
        ("network_hosts", ""),
    ]);
}
