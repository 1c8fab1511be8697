//! Groups of loops: best of N, the queue of goals, and finding a group of any kind.

mod queue;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_core::group::tries::{Losers, Tries, TriesEvent, TriesInput, TriesSpec, TrySpec};
use windlass_core::group::{GroupId, GroupKind, GroupStatus};
use windlass_core::ids::{LoopId, slug};
use windlass_core::spec::WorkspaceKind;
use windlass_engine::engine::{Engine, status_word};
use windlass_engine::groups::{HeldGroup, MergesView, TriesCommand, TriesKind, TriesView};
use windlass_store::{ListFilter, Listed, Rows};

use crate::local::Local;
use crate::loops::page_after;
use crate::places::App;
use crate::problem::{Kind, Problem};
use crate::project;
use crate::request::Request;
use crate::requests::StartLoop;
use crate::start::{Prepared, prepared};
use crate::trust;

pub use queue::{AddGoal, AddGoals, AddedGoals, ListQueue, MoveGoal, OpenedQueue, RemoveGoal};

/// So many tries at most: each has a workspace of its own.
const MOST_TRIES: u32 = 16;

/// The same goal several times; the best is picked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StartTries {
    /// The loop that is tried.
    pub run: StartLoop,
    /// How many; one for each agent if left out.
    pub tries: Option<u32>,
    /// Agents as `agent` or `agent:model`, in turn. The same agent for all if empty.
    pub agents: Vec<String>,
    /// Stop the others when one is verified.
    pub first: bool,
    /// What becomes of the workspaces of the others.
    pub losers: Losers,
}

/// A group that was opened and that nobody drives yet.
#[derive(Debug)]
pub struct OpenedTries {
    pub engine: Arc<Engine>,
    pub held: HeldGroup<Tries>,
    /// What the user should know before it starts.
    pub notes: Vec<String>,
}

/// The group of a name or id, if there is one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FindGroup {
    /// Look in this project first; in every project if left out.
    pub project: Option<String>,
    pub name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FoundGroup {
    /// `null` if no group of tries has that name.
    pub group: Option<TriesView>,
    /// `null` if no merge queue has that name.
    #[serde(default)]
    pub merges: Option<MergesView>,
}

/// A group of any kind, as people and scripts see it.
#[derive(Debug, Clone)]
pub enum AnyView {
    Tries(TriesView),
    Merges(MergesView),
}

/// Groups, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListGroups {
    /// Only of this project.
    pub project: Option<String>,
    /// The ID of the last group of the page before.
    pub after: Option<String>,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GroupList {
    /// Tries of the same goal.
    pub groups: Vec<TriesView>,
    /// Merge queues.
    #[serde(default)]
    pub merges: Vec<MergesView>,
    /// The ID to ask for the next page with. A page counts groups of both kinds.
    #[serde(default)]
    pub next: Option<String>,
}

crate::loops::about_a_loop! {
    "A group with the comparison of its tries." ShowGroup
    "Stop it and all of its loops." StopGroup
    "Resume a group that was interrupted or is paused." ResumeGroup
}

/// An agent, and its model where one is named.
type AgentAndModel = (String, Option<String>);

