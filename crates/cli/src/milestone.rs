//! `windlass milestone`.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use windlass_core::machine::LoopState;
use windlass_core::milestone::{Criterion, Feature, FrontMatter, Milestone};
use windlass_engine::config::{Iterations, MachineFacts, Options, RunOptions, Settings, resolve_spec};
use windlass_engine::engine::{Engine, Held};
use windlass_engine::milestones::{self, Found, MilestonesError};
use windlass_server::{MilestoneReport, MilestoneView};
use windlass_store::Listed;

use crate::args::{AddArgs, MilestoneArgs, MilestoneCommand, StartArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{self, Prepared, print};
use crate::style::{Style, one_line};
use crate::{agent_report, follow, loops, status, trust};

pub async fn milestone(context: &Context, args: &MilestoneArgs) -> Result<Exit, Failure> {
    match &args.command {
        MilestoneCommand::Add(args) => add(context, args).await,
        MilestoneCommand::List { json } => list(context, *json).await,
        MilestoneCommand::Show { id, json } => show(context, id, *json).await,
        MilestoneCommand::Start(args) => start(context, args).await,
    }
}

impl From<MilestonesError> for Failure {
    fn from(error: MilestonesError) -> Self {
        let hint = error.hint();
        Failure::of(Exit::Usage, &error, hint)
    }
}

async fn add(context: &Context, args: &AddArgs) -> Result<Exit, Failure> {
    let project = context.project().await?;
    let features = args.features.iter().map(|text| Feature::read(text)).collect::<Result<_, _>>();
    let features = features.map_err(|error| Failure::usage(format!("--feature: {}", error.what), error.hint))?;
    let milestone = Milestone {
        id: args.id.clone(),
        title: args.title.clone(),
        goal: args.goal.clone(),
        features,
        acceptance_criteria: args.criteria.iter().map(|text| Criterion { text: text.clone(), done: false }).collect(),
        constraints: args.constraints.clone().unwrap_or_default(),
        front_matter: FrontMatter {
            requires_human_review: args.human_review.then_some(true),
            order: args.order,
            ..FrontMatter::default()
        },
    };
    let path = milestones::add(&project, &milestone)?;
    let shown = path.strip_prefix(&project).unwrap_or(&path).display().to_string();
    print(&format!("made {shown}\n  start    windlass milestone start {}\n", args.id));
    Ok(Exit::Completed)
}

/// A milestone with its loop, if it was ever started.
#[derive(Debug)]
pub struct Standing {
    found: Found,
    listed: Option<Listed>,
}

impl Standing {
    pub async fn of(engine: Option<&Engine>, project: &str, found: Found) -> Result<Self, Failure> {
        let name = milestones::loop_name(&found.milestone.id);
        let listed = match engine {
            Some(engine) => engine.store.find(project, &name).await?,
            None => None,
        };
        Ok(Self { found, listed })
    }

    /// `pending`, else the words of its loop.
    fn status(&self) -> &str {
        self.listed.as_ref().map_or("pending", |listed| loops::word(listed))
    }

    /// Its loop as it is now.
    pub async fn state(&self, engine: Option<&Arc<Engine>>) -> Result<Option<LoopState>, Failure> {
        match (engine, &self.listed) {
            (Some(engine), Some(listed)) => Ok(Some(follow::state(engine, &loops::id(listed)).await?)),
            _ => Ok(None),
        }
    }

    /// Whether its file says something else than what its loop was started with.
    pub fn is_edited(&self, state: Option<&LoopState>) -> bool {
        let started_with = state.and_then(|state| state.spec.review.as_ref()?.milestone.as_ref());
        started_with.is_some_and(|started| *started != self.found.milestone)
    }

    pub fn report(&self) -> MilestoneReport {
        let milestone = &self.found.milestone;
        let summary = self.listed.as_ref().map(crate::list::summary_json);
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
            r#loop: summary.and_then(|text| serde_json::from_str(&text).ok()),
        }
    }
}

