//! Commands to a loop that somebody else may drive: `stop`, `pause`, `steer`, `answer`.

use windlass_app::{AnswerLoop, AnyView, App, PauseLoop, Request, SteerLoop, StopLoop};
use windlass_engine::view::LoopView;

use crate::args::{AnswerArgs, LoopArgs, PauseArgs, SteerArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::groups::{merges, tries};
use crate::style::json_line;
use crate::terminal::print;

pub async fn stop(app: &App, args: &LoopArgs) -> Result<Exit, Failure> {
    match app.find_group(args.name.get()).await? {
        Some(AnyView::Tries(group)) => return tries::stop(app, group, args.json).await,
        Some(AnyView::Merges(queue)) => return merges::stop(app, queue, args.json).await,
        None => {}
    }
    let LoopView { id, name, .. } = app.find(args.name.get()).await?;
    tell(app, &name, StopLoop { id }, "stopped; all processes have exited", args.json).await
}

pub async fn pause(app: &App, args: &PauseArgs) -> Result<Exit, Failure> {
    let done = if args.now { "paused" } else { "pausing after the current turn" };
    let LoopView { id, name, .. } = app.find(args.name.get()).await?;
    tell(app, &name, PauseLoop { id, now: args.now }, done, args.json).await
}

pub async fn steer(app: &App, args: &SteerArgs) -> Result<Exit, Failure> {
    let done =
        if args.now { "message sent; interrupting the current turn" } else { "message queued for the next turn" };
    let (name, message) = args.name_and_message();
    let LoopView { id, name, .. } = app.find(name).await?;
    let request = SteerLoop { id, message: message.to_owned(), now: args.now };
    tell(app, &name, request, done, args.json).await
}

pub async fn answer(app: &App, args: &AnswerArgs) -> Result<Exit, Failure> {
    let (name, text) = args.name_and_answer();
    let LoopView { id, name, .. } = app.find(name).await?;
    let request = AnswerLoop { id, text: text.to_owned(), question: args.question.clone() };
    tell(app, &name, request, "answered; the next turn gets it", args.json).await
}

async fn tell(
    app: &App,
    name: &str,
    request: impl Request<Report = LoopView>,
    done: &str,
    json: bool,
) -> Result<Exit, Failure> {
    let view = app
        .run(request)
        .await
        .map_err(|problem| Failure { message: format!("{name}: {}", problem.message), ..Failure::from(problem) })?;
    if json {
        print(&json_line(&view));
        return Ok(Exit::Completed);
    }
    let done = if view.status == "completed" { "already completed" } else { done };
    print(&format!("{name}: {done}\n"));
    Ok(Exit::Completed)
}
