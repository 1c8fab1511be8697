//! What a command is about, as typed: the project, and the goal.

use std::path::Path;

use windlass_app::App;

use crate::args::GoalSource;
use crate::failure::Failure;

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
