//! `agents`, `doctor` and `config`: what this machine has and what is set.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use windlass_agents::{KNOWN_AGENTS, KnownAgent};
use windlass_engine::config::Options;
use windlass_engine::store::{Access, SqliteStore, StoreError};

use crate::args::ReportArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::style::{Style, one_line};

/// An agent as this machine has it.
#[derive(Debug, serde::Serialize)]
struct AgentReport {
    name: String,
    display_name: String,
    program: String,
    installed: bool,
    path: Option<PathBuf>,
    version: Option<String>,
    /// What logs it in.
    login: Option<&'static str>,
    problem: Option<String>,
}

pub async fn agents(context: &Context, args: &ReportArgs) -> Result<Exit, Failure> {
    let reports = agent_reports(context).await?;
    if args.json {
        print(&format!("{}\n", json!(reports)));
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for agent in &reports {
        let mark = if agent.installed { style.good("✓") } else { style.bad("✗") };
        let detail = match (&agent.version, &agent.problem) {
            (Some(version), Some(problem)) => format!("{version}  {}", style.warn(problem)),
            (Some(version), None) => version.clone(),
            (None, Some(problem)) => style.dim(problem),
            (None, None) => "installed".to_owned(),
        };
        let _ = writeln!(text, "{mark} {:<12} {}  {detail}", agent.name, style.dim(&agent.program));
    }
    text.push_str(&style.dim("any other program: windlass run … --agent-command \"PROGRAM ARGUMENTS\"\n"));
    print(&text);
    Ok(Exit::Completed)
}

async fn agent_reports(context: &Context) -> Result<Vec<AgentReport>, Failure> {
    let project = context.project_if_any().await;
    let settings = context.settings(project.as_deref(), Options::default())?;
    let mut reports = Vec::new();
    for (name, agent) in &settings.agents {
        let profile = &agent.profile;
        let known = KnownAgent::of(profile.adapter());
        let program = profile.command.first().cloned().unwrap_or_default();
        let display_name = profile.display_name.clone().unwrap_or_else(|| name.clone());
        let mut report = AgentReport {
            name: name.clone(),
            display_name,
            program: program.clone(),
            installed: false,
            path: None,
            version: None,
            login: known.map(|known| known.login),
            problem: None,
        };
        if program == "{self}" {
            report.installed = true;
            report.program = "built in".to_owned();
            report.version = Some(env!("CARGO_PKG_VERSION").to_owned());
        } else {
            match find_program(context, project.as_deref(), &program) {
                Some(path) => {
                    report.installed = true;
                    report.version = version_of(&path).await;
                    report.problem = known.and_then(|known| untried(known, report.version.as_deref()));
                    report.path = Some(path);
                }
                None if program.is_empty() => report.problem = Some("its profile has no command".into()),
                None => {
                    let get = known.map_or(String::new(), |known| format!("; npm install -g {}", known.npm_package));
                    report.problem = Some(format!("{program} is not on the PATH{get}"));
                }
            }
        }
        reports.push(report);
    }
    Ok(reports)
}

/// A version that Windlass was not tried with, said so.
fn untried(known: &KnownAgent, version: Option<&str>) -> Option<String> {
    let (from, below) = known.known_good;
    match known.is_known_good(version?) {
        Some(true) | None => None,
        Some(false) => Some(format!("not tried with Windlass, which knows {from} up to {below}")),
    }
}

/// The first known agent that is installed, which is what `run` takes when none is named.
pub fn first_installed(context: &Context) -> Option<String> {
    let found = KNOWN_AGENTS.iter().find(|known| find_program(context, None, known.name).is_some());
    found.map(|known| known.name.to_owned())
}

fn find_program(context: &Context, project: Option<&Path>, program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let runs = |path: &PathBuf| {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        let path = project.unwrap_or(&context.cwd).join(program);
        return Some(path).filter(runs);
    }
    let path = context.env.texts().get("PATH").cloned().unwrap_or_default();
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(runs)
}

/// What `--version` says, if it says it soon.
async fn version_of(program: &Path) -> Option<String> {
    let asking = tokio::process::Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(10), asking).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| one_line(text.trim(), 60)).filter(|text| !text.is_empty())
}

/// One thing that was looked at.
#[derive(Debug, serde::Serialize)]
struct Finding {
    what: &'static str,
    /// `ok`, `warning` or `problem`.
    state: &'static str,
    detail: String,
    fix: Option<String>,
}

pub async fn doctor(context: &Context, args: &ReportArgs) -> Result<Exit, Failure> {
    let mut findings = vec![git(context).await, data(context).await];
    findings.push(project(context).await);
    findings.push(settings(context).await);
    findings.extend(containment());
    findings.push(agents_found(context).await?);
    let broken = findings.iter().any(|finding| finding.state == "problem");
    if args.json {
        print(&format!("{}\n", json!({ "ok": !broken, "findings": findings })));
    } else {
        let style = Style::for_stdout();
        let mut text = String::new();
        for finding in &findings {
            let mark = match finding.state {
                "ok" => style.good("✓"),
                "warning" => style.warn("!"),
                _ => style.bad("✗"),
            };
            let _ = writeln!(text, "{mark} {:<12} {}", finding.what, finding.detail);
            if let Some(fix) = &finding.fix {
                let _ = writeln!(text, "  {:<12} {}", "", style.dim(&format!("fix: {fix}")));
            }
        }
        text.push_str(if broken { "a loop cannot run here yet\n" } else { "ready\n" });
        print(&text);
    }
    Ok(if broken { Exit::Failed } else { Exit::Completed })
}

