//! The merge queue: verified loops, merged onto one branch in order.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use windlass_core::group::GroupId;
use windlass_core::group::merges::{Candidate, Merges};
use windlass_core::machine::LoopState;
use windlass_core::spec::WorkspaceKind;
use windlass_core::stop::Outcome;
use windlass_engine::command::Answer;
use windlass_engine::config::Options;
use windlass_engine::engine::Engine;
use windlass_engine::groups::{AnyGroup, HeldGroup, MergesCommand, MergesKind, MergesOf, MergesView};

use crate::local::Local;
use crate::loops::page;
use crate::problem::{Kind, Problem};
use crate::request::Request;

/// Add verified loops to the merge queue of a branch.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueMerges {
    /// The IDs of the loops, in the order in which they are to be merged.
    pub loops: Vec<String>,
    /// The branch to merge into; the one that the loops started from if left out.
    pub into: Option<String>,
    /// Start to work the queue off in the background. A paused queue stays paused.
    pub start: bool,
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
    /// Leave out so many: a page begins where the one before it ended.
    pub after: usize,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

/// Work off the merge queue of a project in the background, paused or not.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkMerges {
    /// The project's directory.
    pub project: String,
    /// Only of this branch; the latest open queue if left out.
    pub into: Option<String>,
    /// Answer only when the queue is done or paused.
    pub wait: bool,
}

/// Stop a merge queue. Loops that are not merged are taken out of it, and those that resolve a conflict are stopped.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StopMerges {
    #[schemars(skip)]
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MergesReport {
    /// `null` if nothing was ever queued.
    pub queue: Option<MergesView>,
}

/// A queue that was opened and that nobody drives yet.
#[derive(Debug)]
pub struct OpenedMerges {
    pub engine: Arc<Engine>,
    pub held: HeldGroup<Merges>,
}

/// What became of the work of a loop that others build on.
#[derive(Debug)]
pub enum BroughtIn {
    /// It is merged, or there is nothing to merge.
    Done,
    /// The queue that merges it. Nobody drives it yet.
    Opened(Box<OpenedMerges>),
    /// It is not merged now, for this reason.
    Held(String),
}

impl Local {
    /// Has the merge queue merge the work of a loop that completed, unless it did or refused that before.
    pub async fn bring_in(&self, loop_id: &str) -> Result<BroughtIn, Problem> {
        let state = self.state_of(loop_id).await?;
        if state.merged.is_some() || state.outcome().is_none() {
            return Ok(BroughtIn::Done);
        }
        let engine = self.engine().await?;
        let queues = engine.merge_queues(Some(&state.project), None).await?;
        let known = queues.into_iter().find_map(|view| {
            let entry = view.entries.iter().rev().find(|entry| entry.id == loop_id)?;
            Some((entry.status.clone(), view))
        });
        let see = |view: &MergesView, what: &str| format!("{what}; see `windlass status {}`", view.name);
        let id = match known {
            Some((entry, _)) if entry == "merged" => return Ok(BroughtIn::Done),
            Some((entry, view)) if entry == "refused" => {
                return Ok(BroughtIn::Held(see(&view, "the merge queue refused it")));
            }
            Some((_, view)) if view.status == "paused" => {
                return Ok(BroughtIn::Held(see(&view, "the merge queue is paused")));
            }
            Some((_, view)) => GroupId(view.id),
            None => {
                let (of, candidates) =
                    QueueMerges { loops: vec![loop_id.to_owned()], ..QueueMerges::default() }.entries(self).await?;
                engine.queue_merges(&of, candidates).await?
            }
        };
        Ok(match engine.open_merges(&id).await? {
            Some(held) => BroughtIn::Opened(Box::new(OpenedMerges { engine, held })),
            None => BroughtIn::Held("another process works on the merge queue".to_owned()),
        })
    }
}

impl Request for QueueMerges {
    type Report = MergesReport;
    const NAME: &'static str = "queue_merges";

