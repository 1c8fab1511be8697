//! What a repository's own files would run, and whether somebody agreed to it.
//!
//! Whoever clones a repository has not read it. Commands in its `.windlass/` settings, and files that make an agent
//! run code before its first prompt, need a person's consent once, by the content of exactly these files. What comes
//! from flags, the environment or the user's own settings is the user's word already.

mod consents;
mod reach;
mod settings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use thiserror::Error;
use windlass_agents::ReadTrap;
use windlass_core::profile::AgentProfile;
use windlass_core::spec::{LoopSpec, WorkspaceKind};

use crate::config::{PROJECT_FILE, PROJECT_RECIPES, RecipeFile, RecipeSource, Settings};
use crate::data::DataDir;
use windlass_workspace::{WorkspaceError, Workspaces};

use consents::Consents;
use reach::{End, Reached, reach};

/// One file, and what it would run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Demand {
    /// Seen from the root of the repository.
    pub file: String,
    /// The agents that read it; none for the settings of this program.
    pub agents: Vec<String>,
    /// In words, one thing each.
    pub runs: Vec<String>,
    /// Of its content.
    pub sha256: String,
    pub trusted: bool,
}

/// A file as it was when a person looked at it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Seen {
    pub file: String,
    /// Of its content.
    pub sha256: String,
}

/// Everything that a repository demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demands {
    pub project: PathBuf,
    pub list: Vec<Demand>,
}

/// The proof that nothing a loop starts with runs without somebody's consent.
#[derive(Debug, Clone)]
pub struct Consent(());

impl Consent {
    /// For a loop of this group: whoever created the group agreed to what its loops run.
    pub(crate) fn of_group(_: &windlass_core::group::tries::Tries) -> Self {
        Self(())
    }
}

#[derive(Debug, Error)]
pub enum TrustError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("cannot read or write the trust record")]
    File(#[source] std::io::Error),
    #[error("{file} contains symbolic links that Windlass does not follow")]
    Links { file: String },
    #[error("{} is too large for an agent's settings", .path.display())]
    Large { path: PathBuf },
}

/// Where the files are that an agent would find.
#[derive(Debug, Clone, Copy)]
pub enum Look<'a> {
    /// The checkout as it lies there.
    Checkout,
    /// A revision; a workspace of the loop's own is made of one.
    Revision(&'a str),
}

impl Demands {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What is not trusted yet.
    pub fn open(&self) -> impl Iterator<Item = &Demand> {
        self.list.iter().filter(|demand| !demand.trusted)
    }

    /// What is not trusted yet and changed since it was shown.
    pub fn unseen(&self, seen: &[Seen]) -> impl Iterator<Item = &Demand> {
        let was_shown = |demand: &Demand| seen.iter().any(|s| s.file == demand.file && s.sha256 == demand.sha256);
        self.open().filter(move |demand| !was_shown(demand))
    }

    pub fn granted(&self) -> Option<Consent> {
        self.open().next().is_none().then_some(Consent(()))
    }

    /// Agrees to all of it, from now on.
    pub fn agree(&mut self, data: &DataDir) -> Result<Consent, TrustError> {
        let mut consents = Consents::read(data, &self.project);
        for demand in &mut self.list {
            consents.add(&demand.file, &demand.sha256);
            demand.trusted = true;
        }
        consents.write(data).map_err(TrustError::File)?;
        Ok(Consent(()))
    }

    fn put(&mut self, demand: Demand) {
        if !self.list.contains(&demand) {
            self.list.push(demand);
        }
    }
}

/// Takes back every consent to a repository; whether there was any.
pub fn revoke(data: &DataDir, project: &Path) -> Result<bool, TrustError> {
    Consents::remove(data, project).map_err(TrustError::File)
}

/// Whether somebody agreed that loops of this project run without a sandbox where there is none.
pub fn agreed_to_no_sandbox(data: &DataDir, project: &Path) -> bool {
    Consents::read(data, project).no_sandbox
}

