//! Simulated people: they use the same calls as the command line, each from a process of its own.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, LoopState, Opener, Raise};
use windlass_core::stop::Status;
use windlass_engine::command::{Answer, Command};
use windlass_engine::engine::{EngineError, Held};

use crate::dice::{Fault, Stream};
use crate::machine::tree_name;
use crate::sim::{Sim, Started, causes};
use crate::violation::Invariant;

const DAY: u64 = 86_400;
/// So long does a user wait for an answer.
const PATIENCE: Duration = Duration::from_secs(1_200);

/// Does something to a loop now and then.
pub async fn person(sim: Arc<Sim>, id: String) {
    loop {
        let ms = 5_000 + sim.throw(Stream::People, 600_000);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        let Some(state) = sim.state(&id) else { continue };
        let fault = |fault, sides| sim.world.fault(fault, sides, &id);
        let machine = u64::from(sim.throw(Stream::People, 3) == 0 && sim.throw(Stream::People, 2) == 0);
        let machine = if sim.world.lock().processes.values().any(|process| process.machine == 1) { machine } else { 0 };
        let process = sim.start(machine);
        let _ended = process.ends_with_its_user(&sim);
        if fault(Fault::PersonStops, 20) {
            command(&sim, &process, &id, Command::Stop).await;
        } else if fault(Fault::PersonPauses, 12) {
            let now = sim.throw(Stream::People, 2) == 0;
            command(&sim, &process, &id, Command::Pause { now }).await;
        } else if fault(Fault::PersonSteers, 6) {
            let text = format!("message {}", sim.throw(Stream::People, u64::MAX));
            let now = sim.throw(Stream::People, 2) == 0;
            let steer = Command::Steer { text: text.clone(), now };
            if let Some(Answer::Accepted { .. }) = command(&sim, &process, &id, steer).await {
                sim.world.lock().accepted.push((id.clone(), text));
            }
        } else if state.open_questions().next().is_some() && fault(Fault::PersonAnswers, 2) {
            command(&sim, &process, &id, Command::Answer { question: None, text: "this".into() }).await;
        } else if fault(Fault::TakeOver, 20) {
            if let Ok(held) = process.engine.take_over(&LoopId(id.clone())).await {
                let _ = process.engine.release(held).await;
            }
        } else if !state.is_under_way() {
            at_rest(&sim, &process, &id, &state).await;
        }
    }
}

async fn command(sim: &Sim, process: &Started, id: &str, command: Command) -> Option<Answer> {
    let said = format!("{command:?}");
    let loop_id = LoopId(id.to_owned());
    let asked = process.engine.command(&loop_id, &command);
    let answer = tokio::time::timeout(PATIENCE, asked).await;
    let calm = sim.world.lock().dice.calm;
    if answer.is_err() && calm && command == Command::Stop {
        sim.world.violate(Invariant::StopEnds, format!("{id}: a stop has no answer after {} s", PATIENCE.as_secs()));
    }
    sim.world.tell(|| match &answer {
        Ok(Ok(answer)) => format!("a user says {said} to {id}: {answer:?}"),
        Ok(Err(error)) => format!("a user says {said} to {id}: {}", causes(error)),
        Err(_) => format!("a user says {said} to {id}: no answer"),
    });
    let answer = answer.ok()?.ok()?;
    let rests = sim.state(id).is_none_or(|state| !state.is_under_way());
    if let (Answer::Done { .. }, false, Command::Stop) = (&answer, rests, &command)
        && calm
    {
        sim.world.violate(Invariant::StopEnds, format!("{id}: a stop is said to be done, and the loop is under way"));
    }
    Some(answer)
}

async fn at_rest(sim: &Sim, process: &Started, id: &str, state: &LoopState) {
    let fault = |fault, sides| sim.world.fault(fault, sides, id);
    if state.status().name() == "awaiting_review" {
        if fault(Fault::PersonApproves, 2) {
            input(sim, process, id, &Input::Approve { reason: None }).await;
        } else if fault(Fault::PersonRejects, 2) {
            input(sim, process, id, &Input::Reject { reason: "do it otherwise".into() }).await;
        }
    } else if state.outcome().is_some() {
        if fault(Fault::PersonContinues, 4) {
            let goal = Some("more of it".to_owned());
            input(sim, process, id, &Input::Continue { goal, target: None, raise: raise(state) }).await;
        }
    } else if fault(Fault::PersonRollsBack, 5) {
        roll_back(sim, process, id).await;
    } else if fault(Fault::PersonResumes, 2) {
        input(sim, process, id, &Input::Open { by: Opener::Resume, raise: raise(state) }).await;
    }
}

/// More of each limit that the loop has.
fn raise(state: &LoopState) -> Raise {
    let limits = &state.spec.limits;
    Raise {
        max_iterations: limits.max_iterations.map_or(0, |_| 3),
        duration_ms: limits.duration_ms.map_or(0, |_| 7_200_000),
        budget_usd: limits.budget_usd.map_or(0.0, |_| 3.0),
        max_tokens: limits.max_tokens.map_or(0, |_| 20_000),
        ..Raise::default()
    }
}

