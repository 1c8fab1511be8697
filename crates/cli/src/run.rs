//! Commands that drive a loop: `run`, `resume`, `restart`, and the hidden `drive`.

use std::path::Path;

use windlass_app::{AnyView, App, ContinueLoop, ForkLoop, IssueOf, Local, RestartLoop, ResumeLoop, StartLoop};
use windlass_core::group::GroupKind;
use windlass_core::ids::LoopId;
use windlass_core::stop::Status;

use crate::args::{ContinueArgs, ForkArgs, RestartArgs, ResumeArgs, RunArgs, Watching};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::given::{project, read_goal};
use crate::groups::{self, merges, tries};
use crate::opening::{open, start};
use crate::project::offered_gates;
use crate::terminal::{print, watch_signals};

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
