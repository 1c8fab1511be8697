//! `windlass status` and `windlass logs`.

use std::fmt::Write as _;
use std::io::Write;

use windlass_core::ids::Role;
use windlass_core::machine::{Event, LoopState};
use windlass_engine::engine::Engine;
use windlass_engine::feed::News;
use windlass_engine::journal;
use windlass_store::{ListFilter, Listed};

use crate::args::{LogsArgs, StatusArgs};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::follow::{self, Follower, Only};
use crate::list::summary_json;
use crate::run::print;
use crate::style::{Style, one_line, short};
use crate::{loops, status};

pub async fn status(context: &Context, args: &StatusArgs) -> Result<Exit, Failure> {
    let engine = context.reader().await?.ok_or_else(nothing_yet)?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = match &args.name {
        Some(name) => loops::find(&engine, project.as_deref(), name).await?,
        None => latest(&engine, project).await?,
    };
    let listed = loops::settled(&engine, listed).await?;
    let word = loops::word(&listed).to_owned();
    if args.json {
        print(&format!("{}\n", summary_json(&listed)));
    } else {
        let state = follow::state(&engine, &loops::id(&listed)).await?;
        print(&in_full(&state, &word));
    }
    Ok(if args.exit_code { Exit::of_status(&word) } else { Exit::Completed })
}

fn nothing_yet() -> Failure {
    Failure::usage("there are no loops yet", "start one with `windlass run`, or watch `windlass demo`")
}

async fn latest(engine: &Engine, project: Option<String>) -> Result<Listed, Failure> {
    let filter = ListFilter { project, limit: Some(1), summaries: true, ..ListFilter::default() };
    engine.store.list(filter).await?.into_iter().next().ok_or_else(nothing_yet)
}

pub fn in_full(state: &LoopState, word: &str) -> String {
    let style = Style::for_stdout();
    let mut text = status::plan(state, &[], style);
    let mut row = |label: &str, value: String| {
        let _ = writeln!(text, "  {} {value}", style.dim(&format!("{label:<7}")));
    };
    row("status", format!("{} · {}", style.status(word), status::doing(state)));
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
        let gates =
            if record.gates.is_empty() { String::new() } else { format!(" · gates {}", record.gates.join(", ")) };
        row(&format!("iter {}", record.iteration), format!("{commit}{claim}{failed}{gates}"));
    }
    for message in state.undelivered_steering() {
        row("message", format!("{} (not delivered yet)", one_line(&message.text, 100)));
    }
    text.push_str(&status::summary(state, word, style));
    text
}

pub async fn logs(context: &Context, args: &LogsArgs) -> Result<Exit, Failure> {
    let engine = context.reader().await?.ok_or_else(nothing_yet)?;
    let project = context.project_if_any().await.map(|path| path.to_string_lossy().into_owned());
    let listed = loops::find(&engine, project.as_deref(), &args.name).await?;
    let id = loops::id(&listed);
    if args.raw {
        raw(&engine, &listed, args.iteration, args.role).await?;
        return Ok(Exit::Completed);
    }
    let only = Only { iteration: args.iteration, role: args.role };
    let mut follower = Follower::open(&engine, &id, 0, args.json, args.follow).await?.only(only);
    if !args.follow {
        follower.catch_up().await?;
        return Ok(Exit::Completed);
    }
    let mut news = News::of(&engine, &id).await?;
    follower.follow(&mut news).await?;
    let listed = engine.store.get(&id.0).await?.unwrap_or(listed);
    let listed = loops::settled(&engine, listed).await?;
    Ok(Exit::of_status(loops::word(&listed)))
}

/// The bytes that the agents wrote, turn after turn.
async fn raw(engine: &Engine, listed: &Listed, iteration: Option<u32>, role: Option<Role>) -> Result<(), Failure> {
    let id = loops::id(listed);
    let mut out = std::io::stdout().lock();
    let mut after = 0;
    loop {
        let events = engine.store.read(&id.0, after, 500).await?;
        let Some(last) = events.last() else { return Ok(()) };
        after = last.seq;
        for stored in &events {
            let event = journal::decode(&id, stored).map_err(windlass_engine::engine::EngineError::from)?;
            let Event::TurnStarted { turn, .. } = event else { continue };
            let wanted = iteration.is_none_or(|wanted| wanted == turn.iteration)
                && role.is_none_or(|wanted| wanted == turn.role);
            if !wanted {
                continue;
            }
            match std::fs::File::open(engine.data.turn(&id, turn).stdout()) {
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