    async fn perform(self, here: &Local) -> Result<MergesReport, Problem> {
        if self.remove {
            return remove(here, &self.loops, self.into.as_deref()).await;
        }
        let (of, candidates) = self.entries(here).await?;
        let engine = here.engine().await?;
        let id = engine.queue_merges(&of, candidates).await?;
        if self.start {
            start(here, &engine, &id).await?;
        }
        shown(here, &of.project, &id.0).await
    }
}

impl QueueMerges {
    /// The queue that is meant, and what is to be in it.
    async fn entries(&self, here: &Local) -> Result<(MergesOf, Vec<Candidate>), Problem> {
        let mut candidates: Vec<Candidate> = Vec::new();
        let (mut project, mut target) = (None, self.into.clone());
        for id in &self.loops {
            let state = here.state_of(id).await?;
            let own = queueable(here, &state).await?;
            if project.as_ref().is_some_and(|known| *known != state.project) {
                return Err(Problem::new(Kind::Invalid, "the loops belong to different projects")
                    .field("loops")
                    .hint("queue the loops of one project at a time"));
            }
            if self.into.is_none() {
                let own = own.ok_or_else(|| {
                    let message = format!("{}: the loop did not start from a branch", state.name);
                    Problem::new(Kind::Invalid, message).field("into").hint("name the branch with --into")
                })?;
                if target.as_ref().is_some_and(|known| *known != own) {
                    return Err(Problem::new(Kind::Invalid, "the loops started from different branches")
                        .field("into")
                        .hint("name the branch to merge into with --into"));
                }
                target = Some(own);
            }
            project = Some(state.project.clone());
            if candidates.iter().all(|known| known.loop_id != state.id) {
                candidates.push(Candidate { loop_id: state.id.clone(), name: state.name.clone() });
            }
        }
        let (Some(project), Some(target)) = (project, target) else {
            return Err(Problem::new(Kind::Invalid, "no loops to queue").field("loops").hint("name at least one loop"));
        };
        let (context, root) = here.at(&project).await?;
        if context.workspaces()?.commit_facts(&root, &format!("refs/heads/{target}")).await?.is_none() {
            return Err(Problem::new(Kind::Invalid, format!("branch '{target}' does not exist"))
                .field("into")
                .hint("name a branch of the project with --into"));
        }
        let settings = context.settings(Some(&root), Options::default()).map_err(Problem::invalid)?;
        let returns = settings.merge_returns.value.map_or(2, |times| times.get());
        Ok((MergesOf { project, target, returns }, candidates))
    }
}

/// The branch that a loop's work goes to, if it can be queued.
async fn queueable(here: &Local, state: &LoopState) -> Result<Option<String>, Problem> {
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
    Ok(here.readable().await?.workspace(state)?.home.branch)
}

/// Has a queue that nobody drives worked off in the background. One that is paused is left to a person.
async fn start(here: &Local, engine: &Arc<Engine>, id: &GroupId) -> Result<(), Problem> {
    let queues = engine.merge_queues(None, None).await?;
    let waits = queues.iter().any(|view| view.id == id.0 && matches!(view.status.as_str(), "queued" | "interrupted"));
    if let Some(held) = if waits { engine.open_merges(id).await? } else { None } {
        here.hand_group(engine, AnyGroup::Merges(Box::new(held))).await?;
    }
    Ok(())
}

/// Takes loops out of the queue that are not under way.
async fn remove(here: &Local, loops: &[String], into: Option<&str>) -> Result<MergesReport, Problem> {
    let engine = here.engine().await?;
    let mut changed = None;
    for id in loops {
        let state = here.state_of(id).await?;
        let queues = engine.merge_queues(Some(&state.project), into).await?;
        let is_in = |view: &MergesView| view.is_open() && view.entries.iter().any(|entry| entry.id == *id);
        let queue = queues.into_iter().find(is_in).ok_or_else(|| {
            Problem::refused(format!("{}: the loop is in no merge queue", state.name), "see `windlass merge --queue`")
        })?;
        let body = serde_json::json!(MergesCommand::Remove { loop_id: state.id.clone() }).to_string();
        let answer = engine.command_group(&MergesKind, &GroupId(queue.id.clone()), &body).await?;
        if let Answer::Refused { message } = answer {
            let hint = format!("see it with `windlass status {}`", queue.name);
            return Err(Problem::refused(format!("{}: {message}", state.name), hint));
        }
        changed = Some((state.project.clone(), queue.id));
    }
    match changed {
        Some((project, id)) => shown(here, &project, &id).await,
        None => Err(Problem::new(Kind::Invalid, "no loops to remove").field("loops").hint("name at least one loop")),
    }
}

