//! What a loop needs on this machine, looked at piece by piece.

mod honesty;

use std::time::Duration;

pub use honesty::{Honesty, HonestyReport, TestHonesty};
use windlass_core::machine::LoopState;
use windlass_core::residue::Leftover;
use windlass_engine::config::{self, MachineFacts, Options};
use windlass_engine::environment::withheld;
use windlass_engine::sandbox::docker;
use windlass_redact::environment::looks_secret;
use windlass_store::{Access, SqliteStore, StoreError};

use crate::agents;
use crate::context::Context;
use crate::local::Local;
use crate::problem::Problem;
use crate::project::{Found, FoundLine};
use crate::reports::{Condition, Diagnosis, DoctorReport};
use crate::request::Request;
use crate::requests::Doctor;

impl Request for Doctor {
    type Report = DoctorReport;
    const NAME: &'static str = "doctor";

    async fn perform(self, here: &Local) -> Result<DoctorReport, Problem> {
        // No calls: they may cost something.
        Ok(look(&here.there(self.project.as_deref())?, None).await)
    }
}

/// Everything that a loop needs on this machine, looked at.
pub async fn look(context: &Context, calls: Option<Duration>) -> DoctorReport {
    let mut findings = vec![git(context).await, data(context).await];
    findings.push(project(context).await);
    findings.extend(submodules(context).await);
    findings.push(settings(context).await);
    findings.extend(environment(context).await);
    findings.extend(containment().await);
    findings.extend(residue(context).await);
    findings.push(sandbox(context).await);
    findings.push(docker(context).await);
    findings.push(resources(context).await);
    findings.extend(agents_found(context, calls).await);
    let broken = findings.iter().any(|finding| finding.state == Condition::Problem);
    DoctorReport { ok: !broken, findings }
}

fn diagnosis(what: &str, state: Condition, detail: impl Into<String>, fix: Option<String>) -> Diagnosis {
    Diagnosis { what: what.to_owned(), state, detail: detail.into(), fix }
}

fn ok(what: &str, detail: impl Into<String>) -> Diagnosis {
    diagnosis(what, Condition::Ok, detail, None)
}

fn problem(what: &str, detail: impl Into<String>, fix: Option<String>) -> Diagnosis {
    diagnosis(what, Condition::Problem, detail, fix)
}

fn warning(what: &str, detail: impl Into<String>, fix: impl Into<String>) -> Diagnosis {
    diagnosis(what, Condition::Warning, detail, Some(fix.into()))
}

async fn git(context: &Context) -> Diagnosis {
    match context.workspaces() {
        Ok(workspaces) => match workspaces.git_version().await {
            Ok(version) => ok("git", version),
            Err(error) => problem("git", error.to_string(), error.hint()),
        },
        Err(failure) => problem("git", failure.message, failure.hint),
    }
}

async fn data(context: &Context) -> Diagnosis {
    let path = context.data().database();
    match SqliteStore::open(&path, Access::ReadWrite) {
        Ok(_) => {
            let place = context.paths.data.display();
            match context.data().close_to_others() {
                Ok(false) => ok("data", format!("{place}, private")),
                Ok(true) => ok("data", format!("{place}, was accessible to other users; now private")),
                Err(error) => {
                    warning("data", format!("{place} is accessible to other users: {error}"), "run chmod 700 on it")
                }
            }
        }
        Err(error @ (StoreError::ReadOnly { .. } | StoreError::Io { .. })) => {
            let fix = error.hint().or_else(|| Some("set WINDLASS_HOME to a writable directory".into()));
            problem("data", error.to_string(), fix)
        }
        Err(error) => problem("data", error.to_string(), error.hint()),
    }
}

