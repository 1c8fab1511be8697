//! The queue of goals.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use uuid::Uuid;
use windlass_core::group::GroupId;
use windlass_core::group::queue::{After, GoalSpec, Merging, NewGoal, Position, Queue, QueueInput, QueueLimits};
use windlass_core::ids::LoopId;
use windlass_engine::command::Answer;
use windlass_engine::config::{MergeBy, Options, Percent, Slots};
use windlass_engine::engine::{Engine, EngineError, status_word};
use windlass_engine::groups::member::report_of;
use windlass_engine::groups::{GoalView, HeldGroup, PreparesGoals, QueueCommand, QueueKind, QueueView};
use windlass_engine::loops::NewLoop;
use windlass_store::{ListFilter, Listed, StoreError};

use super::refuse_in_place;
use crate::local::Local;
use crate::loops::page_after;
use crate::problem::{Kind, Problem};
use crate::project;
use crate::request::Request;
use crate::requests::StartLoop;
use crate::start::prepared;
use crate::trust;
use crate::work::QueueMerges;

/// So many goals in one request at most.
const MOST_GOALS: usize = 1_000;

/// Goals for the queue: all of them are added, or none.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddGoals {
    pub goals: Vec<AddGoal>,
    /// Start each goal only when the one before it is verified.
    #[serde(default)]
    pub in_order: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddGoal {
    /// The loop that the goal becomes.
    pub run: StartLoop,
    /// Goals that have to be verified first: their numbers, or names of this project or this request.
    #[serde(default)]
    pub after: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AddedGoals {
    pub goals: Vec<GoalView>,
    /// What the user should know about them.
    pub notes: Vec<String>,
    /// Some process works the queue off.
    pub driven: bool,
}

/// The goals in their order, and why each one waits.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListQueue {
    /// Only goals of this project.
    pub project: Option<String>,
    /// The ID of the last goal of the page before.
    pub after: Option<String>,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

/// Put a goal elsewhere in the order. Exactly one of the three says where.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MoveGoal {
    /// Its number, or its name.
    #[schemars(skip)]
    pub id: String,
    pub before: Option<String>,
    pub first: bool,
    pub last: bool,
}

/// Take a goal out of the queue. Its loop, if it has one, stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RemoveGoal {
    /// Its number, or its name.
    #[schemars(skip)]
    pub id: String,
}

/// The queue, taken by this process, that nobody drives yet.
#[derive(Debug)]
pub struct OpenedQueue {
    pub engine: Arc<Engine>,
    pub kind: Arc<QueueKind>,
    pub held: HeldGroup<Queue>,
}

/// Makes loops of goals with the settings of their projects.
#[derive(Debug)]
struct Prepares(Local);

#[async_trait]
impl PreparesGoals for Prepares {
    async fn prepare(&self, goal: &GoalSpec) -> Result<NewLoop, String> {
        let request: StartLoop = serde_json::from_value(goal.request.clone()).map_err(|error| error.to_string())?;
        let (one, settings) = prepared(&self.0, request).await.map_err(words)?;
        project::check(&self.0.context, &one.project, &one.spec).await.map_err(words)?;
        let consent = trust::consent(&self.0, &one.project, &one.spec, &settings, None).await.map_err(words)?;
        Ok(one.agreed(consent))
    }

    async fn merge(&self, goal: &GoalSpec, shutdown: watch::Receiver<bool>) -> Merging {
        match merged(&self.0, goal, shutdown).await {
            Ok(merging) => merging,
            Err(problem) => Merging::Refused { message: words(problem) },
        }
    }
}

fn words(problem: Problem) -> String {
    match problem.hint {
        Some(hint) => format!("{}; {hint}", problem.message),
        None => problem.message,
    }
}

