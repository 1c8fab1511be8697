//! `windlass status` and `windlass logs`.

pub(crate) mod agent_report;
pub(crate) mod follow;
pub(crate) mod honesty;
pub(crate) mod list;
pub(crate) mod machine_report;
pub(crate) mod status;

use std::io::Write;

use windlass_app::{AnyView, App, ShowLoop, Until};
use windlass_core::ids::{LoopId, Role};
use windlass_core::machine::{Event, LoopState};
use windlass_engine::engine::Engine;
use windlass_engine::feed::News;
use windlass_engine::journal;
use windlass_engine::view::LoopView;

use crate::args::{LogsArgs, StatusArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::{Follower, Only};
use crate::groups::{merges, tries};
use crate::here;
use crate::style::{Style, json_line, one_line, short};
use crate::terminal::print;

pub async fn status(app: &App, args: &StatusArgs) -> Result<Exit, Failure> {
    let style = Style::for_stdout();
    let group = match app.find_group(args.name.get()).await? {
        Some(AnyView::Tries(group)) if args.json => Some((json_line(&group), group.status)),
        Some(AnyView::Tries(group)) => Some((tries::comparison(&group, style), group.status)),
        Some(AnyView::Merges(queue)) if args.json => Some((json_line(&queue), queue.status)),
        Some(AnyView::Merges(queue)) => Some((merges::table(&queue, style), queue.status)),
        None => None,
    };
    if let Some((text, status)) = group {
        print(&text);
        return Ok(if args.exit_code { Exit::of_status(&status) } else { Exit::Completed });
    }
    let view = app.find(args.name.get()).await?;
    if args.json {
        print(&json_line(&serde_json::json!(view)));
    } else {
        print(&in_full(&app.state(&view.id).await?.0, &view.status));
    }
    Ok(if args.exit_code { Exit::of_status(&view.status) } else { Exit::Completed })
}

fn in_full(state: &LoopState, word: &str) -> String {
    let style = Style::for_stdout();
    let mut text = status::plan(state, &[], style);
    let mut row = |label: &str, value: String| text.push_str(&style.field(label, 7, &value));
    let (doing, status) = (status::doing(state), style.status(word));
    // What it does often begins with its status.
    let more = doing.strip_prefix(word).unwrap_or(&doing).trim_start_matches([':', ' ']);
    row("status", if more.is_empty() { status } else { format!("{status} · {more}") });
    for record in &state.iterations {
        let commit = match (&record.checkpoint.commit, record.checkpoint.files_changed) {
            (_, 0) => "no changes".to_owned(),
            (Some(commit), files) => {
                format!("{} · {}", short(commit), status::count(u32::try_from(files).unwrap_or(u32::MAX), "file"))
            }
            (None, files) => format!("{files} files, not committed"),
        };
        let claim = if record.claim { " · claimed done" } else { "" };
        let failed = if record.success { "" } else { " · failed" };
        let gates = if record.gates.is_empty() {
            String::new()
        } else {
            format!(" · gates {}", record.gates.iter().map(|mark| mark.name()).collect::<Vec<_>>().join(", "))
        };
        row(&format!("iter {}", record.iteration), format!("{commit}{claim}{failed}{gates}"));
    }
    for message in state.undelivered_steering() {
        row("message", format!("{} (not delivered yet)", one_line(&message.text, 100)));
    }
    for question in &state.questions {
        row(&question.id, status::question(question));
    }
    if let Some(open) = state.open_questions().next().filter(|_| state.is_open()) {
        let which = if state.open_questions().count() > 1 { format!(" --question {}", open.id) } else { String::new() };
        row("answer", format!("windlass answer {}{which} \"…\"", state.name));
    }
    text.push_str(&status::summary(state, word, style));
    text
}

pub async fn logs(app: &App, args: &LogsArgs) -> Result<Exit, Failure> {
    let found = app.find(args.name.get()).await?;
    has_iteration(&found, args)?;
    let id = LoopId(found.id);
    if args.raw {
        raw(&*here(app, "--raw")?.readable().await?, &id, args.iteration, args.role).await?;
        return Ok(Exit::Completed);
    }
    let only = Only { iteration: args.iteration, role: args.role };
    let (mut follower, mut news) = match app {
        App::Here(local) => {
            let engine = local.readable().await?;
            let follower = Follower::open(&engine, &id, 0, args.json, args.follow).await?;
            (follower, if args.follow { News::of(&engine, &id).await? } else { News::None })
        }
        App::There(server) => {
            let until = if args.follow { Until::Rest } else { Until::Now };
            (Follower::remote(server.feed(&id, 0, until), args.json, args.follow), News::None)
        }
    };
    follower = follower.only(only);
    follower.follow(&mut news).await?;
    if !args.follow {
        return Ok(Exit::Completed);
    }
    Ok(Exit::of_status(&app.run(ShowLoop { id: id.0 }).await?.status))
}

/// An iteration that is not there yet can only be waited for.
fn has_iteration(found: &LoopView, args: &LogsArgs) -> Result<(), Failure> {
    let Some(wanted) = args.iteration.filter(|wanted| *wanted > found.iterations) else { return Ok(()) };
    let open = matches!(found.status.as_str(), "queued" | "running" | "waiting");
    if open && args.follow {
        return Ok(());
    }
    let has = match found.iterations {
        0 => "no iterations yet".to_owned(),
        count => status::count(count, "iteration"),
    };
    let hint = match (open, found.iterations) {
        (true, _) => "follow the loop with -f to wait for it".to_owned(),
        (false, 0) => format!("see what happened with `windlass status {}`", found.name),
        (false, 1) => "show it with --iteration 1".to_owned(),
        (false, last) => format!("choose one from 1 to {last}"),
    };
    Err(Failure::usage(format!("{} has {has}; iteration {wanted} does not exist", found.name), hint))
}

/// The bytes that the agents wrote, turn after turn.
async fn raw(engine: &Engine, id: &LoopId, iteration: Option<u32>, role: Option<Role>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let mut after = 0;
    loop {
        let events = engine.store.read(&id.0, after, 500).await?;
        let Some(last) = events.last() else { return Ok(()) };
        after = last.seq;
        for stored in &events {
            let event = journal::decode(id, stored).map_err(windlass_engine::engine::EngineError::from)?;
            let Event::TurnStarted { turn, .. } = event else { continue };
            let wanted = iteration.is_none_or(|wanted| wanted == turn.iteration)
                && role.is_none_or(|wanted| wanted == turn.role);
            if !wanted {
                continue;
            }
            match std::fs::File::open(engine.data.turn(id, turn).stdout()) {
                Ok(mut file) => {
                    if std::io::copy(&mut file, &mut out).and_then(|_| out.flush()).is_err() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