/// Agrees to that from now on; it is taken back with all other consents.
pub fn agree_to_no_sandbox(data: &DataDir, project: &Path) -> Result<(), TrustError> {
    let mut consents = Consents::read(data, project);
    consents.no_sandbox = true;
    consents.write(data).map_err(TrustError::File)
}

/// What this loop would run of the repository's files.
pub async fn of_loop(
    data: &DataDir,
    workspaces: &Workspaces,
    project: &Path,
    settings: &Settings,
    spec: &LoopSpec,
) -> Result<Demands, TrustError> {
    let review = spec.review.iter().flat_map(|review| std::iter::once(&review.reviewer).chain(&review.fallbacks));
    let agents: Vec<_> =
        std::iter::once(&spec.agent).chain(&spec.fallbacks).chain(&spec.summing_up).chain(review).collect();
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let look = match spec.workspace.kind {
        WorkspaceKind::InPlace | WorkspaceKind::External => Look::Checkout,
        WorkspaceKind::Clone => Look::Revision(spec.workspace.base.as_deref().unwrap_or("HEAD")),
    };
    let is_ours = |profile: &AgentProfile| profile.command.first().is_some_and(|program| program == "{self}");
    let profiles: Vec<_> = agents.iter().map(|agent| &agent.profile).filter(|profile| !is_ours(profile)).collect();
    let read = |trap: &ReadTrap| profiles.iter().any(|profile| trap.is_read_by(profile));
    let mut demands = Demands { project: project.to_owned(), list: Vec::new() };
    let consents = Consents::read(data, project);
    of_settings(&mut demands, &consents, settings, Some(&names));
    for file in project_recipes(settings) {
        of_recipe(&mut demands, &consents, file);
    }
    of_agents(&mut demands, &consents, workspaces, look, &read).await?;
    Ok(demands)
}

/// What any loop could run of the repository's files.
pub async fn of_repository(
    data: &DataDir,
    workspaces: &Workspaces,
    project: &Path,
    settings: &Settings,
    revision: &str,
) -> Result<Demands, TrustError> {
    let mut demands = Demands { project: project.to_owned(), list: Vec::new() };
    let consents = Consents::read(data, project);
    of_settings(&mut demands, &consents, settings, None);
    let recipes = settings.recipes.entries().iter().filter(|entry| entry.source == RecipeSource::Project);
    // One that cannot be read is refused when a loop wants it.
    for file in recipes.filter_map(|entry| entry.read().ok()) {
        of_recipe(&mut demands, &consents, &file);
    }
    for look in [Look::Revision(revision), Look::Checkout] {
        of_agents(&mut demands, &consents, workspaces, look, &|_| true).await?;
    }
    Ok(demands)
}

/// Whether the project's settings, and its recipe if one is in use, were agreed to as they were read.
pub fn settings_are_trusted(data: &DataDir, project: &Path, settings: &Settings) -> bool {
    let consents = Consents::read(data, project);
    let has = |file: &str, text: &str| consents.has(file, &sha256(text.as_bytes()));
    let file = settings.project_text.as_deref().is_none_or(|text| has(PROJECT_FILE, text));
    file && project_recipes(settings).all(|file| has(&recipe_name(file), &file.text))
}

/// Whether the project's settings file has a word in what starts this agent.
pub fn project_says_what_runs(settings: &Settings, agent: &str) -> bool {
    settings::touch(settings, agent)
}

fn of_settings(demands: &mut Demands, consents: &Consents, settings: &Settings, agents: Option<&[&str]>) {
    let mut runs = settings::what_runs(settings, agents, &demands.project);
    if runs.is_empty() {
        return;
    }
    runs.splice(0..0, settings::leads_to(&demands.project, PROJECT_FILE));
    // Of the very text that the settings were read from.
    let sha256 = sha256(settings.project_text.as_deref().unwrap_or_default().as_bytes());
    let trusted = consents.has(PROJECT_FILE, &sha256);
    demands.put(Demand { file: PROJECT_FILE.to_owned(), agents: Vec::new(), runs, sha256, trusted });
}