/// Adds the loop of a goal to the merge queue of its branch and works that off.
async fn merged(here: &Local, goal: &GoalSpec, shutdown: watch::Receiver<bool>) -> Result<Merging, Problem> {
    let id = &goal.loop_id.0;
    let report = QueueMerges { loops: vec![id.clone()], ..QueueMerges::default() }.perform(here).await?;
    let Some(queue) = report.queue else { return Ok(Merging::Open) };
    let engine = here.engine().await?;
    engine.work_merges(&GroupId(queue.id.clone()), shutdown.clone()).await?;
    let queues = engine.merge_queues(Some(&goal.project), None).await?;
    let entry = queues
        .iter()
        .find(|view| view.id == queue.id)
        .and_then(|view| view.entries.iter().rev().find(|entry| entry.id == *id).map(|entry| entry.status.as_str()));
    let refused =
        |message: &str| Merging::Refused { message: format!("{message}; see `windlass status {}`", queue.name) };
    Ok(match entry {
        Some("merged") => Merging::Merged,
        Some("refused") => refused("the merge queue refused it"),
        Some(_) | None if *shutdown.borrow() => Merging::Open,
        Some(_) | None => refused("the merge queue is paused"),
    })
}

impl Local {
    fn queue_kind(&self, engine: &Arc<Engine>, stays: bool) -> Arc<QueueKind> {
        Arc::new(QueueKind { prepares: Arc::new(Prepares(self.again(engine))), stays })
    }

    /// Takes the queue to work it off; `merge` wins over the setting. `None` if there is no queue.
    pub async fn open_queue(&self, stays: bool, merge: Option<bool>) -> Result<Option<OpenedQueue>, Problem> {
        let engine = self.engine().await?;
        let kind = self.queue_kind(&engine, stays);
        if engine.store.get(&QueueKind::id().0).await?.is_none() {
            return Ok(None);
        }
        let mut held = match engine.take_group::<Queue>(&QueueKind::id()).await {
            Ok(held) => held,
            Err(EngineError::Driven { .. }) => {
                let message = "another process is already working on the queue";
                return Err(Problem::refused(message, "see it with `windlass queue list`"));
            }
            Err(error) => return Err(error.into()),
        };
        let opened = match self.queue_limits(&engine) {
            Ok((limits, merges)) => engine
                .apply_group(kind.as_ref(), &mut held, &QueueInput::Open { limits, merge: merge.unwrap_or(merges) })
                .await
                .map(drop)
                .map_err(Problem::from),
            Err(problem) => Err(problem),
        };
        match opened {
            Ok(()) => Ok(Some(OpenedQueue { engine, kind, held })),
            Err(problem) => {
                engine.release_group(held).await?;
                Err(problem)
            }
        }
    }

    /// The limits, and whether verified goals are merged.
    fn queue_limits(&self, engine: &Engine) -> Result<(QueueLimits, bool), Problem> {
        let settings = self.context.settings(None, Options::default())?;
        let (known, keep) = (QueueLimits::default(), settings.queue_keep.value);
        let or = |set: Option<Slots>, default: u32| set.map_or(default, Slots::get);
        let limits = QueueLimits {
            per_project: or(settings.queue_per_project.value, known.per_project),
            per_account: or(settings.queue_per_account.value, known.per_account),
            machine: engine.places.max(),
            tokens_per_hour: settings.queue_tokens_per_hour.value.map(|most| share_of_tokens(keep, most.get())),
            usd_per_hour: settings
                .queue_usd_per_hour
                .value
                .map(|most| keep.map_or(most.get(), |keep| keep.left_of(most.get()))),
            window_percent: keep.and_then(share_of_window),
        };
        Ok((limits, settings.merge.value == Some(MergeBy::Queue)))
    }

    /// Has the queue's driver do something, or does it here if it has none.
    async fn tell_queue(&self, command: &QueueCommand, hint: &str) -> Result<(), Problem> {
        let engine = self.engine().await?;
        let kind = self.queue_kind(&engine, false);
        kind.ensure(&engine).await?;
        let body = serde_json::json!(command).to_string();
        match engine.command_group(kind.as_ref(), &QueueKind::id(), &body).await? {
            Answer::Refused { message } => Err(Problem::refused(message, hint)),
            Answer::Accepted { .. } | Answer::Done { .. } => Ok(()),
        }
    }
}

fn share_of_tokens(keep: Option<Percent>, tokens: u64) -> u64 {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
    let share = |keep: Percent| keep.left_of(tokens as f64) as u64;
    keep.map_or(tokens, share).max(1)
}

/// In percent; none if nothing is kept.
fn share_of_window(keep: Percent) -> Option<u32> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 100")]
    let share = keep.left_of(100.0).ceil() as u32;
    (share < 100).then_some(share)
}

