//! Loops as they stand, and what people tell them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::ids::LoopId;
use windlass_engine::activity;
use windlass_engine::command::{Answer, Command};
use windlass_engine::engine::{Engine, status_word};
use windlass_engine::feed::LastWords;
use windlass_engine::journal;
use windlass_engine::view::{LoopView, UsageView};
use windlass_store::{ListFilter, Listed};

use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;
use crate::requests::{AnswerLoop, PauseLoop, SteerLoop};
use crate::views::{FindingsView, LoopSummary, PlanView, ProjectView};
use crate::words::one_line;

/// A request that only names a loop.
macro_rules! about_a_loop {
    ($($doc:literal $name:ident)*) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            #[schemars(skip)]
            pub id: String,
        }
    )*};
}
pub(crate) use about_a_loop;

/// A request for what grows with a loop, page by page.
macro_rules! pages_of_a_loop {
    ($($doc:literal $name:ident)*) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            #[schemars(skip)]
            pub id: String,
            /// Leave out so many: a page begins where the one before it ended.
            pub after: usize,
            /// At most so many; all if not said.
            pub limit: Option<usize>,
        }
    )*};
}
pub(crate) use pages_of_a_loop;

/// Keeps one page of what was read.
pub(crate) fn page<T>(all: &mut Vec<T>, after: usize, limit: Option<usize>) {
    all.drain(..after.min(all.len()));
    all.truncate(limit.unwrap_or(usize::MAX));
}

/// Keeps the page after the row with this key. A row that is gone has no next page: starting over would repeat rows.
pub(crate) fn page_after<T>(
    all: &mut Vec<T>,
    after: Option<&str>,
    limit: Option<usize>,
    key: impl Fn(&T) -> String,
) -> Result<(), Problem> {
    if let Some(after) = after {
        let place = all.iter().position(|row| key(row) == after).ok_or_else(|| no_such_row(after))?;
        all.drain(..=place);
    }
    all.truncate(limit.unwrap_or(usize::MAX));
    Ok(())
}

pub(crate) fn no_such_row(after: &str) -> Problem {
    Problem::new(Kind::Invalid, format!("'{after}' is not in this list"))
        .field("after")
        .hint("read the list from its beginning")
}

about_a_loop! {
    "A loop, in the format of `status --json`." ShowLoop
    "Its plan and sections." LoopPlan
    "Tokens and cost by role and model." LoopUsage
    "Stop it now." StopLoop
}

/// What its reviewers found.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoopFindings {
    #[schemars(skip)]
    pub id: String,
    /// The ID of the last finding of the page before.
    pub after: Option<String>,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

/// Projects that have loops.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListProjects {
    /// The path of the last project of the page before.
    pub after: Option<String>,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

/// A loop's `status --json`, with the word that readers put in.
pub fn view(listed: &Listed) -> Result<LoopView, Problem> {
    let mut view: LoopView = serde_json::from_str(&listed.entry.summary)
        .map_err(|error| Problem::new(Kind::Failed, format!("cannot read the catalogue: {error}")))?;
    view.status = status_word(listed).to_owned();
    // Another machine may have written the view, with its own path of the project.
    view.project.clone_from(&listed.entry.project);
    Ok(view)
}

/// The same with its history, which the catalogue has only of ended loops.
pub(crate) async fn whole_view(engine: &Engine, listed: &Listed) -> Result<LoopView, Problem> {
    let mut view = view(listed)?;
    if listed.entry.open && view.iterations > 0 && view.history.is_empty() {
        let state = journal::load(engine.store.as_ref(), &LoopId(listed.entry.id.clone())).await?;
        view.history = LoopView::history_of(&state);
    }
    Ok(view)
}

/// A row of the list.
pub fn summary(engine: &Engine, listed: &Listed) -> Result<LoopSummary, Problem> {
    let view = LoopView { history: Vec::new(), ..view(listed)? };
    Ok(lively(engine, listed, view))
}

pub(crate) fn lively(engine: &Engine, listed: &Listed, view: LoopView) -> LoopSummary {
    let seen = if listed.entry.open {
        activity::activity(&engine.data, &listed.entry.id, engine.clock.now())
    } else {
        activity::Activity::default()
    };
    let last_activity_at = seen.last_at.filter(|at| *at > view.updated_at).unwrap_or(view.updated_at);
    LoopSummary { view, activity: seen.intervals, last_activity_at, driven: listed.is_driven(), last_words: None }
}