/// Takes the loop and gives it one input, as `windlass resume`, `approve` and the others do.
async fn input(sim: &Sim, process: &Started, id: &str, input: &Input) {
    let loop_id = LoopId(id.to_owned());
    let taken = match process.engine.take(&loop_id).await {
        Err(EngineError::Unseen { .. }) => process.engine.take_over(&loop_id).await,
        taken => taken,
    };
    let Ok(mut held) = taken else { return };
    if let Input::Approve { .. } = input
        && let Some(head) = held.state.head_commit()
        && let Some(repo) = sim.world.lock().repos.get_mut(id)
    {
        repo.agreed.insert(head.to_owned());
    }
    let applied = process.engine.apply(&mut held, input).await;
    sim.world.tell(|| match &applied {
        Ok(()) => format!("a user gives {id} {input:?}"),
        Err(error) => format!("a user gives {id} {input:?}: {}", causes(error)),
    });
    release(process, held).await;
}

async fn release(process: &Started, held: Held) {
    // A release that fails leaves a lease that is seen to be gone with this process.
    let _ = process.engine.release(held).await;
}

async fn roll_back(sim: &Sim, process: &Started, id: &str) {
    let Ok(mut held) = process.engine.take(&LoopId(id.to_owned())).await else { return };
    let to_iteration = u32::try_from(sim.throw(Stream::People, 3)).unwrap_or(0);
    let commit = if to_iteration == 0 {
        held.state.workspace.as_ref().and_then(|known| known.base_commit.clone())
    } else {
        let record = held.state.iterations.iter().find(|record| record.iteration == to_iteration && !record.undone);
        record.and_then(|record| record.checkpoint.commit.clone())
    };
    let known = commit.and_then(|commit| {
        let world = sim.world.lock();
        let tree = world.repos.get(id)?.commits.get(&commit)?.tree;
        Some((commit, tree))
    });
    if let Some((commit, tree)) = known {
        let input = Input::RolledBack { to_iteration, commit: commit.clone(), tree: tree_name(tree), saved: None };
        if process.engine.would_accept(&held, &input).is_ok() {
            if let Some(repo) = sim.world.lock().repos.get_mut(id) {
                for files in repo.files.values_mut() {
                    files.tree = tree;
                    files.branch.push(commit.clone());
                }
            }
            let applied = process.engine.apply(&mut held, &input).await;
            sim.world.tell(|| format!("a user rolls {id} back to iteration {to_iteration}: {}", applied.is_ok()));
        }
    }
    release(process, held).await;
}

/// Faults are over: the loop is led to its end, by work or by a stop.
pub async fn finish(sim: &Arc<Sim>, id: &str) {
    let stops_at_once = sim.throw(Stream::People, 3) == 0;
    for round in 0..12 {
        let Some(state) = sim.state(id) else { return };
        if state.status().is_ended() {
            return;
        }
        let process = sim.start(0);
        if stops_at_once || round >= 8 {
            stop(sim, &process, id).await;
            sim.world.kill(process.number);
            continue;
        }
        match state.status() {
            Status::Paused { .. } if state.status().name() == "awaiting_review" => {
                input(sim, &process, id, &Input::Approve { reason: Some("good enough".into()) }).await;
            }
            Status::Paused { .. } => {
                input(sim, &process, id, &Input::Open { by: Opener::Resume, raise: raise(&state) }).await
            }
            Status::Queued | Status::Running | Status::Waiting { .. } | Status::Ended { .. } => {}
        }
        sim.world.kill(process.number);
        let moved = tokio::time::timeout(Duration::from_secs(2 * DAY), rests(sim, id)).await;
        if moved.is_err() {
            let state = sim.state(id).unwrap_or(state);
            let what = format!("{id} is still {} in {} after 2 days", state.status().name(), state.phase().name());
            return sim.world.violate(Invariant::Progress, what);
        }
    }
    if sim.state(id).is_some_and(|state| !state.status().is_ended()) {
        sim.world.violate(Invariant::StopEnds, format!("{id} has not ended after several stops"));
    }
}

async fn rests(sim: &Sim, id: &str) {
    loop {
        let written = sim.world.written.notified();
        if !sim.state(id).is_some_and(|state| state.is_under_way()) {
            return;
        }
        written.await;
    }
}

async fn stop(sim: &Sim, process: &Started, id: &str) {
    let answer = command(sim, process, id, Command::Stop).await;
    if answer.is_none() {
        // Held by another machine of which nothing is known: a person takes it over.
        let taken = tokio::time::timeout(PATIENCE, process.engine.take_over(&LoopId(id.to_owned()))).await;
        if let Ok(Ok(held)) = taken {
            release(process, held).await;
        }
        tokio::time::sleep(Duration::from_secs(600)).await;
    }
    // The loop of a queue or of a checkpoint ends with its driver.
    let _ = tokio::time::timeout(PATIENCE, rests(sim, id)).await;
}
