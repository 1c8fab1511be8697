//! `agents`: which agents this machine has, in which version, and, if asked, whether they answer.

use std::fmt::Write as _;

use serde_json::json;
use windlass_app::agents::{AnswerText, answer};
use windlass_app::{AddAgent, AddedAgent, AgentReport, AgentsOf, App, CallAgents};

use crate::args::{AddAgentArgs, AgentsArgs, AgentsCommand, AgentsCommandArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Style, fitted, json_line, one_line};
use crate::terminal::answered;
use crate::terminal::print;

pub async fn agents(app: &App, args: &AgentsCommandArgs) -> Result<Exit, Failure> {
    if let Some(AgentsCommand::Add(args)) = &args.command {
        return add(app, args).await;
    }
    let args = &args.report;
    let reports = match args.calls() {
        Some(limit) => {
            let timeout_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
            app.run(CallAgents { project: None, timeout_ms }).await?
        }
        None => app.run(AgentsOf::default()).await?,
    };
    print(&shown(&reports, args));
    Ok(Exit::Completed)
}

async fn add(app: &App, args: &AddAgentArgs) -> Result<Exit, Failure> {
    let words = args.command.as_deref().map(|command| {
        shlex::split(command).ok_or_else(|| Failure::usage("the command has an unclosed quote", "close the quote"))
    });
    let command = words.transpose()?.unwrap_or_default();
    let request = AddAgent { name: args.name.clone(), command, write: args.yes };
    let mut report = app.run(request.clone()).await?;
    if args.json {
        print(&json_line(&json!(report)));
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    if !report.written {
        let text: String = report.text.lines().map(|line| format!("  {line}\n").replace("  \n", "\n")).collect();
        print(&format!("{}\n\n{text}\n", style.bold(&report.file)));
        if report.template {
            print(&style.warn("Windlass was not tried with this agent: the profile follows its documentation\n"));
        }
        if !answered(&format!("add it to {}? [Y/n] ", report.file))? {
            print(&format!("nothing written; `windlass agents add {} --yes` writes it\n", report.name));
            return Ok(Exit::Completed);
        }
        report = app.run(AddAgent { write: true, ..request }).await?;
    }
    print(&added(&report));
    Ok(Exit::Completed)
}

fn added(report: &AddedAgent) -> String {
    let mut text = format!("added [agents.{}] to {}\n", report.name, report.file);
    if report.template {
        text.push_str("  note     Windlass was not tried with this agent: the profile follows its documentation\n");
    }
    if !report.installed
        && let Some(install) = &report.install
    {
        let _ = writeln!(text, "  next     {install}");
    }
    if let Some(login) = &report.login {
        let _ = writeln!(text, "  next     {login}");
    }
    text.push_str("  next     windlass agents --call\n");
    text
}

/// The column after the names.
const NAMES: usize = 15;

/// The agents of a machine, in words or as JSON.
fn shown(reports: &[AgentReport], args: &AgentsArgs) -> String {
    if args.json {
        return json_line(&json!(reports));
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for agent in reports {
        let mark = if agent.installed { style.good("✓") } else { style.bad("✗") };
        let detail = match (&agent.version, &agent.problem) {
            (Some(version), Some(problem)) => format!("{version}  {}", style.warn(problem)),
            (Some(version), None) => version.clone(),
            (None, Some(problem)) => style.dim(problem),
            (None, None) => "installed".to_owned(),
        };
        // A problem of an agent that is not there names its program.
        let program = if agent.installed { format!("{}  ", style.dim(&agent.program)) } else { String::new() };
        let line = fitted(&format!("{program}{detail}"), NAMES, NAMES);
        let _ = writeln!(text, "{mark} {:<12} {line}", agent.name);
        if let (true, None, Some(login)) = (agent.logged_out, &agent.call, &agent.login) {
            let _ = writeln!(text, "    {}", style.warn(&format!("does not look logged in: {login}")));
        }
        if let Some(answer) = answer(agent) {
            write_answer(&mut text, agent, &answer, style);
        }
    }
    if !args.call {
        text.push_str(&style.dim("to check logins, run: windlass agents --call (one small call each)\n"));
    }
    text.push_str(&style.dim("to add more agents from templates: windlass agents add NAME\n"));
    text.push_str(&style.dim("to run any other program: windlass run … --agent-command \"PROGRAM ARGUMENTS\"\n"));
    text
}

fn write_answer(text: &mut String, agent: &AgentReport, answer: &AnswerText, style: Style) {
    let (mark, said) = match answer.fix {
        None => (style.good("✓"), answer.text.clone()),
        Some(_) => (style.bad("✗"), style.warn(&answer.text)),
    };
    let _ = writeln!(text, "    {mark} {said}");
    for line in agent.call.iter().flat_map(|call| &call.stderr) {
        let _ = writeln!(text, "      {}", style.dim(&one_line(line, 200)));
    }
    if let Some(fix) = &answer.fix {
        let _ = writeln!(text, "      {}", style.dim(&format!("fix: {fix}")));
    }
}
