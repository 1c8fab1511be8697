//! One log line for every change of a loop's state, in fixed words that people grep for.

use windlass_core::ids::Role;
use windlass_core::machine::{Event, LoopState, ReviewEvent, SessionUse};
use windlass_core::stop::StopReason;

/// Logs what one decision means. `state` is the loop before it.
pub(crate) fn log(state: &LoopState, events: &[Event]) {
    let not_started =
        |event: &Event| matches!(event, Event::TurnEnded { report, .. } if report.outcome.failed_to_start().is_some());
    let stopped_at_start = events.iter().any(not_started);
    for event in events {
        line(state, event, stopped_at_start);
    }
}

fn line(state: &LoopState, event: &Event, stopped_at_start: bool) {
    let agent = state.spec.agent.display_name();
    let id = &state.id;
    let promise = state.spec.done.promise();
    match event {
        Event::LoopCreated { .. } if !is_single(state) => {
            let max = shown_max(state);
            tracing::info!(
                "Registering {agent} loop for workspace {id}: max_iterations={max}, completion_promise={promise:?}"
            );
            tracing::info!("Registered {agent} loop state for workspace {id}: max_iterations={max}");
        }
        Event::TurnStarted { turn, session, .. } if turn.iteration > 1 && turn.role == Role::Coder => {
            tracing::info!("Starting {agent} loop follow-up for workspace {id} (iteration {})", turn.iteration - 1);
            // The loop goes on with a fresh session. For an agent that has sessions it is an error that it had to.
            if *session == SessionUse::FreshInstead && state.spec.agent.profile.has_sessions() {
                tracing::error!("Failed to get session ID from MsgStore for {agent} loop follow-up (workspace {id})");
            }
        }
        Event::TurnEnded { turn, report, .. } if !is_single(state) && turn.role == Role::Coder => {
            if report.claim
                && let Some(promise) = promise
            {
                tracing::info!("Completion promise '{promise}' detected in output");
            }
            if let Some(message) = report.outcome.failed_to_start() {
                not_started(agent, message);
            } else if report.outcome.is_finished() {
                let max = shown_max(state);
                let can_continue = state.spec.limits.max_iterations.is_none_or(|max| turn.iteration < max);
                tracing::info!(
                    "{agent} loop iteration {} of {max} for workspace {id} (can_continue={can_continue})",
                    turn.iteration
                );
            } else {
                tracing::info!("{agent} loop turn ended: {:?} for workspace {id}", report.outcome);
            }
        }
        Event::StopRequested => {
            tracing::info!("Clearing {agent} loop state for workspace {id} due to stop_execution");
        }
        Event::LoopStopped { stop_reason, .. } if !is_single(state) => {
            if !stopped_at_start {
                stopped(state, stop_reason);
            }
            removed(state);
        }
        Event::WaitStarted { until, why } => {
            tracing::info!("{agent} loop waits until {until} for workspace {id}: {why}");
        }
        Event::LoopPaused { why } => {
            tracing::info!("{agent} loop paused for workspace {id}: {}", why.name());
        }
        Event::ClaimRefused { iteration, .. } => {
            tracing::info!("{agent} loop claim refused for workspace {id} (iteration {iteration})");
        }
        Event::Review(ReviewEvent::PersonRuled { approved, .. }) => {
            let ruling = if *approved { "approved" } else { "rejected" };
            tracing::info!("{agent} loop {ruling} by a user for workspace {id}");
        }
        Event::RolledBack { to_iteration, .. } => {
            tracing::info!("{agent} loop rolled back to iteration {to_iteration} for workspace {id}");
        }
        Event::LoopCreated { .. }
        | Event::LoopOpened { .. }
        | Event::DriverAttached { .. }
        | Event::LoopMoved { .. }
        | Event::LoopQueued { .. }
        | Event::QueueLeft { .. }
        | Event::NotTried { .. }
        | Event::Merged { .. }
        | Event::MergeRefused { .. }
        | Event::Minimised { .. }
        | Event::PhaseEntered { .. }
        | Event::WorkspaceOpened { .. }
        | Event::IterationStarted { .. }
        | Event::TurnStarted { .. }
        | Event::SessionFound { .. }
        | Event::UsageReported { .. }
        | Event::TurnInterrupted { .. }
        | Event::TurnEnded { .. }
        | Event::SessionLost { .. }
        | Event::AgentChanged { .. }
        | Event::Review(_)
        | Event::WorkspaceSetUp
        | Event::Summarised { .. }
        | Event::Checkpointed { .. }
        | Event::GateEnded { .. }
        | Event::IterationJudged { .. }
        | Event::ProgressStalled { .. }
        | Event::WaitEnded
        | Event::PauseRequested { .. }
        | Event::SteeringQueued { .. }
        | Event::QuestionAsked { .. }
        | Event::QuestionAnswered { .. }
        | Event::NetworkDenied { .. }
        | Event::ResidueChecked { .. }
        | Event::LoopStopped { .. } => {
            tracing::debug!(loop_id = %id, event = event.name());
        }
    }
}

fn stopped(state: &LoopState, reason: &StopReason) {
    let agent = state.spec.agent.display_name();
    let id = &state.id;
    match reason {
        StopReason::Completed if state.spec.done.promise().is_some() => {
            tracing::info!("{agent} loop complete: completion promise detected for workspace {id}");
        }
        StopReason::Completed => tracing::info!("{agent} loop complete for workspace {id}"),
        StopReason::MaxIterations { .. } => {
            tracing::info!("{agent} loop complete: max iterations reached for workspace {id}");
        }
        StopReason::Cancelled => {
            tracing::info!("{agent} loop cancelled: execution was Killed for workspace {id}");
        }
        StopReason::AgentFailed { .. } => {
            tracing::info!("{agent} loop cancelled: execution was Failed for workspace {id}");
        }
        StopReason::WorkspaceMissing { message } => {
            tracing::error!("Failed to get repos for {agent} loop follow-up: {message}");
        }
        StopReason::Duration { .. }
        | StopReason::Budget { .. }
        | StopReason::Tokens { .. }
        | StopReason::GatesFailed { .. }
        | StopReason::HeldBack { .. }
        | StopReason::Stall { .. }
        | StopReason::NoProgress { .. }
        | StopReason::AgentMissing { .. }
        | StopReason::ProviderLimit { .. }
        | StopReason::ErrorMaxRetries { .. }
        | StopReason::CutOff { .. }
        | StopReason::SetupFailed { .. } => {
            tracing::info!("{agent} loop ended: {} for workspace {id}", reason.name());
        }
    }
}

/// Says that nothing is tracked any longer.
pub(super) fn removed(state: &LoopState) {
    tracing::info!("Removed {} loop state for workspace {}", state.spec.agent.display_name(), state.id);
}

fn shown_max(state: &LoopState) -> String {
    state.spec.limits.max_iterations.map_or_else(|| "unlimited".to_owned(), |max| max.to_string())
}

/// One turn without a loop around it has no loop state to speak of.
fn is_single(state: &LoopState) -> bool {
    state.spec.done == windlass_core::spec::Done::Gates && state.spec.limits.max_iterations == Some(1)
}

/// The line of an agent that cannot be started, found out before a loop exists or in its first turn.
pub fn not_started(agent: &str, message: &str) {
    tracing::error!("Failed to start {agent} loop follow-up: {message}");
}
