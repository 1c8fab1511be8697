//! Commands about the work of loops that exist.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;
use jiff::Timestamp;
use windlass_engine::config::Millis;

use super::loops::LoopName;
use super::values::{not_blank, setting, since};
use crate::complete;

/// Show a loop's changes as a diff
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass diff fix-login
  windlass diff fix-login --iteration 2
  windlass diff fix-login --since 2      everything after iteration 2
  windlass diff fix-login --worktree")]
pub struct DiffArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Show only the changes of iteration N, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
    /// Include uncommitted changes in the workspace
    #[arg(long, conflicts_with = "iteration")]
    pub worktree: bool,
    /// Start from the checkpoint of this iteration instead; 0 is the base commit
    #[arg(long, value_name = "N")]
    pub since: Option<u32>,
    /// Start from where the branch left its merge target instead
    #[arg(long, conflicts_with = "since")]
    pub target: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Compare loops: outcome, gates, findings, cost, time, and changes
///
/// The loops must belong to one project. A hidden gate counts like any other one, but its command is not shown.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass compare fix-login fix-login-fork
  windlass compare fix-login fix-login-fork --diff
  windlass compare a b c --json")]
pub struct CompareArgs {
    /// Loop names, or the starts of names if only one loop matches
    #[arg(value_name = "NAME", required = true, num_args = 2.., add = ArgValueCandidates::new(complete::loops))]
    pub names: Vec<String>,
    /// Also show the diff from the first loop's work to that of each other one
    #[arg(long)]
    pub diff: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Reset a loop to the checkpoint of an earlier iteration
///
/// Stop or pause the loop first. Its next turn starts from the checkpoint, in a new agent session. Windlass keeps the
/// undone commits under a ref.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass rollback fix-login --to 2
  windlass rollback fix-login --to 0     back to the base commit")]
pub struct RollbackArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Iteration to go back to; 0 is the base commit
    #[arg(long, value_name = "N")]
    pub to: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Merge a loop's branch
///
/// Merges into the branch the loop started from. Conflicts abort the merge.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass merge fix-login
  windlass merge fix-login --dry-run              show the target, size, conflicts, and gates
  windlass merge fix-login --squash -m \"Fix the login\"
  windlass merge fix-login --into develop
  windlass merge fix-login add-search --queue     add them to the merge queue
  windlass merge --queue                          work the merge queue off")]
pub struct MergeArgs {
    /// Loop name, or the start of one if only one loop matches [default: the latest loop of this project]
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::loops))]
    pub names: Vec<String>,
    /// Add the named verified loops to the merge queue; without names, work the queue off: merge in order, judge each
    /// batch by all gates, give conflicts back to the loop's agent
    #[arg(long, conflicts_with_all = ["squash", "no_gates", "message", "dry_run"])]
    pub queue: bool,
    /// Take the named loops out of the merge queue
    #[arg(long, requires_all = ["queue", "names"])]
    pub remove: bool,
    /// Show what the merge would do, without merging or running a gate. Exits with 1 if it would be refused
    #[arg(long, conflicts_with = "message")]
    pub dry_run: bool,
    /// Squash the loop's commits into one
    #[arg(long)]
    pub squash: bool,
    /// Merge into BRANCH [default: the branch the loop started from]
    #[arg(long, value_name = "BRANCH", value_parser = not_blank)]
    pub into: Option<String>,
    /// Skip the gates on the merged result. The commit message says so
    #[arg(long)]
    pub no_gates: bool,
    /// Use MSG as the message of the merge or squash commit
    #[arg(short, long, value_name = "MSG", value_parser = not_blank)]
    pub message: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove ended loops: workspaces, merged branches, and records
///
/// Without a name, cleans up the loops of this project that were merged, or ended without commits, more than
/// retention_days ago (a setting). With a name, cleans up that ended loop, merged or not. Keeps every branch that is not
/// merged, and saves uncommitted files under a ref first. Always removes processes, sockets, and temporary files that loops
/// left behind.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass clean --dry-run
  windlass clean fix-login
  windlass clean --all --older-than 30d
  windlass clean demo                 every demo")]
pub struct CleanArgs {
    /// Loop name, or the start of one if only one loop matches [default: every loop of this project]
    #[arg(add = ArgValueCandidates::new(complete::loops))]
    pub name: Option<String>,
    /// Show what would be removed, but remove nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Clean up loops that ended longer ago than this, such as 30d, merged or not
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, conflicts_with = "name")]
    pub older_than: Option<Millis>,
    /// Keep the records: status, logs, and proof still work, and the loop can be resumed from its branch
    #[arg(long)]
    pub keep_records: bool,
    /// Keep merged branches
    #[arg(long)]
    pub keep_branches: bool,
    /// Delete merged branches; this is the default
    #[arg(long, hide = true, conflicts_with = "keep_branches")]
    pub branches: bool,
    /// Clean up loops of every project
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Export evidence of a loop's work that others can verify
///
/// A proof contains the goal, base, commits, gate runs, findings, sandbox, agents, cost, and the head of the journal's
/// hash chain. Check it with 'windlass verify FILE'.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass proof fix-login --output fix-login.proof.json
  windlass proof fix-login --output fix-login.proof.json --sign
  windlass proof fix-login --format markdown --output fix-login.proof.md")]