/// The queue as it is now; an empty one if there is none.
async fn shown(here: &Local) -> Result<QueueView, Problem> {
    let none = QueueView { goals: Vec::new(), limits: QueueLimits::default(), driven: false };
    let Some(engine) = here.reader().await? else { return Ok(none) };
    let Some(row) = engine.store.get(&QueueKind::id().0).await? else { return Ok(none) };
    let mut view: QueueView = serde_json::from_str(&row.entry.summary)
        .map_err(|error| Problem::new(Kind::Failed, format!("cannot read the catalogue: {error}")))?;
    view.driven = row.is_driven();
    let ids = view.goals.iter().map(|goal| goal.id.clone()).collect();
    let rows = engine.store.list(ListFilter { ids: Some(ids), summaries: true, ..ListFilter::default() }).await?;
    for goal in &mut view.goals {
        let Some(row) = rows.iter().find(|row| row.entry.id == goal.id) else { continue };
        goal.name = Some(row.entry.name.clone());
        goal.status = as_loop(goal, row, view.driven);
        // The queue hears of an end a moment later.
        goal.verified |= report_of(row).is_some_and(|report| report.is_verified());
    }
    Ok(view)
}

/// The status of a goal that has a loop. A goal that waits for its account keeps the word for that. While a process works the queue
/// off, a loop without a driver was just made, so it is not interrupted.
fn as_loop(goal: &GoalView, row: &Listed, queue_is_driven: bool) -> String {
    match (goal.status.as_str(), status_word(row)) {
        ("failed" | "rate_limited", _) => goal.status.clone(),
        (_, "interrupted") if queue_is_driven => goal.status.clone(),
        (_, word) => word.to_owned(),
    }
}

/// A goal by its number or name.
fn found<'a>(view: &'a QueueView, id: &str) -> Result<&'a GoalView, Problem> {
    let number: Option<u32> = id.trim_start_matches('#').parse().ok();
    let goal = view.goals.iter().find(|goal| Some(goal.number) == number || goal.name.as_deref() == Some(id));
    goal.ok_or_else(|| {
        Problem::new(Kind::NotFound, format!("goal '{}' is not in the queue", id.escape_debug()))
            .hint("see the goals with `windlass queue list`")
    })
}

impl Request for ListQueue {
    type Report = QueueView;
    const NAME: &'static str = "queue";

    async fn perform(self, here: &Local) -> Result<QueueView, Problem> {
        let mut view = shown(here).await?;
        if let Some(project) = &self.project {
            view.goals.retain(|goal| goal.project == *project);
        }
        page_after(&mut view.goals, self.after.as_deref(), self.limit, |goal| goal.id.clone())?;
        Ok(view)
    }
}

impl Request for AddGoals {
    type Report = AddedGoals;
    const NAME: &'static str = "add_goals";

    async fn perform(self, here: &Local) -> Result<AddedGoals, Problem> {
        let invalid = |message: String, hint: &str| Problem::new(Kind::Invalid, message).field("goals").hint(hint);
        if self.goals.is_empty() {
            return Err(invalid("no goals".to_owned(), "write a goal"));
        }
        if self.goals.len() > MOST_GOALS {
            let message = format!("{} goals: there must be at most {MOST_GOALS} at once", self.goals.len());
            return Err(invalid(message, "add them in parts"));
        }
        let view = shown(here).await?;
        let names: Vec<Option<String>> = self.goals.iter().map(|goal| goal.run.name.clone()).collect();
        let mut new: Vec<NewGoal> = Vec::new();
        let mut notes: Vec<String> = Vec::new();
        for (index, goal) in self.goals.into_iter().enumerate() {
            let (spec, more) = checked(here, goal.run).await?;
            notes.extend(more.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<_>>());
            if let Some(name) = &spec.name {
                free_name(here, &view, &new, &spec.project, name).await?;
            }
            let mut after = goal.after.iter().map(|id| dependency(&view, &names, &spec.project, id));
            let mut after = after.by_ref().collect::<Result<Vec<After>, Problem>>()?;
            if self.in_order && index > 0 {
                after.push(After::New { index: u32::try_from(index - 1).unwrap_or(u32::MAX) });
            }
            new.push(NewGoal { after, spec });
        }
        let ids: Vec<String> = new.iter().map(|goal| goal.spec.loop_id.0.clone()).collect();
        here.tell_queue(&QueueCommand::Add { goals: new }, "see the goals with `windlass queue list`").await?;
        let mut view = shown(here).await?;
        view.goals.retain(|goal| ids.contains(&goal.id));
        Ok(AddedGoals { goals: view.goals, notes, driven: view.driven })
    }
}

