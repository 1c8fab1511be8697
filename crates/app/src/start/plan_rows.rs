//! What a loop is going to do, in words.

use windlass_core::duration::human;
use windlass_core::machine::LoopState;
use windlass_core::profile::{AdapterKind, AgentProfile, OutputFormat};
use windlass_core::sandbox::{NetworkAccess, SandboxSpec};
use windlass_core::spec::{CommitPolicy, Done, LoopSpec, Parent, Verify, WorkspaceKind};
use windlass_engine::view::LoopView;

use crate::words::{one_line, short};

/// What will happen, line by line: what it is about, and the words.
pub fn plan_rows(state: &LoopState) -> Vec<(&'static str, String)> {
    let spec = &state.spec;
    let mut rows: Vec<(&'static str, String)> = vec![("goal", one_line(&spec.goal, 100))];
    let command = spec.agent.profile.command.join(" ").replace("{self}", "windlass");
    rows.push(("agent", format!("{} ({})", spec.agent.display_name(), one_line(&command, 80))));
    rows.push(("model", model(state)));
    rows.extend(read_as_words(&spec.agent.profile).map(|words| ("reads", words.to_owned())));
    for stand_in in &spec.fallbacks {
        rows.push(("then", stand_in.label()));
    }
    if let Some(review) = &spec.review {
        let command = review.reviewer.profile.command.join(" ");
        rows.push(("review", format!("{} ({})", review.reviewer.display_name(), one_line(&command, 80))));
    }
    if let Some(workspace) = &state.workspace {
        let branch = workspace.branch.as_deref().unwrap_or("the current branch");
        let base = workspace.base_commit.as_deref().map(short).unwrap_or_default();
        let place = match spec.workspace.kind {
            WorkspaceKind::InPlace | WorkspaceKind::External => format!("in your checkout {}", workspace.dir),
            WorkspaceKind::Clone => workspace.dir.clone(),
        };
        rows.push(("where", place));
        rows.push(("branch", format!("{branch}, from {base}")));
        rows.extend(spec.parent.as_ref().map(|parent| ("fork", fork_words(parent))));
    }
    if !spec.workspace.copy.is_empty() {
        rows.push(("copies", format!("{} from your checkout", one_line(&spec.workspace.copy.join(", "), 200))));
    }
    rows.push(("sandbox", sandbox(&spec.sandbox)));
    rows.push(("limits", limits(state)));
    let machine = spec.resources.words();
    if !machine.is_empty() {
        rows.push(("machine", machine.join(", ")));
    }
    if spec.gates.is_empty() {
        let why = match &spec.review {
            None => "none: claims cannot be verified",
            Some(_) => "none: only the reviewer checks the work",
        };
        rows.push(("gates", why.to_owned()));
    }
    for gate in &spec.gates {
        let label = if gate.hidden { "hidden" } else { "gate" };
        rows.push((label, format!("{} (timeout {})", one_line(&gate.command, 100), human(gate.timeout_ms))));
    }
    if !spec.gates.is_empty() {
        rows.push(("verify", verify(spec)));
    }
    let done = match &spec.done {
        Done::Promise { .. } => match spec.done.promise() {
            Some(promise) => format!("the agent prints {promise}"),
            None => "no completion promise: only a limit ends the loop".to_owned(),
        },
        Done::Gates => "the turn has ended".to_owned(),
        Done::Count { iterations } => format!("{iterations} iterations are done"),
        Done::Duration { ms } => format!("{} have elapsed", human(*ms)),
        Done::Review => match &spec.review {
            Some(review) if review.human_review => "the reviewer approves, and then you".to_owned(),
            Some(_) | None => "the reviewer approves".to_owned(),
        },
    };
    let and = if spec.gates.is_empty() { "" } else { ", and all gates pass on that commit" };
    rows.push(("done", format!("{done}{and}")));
    if spec.commit == CommitPolicy::Off {
        rows.push(("commits", "off: no commits".to_owned()));
    }
    rows
}

/// Where a fork started.
pub fn fork_words(parent: &Parent) -> String {
    let at = match parent.iteration {
        0 => "its start".to_owned(),
        iteration => format!("iteration {iteration}"),
    };
    format!("of {} at {at} ({})", parent.name, short(&parent.commit))
}

/// What of a command's output counts as the agent's own words; known agents have a format that tells.
fn read_as_words(profile: &AgentProfile) -> Option<&'static str> {
    if profile.adapter() != AdapterKind::Command {
        return None;
    }
    Some(match (profile.output.unwrap_or_default(), &profile.answer_pattern) {
        (OutputFormat::Text, None) => "everything that the command prints, JSON lines included",
        (OutputFormat::Text, Some(_)) => "everything that the command prints; a claim counts only in answer_pattern",
        (OutputFormat::Jsonl, _) => "the text events among the JSON lines that the command prints",
    })
}

/// The model that is asked for, and those that the agent reported so far.
fn model(state: &LoopState) -> String {
    let wanted = state.spec.agent.profile.model.clone().unwrap_or_else(|| "the agent's default".to_owned());
    let used = LoopView::of(state).usage.by_model.into_iter().map(|used| used.model);
    let used: Vec<String> = used.filter(|model| *model != wanted).collect();
    match used.is_empty() {
        true => wanted,
        false => format!("{wanted} (used: {})", one_line(&used.join(", "), 100)),
    }
}

/// The sandbox, in words.
fn sandbox(spec: &SandboxSpec) -> String {
    if spec.is_off() {
        return "off: the agent and gates run with your full permissions".to_owned();
    }
    let image = spec.docker.as_ref().map(|docker| docker.image.as_str());
    let backend = image.or(spec.backend.as_deref()).unwrap_or("unknown");
    let network = match spec.network {
        NetworkAccess::Allow => "network allowed".to_owned(),
        NetworkAccess::Deny => "no network".to_owned(),
        NetworkAccess::List => format!("network: {}", spec.hosts.join(" ")),
    };
    format!("{} ({backend}), {network}", spec.level.name())
}

fn limits(state: &LoopState) -> String {
    let limits = &state.spec.limits;
    let mut parts = Vec::new();
    if let Some(max) = limits.max_iterations {
        parts.push(if max == 1 { "1 iteration".to_owned() } else { format!("{max} iterations") });
    }
    if let Some(ms) = limits.duration_ms {
        parts.push(format!("{} in total", human(ms)));
    }
    if let Some(usd) = limits.budget_usd {
        parts.push(format!("${usd:.2}"));
    }
    if let Some(tokens) = limits.max_tokens {
        parts.push(format!("{tokens} tokens"));
    }
    parts.push(format!("{} per turn", human(state.spec.time.turn_timeout_ms)));
    parts.push(format!("{} without output", human(state.spec.time.stall_timeout_ms)));
    parts.join(", ")
}

/// Where gates run, and what they start from.
fn verify(spec: &LoopSpec) -> String {
    let in_place = match spec.workspace.kind {
        WorkspaceKind::InPlace | WorkspaceKind::External => true,
        WorkspaceKind::Clone => spec.commit == CommitPolicy::Off,
    };
    if in_place {
        return "in place: gates run in the agent's directory".to_owned();
    }
    let level = match spec.workspace.verify {
        Verify::Clean => "gates start from the commit and the set-up's output",
        Verify::Warm => "gates also reuse build output of earlier gates",
        Verify::Cold => "claims are checked on a bare checkout, with the set-up run again",
    };
    format!("{}: {level}", spec.workspace.verify.name())
}