impl StartTries {
    /// Creates the group. Nothing of it runs yet.
    pub async fn open(self, here: &Local) -> Result<OpenedTries, Problem> {
        let agents = self.wishes()?;
        let (context, root) = here.at(&self.run.project).await?;
        let base = self.run.base.clone().unwrap_or_else(|| "HEAD".to_owned());
        let found = context.workspaces()?.commit_facts(&root, &base).await?;
        let base = found.map(|facts| facts.commit).ok_or_else(|| {
            Problem::new(Kind::Invalid, format!("no commit '{base}' to start from")).field("base").hint("name a commit")
        })?;
        let engine = here.engine().await?;
        let project = root.to_string_lossy().into_owned();
        let name = self.free_name(&engine, &project, agents.len()).await?;
        let (mut tries, mut notes, mut consent) = (Vec::new(), Vec::new(), None);
        for (number, wish) in (1..).zip(&agents) {
            let mut run =
                StartLoop { base: Some(base.clone()), name: Some(format!("{name}-{number}")), ..self.run.clone() };
            if let Some((agent, model)) = wish {
                run.settings.insert("agent".to_owned(), agent.as_str().into());
                run.settings.extend(model.as_ref().map(|model| ("model".to_owned(), model.as_str().into())));
            }
            let agreed = run.trust.take();
            let (mut one, settings) = prepared(here, run).await?;
            refuse_in_place(&one, "tries run beside each other, so they cannot work in your checkout")?;
            one.notes.extend(project::check(&here.context, &one.project, &one.spec).await?);
            consent = Some(trust::consent(here, &one.project, &one.spec, &settings, agreed).await?);
            let Prepared { name, mut spec, branch_template, notes: more, .. } = one;
            notes.extend(more.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
            spec.workspace.branch = match branch_template.contains("{name}") {
                true => branch_template.replace("{name}", &name),
                false => format!("{branch_template}-{number}"),
            };
            tries.push(TrySpec { loop_id: LoopId(Uuid::now_v7().to_string()), name, spec: Box::new(spec) });
        }
        let limits = tries.first().map(|each| each.spec.limits.clone()).unwrap_or_default();
        let (Some(consent), Some(goal)) = (consent, tries.first().map(|each| each.spec.goal.clone())) else {
            return Err(Problem::new(Kind::Invalid, "no tries"));
        };
        let spec = TriesSpec {
            goal,
            tries,
            first: self.first,
            losers: self.losers,
            budget_usd: limits.budget_usd,
            max_tokens: limits.max_tokens,
        };
        let id = GroupId(Uuid::now_v7().to_string());
        let first = TriesEvent::TriesCreated { id, name, project, spec: Box::new(spec) };
        let held = TriesKind::create(&engine, first, consent).await?;
        Ok(OpenedTries { engine, held, notes })
    }

    /// The agent and model of each try; none where the settings say it.
    fn wishes(&self) -> Result<Vec<Option<AgentAndModel>>, Problem> {
        let invalid = |message: String, hint: &str| Problem::new(Kind::Invalid, message).field("tries").hint(hint);
        let named = u32::try_from(self.agents.len()).unwrap_or(u32::MAX);
        let count = self.tries.unwrap_or(named);
        if !(2..=MOST_TRIES).contains(&count) {
            let message = format!("{count} tries: there must be 2 to {MOST_TRIES}");
            return Err(invalid(message, "use --tries 3, or name the agents with --agents A,B"));
        }
        if named > count {
            let message = format!("{named} agents for {count} tries");
            return Err(invalid(message, "raise --tries, or name fewer agents"));
        }
        let wishes = self.agents.iter().map(|wish| {
            let (agent, model) = match wish.trim().split_once(':') {
                Some((agent, model)) => (agent, Some(model.to_owned())),
                None => (wish.trim(), None),
            };
            if agent.is_empty() || model.as_ref().is_some_and(String::is_empty) {
                return Err(invalid(format!("'{wish}' is not an agent"), "write agent or agent:model").field("agents"));
            }
            Ok(Some((agent.to_owned(), model)))
        });
        let wishes: Vec<_> = wishes.collect::<Result<_, _>>()?;
        let all = (0..count as usize).map(|index| wishes.get(index % wishes.len().max(1)).cloned().flatten());
        Ok(all.collect())
    }

    /// A name that neither the group nor one of its tries shares with anything in the project.
    async fn free_name(&self, engine: &Engine, project: &str, tries: usize) -> Result<String, Problem> {
        let wanted = match &self.run.name {
            Some(name) => name.clone(),
            None => Some(slug(&self.run.goal)).filter(|slug| !slug.is_empty()).unwrap_or_else(|| "tries".to_owned()),
        };
        let mut number = 1;
        loop {
            let name = if number == 1 { wanted.clone() } else { format!("{wanted}-{number}") };
            let mut names = vec![name.clone()];
            names.extend((1..=tries).map(|index| format!("{name}-{index}")));
            let mut taken = None;
            for each in names {
                if engine.store.find(project, &each).await?.is_some() {
                    taken = Some(each);
                    break;
                }
            }
            match taken {
                None => return Ok(name),
                Some(taken) if self.run.name.is_some() => {
                    return Err(windlass_store::StoreError::NameTaken { name: taken }.into());
                }
                Some(_) => number += 1,
            }
        }
    }
}

fn refuse_in_place(one: &Prepared, message: &str) -> Result<(), Problem> {
    match one.spec.workspace.kind {
        WorkspaceKind::Clone => Ok(()),
        WorkspaceKind::InPlace | WorkspaceKind::External => {
            Err(Problem::new(Kind::Invalid, message).field("in_place").hint("remove --in-place"))
        }
    }
}

impl Request for StartTries {
    type Report = TriesView;
    const NAME: &'static str = "start_tries";

