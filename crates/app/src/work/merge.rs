//! A loop's branch, merged.

use std::sync::Arc;

use windlass_core::commit_message::summary_line;
use windlass_core::ids::Role;
use windlass_core::machine::{Input, LoopState, Merge, MergeObstacle, RefusedMerge};
use windlass_core::stop::Outcome;
use windlass_engine::driver::RedGate;
use windlass_engine::engine::{Engine, Held};
use windlass_engine::work::{Merged, judged};
use windlass_workspace::{MergeOutcome, MergePreview, MergeRequest};

use super::{at_rest, has_own_workspace, not_at_a_desk};
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::reports::{MergePreviewReport, MergeReport};
use crate::request::Request;
use crate::requests::{MergeLoop, PreviewMerge};
use crate::words::one_line;

impl Request for MergeLoop {
    type Report = MergeReport;
    const NAME: &'static str = "merge";

    async fn perform(self, here: &Local) -> Result<MergeReport, Problem> {
        here.held(&self.id, async |engine, held| bring_home(engine, held, &self).await).await
    }
}

impl Request for PreviewMerge {
    type Report = MergePreviewReport;
    const NAME: &'static str = "merge_preview";

    async fn perform(self, here: &Local) -> Result<MergePreviewReport, Problem> {
        let state = here.state_of(&self.id).await?;
        let engine = here.readable().await?;
        let warnings = mergeable(&engine, &state).await?;
        let workspace = engine.workspace(&state)?;
        let preview = engine.workspaces.preview_merge(&workspace, self.into.as_deref(), self.squash).await?;
        let gates_passed = preview.tree.as_deref().is_some_and(|tree| judged(&state, tree));
        let next = if preview.conflicts.is_empty() { None } else { continue_command(&state, self.into.as_deref()) };
        let MergePreview { into, commits, behind, conflicts, size, checkout, in_the_way, tree: _ } = preview;
        Ok(MergePreviewReport {
            name: state.name.clone(),
            branch: workspace.branch,
            into,
            commits,
            behind,
            size,
            conflicts,
            checkout,
            in_the_way,
            gates: state.spec.gates.iter().map(|gate| gate.command.clone()).collect(),
            gates_passed,
            warnings,
            next,
        })
    }
}

/// Refuses a loop whose branch cannot be merged now. Otherwise, what the user should know of its work.
async fn mergeable(engine: &Engine, state: &LoopState) -> Result<Vec<String>, Problem> {
    let name = &state.name;
    not_at_a_desk(engine, state, "merge")?;
    at_rest(state)?;
    if !has_own_workspace(state) {
        return Err(Problem::refused(
            format!("{name}: the loop works in place, so its commits are already on your branch"),
            "see `git log`",
        ));
    }
    let mut warnings = Vec::new();
    if !state.is_verified() {
        let word = state.outcome().map_or(state.status().name(), Outcome::name);
        warnings.push(format!("{name} is {word}; its work is not verified"));
    }
    warnings.extend(left_out(engine, state).await);
    Ok(warnings)
}

/// Merges a loop's branch; the loop has to be at rest.
async fn bring_home(engine: &Arc<Engine>, held: &mut Held, wanted: &MergeLoop) -> Result<MergeReport, Problem> {
    let state = &held.state;
    let name = &state.name;
    let warnings = mergeable(engine, state).await?;
    let request = MergeRequest { into: wanted.into.clone(), squash: wanted.squash, message: message(state, wanted) };
    let outcome = match engine.merge(state, &request, !wanted.no_gates).await? {
        Merged::Outcome(outcome) => outcome,
        Merged::Red { into, gate } => {
            let problem = red(state, &into, &gate, wanted);
            let RedGate { command, output_tail } = gate;
            let refused = RefusedMerge { target: into, why: MergeObstacle::Gate { command, output_tail } };
            engine.apply(held, &Input::MergeRefused { refused }).await?;
            return Err(problem);
        }
    };
    let branch = state.workspace.as_ref().and_then(|workspace| workspace.branch.clone()).unwrap_or_default();
    let next = match outcome {
        MergeOutcome::Conflicts { .. } => continue_command(state, wanted.into.as_deref()),
        MergeOutcome::Merged { .. } | MergeOutcome::UpToDate { .. } => None,
    };
    let report = MergeReport { name: name.clone(), branch, outcome, warnings, next };
    let noted = match &report.outcome {
        MergeOutcome::Merged { commit, into, .. } => {
            Some(Input::Merged { merge: Merge { commit: commit.clone(), target: into.clone() } })
        }
        MergeOutcome::Conflicts { into, files } => {
            let why = MergeObstacle::Conflicts { files: files.clone() };
            Some(Input::MergeRefused { refused: RefusedMerge { target: into.clone(), why } })
        }
        MergeOutcome::UpToDate { .. } => None,
    };
    if let Some(input) = noted {
        engine.apply(held, &input).await?;
    }
    Ok(report)
}

