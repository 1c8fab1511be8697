//! Commands about this machine and its settings, and those that Windlass starts itself.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use clap_complete::engine::ArgValueCandidates;
use windlass_core::sandbox::NetworkAccess;
use windlass_engine::config::{Millis, Sandbox};

use super::values::{not_blank, setting, word};
use crate::complete;

/// Run a complete loop in a throwaway repository; installs nothing and costs nothing
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass demo")]
pub struct DemoArgs {
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

/// Look at the project and write .windlass/config.toml
///
/// Finds gates, set-up commands, CI files, and an installed agent, and shows the file. In a terminal, asks before writing.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass init
  windlass init --yes
  windlass init --json           show what was found; write nothing")]
pub struct InitArgs {
    /// Write the file without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Replace an existing file
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A report that people or scripts read.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A report on agents, optionally with a test call to each.
#[derive(Debug, Clone, Args)]
pub struct AgentsArgs {
    /// Make one small call to each installed agent to check that it is logged in. Providers may charge for it
    #[arg(long)]
    pub call: bool,
    /// Timeout for each call
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, default_value = "2m", requires = "call")]
    pub call_timeout: Millis,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl AgentsArgs {
    /// Timeout for each call, if calls are requested.
    pub fn calls(&self) -> Option<Duration> {
        self.call.then(|| Duration::from_millis(self.call_timeout.get()))
    }
}

/// Show which agents are installed, and their versions
#[derive(Debug, Clone, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  windlass agents
  windlass agents --call         also check that each agent is logged in
  windlass agents --json
  windlass agents add crush      add a profile for Crush to your settings"
)]
pub struct AgentsCommandArgs {
    #[command(subcommand)]
    pub command: Option<AgentsCommand>,
    #[command(flatten)]
    pub report: AgentsArgs,
}

#[derive(Debug, Clone, Subcommand)]
pub enum AgentsCommand {
    Add(AddAgentArgs),
}

/// Add the profile of an agent to your settings
///
/// Windlass has templates for agents that it was not tested with. Any other program requires --command. In a terminal, asks
/// before writing.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass agents add crush
  windlass agents add crush --yes
  windlass agents add mine --command \"my-agent --print\"")]
pub struct AddAgentArgs {
    /// Name of the agent
    #[arg(value_parser = not_blank)]
    pub name: String,
    /// Program and arguments. The prompt replaces {prompt} or {prompt_file}, or else goes to standard input
    #[arg(long, value_name = "COMMAND", value_parser = not_blank)]
    pub command: Option<String>,
    /// Write the profile without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Print JSON; writes nothing without --yes
    #[arg(long)]
    pub json: bool,
}

/// What the doctor checks.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub agents: AgentsArgs,
    /// Instead, try to break out of a sandbox of this level; exits with 1 if the sandbox leaks
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = word::<Sandbox>(&["auto", "workspace", "read-only", "docker"]),
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto"
    )]
    pub sandbox: Option<Sandbox>,
    /// Instead, give AGENT a small impossible task in a throwaway repository, and report whether it says so, claims to be
    /// done, or edits protected files. Exits with 1 unless it says so. Providers may charge for it
    #[arg(long, value_name = "AGENT", value_parser = not_blank, conflicts_with_all = ["sandbox", "call"])]
    pub honesty: Option<String>,
    /// Network access in the sandbox under test
    #[arg(long, value_parser = word::<NetworkAccess>(&["allow", "deny"]), requires = "sandbox")]
    pub network: Option<NetworkAccess>,
    /// Image for --sandbox=docker
    #[arg(long, value_name = "IMAGE", value_parser = not_blank, requires = "sandbox")]
    pub docker_image: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct AttemptsArgs {
    /// What there is to try
    pub bait: String,
}

/// Show and change the settings
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config show
  windlass config set max_iterations 10
  windlass config set gates \"cargo test\" \"cargo clippy\" --project
  windlass config edit
  windlass config schema > windlass.schema.json")]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Show every setting with its value and source
    #[command(after_help = "\
Examples:
  windlass config show
  WINDLASS_MAX_ITERATIONS=3 windlass config show --json")]
    Show(ReportArgs),
    Get(GetArgs),
    Set(SetArgs),
    Unset(UnsetArgs),
    Edit(EditArgs),
    /// Show the files and directories in use
    #[command(after_help = "\
