//! `agents`: which agents this machine has, in which version, and, if asked, whether they answer.

use std::fmt::Write as _;

use serde_json::json;
use windlass_app::agents::{AnswerText, answer};
use windlass_app::{AgentReport, AgentsOf, App, CallAgents};

use crate::args::AgentsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::style::{Style, json_line, one_line};

pub async fn agents(app: &App, args: &AgentsArgs) -> Result<Exit, Failure> {
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
        let _ = writeln!(text, "{mark} {:<12} {}  {detail}", agent.name, style.dim(&agent.program));
        if let Some(answer) = answer(agent) {
            write_answer(&mut text, agent, &answer, style);
        }
    }
    if !args.call {
        text.push_str(&style.dim("to check logins, run: windlass agents --call (one small call each)\n"));
    }
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
