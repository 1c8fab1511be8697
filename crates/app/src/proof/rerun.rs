//! Reruns gates in a fresh checkout: those of a loop on this machine, or those in a proof from elsewhere.

use std::path::Path;

use jiff::Timestamp;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState, WorkspaceOpening, evolve};
use windlass_core::spec::{CommitPolicy, WorkspaceKind};
use windlass_engine::driver::FreshRun;
use windlass_workspace::WorkspaceRequest;

use super::statement::{GateOf, Statement};
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::requests::StartLoop;
use crate::start;
use crate::words::one_line;

/// The gates of a loop on a commit, with the loop's own settings. Nobody may drive it meanwhile.
pub(super) async fn of_loop(here: &Local, id: &LoopId, commit: &str) -> Result<Vec<FreshRun>, Problem> {
    here.held(&id.0, async |engine, held| Ok(engine.judge_again(&held.state, commit).await?)).await
}

/// The gates that a proof names, with the settings of the project here.
pub(super) async fn of_stranger(
    here: &Local,
    root: &Path,
    statement: &Statement,
    agreed: bool,
) -> Result<Vec<FreshRun>, Problem> {
    let proof = &statement.predicate;
    if !agreed {
        let commands =
            proof.setup.iter().chain(proof.gates.iter().filter(|gate| !gate.hidden).map(|gate| &gate.command));
        let causes = commands.map(|command| format!("commands: {}", one_line(command, 200))).collect();
        let problem = Problem::new(Kind::Refused, "the commands in this proof have never run on this machine").hint(
            "review them, then run them in the sandbox with `windlass verify FILE --yes`, or skip them with --no-gates",
        );
        return Err(Problem { causes, ..problem });
    }
    let request = StartLoop {
        project: root.to_string_lossy().into_owned(),
        goal: proof.goal.clone(),
        agent_command: Some("true".to_owned()),
        ..StartLoop::default()
    };
    let engine = here.engine().await?;
    let (mut prepared, _) = start::prepared(here, request).await?;
    let spec = &mut prepared.spec;
    spec.gates = proof.gates.iter().filter(|gate| !gate.hidden).map(GateOf::spec).collect();
    spec.workspace.setup.clone_from(&proof.setup);
    spec.workspace.kind = WorkspaceKind::Clone;
    spec.commit = CommitPolicy::Engine;
    let id = LoopId(format!("verify-{}", uuid::Uuid::now_v7().simple()));
    let wanted = WorkspaceRequest {
        project: root.to_owned(),
        loop_id: id.0.clone(),
        loop_name: prepared.name.clone(),
        kind: windlass_workspace::Kind::Clone,
        branch: prepared.name.clone(),
        base: Some(proof.base.commit.clone()),
        root: engine.data.worktrees(),
        allow_dirty: true,
        fork: None,
    };
    let workspace = engine.workspaces.describe(&wanted).await?;
    let created = Event::LoopCreated {
        id: id.clone(),
        name: prepared.name,
        project: root.to_string_lossy().into_owned(),
        spec: Box::new(prepared.spec),
    };
    let now = Timestamp::now();
    let state = LoopState::created(now, &created).ok_or_else(|| Problem::no_loop(&id.0))?;
    let opening = WorkspaceOpening {
        dir: workspace.dir.to_string_lossy().into_owned(),
        branch: None,
        base_commit: Some(workspace.base_commit.clone()),
        head_commit: Some(proof.head.commit.clone()),
        tree: proof.head.tree.clone(),
        base_tree: None,
        saved: None,
        snapshot: None,
        notes: Vec::new(),
        recreated: false,
        target: None,
        handle: serde_json::json!(workspace),
    };
    let state = evolve(state, now, &Event::WorkspaceOpened { opening });
    let runs = engine.judge_again(&state, &proof.head.commit).await;
    // Nothing of it is a loop.
    engine.workspaces.remove_own(&engine.data.transcripts(&id))?;
    engine.workspaces.remove_own(&engine.data.loop_temp(&id.0))?;
    Ok(runs?)
}
