//! Commands that drive a loop: `run`, `resume`, `restart`, and the hidden `drive`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use windlass_core::ids::{LoopId, slug};
use windlass_core::machine::{Input, Opener, Raise};
use windlass_core::spec::LoopSpec;
use windlass_core::stop::{Status, StopReason};
use windlass_engine::config::{MachineFacts, RunOptions, Settings, read_plan, resolve_spec};
use windlass_engine::engine::{Engine, Held, NewLoop};
use windlass_engine::feed::News;
use windlass_engine::sandbox::docker;
use windlass_engine::trust::Consent;

use crate::args::{RestartArgs, ResumeArgs, RunArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::{self, Follower};
use crate::style::Style;
use crate::{agent_report, loops, status, suggest, trust};

/// How a loop is watched by the one who started it.
#[derive(Debug, Clone, Copy)]
pub struct Watching {
    pub json: bool,
    pub detach: bool,
}

pub async fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    let goal = args.goal_source().read(&context.cwd, std::io::stdin().lock()).map_err(|error| {
        let causes = std::error::Error::source(&error).map(ToString::to_string).into_iter().collect();
        Failure { causes, ..Failure::usage(error.to_string(), error.hint()) }
    })?;
    let project = context.project().await?;
    let settings = context.settings(Some(&project), args.options())?;
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    let wanted = RunOptions {
        goal,
        name: args.name.clone().unwrap_or_default(),
        agent_command: args.agent_command.clone(),
        no_loop: args.no_loop,
        iter: args.iter.clone(),
        time: args.time.clone(),
        reviewer_command: args.reviewer_command.clone(),
        base: args.base.clone(),
        allow_dirty: args.allow_dirty,
        ..RunOptions::default()
    };
    let mut prepared = prepare(context, project, &settings, wanted)?;
    let consent = trust::consent(context, &prepared.project, &settings, &prepared.spec, args.trust).await?;
    let engine = context.engine().await?;
    let notes = std::mem::take(&mut prepared.notes);
    let held = engine.create(prepared.agreed(consent)).await?;
    if !args.json {
        print(&status::plan(&held.state, &notes, Style::for_stdout()));
    }
    go(context, &engine, held, Watching { json: args.json, detach: args.detach }, 0).await
}

/// A loop that can be made, and what its user should know before.
#[derive(Debug)]
pub struct Prepared {
    pub project: std::path::PathBuf,
    pub name: String,
    /// The name was made here, so that it may get a number.
    pub numbered: bool,
    pub spec: LoopSpec,
    pub branch_template: String,
    pub notes: Vec<String>,
}

impl Prepared {
    /// The loop, to which somebody has agreed.
    pub fn agreed(self, consent: Consent) -> NewLoop {
        let Self { project, name, numbered, spec, branch_template, notes: _ } = self;
        NewLoop { project, name, numbered, spec, branch_template, consent }
    }
}

/// Makes of what somebody asks for, here or over the API, a loop that can be made. Without a name it gets one.
pub fn prepare(
    context: &Context,
    project: std::path::PathBuf,
    settings: &Settings,
    wanted: RunOptions,
) -> Result<Prepared, Failure> {
    let numbered = wanted.name.is_empty();
    let slugged = slug(&wanted.goal);
    let name = match numbered {
        false => wanted.name.clone(),
        true if slugged.is_empty() => {
            let hex = uuid::Uuid::now_v7().simple().to_string();
            format!("loop-{}", &hex[24..])
        }
        true => slugged,
    };
    let plan = read_plan(settings, &context.cwd, &project)?;
    let resolved = resolve_spec(
        settings,
        &RunOptions {
            name: name.clone(),
            installed_agent: agent_report::first_installed(context),
            plan: plan.text,
            sandbox: context.sandbox(settings),
            machine: MachineFacts::of_this_one(),
            cwd: context.cwd.clone(),
            project_root: project.clone(),
            ..wanted
        },
    )?;
    let mut notes = resolved.notes;
    notes.extend(plan.notes);
    if resolved.spec.gates.is_empty()
        && let Some(gate) = suggest::gate(&project)
    {
        notes.push(format!("this project looks as if --gate \"{gate}\" would check it"));
    }
    let branch_template =
        settings.branch.value.as_ref().map_or("windlass/{name}".to_owned(), |branch| branch.as_str().to_owned());
    Ok(Prepared { project, name, numbered, spec: resolved.spec, branch_template, notes })
}

