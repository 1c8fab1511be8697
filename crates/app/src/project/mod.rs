//! A project before its first loop: what checks it, and a settings file made from that.

mod ci;
mod file;
mod found;
mod ready;

use std::io::Read;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_engine::config::{self, Options, Origin, Settings};
use windlass_engine::trust::Seen;

pub use found::{Found, FoundLine};
pub(crate) use ready::check;

use crate::agents;
use crate::context::refuse_agents;
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::{Agree, TrustOf};

/// Looks at a project and writes its settings file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InitProject {
    /// The project's directory.
    pub project: String,
    /// Write the file. Without it nothing is written.
    pub write: bool,
    /// Replace a file that is there.
    pub force: bool,
}

/// What was found, and the file that follows from it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InitReport {
    /// The settings file of the project.
    pub file: String,
    /// Whether the file was there before.
    pub exists: bool,
    pub written: bool,
    pub found: Found,
    /// The first installed agent.
    pub agent: Option<String>,
    /// Whether the settings name gates already, in whichever file.
    pub has_gates: bool,
    /// What a loop that starts in this directory can be checked with, and the set-up that it needs.
    pub for_a_loop: Found,
    /// What the file says or would say.
    pub text: String,
    /// The commit that loops start from does not have the file: commit it to share it.
    pub next: Vec<String>,
}

impl Request for InitProject {
    type Report = InitReport;
    const NAME: &'static str = "init";

    async fn perform(self, here: &Local) -> Result<InitReport, Problem> {
        let (context, root) = here.at(&self.project).await?;
        let path = root.join(config::PROJECT_FILE);
        let exists = path.exists();
        let found = Found::at(&root);
        let agent = agents::first_installed(&context);
        // Settings that cannot be read name no gates; whoever needs them says what is wrong.
        let settings = context.settings(Some(&root), Options::default()).ok();
        let has_gates = settings.as_ref().is_some_and(|settings| settings.gates.origin != Origin::Default);
        let decided =
            |settings: Settings| settings.setup.origin != Origin::Default || settings.in_place.value == Some(true);
        let mut for_a_loop = Found::for_a_loop(&context.cwd, &root);
        if settings.is_some_and(decided) {
            for_a_loop.setup.clear();
        }
        let mut report = InitReport {
            file: path.to_string_lossy().into_owned(),
            exists,
            written: false,
            text: file::text(&found, agent.as_deref()),
            found,
            agent,
            has_gates,
            for_a_loop,
            next: Vec::new(),
        };
        if !self.write {
            return Ok(report);
        }
        if exists && !self.force {
            return Err(Problem::new(Kind::Refused, format!("{} already exists", path.display()))
                .hint("edit it with `windlass config edit --project`, or replace it with --force"));
        }
        refuse_agents(&context)?;
        config::write(&path, &report.text)?;
        report.written = true;
        report.next = next(&report);
        trust_own_words(here, &self.project).await?;
        Ok(report)
    }
}

fn next(report: &InitReport) -> Vec<String> {
    let run = match &report.agent {
        Some(_) => "windlass run \"what you want done\"".to_owned(),
        None => "windlass agents          install one of these first".to_owned(),
    };
    vec![format!("git add {0} && git commit -m \"Add Windlass settings\"", config::PROJECT_FILE), run]
}

/// Whoever has Windlass write the settings agrees to them, as long as nothing else in the repository wants consent.
async fn trust_own_words(here: &Local, project: &str) -> Result<(), Problem> {
    let report = TrustOf { project: project.to_owned(), base: None }.perform(here).await?;
    let open: Vec<_> = report.files.iter().filter(|demand| !demand.trusted).collect();
    if open.is_empty() || open.iter().any(|demand| demand.file != config::PROJECT_FILE) {
        return Ok(());
    }
    let seen =
        |demand: &windlass_engine::trust::Demand| Seen { file: demand.file.clone(), sha256: demand.sha256.clone() };
    let files = report.files.iter().map(seen).collect();
    Agree { project: project.to_owned(), base: None, files }.perform(here).await?;
    Ok(())
}

/// The text of a file; nothing if it cannot be read or is longer than any such file.
pub(crate) fn text(path: &Path) -> String {
    const LONGEST: u64 = 256 * 1024;
    let mut text = String::new();
    // A pipe in a repository would never end.
    let file = path.is_file().then(|| std::fs::File::open(path).ok()).flatten();
    let read = file.map(|file| file.take(LONGEST).read_to_string(&mut text));
    if matches!(read, Some(Ok(_))) { text } else { String::new() }
}
