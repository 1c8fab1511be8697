//! The tracker: loops over agents that somebody else starts, one per workspace.
//!
//! A façade. Every call is one decision of the machine on the loop's state, under one lock; there is no second count
//! and no second truth. A loop that has ended can still be looked at until it is removed, and never stands in the way of
//! the next one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use thiserror::Error;
use tokio::sync::RwLock;
use uuid::Uuid;
use windlass_core::agent::{TurnOutcome, TurnReport};
use windlass_core::ids::{LoopId, Role};
use windlass_core::machine::{Event, Input, LoopState, Opener, Raise, Refusal, decide, evolve};
use windlass_core::profile::ITERATIONS;
use windlass_core::prompt;
use windlass_core::spec::{AgentChoice, Done, Limits, LoopSpec};

use super::log_lines;
use crate::clock::Clock;

pub use windlass_core::promise::check_completion_promise;

#[derive(Debug, Error)]
pub enum TrackError {
    #[error("workspace {0} already has an active loop")]
    AlreadyActive(Uuid),
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// What is tracked of a loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Tracked {
    /// Runs of the agent that have ended.
    pub iteration: u32,
    pub max_iterations: u32,
    pub completion_promise: Option<String>,
    pub original_prompt: String,
    /// The agent's session; empty until it is known.
    pub session_id: String,
    /// The profile that follow-ups are started with.
    pub executor_profile_id: String,
    pub working_dir: Option<PathBuf>,
    follow_up: String,
}

impl Tracked {
    pub fn can_continue(&self) -> bool {
        self.iteration < self.max_iterations
    }

    pub fn build_follow_up_prompt(&self) -> String {
        prompt::build_follow_up_prompt(&self.original_prompt, &self.follow_up)
    }
}

/// A loop to register.
#[derive(Debug, Clone)]
pub struct Registration {
    /// Out of range is clamped to 1–100.
    pub max_iterations: u32,
    pub completion_promise: Option<String>,
    pub original_prompt: String,
    pub session_id: String,
    pub agent: AgentChoice,
    pub working_dir: Option<PathBuf>,
    /// The language of the follow-up word, as in a locale.
    pub language: String,
}

#[derive(Debug, Clone)]
struct Entry {
    state: LoopState,
    working_dir: Option<PathBuf>,
}

/// Loops by workspace. Clones share them.
#[derive(Debug, Clone)]
pub struct LoopTracker {
    loops: Arc<RwLock<HashMap<Uuid, Entry>>>,
    clock: Arc<dyn Clock>,
}