    async fn perform(self, here: &Local) -> Result<TriesView, Problem> {
        let OpenedTries { engine, held, .. } = self.open(here).await?;
        here.hand_tries(&engine, held).await
    }
}

impl ResumeGroup {
    /// Takes a group that nobody drives. Tries that wait for a person are opened again if nothing else is left to do.
    pub async fn open(self, here: &Local) -> Result<OpenedTries, Problem> {
        let engine = here.engine().await?;
        let listed = found(here, &self.id).await?;
        let mut held = engine.take_group::<Tries>(&GroupId(listed.entry.id)).await?;
        let opened = match held.state.status {
            GroupStatus::Running => Ok(()),
            GroupStatus::Paused | GroupStatus::Ended(_) => {
                engine.apply_group(&TriesKind, &mut held, &TriesInput::Resume).await.map(drop)
            }
        };
        if let Err(error) = opened {
            engine.release_group(held).await?;
            return Err(error.into());
        }
        Ok(OpenedTries { engine, held, notes: Vec::new() })
    }
}

impl Request for ResumeGroup {
    type Report = TriesView;
    const NAME: &'static str = "resume_group";

    async fn perform(self, here: &Local) -> Result<TriesView, Problem> {
        let OpenedTries { engine, held, .. } = self.open(here).await?;
        here.hand_tries(&engine, held).await
    }
}

impl Request for ShowGroup {
    type Report = TriesView;
    const NAME: &'static str = "group";

    async fn perform(self, here: &Local) -> Result<TriesView, Problem> {
        view(&found(here, &self.id).await?)
    }
}

impl Request for StopGroup {
    type Report = TriesView;
    const NAME: &'static str = "stop_group";

    async fn perform(self, here: &Local) -> Result<TriesView, Problem> {
        use windlass_engine::command::Answer;
        let engine = here.engine().await?;
        let id = GroupId(found(here, &self.id).await?.entry.id);
        let body = serde_json::json!(TriesCommand::Stop).to_string();
        if let Answer::Refused { message } = engine.command_group(&TriesKind, &id, &body).await? {
            return Err(Problem::refused(message, "see it with `windlass status`"));
        }
        engine.settle_group(Arc::new(TriesKind), &id).await?;
        view(&found(here, &id.0).await?)
    }
}

impl Request for ListGroups {
    type Report = GroupList;
    const NAME: &'static str = "groups";

