//! Commands for people in a reviewed loop.

use clap::Args;

use super::loops::LoopName;
use super::values::not_blank;
use crate::run::Watching;

/// Agree to what a loop asks a person
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass approve search-page              the work is accepted: the loop is completed
  windlass approve search-page --detach     after too many rejections: overrule the reviewer and go on
  windlass approve search-page --reason \"the index can wait\"

'approve' completes a loop; it does not merge. 'windlass merge' does.")]
pub struct ApproveArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Why, for the journal
    #[arg(long, value_name = "TEXT", value_parser = not_blank)]
    pub reason: Option<String>,
    /// Where there is more work: start it and return
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

/// Send a loop that asks a person back to work
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass reject search-page --reason \"the empty state is missing\"
  windlass reject search-page --reason \"leave the index alone, use a view\" --detach

The reason goes to the coder word for word, and the rejections in a row count from 0 again.")]
pub struct RejectArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// What is wrong, or the new direction
    #[arg(long, value_name = "TEXT", value_parser = not_blank)]
    pub reason: String,
    /// Start the work and return
    #[arg(long)]
    detach: bool,
    /// Print the feed as one JSON object a line
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
    /// The resolved ones too
    #[arg(long)]
    pub all: bool,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}
