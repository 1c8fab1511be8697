//! What must hold after every step, checked where a step becomes durable.
//!
//! The checks have their own books: what the simulated machines did, and what the store acknowledged. They fold the
//! journal with the machine's `evolve`, and ask nothing of the driver that wrote it.

use windlass_core::agent::{TurnOutcome, TurnReport};
use windlass_core::ids::LoopId;
use windlass_core::machine::{
    CheckpointReport, Effect, Event, GateReport, Input, LoopState, Replayed, SummaryReport, Verdict, WorkspaceOpening,
    decide, effects, evolve,
};
use windlass_core::spec::CommitPolicy;
use windlass_engine::journal;
use windlass_engine::view::catalogue_entry;
use windlass_store::{Append, Create, LOOP, NewEvent, StoredEvent};

use crate::dice::Bug;
use crate::violation::{Invariant, Shadow};
use crate::world::{Inner, Repo, World};

type Broken = Result<(), (Invariant, String)>;

fn broken(invariant: Invariant, what: impl Into<String>) -> Broken {
    Err((invariant, what.into()))
}

pub fn created(world: &World, process: u64, new: &Create) {
    let id = new.entry.id.clone();
    let mut inner = world.lock();
    for event in &new.events {
        inner.coverage.event(&event.kind);
    }
    let state = (new.entry.kind == LOOP).then(|| fold(None, &id, &new.events)).flatten();
    inner.journals.insert(id.clone(), Shadow { events: new.events.clone(), state });
    if let Some(holder) = &new.holder {
        inner.leases.insert(id.clone(), (process, holder.token.clone()));
    }
    drop(inner);
    world.tell(|| format!("p{process} creates {id}: {}", kinds(&new.events)));
}

/// A step that the store acknowledged, and what it has in the place of these events.
pub(crate) fn appended(world: &World, process: u64, step: &Append, stored: &[StoredEvent]) {
    if !step.events.is_empty() {
        world.tell(|| format!("p{process} appends to {}: {}", step.loop_id, kinds(&step.events)));
    }
    let result = check(&mut world.lock(), process, step, stored);
    if let Err((invariant, what)) = result {
        world.violate(invariant, format!("{}: {what}", step.loop_id));
    }
}

fn kinds(events: &[NewEvent]) -> String {
    let detail = |event: &NewEvent| match event.kind.as_str() {
        "loop_stopped" | "loop_paused" | "turn_started" | "phase_entered" | "turn_ended" | "gate_ended" => {
            let body: serde_json::Value = serde_json::from_str(&event.body).unwrap_or_default();
            let word = |at: &serde_json::Value| {
                at.as_str().map(str::to_owned).or_else(|| at["type"].as_str().map(str::to_owned))
            };
            let shown = ["status", "why", "turn_id", "phase"].iter().find_map(|key| word(&body[*key]));
            let shown = shown.or_else(|| word(&body["report"]["outcome"])).or_else(|| word(&body["report"]["verdict"]));
            shown.map_or_else(|| event.kind.clone(), |shown| format!("{} {shown}", event.kind))
        }
        kind => kind.to_owned(),
    };
    events.iter().map(detail).collect::<Vec<_>>().join(", ")
}

fn check(inner: &mut Inner, process: u64, step: &Append, stored: &[StoredEvent]) -> Broken {
    inner.appends += 1;
    for event in &step.events {
        inner.coverage.event(&event.kind);
    }
    one_driver(inner, process, step)?;
    as_acknowledged(inner, step, stored)?;
    let Some(shadow) = inner.journals.get_mut(&step.loop_id) else {
        return broken(Invariant::NothingLost, "a loop that nobody created");
    };
    if shadow.events.len() as u64 != step.expected_seq {
        return broken(
            Invariant::NothingLost,
            format!("{} events are known, not {}", shadow.events.len(), step.expected_seq),
        );
    }
    let (before, first) = (shadow.state.clone(), shadow.events.len());
    shadow.events.extend(step.events.iter().cloned());
    let Some(before) = before else { return Ok(()) };
    // What the store has, so that a changed event shows.
    let read: Vec<NewEvent> =
        stored.iter().map(|one| NewEvent { at: one.at, kind: one.kind.clone(), body: one.body.clone() }).collect();
    let Some(state) = fold(Some(before.clone()), &step.loop_id, &read) else {
        return broken(Invariant::ReplayEqualsLive, "the journal cannot be read");
    };
    shadow.state = Some(state.clone());
    inner.coverage.phase(state.phase().name());
    let events: Vec<Event> = read.iter().filter_map(|event| decoded(&step.loop_id, event)).collect();
    for event in &events {
        if let Event::LoopStopped { stop_reason, .. } = event {
            *inner.coverage.ends.entry(stop_reason.name().to_owned()).or_default() += 1;
        }
    }
    limits(&state, &events, read.last().map(|event| event.at))?;
    let earlier = &inner.journals[&step.loop_id].events[..first];
    doubled(earlier, &state, &events)?;
    if let Some(repo) = inner.repos.get(&step.loop_id) {
        recorded_work_exists(repo, &state)?;
        judged(repo, &state, &events)?;
    }
    // A machine that ignores a limit ignores it in a replay too.
    let same_machine = inner.dice.planted() != Some(Bug::IgnoreLimit);
    if same_machine && catalogue_entry(&state) != step.entry {
        return broken(Invariant::ReplayEqualsLive, "the row of the live loop differs from that of its journal");
    }
    stop_ends(&state)
}

