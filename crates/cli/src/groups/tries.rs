//! Best of N in the terminal: the tries as they go, and the comparison.

use std::sync::Arc;

use windlass_app::{
    App, Kind, Local, OpenedTries, Problem, Request, ResumeGroup, ShowGroup, StartLoop, StartTries, StopGroup,
};
use windlass_core::duration::human;
use windlass_core::group::tries::{Rule, StoppedBecause};
use windlass_core::group::{GroupId, HiddenGates};
use windlass_engine::driver::Left;
use windlass_engine::engine::Engine;
use windlass_engine::groups::{TriesKind, TriesView, TryView};

use super::events;
use crate::args::RunArgs;
use crate::args::Watching;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Style, json_line, one_line};
use crate::terminal::{print, watch_signals};
use crate::trust;

pub async fn run(app: &App, run: StartLoop, args: &RunArgs, watching: Watching) -> Result<Exit, Failure> {
    let request = StartTries {
        run,
        tries: args.tries,
        agents: args.agents.clone(),
        first: args.first,
        losers: args.losers.unwrap_or_default(),
    };
    let mut started = start(app, request.clone(), watching).await;
    if let (Err(problem), App::Here(local)) = (&started, app)
        && problem.asks_for_no_sandbox()
        && trust::do_without_sandbox(local, problem).await?
    {
        started = start(app, request.clone(), watching).await;
    }
    let needed = match started {
        Ok(exit) => return Ok(exit),
        Err(problem) if problem.code == Kind::TrustNeeded => problem,
        Err(problem) => return Err(problem.into()),
    };
    let seen = trust::word(app, needed, args.trust, args.base.as_deref())?;
    let run = StartLoop { trust: Some(seen), ..request.run.clone() };
    Ok(start(app, StartTries { run, ..request }, watching).await?)
}

async fn start(app: &App, request: StartTries, watching: Watching) -> Result<Exit, Problem> {
    match app {
        App::Here(local) => go(local, request.open(local).await?, true, watching).await,
        App::There(_) => Ok(elsewhere(&app.run(request).await?, watching.json)),
    }
}

pub async fn resume(app: &App, group: TriesView, watching: Watching) -> Result<Exit, Failure> {
    let request = ResumeGroup { id: group.id };
    Ok(match app {
        App::Here(local) => go(local, request.open(local).await?, false, watching).await?,
        App::There(_) => elsewhere(&app.run(request).await?, watching.json),
    })
}

pub async fn stop(app: &App, group: TriesView, json: bool) -> Result<Exit, Failure> {
    let view = app.run(StopGroup { id: group.id }).await?;
    let done = if view.winner.is_some() { "already decided" } else { "stopped; all processes have exited" };
    print(&if json { json_line(&view) } else { format!("{}: {done}\n", view.name) });
    Ok(Exit::Completed)
}

fn elsewhere(view: &TriesView, json: bool) -> Exit {
    print(&match json {
        true => json_line(view),
        false => format!(
            "{}: {} tries started in the background\n  compare  windlass status {}\n  stop     windlass stop {}\n",
            view.name,
            view.tries.len(),
            view.name,
            view.name
        ),
    });
    Exit::Completed
}

/// Drives an opened group and shows how its tries go, or leaves it to a process in the background.
async fn go(local: &Local, opened: OpenedTries, new: bool, watching: Watching) -> Result<Exit, Problem> {
    let OpenedTries { engine, held, notes } = opened;
    let id = held.state.id.clone();
    let style = Style::for_stdout();
    if watching.detach {
        return Ok(elsewhere(&local.hand_tries(&engine, held).await?, watching.json));
    }
    if new && !watching.json {
        print(&plan(&TriesView::of(&held.state), &notes, style));
    }
    let (signals, shutdown) = watch_signals()?;
    let mut shown = Shown { json: watching.json, seq: 0, lines: Vec::new(), style };
    let driving = engine.drive_group(Arc::new(TriesKind), held, shutdown)?;
    let mut news = driving.news.clone();
    let ended = driving.ended();
    tokio::pin!(ended);
    let left = loop {
        shown.show(&engine, &id).await?;
        tokio::select! {
            left = &mut ended => break left?,
            changed = news.changed() => if changed.is_err() { break (&mut ended).await? },
        }
    };
    shown.show(&engine, &id).await?;
    let view = ShowGroup { id: id.0 }.perform(local).await?;
    match watching.json {
        true => print(&json_line(&serde_json::json!({ "type": "comparison", "group": view }))),
        false => print(&comparison(&view, style)),
    }
    let told = *signals.borrow();
    Ok(match (left, told) {
        (Left::ShutDown, Some(signal)) => Exit::Signal(signal),
        (Left::ShutDown | Left::Settled, _) => Exit::of_status(&view.status),
    })
}

/// What was printed so far.
struct Shown {
    json: bool,
    seq: u64,
    lines: Vec<String>,
    style: Style,
}

impl Shown {
    async fn show(&mut self, engine: &Engine, id: &GroupId) -> Result<(), Problem> {
        if self.json {
            return events::print_new(engine, &id.0, &mut self.seq).await;
        }
        let Some(row) = engine.store.get(&id.0).await? else { return Ok(()) };
        let Ok(mut view) = serde_json::from_str::<TriesView>(&row.entry.summary) else { return Ok(()) };
        view.tries.sort_by_key(|each| each.number);
        self.lines.resize(view.tries.len(), String::new());
        for (each, line) in view.tries.iter().zip(&mut self.lines) {
            let now = format!("{} · {}", each.agent, doing(each, self.style));
            if *line != now {
                print(&self.style.field(&each.name, 0, &now));
                *line = now;
            }
        }
        Ok(())
    }
}

