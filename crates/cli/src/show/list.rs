//! `windlass list`.

use std::fmt::Write as _;
use std::io::{BufWriter, Stdout, Write, stdout};

use jiff::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use windlass_app::{App, ListLoops, Local};
use windlass_core::duration::human;
use windlass_core::stop::Outcome;
use windlass_core::usage::Usage;
use windlass_engine::view::LoopView;

use crate::args::ListArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::render::{clock_time, left};
use crate::style::{Style, columns, json_line, one_line, safe_json};
use crate::terminal::print;

pub async fn list(app: &App, args: &ListArgs) -> Result<Exit, Failure> {
    let project = match app {
        App::Here(local) if !args.all => Some(project(local).await?),
        App::Here(_) | App::There(_) => None,
    };
    let request = ListLoops {
        project,
        status: args.status.clone(),
        agent: args.agent.clone(),
        since: args.since,
        limit: Some(if args.json { 1000 } else { usize::from(args.limit) }),
        history: args.json,
        ..ListLoops::default()
    };
    match app {
        App::Here(local) if args.json => {
            let mut rows = Rows::new();
            request.each_as_json(local, |row| rows.print(row)).await?;
            rows.end();
        }
        App::There(_) if args.json => {
            let mut rows = Rows::new();
            every_page(app, request).await?.iter().for_each(|row| rows.print(row));
            rows.end();
        }
        App::Here(_) | App::There(_) => print(&page(app, request, args).await?),
    }
    Ok(Exit::Completed)
}

async fn every_page(app: &App, mut request: ListLoops) -> Result<Vec<String>, Failure> {
    let mut rows = Vec::new();
    loop {
        let page = app.run(request.clone()).await?;
        rows.extend(page.loops.iter().map(|row| json_line(&row.view).trim_end().to_owned()));
        request.after = page.next;
        if request.after.is_none() {
            return Ok(rows);
        }
    }
}

/// One page for a person, with the way to the next one.
async fn page(app: &App, mut request: ListLoops, args: &ListArgs) -> Result<String, Failure> {
    let (number, limit) = (usize::from(args.page), usize::from(args.limit));
    let mut page = app.run(request.clone()).await?;
    for passed in 1..number {
        let Some(next) = page.next else {
            let pages = if passed == 1 { "is 1 page".to_owned() } else { format!("are {passed} pages") };
            return Err(Failure::usage(format!("page {number} does not exist; there {pages}"), "remove --page"));
        };
        request.after = Some(next);
        page = app.run(request.clone()).await?;
    }
    let style = Style::for_stdout();
    let rows: Vec<LoopView> = page.loops.into_iter().map(|row| row.view).collect();
    if rows.is_empty() {
        let any = page.counts.values().any(|count| *count > 0);
        let none = "no loops yet; start one with `windlass run`\n";
        return Ok(if any { "no loops match\n" } else { none }.to_owned());
    }
    let rows = groups_together(rows);
    let mut text = table(&rows, columns(), request.project.is_none(), style, Timestamp::now());
    if page.next.is_some() {
        let first = (number - 1) * limit + 1;
        let of = page.total.map_or(String::new(), |total| format!(" of {total}"));
        let line = format!("{first}–{}{of} · add --page {} for older loops", first + rows.len() - 1, number + 1);
        text.push_str(&format!("{}\n", style.dim(&line)));
    }
    Ok(text)
}

/// The loops of a group one after the other, where its newest one stands.
fn groups_together(rows: Vec<LoopView>) -> Vec<LoopView> {
    let mut together: Vec<LoopView> = Vec::with_capacity(rows.len());
    for row in rows {
        let group = row.group.as_ref().map(|group| &group.id);
        let last = together.iter().rposition(|known| group.is_some() && known.group.as_ref().map(|g| &g.id) == group);
        together.insert(last.map_or(together.len(), |last| last + 1), row);
    }
    together
}

/// The loops, newest first, in lines of at most `width` columns; with `grouped` each project has a heading.
fn table(rows: &[LoopView], width: usize, grouped: bool, style: Style, now: Timestamp) -> String {
    const GAP: usize = 2;
    let cells: Vec<[String; 5]> = rows.iter().map(|row| cells(row, now)).collect();
    let heads = ["name", "status", "iter", "cost", "age"].map(str::to_owned);
    let widest = |column: usize| {
        let cells = cells.iter().chain([&heads]);
        cells.map(|cells| cells[column].width()).max().unwrap_or(0)
    };
    let widths: [usize; 5] = std::array::from_fn(widest);
    // Where not all fit, cost goes first, then age; what is left after that is cut off the name.
    let needed = |shown: [bool; 5]| (0..5).filter(|at| shown[*at]).map(|at| widths[at] + GAP).sum::<usize>() - GAP;
    let costs = cells.iter().any(|cells| !cells[3].is_empty());
    let choices = [[true, true, true, costs, true], [true, true, true, false, true], [true, true, true, false, false]];
    let shown = choices.into_iter().find(|shown| needed(*shown) <= width).unwrap_or(choices[2]);
    let name_width = widths[0].saturating_sub(needed(shown).saturating_sub(width));
    let goal_width = width.saturating_sub(needed(shown) + GAP);
    let line = |cells: &[String; 5], word: String, goal: &str| {
        let mut line = String::new();
        for at in (0..5).filter(|at| shown[*at]) {
            let (cell, width) = match at {
                0 => (cut(&cells[0], name_width), name_width),
                _ => (cells[at].clone(), widths[at]),
            };
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            match at {
                0 => line.push_str(&format!("{cell}{padding}")),
                1 => line.push_str(&format!("  {word}{padding}")),
                _ => line.push_str(&format!("  {padding}{cell}")),
            }
        }
        if goal_width >= NARROWEST_GOAL {
            line.push_str(&format!("  {}", cut(goal, goal_width)));
        }
        format!("{}\n", line.trim_end())
    };
    let mut text = style.dim(&line(&heads, heads[1].clone(), "goal"));
    let mut projects: Vec<&str> = Vec::new();
    rows.iter().for_each(|row| {
        if !projects.contains(&row.project.as_str()) {
            projects.push(&row.project)
        }
    });
    for project in if grouped { projects } else { vec![""] } {
        if grouped {
            let _ = writeln!(text, "{}", style.bold(&cut_start(&one_line(project, usize::MAX), width)));
        }
        let mut group = None;
        for (row, cells) in rows.iter().zip(&cells).filter(|(row, _)| !grouped || row.project == project) {
            let its = row.group.as_ref();
            if let Some(new) = its.filter(|_| its.map(|its| &its.id) != group) {
                let _ = writeln!(text, "{}", style.dim(&cut(&format!("{} · tries", new.name), width)));
            }
            group = its.map(|its| &its.id);
            let goal = format!("{}{}", until(row, now), one_line(&row.goal, 400));
            text.push_str(&line(cells, painted(row, &cells[1], style), &goal));
        }
    }
    text
}