pub async fn resume(context: &Context, args: &ResumeArgs) -> Result<Exit, Failure> {
    let watching = Watching { json: args.json, detach: args.detach };
    open_again(context, &args.name, Opener::Resume, args.raise.raise(), watching).await
}

pub async fn restart(context: &Context, args: &RestartArgs) -> Result<Exit, Failure> {
    let watching = Watching { json: args.json, detach: args.detach };
    open_again(context, &args.name, Opener::Restart, args.raise.raise(), watching).await
}

async fn open_again(
    context: &Context,
    name: &str,
    by: Opener,
    raise: Raise,
    watching: Watching,
) -> Result<Exit, Failure> {
    let engine = context.engine().await?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), name).await?;
    let (held, seen) = take_again(context, &engine, &loops::id(&listed), by, raise).await?;
    go(context, &engine, held, watching, seen).await
}

/// Takes a loop that nobody drives and opens it; with the number of the last event before that.
pub async fn take_again(
    context: &Context,
    engine: &Arc<Engine>,
    id: &LoopId,
    by: Opener,
    raise: Raise,
) -> Result<(Held, u64), Failure> {
    let mut held = engine.take(id).await?;
    let seen = held.state.seq;
    let opened = async {
        if by == Opener::Restart {
            amend(engine, &mut held).await?;
        }
        still_confined(context, &held)?;
        open_held(engine, &mut held, by, raise).await
    };
    if let Err(error) = opened.await {
        engine.release(held).await?;
        return Err(error);
    }
    Ok((held, seen))
}

/// A loop keeps its sandbox: where that cannot be had any more, it does not go on without.
fn still_confined(context: &Context, held: &Held) -> Result<(), Failure> {
    let spec = &held.state.spec.sandbox;
    if spec.is_off() {
        return Ok(());
    }
    let tried = match spec.docker {
        Some(_) => docker::probe(spec, &context.env.texts()).map(drop),
        None => windlass_supervise::probe_sandbox(&context.search_path()).map(drop),
    };
    tried.map_err(|missing| {
        let what =
            format!("the loop has the sandbox '{}', which cannot be had here: {}", spec.level.name(), missing.reason);
        // What it suggests is for a new loop; this one is bound to its sandbox.
        Failure::usage(
            what,
            missing.fix.replace("or run without: --sandbox off", "or start a new loop with --sandbox off"),
        )
    })
}

