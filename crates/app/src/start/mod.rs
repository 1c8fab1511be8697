//! New loops.

pub(crate) mod open;
pub(crate) mod plan_rows;

use std::path::PathBuf;

use jiff::Timestamp;
use windlass_core::ids::{LoopId, slug};
use windlass_core::machine::{Event, LoopState};
use windlass_core::spec::{LoopSpec, WorkspaceKind};
use windlass_engine::config::{
    DefaultFor, MachineFacts, Options, Recipes, RunOptions, Settings, read_plan, resolve_spec,
};
use windlass_engine::loops::NewLoop;
use windlass_engine::trust::{Consent, Seen, agreed_to_no_sandbox};
use windlass_engine::view::LoopView;

use crate::context::Context;
use crate::local::Local;
use crate::local::Opened;
use crate::open::leaves_to_the_background;
use crate::plan_rows::plan_rows;
use crate::problem::{Kind, Problem};
use crate::project::Found;
use crate::request::{Opens, Request};
use crate::requests::{PreviewLoop, StartLoop};
use crate::views::{Preview, PreviewLine};
use crate::{agents, project, settings, trust};

leaves_to_the_background!(StartLoop => "start");

impl Opens for StartLoop {
    async fn open(mut self, here: &Local) -> Result<Opened, Problem> {
        let agreed = self.trust.take();
        let (prepared, settings) = prepared(here, self).await?;
        create(here, prepared, &settings, agreed).await
    }
}

impl Request for PreviewLoop {
    type Report = Preview;
    const NAME: &'static str = "preview";

    async fn perform(self, here: &Local) -> Result<Preview, Problem> {
        let (mut new, settings) = prepared(here, self.0).await?;
        new.notes.extend(project::check(&here.context, &new.project, &new.spec).await?);
        let demands = trust::of_loop(here, &new.project, &new.spec, &settings).await?;
        let trust = demands.granted().is_none().then_some(demands.list);
        let name = new.name.clone();
        let branch = new.branch_template.replace("{name}", &name);
        let kind = new.spec.workspace.kind;
        let created = Event::LoopCreated {
            id: LoopId(String::new()),
            name: name.clone(),
            project: new.project.to_string_lossy().into_owned(),
            spec: Box::new(new.spec),
        };
        let state = LoopState::created(Timestamp::now(), &created);
        let mut rows = state.map(|state| plan_rows(&state)).unwrap_or_default();
        let place = match kind {
            WorkspaceKind::Clone => vec![("where", "a separate clone".to_owned()), ("branch", branch)],
            WorkspaceKind::InPlace | WorkspaceKind::External => {
                vec![("where", format!("in your checkout {}", new.project.display()))]
            }
        };
        let after = rows.iter().position(|(label, _)| *label == "limits").unwrap_or(rows.len());
        rows.splice(after..after, place);
        let lines = rows.into_iter().map(|(label, text)| PreviewLine { label: label.to_owned(), text }).collect();
        Ok(Preview { name, lines, notes: new.notes, settings: settings::shown(&settings), trust })
    }
}

/// Makes a loop, if somebody agrees to what the project's own files run.
pub(crate) async fn create(
    here: &Local,
    mut prepared: Prepared,
    settings: &Settings,
    agreed: Option<Vec<Seen>>,
) -> Result<Opened, Problem> {
    for warning in &settings.warnings {
        here.context.warn(warning);
    }
    prepared.notes.extend(project::check(&here.context, &prepared.project, &prepared.spec).await?);
    let consent = trust::consent(here, &prepared.project, &prepared.spec, settings, agreed).await?;
    let engine = here.engine().await?;
    let notes = std::mem::take(&mut prepared.notes);
    let held = engine.create(prepared.agreed(consent)).await?;
    Ok(Opened { engine, held, seen: 0, notes })
}

pub(crate) async fn prepared(here: &Local, request: StartLoop) -> Result<(Prepared, Settings), Problem> {
    let (context, root) = here.at(&request.project).await?;
    let mut options = Options::from_json(&request.settings)?;
    // `--iter` and `--time` set a target, so they select the recipe for one.
    if request.iter.is_some() || request.time.is_some() {
        let recipes = Recipes::find(&context.paths, Some(&root))?;
        options.recipe.get_or_insert_with(|| recipes.default_for(DefaultFor::Target));
    }
    let settings = context.settings(Some(&root), options).map_err(Problem::invalid)?;
    if request.goal.trim().is_empty() {
        return Err(Problem::new(Kind::Invalid, "the goal is empty").field("goal").hint("write a goal"));
    }
    let wanted = RunOptions {
        goal: request.goal,
        name: request.name.unwrap_or_default(),
        agent_command: request.agent_command,
        reviewer_command: request.reviewer_command,
        no_loop: request.no_loop,
        iter: request.iter,
        time: request.time,
        base: request.base,
        allow_dirty: request.allow_dirty,
        ..RunOptions::default()
    };
    let prepared = prepare(&context, root, &settings, wanted).map_err(Problem::invalid)?;
    Ok((prepared, settings))
}

/// A loop that can be made, and what its user should know before.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) project: PathBuf,
    pub(crate) name: String,
    /// The name was made here, so that it may get a number.
    pub(crate) numbered: bool,
    pub(crate) spec: LoopSpec,
    pub(crate) branch_template: String,
    pub(crate) notes: Vec<String>,
}

impl Prepared {
    /// The loop, to which somebody has agreed.
    pub(crate) fn agreed(self, consent: Consent) -> NewLoop {
        let Self { project, name, numbered, spec, branch_template, notes: _ } = self;
        NewLoop { id: None, project, name, numbered, spec, branch_template, consent }
    }
}

/// Makes of what somebody asks for, here or over the API, a loop that can be made. Without a name it gets one.
pub(crate) fn prepare(
    context: &Context,
    project: PathBuf,
    settings: &Settings,
    wanted: RunOptions,
) -> Result<Prepared, Problem> {
    let numbered = wanted.name.is_empty();
    let slugged = slug(&wanted.goal);
    let name = match numbered {
        false => wanted.name.clone(),
        true if slugged.is_empty() => {
            let hex = uuid::Uuid::now_v7().simple().to_string();
            format!("loop-{}", &hex[24..])
        }
        true => slugged,
    };
    let plan = read_plan(settings, &context.cwd, &project)?;
    let resolved = resolve_spec(
        settings,
        &RunOptions {
            name: name.clone(),
            installed_agent: agents::first_installed(context),
            plan: plan.text,
            sandbox: context.sandbox(settings),
            agreed_to_no_sandbox: agreed_to_no_sandbox(&context.data(), &project),
            machine: MachineFacts::of_this_one(),
            cwd: context.cwd.clone(),
            project_root: project.clone(),
            ..wanted
        },
    )?;
    let mut notes = resolved.notes;
    notes.extend(plan.notes);
    if resolved.spec.gates.iter().any(|gate| gate.hidden) && resolved.spec.sandbox.is_off() {
        notes.push("the sandbox is off, so the agent can read the hidden gates in Windlass's data".to_owned());
    }
    if resolved.spec.gates.is_empty()
        && let Some(flags) = Found::for_a_loop(&context.cwd, &project).flags()
    {
        notes.push(format!("no gates; suggested for this project: {flags}"));
    }
    let branch_template =
        settings.branch.value.as_ref().map_or("windlass/{name}".to_owned(), |branch| branch.as_str().to_owned());
    Ok(Prepared { project, name, numbered, spec: resolved.spec, branch_template, notes })
}
