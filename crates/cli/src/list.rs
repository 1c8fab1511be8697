//! `windlass list`.

use std::fmt::Write as _;

use jiff::Timestamp;
use windlass_core::duration::human;
use windlass_engine::view::LoopView;
use windlass_store::{ListFilter, Listed};

use crate::args::ListArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::loops;
use crate::run::print;
use crate::status::{clock_time, left};
use crate::style::{Style, one_line};

/// Rows that a person looks at; `--json` has all.
pub const SHOWN: usize = 50;

pub async fn list(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let project = if args.all { None } else { Some(project(context).await?) };
    let Some(engine) = context.reader().await? else {
        print(if args.json { "[]\n" } else { "no loops yet: start one with `windlass run`\n" });
        return Ok(Exit::Completed);
    };
    let limit = (!args.json).then_some(SHOWN + 1);
    let filter = ListFilter { project, limit, summaries: true, ..ListFilter::default() };
    let mut rows = Vec::new();
    for listed in engine.store.list(filter).await? {
        rows.push(if listed.entry.open { loops::settled(&engine, listed).await? } else { listed });
    }
    if args.json {
        print(&json(&rows));
        return Ok(Exit::Completed);
    }
    let views: Vec<LoopView> = rows.iter().filter_map(|row| serde_json::from_str(&summary_json(row)).ok()).collect();
    print(&table(&views));
    Ok(Exit::Completed)
}

/// The loops for a person, the newest first.
pub fn table(rows: &[LoopView]) -> String {
    if rows.is_empty() {
        return "no loops yet: start one with `windlass run`\n".to_owned();
    }
    let style = Style::for_stdout();
    let now = Timestamp::now();
    let width = rows.iter().take(SHOWN).map(|row| row.name.chars().count()).max().unwrap_or(0).max(4);
    let mut text = style.dim(&format!("{:<width$}  {:<15} {:>9}  {:>7}  goal\n", "name", "status", "iteration", "age"));
    for row in rows.iter().take(SHOWN) {
        let (name, word) = (&row.name, row.status.as_str());
        let padding = " ".repeat(15_usize.saturating_sub(word.len()));
        let of = row.limits.max_iterations.map_or(String::new(), |max| format!("/{max}"));
        let age = u64::try_from(now.as_millisecond() - row.created_at.as_millisecond()).unwrap_or(0);
        let iteration = format!("{}{of}", row.iterations);
        let age = human(age).split(' ').next().unwrap_or_default().to_owned();
        let goal = format!("{}{}", style.warn(&waits(row, now)), one_line(&row.goal, 60));
        let _ = writeln!(text, "{name:<width$}  {}{padding} {iteration:>9}  {age:>7}  {goal}", style.status(word));
    }
    if rows.len() > SHOWN {
        text.push_str(&style.dim("… older ones: `windlass list --json` has all\n"));
    }
    text
}

/// Until when a loop waits, if it does.
fn waits(row: &LoopView, now: Timestamp) -> String {
    let until = row.waiting_until.filter(|_| row.status == "waiting");
    until.map_or(String::new(), |until| format!("until {}, {} left: ", clock_time(until, now), left(until, now)))
}

async fn project(context: &Context) -> Result<String, Failure> {
    match context.project().await {
        Ok(root) => Ok(root.to_string_lossy().into_owned()),
        Err(failure) => {
            Err(Failure { hint: Some("`windlass list --all` shows the loops of every project".to_owned()), ..failure })
        }
    }
}

/// The summaries as they are stored: only a loop that was cut off is not as its own words say.
fn json(rows: &[Listed]) -> String {
    let mut text = String::from("[");
    for (index, row) in rows.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&summary_json(row));
    }
    text.push_str("\n]\n");
    text
}

/// One loop's `status --json`.
pub fn summary_json(row: &Listed) -> String {
    let word = loops::word(row);
    if word == row.entry.status {
        return row.entry.summary.clone();
    }
    match serde_json::from_str::<serde_json::Value>(&row.entry.summary) {
        Ok(mut view) => {
            view["status"] = word.into();
            view.to_string()
        }
        Err(_) => row.entry.summary.clone(),
    }
}
