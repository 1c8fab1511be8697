//! The command line of Windlass.

#![allow(clippy::print_stderr, reason = "this crate is the one that talks to the terminal")]

pub mod args;
mod background;
mod complete;
mod control;
mod demo;
mod escape;
mod failure;
mod fleet;
mod given;
mod groups;
mod man;
mod mcp;
mod milestone;
mod opening;
mod project;
mod remote;
mod render;
mod review;
mod run;
mod serve;
mod show;
mod terminal;
mod top;
mod trust;
mod work;

use failure::exit;
use show::{agent_report, follow, honesty, list, machine_report, status};
use terminal::style;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap_complete::env::Shells;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use args::{Cli, Command, ConfigCommand, Refusal};
use exit::Exit;
use failure::Failure;
use remote::Connected;
use windlass_app::{App, Context, Local};

/// Runs the program.
pub fn main() -> ExitCode {
    // Ends the process if a shell asks for completions.
    clap_complete::CompleteEnv::with_factory(args::definition).complete();
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
            eprint!("{}", style::printable(&failure.text()));
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
    let Ok(wanted) = std::env::var("RUST_LOG") else { return };
    match wanted.parse::<Targets>() {
        Ok(targets) => {
            let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false);
            tracing_subscriber::registry().with(lines).with(targets).init();
        }
        Err(error) => eprintln!("warning: RUST_LOG='{wanted}' is not a log filter: {error}"),
    }
}

/// This machine, as the place where requests run.
fn locally(dir: Option<&Path>) -> Result<App, Failure> {
    let context = Context::new(dir)?.with_tools(Arc::new(mcp::ToolsOfTurns)).with_warnings(|text| style::warn(text));
    Ok(App::Here(Box::new(Local::new(context.clone(), Arc::new(background::Detached(context))))))
}

/// This machine, for what is about its own files, processes or terminal.
fn here<'a>(app: &'a App, what: &str) -> Result<&'a Local, Failure> {
    match app {
        App::Here(local) => Ok(local),
        App::There(_) => Err(Failure::usage(
            format!("`{what}` does not work with --server"),
            "run it on that machine, or remove --server",
        )),
    }
}

async fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    let dir = cli.dir.as_deref();
    let app = &match &cli.server {
        Some(server) => match remote::connect(&Context::new(None)?, server, &cli.command).await? {
            Connected::App(app) => app,
            Connected::Done(exit) => return Ok(exit),
        },
        None => locally(dir)?,
    };
    match &cli.command {
        Command::Run(args) => run::run(app, dir, args).await,
        Command::Demo(args) => demo::demo(here(app, "demo")?, args).await,
        Command::Init(args) => project::init(app, dir, args).await,
        Command::List(args) => list::list(app, args).await,
        Command::Top(args) => top::top(app, args).await,
        Command::Status(args) => show::status(app, args).await,
        Command::Logs(args) => show::logs(app, args).await,
        Command::Stop(args) => control::stop(app, args).await,
        Command::Pause(args) => control::pause(app, args).await,
        Command::Resume(args) => run::resume(app, args).await,
        Command::Restart(args) => run::restart(app, args).await,
        Command::Continue(args) => run::go_on(app, args).await,
        Command::Fork(args) => run::fork(app, args).await,
        Command::Compare(args) => work::compare(app, args).await,
        Command::Steer(args) => control::steer(app, args).await,
        Command::Answer(args) => control::answer(app, args).await,
        Command::Approve(args) => review::approve(app, args).await,
        Command::Reject(args) => review::reject(app, args).await,
        Command::Findings(args) => review::findings(app, args).await,
        Command::Takeover(args) => review::takeover(app, args).await,
        Command::Milestone(args) => milestone::milestone(app, dir, args).await,
        Command::Queue(args) => groups::queue(app, dir, args).await,
        Command::Diff(args) => work::diff(app, args).await,
        Command::Rollback(args) => work::rollback(app, args).await,
        Command::Merge(args) => work::merge(app, dir, args).await,
        Command::Minimise(args) => work::minimise(app, args).await,
        Command::Clean(args) => work::clean(app, args).await,
        Command::Pr(args) => work::pr(app, args).await,
        Command::Report(args) => work::report(app, args).await,
        Command::Proof(args) => work::proof(app, args).await,
        Command::Verify(args) => work::verify(app, dir, args).await,
        Command::Agents(args) => agent_report::agents(app, args).await,
        Command::Doctor(args) => machine_report::doctor(app, args).await,
        Command::Trust(args) => trust::trust(app, dir, args).await,
        Command::Serve(args) => serve::serve(&here(app, "serve")?.context, args).await,
        Command::Fleet(args) => here(app, "fleet").and_then(|_| fleet::hand_over(dir, None, &args.words)),
        Command::Worker(args) => here(app, "worker").and_then(|_| fleet::hand_over(dir, Some("worker"), &args.words)),
        Command::Mcp(_) => mcp::serve(locally(dir)?).await,
        Command::Config(args) => match &args.command {
            ConfigCommand::Show(report) => machine_report::config_show(app, dir, report).await,
            ConfigCommand::Get(args) => project::get(app, dir, args).await,
            ConfigCommand::Set(args) => project::set(app, dir, args).await,
            ConfigCommand::Unset(args) => project::unset(app, dir, args).await,
            ConfigCommand::Edit(args) => project::edit(here(app, "config edit")?, args).await,
            ConfigCommand::Path(report) => machine_report::config_path(here(app, "config path")?, report).await,
            ConfigCommand::Schema(args) => {
                machine_report::config_schema(args);
                Ok(Exit::Completed)
            }
        },
        Command::Recipe(args) => project::recipe(app, dir, args).await,
        Command::Completions(args) => {
            let mut script = Vec::new();
            if let Some(shell) = Shells::builtins().completer(&args.shell.to_string()) {
                shell.write_registration("COMPLETE", "windlass", "windlass", "windlass", &mut script)?;
            }
            terminal::print(&String::from_utf8_lossy(&script));
            Ok(Exit::Completed)
        }
        Command::Man(args) => {
            man::write(args::definition(), &args.to)?;
            Ok(Exit::Completed)
        }
        Command::EscapeAttempts(args) => escape::make_attempts(&args.bait),
        Command::Drive(args) => run::drive(here(app, "drive")?, &args.id).await,
        Command::DemoAgent => Ok(Exit::Completed),
    }
}
