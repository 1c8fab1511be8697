//! Which agents this machine has, in which version, and, if asked, whether they answer.

mod add;
mod logins;
mod versions;

use std::path::{Path, PathBuf};
use std::time::Duration;

use windlass_agents::{Facts, VersionFit};
use windlass_core::duration::human;
use windlass_core::profile::AgentProfile;
use windlass_core::sandbox::{SandboxLevel, SandboxSpec};
use windlass_core::spec::AgentChoice;
use windlass_engine::call::{self, Answer, Call};
use windlass_engine::config::{Options, Sandbox, SandboxSupport, Settings, asked_container};
use windlass_engine::environment::for_agent;
use windlass_engine::trust::{agreed_to_no_sandbox, project_says_what_runs, settings_are_trusted};
use windlass_supervise::Launcher;

use crate::context::Context;
use crate::local::Local;
use crate::loops::page_after;
use crate::problem::Problem;
use crate::reports::{AgentReport, KnownGood};
use crate::request::Request;
use crate::requests::{AgentsOf, CallAgents};
use crate::words::one_line;

pub use add::{AddAgent, AddedAgent};
pub(crate) use logins::is_logged_out;
use versions::version_of;

impl Request for AgentsOf {
    type Report = Vec<AgentReport>;
    const NAME: &'static str = "agents";

    async fn perform(self, here: &Local) -> Result<Vec<AgentReport>, Problem> {
        let mut agents = look(&here.there(self.project.as_deref())?, None).await?;
        page_after(&mut agents, self.after.as_deref(), self.limit, |agent| agent.name.clone())?;
        Ok(agents)
    }
}

impl Request for CallAgents {
    type Report = Vec<AgentReport>;
    const NAME: &'static str = "call_agents";

    async fn perform(self, here: &Local) -> Result<Vec<AgentReport>, Problem> {
        let timeout = Duration::from_millis(self.timeout_ms.unwrap_or(120_000));
        look(&here.there(self.project.as_deref())?, Some(timeout)).await
    }
}

/// The outcome of a call in words, with what to do unless all is well.
#[derive(Debug)]
pub struct AnswerText {
    pub text: String,
    pub fix: Option<String>,
}

pub fn answers(agent: &AgentReport) -> bool {
    agent.call.as_ref().is_some_and(|call| call.answer == Answer::Ok)
}

/// What became of the call, if there was one.
pub fn answer(agent: &AgentReport) -> Option<AnswerText> {
    let call = agent.call.as_ref()?;
    let login = agent.login.as_ref().map_or("log in".to_owned(), |login| format!("log in with `{login}`"));
    let (text, fix) = match &call.answer {
        Answer::Ok => (format!("answers ({})", human(call.took_ms)), None),
        Answer::NotLoggedIn { message } => (format!("is not logged in: {}", one_line(message, 200)), Some(login)),
        Answer::RateLimited { until, message } => {
            let until = until.map_or(String::new(), |until| format!(" until {until}"));
            let text = format!("is logged in, but rate-limited{until}: {}", one_line(message, 200));
            (text, Some("nothing to do; loops wait for the reset".to_owned()))
        }
        Answer::ModelNotFound { message } => {
            let fix = format!("select an available model: set `model` in [agents.{}], or use --model", agent.name);
            (format!("does not support the model: {}", one_line(message, 200)), Some(fix))
        }
        Answer::TimedOut { after_ms } => {
            let fix = format!("increase --call-timeout, or run `{}` to see what it does", agent.program);
            (format!("did not answer within {}", human(*after_ms)), Some(fix))
        }
        Answer::NotStarted { message } => {
            let fix = format!("fix `command` in [agents.{}]", agent.name);
            (format!("cannot be started: {}", one_line(message, 200)), Some(fix))
        }
        Answer::Failed { message } => {
            let fix = format!("run `{}` to see its error; if it is not logged in, {login}", agent.program);
            (format!("failed: {}", one_line(message, 200)), Some(fix))
        }
    };
    Some(AnswerText { text, fix })
}