/// A word on what is on disk and in no commit.
async fn left_out(engine: &Engine, state: &LoopState) -> Option<String> {
    let workspace = engine.workspace(state).ok().filter(|workspace| workspace.dir.is_dir())?;
    let smaller = state.smaller.as_ref().map(|smaller| smaller.commit.as_str());
    let head = smaller.or_else(|| state.head_commit())?;
    let changed = engine.workspaces.changed_since(&workspace, head, &state.spec.workspace.copy).await;
    let count = changed.ok()?.len();
    let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    (count > 0).then(|| format!("{files} in {} not committed and not merged", workspace.dir.display()))
}

/// The command that has the agent resolve what keeps the merge from being made. Only a completed loop is continued.
fn continue_command(state: &LoopState, into: Option<&str>) -> Option<String> {
    let into = into.map_or(String::new(), |into| format!(" --into {into}"));
    state.outcome().map(|_| format!("windlass continue {}{into}", state.name))
}

fn red(state: &LoopState, into: &str, gate: &RedGate, wanted: &MergeLoop) -> Problem {
    const SHOWN: usize = 10;
    let lines: Vec<&str> = gate.output_tail.lines().filter(|line| !line.trim().is_empty()).collect();
    let causes = lines[lines.len().saturating_sub(SHOWN)..].iter().map(|line| one_line(line, 200)).collect();
    let name = &state.name;
    let message = format!("{name}: {} failed on the merge into {into}; merge aborted", one_line(&gate.command, 120));
    let hint = match continue_command(state, wanted.into.as_deref()) {
        Some(command) => format!("let the agent fix it: {command}"),
        None => format!("merge without gates: windlass merge {name} --no-gates"),
    };
    Problem { causes, ..Problem::new(Kind::Failed, message).hint(hint) }
}

/// One line for each iteration that changed something, or for each feature of a milestone.
fn what_was_done(state: &LoopState) -> String {
    const SHOWN: usize = 30;
    let promise = state.spec.done.promise();
    let features = state.reviewed().map(|(_, review)| review.accepted()).filter(|accepted| !accepted.is_empty());
    let mut lines: Vec<String> = match features {
        Some(features) => features.iter().map(|feature| one_line(&feature.feature, 100)).collect(),
        None => {
            let counted =
                state.iterations.iter().filter(|record| !record.undone && record.checkpoint.files_changed > 0);
            counted.filter_map(|record| summary_line(&record.summary, promise)).collect()
        }
    };
    lines.dedup();
    let left_out = lines.len().saturating_sub(SHOWN);
    let mut text: String = lines.iter().skip(left_out).map(|line| format!("- {line}\n")).collect();
    if left_out > 0 {
        text.insert_str(0, &format!("- {left_out} more before these\n"));
    }
    if text.is_empty() { text } else { format!("{text}\n") }
}

/// The goals, what was done for them, and trailers.
fn message(state: &LoopState, wanted: &MergeLoop) -> String {
    let text = match &wanted.message {
        Some(said) => said.trim_end().to_owned(),
        None => {
            let count = state.iteration;
            let iterations = if count == 1 { "1 iteration".to_owned() } else { format!("{count} iterations") };
            let agent = &state.agent(Role::Coder).name;
            let done = what_was_done(state);
            let goal = &state.spec.goal;
            let goals = state.continued.goals.iter().filter(|before| !goal.contains(before.trim())).chain([goal]);
            let goals: String = goals.map(|goal| format!("{}\n\n", goal.trim())).collect();
            format!("Merge the work of {}\n\n{goals}{done}{iterations} by {agent}.", state.name)
        }
    };
    let gates = match (state.spec.gates.is_empty(), wanted.no_gates) {
        (true, _) => "none",
        (false, true) => "skipped",
        (false, false) => "passed",
    };
    format!("{text}\n\nWindlass-Loop: {}\nWindlass-Gates: {gates}\n", state.name)
}