fn one_driver(inner: &Inner, process: u64, step: &Append) -> Broken {
    match inner.leases.get(&step.loop_id) {
        Some((holder, token)) if *holder == process && *token == step.token => Ok(()),
        Some((holder, _)) => broken(Invariant::OneDriver, format!("p{process} wrote while p{holder} holds the lease")),
        None => broken(Invariant::OneDriver, format!("p{process} wrote without a lease")),
    }
}

fn as_acknowledged(inner: &Inner, step: &Append, stored: &[StoredEvent]) -> Broken {
    let known = inner.journals.get(&step.loop_id).map_or(0, |shadow| shadow.events.len()) as u64;
    if stored.len() < step.events.len() || known < step.expected_seq {
        return broken(
            Invariant::NothingLost,
            format!("{} of {} acknowledged events are stored", stored.len(), step.events.len()),
        );
    }
    if stored.len() > step.events.len() {
        return broken(
            Invariant::NothingDoubled,
            format!("{} events are stored for {}", stored.len(), step.events.len()),
        );
    }
    Ok(())
}

fn decoded(id: &str, event: &NewEvent) -> Option<Event> {
    let stored = StoredEvent { seq: 0, at: event.at, kind: event.kind.clone(), body: event.body.clone() };
    journal::decode(&LoopId(id.to_owned()), &stored).ok()
}

fn fold(before: Option<LoopState>, id: &str, events: &[NewEvent]) -> Option<LoopState> {
    let mut read: Vec<Replayed> = Vec::new();
    for event in events {
        read.push((event.at, decoded(id, event)?));
    }
    match before {
        Some(state) => Some(read.into_iter().fold(state, |state, (at, event)| evolve(state, at, &event))),
        None => windlass_core::machine::replay(read).ok(),
    }
}

fn limits(state: &LoopState, events: &[Event], at: Option<jiff::Timestamp>) -> Broken {
    if let Some(max) = state.iteration_limit().filter(|max| state.iteration > *max) {
        return broken(Invariant::LimitsHeld, format!("iteration {} of {max}", state.iteration));
    }
    let (Some(at), true) = (at, events.iter().any(|event| matches!(event, Event::TurnStarted { .. }))) else {
        return Ok(());
    };
    let limits = &state.spec.limits;
    let over = state.duration_limit_ms().is_some_and(|limit| state.elapsed_at(at) >= limit)
        || limits.budget_usd.is_some_and(|limit| state.used().known_cost_usd >= limit)
        || limits.max_tokens.is_some_and(|limit| state.used().total().tokens() >= limit);
    if over { broken(Invariant::LimitsHeld, "a turn starts beyond a limit") } else { Ok(()) }
}

fn doubled(earlier: &[NewEvent], state: &LoopState, events: &[Event]) -> Broken {
    let mut stops = 0;
    for event in events {
        if let Event::TurnStarted { turn_id, .. } = event {
            let id = format!("\"turn_id\":\"{turn_id}\"");
            if earlier.iter().any(|event| event.kind == "turn_started" && event.body.contains(&id)) {
                return broken(Invariant::NothingDoubled, format!("turn {turn_id} starts twice"));
            }
        }
        stops += u32::from(matches!(event, Event::LoopStopped { .. }));
    }
    if stops > 1 {
        return broken(Invariant::NothingDoubled, "the loop stops twice");
    }
    let mut texts: Vec<&str> = state.steering.iter().map(|message| message.text.as_str()).collect();
    texts.sort_unstable();
    let all = texts.len();
    texts.dedup();
    if texts.len() < all { broken(Invariant::NothingDoubled, "a message is in the journal twice") } else { Ok(()) }
}

