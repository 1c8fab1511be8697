//! Whether a new loop can start. Everything that would stop it later is found here, before anything is made.

use std::path::Path;

use windlass_agents::Facts;
use windlass_core::spec::{AgentChoice, LoopSpec};
use windlass_engine::{copilot_loop, limits};

use crate::agents;
use crate::context::Context;
use crate::problem::{Kind, Problem};

/// Refuses a loop that cannot start, with the command that fixes it. Answers with what its user should know.
pub(crate) async fn check(context: &Context, project: &Path, spec: &LoopSpec) -> Result<Vec<String>, Problem> {
    let mut notes = Vec::new();
    if let Some(why) = limits::disk_short_at(&context.paths.data, &spec.resources) {
        return Err(Problem::refused(why, "make room, for example with `windlass clean --all`; or lower disk_free"));
    }
    // A container has its own programs and logins.
    if spec.sandbox.docker.is_none() {
        let reviewer = spec.review.as_ref().map(|review| &review.reviewer);
        for agent in [Some(&spec.agent), reviewer].into_iter().flatten() {
            installed(context, agent)
                .inspect_err(|problem| copilot_loop::not_started(agent.display_name(), &problem.message))?;
            notes.extend(logged_out(context, agent));
        }
        let fallbacks = spec.fallbacks.iter().chain(spec.review.iter().flat_map(|review| &review.fallbacks));
        let missing = fallbacks.filter_map(|agent| installed(context, agent).err());
        notes.extend(missing.map(|problem| format!("fallback: {}", problem.message)));
        notes.dedup();
    }
    for glob in context.workspaces()?.unmatched(project, &spec.protect).await? {
        notes.push(format!("--protect '{glob}' matches no file of this project"));
    }
    Ok(notes)
}

/// Whether the agent's program is there. What is named by a relative path is looked for in the workspace later.
fn installed(context: &Context, agent: &AgentChoice) -> Result<(), Problem> {
    let Some(program) = agent.profile.command.first() else { return Ok(()) };
    let relative = program.contains('/') && !program.starts_with('/');
    let brings_path = agent.profile.env.contains_key("PATH");
    if program == "{self}" || relative || brings_path || agents::find_program(context, None, program).is_some() {
        return Ok(());
    }
    if program.starts_with('/') && Path::new(program).is_file() {
        let message = format!("cannot start the agent {}: no permission to execute '{program}'", agent.name);
        let hint = format!("run `chmod +x {}`", shlex::try_quote(program).unwrap_or_else(|_| program.into()));
        return Err(Problem::new(Kind::AgentMissing, message).field("agent").hint(hint));
    }
    let place = if program.starts_with('/') { "" } else { " on PATH" };
    let message = format!("the agent {} is not installed: no program '{program}'{place}", agent.name);
    if let Some(path) = split_path(&agent.profile.command) {
        let hint = format!("quote the path, which contains a space: --agent-command \"'{path}'\"");
        return Err(Problem::new(Kind::AgentMissing, message).field("agent").hint(hint));
    }
    let mut hint = match Facts::of(&agent.profile).install {
        Some(install) => format!("install it: {install}; or choose another"),
        None => "check the command, or choose another".to_owned(),
    };
    hint.push_str(match agents::first_installed(context) {
        Some(_) => " with --agent (`windlass agents` shows what is installed)",
        None => ": `windlass agents` lists what can be installed",
    });
    Err(Problem::new(Kind::AgentMissing, message).field("agent").hint(hint))
}

/// The program that the first words of a command name together.
fn split_path(words: &[String]) -> Option<String> {
    (2..=words.len()).map(|count| words[..count].join(" ")).find(|path| Path::new(path).is_file())
}

/// An agent that was never used by this user and has no key in the environment cannot be logged in.
fn logged_out(context: &Context, agent: &AgentChoice) -> Option<String> {
    let facts = Facts::of(&agent.profile);
    agents::is_logged_out(context, &agent.profile).then(|| {
        format!(
            "{} does not look logged in: log in with `{}`, or set {}",
            agent.name,
            facts.login.unwrap_or_default(),
            facts.keys.join(" or ")
        )
    })
}