/// The last line of a running loop's agent, safe to show. None if it cannot be read: a list goes on without it.
pub async fn last_words(engine: &Engine, listed: &Listed, known: &mut LastWords) -> Option<String> {
    const LONGEST: usize = 240;
    if status_word(listed) != "running" {
        return None;
    }
    let id = LoopId(listed.entry.id.clone());
    let line = known.read(engine, &id, listed.head).await.ok()??;
    Some(one_line(line, LONGEST))
}

impl Request for ListProjects {
    type Report = Vec<ProjectView>;
    const NAME: &'static str = "projects";

    async fn perform(self, here: &Local) -> Result<Vec<ProjectView>, Problem> {
        let mut projects: BTreeMap<String, ProjectView> = BTreeMap::new();
        let new = |path: &str| ProjectView {
            path: path.to_owned(),
            name: path.rsplit('/').next().unwrap_or(path).to_owned(),
            loops: 0,
            open: 0,
        };
        if let Some(root) = here.context.project_if_any().await {
            let path = root.to_string_lossy().into_owned();
            projects.insert(path.clone(), new(&path));
        }
        let listed = match here.reader().await? {
            Some(engine) => engine.store.list(ListFilter::default()).await?,
            None => Vec::new(),
        };
        for listed in listed {
            let path = listed.entry.project.clone();
            let project = projects.entry(path).or_insert_with_key(|path| new(path));
            project.loops += 1;
            project.open += usize::from(listed.entry.open);
        }
        let mut projects: Vec<ProjectView> = projects.into_values().collect();
        page_after(&mut projects, self.after.as_deref(), self.limit, |project| project.path.clone())?;
        Ok(projects)
    }
}

impl Request for ShowLoop {
    type Report = LoopView;
    const NAME: &'static str = "status";

    async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
        whole_view(&*here.readable().await?, &here.found(&self.id).await?).await
    }
}

impl Request for LoopFindings {
    type Report = FindingsView;
    const NAME: &'static str = "findings";

    async fn perform(self, here: &Local) -> Result<FindingsView, Problem> {
        let state = here.state_of(&self.id).await?;
        let mut findings = state.review.map(|review| review.findings().all().to_vec()).unwrap_or_default();
        page_after(&mut findings, self.after.as_deref(), self.limit, |finding| finding.id.to_string())?;
        Ok(FindingsView { findings })
    }
}

impl Request for LoopPlan {
    type Report = PlanView;
    const NAME: &'static str = "plan";

    async fn perform(self, here: &Local) -> Result<PlanView, Problem> {
        let state = here.state_of(&self.id).await?;
        let sections = LoopView::of(&state).review.map(|review| review.sections).unwrap_or_default();
        let plan = state.review.as_ref().and_then(|review| review.plan.clone());
        Ok(PlanView { plan, sections, text: state.spec.context.plan.clone() })
    }
}

impl Request for LoopUsage {
    type Report = UsageView;
    const NAME: &'static str = "usage";

    async fn perform(self, here: &Local) -> Result<UsageView, Problem> {
        Ok(view(&here.found(&self.id).await?)?.usage)
    }
}

/// Asks the loop's driver, or does it itself where nobody drives, and shows how the loop stands then.
async fn ask(here: &Local, id: &str, command: Command) -> Result<LoopView, Problem> {
    let id = here.found(id).await?.entry.id;
    match here.engine().await?.command(&LoopId(id.clone()), &command).await? {
        Answer::Accepted { .. } | Answer::Done { .. } => {
            whole_view(&*here.readable().await?, &here.found(&id).await?).await
        }
        Answer::Refused { message } => Err(Problem::refused(message, "check it with `windlass status`")),
    }
}

impl Request for StopLoop {
    type Report = LoopView;
    const NAME: &'static str = "stop";

    async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
        ask(here, &self.id, Command::Stop).await
    }
}

impl Request for PauseLoop {
    type Report = LoopView;
    const NAME: &'static str = "pause";

    async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
        ask(here, &self.id, Command::Pause { now: self.now }).await
    }
}

impl Request for SteerLoop {
    type Report = LoopView;
    const NAME: &'static str = "steer";

    async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
        if self.message.trim().is_empty() {
            return Err(Problem::new(Kind::Invalid, "the message is empty")
                .field("message")
                .hint("write a message for the agent"));
        }
        ask(here, &self.id, Command::Steer { text: self.message, now: self.now }).await
    }
}

impl Request for AnswerLoop {
    type Report = LoopView;
    const NAME: &'static str = "answer";

    async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
        if self.text.trim().is_empty() {
            return Err(Problem::new(Kind::Invalid, "the answer is empty").field("text").hint("write an answer"));
        }
        ask(here, &self.id, Command::Answer { question: self.question, text: self.text }).await
    }
}
