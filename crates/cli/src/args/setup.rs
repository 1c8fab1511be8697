//! Commands about this machine and its settings, and those that Windlass starts itself.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use windlass_core::sandbox::NetworkAccess;
use windlass_engine::config::{Millis, Sandbox};

use super::values::{not_blank, setting, word};

/// Watch a complete loop on a throw-away repository; nothing to install, nothing spent
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass demo")]
pub struct DemoArgs {
    /// Print the feed as one JSON object a line
    #[arg(long)]
    pub json: bool,
}

/// Look at the project and write .windlass/config.toml
///
/// Finds gates, set-up commands, CI files and an installed agent, and shows the file. In a terminal it asks before it
/// writes.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass init
  windlass init --yes
  windlass init --json           what was found; writes nothing")]
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

/// A report on agents, which may also be asked.
#[derive(Debug, Clone, Args)]
pub struct AgentsArgs {
    /// Prove that each installed agent is logged in and answers, by one tiny call each, which its provider may charge
    #[arg(long)]
    pub call: bool,
    /// How long one call may take
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, default_value = "2m", requires = "call")]
    pub call_timeout: Millis,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl AgentsArgs {
    /// How long each call may take, if any is asked for.
    pub fn calls(&self) -> Option<Duration> {
        self.call.then(|| Duration::from_millis(self.call_timeout.get()))
    }
}

/// Show which agents are installed, their version, and whether they answer
#[derive(Debug, Clone, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  windlass agents
  windlass agents --call         one tiny call each: is it logged in?
  windlass agents --json
  windlass agents add crush      show a profile for it, and write it to your settings"
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
/// Windlass has templates for agents that it was not tried with. Any other program needs --command. In a terminal it asks
/// before it writes.
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
    /// Program and arguments; {prompt} or {prompt_file} stands for the prompt, which otherwise comes on stdin
    #[arg(long, value_name = "COMMAND", value_parser = not_blank)]
    pub command: Option<String>,
    /// Write the profile without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Print JSON; writes nothing without --yes
    #[arg(long)]
    pub json: bool,
}

/// What the doctor looks at.
#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub agents: AgentsArgs,
    /// Try to break out of a sandbox of this level instead; exit 1 if something that should be denied is not
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = word::<Sandbox>(&["auto", "workspace", "read-only", "docker"]),
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto"
    )]
    pub sandbox: Option<Sandbox>,
    /// Give AGENT a small task that cannot be done instead, in a throw-away repository, and report whether it claims to be done,
    /// edits what is protected, or says that the task is impossible; exit 1 unless it does. Its provider may charge for it
    #[arg(long, value_name = "AGENT", value_parser = not_blank, conflicts_with_all = ["sandbox", "call"])]
    pub honesty: Option<String>,
    /// With --sandbox: whether it reaches the network
    #[arg(long, value_parser = word::<NetworkAccess>(&["allow", "deny"]), requires = "sandbox")]
    pub network: Option<NetworkAccess>,
    /// With --sandbox=docker: the image of the container
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
    /// Every setting with its value and where that came from
    #[command(after_help = "\
Examples:
  windlass config show
  WINDLASS_MAX_ITERATIONS=3 windlass config show --json")]
    Show(ReportArgs),
    Get(GetArgs),
    Set(SetArgs),
    Unset(UnsetArgs),
    Edit(EditArgs),
    /// The files and directories that are used here
    #[command(after_help = "\
Examples:
  windlass config path
  windlass config path --json")]
    Path(ReportArgs),
    /// The JSON Schema of a settings file, of a profile alone, or all of it as TypeScript types
    #[command(after_help = "\
Examples:
  windlass config schema > windlass.schema.json
  windlass config schema typescript > windlass.d.ts")]
    Schema(SchemaArgs),
}

/// Print one setting: its value alone, a list with one item a line. Exits with 1 if it has no value
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config get agent
  windlass config get gates --json")]
pub struct GetArgs {
    /// Setting, such as max_iterations or agents.claude.model
    pub key: String,
    /// Print JSON, with where the value comes from
    #[arg(long)]
    pub json: bool,
}

/// Change one setting in your settings, or in the project's. Comments stay
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config set agent codex
  windlass config set gates \"cargo test\" \"cargo clippy\" --project
  windlass config set agents.claude.model opus")]
pub struct SetArgs {
    /// Setting, such as max_iterations or agents.claude.model
    pub key: String,
    /// Value; several for a list
    #[arg(required = true, value_name = "VALUE", allow_negative_numbers = true)]
    pub values: Vec<String>,
    /// Change .windlass/config.toml of this project instead
    #[arg(long)]
    pub project: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove one setting from your settings, or from the project's. Comments stay
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config unset agent
  windlass config unset gates --project")]
pub struct UnsetArgs {
    /// Setting, such as max_iterations or agents.claude.model
    pub key: String,
    /// Change .windlass/config.toml of this project instead
    #[arg(long)]
    pub project: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Open your settings, or the project's, in $VISUAL or $EDITOR, and check them afterwards
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
    /// What it describes
    #[arg(value_enum, default_value = "settings")]
    pub of: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A settings file
    Settings,
    /// One table of [agents]
    Profile,
    /// The fields of a profile that make the agent loop
    Loop,
    /// All of them, as TypeScript types
    Typescript,
}

/// List, show and check recipes: files of defaults for how a loop goes
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass recipe list
  windlass recipe show audited
  windlass recipe check

A recipe is a file NAME.toml in .windlass/recipes of the project, or in recipes beside your own config.toml.")]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct RecipeArgs {
    #[command(subcommand)]
    pub command: RecipeCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub enum RecipeCommand {
    /// List every recipe, where it comes from and what it does
    #[command(after_help = "\
Examples:
  windlass recipe list
  windlass recipe list --json")]
    List(ReportArgs),
    /// Show what a recipe sets, with all that it extends
    #[command(after_help = "\
Examples:
  windlass recipe show audited
  windlass recipe show audited --prompt auditor     the text, to copy and change")]
    Show(RecipeShowArgs),
    /// Check the recipes of the project and your own, or only those named; exit 2 if one cannot be used
    #[command(after_help = "\
Examples:
  windlass recipe check
  windlass recipe check mine --json")]
    Check(RecipeCheckArgs),
}

#[derive(Debug, Clone, Args)]
pub struct RecipeShowArgs {
    /// The recipe's name
    pub name: String,
    /// Print only this text of its prompts
    #[arg(long, value_name = "TEXT", value_parser = not_blank, conflicts_with = "json")]
    pub prompt: Option<String>,
    /// Print JSON, with every text of its prompts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Args)]
pub struct RecipeCheckArgs {
    /// Only these recipes
    pub names: Vec<String>,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

/// Print completions for a shell, which also know loops, agents, recipes and milestones
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish")]
pub struct CompletionsArgs {
    /// Which shell
    pub shell: Shell,
}

/// Write the man pages, one for each command
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// Directory to write to; made if it is not there
    #[arg(value_name = "DIR")]
    pub to: PathBuf,
}

#[derive(Debug, Clone, Args)]
pub struct DriveArgs {
    /// The loop's id
    pub id: String,
}
