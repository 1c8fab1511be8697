//! `windlass init`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;

use serde_json::{Value, json};
use windlass_app::{App, InitProject, InitReport};

use crate::args::InitArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::given::project;
use crate::style::{Style, fitted, json_line, printable};
use crate::terminal::answered;
use crate::terminal::print;

pub async fn init(app: &App, dir: Option<&Path>, args: &InitArgs) -> Result<Exit, Failure> {
    let request = InitProject { project: project(app, dir)?, write: args.yes, force: args.force };
    let mut report = app.run(request.clone()).await?;
    if args.json {
        print(&json_line(&json!(report)));
        return Ok(Exit::Completed);
    }
    if report.exists && !report.written && !args.force {
        return Err(Failure::usage(
            format!("{} already exists", report.file),
            "edit it with `windlass config edit --project`, or replace it with --force",
        ));
    }
    let style = Style::for_stdout();
    if !report.written {
        print(&format!("{}\n\n{}\n", style.bold(&report.file), shown(&report.text, style)));
        let name = windlass_engine::config::PROJECT_FILE;
        if !answered(&format!("Write {name}? [Y/n] "))? {
            print("nothing written; write it with `windlass init --yes`\n");
            return Ok(Exit::Completed);
        }
        report = app.run(InitProject { write: true, ..request }).await?;
    }
    print(&written(&report));
    Ok(Exit::Completed)
}

fn shown(text: &str, style: Style) -> String {
    let line = |line: &str| {
        let line = if line.starts_with('#') { style.dim(line) } else { line.to_owned() };
        format!("  {line}\n").replace("  \n", "\n")
    };
    text.lines().map(line).collect()
}

fn written(report: &InitReport) -> String {
    let mut text = format!("wrote {}\n", report.file);
    for found in [&report.found.gates, &report.found.setup, &report.found.protect].into_iter().flatten() {
        let _ = writeln!(text, "  found    {} ({})", found.line, found.file);
    }
    if report.found.gates.is_empty() {
        text.push_str("  note     no gate found: without one, work is claimed but not verified\n");
    }
    for next in &report.next {
        let _ = writeln!(text, "  next     {next}");
    }
    text
}

/// The gates of a project that has no settings for them, and the set-up they need, if the user at the terminal agrees.
/// Without a terminal, the loop's notes name the first gate.
pub async fn offered_gates(app: &App, project: &str) -> Result<BTreeMap<String, Value>, Failure> {
    let none = BTreeMap::new();
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(none);
    }
    // What is wrong with the project is said when the loop is made.
    let Ok(report) = app.run(InitProject { project: project.to_owned(), ..InitProject::default() }).await else {
        return Ok(none);
    };
    let gates: Vec<&str> = report.for_a_loop.gates.iter().map(|gate| gate.line.as_str()).collect();
    if report.has_gates || gates.is_empty() {
        return Ok(none);
    }
    let why = "No gates are configured, so nothing verifies the work. Suggested gates for this project:";
    eprintln!("{}", fitted(why, 0, 0));
    for gate in &report.for_a_loop.gates {
        eprintln!("  {} ({})", printable(&gate.line), printable(&gate.file));
    }
    let setup: Vec<&str> = report.for_a_loop.setup.iter().map(|setup| setup.line.as_str()).collect();
    for setup in &report.for_a_loop.setup {
        eprintln!("  set-up: {} ({})", printable(&setup.line), printable(&setup.file));
    }
    if !answered("Use them for this loop? [Y/n] ")? {
        return Ok(none);
    }
    eprintln!("save them for later loops with `windlass init`\n");
    let mut settings = BTreeMap::from([("gates".to_owned(), json!(gates))]);
    if !setup.is_empty() {
        settings.insert("setup".to_owned(), json!(setup));
    }
    Ok(settings)
}
