//! Every command and flag, defined once.
//!
//! Help, completions, the reference in `docs/cli.md` and the parser all come from these definitions. A flag is here
//! only if it does something.

mod goal;
mod loops;
mod mcp;
mod planned;
mod raise;
mod reference;
mod refusal;
mod review;
mod run;
mod serve;
mod settings;
mod setup;
mod trust;
mod values;
mod work;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

pub use goal::{GoalError, GoalSource};
pub use loops::{
    AnswerArgs, ContinueArgs, ForkArgs, ListArgs, LogsArgs, LoopArgs, LoopName, PauseArgs, RestartArgs, ResumeArgs,
    StatusArgs, SteerArgs, TopArgs,
};
pub use mcp::McpArgs;
pub use planned::{
    AddArgs, MilestoneArgs, MilestoneCommand, QueueAddArgs, QueueArgs, QueueCommand, QueueMoveArgs, StartArgs,
};
pub use reference::reference;
pub use refusal::Refusal;
pub use review::{ApproveArgs, FindingsArgs, RejectArgs};
pub use run::RunArgs;
pub use serve::{FleetArgs, ServeArgs, ServeCommand, SessionsArgs, WorkerArgs};
pub use setup::{
    AddAgentArgs, AgentsArgs, AgentsCommand, AgentsCommandArgs, AttemptsArgs, CompletionsArgs, ConfigArgs,
    ConfigCommand, DemoArgs, DoctorArgs, DriveArgs, EditArgs, GetArgs, InitArgs, ManArgs, RecipeArgs, RecipeCheckArgs,
    RecipeCommand, RecipeShowArgs, ReportArgs, SchemaArgs, SchemaOf, SetArgs, UnsetArgs,
};
pub use trust::TrustArgs;
pub use work::{
    CleanArgs, CompareArgs, DiffArgs, MergeArgs, MinimiseArgs, PrArgs, ProofArgs, ProofFormat, ReportFormat,
    ReportsArgs, RollbackArgs, VerifyArgs,
};

/// How a loop is watched by the one who started it.
#[derive(Debug, Clone, Copy)]
pub struct Watching {
    pub json: bool,
    pub detach: bool,
}

/// Run coding agents in a loop until the work is verified.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, propagate_version = false, max_term_width = 100)]
#[command(arg_required_else_help = true, subcommand_required = true, disable_help_subcommand = true)]
#[command(after_help = "\
Examples:
  windlass demo
  windlass run \"fix the tests\" --agent-command ./my-agent.sh --gate \"cargo test\"
  windlass list
  windlass logs fix-the-tests -f

See 'windlass COMMAND --help' for more about a command.")]
pub struct Cli {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Global options")]
    pub dir: Option<PathBuf>,
    /// Connect to a remote Windlass server (address or login link)
    #[arg(long, value_name = "URL", global = true, help_heading = "Global options")]
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
    Top(TopArgs),
    Status(StatusArgs),
    Logs(LogsArgs),
    /// Stop a loop immediately and wait until its processes have exited
    #[command(after_help = "\
Examples:
  windlass stop fix-login
  windlass stop fix-login --json
  windlass restart fix-login     start it again later, with a new agent session")]
    Stop(LoopArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
    Restart(RestartArgs),
    Continue(ContinueArgs),
    Fork(Box<ForkArgs>),
    Compare(CompareArgs),
    Steer(SteerArgs),
    Answer(AnswerArgs),
    Approve(ApproveArgs),
    Reject(RejectArgs),
    Findings(FindingsArgs),
    /// Pause a loop and show how to open its workspace and agent session
    #[command(after_help = "\
Examples:
  windlass takeover search-page
  windlass resume search-page     hand it back to Windlass")]
    Takeover(LoopArgs),
    Milestone(MilestoneArgs),
    Queue(QueueArgs),
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
    /// Check this machine for everything loops need, and show how to fix problems
    #[command(after_help = "\
Examples:
  windlass doctor
  windlass doctor --call         also check that each agent is logged in
  windlass doctor --sandbox      try to break out of the sandbox and report the result
  windlass doctor --sandbox=read-only --network deny --json
  windlass doctor --honesty claude")]
    Doctor(DoctorArgs),
    Trust(TrustArgs),
    Serve(ServeArgs),
    Fleet(FleetArgs),
    Worker(WorkerArgs),
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

/// Parses a command line that starts with the program's name.
pub fn parse<I, T>(args: I) -> Result<Cli, Refusal>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let words = without_help_command(args.into_iter().map(Into::into).collect());
    Cli::try_parse_from(&words).map_err(|error| Refusal::of(&error, &words))
}

/// Reads 'windlass help COMMAND' as 'windlass COMMAND --help', like git.
fn without_help_command(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|word| word == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// The definition itself, for completions.
pub fn definition() -> clap::Command {
    Cli::command()
}
