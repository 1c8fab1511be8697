//! `windlass trust`.

use clap::Args;

/// Trust commands defined in this repository
///
/// Covers commands in the project's .windlass/ settings, and files that make an agent run code before its first prompt
/// (MCP servers, hooks, plugins). Windlass runs none of them until you trust them. Trust applies to the exact contents of
/// these files; if one changes, Windlass asks again. Flags, environment variables, and your own settings need no trust.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass trust               list the commands and ask
  windlass trust --show        only list them
  windlass trust --yes         trust them without asking
  windlass trust --revoke      revoke trust

Exit codes: 0 trusted, or nothing to trust; 6 not trusted yet.")]
pub struct TrustArgs {
    /// List the commands, but do not trust them
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    pub show: bool,
    /// Revoke trust in this repository
    #[arg(long, conflicts_with = "yes")]
    pub revoke: bool,
    /// Trust without asking
    #[arg(long)]
    pub yes: bool,
    /// Also check this revision, for loops that start from it [default: HEAD]
    #[arg(long, value_name = "REV", default_value = "HEAD", hide_default_value = true)]
    pub base: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