/// A goal with less room says nothing.
const NARROWEST_GOAL: usize = 12;

/// Name, status, iterations, cost, age.
fn cells(row: &LoopView, now: Timestamp) -> [String; 5] {
    let of = row.limits.max_iterations.map_or(String::new(), |max| format!("/{max}"));
    let age = u64::try_from(now.as_millisecond() - row.created_at.as_millisecond()).unwrap_or(0);
    let age = human(age).split(' ').next().unwrap_or_default().to_owned();
    let indent = if row.group.is_some() { "  " } else { "" };
    [
        format!("{indent}{}", one_line(&row.name, 400)),
        word(row),
        format!("{}{of}", row.iterations),
        cost(&row.usage.total),
        age,
    ]
}

/// The status; of a completed loop what it amounts to.
pub fn word(row: &LoopView) -> String {
    match row.outcome.filter(|_| row.status == "completed") {
        Some(Outcome::Verified) if row.merged.is_some() => "✔ merged".to_owned(),
        Some(Outcome::Verified) => "✔ verified".to_owned(),
        Some(Outcome::Claimed) => "claimed".to_owned(),
        Some(Outcome::Unchanged) => "unchanged".to_owned(),
        Some(Outcome::CheckedInPlace) => "in place".to_owned(),
        Some(Outcome::RolledBack) => "rolled back".to_owned(),
        None if row.status == "awaiting_review" => "needs review".to_owned(),
        None if asks(row) => "needs answer".to_owned(),
        None => row.status.clone(),
    }
}

/// Whether the loop waits for an answer, or its agent asked and still works.
fn asks(row: &LoopView) -> bool {
    matches!(row.status.as_str(), "running" | "waiting") && row.questions.iter().any(|question| question.open)
}

fn painted(row: &LoopView, word: &str, style: Style) -> String {
    match (row.status.as_str(), row.verified) {
        ("completed", true) => style.good(word),
        ("completed", false) => style.warn(word),
        (status, _) => style.painted_as(status, word),
    }
}

pub fn cost(usage: &Usage) -> String {
    match usage.cost_usd {
        Some(usd) => format!("${usd:.2}"),
        None if usage.is_empty() => String::new(),
        None => "unknown".to_owned(),
    }
}

/// Until when a loop waits.
fn until(row: &LoopView, now: Timestamp) -> String {
    let until = row.waiting_until.filter(|_| row.status == "waiting");
    until.map_or(String::new(), |until| format!("until {}, {} left: ", clock_time(until, now), left(until, now)))
}

/// At most so many columns, the end cut off.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = text.chars().take_while(|c| {
        let left = room.checked_sub(c.width().unwrap_or(0));
        room = left.unwrap_or(0);
        left.is_some()
    });
    format!("{}…", fits.collect::<String>())
}

/// At most so many columns, the start cut off: of a path the end says more.
fn cut_start(text: &str, width: usize) -> String {
    let mut rest = text.chars();
    while rest.as_str().width() >= width && text.width() > width && rest.next().is_some() {}
    if rest.as_str().len() < text.len() { format!("…{}", rest.as_str()) } else { text.to_owned() }
}

async fn project(local: &Local) -> Result<String, Failure> {
    match local.context.project().await {
        Ok(root) => Ok(root.to_string_lossy().into_owned()),
        Err(problem) => Err(problem.hint("list loops of every project with `windlass list --all`").into()),
    }
}

/// A JSON array on standard output, one loop a line. If nobody reads on, there is nobody to report it to either.
struct Rows {
    out: BufWriter<Stdout>,
    any: bool,
}

impl Rows {
    fn new() -> Self {
        Self { out: BufWriter::with_capacity(1 << 16, stdout()), any: false }
    }

    fn print(&mut self, row: &str) {
        let before: &[u8] = if self.any { b",\n" } else { b"[\n" };
        self.any = true;
        let _ = self.out.write_all(before).and_then(|()| self.out.write_all(safe_json(row).as_bytes()));
    }

    fn end(mut self) {
        let end: &[u8] = if self.any { b"\n]\n" } else { b"[]\n" };
        let _ = self.out.write_all(end).and_then(|()| self.out.flush());
    }
}