fn recorded_work_exists(repo: &Repo, state: &LoopState) -> Broken {
    let head = state.head_commit().filter(|_| state.spec.commit != CommitPolicy::Off);
    match head {
        Some(head) if !repo.commits.contains_key(head) => {
            broken(Invariant::NothingLost, format!("the journal names the commit {head}, which does not exist"))
        }
        Some(_) | None => Ok(()),
    }
}

/// By what the gates and reviewers of the simulated machines really did.
fn judged(repo: &Repo, state: &LoopState, events: &[Event]) -> Broken {
    for event in events {
        let Event::LoopStopped { verified: true, head_commit, .. } = event else { continue };
        let Some(head) = head_commit else { return broken(Invariant::DoneOnlyIfJudged, "verified without a commit") };
        let passed = |index: usize| repo.passed.contains(&(head.clone(), index));
        if let Some(index) = (0..state.spec.gates.len()).find(|index| !passed(*index)) {
            return broken(Invariant::DoneOnlyIfJudged, format!("gate {index} never passed on {head}"));
        }
        let judged = !state.spec.gates.is_empty() || repo.agreed.contains(head);
        if !judged {
            return broken(Invariant::DoneOnlyIfJudged, format!("no gate or reviewer approved {head}"));
        }
    }
    Ok(())
}

/// From every state, a stop and the plainest answers lead to an end.
fn stop_ends(state: &LoopState) -> Broken {
    let mut state = state.clone();
    if state.status().is_ended() {
        return Ok(());
    }
    let at = state.updated_at;
    let mut input = Input::Stop;
    for _ in 0..12 {
        if let Ok(events) = decide(&state, &input, at) {
            state = events.iter().fold(state, |state, event| evolve(state, at, event));
        }
        if state.status().is_ended() {
            return Ok(());
        }
        let Some(effect) = effects(&state).into_iter().next() else { break };
        input = plain_answer(&state, effect);
    }
    broken(Invariant::StopEnds, format!("a stop leaves the loop {} in {}", state.status().name(), state.phase().name()))
}

fn plain_answer(state: &LoopState, effect: Effect) -> Input {
    let head = state.head_commit().map(str::to_owned);
    let checkpoint = CheckpointReport {
        commit: head.clone(),
        tree: String::new(),
        files: Vec::new(),
        files_changed: 0,
        created: false,
        restored: Vec::new(),
        held_back: Vec::new(),
        agent_commits: Vec::new(),
        ignored_new: Vec::new(),
        ignored_new_count: 0,
        moved_refs: Vec::new(),
        notes: Vec::new(),
    };
    match effect {
        Effect::OpenWorkspace { .. } => Input::WorkspaceOpened {
            opening: WorkspaceOpening {
                dir: "/w".into(),
                branch: None,
                base_commit: head.clone(),
                head_commit: head,
                tree: String::new(),
                base_tree: None,
                saved: None,
                snapshot: None,
                notes: Vec::new(),
                recreated: false,
                target: None,
                handle: serde_json::Value::Null,
            },
        },
        Effect::SetUpWorkspace => Input::SetUp,
        Effect::RunTurn { turn, .. } | Effect::EndTurn { turn } => {
            Input::turn_ended(turn, TurnReport::bare(TurnOutcome::Interrupted))
        }
        Effect::Summarise { turn } => Input::Summarised {
            turn,
            summary: SummaryReport {
                summary: String::new(),
                commit_message: None,
                problem: None,
                usage: std::collections::BTreeMap::new(),
            },
        },
        Effect::Checkpoint { turn } => Input::Checkpointed { turn, checkpoint },
        Effect::Seal { section } => Input::Sealed { section, checkpoint },
        Effect::Undo { commit } => Input::Undone { commit, tree: String::new(), saved: None },
        Effect::RunGate { gate } => Input::GateEnded {
            report: GateReport {
                command: String::new(),
                hidden: false,
                verdict: Verdict::NotStarted,
                exit_code: None,
                commit: head,
                tree: String::new(),
                duration_ms: 0,
                output_tail: String::new(),
                output_sha256: None,
                changed: Vec::new(),
            },
            gate,
        },
        Effect::SetTimer { timer } => Input::TimerFired { timer: timer.kind },
    }
}