/// A queue by its ID.
async fn shown(here: &Local, project: &str, id: &str) -> Result<MergesReport, Problem> {
    let queues = here.readable().await?.merge_queues(Some(project), None).await?;
    Ok(MergesReport { queue: queues.into_iter().find(|view| view.id == id) })
}

impl Request for ShowMerges {
    type Report = MergesReport;
    const NAME: &'static str = "merges";

    async fn perform(self, here: &Local) -> Result<MergesReport, Problem> {
        let (_, root) = here.at(&self.project).await?;
        let Some(engine) = here.reader().await? else { return Ok(MergesReport { queue: None }) };
        let queues = engine.merge_queues(Some(&root.to_string_lossy()), self.into.as_deref()).await?;
        let open = queues.iter().find(|view| view.is_open()).or(queues.first());
        let mut queue = open.cloned();
        if let Some(queue) = &mut queue {
            page(&mut queue.entries, self.after, self.limit);
        }
        Ok(MergesReport { queue })
    }
}

impl WorkMerges {
    /// The open queue, and what is needed to drive it if nobody does.
    pub async fn open(&self, here: &Local) -> Result<Option<(MergesView, Option<OpenedMerges>)>, Problem> {
        let (_, root) = here.at(&self.project).await?;
        let engine = here.engine().await?;
        let queues = engine.merge_queues(Some(&root.to_string_lossy()), self.into.as_deref()).await?;
        let Some(view) = queues.into_iter().find(MergesView::is_open) else { return Ok(None) };
        let held = engine.open_merges(&GroupId(view.id.clone())).await?;
        Ok(Some((view, held.map(|held| OpenedMerges { engine, held }))))
    }
}

impl Request for WorkMerges {
    type Report = MergesReport;
    const NAME: &'static str = "work_merges";

    async fn perform(self, here: &Local) -> Result<MergesReport, Problem> {
        let show = ShowMerges { project: self.project.clone(), into: self.into.clone(), ..ShowMerges::default() };
        let Some((view, opened)) = self.open(here).await? else { return show.perform(here).await };
        if let Some(OpenedMerges { engine, held }) = opened {
            here.hand_group(&engine, AnyGroup::Merges(Box::new(held))).await?;
        }
        let engine = here.engine().await?;
        if self.wait {
            let (_keep, shutdown) = watch::channel(false);
            engine.driven_to_rest(&GroupId(view.id.clone()), shutdown).await?;
        }
        shown(here, &view.project, &view.id).await
    }
}

impl Request for StopMerges {
    type Report = MergesReport;
    const NAME: &'static str = "stop_merges";

    async fn perform(self, here: &Local) -> Result<MergesReport, Problem> {
        let engine = here.engine().await?;
        let view = engine.merge_queues(None, None).await?.into_iter().find(|view| view.id == self.id);
        let view = view.ok_or_else(|| {
            Problem::new(Kind::NotFound, format!("merge queue '{}' not found", self.id)).hint("see `windlass list`")
        })?;
        let id = GroupId(view.id.clone());
        let body = serde_json::json!(MergesCommand::Stop).to_string();
        if let Answer::Refused { message } = engine.command_group(&MergesKind, &id, &body).await? {
            return Err(Problem::refused(message, format!("see it with `windlass status {}`", view.name)));
        }
        engine.settle_group(Arc::new(MergesKind), &id).await?;
        shown(here, &view.project, &id.0).await
    }
}
