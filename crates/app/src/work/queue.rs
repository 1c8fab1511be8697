//! The merge queue: verified loops, merged onto one branch in order.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use uuid::Uuid;
use windlass_core::group::merges::{Candidate, Merges, MergesEvent, MergesInput, MergesSpec};
use windlass_core::group::{GroupId, GroupKind};
use windlass_core::ids::slug;
use windlass_core::machine::LoopState;
use windlass_core::spec::WorkspaceKind;
use windlass_core::stop::Outcome;
use windlass_engine::command::Answer;
use windlass_engine::config::Options;
use windlass_engine::engine::{Engine, EngineError, status_word};
use windlass_engine::groups::{HeldGroup, MergesCommand, MergesKind, MergesView};
use windlass_store::{ListFilter, Listed, Rows};

use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;

/// So many loops are judged together at most.
const BATCH: u32 = 8;

/// Add verified loops to the merge queue of a branch.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueMerges {
    /// The IDs of the loops, in the order in which they are to be merged.
    pub loops: Vec<String>,
    /// The branch to merge into; the one that the loops started from if left out.
    pub into: Option<String>,
    /// Take them out of the queue instead.
    pub remove: bool,
}

/// The merge queue of a project.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShowMerges {
    /// The project's directory.
    pub project: String,
    /// Only of this branch; the latest queue if left out.
    pub into: Option<String>,
}

/// Work off the merge queue of a project.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkMerges {
    /// The project's directory.
    pub project: String,
    /// Only of this branch; the latest open queue if left out.
    pub into: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergesReport {
    /// `null` if nothing was ever queued.
    pub queue: Option<MergesView>,
}

impl Request for QueueMerges {
    type Report = MergesReport;
    const NAME: &'static str = "queue_merges";

    async fn perform(self, here: &Local) -> Result<MergesReport, Problem> {
        if self.remove && !self.loops.is_empty() {
            return remove(here, &self.loops, self.into).await;
        }
        let mut candidates = Vec::new();
        let (mut project, mut target) = (None, self.into.clone());
        for id in &self.loops {
            let state = here.state_of(id).await?;
            let own = queueable(here, &state).await?;
            if project.as_ref().is_some_and(|known| *known != state.project) {
                return Err(Problem::new(Kind::Invalid, "the loops belong to different projects")
                    .field("loops")
                    .hint("queue the loops of one project at a time"));
            }
            if self.into.is_none() && target.as_ref().is_some_and(|known| *known != own) {
                return Err(Problem::new(Kind::Invalid, "the loops started from different branches")
                    .field("into")
                    .hint("name the branch to merge into with --into"));
            }
            project = Some(state.project.clone());
            target.get_or_insert(own);
            candidates.push(Candidate { loop_id: state.id.clone(), name: state.name.clone() });
        }
        let (Some(project), Some(target)) = (project, target) else {
            return Err(Problem::new(Kind::Invalid, "no loops to queue").field("loops").hint("name at least one loop"));
        };
        let engine = here.engine().await?;
        let row = match open_queue(&engine, &project, Some(&target)).await? {
            Some(row) => row,
            None => create(here, &engine, &project, &target).await?,
        };
        add(&engine, &GroupId(row), candidates).await?;
        ShowMerges { project, into: Some(target) }.perform(here).await
    }
}

/// The branch that a loop's work goes to, if it can be queued.
async fn queueable(here: &Local, state: &LoopState) -> Result<String, Problem> {
    let name = &state.name;
    if state.spec.workspace.kind != WorkspaceKind::Clone {
        return Err(Problem::refused(
            format!("{name}: the loop works in place, so its commits are already on your branch"),
            "see `git log`",
        ));
    }
    if !state.is_verified() {
        let word = state.outcome().map_or(state.status().name(), Outcome::name).replace('_', " ");
        return Err(Problem::refused(
            format!("{name}: the loop is {word}; the merge queue takes only verified loops"),
            format!("merge it yourself with `windlass merge {name}`"),
        ));
    }
    let home = here.readable().await?.workspace(state)?.home.branch;
    home.ok_or_else(|| {
        Problem::refused(format!("{name}: the loop did not start from a branch"), "name the branch with --into")
    })
}

/// The open queue of a branch, or of any; the newest.
async fn open_queue(engine: &Engine, project: &str, target: Option<&str>) -> Result<Option<String>, Problem> {
    Ok(queues(engine, project, target, true).await?.into_iter().next().map(|(row, _)| row.entry.id))
}

/// The queues of a project, the newest first.
async fn queues(
    engine: &Engine,
    project: &str,
    target: Option<&str>,
    open_only: bool,
) -> Result<Vec<(Listed, MergesView)>, Problem> {
    let filter = ListFilter {
        rows: Rows::Groups,
        project: Some(project.to_owned()),
        summaries: true,
        open_only,
        ..ListFilter::default()
    };
    let mut found = Vec::new();
    for row in engine.store.list(filter).await? {
        if GroupKind::of_name(&row.entry.kind) != Some(GroupKind::Merges) {
            continue;
        }
        let mut view: MergesView = serde_json::from_str(&row.entry.summary)
            .map_err(|error| Problem::new(Kind::Failed, format!("cannot read the catalogue: {error}")))?;
        view.status = status_word(&row).to_owned();
        if target.is_none_or(|target| view.target == target) {
            found.push((row, view));
        }
    }
    Ok(found)
}