async fn project(context: &Context) -> Diagnosis {
    match context.project().await {
        Ok(root) => {
            let found = Found::at(&root);
            let gate = found.gate().map(|gate| format!(", suggested gate: {gate}")).unwrap_or_default();
            let globs = |found: &[FoundLine]| found.iter().map(|glob| glob.line.clone()).collect::<Vec<_>>();
            let protect = match [globs(&found.tests), globs(&found.protect)].concat() {
                globs if globs.is_empty() => String::new(),
                globs => format!(", suggested protection: --protect '{}'", globs.join("' --protect '")),
            };
            ok("project", format!("{}{gate}{protect}", root.display()))
        }
        Err(failure) => {
            let fix = failure.hint.unwrap_or_else(|| "start loops inside a git repository".into());
            warning("project", failure.message, fix)
        }
    }
}

/// Submodules that a loop would find empty.
async fn submodules(context: &Context) -> Option<Diagnosis> {
    let (root, workspaces) = (context.project_if_any().await?, context.workspaces().ok()?);
    let missing = workspaces.missing_submodules(&root).await.ok().filter(|missing| !missing.is_empty())?;
    let detail = format!("not on this machine, so empty in a loop's workspace: {}", missing.join(", "));
    Some(warning("submodules", detail, "git submodule update --init --recursive"))
}

async fn settings(context: &Context) -> Diagnosis {
    let root = context.project_if_any().await;
    match context.settings(root.as_deref(), Options::default()) {
        Ok(settings) if settings.warnings.is_empty() => ok("settings", context.paths.user_config.display().to_string()),
        Ok(settings) => warning("settings", settings.warnings.join("; "), "see `windlass config show`"),
        Err(failure) => problem("settings", failure.message, failure.hint),
    }
}

/// What of this environment agents and gates do not get.
async fn environment(context: &Context) -> Option<Diagnosis> {
    const NAMED: usize = 12;
    let root = context.project_if_any().await;
    let settings = context.settings(root.as_deref(), Options::default()).ok()?;
    let named = settings.env_pass.value.map(|names| names.get().to_vec()).unwrap_or_default();
    let (all, withheld) = (context.env.texts(), withheld(&context.env.texts(), &named));
    if withheld.is_empty() {
        return Some(ok("environment", "agents and gates get all variables"));
    }
    let (secret, other): (Vec<_>, Vec<_>) = withheld.iter().partition(|name| looks_secret(name));
    let shown: Vec<&str> = secret.into_iter().chain(other).take(NAMED).map(String::as_str).collect();
    let more = if withheld.len() > NAMED { ", …" } else { "" };
    let detail =
        format!("not passed to gates: {}{more} ({} of {} variables)", shown.join(", "), withheld.len(), all.len());
    let fix = "pass needed variables with env_pass = [\"NAME\"] in the settings, or --env-pass NAME";
    Some(diagnosis("environment", Condition::Ok, detail, Some(fix.into())))
}

/// The ladder of ways to end an agent whole; the first that works is used.
async fn containment() -> Vec<Diagnosis> {
    let rungs = tokio::task::spawn_blocking(windlass_supervise::probe).await.unwrap_or_default();
    let used = rungs.iter().position(|rung| rung.available);
    rungs
        .iter()
        .enumerate()
        .map(|(index, rung)| {
            let use_ = if Some(index) == used { "used: " } else { "" };
            if rung.available {
                ok("processes", format!("{use_}{} — {}", rung.name, rung.guarantee))
            } else {
                let detail = format!("{} does not work on this machine: {}", rung.name, rung.why);
                warning("processes", detail, "Windlass uses a weaker method instead")
            }
        })
        .collect()
}

/// What loops that nobody drives left behind.
async fn residue(context: &Context) -> Vec<Diagnosis> {
    let Ok(Some(engine)) = context.reader().await else { return Vec::new() };
    let found = match engine.all_residue().await {
        Ok(found) => found,
        Err(error) => return vec![warning("clean-up", error.to_string(), "see the data above")],
    };
    if found.is_empty() {
        return vec![ok("clean-up", "nothing left behind")];
    }
    let shown = |state: &LoopState, left: &Leftover| {
        warning("clean-up", format!("{}: {} {}", state.name, left.kind.name(), left.what), left.fix.clone())
    };
    found.iter().flat_map(|(state, left)| left.iter().map(|left| shown(state, left))).collect()
}