/// A goal that `run` would take, with what the user should know about it. Its agent is fixed, because goals are counted by it.
async fn checked(here: &Local, mut run: StartLoop) -> Result<(GoalSpec, Vec<String>), Problem> {
    let agreed = run.trust.take();
    let (mut one, settings) = prepared(here, run.clone()).await?;
    refuse_in_place(&one, "goals run beside each other, so they cannot work in your checkout")?;
    one.notes.extend(project::check(&here.context, &one.project, &one.spec).await?);
    trust::consent(here, &one.project, &one.spec, &settings, agreed).await?;
    if run.agent_command.is_none() {
        run.settings.insert("agent".to_owned(), one.spec.agent.name.as_str().into());
    }
    let spec = GoalSpec {
        loop_id: LoopId(Uuid::now_v7().to_string()),
        project: one.project.to_string_lossy().into_owned(),
        goal: run.goal.clone(),
        name: run.name.clone(),
        account: one.spec.agent.name.clone(),
        request: serde_json::json!(run),
    };
    Ok((spec, one.notes))
}

/// A name that no loop and no other goal of the project has.
async fn free_name(here: &Local, view: &QueueView, new: &[NewGoal], project: &str, name: &str) -> Result<(), Problem> {
    let queued = view.goals.iter().any(|goal| goal.project == project && goal.name.as_deref() == Some(name));
    let twice = new.iter().any(|goal| goal.spec.project == project && goal.spec.name.as_deref() == Some(name));
    let is_loop = match here.reader().await? {
        Some(engine) => engine.store.find(project, name).await?.is_some(),
        None => false,
    };
    if queued || twice || is_loop {
        return Err(StoreError::NameTaken { name: name.to_owned() }.into());
    }
    Ok(())
}

fn dependency(view: &QueueView, names: &[Option<String>], project: &str, id: &str) -> Result<After, Problem> {
    if let Some(index) = names.iter().position(|name| name.as_deref() == Some(id)) {
        return Ok(After::New { index: u32::try_from(index).unwrap_or(u32::MAX) });
    }
    let named = view.goals.iter().find(|goal| goal.project == project && goal.name.as_deref() == Some(id));
    let goal = match named {
        Some(goal) => goal,
        None => found(view, id).map_err(|problem| problem.field("after"))?,
    };
    Ok(After::Goal { number: goal.number })
}

impl Request for MoveGoal {
    type Report = QueueView;
    const NAME: &'static str = "move_goal";

    async fn perform(self, here: &Local) -> Result<QueueView, Problem> {
        let view = shown(here).await?;
        let number = found(&view, &self.id)?.number;
        let to = match (&self.before, self.first, self.last) {
            (Some(other), false, false) => Position::Before { number: found(&view, other)?.number },
            (None, true, false) => Position::First,
            (None, false, true) => Position::Last,
            (None | Some(_), ..) => {
                let message = "there must be one place to move the goal to";
                return Err(Problem::new(Kind::Invalid, message).hint("use one of --before ID, --first and --last"));
            }
        };
        here.tell_queue(&QueueCommand::Move { number, to }, "move a goal that has not started").await?;
        shown(here).await
    }
}

impl Request for RemoveGoal {
    type Report = QueueView;
    const NAME: &'static str = "remove_goal";

    async fn perform(self, here: &Local) -> Result<QueueView, Problem> {
        let view = shown(here).await?;
        let goal = found(&view, &self.id)?;
        let dependent = view.goals.iter().find(|other| other.after.contains(&goal.number) && other.why.is_some());
        let hint = match (dependent, &goal.name) {
            (Some(other), _) => format!("remove goal {} first", other.number),
            (None, Some(name)) => format!("stop its loop first with `windlass stop {name}`"),
            (None, None) => "see the goals with `windlass queue list`".to_owned(),
        };
        here.tell_queue(&QueueCommand::Remove { number: goal.number }, &hint).await?;
        shown(here).await
    }
}
