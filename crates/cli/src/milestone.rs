//! `windlass milestone`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use windlass_app::{App, MilestoneOf, MilestonesOf, NewMilestone, StartMilestone};
use windlass_engine::milestones;

use crate::args::{AddArgs, MilestoneArgs, MilestoneCommand, StartArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::given::project;
use crate::opening;
use crate::status;
use crate::style::{Style, json_line, one_line, warn};
use crate::terminal::print;

pub async fn milestone(app: &App, dir: Option<&Path>, args: &MilestoneArgs) -> Result<Exit, Failure> {
    let project = project(app, dir)?;
    match &args.command {
        MilestoneCommand::Add(args) => add(app, project, args).await,
        MilestoneCommand::List { json } => list(app, project, *json).await,
        MilestoneCommand::Show { id, json } => show(app, project, id, *json).await,
        MilestoneCommand::Start(args) => start(app, project, args).await,
    }
}

async fn add(app: &App, project: String, args: &AddArgs) -> Result<Exit, Failure> {
    let request = NewMilestone {
        project,
        id: args.id.clone(),
        title: args.title.clone(),
        goal: args.goal.clone(),
        features: args.features.clone(),
        criteria: args.criteria.clone(),
        constraints: args.constraints.clone().unwrap_or_default(),
        human_review: args.human_review,
        order: args.order,
    };
    let board = app.run(request).await.map_err(|problem| match problem.field.as_deref() {
        Some("features") => Failure { message: format!("--feature: {}", problem.message), ..problem.into() },
        _ => problem.into(),
    })?;
    if args.json {
        let added = board.milestones.iter().find(|milestone| milestone.id == args.id);
        print(&json_line(&json!(added)));
        return Ok(Exit::Completed);
    }
    let file = format!(".windlass/milestones/{}.md", args.id);
    print(&format!("created {file}\n  start    windlass milestone start {}\n", args.id));
    Ok(Exit::Completed)
}

async fn list(app: &App, project: String, as_json: bool) -> Result<Exit, Failure> {
    let board = app.run(MilestonesOf { project, ..MilestonesOf::default() }).await?;
    for broken in &board.broken {
        warn(broken);
    }
    if as_json {
        print(&json_line(&json!(board.milestones)));
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for milestone in &board.milestones {
        let features = milestone.features.len();
        let _ = writeln!(
            text,
            "{:<20} {:<16} {features:>2} features  {}",
            one_line(&milestone.id, 20),
            style.status(&milestone.status),
            one_line(&milestone.title, 60)
        );
    }
    if board.milestones.is_empty() && board.broken.is_empty() {
        text.push_str("no milestones yet; create one with: windlass milestone add ID --title \"…\" --goal \"…\" --feature \"…\" --criterion \"…\"\n");
    }
    print(&text);
    Ok(Exit::Completed)
}

async fn show(app: &App, project: String, id: &str, as_json: bool) -> Result<Exit, Failure> {
    let view = app.run(MilestoneOf { id: id.to_owned(), project }).await?;
    if as_json {
        print(&json_line(&json!(view)));
        return Ok(Exit::Completed);
    }
    let milestone = &view.milestone;
    let style = Style::for_stdout();
    let mut text = format!("{}\n", style.bold(&format!("milestone {id}: {}", milestone.title)));
    let _ = writeln!(text, "  status   {}", style.status(&milestone.status));
    let _ = writeln!(text, "  branch   {}", milestone.branch);
    if view.edited {
        let _ = writeln!(
            text,
            "  {}",
            style.warn(&format!(
                "changed since it was started; apply the changes with `windlass restart {}`",
                milestones::loop_name(id)
            ))
        );
    }
    let state = match &milestone.r#loop {
        Some(started) => Some(app.state(&started.id).await?.0),
        None => None,
    };
    let accepted = state.as_ref().and_then(|state| state.review.as_ref()).map(|review| review.accepted().to_vec());
    for feature in &milestone.features {
        let done = feature.done
            || accepted
                .iter()
                .flatten()
                .any(|done| done.id.as_deref().is_some_and(|id| id.eq_ignore_ascii_case(&feature.id)));
        let mark = if done { style.good("✓") } else { "·".to_owned() };
        let _ = writeln!(text, "  {mark} {} {}", feature.id, one_line(&feature.text, 100));
    }
    if let Some(state) = &state {
        text.push_str(&status::summary(state, &milestone.status, style));
    }
    print(&text);
    Ok(Exit::Completed)
}

async fn start(app: &App, project: String, args: &StartArgs) -> Result<Exit, Failure> {
    let request = StartMilestone {
        id: args.id.clone(),
        project,
        settings: args.options().to_json(),
        agent_command: args.agent_command.clone(),
        reviewer_command: args.reviewer_command.clone(),
        trust: None,
    };
    let trusting = |seen| StartMilestone { trust: Some(seen), ..request.clone() };
    opening::start(app, request.clone(), trusting, (args.trust, None), args.watching()).await
}
