//! Commands about the work of loops that exist.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use windlass_config::Millis;

use super::loops::LoopName;
use super::values::{not_blank, setting};

/// Show what a loop changed, as a patch
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass diff fix-login
  windlass diff fix-login --iteration 2
  windlass diff fix-login --worktree")]
pub struct DiffArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Only what this iteration changed, from 1 on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub iteration: Option<u32>,
    /// Up to what is on disk now, committed or not
    #[arg(long, conflicts_with = "iteration")]
    pub worktree: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Go back to the checkpoint of an iteration; what is undone stays reachable
///
/// The loop must not be under way. Its next turn starts from there, in a fresh agent session.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass rollback fix-login --to 2
  windlass rollback fix-login --to 0     back to where it began")]
pub struct RollbackArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// The iteration whose checkpoint is wanted; 0 is where the loop began
    #[arg(long, value_name = "N")]
    pub to: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Bring a loop's branch home
///
/// It goes to the branch that was checked out when the loop began. Conflicts are reported and change nothing.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass merge fix-login
  windlass merge fix-login --squash -m \"Fix the login\"
  windlass merge fix-login --into develop")]
pub struct MergeArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// One commit with everything, instead of the loop's commits
    #[arg(long)]
    pub squash: bool,
    /// Another branch to merge into
    #[arg(long, value_name = "BRANCH", value_parser = not_blank)]
    pub into: Option<String>,
    /// Merge without running the loop's gates on the merged result; the commit's message says so
    #[arg(long)]
    pub no_gates: bool,
    /// The message of the commit, where one is made
    #[arg(short, long, value_name = "MSG", value_parser = not_blank)]
    pub message: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove the workspaces of loops that are merged, and show what the others take
///
/// Without a name: those of this project that were merged longer ago than the setting retention_days says. With one:
/// that of an ended loop, merged or not. Branches stay, and what is not committed is saved under a ref before. What loops
/// that nobody drives left behind (processes, sockets, temporary files) goes in any case.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass clean --dry-run
  windlass clean
  windlass clean fix-login --branches")]
pub struct CleanArgs {
    /// The loop's name [default: every loop of this project]
    pub name: Option<String>,
    /// Only show what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Also delete branches whose commits are all merged
    #[arg(long)]
    pub branches: bool,
    /// The loops of every project
    #[arg(long, conflicts_with = "name")]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Write evidence of a loop's work that a stranger can check
///
/// The proof names goal, base, commits, every gate run, findings, sandbox, agents, cost and the head of the journal's hash
/// chain. 'windlass verify FILE' checks it.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass proof fix-login --output fix-login.proof.json
  windlass proof fix-login --output fix-login.proof.json --sign
  windlass proof fix-login --format markdown --output fix-login.proof.md")]
pub struct ProofArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// JSON (an in-toto statement) or Markdown for a pull request
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ProofFormat::Json)]
    pub format: ProofFormat,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Sign with your ssh key, as git does; writes FILE.sig beside the proof
    #[arg(long, requires = "output")]
    pub sign: bool,
    /// The ssh key to sign with: a private key, or a public key that ssh-agent has [default: git's user.signingkey]
    #[arg(long, value_name = "FILE", requires = "sign", value_parser = not_blank)]
    pub key: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProofFormat {
    Json,
    Markdown,
}

/// Check a proof, or the work of the loop that made a commit
///
/// Checks the signature, the journal's hash chain, commits and trees, and runs the gates again in a fresh checkout, in the
/// sandbox. Exits with 0 only if nothing differs.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass verify fix-login.proof.json
  windlass verify fix-login.proof.json --allowed-signers ~/.ssh/allowed_signers
  windlass verify HEAD --json")]
pub struct VerifyArgs {
    /// The file that 'windlass proof' wrote, - for standard input, or a commit of a loop of this machine
    #[arg(value_name = "FILE|COMMIT", value_parser = not_blank)]
    pub what: String,
    /// The proof's signature [default: FILE.sig, if it exists]
    #[arg(long, value_name = "FILE")]
    pub signature: Option<PathBuf>,
    /// Require a signature by one of the signers in FILE, in the form that ssh-keygen reads [default: check a signature
    /// against git's gpg.ssh.allowedSignersFile]
    #[arg(long, value_name = "FILE")]
    pub allowed_signers: Option<PathBuf>,
    /// Do not run the gates again
    #[arg(long)]
    pub no_gates: bool,
    /// Run the commands of a proof from another machine
    #[arg(long)]
    pub yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Drop what the gates do not need of a loop's work, and offer the smaller commit
///
/// Tries smaller and smaller parts of the work against the loop's gates, hidden ones too, in the judge's checkout. What is left
/// is one commit on a branch named like the loop's with -minimised appended; the loop's own branch stays,
/// unless you say --take. Protected files are never dropped. A call that was cut off, or that reached its limit, resumes with the next one.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass minimise fix-login
  windlass minimise fix-login --duration 10m
  windlass minimise fix-login --max-runs 50 --json")]
pub struct MinimiseArgs {
    #[command(flatten)]
    pub name: LoopName,
    /// Stop after this time; the next call resumes
    #[arg(long, value_name = "D", value_parser = setting::<Millis>, default_value = "1h")]
    pub duration: Millis,
    /// Run the gates on at most N candidates; the next call resumes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_runs: Option<u32>,
    /// Also put the smaller tree on the loop's own branch, as a commit on top of its last one
    #[arg(long)]
    pub take: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
