//! `windlass doctor --sandbox`: attempts to break out of a sandbox, made inside one, and what became of each.

mod attempts;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use windlass_app::Context;
use windlass_core::sandbox::{NetworkAccess, SandboxLevel, SandboxSpec};
use windlass_engine::config::{Options, Sandbox, SandboxSupport};
use windlass_engine::sandbox::trial::{self, Bait, Seen, Trial};
use windlass_supervise::Launcher;

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::style::{Style, json_line, one_line};
use crate::terminal::print;

/// What the program inside says of one attempt.
#[derive(Debug, Serialize, Deserialize)]
struct Made {
    name: String,
    denied: Option<String>,
}

/// One attempt, judged.
#[derive(Debug, Serialize)]
struct Judged {
    name: &'static str,
    what: &'static str,
    allowed: bool,
    /// Whether it should be.
    expected: bool,
    ok: bool,
    detail: String,
}

/// What each attempt is, and who may do it.
const MEANING: &[(&str, &str, Expected)] = &[
    ("write_workspace", "change files of the workspace", Expected::WhoWrites),
    ("commit", "commit in the workspace", Expected::WhoWrites),
    ("write_temp", "use the private temporary directory", Expected::All),
    ("connect", "reach the network", Expected::WithNetwork),
    ("write_home", "write to your home directory", Expected::None),
    ("write_system", "write to /usr", Expected::None),
    ("read_key", "read a key below ~/.ssh", Expected::None),
    ("read_data", "read Windlass's own data", Expected::None),
    ("write_data", "change Windlass's own data", Expected::None),
    ("read_other_loop", "read the workspace of another loop", Expected::None),
    ("read_shared_temp", "read a file in the shared temporary directory", Expected::None),
    ("plant_hook", "plant a git hook", Expected::None),
    ("hooks_path", "point core.hooksPath elsewhere", Expected::None),
    ("edit_git_config", "edit .git/config", Expected::None),
    ("edit_alternates", "edit the clone's alternates", Expected::None),
    ("replace_git_directory", "replace the clone's .git", Expected::None),
    ("write_repository", "write to your repository", Expected::None),
    ("delete_objects", "delete your repository's objects", Expected::None),
    ("push_home", "push to your repository", Expected::None),
    ("push_by_path", "force-push to another repository by its path", Expected::None),
    ("symlink_out", "write through a symbolic link to the outside", Expected::None),
    ("rename_race", "write to a name that is swapped for a link to the outside", Expected::None),
    ("service_socket", "talk to a service through its socket", Expected::None),
    ("docker_socket", "talk to Docker", Expected::None),
    ("signal_engine", "send a signal to Windlass", Expected::None),
    ("proc_of_engine", "read the environment of Windlass", Expected::None),
    ("trace_supervisor", "read its supervisor's memory", Expected::None),
    ("root_of_supervisor", "see the system through its supervisor", Expected::None),
    ("kernel_settings", "change kernel settings", Expected::None),
    ("mount", "mount a file system", Expected::None),
    ("user_namespace", "become root in a new namespace", Expected::None),
    ("block_device", "open a disk", Expected::None),
    ("leave_limits", "escape the memory and process limits", Expected::None),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    None,
    All,
    WhoWrites,
    WithNetwork,
}

impl Expected {
    fn is_allowed(self, level: SandboxLevel, network: NetworkAccess) -> bool {
        match self {
            Expected::None => false,
            Expected::All => true,
            Expected::WhoWrites => level != SandboxLevel::ReadOnly,
            Expected::WithNetwork => network == NetworkAccess::Allow,
        }
    }
}

/// Inside: makes every attempt and says one line of JSON about each.
pub fn make_attempts(bait: &str) -> Result<Exit, Failure> {
    let bait: Bait = serde_json::from_str(bait)
        .map_err(|error| Failure::usage(format!("internal command: {error}"), "use `windlass doctor --sandbox`"))?;
    for (name, attempt) in attempts::ATTEMPTS {
        let denied = attempt(&bait).err().map(|error| error.to_string());
        let made = Made { name: (*name).to_owned(), denied };
        print(&json_line(&serde_json::json!(made)));
    }
    Ok(Exit::Completed)
}

