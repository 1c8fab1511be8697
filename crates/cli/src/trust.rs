//! `windlass trust`, and the question before the first loop in a repository.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal, Write as _};
use std::path::Path;

use serde_json::json;
use windlass_core::spec::LoopSpec;
use windlass_engine::config::{Options, Settings};
use windlass_engine::trust::{self, Consent, Demand, Demands, TrustError};
use windlass_server::TrustReport;

use crate::args::TrustArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::style::{Style, one_line, short};

pub async fn trust(context: &Context, args: &TrustArgs) -> Result<Exit, Failure> {
    let project = context.project().await?;
    let data = context.data();
    refuse_agents(context)?;
    if args.revoke {
        let was = trust::revoke(&data, &project)?;
        print(&match args.json {
            true => format!("{}\n", json!({ "revoked": was })),
            false if was => format!("nothing of {} is trusted any more\n", project.display()),
            false => format!("nothing of {} was trusted\n", project.display()),
        });
        return Ok(Exit::Completed);
    }
    let mut demands = demands(context, &project, &args.base).await?;
    let open = demands.granted().is_none();
    if !args.json {
        print(&shown(&demands, Style::for_stdout()));
    }
    if open && !args.show && (args.yes || (!args.json && asked()?)) {
        demands.agree(&data)?;
        if !args.json {
            print("trusted until one of these files changes\n");
        }
    }
    if args.json {
        print(&format!("{}\n", json!(report(&demands))));
    }
    Ok(if demands.granted().is_some() { Exit::Completed } else { Exit::NeedsPerson })
}

/// All that this repository's own files would run, in a revision and as they lie there.
pub async fn demands(context: &Context, project: &Path, base: &str) -> Result<Demands, Failure> {
    let settings = context.settings(Some(project), Options::default())?;
    Ok(trust::of_repository(&context.data(), &context.workspaces()?, project, &settings, base).await?)
}

pub fn report(demands: &Demands) -> TrustReport {
    TrustReport { project: demands.project.clone(), trusted: demands.granted().is_some(), files: demands.list.clone() }
}

/// An agent cannot agree to what it wrote itself.
fn refuse_agents(context: &Context) -> Result<(), Failure> {
    let env = context.env.texts();
    if env.contains_key("WINDLASS_TURN") || env.contains_key("WINDLASS_LOOP") {
        return Err(Failure::usage("an agent of a loop cannot agree for its person", "ask the person to run it"));
    }
    Ok(())
}

/// The consent that a loop needs: given before, by the flag, or now by who sits at the terminal.
pub async fn consent(
    context: &Context,
    project: &Path,
    settings: &Settings,
    spec: &LoopSpec,
    agreed: bool,
) -> Result<Consent, Failure> {
    let data = context.data();
    let mut demands = trust::of_loop(&data, &context.workspaces()?, project, settings, spec).await?;
    if let Some(consent) = demands.granted() {
        return Ok(consent);
    }
    if agreed {
        refuse_agents(context)?;
        return Ok(demands.agree(&data)?);
    }
    if !context.unattended && std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        eprint!("{}", shown(&demands, Style::plain()));
        if asked()? {
            return Ok(demands.agree(&data)?);
        }
    }
    let list = listed(demands.open(), Style::plain());
    let base = spec.workspace.base.as_ref().map_or(String::new(), |base| format!(" --base {base}"));
    Err(Failure::usage(
        format!("nobody agreed yet to what this repository's own files would run:\n{}", list.trim_end()),
        format!("read them, then run `windlass trust{base}`, or give --trust"),
    ))
}

fn asked() -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let mut error = std::io::stderr().lock();
    let _ = write!(error, "may these files run what they say? [y/N] ");
    let _ = error.flush();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn shown(demands: &Demands, style: Style) -> String {
    if demands.is_empty() {
        return "this repository's own files run nothing by themselves\n".to_owned();
    }
    format!("this repository's own files would run:\n{}", listed(demands.list.iter(), style))
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

impl From<TrustError> for Failure {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::Workspace(error) => error.into(),
            error @ TrustError::File(_) => Failure::of(Exit::Failed, &error, None),
        }
    }
}