/// The files of the recipe in use that the project has.
fn project_recipes(settings: &Settings) -> impl Iterator<Item = &RecipeFile> {
    let files = settings.in_use.iter().flat_map(|recipe| &recipe.files);
    files.filter(|file| file.source == RecipeSource::Project)
}

fn recipe_name(file: &RecipeFile) -> String {
    format!("{PROJECT_RECIPES}/{}.toml", file.name)
}

fn of_recipe(demands: &mut Demands, consents: &Consents, file: &RecipeFile) {
    let mut runs = settings::of_recipe(file, &demands.project);
    if runs.is_empty() {
        return;
    }
    let name = recipe_name(file);
    runs.splice(0..0, settings::leads_to(&demands.project, &name));
    let sha256 = sha256(file.text.as_bytes());
    let trusted = consents.has(&name, &sha256);
    demands.put(Demand { file: name, agents: Vec::new(), runs, sha256, trusted });
}

async fn of_agents(
    demands: &mut Demands,
    consents: &Consents,
    workspaces: &Workspaces,
    look: Look<'_>,
    read: &impl Fn(&ReadTrap) -> bool,
) -> Result<(), TrustError> {
    let traps: Vec<ReadTrap> = windlass_agents::traps().filter(read).collect();
    let roots: BTreeSet<&str> = traps.iter().map(|read| read.trap.place.root()).collect();
    let roots: Vec<&str> = roots.into_iter().collect();
    for reached in reach(workspaces, &demands.project, look, &roots).await? {
        let (matching, found) = what_runs(&traps, &reached);
        let runs: Vec<String> = if matching.is_empty() { Vec::new() } else { said(&reached, found) };
        if runs.is_empty() {
            continue;
        }
        let agents: BTreeSet<&str> = matching.iter().filter_map(|read| Some(read.agent?.name)).collect();
        let sha256 = sha256(&reached.digested());
        demands.put(Demand {
            trusted: consents.has(&reached.seen_as, &sha256),
            agents: agents.into_iter().map(str::to_owned).collect(),
            file: reached.seen_as,
            runs,
            sha256,
        });
    }
    Ok(())
}

/// The kinds of file that something is, and what it would run.
fn what_runs(traps: &[ReadTrap], reached: &Reached) -> (Vec<ReadTrap>, Vec<String>) {
    let mut files: Vec<(String, &[u8])> = Vec::new();
    match &reached.end {
        End::Inside { content, .. } => files.push((reached.seen_as.clone(), content)),
        End::Outside { files: found, .. } => {
            let name = |below: &str| match below {
                "" => reached.seen_as.clone(),
                below => format!("{}/{below}", reached.seen_as),
            };
            files.push((reached.seen_as.clone(), &[]));
            files.extend(found.iter().map(|file| (name(&file.path), file.content.as_slice())));
        }
    }
    let (mut matching, mut runs) = (Vec::<ReadTrap>::new(), Vec::new());
    for read in traps {
        let trap = read.trap;
        // Two agents may read the same file; it is looked at once.
        let seen = matching.iter().any(|other| other.trap.place == trap.place);
        let held = files.iter().filter(|(path, _)| trap.place.holds(path) || trap.place.root() == path);
        let mut any = false;
        for (_, content) in held {
            any = true;
            if !seen {
                runs.extend(trap.what_runs(content));
            }
        }
        if any {
            matching.push(*read);
        }
    }
    (matching, runs)
}

/// A link that leads out of the repository is named, whatever lies there now.
fn said(reached: &Reached, found: Vec<String>) -> Vec<String> {
    let outside = matches!(reached.end, End::Outside { .. });
    if found.is_empty() && !outside { Vec::new() } else { reached.leads_to().into_iter().chain(found).collect() }
}

fn sha256(content: &[u8]) -> String {
    windlass_workspace::git::hex(ring::digest::digest(&ring::digest::SHA256, content).as_ref())
}