pub async fn doctor(context: &Context, args: &DoctorArgs, asked: Sandbox) -> Result<Exit, Failure> {
    let flags = Options {
        sandbox: Some(asked),
        network: args.network,
        docker_image: args.docker_image.clone(),
        ..Options::default()
    };
    let settings = context.settings(None, flags)?;
    let network = match settings.network.value.unwrap_or_default() {
        NetworkAccess::Allow => NetworkAccess::Allow,
        // There is no driver here whose proxy would reach the listed hosts; the rest is as closed as without a list.
        NetworkAccess::Deny | NetworkAccess::List => NetworkAccess::Deny,
    };
    let level = match asked {
        Sandbox::Auto | Sandbox::Workspace => SandboxLevel::Workspace,
        Sandbox::ReadOnly => SandboxLevel::ReadOnly,
        Sandbox::Docker => SandboxLevel::Docker,
        Sandbox::Off => return Err(Failure::usage("no sandbox to test", "select a level with --sandbox")),
    };
    let (backend, docker) = match context.sandbox(&settings) {
        SandboxSupport::Works { backend } => (backend, None),
        SandboxSupport::Docker(docker) => (format!("image {}", docker.image), Some(docker)),
        SandboxSupport::Missing { reason, fix } => return Err(Failure::usage(reason, fix)),
        SandboxSupport::Unknown => {
            return Err(Failure::usage("the sandbox was not probed", "select a level with --sandbox"));
        }
    };
    // An image need not have all that the attempts are made with.
    let readable = match (&docker, &settings.sandbox_readable.value) {
        (Some(_), Some(readable)) => readable.get().to_vec(),
        _ => Vec::new(),
    };
    let trial = Trial {
        spec: SandboxSpec { level, network, docker, readable, ..SandboxSpec::default() },
        launcher: Launcher::current()?,
        workspaces: context.workspaces()?,
        env: context.env.texts(),
        program: std::env::current_exe()?,
        args: vec!["escape-attempts".to_owned()],
    };
    let tried = trial::run(&trial).await.map_err(|error| Failure {
        exit: Exit::Failed,
        message: format!("cannot run the attempts: {error}"),
        causes: Vec::new(),
        hint: None,
    })?;
    let view = if trial.spec.docker.is_some() {
        Vec::new()
    } else {
        let places = &settings;
        let list = |list: &Option<windlass_engine::config::Locations>| {
            list.as_ref().map(|list| list.get().to_vec()).unwrap_or_default()
        };
        let spec = SandboxSpec {
            readable: list(&places.sandbox_readable.value),
            writable: list(&places.sandbox_writable.value),
            denied: list(&places.sandbox_denied.value),
            sockets: list(&places.sandbox_sockets.value),
            ..trial.spec.clone()
        };
        trial::view(&spec, &trial.env).map_err(|error| Failure::usage(error.to_string(), "run `windlass doctor`"))?
    };
    let judged = judge(&tried.output, level, network);
    let ok = judged.iter().all(|one| one.ok);
    if args.agents.json {
        let sandbox = serde_json::json!({ "level": level, "backend": backend, "network": network });
        let report = serde_json::json!({ "ok": ok, "sandbox": sandbox, "attempts": judged, "view": view });
        print(&json_line(&report));
    } else {
        let title = format!("sandbox: {} ({backend}), network {}", level.name(), network.name());
        print(&shown(&title, &judged, &tried.ended, Style::for_stdout()));
        print(&view_shown(&view));
    }
    Ok(if ok { Exit::Completed } else { Exit::Failed })
}

fn judge(output: &str, level: SandboxLevel, network: NetworkAccess) -> Vec<Judged> {
    let made: BTreeMap<String, Made> = output
        .lines()
        .filter_map(|line| serde_json::from_str::<Made>(line).ok())
        .map(|made| (made.name.clone(), made))
        .collect();
    let judge = |&(name, what, expected): &(&'static str, &'static str, Expected)| {
        let expected = expected.is_allowed(level, network);
        match made.get(name) {
            Some(Made { denied: None, .. }) => {
                Judged { name, what, allowed: true, expected, ok: expected, detail: String::new() }
            }
            Some(Made { denied: Some(why), .. }) => {
                Judged { name, what, allowed: false, expected, ok: !expected, detail: one_line(why, 100) }
            }
            // What was not made proves nothing.
            None => {
                let detail = "not finished".to_owned();
                Judged { name, what, allowed: false, expected, ok: false, detail }
            }
        }
    };
    MEANING.iter().map(judge).collect()
}

fn shown(title: &str, judged: &[Judged], ended: &str, style: Style) -> String {
    let mut text = format!("{title}\n");
    for one in judged {
        let mark = if one.ok { style.good("✓") } else { style.bad("✗") };
        let how = if one.allowed { "allowed" } else { "denied" };
        let detail = if one.detail.is_empty() { String::new() } else { style.dim(&format!("  {}", one.detail)) };
        let _ = writeln!(text, "{mark} {how:<8} {}{detail}", one.what);
    }
    let wrong = judged.iter().filter(|one| !one.ok).count();
    if wrong == 0 {
        let _ = writeln!(text, "{} attempts: all as expected", judged.len());
    } else {
        let _ = writeln!(text, "{wrong} of {} attempts had unexpected results (program inside: {ended})", judged.len());
    }
    text
}

fn view_shown(view: &[Seen]) -> String {
    let mut text = String::new();
    if !view.is_empty() {
        text.push_str("\na gate sees only its workspace and:\n");
    }
    for place in view {
        let _ = writeln!(text, "  {:<10} {}", place.how, place.path.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_has_a_meaning() {
        let made: Vec<&str> = attempts::ATTEMPTS.iter().map(|(name, _)| *name).collect();
        let meant: Vec<&str> = MEANING.iter().map(|(name, ..)| *name).collect();
        assert_eq!(made, meant);
    }

    #[test]
    fn an_attempt_that_gets_through_or_was_not_made_is_a_failure() {
        let output = "{\"name\":\"read_key\",\"denied\":null}\n{\"name\":\"write_home\",\"denied\":\"no\"}\n";
        let judged = judge(output, SandboxLevel::Workspace, NetworkAccess::Deny);
        let ok = |name: &str| judged.iter().find(|one| one.name == name).unwrap().ok;
        assert!(ok("write_home"));
        assert!(!ok("read_key"), "it got through");
        assert!(!ok("mount"), "nobody tried");
    }
}