async fn create(here: &Local, engine: &Arc<Engine>, project: &str, target: &str) -> Result<String, Problem> {
    let (context, root) = here.at(project).await?;
    let settings = context.settings(Some(&root), Options::default()).map_err(Problem::invalid)?;
    let returns = settings.merge_returns.value.map_or(2, |times| times.get());
    let wanted = format!("merge-{}", slug(target));
    let mut number = 1;
    let name = loop {
        let name = if number == 1 { wanted.clone() } else { format!("{wanted}-{number}") };
        if engine.store.find(project, &name).await?.is_none() {
            break name;
        }
        number += 1;
    };
    let first = MergesEvent::MergesCreated {
        id: GroupId(Uuid::now_v7().to_string()),
        name,
        project: project.to_owned(),
        spec: MergesSpec { target: target.to_owned(), batch: BATCH, returns },
    };
    let held = engine.create_group(&MergesKind, &first).await?;
    let id = held.state.id.0.clone();
    engine.release_group(held).await?;
    Ok(id)
}

/// Adds to a queue, whoever drives it.
async fn add(engine: &Arc<Engine>, id: &GroupId, candidates: Vec<Candidate>) -> Result<(), Problem> {
    let body = serde_json::json!(MergesCommand::Add { candidates }).to_string();
    tell(engine, id, &body).await
}

async fn tell(engine: &Arc<Engine>, id: &GroupId, body: &str) -> Result<(), Problem> {
    match engine.command_group(&MergesKind, id, body).await? {
        Answer::Refused { message } => Err(Problem::refused(message, "see the queue with `windlass merge --queue`")),
        Answer::Accepted { .. } | Answer::Done { .. } => Ok(()),
    }
}

/// Takes loops out of the queue that are not under way.
async fn remove(here: &Local, loops: &[String], into: Option<String>) -> Result<MergesReport, Problem> {
    let engine = here.engine().await?;
    let mut project = None;
    for id in loops {
        let state = here.state_of(id).await?;
        let queues = queues(&engine, &state.project, into.as_deref(), true).await?;
        let queued = queues.into_iter().find(|(_, view)| view.entries.iter().any(|entry| entry.id == *id));
        let (row, _) = queued.ok_or_else(|| {
            Problem::refused(format!("{}: the loop is in no merge queue", state.name), "see `windlass merge --queue`")
        })?;
        let body = serde_json::json!(MergesCommand::Remove { loop_id: state.id.clone() }).to_string();
        tell(&engine, &GroupId(row.entry.id), &body).await?;
        project = Some(state.project.clone());
    }
    ShowMerges { project: project.unwrap_or_default(), into }.perform(here).await
}

impl Request for ShowMerges {
    type Report = MergesReport;
    const NAME: &'static str = "merges";

    async fn perform(self, here: &Local) -> Result<MergesReport, Problem> {
        let (_, root) = here.at(&self.project).await?;
        let Some(engine) = here.reader().await? else { return Ok(MergesReport { queue: None }) };
        let all = queues(&engine, &root.to_string_lossy(), self.into.as_deref(), false).await?;
        Ok(MergesReport { queue: all.into_iter().next().map(|(_, view)| view) })
    }
}

impl WorkMerges {
    /// Takes the open queue, if there is one that nobody drives.
    pub async fn open(&self, here: &Local) -> Result<Option<(Arc<Engine>, HeldGroup<Merges>)>, Problem> {
        let (_, root) = here.at(&self.project).await?;
        let engine = here.engine().await?;
        let Some(id) = open_queue(&engine, &root.to_string_lossy(), self.into.as_deref()).await? else {
            return Ok(None);
        };
        let mut held = match engine.take_group::<Merges>(&GroupId(id)).await {
            Ok(held) => held,
            Err(EngineError::Driven { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if let Err(error) = engine.apply_group(&MergesKind, &mut held, &MergesInput::Resume).await {
            engine.release_group(held).await?;
            return Err(error.into());
        }
        Ok(Some((engine, held)))
    }
}

impl Request for WorkMerges {
    type Report = MergesReport;
    const NAME: &'static str = "work_merges";

    async fn perform(self, here: &Local) -> Result<MergesReport, Problem> {
        if let Some((engine, held)) = self.open(here).await? {
            let (_keep, shutdown) = watch::channel(false);
            engine.drive_group(Arc::new(MergesKind), held, shutdown)?.ended().await?;
        }
        ShowMerges { project: self.project, into: self.into }.perform(here).await
    }
}