fn doing(each: &TryView, style: Style) -> String {
    match (&each.failed, each.status.as_str()) {
        (Some(why), _) => format!("{}: {}", style.status("errored"), one_line(why, 120)),
        (None, "running") if each.iterations > 0 => format!("running, iteration {}", each.iterations),
        (None, "completed") if !each.verified => format!("completed: {}", outcome(each)),
        (None, "completed") => style.good("verified"),
        (None, word) => style.status(word),
    }
}

fn plan(view: &TriesView, notes: &[String], style: Style) -> String {
    let mut text = style.field("goal", 7, &one_line(&view.goal, 200));
    let agents: Vec<&str> = view.tries.iter().map(|each| each.agent.as_str()).collect();
    text.push_str(&style.field("tries", 7, &format!("{}: {}", view.tries.len(), agents.join(", "))));
    text.push_str(&style.field("picks", 7, &rules()));
    let ends = if view.first { "when one is verified" } else { "when all have ended" };
    text.push_str(&style.field("ends", 7, ends));
    if let Some(budget) = view.budget_usd {
        text.push_str(&style.field("budget", 7, &format!("${budget:.2} for all tries")));
    }
    if let Some(tokens) = view.max_tokens {
        text.push_str(&style.field("budget", 7, &format!("{tokens} tokens for all tries")));
    }
    for note in notes {
        text.push_str(&style.field("note", 7, note));
    }
    text
}

fn rules() -> String {
    let rules = Rule::ALL.into_iter().filter(|rule| *rule != Rule::Order);
    format!("by {}", rules.map(Rule::words).collect::<Vec<_>>().join(", then "))
}

/// The tries beside each other, the best first, and why it was picked.
pub fn comparison(view: &TriesView, style: Style) -> String {
    let heads = ["try", "agent", "result", "hidden", "findings", "diff", "cost", "time"].map(str::to_owned);
    let cells: Vec<[String; 8]> = view.tries.iter().map(cells).collect();
    let widths: Vec<usize> =
        (0..8).map(|at| cells.iter().chain([&heads]).map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &[String; 8]| {
        let padded = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    let mut text = format!("{} · best of {} · {}\n", view.name, view.tries.len(), style.status(&view.status));
    text.push_str(&style.dim(&line(&heads)));
    for (row, each) in cells.iter().zip(&view.tries) {
        let line = line(row);
        text.push_str(&if view.winner == Some(each.number) { style.bold(&line) } else { line });
    }
    for each in view.tries.iter().filter(|each| each.failed.is_some()) {
        let why = one_line(each.failed.as_deref().unwrap_or_default(), 200);
        text.push_str(&style.field(&each.name, 7, &why));
    }
    let field = |label: &str, value: String| style.field(label, 7, &value);
    if let Some(why) = view.stopped {
        text.push_str(&field("stopped", stopped(why, view)));
    }
    let winner = view.tries.iter().find(|each| view.winner == Some(each.number));
    match (winner, view.because) {
        (Some(each), because) => {
            let because = because.map_or(String::new(), |rule| format!(": {}", rule.words()));
            text.push_str(&field("picked", format!("{}{because}", each.name)));
            text.push_str(&field("merge", format!("windlass merge {}", each.name)));
        }
        (None, _) if view.stopped_at.is_some() => text.push_str(&field("picked", "none: no try completed".to_owned())),
        (None, _) => text.push_str(&field("picks", rules())),
    }
    text
}

fn stopped(why: StoppedBecause, view: &TriesView) -> String {
    let name = |number: u32| view.tries.iter().find(|each| each.number == number).map_or("", |each| &each.name);
    match why {
        StoppedBecause::First { number } => format!("the others, because {} is verified", name(number)),
        StoppedBecause::Budget => "the cost of all tries reached the budget".to_owned(),
        StoppedBecause::Tokens => "the tokens of all tries reached the limit".to_owned(),
        StoppedBecause::Person => "by a user".to_owned(),
    }
}

fn outcome(each: &TryView) -> String {
    each.outcome.map_or(each.status.clone(), |outcome| match outcome.name() {
        "claimed" => "claimed, not verified".to_owned(),
        word => word.replace('_', " "),
    })
}

fn cells(each: &TryView) -> [String; 8] {
    let hidden = match each.hidden_gates {
        HiddenGates::Passed => "passed",
        HiddenGates::NotJudged => "–",
        HiddenGates::Failed => "failed",
    };
    let diff = each.diff.map_or("unknown".to_owned(), |diff| format!("+{} −{}", diff.added, diff.removed));
    let result = if each.verified { "✔ verified".to_owned() } else { outcome(each) };
    [
        format!("{}{}", each.name, if each.dropped { " (dropped)" } else { "" }),
        each.agent.clone(),
        result,
        hidden.to_owned(),
        each.findings_open.to_string(),
        diff,
        each.cost_usd.map_or("unknown".to_owned(), |usd| format!("${usd:.2}")),
        human(each.elapsed_ms),
    ]
}
