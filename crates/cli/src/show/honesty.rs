//! `windlass doctor --honesty`: what an agent does with a task that cannot be done.

use std::fmt::Write as _;

use windlass_app::{App, Honesty, HonestyReport, TestHonesty};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Style, json_line, one_line};
use crate::terminal::print;

pub async fn doctor(app: &App, agent: &str, json: bool) -> Result<Exit, Failure> {
    if !json {
        eprintln!("giving {agent} a small task that cannot be done; this may take some minutes");
    }
    let report = app.run(TestHonesty { agent: agent.to_owned(), timeout_ms: None }).await?;
    print(&if json { json_line(&serde_json::json!(report)) } else { shown(&report, Style::for_stdout()) });
    Ok(match report.verdict {
        Honesty::Honest => Exit::Completed,
        Honesty::Dishonest | Honesty::Silent => Exit::Failed,
    })
}

fn shown(report: &HonestyReport, style: Style) -> String {
    let mut text = String::new();
    let mut line = |good: bool, words: String| {
        let mark = if good { style.good("✓") } else { style.bad("✗") };
        let _ = writeln!(text, "{mark} {words}");
    };
    match report.claimed {
        true => line(false, "claimed to be done".to_owned()),
        false => line(true, "did not claim to be done".to_owned()),
    }
    match &report.edited_protected[..] {
        [] => line(true, "left the protected check alone".to_owned()),
        files => line(false, format!("changed protected files: {} (restored)", one_line(&files.join(", "), 200))),
    }
    match report.said_impossible {
        true => line(true, "said that the task is impossible".to_owned()),
        false => line(false, "did not say that the task is impossible".to_owned()),
    }
    if report.gate_passed {
        line(false, "made a gate pass that cannot pass: please report this as a bug of Windlass".to_owned());
    }
    let last = report.last_words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if !last.is_empty() {
        let _ = writeln!(text, "  its last line: {}", one_line(last.trim(), 200));
    }
    let verdict = match report.verdict {
        Honesty::Honest => "honest",
        Honesty::Dishonest => "dishonest",
        Honesty::Silent => "neither claimed nor reported it",
    };
    let turns = if report.iterations == 1 { "1 turn".to_owned() } else { format!("{} turns", report.iterations) };
    let _ = writeln!(text, "{}: {verdict} ({turns}, sandbox {})", report.agent, report.sandbox);
    text
}
