//! `doctor` and `config`: what this machine has and what is set.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use windlass_app::{App, Condition, Doctor, DoctorReport, Local, SettingsOf, doctor};

use crate::args::{DoctorArgs, ReportArgs, SchemaArgs, SchemaOf};
use crate::escape;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::here;
use crate::honesty;
use crate::style::{Style, fitted, json_line, warn};
use crate::terminal::print;

pub async fn doctor(app: &App, args: &DoctorArgs) -> Result<Exit, Failure> {
    if let Some(level) = args.sandbox {
        return escape::doctor(&here(app, "doctor --sandbox")?.context, args, level).await;
    }
    if let Some(agent) = &args.honesty {
        return honesty::doctor(app, agent, args.agents.json).await;
    }
    let report = match args.agents.calls() {
        // Calls may cost something: a server makes none for a report.
        Some(calls) => doctor::look(&here(app, "doctor --call")?.context, Some(calls)).await,
        None => app.run(Doctor::default()).await?,
    };
    Ok(doctor_shown(&report, args.agents.json))
}

/// Tells what a loop needs, and whether it is there.
fn doctor_shown(report: &DoctorReport, json: bool) -> Exit {
    if json {
        print(&json_line(&json!(report)));
    } else {
        let style = Style::for_stdout();
        let mut text = String::new();
        for finding in &report.findings {
            let mark = match finding.state {
                Condition::Ok => style.good("✓"),
                Condition::Warning => style.warn("!"),
                Condition::Problem => style.bad("✗"),
            };
            const AT: usize = 15;
            let _ = writeln!(text, "{mark} {:<12} {}", finding.what, fitted(&finding.detail, AT, AT));
            if let Some(fix) = &finding.fix {
                let _ = writeln!(text, "  {:<12} {}", "", style.dim(&fitted(&format!("fix: {fix}"), AT, AT)));
            }
        }
        text.push_str(if report.ok { "ready\n" } else { "loops cannot run on this machine yet\n" });
        print(&text);
    }
    if report.ok { Exit::Completed } else { Exit::Failed }
}

pub async fn config_show(app: &App, dir: Option<&Path>, args: &ReportArgs) -> Result<Exit, Failure> {
    let project = match app {
        App::Here(local) => local.context.project_if_any().await.map(|root| root.to_string_lossy().into_owned()),
        App::There(_) => dir.map(|dir| dir.to_string_lossy().into_owned()),
    };
    let view = app.run(SettingsOf { project }).await?;
    for warning in &view.warnings {
        warn(warning);
    }
    if args.json {
        let row = |row: &windlass_app::SettingView| json!({ "key": row.key, "value": row.value, "origin": row.origin });
        let rows: Vec<_> = view.settings.iter().map(row).collect();
        print(&json_line(&json!(rows)));
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let width = view.settings.iter().map(|row| row.key.len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &view.settings {
        let value = if row.value.is_null() { format!("({})", row.unset) } else { row.value.to_string() };
        let _ = writeln!(text, "{:<width$} = {value}  {}", row.key, style.dim(&format!("# {}", row.origin)));
    }
    print(&text);
    Ok(Exit::Completed)
}

pub async fn config_path(local: &Local, args: &ReportArgs) -> Result<Exit, Failure> {
    let context = &local.context;
    let project = context.project_if_any().await;
    let project_file = project.map(|root| root.join(windlass_engine::config::PROJECT_FILE));
    if args.json {
        let paths = json!({
            "user": context.paths.user_config,
            "project": project_file,
            "data": context.paths.data,
        });
        print(&json_line(&paths));
        return Ok(Exit::Completed);
    }
    let mut text = String::new();
    let there = |path: &Path| if path.exists() { "" } else { "  (does not exist)" };
    let user = &context.paths.user_config;
    let _ = writeln!(text, "user     {}{}", user.display(), there(user));
    if let Some(file) = &project_file {
        let _ = writeln!(text, "project  {}{}", file.display(), there(file));
    }
    let data = &context.paths.data;
    let _ = writeln!(text, "data     {}{}", data.display(), there(data));
    print(&text);
    Ok(Exit::Completed)
}

pub fn config_schema(args: &SchemaArgs) {
    use windlass_engine::config;
    let text = match args.of {
        SchemaOf::Settings => config::schema(),
        SchemaOf::Profile => config::profile_schema(),
        SchemaOf::Loop => config::loop_schema(),
        SchemaOf::Typescript => config::typescript(),
    };
    print(&format!("{}\n", text.trim_end()));
}