fn ok(what: &'static str, detail: impl Into<String>) -> Finding {
    Finding { what, state: "ok", detail: detail.into(), fix: None }
}

fn problem(what: &'static str, detail: impl Into<String>, fix: Option<String>) -> Finding {
    Finding { what, state: "problem", detail: detail.into(), fix }
}

fn warning(what: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { what, state: "warning", detail: detail.into(), fix: Some(fix.into()) }
}

async fn git(context: &Context) -> Finding {
    match context.workspaces() {
        Ok(workspaces) => match workspaces.git_version().await {
            Ok(version) => ok("git", version),
            Err(error) => problem("git", error.to_string(), error.hint()),
        },
        Err(failure) => problem("git", failure.message, failure.hint),
    }
}

async fn data(context: &Context) -> Finding {
    let path = context.data().database();
    match SqliteStore::open(&path, Access::ReadWrite) {
        Ok(_) => ok("data", context.paths.data.display().to_string()),
        Err(error @ (StoreError::ReadOnly { .. } | StoreError::Io { .. })) => {
            let fix = error.hint().or_else(|| Some("point WINDLASS_HOME to a directory you can write to".into()));
            problem("data", error.to_string(), fix)
        }
        Err(error) => problem("data", error.to_string(), error.hint()),
    }
}

async fn project(context: &Context) -> Finding {
    match context.project().await {
        Ok(root) => {
            let gate = crate::suggest::gate(&root).map(|gate| format!(", gate to try: {gate}")).unwrap_or_default();
            let protect = crate::suggest::protect(&root);
            let protect = match protect.as_slice() {
                [] => String::new(),
                globs => format!(", worth protecting: --protect '{}'", globs.join("' --protect '")),
            };
            ok("project", format!("{}{gate}{protect}", root.display()))
        }
        Err(failure) => {
            let fix = failure.hint.unwrap_or_else(|| "start loops inside a git repository".into());
            warning("project", failure.message, fix)
        }
    }
}

async fn settings(context: &Context) -> Finding {
    let root = context.project_if_any().await;
    match context.settings(root.as_deref(), Options::default()) {
        Ok(settings) if settings.warnings.is_empty() => ok("settings", context.paths.user_config.display().to_string()),
        Ok(settings) => warning("settings", settings.warnings.join("; "), "see `windlass config show`"),
        Err(failure) => problem("settings", failure.message, failure.hint),
    }
}

/// The ladder of ways to end an agent whole; the first that works is used.
fn containment() -> Vec<Finding> {
    let rungs = windlass_supervise::probe();
    let used = rungs.iter().position(|rung| rung.available);
    rungs
        .iter()
        .enumerate()
        .map(|(index, rung)| {
            let use_ = if Some(index) == used { "used: " } else { "" };
            if rung.available {
                ok("processes", format!("{use_}{} — {}", rung.name, rung.guarantee))
            } else {
                let detail = format!("{} does not work here: {}", rung.name, rung.why);
                warning("processes", detail, "a weaker rung is used instead")
            }
        })
        .collect()
}

async fn agents_found(context: &Context) -> Result<Finding, Failure> {
    let reports = match agent_reports(context).await {
        Ok(reports) => reports,
        Err(failure) => return Ok(problem("agents", failure.message, failure.hint)),
    };
    let found: Vec<&str> = reports.iter().filter(|agent| agent.installed).map(|agent| agent.name.as_str()).collect();
    let others = found.iter().any(|name| *name != "demo");
    Ok(if others {
        ok("agents", found.join(", "))
    } else {
        warning(
            "agents",
            "only the built-in demo agent is set up",
            "name one with --agent-command, or give it a profile in the settings",
        )
    })
}

pub async fn config_show(context: &Context, args: &ReportArgs) -> Result<Exit, Failure> {
    let project = context.project_if_any().await;
    let settings = context.settings(project.as_deref(), Options::default())?;
    for warning in &settings.warnings {
        eprintln!("warning: {warning}");
    }
    let shown = settings.show();
    if args.json {
        let rows: Vec<_> = shown
            .iter()
            .map(|row| json!({ "key": row.key, "value": row.value, "origin": row.origin.to_string() }))
            .collect();
        print(&format!("{}\n", json!(rows)));
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let width = shown.iter().map(|row| row.key.len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &shown {
        let origin = style.dim(&format!("# {}", row.origin));
        let _ = writeln!(text, "{:<width$} = {}  {origin}", row.key, row.text());
    }
    print(&text);
    Ok(Exit::Completed)
}

pub async fn config_path(context: &Context, args: &ReportArgs) -> Result<Exit, Failure> {
    let project = context.project_if_any().await;
    let project_file = project.map(|root| root.join(windlass_engine::config::PROJECT_FILE));
    if args.json {
        let paths = json!({
            "user": context.paths.user_config,
            "project": project_file,
            "data": context.paths.data,
        });
        print(&format!("{paths}\n"));
        return Ok(Exit::Completed);
    }
    let mut text = String::new();
    let there = |path: &Path| if path.exists() { "" } else { "  (not there)" };
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