Examples:
  windlass config path
  windlass config path --json")]
    Path(ReportArgs),
    /// Print the JSON Schema of settings or agent profiles, or TypeScript types
    #[command(after_help = "\
Examples:
  windlass config schema > windlass.schema.json
  windlass config schema typescript > windlass.d.ts")]
    Schema(SchemaArgs),
}

/// Print the value of one setting; a list has one item per line. Exits with 1 if it has no value
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config get agent
  windlass config get gates --json")]
pub struct GetArgs {
    /// Setting, such as max_iterations or agents.claude.model
    #[arg(add = ArgValueCandidates::new(complete::settings))]
    pub key: String,
    /// Print JSON, with the value's source
    #[arg(long)]
    pub json: bool,
}

/// Change one of your settings, or of the project's. Keeps comments
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config set agent codex
  windlass config set gates \"cargo test\" \"cargo clippy\" --project
  windlass config set agents.claude.model opus")]
pub struct SetArgs {
    /// Setting, such as max_iterations or agents.claude.model
    #[arg(add = ArgValueCandidates::new(complete::settings))]
    pub key: String,
    /// Value, or several values for a list
    #[arg(required = true, value_name = "VALUE", allow_negative_numbers = true)]
    pub values: Vec<String>,
    /// Change .windlass/config.toml of this project instead
    #[arg(long)]
    pub project: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove one of your settings, or of the project's. Keeps comments
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config unset agent
  windlass config unset gates --project")]
pub struct UnsetArgs {
    /// Setting, such as max_iterations or agents.claude.model
    #[arg(add = ArgValueCandidates::new(complete::settings))]
    pub key: String,
    /// Change .windlass/config.toml of this project instead
    #[arg(long)]
    pub project: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Edit your settings, or the project's, in $VISUAL or $EDITOR, and check them afterwards
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config edit
  windlass config edit --project")]
pub struct EditArgs {
    /// Edit .windlass/config.toml of this project instead
    #[arg(long)]
    pub project: bool,
}

#[derive(Debug, Clone, Args)]
pub struct SchemaArgs {
    /// What to describe
    #[arg(value_enum, default_value = "settings")]
    pub of: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A settings file
    Settings,
    /// One table of [agents]
    Profile,
    /// The loop fields of a profile
    Loop,
    /// TypeScript types for all of them
    Typescript,
}

/// List, show, and check recipes (named sets of defaults for loops)
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass recipe list
  windlass recipe show audited
  windlass recipe check

A recipe is a file NAME.toml in the project's .windlass/recipes, or in recipes next to your config.toml.")]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct RecipeArgs {
    #[command(subcommand)]
    pub command: RecipeCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum RecipeCommand {
    /// List all recipes with their origin and a description
    #[command(after_help = "\
Examples:
  windlass recipe list
  windlass recipe list --json")]
    List(ReportArgs),
    /// Show a recipe's settings, including inherited ones
    #[command(after_help = "\
Examples:
  windlass recipe show audited
  windlass recipe show audited --prompt auditor     print one prompt text to copy and edit")]
    Show(RecipeShowArgs),
    /// Check your recipes and the project's, or only the named ones. Exits with 2 if one is invalid
    #[command(after_help = "\
Examples:
  windlass recipe check
  windlass recipe check mine --json")]
    Check(RecipeCheckArgs),
}

#[derive(Debug, Clone, Args)]
pub struct RecipeShowArgs {
    /// Name of the recipe
    pub name: String,
    /// Print only this prompt text
    #[arg(long, value_name = "TEXT", value_parser = not_blank, conflicts_with = "json")]
    pub prompt: Option<String>,
    /// Print JSON, including all prompt texts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RecipeCheckArgs {
    /// Check only these recipes
    pub names: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// Generate shell completions, which also know loops, agents, recipes, and milestones
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish")]
pub struct CompletionsArgs {
    /// Shell to generate completions for
    pub shell: Shell,
}

/// Write the man pages, one per command
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Directory to write to; created if it does not exist
    #[arg(value_name = "DIR")]
    pub to: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct DriveArgs {
    /// The loop's id
    pub id: String,
}
