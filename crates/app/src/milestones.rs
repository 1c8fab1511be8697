//! Milestones: files of a project, and the loops that build them.

use std::path::Path;
use std::sync::Arc;

use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_core::milestone::{Criterion, Feature, FrontMatter, Milestone};
use windlass_engine::config::{
    DefaultFor, DoneKind, Iterations, MachineFacts, Options, Recipes, RunOptions, Settings, resolve_spec,
};
use windlass_engine::engine::{Engine, status_word};
use windlass_engine::journal;
use windlass_engine::milestones::{self, Found};
use windlass_engine::trust::agreed_to_no_sandbox;
use windlass_engine::view::LoopView;
use windlass_store::Listed;

use crate::context::Context;
use crate::local::Local;
use crate::local::Opened;
use crate::loops::page_after;
use crate::open::leaves_to_the_background;
use crate::problem::{Kind, Problem};
use crate::reports::{MilestoneReport, MilestoneView};
use crate::request::{Opens, Request};
use crate::requests::{MilestoneOf, MilestoneOrder, MilestonesOf, NewMilestone, StartMilestone};
use crate::start::{Prepared, create};
use crate::views::MilestoneBoard;
use crate::{agents, loops};

impl Request for MilestonesOf {
    type Report = MilestoneBoard;
    const NAME: &'static str = "milestones";

    async fn perform(self, here: &Local) -> Result<MilestoneBoard, Problem> {
        let (_, root) = here.at(&self.project).await?;
        let mut board = board(here, &root).await?;
        page_after(&mut board.milestones, self.after.as_deref(), self.limit, |row| row.id.clone())?;
        Ok(board)
    }
}

impl Request for MilestoneOf {
    type Report = MilestoneView;
    const NAME: &'static str = "milestone";

    async fn perform(self, here: &Local) -> Result<MilestoneView, Problem> {
        let (_, root) = here.at(&self.project).await?;
        let engine = here.reader().await?;
        let found = milestones::load(&root, &self.id)?;
        let standing = Standing::of(engine.as_deref(), &root.to_string_lossy(), found).await?;
        let state = standing.state(engine.as_ref()).await?;
        Ok(MilestoneView { milestone: standing.report(), edited: standing.is_edited(state.as_ref()) })
    }
}

impl Request for NewMilestone {
    type Report = MilestoneBoard;
    const NAME: &'static str = "add_milestone";

    async fn perform(self, here: &Local) -> Result<MilestoneBoard, Problem> {
        let (_, root) = here.at(&self.project).await?;
        let features = self.features.iter().map(|text| Feature::read(text)).collect::<Result<_, _>>();
        let features = features.map_err(|error| {
            Problem::new(Kind::Invalid, error.what.to_string()).field("features").hint(error.hint.to_string())
        })?;
        let criteria = self.criteria.into_iter().map(|text| Criterion { text, done: false }).collect();
        let milestone = Milestone {
            id: self.id,
            title: self.title,
            goal: self.goal,
            features,
            acceptance_criteria: criteria,
            constraints: self.constraints,
            front_matter: FrontMatter {
                requires_human_review: self.human_review.then_some(true),
                order: self.order,
                ..FrontMatter::default()
            },
        };
        milestones::add(&root, &milestone).map_err(|error| Problem::from(error).invalid())?;
        board(here, &root).await
    }
}

impl Request for MilestoneOrder {
    type Report = MilestoneBoard;
    const NAME: &'static str = "order_milestones";

    async fn perform(self, here: &Local) -> Result<MilestoneBoard, Problem> {
        let (_, root) = here.at(&self.project).await?;
        milestones::reorder(&root, &self.ids).map_err(|error| Problem::from(error).invalid())?;
        board(here, &root).await
    }
}

leaves_to_the_background!(StartMilestone => "start_milestone");

impl Opens for StartMilestone {
    async fn open(self, here: &Local) -> Result<Opened, Problem> {
        let (context, root) = here.at(&self.project).await?;
        let found = milestones::load(&root, &self.id)?;
        let name = milestones::loop_name(&self.id);
        let engine = here.engine().await?;
        if let Some(listed) = engine.store.find(&root.to_string_lossy(), &name).await? {
            return Err(Problem::refused(
                format!("the milestone '{}' was already started; it is {}", self.id, status_word(&listed)),
                format!(
                    "resume it with `windlass resume {name}`, or apply an edited file with `windlass restart {name}`"
                ),
            ));
        }
        let flags = Options::from_json(&self.settings)?;
        let recipes = Recipes::find(&context.paths, Some(&root))?;
        let recipe = flags.recipe.clone().unwrap_or_else(|| recipes.default_for(DefaultFor::Milestone));
        let options = of_milestone(&found.milestone, recipe, flags);
        let settings = context.settings(Some(&root), options).map_err(Problem::invalid)?;
        let commands = (self.agent_command, self.reviewer_command);
        let prepared = prepare(&context, &root, &settings, found, commands).await?;
        create(here, prepared, &settings, self.trust).await
    }
}

