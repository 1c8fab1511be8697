//! Commands to a loop that somebody else may drive: `stop`, `pause`, `steer`.

use windlass_engine::command::{Answer, Command};

use crate::args::{LoopArgs, PauseArgs, SteerArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::loops;
use crate::run::print;

pub async fn stop(context: &Context, args: &LoopArgs) -> Result<Exit, Failure> {
    ask(context, &args.name, Command::Stop, "stopped: nothing of it runs any more").await
}

pub async fn pause(context: &Context, args: &PauseArgs) -> Result<Exit, Failure> {
    let done = if args.now { "paused" } else { "pauses after the current turn" };
    ask(context, &args.name, Command::Pause { now: args.now }, done).await
}

pub async fn steer(context: &Context, args: &SteerArgs) -> Result<Exit, Failure> {
    let done = if args.now { "the message is given at once" } else { "the next turn gets the message" };
    ask(context, &args.name, Command::Steer { text: args.message.clone(), now: args.now }, done).await
}

async fn ask(context: &Context, name: &str, command: Command, done: &str) -> Result<Exit, Failure> {
    let engine = context.engine().await?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), name).await?;
    match engine.command(&loops::id(&listed), &command).await? {
        Answer::Accepted { .. } => print(&format!("{name}: {done}\n")),
        Answer::Done { status } if status == "completed" => print(&format!("{name}: completed before that\n")),
        Answer::Done { .. } => print(&format!("{name}: {done}\n")),
        Answer::Refused { message } => {
            return Err(Failure::usage(format!("{name}: {message}"), "`windlass status` shows how it stands"));
        }
    }
    Ok(Exit::Completed)
}