/// A milestone whose file was edited since is taken as it stands there now.
async fn amend(engine: &Arc<Engine>, held: &mut Held) -> Result<(), Failure> {
    let Some(known) = held.state.spec.review.as_ref().and_then(|review| review.milestone.clone()) else {
        return Ok(());
    };
    let now = windlass_engine::milestones::load(std::path::Path::new(&held.state.project), &known.id);
    match (now, &held.state.status) {
        (Ok(found), Status::Queued | Status::Paused { .. } | Status::Ended { .. }) if found.milestone != known => {
            let milestone = Box::new(found.milestone);
            match engine.apply(held, &Input::AmendMilestone { milestone }).await {
                // What ended for good says so when it is opened.
                Ok(()) | Err(windlass_engine::engine::EngineError::Refused(_)) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        (Ok(_), _) => Ok(()),
        (Err(error), _) => {
            eprintln!("warning: {error}; going on with the text it was started with");
            Ok(())
        }
    }
}

/// Opens a loop that nobody drives, from wherever it was left.
async fn open_held(engine: &Arc<Engine>, held: &mut Held, by: Opener, raise: Raise) -> Result<(), Failure> {
    match held.state.status {
        Status::Running | Status::Waiting { .. } => {
            // Cut off. A plain resume goes on just there; anything else is a new opening after a pause.
            // A pause or a stop that was asked for before is over with that.
            let plain = by == Opener::Resume && raise == Raise::default() && held.state.wish.is_none();
            engine.apply(held, &Input::Attach).await?;
            if plain {
                return Ok(());
            }
            engine.settle(held).await?;
        }
        Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {}
    }
    Ok(engine.apply(held, &Input::Open { by, raise }).await?)
}

/// Drives a held loop and follows it, or hands it to a process in the background.
pub async fn go(
    context: &Context,
    engine: &Arc<Engine>,
    held: Held,
    watching: Watching,
    seen: u64,
) -> Result<Exit, Failure> {
    let id = held.state.id.clone();
    let name = held.state.name.clone();
    if watching.detach {
        engine.release(held).await?;
        if !crate::serve::hand_over(context, engine, &id).await {
            detach(context, &id, &name)?;
        }
        return Ok(started_elsewhere(&id, &name, watching.json));
    }
    let (signals, shutdown) = watch_signals()?;
    let mut follower = Follower::open(engine, &id, seen, watching.json, true).await?;
    let driving = engine.drive(held, shutdown)?;
    let mut news = News::Own(driving.news.clone());
    let (left, followed) = {
        let follow = follower.follow(&mut news);
        let ended = driving.ended();
        tokio::pin!(follow, ended);
        tokio::select! {
            followed = &mut follow => (ended.await, Some(followed)),
            // Who was told to leave does not wait for a reader that has stopped reading.
            left = &mut ended => {
                let told = signals.borrow().is_some();
                let followed =
                    if told { tokio::time::timeout(LAST_WORDS, follow).await.ok() } else { Some(follow.await) };
                (left, followed)
            }
        }
    };
    let told = *signals.borrow();
    left?;
    let heard = followed.transpose()?.is_some();
    let state = follow::state(engine, &id).await?;
    let interrupted = matches!(state.status, Status::Running | Status::Waiting { .. });
    let word = if interrupted { "interrupted" } else { state.status.name() };
    if !watching.json && heard {
        print(&status::summary(&state, word, Style::for_stdout()));
        if let Some(StopReason::AgentFailed { .. }) = &state.stop_reason {
            for hint in agent_report::after_failure(context, &state.spec.agent).await {
                print(&status::row("hint", &hint, Style::for_stdout()));
            }
        }
    }
    Ok(match told {
        Some(signal) if interrupted => Exit::Signal(signal),
        _ => Exit::of_status(word),
    })
}

/// How long the last output may take when the process is told to leave.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(1);

pub type Told = watch::Receiver<Option<u8>>;

/// The first INT, TERM or HUP asks the driver to leave; the second ends the process at once, which ends its agents.
pub fn watch_signals() -> Result<(Told, watch::Receiver<bool>), Failure> {
    let (tell, told) = watch::channel(None);
    let (ask, asked) = watch::channel(false);
    let immune = ignores_hang_up();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        loop {
            let number: u8 = tokio::select! {
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
                _ = hang_up.recv(), if !immune => 1,
            };
            if tell.borrow().is_some() {
                std::process::exit(128 + i32::from(number));
            }
            tell.send_replace(Some(number));
            ask.send_replace(true);
        }
    });
    Ok((told, asked))
}

/// Whether this process was started by `nohup` or the like: who closes the terminal then means the loop to go on.
fn ignores_hang_up() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Starts `windlass drive` in a session of its own and waits until it holds the loop.
fn detach(context: &Context, id: &LoopId, name: &str) -> Result<(), Failure> {
    let log = context.data().driver_log(id);
    if let Some(dir) = log.parent() {
        windlass_engine::data::private_dir(dir)?;
    }
    let errors = std::fs::OpenOptions::new().create(true).append(true).open(&log)?;
    let mut child = std::process::Command::new(std::env::current_exe()?)
        .arg("drive")
        .arg(&id.0)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .process_group(0)
        .spawn()?;
    let mut ready = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut ready)?;
    }
    if ready.trim() != "ready" {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("it said nothing").to_owned();
        return Err(Failure {
            exit: Exit::Failed,
            message: format!("the background driver did not start: {last}"),
            causes: Vec::new(),
            hint: Some(format!("see {}; `windlass resume {name}` tries again", log.display())),
        });
    }
    Ok(())
}

pub fn started_elsewhere(id: &LoopId, name: &str, json: bool) -> Exit {
    if json {
        print(&format!("{}\n", serde_json::json!({ "id": id.0, "name": name, "detached": true })));
    } else {
        print(&format!(
            "started in the background\n  follow  windlass logs {name} -f\n  stop    windlass stop {name}\n"
        ));
    }
    Exit::Completed
}

/// Drives a loop without anybody watching.
pub async fn drive(context: &Context, id: &str) -> Result<Exit, Failure> {
    // Of the terminal that started it nothing may reach this process.
    let _ = rustix::process::setsid();
    let engine = context.engine().await?;
    let mut held = engine.take(&LoopId(id.to_owned())).await?;
    if held.state.started_at.is_some() && matches!(held.state.status, Status::Running | Status::Waiting { .. }) {
        engine.apply(&mut held, &Input::Attach).await?;
    }
    let (_told, shutdown) = watch_signals()?;
    let driving = engine.drive(held, shutdown)?;
    print("ready\n");
    driving.ended().await?;
    Ok(Exit::Completed)
}

/// Prints; nobody listening is no reason to stop a loop.
pub fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