/// Every agent that has a profile; each installed one is called if a time for that is given.
pub(crate) async fn look(context: &Context, call_for: Option<Duration>) -> Result<Vec<AgentReport>, Problem> {
    let project = context.project_if_any().await;
    let settings = context.settings(project.as_deref(), Options::default())?;
    // Until somebody agreed to the project's settings, they decide about nothing that runs.
    let strange = project.as_deref().filter(|root| !settings_are_trusted(&context.data(), root, &settings));
    let agreed = if strange.is_some() { context.settings(None, Options::default())? } else { settings.clone() };
    let named = agreed.env_pass.value.as_ref().map_or(&[][..], |names| names.get());
    let sandbox = match call_for.map(|_| context.sandbox(&agreed)) {
        Some(SandboxSupport::Works { .. }) => SandboxSpec { level: SandboxLevel::ReadOnly, ..SandboxSpec::default() },
        Some(SandboxSupport::Docker(docker)) => {
            let asked = asked_container(&agreed, Path::new(&docker.socket));
            SandboxSpec { docker: Some(docker), ..asked }
        }
        Some(SandboxSupport::Missing { reason, fix })
            if !matches!(agreed.sandbox.value, None | Some(Sandbox::Auto)) =>
        {
            return Err(Problem::refused(reason, fix));
        }
        Some(SandboxSupport::Missing { reason, fix }) if !may_run_unconfined(context, &agreed, project.as_deref()) => {
            return Err(Problem::refused(
                format!("no sandbox is available on this machine: {reason}"),
                format!("{fix}, or set WINDLASS_SANDBOX=off to call agents with your full permissions"),
            ));
        }
        Some(SandboxSupport::Missing { .. } | SandboxSupport::Unknown) | None => SandboxSpec::default(),
    };
    let unconfined = may_run_unconfined(context, &agreed, project.as_deref());
    let trusted = |name: &str| strange.is_none() || !project_says_what_runs(&settings, name);
    // All at once: each starts a program.
    let mut looks = tokio::task::JoinSet::new();
    for (name, agent) in &settings.agents {
        let (context, project) = (context.clone(), project.clone());
        let (name, profile, runs) = (name.clone(), agent.profile.clone(), trusted(name));
        looks.spawn(async move { report(&context, project.as_deref(), &name, &profile, runs, unconfined).await });
    }
    let mut reports = looks.join_all().await;
    // As the settings have them.
    reports.sort_by(|one, other| one.name.cmp(&other.name));
    let usual = first_installed(context);
    for report in &mut reports {
        report.usual = report.installed && usual.as_ref() == Some(&report.name);
    }
    let mut calls = tokio::task::JoinSet::new();
    for (index, report) in reports.iter().enumerate() {
        let name = &report.name;
        let (Some(agent), runs) = (settings.agents.get(name), trusted(name)) else { continue };
        if let Some(timeout) = call_for
            && report.installed
            && !report.built_in
            && runs
        {
            let mut profile = agent.profile.clone();
            if let Some(program) = profile.command.first_mut()
                && let Some(path) = &report.path
            {
                // Absolute, because a path relative to the project is invalid where the call runs.
                *program = path.to_string_lossy().into_owned();
            }
            let call = Call {
                // As in a loop, so that what is missing there is missing here.
                env: for_agent(&context.env.texts(), named, &profile),
                agent: AgentChoice { name: name.clone(), profile },
                launcher: Launcher::current()?,
                own_program: std::env::current_exe()?,
                timeout,
                data: context.data(),
                sandbox: sandbox.clone(),
            };
            calls.spawn(async move { (index, call::ask(&call).await) });
        }
    }
    while let Some(called) = calls.join_next().await {
        if let Ok((index, called)) = called {
            reports[index].call = Some(called);
        }
    }
    Ok(reports)
}

