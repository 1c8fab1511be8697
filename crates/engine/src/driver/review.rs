//! The engine's part in a review: what the reviewer looks at, the commit that closes a section, the way back.

use std::collections::BTreeMap;

use windlass_agents::KnownAgent;
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Activity, Aim, Doing, Input, LoopState};
use windlass_core::profile::McpServer;
use windlass_core::prompt::{Changes, Facts};

use super::DriveError;
use super::performing::Context;
use super::workspace::{checkpoint_report, mode};
use crate::engine::{Engine, workspace_of};
use crate::tools::SOCKET_VARIABLE;
use windlass_faults as faults;
use windlass_workspace::CheckpointRequest;

/// More than any prompt takes.
const LONGEST_DIFF: usize = 64 * 1024;

/// What the prompt of this turn is told beside the state.
pub(super) async fn facts(context: &Context, state: &LoopState, turn: TurnKey) -> Result<Facts, DriveError> {
    let tools = has_tools(state, turn);
    if !turn.role.reviews() {
        return Ok(Facts { changes: None, tools });
    }
    let Some((from, to)) = span(state) else { return Ok(Facts { changes: None, tools }) };
    let seen = context.engine.workspaces.between(&workspace_of(state)?, &from, &to, LONGEST_DIFF).await?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let changes = Changes {
        from: short(&from),
        to: short(&to),
        log: text(seen.log),
        files: text(seen.files),
        diff: text(seen.diff),
    };
    Ok(Facts { changes: Some(changes), tools })
}

/// Whether this program has tools for the turn. An agent that nobody answers needs none to ask.
pub(super) fn offers_tools(state: &LoopState, turn: TurnKey) -> bool {
    state.review.is_some() || (turn.role == Role::Coder && state.spec.question_wait_ms > 0)
}

/// Whether the agent reaches this program through tools.
fn has_tools(state: &LoopState, turn: TurnKey) -> bool {
    let adapter = state.agent(turn.role).profile.adapter();
    offers_tools(state, turn) && KnownAgent::of(adapter).is_some_and(|known| known.takes_mcp_servers())
}

/// The servers that this program offers to the agent of a turn.
pub(super) fn servers(engine: &Engine, state: &LoopState, turn: TurnKey) -> BTreeMap<String, McpServer> {
    if !has_tools(state, turn) {
        return BTreeMap::new();
    }
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let socket = engine.data.tool_socket(&state.id, turn.role);
    let env = BTreeMap::from([(SOCKET_VARIABLE.to_owned(), text(&socket))]);
    let server = McpServer { command: text(&engine.own_program), args: vec!["mcp".to_owned()], env };
    BTreeMap::from([("windlass".to_owned(), server)])
}

/// What is under review: the section since it began, the feature since the last verdict, or all of it.
fn span(state: &LoopState) -> Option<(String, String)> {
    let workspace = state.workspace.as_ref()?;
    let base = workspace.base_commit.clone()?;
    let head = workspace.head_commit.clone()?;
    let review = state.review.as_ref()?;
    let from = match review.aim() {
        Aim::Whole => None,
        Aim::Section { .. } if state.accepts_features() => {
            review.accepted().last().and_then(|last| last.commit.clone())
        }
        Aim::Section { .. } => review.audit().and_then(|audit| audit.began_at.clone()).flatten(),
    };
    Some((from.unwrap_or(base), head))
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// Closes a section with a commit of its own, empty if nothing is left to commit.
pub(super) async fn seal(context: Context, state: &LoopState, section: u32) -> Result<Input, DriveError> {
    let workspace = workspace_of(state)?;
    let review = state.review.as_ref().ok_or_else(|| DriveError::Lost("the loop has no review".into()))?;
    let title = review.section().map(|section| section.title.clone()).unwrap_or_default();
    let turn = review.last.as_ref().map_or_else(|| TurnKey::first(state.iteration, Role::Auditor), |(turn, _)| *turn);
    let summary = review.section_summary();
    let summary = summary.map(|summary| summary.done.join("\n")).unwrap_or_default();
    let request = CheckpointRequest {
        loop_name: state.name.clone(),
        iteration: state.iteration,
        turn_id: state.turn_id(turn),
        previous_head: state.head_commit().unwrap_or(&workspace.base_commit).to_owned(),
        base: None,
        previous_tree: state.workspace.as_ref().and_then(|known| known.tree.clone()),
        message: format!("section {section}: {title}\n\n{summary}"),
        mode: mode(state),
        section: Some(section.to_string()),
        never_commit: state.spec.workspace.copy.clone(),
        unwanted: context.engine.unwanted(state),
    };
    faults::point("seal.before");
    let made = context.engine.workspaces.checkpoint(&workspace, &request).await?;
    faults::point("seal.after");
    Ok(Input::Sealed { section, checkpoint: checkpoint_report(made, &[]) })
}

/// Takes back what came after a commit; it stays reachable.
pub(super) async fn undo(context: Context, state: &LoopState, commit: String) -> Result<Input, DriveError> {
    let workspace = workspace_of(state)?;
    let save_as = workspace.keep_ref("post-action", &state.iteration.to_string());
    faults::point("undo.before");
    let restored = context.engine.workspaces.rollback(&workspace, &commit, &save_as).await?;
    let Activity::Running(Doing::Undo { tree, .. }) = &state.activity else {
        return Err(DriveError::Lost("nothing is to be undone".into()));
    };
    let tree = tree.clone().unwrap_or_default();
    Ok(Input::Undone { commit, tree, saved: restored.saved.map(|saved| saved.name) })
}
