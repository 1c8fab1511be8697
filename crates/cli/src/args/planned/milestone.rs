//! Commands about milestones.

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use windlass_core::sandbox::NetworkAccess;
use windlass_engine::config::{
    Commands, Files, Gates, Globs, Hosts, Iterations, Millis, Names, Options, Sandbox, Tokens, Usd, Wishes,
};

use super::super::values::{command, file, gate, glob, host, not_blank, setting, variable, word};
use crate::complete;
use crate::run::Watching;

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
    /// Agent for the developer, by profile name [default: the first installed one]
    #[arg(long, value_name = "A", value_parser = not_blank, add = ArgValueCandidates::new(complete::agents))]
    agent: Option<String>,
    /// Run any program as the developer. The prompt replaces {prompt} or {prompt_file}, or else goes to standard input
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "agent")]
    pub agent_command: Option<String>,
    /// Model of the developer [default: the agent's default]
    #[arg(long, value_name = "M", value_parser = not_blank)]
    model: Option<String>,
    /// Agent for the acceptor [default: the same agent, in a separate session]
    #[arg(long, value_name = "A[:M]", value_parser = not_blank, add = ArgValueCandidates::new(complete::agents))]
    reviewer: Option<String>,
    /// Run any program as the acceptor, like --agent-command
    #[arg(long, value_name = "WORDS", value_parser = not_blank, conflicts_with = "reviewer")]
    pub reviewer_command: Option<String>,
    /// Command that checks the work; exit code 0 passes. Repeatable
    #[arg(long = "gate", value_name = "CMD", value_parser = gate)]
    gates: Vec<String>,
    /// Command that checks a completion claim after all gates pass. Agents see only that a hidden gate failed. Repeatable
    #[arg(long = "hidden-gate", value_name = "CMD", value_parser = gate)]
    hidden_gates: Vec<String>,
    /// Recipe to use; it must have an acceptor [default: milestone; see 'windlass recipe list']
    #[arg(long, value_name = "NAME", value_parser = not_blank)]
    recipe: Option<String>,
    /// Limit the number of developer turns [default: set by the recipe]
    #[arg(long, value_name = "N", value_parser = setting::<Iterations>)]
    max_iterations: Option<Iterations>,
    /// Limit the loop's duration, such as 90m, even in the middle of a turn
    #[arg(long, value_name = "D", value_parser = setting::<Millis>)]
    duration: Option<Millis>,
    /// Limit the cost in US dollars, if the agent reports its cost
    #[arg(long, value_name = "X", value_parser = setting::<Usd>)]
    budget_usd: Option<Usd>,
    /// Limit the number of tokens, if the agent reports its usage
    #[arg(long, value_name = "N", value_parser = setting::<Tokens>)]
    max_tokens: Option<Tokens>,
    /// Protect paths from the agents, such as 'tests/**'. Repeatable
    #[arg(long, value_name = "GLOB", value_parser = glob)]
    protect: Vec<String>,
    /// Sandbox level for agents and gates [default: auto]
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = word::<Sandbox>(&["auto", "off", "workspace", "read-only", "docker"])
    )]
    sandbox: Option<Sandbox>,
    /// Network access: allow all, deny all, or only a list of hosts. deny and list require a sandbox [default: allow]
    #[arg(long, value_parser = word::<NetworkAccess>(&["allow", "deny", "list"]))]
    network: Option<NetworkAccess>,
    /// Host to allow with --network list. Repeatable
    #[arg(long = "network-host", value_name = "HOST", value_parser = host)]
    network_hosts: Vec<String>,
    /// Environment variable to pass to agents and gates. Repeatable
    #[arg(long, value_name = "NAME", value_parser = variable)]
    env_pass: Vec<String>,
    /// Command that installs the project's dependencies, run once on the base commit. Repeatable
    #[arg(long, value_name = "CMD", value_parser = command)]
    setup: Vec<String>,
    /// Copy an untracked file or directory, such as .env, from this checkout to the workspace. Repeatable
    #[arg(long, value_name = "PATH", value_parser = file)]
    copy: Vec<String>,
    /// Agent to fall back to if the agent or model fails permanently, as agent or agent:model. Repeatable
    #[arg(long = "fallback", value_name = "A[:M]", value_parser = not_blank)]
    fallbacks: Vec<String>,
    /// Timeout for each turn [default: 60m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>)]
    turn_timeout: Option<Millis>,
    /// Timeout for each gate [default: 10m]
    #[arg(long, value_name = "D", value_parser = setting::<Millis>)]
    gate_timeout: Option<Millis>,
    /// Require your approval before the milestone completes
    #[arg(long)]
    human_review: bool,
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
        Options {
            recipe: self.recipe.clone(),
            agent: self.agent.clone(),
            model: self.model.clone(),
            reviewer: self.reviewer.clone(),
            gates: some(&self.gates).and_then(|gates| Gates::new(gates).ok()),
            hidden_gates: some(&self.hidden_gates).and_then(|commands| Commands::new(commands).ok()),
            max_iterations: self.max_iterations,
            duration: self.duration,
            budget_usd: self.budget_usd,
            max_tokens: self.max_tokens,
            protect: some(&self.protect).and_then(|globs| Globs::new(globs).ok()),
            sandbox: self.sandbox,
            network: self.network,
            network_hosts: some(&self.network_hosts).and_then(|hosts| Hosts::new(hosts).ok()),
            env_pass: some(&self.env_pass).and_then(|names| Names::new(names).ok()),
            setup: some(&self.setup).and_then(|commands| Commands::new(commands).ok()),
            copy: some(&self.copy).and_then(|files| Files::new(files).ok()),
            fallbacks: some(&self.fallbacks).and_then(|wishes| Wishes::new(wishes).ok()),
            turn_timeout: self.turn_timeout,
            gate_timeout: self.gate_timeout,
            human_review: self.human_review.then_some(true),
            ..Options::default()
        }
    }
}

/// A list that was given; none leaves the setting as it is.
pub(super) fn some(given: &[String]) -> Option<Vec<String>> {
    (!given.is_empty()).then(|| given.to_vec())
}
