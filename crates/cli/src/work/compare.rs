//! `windlass compare`.

use unicode_width::UnicodeWidthStr as _;
use windlass_app::{App, CompareLoops, Compared, ComparedLoop};
use windlass_core::duration::human;
use windlass_core::machine::Verdict;

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Style, columns, json_line, one_line};
use crate::terminal::print;

/// The column of the labels, and the least that a loop gets.
const LABELS: usize = 11;
const NARROWEST: usize = 16;

pub async fn compare(app: &App, args: &CompareArgs) -> Result<Exit, Failure> {
    let mut ids = Vec::new();
    for name in &args.names {
        ids.push(app.find(Some(name)).await?.id);
    }
    let compared = app.run(CompareLoops { loops: ids.join(","), diff: args.diff, files: false }).await?;
    print(&match args.json {
        true => json_line(&serde_json::json!(compared)),
        false => shown(&compared, columns(), Style::for_stdout()),
    });
    Ok(Exit::Completed)
}

/// As many loops beside each other as fit, the others below.
fn shown(compared: &Compared, width: usize, style: Style) -> String {
    let room = width.saturating_sub(LABELS);
    let beside = (room / NARROWEST).max(1);
    let mut text = String::new();
    for some in compared.loops.chunks(beside) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table(some, (room / some.len()).min(40), style));
    }
    for difference in &compared.differences {
        let head = format!("from {} to {}", difference.from, difference.to);
        text.push_str(&format!("\n{}\n", style.bold(&head)));
        text.push_str(if difference.patch.is_empty() { "no difference\n" } else { &difference.patch });
    }
    text
}

fn table(loops: &[ComparedLoop], width: usize, style: Style) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &dyn Fn(&ComparedLoop) -> String| {
        let values: Vec<String> = loops.iter().map(|one| one_line(&value(one), width.saturating_sub(2))).collect();
        if values.iter().all(String::is_empty) {
            return;
        }
        let mut row = format!("{label:<LABELS$}");
        for value in &values {
            row.push_str(value);
            row.push_str(&" ".repeat(width.saturating_sub(value.width())));
        }
        let row = row.trim_end();
        text.push_str(&if label.is_empty() { style.bold(row) } else { row.to_owned() });
        text.push('\n');
    };
    line("", &|one| one.name.clone());
    line("outcome", &outcome);
    line("agent", &|one| match &one.model {
        Some(model) => format!("{}:{model}", one.agent),
        None => one.agent.clone(),
    });
    line("recipe", &|one| one.recipe.clone());
    line("fork of", &|one| {
        one.parent.as_ref().map_or(String::new(), |parent| format!("{} at {}", parent.name, parent.iteration))
    });
    line("gates", &|one| gates(one, false));
    line("hidden", &|one| gates(one, true));
    line("findings", &|one| match (one.findings_open, one.findings_resolved) {
        (Some(open), Some(resolved)) => format!("{open} open, {resolved} resolved"),
        _ => String::new(),
    });
    line("claims", &|one| format!("{}, {} refused", one.claims.made, one.claims.refused));
    line("iterations", &|one| one.iterations.to_string());
    line("cost", &|one| one.cost_usd.map_or("unknown".to_owned(), |usd| format!("${usd:.2}")));
    line("tokens", &|one| one.tokens.to_string());
    line("time", &|one| human(one.elapsed_ms));
    line("changes", &|one| match one.changes {
        Some(size) => {
            let files = if size.files == 1 { "file" } else { "files" };
            format!("{} {files} +{} -{}", size.files, size.added, size.removed)
        }
        None => "unknown".to_owned(),
    });
    text
}

fn outcome(one: &ComparedLoop) -> String {
    let word = match one.outcome {
        Some(outcome) => outcome.name().replace('_', " "),
        None => one.status.clone(),
    };
    let mark = if one.verified { "✔ " } else { "" };
    let merged = if one.merged { ", merged" } else { "" };
    format!("{mark}{word}{merged}")
}

/// How many of the gates passed on the last commit; nothing if there are none.
fn gates(one: &ComparedLoop, hidden: bool) -> String {
    let asked: Vec<Option<Verdict>> =
        one.gates.iter().filter(|gate| gate.hidden == hidden).map(|gate| gate.verdict).collect();
    let passed = asked.iter().flatten().filter(|verdict| verdict.passed()).count();
    let pending = asked.iter().filter(|verdict| verdict.is_none()).count();
    match (asked.len(), pending) {
        (0, _) => String::new(),
        (all, 0) => format!("{passed} of {all} passed"),
        (all, pending) if pending == all => "not run".to_owned(),
        (all, pending) => format!("{passed} of {all}, {pending} not run"),
    }
}
