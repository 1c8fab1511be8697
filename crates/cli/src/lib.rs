//! The command line of Windlass.

#![allow(clippy::print_stderr, reason = "this crate is the one that talks to the terminal")]

mod agent_report;
pub mod args;
mod context;
mod control;
mod demo;
mod escape;
mod exit;
mod failure;
mod follow;
mod list;
mod loops;
mod machine_report;
mod mcp;
mod milestone;
mod remote;
mod render;
mod review;
mod run;
mod serve;
mod show;
mod status;
mod style;
mod suggest;
mod trust;
mod work;

use std::process::ExitCode;

use args::{Cli, Command, ConfigCommand, Refusal};
use context::Context;
use exit::Exit;
use failure::Failure;

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match args::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(refusal) => return refuse(&refusal),
    };
    if let Command::DemoAgent = cli.command {
        return demo::agent();
    }
    if let (Command::Mcp(_), Some(socket)) = (&cli.command, mcp::socket()) {
        return ended(mcp::relay(&socket));
    }
    listen();
    // Those who watch must not hold up those who work.
    let mut runtime = match matches!(cli.command, Command::Serve(_)) {
        true => tokio::runtime::Builder::new_multi_thread(),
        false => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = runtime.enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(dispatch(cli));
            // Nothing that still runs in the background may keep the process.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(error.into()),
    };
    ended(result)
}

fn ended(result: Result<Exit, Failure>) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprint!("{}", failure.text());
            failure.exit.into()
        }
    }
}

fn refuse(refusal: &Refusal) -> ExitCode {
    let text = refusal.text();
    match refusal {
        Refusal::Asked { .. } => {
            use std::io::Write;
            let _ = write!(anstream::stdout(), "{text}");
        }
        Refusal::NothingTyped { .. } | Refusal::Wrong { .. } => {
            use std::io::Write;
            let _ = write!(anstream::stderr(), "{text}");
        }
    }
    ExitCode::from(refusal.exit_code())
}

/// Log lines go to standard error, and only where `RUST_LOG` asks for them.
fn listen() {
    if std::env::var_os("RUST_LOG").is_some() {
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    }
}

async fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    let context = Context::new(cli.dir.as_deref())?;
    if let Some(server) = &cli.server {
        return remote::perform(&context, server, &cli.command).await;
    }
    match &cli.command {
        Command::Run(args) => run::run(&context, args).await,
        Command::Demo(args) => demo::demo(&context, args).await,
        Command::List(args) => list::list(&context, args).await,
        Command::Status(args) => show::status(&context, args).await,
        Command::Logs(args) => show::logs(&context, args).await,
        Command::Stop(args) => control::stop(&context, args).await,
        Command::Pause(args) => control::pause(&context, args).await,
        Command::Resume(args) => run::resume(&context, args).await,
        Command::Restart(args) => run::restart(&context, args).await,
        Command::Steer(args) => control::steer(&context, args).await,
        Command::Approve(args) => review::approve(&context, args).await,
        Command::Reject(args) => review::reject(&context, args).await,
        Command::Findings(args) => review::findings(&context, args).await,
        Command::Takeover(args) => review::takeover(&context, args).await,
        Command::Milestone(args) => milestone::milestone(&context, args).await,
        Command::Diff(args) => work::diff(&context, args).await,
        Command::Rollback(args) => work::rollback(&context, args).await,
        Command::Merge(args) => work::merge(&context, args).await,
        Command::Clean(args) => work::clean(&context, args).await,
        Command::Agents(args) => agent_report::agents(&context, args).await,
        Command::Doctor(args) => machine_report::doctor(&context, args).await,
        Command::Trust(args) => trust::trust(&context, args).await,
        Command::Serve(args) => serve::serve(context, args).await,
        Command::Mcp(_) => mcp::serve(context).await,
        Command::Config(args) => match &args.command {
            ConfigCommand::Show(report) => machine_report::config_show(&context, report).await,
            ConfigCommand::Path(report) => machine_report::config_path(&context, report).await,
            ConfigCommand::Schema(args) => {
                machine_report::config_schema(args);
                Ok(Exit::Completed)
            }
        },
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut args::definition(), "windlass", &mut script);
            run::print(&String::from_utf8_lossy(&script));
            Ok(Exit::Completed)
        }
        Command::EscapeAttempts(args) => escape::make_attempts(&args.bait),
        Command::Drive(args) => run::drive(&context, &args.id).await,
        Command::DemoAgent => Ok(Exit::Completed),
    }
}