async fn list(context: &Context, as_json: bool) -> Result<Exit, Failure> {
    let project = context.project().await?;
    let engine = context.reader().await?;
    let mut rows = Vec::new();
    let mut broken = Vec::new();
    for found in milestones::list(&project) {
        match found {
            Ok(found) => rows.push(Standing::of(engine.as_deref(), &project.to_string_lossy(), found).await?),
            Err(error) => broken.push(error),
        }
    }
    for error in &broken {
        eprintln!("warning: {error}{}", error.hint().map_or(String::new(), |hint| format!(" ({hint})")));
    }
    if as_json {
        let rows: Vec<_> = rows.iter().map(Standing::report).collect();
        print(&format!("{}\n", json!(rows)));
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for row in &rows {
        let milestone = &row.found.milestone;
        let features = milestone.features.len();
        let _ = writeln!(
            text,
            "{:<20} {:<16} {features:>2} features  {}",
            one_line(&milestone.id, 20),
            style.status(row.status()),
            one_line(&milestone.title, 60)
        );
    }
    if rows.is_empty() && broken.is_empty() {
        text.push_str("no milestones yet: windlass milestone add ID --title \"…\" --goal \"…\" --feature \"…\" --criterion \"…\"\n");
    }
    print(&text);
    Ok(Exit::Completed)
}

async fn show(context: &Context, id: &str, as_json: bool) -> Result<Exit, Failure> {
    let project = context.project().await?;
    let engine = context.reader().await?;
    let standing = Standing::of(engine.as_deref(), &project.to_string_lossy(), milestones::load(&project, id)?).await?;
    let state = standing.state(engine.as_ref()).await?;
    let edited = standing.is_edited(state.as_ref());
    if as_json {
        print(&format!("{}\n", json!(MilestoneView { milestone: standing.report(), edited })));
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = format!("{}\n", style.bold(&format!("milestone {id}: {}", standing.found.milestone.title)));
    let _ = writeln!(text, "  status   {}", style.status(standing.status()));
    let _ = writeln!(text, "  branch   {}", milestones::branch(id));
    if edited {
        let _ = writeln!(
            text,
            "  {}",
            style.warn(&format!(
                "edited since it was started: `windlass restart {}` takes the new text",
                milestones::loop_name(id)
            ))
        );
    }
    let accepted = state.as_ref().and_then(|state| state.review.as_ref()).map(|review| review.accepted.clone());
    for feature in &standing.found.milestone.features {
        let done = feature.done
            || accepted
                .iter()
                .flatten()
                .any(|done| done.id.as_deref().is_some_and(|id| id.eq_ignore_ascii_case(&feature.id)));
        let mark = if done { style.good("✓") } else { "·".to_owned() };
        let _ = writeln!(text, "  {mark} {} {}", feature.id, one_line(&feature.text, 100));
    }
    if let Some(state) = &state {
        text.push_str(&status::summary(state, standing.status(), style));
    }
    print(&text);
    Ok(Exit::Completed)
}

async fn start(context: &Context, args: &StartArgs) -> Result<Exit, Failure> {
    let project = context.project().await?;
    let found = milestones::load(&project, &args.id)?;
    let name = milestones::loop_name(&args.id);
    let engine = context.engine().await?;
    if let Some(listed) = engine.store.find(&project.to_string_lossy(), &name).await? {
        return Err(Failure::usage(
            format!("the milestone '{}' was started already; it is {}", args.id, loops::word(&listed)),
            format!("`windlass resume {name}` goes on, `windlass restart {name}` takes an edited file into account"),
        ));
    }
    let settings = context.settings(Some(&project), of_milestone(&found.milestone, args.options()))?;
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    let commands = (args.agent_command.clone(), args.reviewer_command.clone());
    let (held, notes) = create(context, &engine, &project, settings, found, commands, args.trust).await?;
    if !args.watching().json {
        print(&status::plan(&held.state, &notes, Style::for_stdout()));
    }
    run::go(context, &engine, held, args.watching(), 0).await
}

/// What the milestone's own file says, below the flags.
pub fn of_milestone(milestone: &Milestone, flags: Options) -> Options {
    let front = &milestone.front_matter;
    Options {
        recipe: Some("milestone".to_owned()),
        agent: flags.agent.or_else(|| front.agent.clone()),
        model: flags.model.or_else(|| front.model.clone()),
        reviewer: flags.reviewer.or_else(|| front.reviewer.clone()),
        max_iterations: flags.max_iterations.or_else(|| front.max_iterations.and_then(|max| Iterations::new(max).ok())),
        human_review: flags.human_review.or(front.requires_human_review),
        ..flags
    }
}

/// Makes the loop of a milestone and holds it.
pub async fn create(
    context: &Context,
    engine: &Arc<Engine>,
    project: &Path,
    settings: Settings,
    found: Found,
    commands: (Option<String>, Option<String>),
    agreed: bool,
) -> Result<(Held, Vec<String>), Failure> {
    let mut prepared = prepare(context, project, &settings, found, commands).await?;
    let consent = trust::consent(context, project, &settings, &prepared.spec, agreed).await?;
    let notes = std::mem::take(&mut prepared.notes);
    Ok((engine.create(prepared.agreed(consent)).await?, notes))
}

/// The loop of a milestone as it can be made.
pub async fn prepare(
    context: &Context,
    project: &Path,
    settings: &Settings,
    found: Found,
    (agent_command, reviewer_command): (Option<String>, Option<String>),
) -> Result<Prepared, Failure> {
    let id = found.milestone.id.clone();
    let name = milestones::loop_name(&id);
    let resolved = resolve_spec(
        settings,
        &RunOptions {
            goal: found.milestone.goal.clone(),
            name: name.clone(),
            agent_command,
            installed_agent: agent_report::first_installed(context),
            reviewer_command,
            documents: milestones::documents(settings, project)?,
            base: Some(context.workspaces()?.default_branch(project).await?),
            milestone: Some(found.milestone),
            sandbox: context.sandbox(settings),
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

/// The settings under which `serve` starts a milestone.
pub fn settings_for(context: &Context, project: &Path, milestone: &Milestone) -> Result<Settings, Failure> {
    context.settings(Some(project), of_milestone(milestone, Options::default()))
}