    async fn perform(self, here: &Local) -> Result<GroupList, Problem> {
        let mut list = GroupList { groups: Vec::new(), merges: Vec::new(), next: None };
        let Some(engine) = here.reader().await? else { return Ok(list) };
        let filter = ListFilter { rows: Rows::Groups, project: self.project, summaries: true, ..ListFilter::default() };
        let mut rows = engine.store.list(filter).await?;
        page_after(&mut rows, self.after.as_deref(), None, |row| row.entry.id.clone())?;
        let limit = self.limit.unwrap_or(usize::MAX).max(1);
        for row in rows {
            let Some(view) = any_view(&row)? else { continue };
            if list.groups.len() + list.merges.len() == limit {
                return Ok(list);
            }
            match view {
                AnyView::Tries(view) => list.groups.push(view),
                AnyView::Merges(view) => list.merges.push(view),
            }
            list.next = Some(row.entry.id);
        }
        list.next = None;
        Ok(list)
    }
}

impl Request for FindGroup {
    type Report = FoundGroup;
    const NAME: &'static str = "find_group";

    async fn perform(self, here: &Local) -> Result<FoundGroup, Problem> {
        let found = match self.row(here).await? {
            Some(row) => any_view(&row)?,
            None => None,
        };
        Ok(match found {
            Some(AnyView::Tries(view)) => FoundGroup { group: Some(view), merges: None },
            Some(AnyView::Merges(view)) => FoundGroup { group: None, merges: Some(view) },
            None => FoundGroup { group: None, merges: None },
        })
    }
}

impl FindGroup {
    /// What has that name, be it a loop or a group. What is in this project goes before a group of another one.
    async fn row(&self, here: &Local) -> Result<Option<Listed>, Problem> {
        let Some(engine) = here.reader().await? else { return Ok(None) };
        let in_project = match &self.project {
            Some(project) => engine.store.find(project, &self.name).await?,
            None => None,
        };
        if let Some(row) = in_project {
            return Ok(Some(row));
        }
        if let Some(row) = engine.store.get(&self.name).await? {
            return Ok(Some(row));
        }
        let filter = ListFilter { rows: Rows::All, summaries: false, ..ListFilter::default() };
        let rows = engine.store.list(filter).await?;
        let named: Vec<&Listed> = rows.iter().filter(|row| row.entry.name == self.name).collect();
        match named[..] {
            [only] => Ok(engine.store.get(&only.entry.id).await?),
            _ => Ok(None),
        }
    }
}

impl App {
    /// The group of this name or id, if there is one.
    pub async fn find_group(&self, name: Option<&str>) -> Result<Option<AnyView>, Problem> {
        let Some(name) = name else { return Ok(None) };
        let project = match self {
            App::Here(local) => local.context.project_if_any().await.map(|path| path.to_string_lossy().into_owned()),
            App::There(_) => None,
        };
        let found = self.run(FindGroup { project, name: name.to_owned() }).await?;
        Ok(found.group.map(AnyView::Tries).or(found.merges.map(AnyView::Merges)))
    }
}

/// A group by the row of the catalogue; `None` for a loop.
fn any_view(row: &Listed) -> Result<Option<AnyView>, Problem> {
    Ok(match GroupKind::of_name(&row.entry.kind) {
        Some(GroupKind::Tries) => Some(AnyView::Tries(view(row)?)),
        Some(GroupKind::Merges) => Some(AnyView::Merges(MergesView::of_row(row).map_err(unreadable)?)),
        Some(GroupKind::Queue) => None,
        None => None,
    })
}

/// A group of tries by its id.
async fn found(here: &Local, id: &str) -> Result<Listed, Problem> {
    let engine = here.readable().await?;
    let is_tries = |row: &Listed| GroupKind::of_name(&row.entry.kind) == Some(GroupKind::Tries);
    let row = engine.store.get(id).await?.filter(is_tries);
    row.ok_or_else(|| Problem::new(Kind::NotFound, format!("group '{id}' not found")).hint("see `windlass list`"))
}

fn view(row: &Listed) -> Result<TriesView, Problem> {
    let mut view: TriesView = serde_json::from_str(&row.entry.summary).map_err(unreadable)?;
    view.status = status_word(row).to_owned();
    Ok(view)
}

fn unreadable(error: serde_json::Error) -> Problem {
    Problem::new(Kind::Failed, format!("cannot read the catalogue: {error}"))
}
