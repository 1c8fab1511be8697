//! Makes the statement of a loop from its journal.

use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, GateKey, GateReport, LoopState, Replayed, replay};
use windlass_core::spec::LoopSpec;
use windlass_engine::engine::Engine;
use windlass_engine::journal;
use windlass_engine::view::LoopView;

use super::statement::{
    AgentOf, Checkpointed, CommitAt, FindingOf, GateOf, GitDigest, JournalHead, Judgement, LoopFacts, PREDICATE_TYPE,
    Proof, STATEMENT_TYPE, Statement, Subject, gate_name,
};
use crate::problem::{Kind, Problem};

/// The statement that follows from the first events of a journal, up to this number.
pub(super) async fn statement(engine: &Engine, id: &LoopId, until: u64) -> Result<Statement, Problem> {
    let chain = engine.store.check_chain(&id.0, until).await?;
    if let Some(seq) = chain.broken_at {
        return Err(broken(id, seq));
    }
    let events = journal::events(engine.store.as_ref(), id, chain.events).await?;
    let journal = JournalHead { events: chain.events, head: chain.head.to_string() };
    let state = replay(events.iter().cloned()).map_err(|_| Problem::no_loop(&id.0))?;
    let Some((base, head)) = ends(engine, &state).await? else {
        return Err(Problem::refused(
            format!("{}: no commit to prove", state.name),
            "use a loop that has commits; loops with --commit off have none",
        ));
    };
    Ok(of(&state, &events, base, head, journal).sealed())
}

/// What is said of a journal that was changed.
pub(super) fn broken(id: &LoopId, seq: u64) -> Problem {
    Problem::new(
        Kind::Failed,
        format!("the journal of loop {id} is damaged: event {seq} does not match the hash chain"),
    )
    .hint("restore the database from a backup; do not trust anything after that event")
}

/// Base and head with their trees. The journal knows a tree only where something needed it.
async fn ends(engine: &Engine, state: &LoopState) -> Result<Option<(CommitAt, CommitAt)>, Problem> {
    let Some(workspace) = &state.workspace else { return Ok(None) };
    let (Some(base), Some(head)) = (&workspace.base_commit, &workspace.head_commit) else { return Ok(None) };
    let tree = async |commit: &str, known: &Option<String>| -> Result<CommitAt, Problem> {
        let tree = match known {
            Some(known) => known.clone(),
            None => tree_of(engine, state, commit).await?,
        };
        Ok(CommitAt { commit: commit.to_owned(), tree })
    };
    Ok(Some((tree(base, &workspace.base_tree).await?, tree(head, &workspace.tree).await?)))
}

async fn tree_of(engine: &Engine, state: &LoopState, commit: &str) -> Result<String, Problem> {
    let facts = engine.workspaces.commit_facts(state.project.as_ref(), commit).await?;
    facts.map(|facts| facts.tree).ok_or_else(|| {
        Problem::new(Kind::NotFound, format!("commit {commit} is not in {}", state.project))
            .hint("fetch it, or run this in the loop's repository")
    })
}

fn of(state: &LoopState, events: &[Replayed], base: CommitAt, head: CommitAt, journal: JournalHead) -> Statement {
    let view = LoopView::of(state);
    let spec = &state.spec;
    let branch = view.branch.unwrap_or_default();
    let digest = GitDigest { git_commit: head.commit.clone(), git_tree: head.tree.clone() };
    Statement {
        statement_type: STATEMENT_TYPE.to_owned(),
        subject: vec![Subject { name: branch, digest }],
        predicate_type: PREDICATE_TYPE.to_owned(),
        predicate: Proof {
            windlass: env!("CARGO_PKG_VERSION").to_owned(),
            r#loop: LoopFacts {
                id: view.id,
                name: view.name,
                recipe: view.recipe,
                iterations: view.iterations,
                created_at: view.created_at,
                started_at: view.started_at,
                stopped_at: view.stopped_at,
            },
            goal: view.goal,
            status: view.status,
            outcome: view.outcome,
            verified: view.verified,
            stop_reason: view.stop_reason,
            base,
            head,
            commits: commits(state),
            gates: spec
                .gates
                .iter()
                .map(|gate| GateOf {
                    command: gate_name(&gate.command, gate.hidden),
                    hidden: gate.hidden,
                    when: gate.when,
                    timeout_ms: gate.timeout_ms,
                })
                .collect(),
            judgements: events.iter().filter_map(|(_, event)| judgement(event)).collect(),
            setup: spec.workspace.setup.clone(),
            verify: view.verify,
            sandbox: view.sandbox,
            protected_paths: spec.protect.clone(),
            restored: restored(state),
            findings: findings(state),
            agents: agents(spec, events),
            usage: view.usage,
            claims: view.claims,
            merged: view.merged,
            journal,
            sha256: String::new(),
        },
    }
}

fn commits(state: &LoopState) -> Vec<Checkpointed> {
    let closed = state.iterations.iter().filter_map(|record| {
        Some(Checkpointed {
            iteration: record.iteration,
            turn: state.turn_id(record.turn),
            commit: record.checkpoint.commit.clone()?,
            tree: record.checkpoint.tree.clone(),
            files_changed: record.checkpoint.files_changed,
            agent_commits: record.checkpoint.agent_commits.clone(),
            claim: record.claim,
            undone: record.undone,
        })
    });
    closed.collect()
}

fn judgement(event: &Event) -> Option<Judgement> {
    let Event::GateEnded { gate: GateKey { on, attempt, .. }, report, counts } = event else { return None };
    let GateReport {
        command, hidden, verdict, exit_code, commit, tree, duration_ms, output_tail, output_sha256, ..
    } = report;
    Some(Judgement {
        iteration: on.number(),
        run: *attempt,
        command: gate_name(command, *hidden),
        hidden: *hidden,
        verdict: *verdict,
        exit_code: *exit_code,
        duration_ms: *duration_ms,
        commit: commit.clone(),
        tree: tree.clone(),
        output_sha256: output_sha256.clone(),
        output_tail: if *hidden { String::new() } else { output_tail.clone() },
        counts: *counts,
    })
}

fn restored(state: &LoopState) -> Vec<String> {
    let mut files: Vec<String> =
        state.iterations.iter().flat_map(|record| &record.checkpoint.restored).map(|file| file.path.clone()).collect();
    files.sort();
    files.dedup();
    files
}

fn findings(state: &LoopState) -> Vec<FindingOf> {
    let Some(review) = &state.review else { return Vec::new() };
    let open: Vec<_> = review.findings().open().map(|finding| finding.id).collect();
    let of = |finding: &windlass_core::findings::Finding| FindingOf {
        id: finding.id.to_string(),
        file: finding.file.clone(),
        line: finding.line,
        severity: finding.severity,
        description: finding.description.clone(),
        open: open.contains(&finding.id),
    };
    review.findings().all().iter().map(of).collect()
}

/// Everybody who had a turn, once for each role.
fn agents(spec: &LoopSpec, events: &[Replayed]) -> Vec<AgentOf> {
    let mut agents: Vec<AgentOf> = Vec::new();
    for (_, event) in events {
        let Event::TurnStarted { turn, agent, .. } = event else { continue };
        let choice = spec.agent_of(turn.role, *agent);
        let had = AgentOf { role: turn.role, name: choice.name.clone(), model: choice.profile.model.clone() };
        if !agents.contains(&had) {
            agents.push(had);
        }
    }
    agents
}