const NOT_AGREED: &str =
    "its command comes from the project's settings, which are not trusted yet; see `windlass trust`";

async fn report(
    context: &Context,
    project: Option<&Path>,
    name: &str,
    profile: &AgentProfile,
    runs: bool,
    unconfined: bool,
) -> AgentReport {
    let facts = Facts::of(profile);
    let program = profile.command.first().cloned().unwrap_or_default();
    let mut report = AgentReport {
        name: name.to_owned(),
        display_name: profile.display_name.clone().unwrap_or_else(|| name.to_owned()),
        program: program.clone(),
        installed: false,
        built_in: false,
        usual: false,
        path: None,
        version: None,
        known_good: facts.versions.clone().map(|(from, below)| KnownGood { from, below }),
        login: facts.login.clone(),
        logged_out: false,
        problem: None,
        call: None,
    };
    if program == "{self}" {
        report.installed = true;
        report.built_in = true;
        report.program = "built in".to_owned();
        report.version = Some(env!("CARGO_PKG_VERSION").to_owned());
        return report;
    }
    match find_program(context, project, &program) {
        Some(path) => {
            report.installed = true;
            report.logged_out = is_logged_out(context, profile);
            if runs {
                report.version = version_of(context, &path, profile, unconfined).await;
                report.problem = untried(&facts, report.version.as_deref());
            } else {
                report.problem = Some(NOT_AGREED.to_owned());
            }
            report.path = Some(path);
        }
        None if program.is_empty() => report.problem = Some("its profile has no command".into()),
        None => {
            let get = facts.install.map_or(String::new(), |install| format!("; {install}"));
            report.problem = Some(format!("{program} not found on PATH{get}"));
        }
    }
    report
}

/// A version that Windlass was not tried with, said so.
fn untried(facts: &Facts, version: Option<&str>) -> Option<String> {
    let (from, below) = facts.versions.as_ref()?;
    let side = match facts.fit(version?)? {
        VersionFit::Tried => return None,
        VersionFit::Older => "older",
        VersionFit::Newer => "newer",
    };
    Some(format!("{side} than the tested versions: {from} or later, before {below}"))
}

/// What to try with an agent that failed for good.
pub async fn after_failure(context: &Context, agent: &AgentChoice) -> Vec<String> {
    let settings = context.settings(None, Options::default());
    let unconfined = settings.is_ok_and(|settings| may_run_unconfined(context, &settings, None));
    let untried_version = async {
        let facts = Facts::of(&agent.profile);
        let path = find_program(context, None, agent.profile.command.first()?)?;
        let version = version_of(context, &path, &agent.profile, unconfined).await?;
        Some(format!("version {version} is {}", untried(&facts, Some(&version))?))
    };
    let mut hints: Vec<String> = untried_version.await.into_iter().collect();
    if Facts::of(&agent.profile).login.is_some() {
        hints.push("check that it works with `windlass agents --call`".to_owned());
    }
    hints
}

/// The first known agent that is installed, which is what `run` takes when none is named.
pub(crate) fn first_installed(context: &Context) -> Option<String> {
    let adapters = windlass_agents::KNOWN_AGENTS.iter().map(|known| known.name.to_owned());
    let built_in = windlass_engine::config::built_in_agents();
    let described = built_in.into_iter().filter(|(_, profile)| profile.about.is_some()).map(|(name, _)| name);
    adapters.chain(described).find(|name| find_program(context, None, name).is_some())
}

pub(crate) fn find_program(context: &Context, project: Option<&Path>, program: &str) -> Option<PathBuf> {
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

/// Whether the user said that programs of agents may run without a sandbox: in the settings, or for this project.
fn may_run_unconfined(context: &Context, settings: &Settings, project: Option<&Path>) -> bool {
    settings.sandbox.value == Some(Sandbox::Off)
        || project.is_some_and(|project| agreed_to_no_sandbox(&context.data(), project))
}