async fn board(here: &Local, project: &Path) -> Result<MilestoneBoard, Problem> {
    let engine = here.reader().await?;
    let mut board = MilestoneBoard { milestones: Vec::new(), broken: Vec::new() };
    for found in milestones::list(project) {
        match found {
            Ok(found) => {
                let standing = Standing::of(engine.as_deref(), &project.to_string_lossy(), found).await?;
                board.milestones.push(standing.report());
            }
            Err(error) => {
                let hint = error.hint().map_or(String::new(), |hint| format!(" ({hint})"));
                board.broken.push(format!("{error}{hint}"));
            }
        }
    }
    Ok(board)
}

/// A milestone with its loop, if it was ever started.
#[derive(Debug)]
struct Standing {
    found: Found,
    listed: Option<Listed>,
}

impl Standing {
    async fn of(engine: Option<&Engine>, project: &str, found: Found) -> Result<Self, Problem> {
        let name = milestones::loop_name(&found.milestone.id);
        let listed = match engine {
            Some(engine) => engine.store.find(project, &name).await?,
            None => None,
        };
        Ok(Self { found, listed })
    }

    /// `pending`, else the words of its loop.
    fn status(&self) -> &str {
        self.listed.as_ref().map_or("pending", |listed| status_word(listed))
    }

    /// Its loop as it is now.
    async fn state(&self, engine: Option<&Arc<Engine>>) -> Result<Option<LoopState>, Problem> {
        match (engine, &self.listed) {
            (Some(engine), Some(listed)) => {
                Ok(Some(journal::load(engine.store.as_ref(), &LoopId(listed.entry.id.clone())).await?))
            }
            _ => Ok(None),
        }
    }

    /// Whether its file says something else than what its loop was started with.
    fn is_edited(&self, state: Option<&LoopState>) -> bool {
        let started_with = state.and_then(|state| state.spec.review.as_ref()?.milestone.as_ref());
        started_with.is_some_and(|started| *started != self.found.milestone)
    }

    fn report(&self) -> MilestoneReport {
        let milestone = &self.found.milestone;
        MilestoneReport {
            id: milestone.id.clone(),
            title: milestone.title.clone(),
            file: self.found.path.clone(),
            status: self.status().to_owned(),
            requires_human_review: milestone.front_matter.requires_human_review.unwrap_or(false),
            order: milestone.front_matter.order,
            created_at: self.found.created_at,
            features: milestone.features.clone(),
            acceptance_criteria: milestone.acceptance_criteria.clone(),
            branch: milestones::branch(&milestone.id),
            r#loop: self.listed.as_ref().and_then(|listed| loops::view(listed).ok()),
        }
    }
}

/// What the milestone's own file says, below the flags.
fn of_milestone(milestone: &Milestone, recipe: String, flags: Options) -> Options {
    let front = &milestone.front_matter;
    Options {
        recipe: Some(recipe),
        agent: flags.agent.or_else(|| front.agent.clone()),
        model: flags.model.or_else(|| front.model.clone()),
        reviewer: flags.reviewer.or_else(|| front.reviewer.clone()),
        max_iterations: flags.max_iterations.or_else(|| front.max_iterations.and_then(|max| Iterations::new(max).ok())),
        human_review: flags.human_review.or(front.requires_human_review),
        ..flags
    }
}

/// The loop of a milestone as it can be made.
async fn prepare(
    context: &Context,
    project: &Path,
    settings: &Settings,
    found: Found,
    (agent_command, reviewer_command): (Option<String>, Option<String>),
) -> Result<Prepared, Problem> {
    if settings.in_use.as_ref().is_some_and(|recipe| recipe.done != DoneKind::Verdict) {
        return Err(Problem::refused(
            format!("the recipe '{}' has no acceptor", settings.recipe.value.clone().unwrap_or_default()),
            "use a recipe with done = \"verdict\", such as the built-in recipe milestone",
        ));
    }
    let id = found.milestone.id.clone();
    let name = milestones::loop_name(&id);
    let resolved = resolve_spec(
        settings,
        &RunOptions {
            goal: found.milestone.goal.clone(),
            name: name.clone(),
            agent_command,
            installed_agent: agents::first_installed(context),
            reviewer_command,
            documents: milestones::documents(settings, project)?,
            base: Some(context.workspaces()?.default_branch(project).await?),
            milestone: Some(found.milestone),
            sandbox: context.sandbox(settings),
            agreed_to_no_sandbox: agreed_to_no_sandbox(&context.data(), project),
            machine: MachineFacts::of_this_one(),
            cwd: context.cwd.clone(),
            project_root: project.to_owned(),
            ..RunOptions::default()
        },
    )?;
    Ok(Prepared {
        project: project.to_owned(),
        name,
        numbered: false,
        spec: resolved.spec,
        branch_template: milestones::branch(&id),
        notes: resolved.notes,
    })
}
