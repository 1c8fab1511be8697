//! Commands that drive a loop: `run`, `resume`, `restart`, and the hidden `drive`.

use std::io::{IsTerminal, Write};
use std::path::Path;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use windlass_app::{
    AnyView, App, ContinueLoop, ForkLoop, IssueOf, Kind, Local, Opened, Opens, Problem, RestartLoop, ResumeLoop,
    ShowLoop, StartLoop, Until, agents,
};
use windlass_core::group::GroupKind;
use windlass_core::ids::LoopId;
use windlass_core::stop::{Status, StopReason};
use windlass_engine::feed::News;
use windlass_engine::journal;
use windlass_engine::trust::Seen;

use crate::args::{ContinueArgs, ForkArgs, GoalSource, RestartArgs, ResumeArgs, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::Follower;
use crate::groups::{self, merges, tries};
use crate::project::offered_gates;
use crate::style::{Style, json_line, printable};
use crate::{status, trust};

/// How a loop is watched by the one who started it.
#[derive(Debug, Clone, Copy)]
pub struct Watching {
    pub json: bool,
    pub detach: bool,
}

pub async fn run(app: &App, dir: Option<&Path>, args: &RunArgs) -> Result<Exit, Failure> {
    let project = project(app, dir)?;
    let goal = match &args.issue {
        Some(issue) => app.run(IssueOf { project: project.clone(), issue: issue.clone() }).await?.goal(),
        None => read_goal(app, &args.goal_source())?,
    };
    let mut settings = args.options().to_json();
    if !args.json && !args.has_gates() {
        // A flag wins over what is offered, and work in place needs no set-up.
        let in_place = settings.contains_key("in_place");
        for (key, value) in
            offered_gates(app, &project).await?.into_iter().filter(|(key, _)| !in_place || key != "setup")
        {
            settings.entry(key).or_insert(value);
        }
    }
    let request = StartLoop {
        project,
        goal,
        name: args.name.clone(),
        settings,
        agent_command: args.agent_command.clone(),
        reviewer_command: args.reviewer_command.clone(),
        base: args.base.clone(),
        allow_dirty: args.allow_dirty,
        no_loop: args.no_loop,
        iter: args.iter.clone(),
        time: args.time.clone(),
        trust: None,
    };
    let watching = Watching { json: args.json, detach: args.detach };
    if args.tries.is_some() || !args.agents.is_empty() {
        return tries::run(app, request, args, watching).await;
    }
    if args.first || args.losers.is_some() {
        let flag = if args.first { "--first" } else { "--losers" };
        return Err(Failure::usage(format!("{flag} needs several tries"), "add --tries N or --agents A,B"));
    }
    let trusting = |seen| StartLoop { trust: Some(seen), ..request.clone() };
    start(app, request.clone(), trusting, (args.trust, args.base.as_deref()), watching).await
}

/// The directory that a request is about: where we are, or the one of the other machine that `-C` names.
pub fn project(app: &App, dir: Option<&Path>) -> Result<String, Failure> {
    match (app, dir) {
        (App::Here(local), _) => Ok(local.context.cwd.to_string_lossy().into_owned()),
        (App::There(_), Some(dir)) => Ok(dir.to_string_lossy().into_owned()),
        (App::There(_), None) => Err(Failure::usage(
            "no project given",
            "use -C with the project's directory on the server, such as -C /home/me/project",
        )),
    }
}

/// Makes a loop and watches it. Where nobody has agreed yet to what the repository's own files run, whoever sits at the
/// terminal is asked, and the request is made again with that word; the same where this machine has no sandbox.
pub async fn start<R: Opens + Clone>(
    app: &App,
    request: R,
    trusting: impl Fn(Vec<Seen>) -> R,
    (agreed, base): (bool, Option<&str>),
    watching: Watching,
) -> Result<Exit, Failure> {
    let mut opened = open(app, request.clone(), None, watching).await;
    if let (Err(problem), App::Here(local)) = (&opened, app)
        && problem.asks_for_no_sandbox()
        && trust::do_without_sandbox(local, problem).await?
    {
        opened = open(app, request, None, watching).await;
    }
    let needed = match opened {
        Ok(exit) => return Ok(exit),
        Err(problem) if problem.code == Kind::TrustNeeded => problem,
        Err(problem) => return Err(problem.into()),
    };
    let seen = trust::word(app, needed, agreed, base)?;
    Ok(open(app, trusting(seen), None, watching).await?)
}

pub async fn resume(app: &App, args: &ResumeArgs) -> Result<Exit, Failure> {
    let watching = Watching { json: args.json, detach: args.detach };
    match app.find_group(args.name.get()).await? {
        Some(AnyView::Tries(group)) => return tries::resume(app, group, watching).await,
        Some(AnyView::Merges(queue)) => return merges::resume(app, queue, watching).await,
        None => {}
    }
    let id = app.find(args.name.get()).await?.id;
    let request = ResumeLoop { id: id.clone(), raise: args.raise.raise().into(), take_over: args.take_over };
    Ok(open(app, request, Some(&id), watching).await?)
}

pub async fn restart(app: &App, args: &RestartArgs) -> Result<Exit, Failure> {
    let watching = Watching { json: args.json, detach: args.detach };
    let id = app.find(args.name.get()).await?.id;
    let request = RestartLoop { id: id.clone(), raise: args.raise.raise().into() };
    Ok(open(app, request, Some(&id), watching).await?)
}

pub async fn go_on(app: &App, args: &ContinueArgs) -> Result<Exit, Failure> {
    let watching = Watching { json: args.json, detach: args.detach };
    let (name, goal) = args.name_and_goal();
    let id = app.find(name).await?.id;
    let (goal, into) = (goal.map(str::to_owned), args.into.clone());
    let request = ContinueLoop { id: id.clone(), goal, into, raise: args.raise.raise().into() };
    Ok(open(app, request, Some(&id), watching).await?)
}

pub async fn fork(app: &App, args: &ForkArgs) -> Result<Exit, Failure> {
    let (name, source) = args.name_and_goal();
    let goal = match source {
        Some(source) => Some(read_goal(app, &source)?),
        None => None,
    };
    let parent = app.find(name).await?;
    let request = ForkLoop {
        id: parent.id,
        at: args.at,
        goal,
        name: args.new_name.clone(),
        settings: args.options().to_json(),
        agent_command: args.agent_command.clone(),
        reviewer_command: args.reviewer_command.clone(),
        trust: None,
    };
    let watching = Watching { json: args.json, detach: args.detach };
    let trusting = |seen| ForkLoop { trust: Some(seen), ..request.clone() };
    start(app, request.clone(), trusting, (args.trust, parent.base_commit.as_deref()), watching).await
}

pub fn read_goal(app: &App, source: &GoalSource) -> Result<String, Failure> {
    let cwd = std::env::current_dir()?;
    let from = match app {
        App::Here(local) => &local.context.cwd,
        App::There(_) => &cwd,
    };
    source.read(from, std::io::stdin().lock()).map_err(|error| {
        let causes = std::error::Error::source(&error).map(ToString::to_string).into_iter().collect();
        Failure { causes, ..Failure::usage(error.to_string(), error.hint()) }
    })
}

/// Opens a loop and watches it: driven by this process, by one in the background, or by a server.
pub async fn open<R: Opens>(app: &App, request: R, known: Option<&str>, watching: Watching) -> Result<Exit, Problem> {
    match app {
        App::Here(local) => go(local, request.open(local).await?, watching).await,
        App::There(_) => open_there(app, request, known, watching).await,
    }
}

/// Has a loop opened by a server, and follows it.
async fn open_there<R: Opens>(app: &App, request: R, known: Option<&str>, watching: Watching) -> Result<Exit, Problem> {
    let seen = match known {
        Some(id) => app.state(id).await?.1,
        None => 0,
    };
    let opened = app.run(request).await?;
    let goes_on = matches!(opened.status.as_str(), "queued" | "running" | "waiting");
    if known.is_none() && !watching.json {
        print(&status::plan(&app.state(&opened.id).await?.0, &[], Style::for_stdout()));
    }
    let id = LoopId(opened.id);
    if watching.detach && goes_on {
        return Ok(started_elsewhere(&id, &opened.name, watching.json));
    }
    if let (true, App::There(server)) = (goes_on, app) {
        let feed = server.feed(&id, seen, Until::Rest);
        Follower::remote(feed, watching.json, true).follow(&mut News::None).await?;
    }
    let view = app.run(ShowLoop { id: id.0.clone() }).await?;
    if !watching.json {
        print(&status::summary(&app.state(&id.0).await?.0, &view.status, Style::for_stdout()));
    } else if !goes_on {
        print(&json_line(&serde_json::json!(view)));
    }
    Ok(Exit::of_status(&view.status))
}

/// Drives an opened loop and follows it, or leaves it to a process in the background.
async fn go(local: &Local, opened: Opened, watching: Watching) -> Result<Exit, Problem> {
    let (id, name) = (opened.held.state.id.clone(), opened.held.state.name.clone());
    if opened.seen == 0 && !watching.json {
        print(&status::plan(&opened.held.state, &opened.notes, Style::for_stdout()));
    }
    let rests = !matches!(opened.held.state.status(), Status::Running | Status::Waiting { .. });
    if rests {
        let state = opened.held.state.clone();
        let view = local.hand(opened).await?;
        print(&match watching.json {
            true => json_line(&serde_json::json!(view)),
            false => status::summary(&state, state.status().name(), Style::for_stdout()),
        });
        return Ok(Exit::of_status(state.status().name()));
    }
    if watching.detach {
        local.hand(opened).await?;
        return Ok(started_elsewhere(&id, &name, watching.json));
    }
    let Opened { engine, held, seen, .. } = opened;
    let (signals, shutdown) = watch_signals()?;
    let mut follower = Follower::open(&engine, &id, seen, watching.json, true).await?;
    let driving = engine.drive_watched(held, shutdown)?;
    let mut news = News::Own(driving.news.clone());
    let (left, followed) = {
        let follow = follower.follow(&mut news);
        let ended = driving.ended();
        tokio::pin!(follow, ended);
        tokio::select! {
            followed = &mut follow => (ended.await, Some(followed)),
            // An interrupted process does not wait for a reader that has stopped reading.
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
    let state = journal::load(engine.store.as_ref(), &id).await?;
    let interrupted = matches!(state.status(), Status::Running | Status::Waiting { .. });
    let word = if interrupted { "interrupted" } else { state.status().name() };
    if !watching.json && heard {
        print(&status::summary(&state, word, Style::for_stdout()));
        if let Some(StopReason::AgentFailed { .. }) = &state.stop_reason() {
            for hint in agents::after_failure(&local.context, &state.spec.agent).await {
                print(&status::row("hint", &hint, Style::for_stdout()));
            }
        }
    }
    Ok(match told {
        Some(signal) if interrupted => Exit::Signal(signal),
        _ => Exit::of_status(word),
    })
}

/// How long the last output may take when the process is interrupted.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(1);

pub type Told = watch::Receiver<Option<u8>>;

/// The first INT, TERM or HUP asks the driver to leave; the second ends the process at once, which ends its agents.
pub fn watch_signals() -> Result<(Told, watch::Receiver<bool>), Problem> {
    watch_signals_saying("interrupted: stopping the agent; press Ctrl-C again to kill it at once")
}

/// The same with other words for the first Ctrl-C.
pub fn watch_signals_saying(words: &'static str) -> Result<(Told, watch::Receiver<bool>), Problem> {
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
            if number == 2 && std::io::stderr().is_terminal() {
                eprintln!("\r\x1b[2K{words}");
            }
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

fn started_elsewhere(id: &LoopId, name: &str, json: bool) -> Exit {
    if json {
        print(&json_line(&serde_json::json!({ "id": id.0, "name": name, "detached": true })));
    } else {
        print(&format!(
            "started in the background\n  follow  windlass logs {name} -f\n  stop    windlass stop {name}\n"
        ));
    }
    Exit::Completed
}

/// Drives a loop without anybody watching.
pub async fn drive(local: &Local, id: &str) -> Result<Exit, Failure> {
    // Of the terminal that started it nothing may reach this process.
    let _ = rustix::process::setsid();
    let engine = local.engine().await?;
    if let Some(kind) = engine.store.get(id).await?.and_then(|row| GroupKind::of_name(&row.entry.kind)) {
        return groups::drive(&engine, kind, id).await;
    }
    let mut held = engine.take(&LoopId(id.to_owned())).await?;
    if held.state.started_at.is_some() && matches!(held.state.status(), Status::Running | Status::Waiting { .. }) {
        engine.attach(&mut held).await?;
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
    let _ = out.write_all(printable(text).as_bytes()).and_then(|()| out.flush());
}
