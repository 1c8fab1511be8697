//! How `windlass top` looks: the model as a screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph};
use unicode_width::UnicodeWidthStr as _;
use windlass_app::LoopSummary;
use windlass_core::duration::human;
use windlass_core::machine::Verdict;

use super::model::{Model, Prompt, Standing, Verb, question, standing};
use crate::list::{cost, cut, word};
use crate::style::{one_line, printable};

/// The smallest terminal that shows something useful.
const LEAST: (u16, u16) = (80, 24);

const HELP: [&str; 13] = [
    "↑ ↓ PgUp PgDn g G   move",
    "Enter               feed of the loop; Esc goes back",
    "/                   filter by name, project, status, goal",
    "e                   show or hide loops that have ended",
    "m                   send a message to the agent (steer)",
    "w                   answer the agent's question",
    "p   r               pause after the turn, resume",
    "s                   stop now",
    "a   x               approve, reject; shows what changed",
    "?                   this help",
    "q or Ctrl-C         quit; loops keep running",
    "",
    "Any key closes this.",
];

pub fn draw(frame: &mut Frame<'_>, model: &mut Model) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!(
            "windlass top needs a terminal of at least {}×{}; this one is {}×{}. Enlarge it, or press q to quit.",
            LEAST.0, LEAST.1, area.width, area.height
        );
        let lines: Vec<Line<'_>> = wrapped(&text, usize::from(area.width)).into_iter().map(Line::from).collect();
        frame.render_widget(Paragraph::new(lines), area);
        return;
    }
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]).areas(area);
    frame.render_widget(Line::styled(header(model, usize::from(head.width)), Modifier::BOLD), head);
    model.page = usize::from(body.height).saturating_sub(1);
    if model.feed.is_some() {
        feed(frame, model, body)
    } else {
        list(frame, model, body)
    }
    footer(frame, model, foot);
    if let Some(prompt) = &model.prompt {
        panel(frame, &about(prompt), body);
    }
    if model.help {
        panel(frame, &HELP.map(str::to_owned), body);
    }
}

fn header(model: &Model, width: usize) -> String {
    let count = |wanted: Standing| model.rows.iter().filter(|row| standing(row) == wanted).count();
    let running = model.rows.iter().filter(|row| row.view.status == "running").count();
    let costs: Vec<f64> = model.rows.iter().filter_map(|row| row.view.usage.total.cost_usd).collect();
    let spent = if costs.is_empty() { String::new() } else { format!(" · ${:.2}", costs.iter().sum::<f64>()) };
    let filter = if model.filter.is_empty() { String::new() } else { format!(" · filter: {}", model.filter) };
    let text = format!(
        "windlass top · {running} running · {} open · {} need you · {} loops{spent}{filter}",
        count(Standing::Open),
        count(Standing::NeedsYou),
        model.rows.len(),
    );
    cut(&one_line(&text, 1_000), width)
}

