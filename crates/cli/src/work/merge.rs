//! `windlass merge`.

use std::sync::Arc;

use windlass_core::ids::Role;
use windlass_core::machine::LoopState;
use windlass_core::stop::Status;
use windlass_engine::driver::RedGate;
use windlass_engine::engine::Engine;
use windlass_engine::work::Merged;
use windlass_server::MergeReport;
use windlass_workspace::{MergeOutcome, MergeRequest};

use super::{has_own_workspace, hold};
use crate::args::MergeArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::print;
use crate::style::{one_line, short};

pub async fn merge(context: &Context, args: &MergeArgs) -> Result<Exit, Failure> {
    let (engine, held) = hold(context, &args.name).await?;
    let report = bring_home(&engine, &held.state, args).await;
    engine.release(held).await?;
    shown(report?, args)
}

/// Tells what came of it.
pub fn shown(report: MergeReport, args: &MergeArgs) -> Result<Exit, Failure> {
    for warning in &report.warnings {
        eprintln!("warning: {warning}");
    }
    let conflicts = matches!(report.outcome, MergeOutcome::Conflicts { .. });
    if args.json {
        print(&format!("{}\n", serde_json::json!(report)));
        return Ok(if conflicts { Exit::Failed } else { Exit::Completed });
    }
    match report.outcome {
        MergeOutcome::Merged { commit, into, fast_forward, checkout } => {
            let how = if args.squash {
                ", as one commit"
            } else if fast_forward {
                ", without a merge commit"
            } else {
                ""
            };
            let files = checkout.map_or(String::new(), |dir| format!("  files    {}\n", dir.display()));
            print(&format!("{}: merged into {into} at {}{how}\n{files}", args.name, short(&commit)));
        }
        MergeOutcome::UpToDate { into } => {
            print(&format!("{}: {into} has all of it already\n", args.name));
        }
        MergeOutcome::Conflicts { into, files } => return Err(conflict(&args.name, &into, &report.branch, &files)),
    }
    Ok(Exit::Completed)
}

fn conflict(name: &str, into: &str, branch: &str, files: &[String]) -> Failure {
    const SHOWN: usize = 20;
    let mut causes: Vec<String> =
        files.iter().take(SHOWN).map(|file| format!("both sides changed {}", one_line(file, 200))).collect();
    if files.len() > SHOWN {
        causes.push(format!("and {} more", files.len() - SHOWN));
    }
    let count = if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) };
    Failure {
        exit: Exit::Failed,
        message: format!("{name}: {count} in conflict with {into}; nothing was changed"),
        causes,
        hint: Some(format!("resolve them by hand: git switch {into} && git merge {branch}")),
    }
}

/// Merges a loop's branch; the loop has to be at rest.
pub async fn bring_home(engine: &Arc<Engine>, state: &LoopState, args: &MergeArgs) -> Result<MergeReport, Failure> {
    let name = &args.name;
    match &state.status {
        Status::Running | Status::Waiting { .. } => {
            return Err(Failure::usage(
                format!("{name}: the loop is not at rest"),
                format!("`windlass resume {name}` goes on with it, `windlass stop {name}` ends it"),
            ));
        }
        Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {}
    }
    if !has_own_workspace(state) {
        return Err(Failure::usage(
            format!("{name}: the loop works in place, so that its commits are on your branch already"),
            "`git log` shows them",
        ));
    }
    let mut warnings = Vec::new();
    if !state.verified {
        warnings.push(format!("{name} is {}, and its work is not verified", state.status.name()));
    }
    warnings.extend(left_out(engine, state).await);
    let request = MergeRequest { into: args.into.clone(), squash: args.squash, message: message(state, args) };
    let outcome = match engine.merge(state, &request, !args.no_gates).await? {
        Merged::Outcome(outcome) => outcome,
        Merged::Red { into, gate } => return Err(red(state, &into, &gate)),
    };
    let branch = state.workspace.as_ref().and_then(|workspace| workspace.branch.clone()).unwrap_or_default();
    Ok(MergeReport { name: name.clone(), branch, outcome, warnings })
}

/// A word on what is on disk and in no commit.
async fn left_out(engine: &Engine, state: &LoopState) -> Option<String> {
    let workspace = engine.workspace(state).ok().filter(|workspace| workspace.dir.is_dir())?;
    let changed = engine.workspaces.changed_since(&workspace, state.head_commit()?, &state.spec.workspace.copy).await;
    let count = changed.ok()?.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    (count > 0).then(|| format!("{files} in {} not committed, and not merged", workspace.dir.display()))
}

fn red(state: &LoopState, into: &str, gate: &RedGate) -> Failure {
    const SHOWN: usize = 10;
    let lines: Vec<&str> = gate.output_tail.lines().filter(|line| !line.trim().is_empty()).collect();
    let causes = lines[lines.len().saturating_sub(SHOWN)..].iter().map(|line| one_line(line, 200)).collect();
    let (name, branch) = (&state.name, state.workspace.as_ref().and_then(|workspace| workspace.branch.as_deref()));
    let by_hand = format!("git switch {into} && git merge --no-commit {}", branch.unwrap_or_default());
    Failure {
        exit: Exit::Failed,
        message: format!(
            "{name}: {} fails on the merge into {into}; nothing was changed",
            one_line(&gate.command, 120)
        ),
        causes,
        hint: Some(format!("fix it by hand: {by_hand}; or merge without gates: windlass merge {name} --no-gates")),
    }
}

/// The goal, what was done for it, and trailers.
fn message(state: &LoopState, args: &MergeArgs) -> String {
    let text = match &args.message {
        Some(said) => said.trim_end().to_owned(),
        None => {
            let count = state.iteration;
            let iterations = if count == 1 { "1 iteration".to_owned() } else { format!("{count} iterations") };
            let agent = &state.agent(Role::Coder).name;
            format!("Merge the work of {}\n\n{}\n\n{iterations} by {agent}.", state.name, state.spec.goal.trim())
        }
    };
    let gates = match (state.spec.gates.is_empty(), args.no_gates) {
        (true, _) => "none",
        (false, true) => "skipped",
        (false, false) => "passed",
    };
    format!("{text}\n\nWindlass-Loop: {}\nWindlass-Gates: {gates}\n", state.name)
}
