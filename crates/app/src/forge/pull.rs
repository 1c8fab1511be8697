//! A loop's branch, pushed and opened as a pull or merge request, with the proof as its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::machine::LoopState;
use windlass_core::stop::Outcome;

use super::tool::Pull;
use super::{Tool, is_installed, process, remote, tool_for};
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::proof::{ProveLoop, markdown};
use crate::request::Request;
use crate::words::one_line;
use crate::work::at_rest;

/// Push a loop's branch and open a pull or merge request.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenPull {
    #[schemars(skip)]
    pub id: String,
    /// The branch it goes to; the one that the loop started from if left out.
    pub base: Option<String>,
    /// The first line of the goal if left out.
    pub title: Option<String>,
    pub draft: bool,
    /// Whose tool; found by the remote's address if left out.
    pub tool: Option<Tool>,
    /// Only say which commands it would take.
    pub dry_run: bool,
}

/// What was done, or what to type.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PullReport {
    pub name: String,
    pub branch: String,
    pub base: Option<String>,
    pub title: String,
    /// The text of the request: the proof as Markdown.
    pub body: String,
    /// Whether the branch was pushed and the request opened.
    pub opened: bool,
    /// The address of the request, where the tool printed it.
    pub url: Option<String>,
    /// Why nothing was done, if so.
    pub why_not: Option<String>,
    /// Each command as words. The text of the request stands for `BODY`.
    pub commands: Vec<Vec<String>>,
    pub warnings: Vec<String>,
}

/// Stands for the text in the commands that are shown.
pub const BODY: &str = "BODY";

impl Request for OpenPull {
    type Report = PullReport;
    const NAME: &'static str = "pr";

    async fn perform(self, here: &Local) -> Result<PullReport, Problem> {
        let state = here.state_of(&self.id).await?;
        let branch = proposed(&state)?;
        let home = here.readable().await?.workspace(&state)?.home;
        let (context, root) = here.at(&home.checkout.to_string_lossy()).await?;
        let remote = remote(&root).await?;
        let tool = tool_for(&context, remote.as_ref().map(|(_, address)| address.as_str()), self.tool);
        let statement = ProveLoop { id: self.id.clone() }.perform(here).await?;
        let title = self.title.clone().unwrap_or_else(|| one_line(&state.spec.goal, 72));
        let mut report = PullReport {
            name: state.name.clone(),
            base: self.base.clone().or(home.branch).filter(|base| *base != branch),
            branch,
            title,
            body: markdown(&statement),
            opened: false,
            url: None,
            why_not: None,
            commands: Vec::new(),
            warnings: Vec::new(),
        };
        if !state.is_verified() {
            let word = state.outcome().map_or(state.status().name(), Outcome::name);
            report.warnings.push(format!("{} is {word}; its work is not verified", state.name));
        }
        let Some((name, _)) = remote else {
            report.why_not = Some("no remote is named origin; add one with `git remote add origin URL`".to_owned());
            report.commands = commands("origin", tool.unwrap_or(Tool::Gh), &report, BODY, self.draft);
            return Ok(report);
        };
        let ready = tool.filter(|tool| is_installed(&context, *tool));
        report.commands = commands(&name, tool.unwrap_or(Tool::Gh), &report, BODY, self.draft);
        match (self.dry_run, ready) {
            (true, _) => report.why_not = Some("asked for with --print".to_owned()),
            (false, None) => report.why_not = Some(super::missing(tool).message),
            (false, Some(tool)) => {
                let mut said = String::new();
                for words in commands(&name, tool, &report, &report.body, self.draft) {
                    said = process::output(&words, &root).await?;
                }
                report.opened = true;
                report.url = said.split_whitespace().rfind(|word| word.starts_with("https://")).map(str::to_owned);
            }
        }
        Ok(report)
    }
}

/// The branch of a loop that does not work on it now.
fn proposed(state: &LoopState) -> Result<String, Problem> {
    let name = &state.name;
    at_rest(state)?;
    let branch = state.workspace.as_ref().and_then(|workspace| workspace.branch.clone());
    let changed = state.workspace.as_ref().is_some_and(|workspace| workspace.base_commit != workspace.head_commit);
    match branch.filter(|_| changed) {
        Some(branch) => Ok(branch),
        None => Err(Problem::new(Kind::Refused, format!("{name} has no commits to propose"))
            .hint(format!("see what it did: windlass status {name}"))),
    }
}

/// The push, and the command that opens the request.
fn commands(remote: &str, tool: Tool, report: &PullReport, body: &str, draft: bool) -> Vec<Vec<String>> {
    let push = ["git", "push", "--set-upstream", remote, &report.branch].map(str::to_owned).to_vec();
    let pull = Pull { branch: &report.branch, base: report.base.as_deref(), title: &report.title, body, draft };
    vec![push, tool.open(&pull)]
}
