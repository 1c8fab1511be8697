//! Commands for people in a reviewed loop.

use clap::Args;

use super::loops::LoopName;
use super::values::not_blank;
use crate::args::Watching;

/// Approve a loop that is waiting for review
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass approve search-page              accept the work and complete the loop
  windlass approve search-page --detach     overrule the reviewer and resume
  windlass approve search-page --reason \"the index can wait\"

Approving completes the loop. It does not merge; use 'windlass merge' for that.")]
pub struct ApproveArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Record a reason in the journal
    #[arg(long, value_name = "TEXT", value_parser = not_blank)]
    pub reason: Option<String>,
    /// If the loop has more work to do, run it in the background
    #[arg(long)]
    detach: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ApproveArgs {
    pub fn watching(&self) -> Watching {
        Watching { json: self.json, detach: self.detach }
    }
}

/// Reject the work and send the loop back to the agent
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass reject search-page --reason \"the empty state is missing\"
  windlass reject search-page --reason \"leave the index alone, use a view\" --detach

Sends the reason to the coder verbatim and resets the count of consecutive rejections.")]
pub struct RejectArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// What is wrong, or what to do instead
    #[arg(long, value_name = "TEXT", value_parser = not_blank)]
    pub reason: String,
    /// Run in the background
    #[arg(long)]
    detach: bool,
    /// Print events as JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl RejectArgs {
    pub fn watching(&self) -> Watching {
        Watching { json: self.json, detach: self.detach }
    }
}

/// Show the reviewers' findings
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass findings search-page
  windlass findings search-page --all --json")]
pub struct FindingsArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Include resolved findings
    #[arg(long)]
    pub all: bool,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}
