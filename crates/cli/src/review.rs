//! People and reviewers: `approve`, `reject`, `findings`, `takeover`.

use std::fmt::Write as _;
use std::sync::Arc;

use windlass_core::findings::Finding;
use windlass_core::ids::{LoopId, Role};
use windlass_core::machine::{Input, LoopState};
use windlass_core::stop::Status;
use windlass_engine::command::{Answer, Command};
use windlass_engine::engine::{Engine, Held};
use windlass_server::{SessionToEnter, TakeoverReport};

use crate::args::{ApproveArgs, FindingsArgs, LoopArgs, RejectArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::finding_line;
use crate::run::{self, Watching, print};
use crate::style::{Style, one_line};
use crate::{follow, loops};

pub async fn approve(context: &Context, args: &ApproveArgs) -> Result<Exit, Failure> {
    rule(context, &args.name, Input::Approve { reason: args.reason.clone() }, args.watching()).await
}

pub async fn reject(context: &Context, args: &RejectArgs) -> Result<Exit, Failure> {
    let reason = args.reason.clone();
    rule(context, &args.name, Input::Reject { reason }, args.watching()).await
}

/// Takes the loop, gives it a person's word, and drives it where that means more work.
async fn rule(context: &Context, name: &str, input: Input, watching: Watching) -> Result<Exit, Failure> {
    let engine = context.engine().await?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), name).await?;
    let (held, seen) = take_ruled(&engine, &loops::id(&listed), &input).await?;
    match held.state.status {
        Status::Running | Status::Waiting { .. } => run::go(context, &engine, held, watching, seen).await,
        Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {
            let state = held.state.clone();
            engine.release(held).await?;
            if watching.json {
                let view = windlass_engine::view::LoopView::of(&state);
                print(&format!("{}\n", serde_json::to_string(&view).unwrap_or_default()));
            } else {
                print(&crate::status::summary(&state, state.status.name(), Style::for_stdout()));
            }
            Ok(Exit::of_status(state.status.name()))
        }
    }
}

/// Takes a loop that nobody drives and gives it a person's word; with the number of the last event before that.
pub async fn take_ruled(engine: &Arc<Engine>, id: &LoopId, input: &Input) -> Result<(Held, u64), Failure> {
    let mut held = engine.take(id).await?;
    let seen = held.state.seq;
    if let Err(error) = engine.apply(&mut held, input).await {
        engine.release(held).await?;
        return Err(error.into());
    }
    Ok((held, seen))
}

pub async fn findings(context: &Context, args: &FindingsArgs) -> Result<Exit, Failure> {
    let state = state_of(context, &args.name).await?;
    print(&findings_shown(&state, args));
    Ok(Exit::Completed)
}

/// A loop's findings, in words or as JSON.
pub fn findings_shown(state: &LoopState, args: &FindingsArgs) -> String {
    let found: Vec<&Finding> = match &state.review {
        Some(review) => review.findings.all().iter().filter(|finding| args.all || finding.is_open()).collect(),
        None => Vec::new(),
    };
    if args.json {
        return format!("{}\n", serde_json::to_string(&found).unwrap_or_else(|_| "[]".to_owned()));
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for finding in &found {
        let line = finding_line(finding);
        let line = if finding.is_open() { style.warn(&line) } else { style.dim(&format!("{line} (resolved)")) };
        let _ = writeln!(text, "{}", line.trim_start());
        for detail in finding.description.lines().skip(1).chain(finding.scenario.iter().flat_map(|text| text.lines())) {
            let _ = writeln!(text, "    {}", one_line(detail, 200));
        }
    }
    if found.is_empty() {
        let none = match (&state.review, args.all) {
            (None, _) => "nobody reviews this loop: --recipe audited or milestone has a reviewer\n",
            (Some(_), true) => "no findings\n",
            (Some(_), false) => "no open findings; --all shows the resolved ones too\n",
        };
        text.push_str(none);
    }
    text
}

async fn state_of(context: &Context, name: &str) -> Result<LoopState, Failure> {
    let none = || Failure::usage("there are no loops yet", "start one with `windlass run`");
    let engine = context.reader().await?.ok_or_else(none)?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), name).await?;
    follow::state(&engine, &loops::id(&listed)).await
}

/// Pauses a loop and says how a person enters its place.
pub async fn takeover(context: &Context, args: &LoopArgs) -> Result<Exit, Failure> {
    let engine = context.engine().await?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), &args.name).await?;
    print(&takeover_words(&enter(&engine, &loops::id(&listed)).await?));
    Ok(Exit::Completed)
}

/// How a person enters.
pub fn takeover_words(report: &TakeoverReport) -> String {
    let mut text = format!("{} is {}; nothing of it runs\n", report.name, report.status);
    let _ = writeln!(text, "  files    cd {}", shlex::try_quote(&report.dir).unwrap_or_else(|_| (&report.dir).into()));
    for session in &report.sessions {
        let _ = writeln!(text, "  {:<8} {}", session.role.name(), session.command);
    }
    let _ = writeln!(text, "  go on    windlass resume {}", report.name);
    text
}

/// Pauses a loop that is under way, and says where a person goes on.
pub async fn enter(engine: &Arc<Engine>, id: &LoopId) -> Result<TakeoverReport, Failure> {
    let state = follow::state(engine, id).await?;
    if let Status::Running | Status::Waiting { .. } = state.status {
        match engine.command(id, &Command::Pause { now: true }).await? {
            Answer::Accepted { .. } | Answer::Done { .. } => {}
            Answer::Refused { message } => {
                return Err(Failure::usage(
                    format!("{}: {message}", state.name),
                    "`windlass status` shows how it stands",
                ));
            }
        }
    }
    let state = follow::state(engine, id).await?;
    let session = |(role, session): (&Role, &String)| {
        let words = windlass_agents::takeover(&state.agent(*role).profile, session)?;
        let command = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
        Some(SessionToEnter { role: *role, command })
    };
    Ok(TakeoverReport {
        name: state.name.clone(),
        status: state.status.name().to_owned(),
        dir: state.workspace_dir().unwrap_or(&state.project).to_owned(),
        sessions: state.sessions.iter().filter_map(session).collect(),
    })
}
