//! What can be typed: every command and flag, once.
//!
//! Help, completions, the reference in `docs/cli.md` and the parser all come from these definitions. A flag is here
//! only if it does something.

mod goal;
mod loops;
mod mcp;
mod milestone;
mod raise;
mod reference;
mod refusal;
mod review;
mod run;
mod serve;
mod setup;
mod trust;
mod values;
mod work;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

pub use goal::{GoalError, GoalSource};
pub use loops::{
    ContinueArgs, ListArgs, LogsArgs, LoopArgs, LoopName, PauseArgs, RestartArgs, ResumeArgs, StatusArgs, SteerArgs,
};
pub use mcp::McpArgs;
pub use milestone::{AddArgs, MilestoneArgs, MilestoneCommand, StartArgs};
pub use reference::reference;
pub use refusal::Refusal;
pub use review::{ApproveArgs, FindingsArgs, RejectArgs};
pub use run::RunArgs;
pub use serve::{ServeArgs, ServeCommand, SessionsArgs};
pub use setup::{
    AddAgentArgs, AgentsArgs, AgentsCommand, AgentsCommandArgs, AttemptsArgs, CompletionsArgs, ConfigArgs,
    ConfigCommand, DemoArgs, DoctorArgs, DriveArgs, EditArgs, GetArgs, InitArgs, ManArgs, RecipeArgs, RecipeCheckArgs,
    RecipeCommand, RecipeShowArgs, ReportArgs, SchemaArgs, SchemaOf, SetArgs, UnsetArgs,
};
pub use trust::TrustArgs;
pub use work::{
    CleanArgs, DiffArgs, MergeArgs, MinimiseArgs, PrArgs, ProofArgs, ProofFormat, ReportFormat, ReportsArgs,
    RollbackArgs, VerifyArgs,
};

/// Runs coding agents in a loop until the work is verified done.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = false, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  windlass demo
  windlass run \"make the tests pass\" --agent-command \"./my-agent.sh\" --gate \"cargo test\"
  windlass list
  windlass logs make-the-tests-pass -f

'windlass COMMAND --help' explains a command.")]
pub struct Cli {
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub dir: Option<PathBuf>,
    /// Connect to a remote Windlass server: its address, or a link from 'windlass serve link' there
    #[arg(long, value_name = "URL", global = true)]
    pub server: Option<String>,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<RunArgs>),
    Demo(DemoArgs),
    Init(InitArgs),
    List(ListArgs),
    Status(StatusArgs),
    Logs(LogsArgs),
    /// Stop a loop now; its agent's processes are gone when this returns
    #[command(after_help = "\
Examples:
  windlass stop fix-login
  windlass restart fix-login     go on later, with a fresh agent session")]
    Stop(LoopArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    Restart(RestartArgs),
    Continue(ContinueArgs),
    Steer(SteerArgs),
    Approve(ApproveArgs),
    Reject(RejectArgs),
    Findings(FindingsArgs),
    /// Pause a loop, and show how to enter its workspace and the agent's session
    #[command(after_help = "\
Examples:
  windlass takeover search-page
  windlass resume search-page     give it back")]
    Takeover(LoopArgs),
    Milestone(MilestoneArgs),
    Diff(DiffArgs),
    Rollback(RollbackArgs),
    Merge(MergeArgs),
    Minimise(MinimiseArgs),
    Clean(CleanArgs),
    Pr(PrArgs),
    Report(ReportsArgs),
    Proof(ProofArgs),
    Verify(VerifyArgs),
    Agents(AgentsCommandArgs),
    /// Check everything a loop needs on this machine, and say how to fix what is missing
    #[command(after_help = "\
Examples:
  windlass doctor
  windlass doctor --call         also prove that each agent is logged in
  windlass doctor --sandbox      try to break out of the sandbox, and say what came of it
  windlass doctor --sandbox=read-only --network deny --json
  windlass doctor --honesty claude")]
    Doctor(DoctorArgs),
    Trust(TrustArgs),
    Serve(ServeArgs),
    Mcp(McpArgs),
    Config(ConfigArgs),
    Recipe(RecipeArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// Try to break out of a sandbox
    #[command(hide = true)]
    EscapeAttempts(AttemptsArgs),
    /// Drive a loop in the background
    #[command(hide = true)]
    Drive(DriveArgs),
    /// The scripted agent of `demo`
    #[command(hide = true)]
    DemoAgent,
}

/// Reads a command line, the program's name first.
pub fn parse<I, T>(args: I) -> Result<Cli, Refusal>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let words: Vec<OsString> = args.into_iter().map(Into::into).collect();
    Cli::try_parse_from(&words).map_err(|error| Refusal::of(&error, &words))
}

/// The definition itself, for completions.
pub fn definition() -> clap::Command {
    Cli::command()
}