async fn sandbox(context: &Context) -> Diagnosis {
    let path = context.search_path();
    match tokio::task::spawn_blocking(move || windlass_supervise::probe_sandbox(&path)).await {
        Err(error) => problem("sandbox", error.to_string(), None),
        Ok(Ok(backend)) => {
            ok("sandbox", format!("workspace ({}); test it with `windlass doctor --sandbox`", backend.name()))
        }
        Ok(Err(missing)) => warning(
            "sandbox",
            format!("off: {}; agents and gates run with your full permissions", missing.reason),
            missing.fix,
        ),
    }
}

/// Whether containers are available.
async fn docker(context: &Context) -> Diagnosis {
    let context = context.clone();
    let look = tokio::task::spawn_blocking(move || docker_here(&context));
    look.await.unwrap_or_else(|error| problem("docker", error.to_string(), None))
}

fn docker_here(context: &Context) -> Diagnosis {
    let settings = match context.settings(None, Options::default()) {
        Ok(settings) => settings,
        Err(failure) => return problem("docker", failure.message, failure.hint),
    };
    if settings.docker_image.value.is_some() {
        return match context.docker(&settings) {
            Ok(docker) => ok("docker", format!("--sandbox docker uses the image {}", docker.image)),
            Err(missing) => warning("docker", missing.reason, missing.fix),
        };
    }
    let found = docker::socket(settings.docker_host.value.as_deref(), &context.env.texts())
        .and_then(|socket| windlass_supervise::docker::docker_version(&socket));
    match found {
        Ok(version) => ok("docker", format!("version {version}; --sandbox docker requires --docker-image")),
        Err(missing) => ok("docker", format!("not available ({}); required only for --sandbox docker", missing.reason)),
    }
}

/// What a loop that is made here now may take of the machine, and by what that is held.
async fn resources(context: &Context) -> Diagnosis {
    let root = context.project_if_any().await;
    let settings = context.settings(root.as_deref(), Options::default()).unwrap_or_default();
    let spec = config::resources(&settings, &MachineFacts::of_this_one());
    let detail = spec.words().join(", ");
    match spec.held_by.why {
        None => ok("limits", detail),
        Some(why) => warning("limits", format!("{detail}; no control group: {why}"), NO_GROUP_FIX),
    }
}

const NO_GROUP_FIX: &str = "with systemd, use systemd-run --user --scope -- windlass run …; in a container, give it a writable \
                            cgroup";

async fn agents_found(context: &Context, calls: Option<Duration>) -> Vec<Diagnosis> {
    let reports = match agents::look(context, calls).await {
        Ok(reports) => reports,
        Err(failure) => return vec![problem("agents", failure.message, failure.hint)],
    };
    let found: Vec<_> = reports.iter().filter(|agent| agent.installed).collect();
    let others: Vec<_> = found.iter().filter(|agent| !agent.built_in).collect();
    if others.is_empty() {
        return vec![warning(
            "agents",
            "only the built-in demo agent is installed",
            "install an agent (`windlass agents` shows how), use --agent-command, or add a profile to the settings",
        )];
    }
    let names: Vec<&str> = found.iter().map(|agent| agent.name.as_str()).collect();
    let mut findings = vec![ok("agents", names.join(", "))];
    for agent in &others {
        if let Some(problem) = &agent.problem {
            let fix = "nothing if it works; otherwise install a tested version";
            findings.push(warning("agents", format!("{}: {problem}", agent.name), fix));
        }
        if let Some(answer) = agents::answer(agent) {
            findings.push(match answer.fix {
                None => ok("call", format!("{}: {}", agent.name, answer.text)),
                Some(fix) => warning("call", format!("{}: {}", agent.name, answer.text), fix),
            });
        }
    }
    if calls.is_some() && !others.iter().any(|agent| agents::answers(agent)) {
        findings.push(problem("agents", "no agent responded", Some("see the fixes above".into())));
    }
    findings
}