fn list(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let width = usize::from(area.width);
    let shown = model.shown();
    let head =
        Line::styled(columns(["name", "status", "iter", "gates", "cost", "time", "last words"], width), Modifier::DIM);
    let mut lines = vec![head];
    let room = usize::from(area.height).saturating_sub(1);
    let place = model.place().unwrap_or(0);
    let first = place.saturating_sub(room.saturating_sub(1)).min(shown.len().saturating_sub(room));
    for (at, row) in shown.iter().enumerate().skip(first).take(room) {
        let style = if at == place { Style::new().add_modifier(Modifier::REVERSED) } else { tone(row) };
        lines.push(Line::styled(cells(row, model, width), style));
    }
    if shown.is_empty() {
        let none = if model.rows.is_empty() {
            "No loops yet. Start one with `windlass run`."
        } else {
            "No loops match. Press e to show those that have ended, Esc to clear the filter."
        };
        lines.push(Line::from(none));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn tone(row: &LoopSummary) -> Style {
    let color = match (standing(row), row.view.status.as_str()) {
        (Standing::NeedsYou, _) => Color::Yellow,
        (Standing::Open, "running") => Color::Cyan,
        (Standing::Ended, "completed") if row.view.verified => Color::Green,
        (Standing::Open | Standing::Ended, _) => return Style::new(),
    };
    Style::new().fg(color)
}

fn cells(row: &LoopSummary, model: &Model, width: usize) -> String {
    let view = &row.view;
    let of = view.limits.max_iterations.map_or(String::new(), |max| format!("/{max}"));
    let since = u64::try_from(model.now.as_millisecond() - view.updated_at.as_millisecond()).unwrap_or(0);
    let under_way = row.driven && matches!(view.status.as_str(), "running" | "waiting");
    let time = human(view.elapsed_ms + if under_way { since } else { 0 });
    let time = time.split(' ').next().unwrap_or_default().to_owned();
    let name = one_line(&view.name, 200);
    let iterations = format!("{}{of}", view.iterations);
    columns([&name, &word(view), &iterations, &gates(row), &cost(&view.usage.total), &time, &last_words(row)], width)
}

/// How many gates passed, failed and have not run on the current commit.
fn gates(row: &LoopSummary) -> String {
    let gates = &row.view.gates;
    let count = |is: &dyn Fn(Option<Verdict>) -> bool| gates.iter().filter(|gate| is(gate.verdict)).count();
    let passed = count(&|verdict| verdict.is_some_and(Verdict::passed));
    let failed = count(&|verdict| verdict.is_some_and(|verdict| !verdict.passed()));
    let parts = [("✓", passed), ("✗", failed), ("·", gates.len() - passed - failed)];
    let parts: Vec<String> = parts.iter().filter(|(_, n)| *n > 0).map(|(mark, n)| format!("{mark}{n}")).collect();
    parts.join(" ")
}

/// The question or the reason of a loop that needs somebody, else what a running agent said last, else the summary of
/// its last iteration, else its goal.
fn last_words(row: &LoopSummary) -> String {
    let view = &row.view;
    let asked = question(row).map(|question| format!("asks: {}", question.question));
    let waits = view.waiting_for.clone().filter(|_| view.status != "queued");
    let said = view.history.last().map(|last| last.summary.clone()).filter(|text| !text.trim().is_empty());
    one_line(asked.or(waits).or(row.last_words.clone()).or(said).unwrap_or_else(|| view.goal.clone()).trim(), 400)
}

/// Cells in columns; the last one takes the rest, and the name what is left on a wide terminal.
fn columns<T: AsRef<str>>(cells: [T; 7], width: usize) -> String {
    const WIDTHS: [usize; 6] = [0, 13, 6, 8, 8, 5];
    let name = (width / 5).clamp(16, 32);
    let mut line = String::new();
    for (at, cell) in cells.iter().enumerate() {
        let wide = match at {
            0 => name,
            6 => width.saturating_sub(line.width()),
            _ => WIDTHS[at],
        };
        let cell = cut(cell.as_ref(), wide);
        let padding = " ".repeat(wide.saturating_sub(cell.width()));
        if (2..6).contains(&at) {
            line.push_str(&format!("{padding}{cell}"))
        } else {
            line.push_str(&format!("{cell}{padding}"))
        }
        line.push(' ');
    }
    cut(line.trim_end(), width)
}

fn feed(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let Some(feed) = &model.feed else { return };
    let width = usize::from(area.width);
    let mut lines = Vec::new();
    if let Some(row) = model.current() {
        lines.push(Line::styled(cells(row, model, width), Modifier::BOLD));
    }
    let room = usize::from(area.height).saturating_sub(lines.len());
    // Only what can be in sight is broken into lines.
    let until = feed.lines.len() - feed.back.min(feed.lines.len().saturating_sub(1));
    let from = until.saturating_sub(room);
    let text = feed.lines.range(from..until).flat_map(|line| wrapped(line, width));
    let text: Vec<String> = text.collect();
    lines.extend(text[text.len().saturating_sub(room)..].iter().cloned().map(Line::from));
    if feed.lines.is_empty() {
        lines.push(Line::styled("No output yet", Modifier::DIM));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn footer(frame: &mut Frame<'_>, model: &Model, area: Rect) {
    let width = usize::from(area.width);
    let (text, style) = match (&model.prompt, &model.message, &model.feed) {
        (Some(prompt), _, _) => (entry(prompt, width), Style::new().add_modifier(Modifier::BOLD)),
        (None, Some(message), _) => {
            let color = if message.failed { Color::Red } else { Color::Green };
            (cut(&one_line(&message.text, 1_000), width), Style::new().fg(color))
        }
        (None, None, Some(feed)) => {
            let place = if feed.back > 0 { "paused, G follows" } else { "following" };
            let keys = format!("{place} · Esc back · m message · w answer · p pause · r resume · s stop · ? help");
            (cut(&keys, width), Style::new().add_modifier(Modifier::DIM))
        }
        (None, None, None) => {
            let keys =
                "Enter feed · / filter · e ended · m message · w answer · a approve · x reject · ? help · q quit";
            (cut(keys, width), Style::new().add_modifier(Modifier::DIM))
        }
    };
    frame.render_widget(Line::styled(text, style), area);
}

/// The line that is typed, its end in sight.
fn entry(prompt: &Prompt, width: usize) -> String {
    let label = match prompt.verb {
        Verb::Filter => "filter: ".to_owned(),
        Verb::Steer => format!("message to {}: ", prompt.name),
        Verb::Reject => format!("reject {}, reason: ", prompt.name),
        Verb::Answer => format!("answer to {}: ", prompt.name),
        Verb::Stop => return cut(&format!("stop {} now? y stops, any other key goes back", prompt.name), width),
        Verb::Approve => return cut(&format!("approve {}? y approves, any other key goes back", prompt.name), width),
    };
    let label = cut(&one_line(&label, 200), width / 2);
    let room = width.saturating_sub(label.width() + 1);
    let mut text = prompt.text.as_str();
    while text.width() > room {
        let mut rest = text.chars();
        rest.next();
        text = rest.as_str();
    }
    format!("{label}{text}▏")
}

fn about(prompt: &Prompt) -> Vec<String> {
    match prompt.verb {
        Verb::Approve | Verb::Reject if prompt.about.is_empty() => vec!["Reading what changed…".to_owned()],
        Verb::Approve | Verb::Reject | Verb::Answer | Verb::Filter | Verb::Steer | Verb::Stop => prompt.about.clone(),
    }
}

/// Lines over the bottom of an area.
fn panel(frame: &mut Frame<'_>, text: &[String], area: Rect) {
    if text.is_empty() {
        return;
    }
    let width = usize::from(area.width);
    let lines: Vec<String> = text.iter().flat_map(|line| wrapped(line, width.saturating_sub(2))).collect();
    let height = u16::try_from(lines.len() + 1).unwrap_or(u16::MAX).min(area.height.saturating_sub(2));
    let place = Rect { y: area.y + area.height - height, height, ..area };
    let mut shown = vec![Line::from("─".repeat(width))];
    shown.extend(lines.into_iter().map(|line| Line::from(format!(" {line}"))));
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(shown), place);
}

/// A line as lines of so many columns. Escapes are shown, never obeyed.
pub fn wrapped(line: &str, width: usize) -> Vec<String> {
    use unicode_width::UnicodeWidthChar as _;
    let line = printable(line).replace('\t', "    ").replace('\x1b', "^[");
    let (mut lines, mut at) = (vec![String::new()], 0);
    for c in line.chars() {
        let wide = c.width().unwrap_or(0);
        if at + wide > width.max(1) {
            lines.push(String::new());
            at = 0;
        }
        if let Some(last) = lines.last_mut() {
            last.push(c);
        }
        at += wide;
    }
    lines
}