pub struct ProofArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Write JSON (an in-toto statement) or Markdown for a pull request
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ProofFormat::Json)]
    pub format: ProofFormat,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Sign with your SSH key, like git; writes FILE.sig next to the proof
    #[arg(long, requires = "output")]
    pub sign: bool,
    /// SSH key to sign with: a private key, or a public key in ssh-agent [default: git's user.signingkey]
    #[arg(long, value_name = "FILE", requires = "sign", value_parser = not_blank)]
    pub key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProofFormat {
    Json,
    Markdown,
}

/// Verify a proof, or the loop that made a commit
///
/// Checks the signature, the journal's hash chain, the commits, and their trees, then reruns the gates in a fresh checkout
/// inside the sandbox. Exits with 0 only if everything matches.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass verify fix-login.proof.json
  windlass verify fix-login.proof.json --allowed-signers ~/.ssh/allowed_signers
  windlass verify HEAD --json")]
pub struct VerifyArgs {
    /// Proof file, - for standard input, or a commit of a loop on this machine
    #[arg(value_name = "FILE|COMMIT", value_parser = not_blank)]
    pub what: String,
    /// Signature of the proof [default: FILE.sig, if it exists]
    #[arg(long, value_name = "FILE")]
    pub signature: Option<PathBuf>,
    /// Require a signature by one of the signers in FILE, in the format of ssh-keygen [default: check any signature
    /// against git's gpg.ssh.allowedSignersFile]
    #[arg(long, value_name = "FILE")]
    pub allowed_signers: Option<PathBuf>,
    /// Do not rerun the gates
    #[arg(long)]
    pub no_gates: bool,
    /// Run the commands in a proof from another machine without asking
    #[arg(long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove the parts of a loop's work that its gates do not need
///
/// Runs the loop's gates, including hidden ones, on smaller and smaller parts of the work. Commits the result to a new
/// branch, named like the loop's with -minimised appended; the loop's own branch does not move unless you use --take.
/// Never drops protected files. If the command is interrupted or reaches its limit, run it again to continue.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass minimise fix-login
  windlass minimise fix-login --duration 10m
  windlass minimise fix-login --max-runs 50 --json")]
pub struct MinimiseArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Stop after this time; run the command again to continue
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, default_value = "1h")]
    pub duration: Millis,
    /// Run the gates on at most N candidates; run the command again to continue
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_runs: Option<u32>,
    /// Also commit the smaller tree on the loop's own branch, on top of its last commit
    #[arg(long)]
    pub take: bool,
    /// Print JSON: one line for each step, then the report
    #[arg(long)]
    pub json: bool,
}

/// Report on one loop, or on cost, tokens, and verified share over time
///
/// With a name, reports what that loop did, for a pull request. Without one, sums up the loops of this project by day,
/// agent, and model.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass report fix-login > report.md
  windlass report --since 30d --all --format html --output month.html
  windlass report --outcomes --all
  windlass report --json")]
pub struct ReportsArgs {
    /// Loop name, or the start of one if only one loop matches [default: all loops of this project over time]
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::loops))]
    pub name: Option<String>,
    /// Include only loops started within a duration such as 30d, or since a date such as 2026-11-01 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = since, conflicts_with = "name")]
    pub since: Option<Timestamp>,
    /// Include the loops of every project
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// Report what loops come to instead, by agent, model, and recipe: verified share, refused claims, iterations and cost
    /// per verified loop, how often a reviewer changed the outcome, how often the first attempt of a fork won
    #[arg(long, conflicts_with = "name")]
    pub outcomes: bool,
    /// Format of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Markdown)]
    format: ReportFormat,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON, like --format json
    #[arg(long)]
    json: bool,
}

impl ReportsArgs {
    pub fn format(&self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.format }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Markdown,
    Html,
    Json,
}

/// Push a loop's branch and open a pull or merge request, with the proof as its description
///
/// Uses gh, glab, or tea with your login. If none of them fits, prints the exact commands instead.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass pr fix-login
  windlass pr fix-login --draft --base develop
  windlass pr --print             only show the commands")]
pub struct PrArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Branch to merge into [default: the branch that the loop started from]
    #[arg(long, value_name = "BRANCH", value_parser = not_blank)]
    pub base: Option<String>,
    /// Title of the request [default: the first line of the goal]
    #[arg(long, value_name = "TEXT", value_parser = not_blank)]
    pub title: Option<String>,
    /// Open as a draft
    #[arg(long)]
    pub draft: bool,
    /// Tool to use [default: the one that fits the remote's address]
    #[arg(long, value_name = "TOOL", value_enum)]
    pub with: Option<ForgeTool>,
    /// Push nothing and print the commands
    #[arg(long)]
    pub print: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ForgeTool {
    Gh,
    Glab,
    Tea,
}

impl From<ForgeTool> for windlass_app::Tool {
    fn from(tool: ForgeTool) -> Self {
        match tool {
            ForgeTool::Gh => Self::Gh,
            ForgeTool::Glab => Self::Glab,
            ForgeTool::Tea => Self::Tea,
        }
    }
}
