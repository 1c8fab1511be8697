//! `windlass trust`, and the question before the first loop in a repository.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;

use serde_json::json;
use windlass_app::{Agree, App, Context, Local, Problem, RevokeTrust, TrustOf, agree_to_no_sandbox, refuse_agents};
use windlass_engine::trust::{Demand, Seen};

use crate::args::TrustArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::given::project;
use crate::style::{Style, folded, json_line, one_line, printable, short, terminal};
use crate::terminal::{answered, print};

pub async fn trust(app: &App, dir: Option<&Path>, args: &TrustArgs) -> Result<Exit, Failure> {
    let project = project(app, dir)?;
    let base = Some(args.base.clone());
    refuse_agents(&Context::new(None)?)?;
    if args.revoke {
        let was = app.run(RevokeTrust { project: project.clone(), base }).await?.revoked;
        print(&match args.json {
            true => json_line(&json!({ "revoked": was })),
            false if was => format!("revoked trust in {project}\n"),
            false => format!("{project} was not trusted\n"),
        });
        return Ok(Exit::Completed);
    }
    let mut report = app.run(TrustOf { project: project.clone(), base: base.clone() }).await?;
    if !args.json {
        print(&shown(&report.files, Style::for_stdout()));
    }
    if !report.trusted && !args.show && (args.yes || (!args.json && asked()?)) {
        report = app.run(Agree { project, base, files: seen(&report.files) }).await?;
        if !args.json {
            print("trusted until one of these files changes\n");
        }
    }
    if args.json {
        print(&json_line(&json!(report)));
    }
    Ok(if report.trusted { Exit::Completed } else { Exit::NeedsPerson })
}

fn seen(files: &[Demand]) -> Vec<Seen> {
    files.iter().map(|demand| Seen { file: demand.file.clone(), sha256: demand.sha256.clone() }).collect()
}

/// Consent to what a new loop would run from the repository's files, from the flag or the terminal.
pub fn word(app: &App, needed: Problem, agreed: bool, base: Option<&str>) -> Result<Vec<Seen>, Failure> {
    let Some(demands) = needed.details.as_deref() else { return Err(needed.into()) };
    if agreed {
        refuse_agents(&Context::new(None)?)?;
        return Ok(seen(demands));
    }
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        eprint!("{}", printable(&shown(demands, Style::plain())));
        if asked()? {
            return Ok(seen(demands));
        }
    }
    let list = listed(demands.iter().filter(|demand| !demand.trusted), Style::plain());
    let base = base.map_or(String::new(), |base| format!(" --base {base}"));
    let there = if matches!(app, App::There(_)) { " on the server" } else { "" };
    Err(Failure::usage(
        format!("this repository's commands are not trusted yet:\n{}", list.trim_end()),
        format!("review them, then run `windlass trust{base}`{there}, or use --trust"),
    ))
}

/// Asks at the terminal, once per repository, whether its loops may run without a sandbox.
pub async fn do_without_sandbox(local: &Local, problem: &Problem) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let fix = problem.hint.as_deref().unwrap_or_default();
    let text = format!("{}\n{fix}\n", problem.message);
    eprintln!("{}", terminal().map_or(text.clone(), |width| folded(&text, width)));
    let yes = answered("Run loops of this repository without a sandbox? [y/N] ")?;
    if yes {
        agree_to_no_sandbox(local).await?;
    }
    Ok(yes)
}

fn asked() -> Result<bool, Failure> {
    answered("Trust these commands? [y/N] ")
}

fn shown(demands: &[Demand], style: Style) -> String {
    if demands.is_empty() {
        return "this repository defines no commands\n".to_owned();
    }
    format!("this repository would run:\n{}", listed(demands.iter(), style))
}

fn listed<'a>(demands: impl Iterator<Item = &'a Demand>, style: Style) -> String {
    let mut text = String::new();
    for demand in demands {
        let mark = if demand.trusted { style.good("✓") } else { style.warn("?") };
        let who = match demand.agents.as_slice() {
            [] => "windlass".to_owned(),
            agents => agents.join(", "),
        };
        let _ = writeln!(
            text,
            "  {mark} {}  {}",
            demand.file,
            style.dim(&format!("{who}, sha256 {}", short(&demand.sha256)))
        );
        for what in &demand.runs {
            let _ = writeln!(text, "      {}", one_line(what, 160));
        }
    }
    text
}
