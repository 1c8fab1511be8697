//! Commands about this machine and its settings, and those that Windlass starts itself.

use clap::{Args, Subcommand};
use clap_complete::Shell;

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

/// A report that people or scripts read.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Show the settings, where they come from, and what they can be
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass config show
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
    /// The files and directories that are used here
    #[command(after_help = "\
Examples:
  windlass config path
  windlass config path --json")]
    Path(ReportArgs),
    /// The JSON Schema of a settings file
    #[command(after_help = "\
Examples:
  windlass config schema > windlass.schema.json")]
    Schema,
}

/// Print completions for a shell
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

#[derive(Debug, Clone, Args)]
pub struct DriveArgs {
    /// The loop's id
    pub id: String,
}