impl LoopTracker {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { loops: Arc::default(), clock }
    }

    /// Registers a loop; refused while one is active for the same workspace.
    pub async fn register(&self, workspace: Uuid, registration: Registration) -> Result<(), TrackError> {
        let now = self.clock.now();
        let mut loops = self.loops.write().await;
        if loops.get(&workspace).is_some_and(|entry| entry.state.is_open()) {
            return Err(TrackError::AlreadyActive(workspace));
        }
        let session = Some(registration.session_id.clone()).filter(|id| !id.is_empty());
        let working_dir = registration.working_dir.clone();
        let created = Event::LoopCreated {
            id: LoopId(workspace.to_string()),
            name: format!("workspace-{workspace}"),
            project: String::new(),
            spec: Box::new(spec(registration)),
        };
        let Some(state) = LoopState::created(now, &created) else { return Ok(()) };
        log_lines::log(&state, std::slice::from_ref(&created));
        let mut entry = Entry { state, working_dir };
        step(&mut entry.state, &Input::Open { by: Opener::Start, raise: Raise::default() }, now)?;
        if let Some(session) = session {
            see_session(&mut entry.state, session, now)?;
        }
        loops.insert(workspace, entry);
        Ok(())
    }

    pub async fn get(&self, workspace: &Uuid) -> Option<Tracked> {
        self.loops.read().await.get(workspace).map(tracked)
    }

    /// Does nothing for a workspace that is not tracked.
    pub async fn update_session_id(&self, workspace: &Uuid, session_id: String) {
        if let Some(entry) = self.loops.write().await.get_mut(workspace) {
            let refused = see_session(&mut entry.state, session_id, self.clock.now());
            if let Err(refusal) = refused {
                tracing::debug!(%workspace, %refusal, "session id not taken");
            }
        }
    }

    /// One run of the agent has ended without the promise: counts it, and says whether there is another one.
    /// False for a workspace that is not tracked.
    pub async fn increment_and_check(&self, workspace: &Uuid) -> bool {
        let mut loops = self.loops.write().await;
        let Some(entry) = loops.get_mut(workspace) else { return false };
        let Some(turn) = entry.state.turn().map(|running| running.key) else { return false };
        let report = TurnReport::bare(TurnOutcome::Finished);
        step(&mut entry.state, &Input::turn_ended(turn, report), self.clock.now()).is_ok() && entry.state.is_open()
    }

    /// Forgets the loop of a workspace: its work is done, or its run could not go on.
    pub async fn remove(&self, workspace: &Uuid) {
        let removed = self.loops.write().await.remove(workspace);
        // A loop that the machine ended was said to be removed then.
        if let Some(entry) = removed.filter(|entry| entry.state.is_open()) {
            log_lines::removed(&entry.state);
        }
    }

    /// Ends the loop of a workspace because a person stopped it, and forgets it.
    pub async fn stop(&self, workspace: &Uuid) {
        if let Some(mut entry) = self.loops.write().await.remove(workspace)
            && entry.state.is_open()
        {
            let stopped = step(&mut entry.state, &Input::Stop, self.clock.now());
            if let Err(refusal) = stopped {
                tracing::debug!(%workspace, %refusal, "nothing to stop");
            }
        }
    }

    pub async fn has_active_loop(&self, workspace: &Uuid) -> bool {
        self.loops.read().await.get(workspace).is_some_and(|entry| entry.state.is_open())
    }

    pub async fn get_completion_promise(&self, workspace: &Uuid) -> Option<String> {
        self.get(workspace).await?.completion_promise
    }
}

fn step(state: &mut LoopState, input: &Input, now: Timestamp) -> Result<(), Refusal> {
    for event in decide(state, input, now)? {
        log_lines::log(state, std::slice::from_ref(&event));
        *state = evolve(state.clone(), now, &event);
    }
    Ok(())
}

fn see_session(state: &mut LoopState, session: String, now: Timestamp) -> Result<(), Refusal> {
    match state.turn().map(|running| running.key) {
        Some(turn) => step(state, &Input::SessionSeen { turn, session }, now),
        None => Err(Refusal::NotUnderWay),
    }
}

fn tracked(entry: &Entry) -> Tracked {
    let state = &entry.state;
    // A run is counted when it has ended; the machine counts it when it starts.
    let running = u32::from(state.turn().is_some());
    Tracked {
        iteration: state.iteration - running.min(state.iteration),
        max_iterations: state.spec.limits.max_iterations.unwrap_or(*ITERATIONS.end()),
        completion_promise: state.spec.done.promise().map(str::to_owned),
        original_prompt: state.spec.goal.clone(),
        session_id: state.sessions.get(&Role::Coder).cloned().unwrap_or_default(),
        executor_profile_id: state.spec.agent.name.clone(),
        working_dir: entry.working_dir.clone(),
        follow_up: state.spec.follow_up.clone(),
    }
}

/// A promise loop, on a tree that is none of ours.
fn spec(registration: Registration) -> LoopSpec {
    LoopSpec {
        recipe: "promise".to_owned(),
        done: Done::Promise { promise: registration.completion_promise },
        limits: Limits {
            max_iterations: Some(registration.max_iterations.clamp(*ITERATIONS.start(), *ITERATIONS.end())),
            ..Limits::default()
        },
        follow_up: prompt::follow_up_word(&registration.language).to_owned(),
        ..LoopSpec::of(registration.original_prompt, registration.agent)
    }
}
