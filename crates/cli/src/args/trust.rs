//! `windlass trust`.

use clap::Args;

/// Consent once to what this repository's own files would run
///
/// Commands in the project's .windlass/ settings, and files that make an agent run code before its first prompt (MCP
/// servers, hooks, plugins), run only after somebody has looked at them. Consent is given to the content of exactly
/// these files: when one changes it is asked for again. What you say by flags, environment or your own settings needs
/// none.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass trust               list what would run, and ask
  windlass trust --show        only list it
  windlass trust --yes         agree without being asked
  windlass trust --revoke      take it back

Exit codes: 0 agreed, or nothing to agree to; 6 not agreed yet.")]
pub struct TrustArgs {
    /// Only list what would run; agree to nothing
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    pub show: bool,
    /// Take back what was agreed to for this repository
    #[arg(long, conflicts_with = "yes")]
    pub revoke: bool,
    /// Agree without being asked
    #[arg(long)]
    pub yes: bool,
    /// Also look at this revision, for loops that start from it [default: HEAD]
    #[arg(long, value_name = "REV", default_value = "HEAD", hide_default_value = true)]
    pub base: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
