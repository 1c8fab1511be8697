//! `windlass list`.

use std::fmt::Write as _;

use jiff::Timestamp;
use windlass_app::{App, ListLoops, Local};
use windlass_core::duration::human;
use windlass_core::stop::Outcome;
use windlass_core::usage::Usage;
use windlass_engine::view::LoopView;

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::status::{clock_time, left};
use crate::style::{Style, json_line, one_line};

/// Rows that a person looks at; `--json` has all.
const SHOWN: usize = 50;

pub async fn list(app: &App, args: &ListArgs) -> Result<Exit, Failure> {
    let project = match app {
        App::Here(local) if !args.all => Some(project(local).await?),
        App::Here(_) | App::There(_) => None,
    };
    let mut request = ListLoops { project, limit: Some(SHOWN + 1), history: args.json, ..ListLoops::default() };
    if !args.json {
        let rows: Vec<LoopView> = app.run(request).await?.loops.into_iter().map(|row| row.view).collect();
        print(&table(&rows));
        return Ok(Exit::Completed);
    }
    request.limit = Some(1000);
    let mut rows = Vec::new();
    loop {
        let page = app.run(request.clone()).await?;
        rows.extend(page.loops.into_iter().map(|row| row.view));
        request.after = page.next;
        if request.after.is_none() {
            break;
        }
    }
    print(&json(&rows));
    Ok(Exit::Completed)
}

/// The loops for a person, the newest first.
fn table(rows: &[LoopView]) -> String {
    if rows.is_empty() {
        return "no loops yet: start one with `windlass run`\n".to_owned();
    }
    let style = Style::for_stdout();
    let now = Timestamp::now();
    let width = rows.iter().take(SHOWN).map(|row| row.name.chars().count()).max().unwrap_or(0).max(4);
    let mut text = style
        .dim(&format!("{:<width$}  {:<15} {:>9}  {:>8}  {:>7}  goal\n", "name", "status", "iteration", "cost", "age"));
    for row in rows.iter().take(SHOWN) {
        let (name, word) = (&row.name, row.status.as_str());
        let padding = " ".repeat(15_usize.saturating_sub(word.len()));
        let of = row.limits.max_iterations.map_or(String::new(), |max| format!("/{max}"));
        let age = u64::try_from(now.as_millisecond() - row.created_at.as_millisecond()).unwrap_or(0);
        let iteration = format!("{}{of}", row.iterations);
        let cost = cost(&row.usage.total);
        let age = human(age).split(' ').next().unwrap_or_default().to_owned();
        let goal = format!("{}{}", style.warn(&note(row, now)), one_line(&row.goal, 60));
        let _ = writeln!(
            text,
            "{name:<width$}  {}{padding} {iteration:>9}  {cost:>8}  {age:>7}  {goal}",
            style.status(word)
        );
    }
    if rows.len() > SHOWN {
        text.push_str(&style.dim("… older ones: `windlass list --json` has all\n"));
    }
    text
}

fn cost(usage: &Usage) -> String {
    match usage.cost_usd {
        Some(usd) => format!("${usd:.2}"),
        None if usage.is_empty() => String::new(),
        None => "unknown".to_owned(),
    }
}

/// Until when a loop waits, or what kept a completed one from being verified.
fn note(row: &LoopView, now: Timestamp) -> String {
    let unverified = row.outcome.and_then(|outcome| match outcome {
        Outcome::Verified => None,
        Outcome::Claimed => Some("claimed, not verified: "),
        Outcome::Unchanged => Some("unchanged: "),
        Outcome::CheckedInPlace => Some("checked in place: "),
        Outcome::RolledBack => Some("rolled back: "),
    });
    if let Some(note) = unverified {
        return note.to_owned();
    }
    let until = row.waiting_until.filter(|_| row.status == "waiting");
    until.map_or(String::new(), |until| format!("until {}, {} left: ", clock_time(until, now), left(until, now)))
}

async fn project(local: &Local) -> Result<String, Failure> {
    match local.context.project().await {
        Ok(root) => Ok(root.to_string_lossy().into_owned()),
        Err(problem) => Err(problem.hint("`windlass list --all` shows the loops of every project").into()),
    }
}

/// One loop a line.
fn json(rows: &[LoopView]) -> String {
    if rows.is_empty() {
        return "[]\n".to_owned();
    }
    let rows: Vec<String> = rows.iter().map(|row| json_line(&serde_json::json!(row)).trim_end().to_owned()).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}
