//! Code hosts: a loop's branch as a pull or merge request, and an issue as a goal.

mod issue;
mod process;
mod pull;
mod tool;

use std::path::Path;

pub use issue::{IssueOf, IssueView};
pub use pull::{OpenPull, PullReport};
pub use tool::Tool;

use crate::agents::find_program;
use crate::context::Context;
use crate::problem::{Kind, Problem};

/// The remote that a branch goes to: `origin`, else the only one.
async fn remote(dir: &Path) -> Result<Option<(String, String)>, Problem> {
    let words = ["git", "remote", "--verbose"].map(str::to_owned);
    let text = process::output(&words, dir).await?;
    let mut remotes = text.lines().filter(|line| line.ends_with("(fetch)")).filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    });
    let all: Vec<_> = remotes.by_ref().collect();
    let origin = all.iter().find(|(name, _)| name == "origin").or_else(|| all.first().filter(|_| all.len() == 1));
    Ok(origin.cloned())
}

/// The tool that speaks with a host: by its name, else the first one that is installed.
fn tool_for(context: &Context, address: Option<&str>, wanted: Option<Tool>) -> Option<Tool> {
    let installed = || Tool::ALL.into_iter().find(|tool| is_installed(context, *tool));
    wanted.or_else(|| address.and_then(tool::host).and_then(Tool::of_host)).or_else(installed)
}

fn is_installed(context: &Context, tool: Tool) -> bool {
    find_program(context, None, tool.program()).is_some()
}

fn missing(tool: Option<Tool>) -> Problem {
    match tool {
        Some(tool) => Problem::new(Kind::Refused, format!("{} is not installed", tool.program()))
            .hint(format!("install it: {}", tool.install())),
        None => Problem::new(Kind::Refused, "none of gh, glab, and tea is installed")
            .hint(format!("install the one of your code host, for GitHub: {}", Tool::Gh.install())),
    }
}
