//! What is told: the documented body.

use jiff::Timestamp;
use serde::Serialize;
use windlass_config::Occasion;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState};
use windlass_core::stop::{End, PauseReason, StopReason};

use crate::view::LoopView;

/// What of it somebody may want to be told.
pub(super) fn occasion_of(event: &Event) -> Option<Occasion> {
    if let Event::LoopStopped { status, .. } = event {
        return Some(match status {
            End::Completed => Occasion::Completed,
            End::Exhausted | End::Cancelled | End::Stalled | End::Errored => Occasion::Stopped,
        });
    }
    if let Event::LoopPaused { why } = event {
        return match why {
            // Who asked for it need not be told.
            PauseReason::Person => None,
            PauseReason::Limit { .. }
            | PauseReason::Auth { .. }
            | PauseReason::ProviderLimit { .. }
            | PauseReason::Disk { .. }
            | PauseReason::Infrastructure { .. }
            | PauseReason::Reviewer { .. }
            | PauseReason::Review
            | PauseReason::Rejections { .. } => Some(Occasion::NeedsPerson),
        };
    }
    matches!(event, Event::WaitStarted { .. }).then_some(Occasion::Waiting)
}

/// One notification, ready to be sent.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) event: &'static str,
    pub(super) id: LoopId,
    pub(super) name: String,
    /// The JSON, the very bytes that are sent and signed.
    pub(super) body: String,
    /// In one line for people.
    pub(super) words: String,
}

/// Fields are only ever added.
#[derive(Serialize)]
struct Body<'a> {
    event: &'a str,
    #[serde(rename = "loop")]
    about: About<'a>,
    at: Timestamp,
}

#[derive(Serialize)]
struct About<'a> {
    id: &'a str,
    name: &'a str,
    project: &'a str,
    goal: &'a str,
    status: &'a str,
    stop_reason: Option<&'a StopReason>,
    waiting_for: Option<&'a str>,
}

impl Message {
    pub(super) fn new(occasion: Occasion, state: &LoopState, at: Timestamp) -> Self {
        let view = LoopView::of(state);
        let about = About {
            id: &view.id,
            name: &view.name,
            project: &view.project,
            goal: &view.goal,
            status: &view.status,
            stop_reason: view.stop_reason.as_ref(),
            waiting_for: view.waiting_for.as_deref(),
        };
        let body = Body { event: occasion.name(), about, at };
        let body = serde_json::to_string(&body).unwrap_or_else(|error| unreachable!("plain data: {error}"));
        let why = view.waiting_for.as_deref().or(view.stop_reason.as_ref().map(StopReason::name));
        let words = match why {
            Some(why) if why != view.status => format!("{}: {why}", view.status),
            Some(_) | None => view.status.clone(),
        };
        Self { event: occasion.name(), id: state.id.clone(), name: view.name, body, words }
    }
}
