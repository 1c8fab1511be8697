//! What is told: the documented body.

use jiff::Timestamp;
use serde::Serialize;
use windlass_core::group::{GroupKind, GroupRow, GroupStatus};
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState};
use windlass_core::stop::{End, PauseReason, StopReason, WaitReason};

pub use crate::config::Occasion;
use crate::view::{LoopView, QuestionView};

impl Occasion {
    pub(super) fn of(event: &Event) -> Option<Occasion> {
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
        if let Event::QuestionAsked { until, .. } = event {
            // Before the wait begins, so that there is more time; a default that is taken at once needs nobody.
            return until.map(|_| Occasion::NeedsPerson);
        }
        let Event::WaitStarted { why, .. } = event else { return None };
        (!matches!(why, WaitReason::Question { .. })).then_some(Occasion::Waiting)
    }

    /// Of a group that has come to this.
    pub(crate) fn of_group(status: GroupStatus) -> Option<Occasion> {
        match status {
            GroupStatus::Running => None,
            GroupStatus::Paused => Some(Occasion::NeedsPerson),
            GroupStatus::Ended(End::Completed) => Some(Occasion::Completed),
            GroupStatus::Ended(End::Exhausted | End::Cancelled | End::Stalled | End::Errored) => {
                Some(Occasion::Stopped)
            }
        }
    }
}

/// What a group that came to rest has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupNews {
    /// The name of the loop that was picked.
    pub winner: Option<String>,
    /// That loop is verified.
    pub verified: bool,
    /// In one line for people.
    pub words: String,
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

/// What a webhook gets. Fields are only ever added.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Notification")]
pub struct Body<'a> {
    /// `needs_person`, `completed`, `stopped` or `waiting`; the header `X-Windlass-Event` has it too.
    event: &'a str,
    /// If the message is about a group, its ID, name, project, goal and status.
    #[serde(rename = "loop")]
    about: About<'a>,
    /// `null` if the message is about a loop.
    group: Option<AboutGroup<'a>>,
    at: Timestamp,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "NotificationGroup")]
struct AboutGroup<'a> {
    kind: GroupKind,
    /// The name of the loop that was picked; `null` if none was.
    winner: Option<&'a str>,
    /// The winner is verified.
    verified: bool,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "NotificationLoop")]
struct About<'a> {
    id: &'a str,
    name: &'a str,
    project: &'a str,
    goal: &'a str,
    status: &'a str,
    stop_reason: Option<&'a StopReason>,
    waiting_for: Option<&'a str>,
    /// The question that was asked last and is open.
    question: Option<&'a QuestionView>,
}

impl Message {
    pub(super) fn new(occasion: Occasion, state: &LoopState, at: Timestamp) -> Self {
        let view = LoopView::of(state);
        let question = view.questions.iter().rfind(|question| question.open);
        let about = About {
            id: &view.id,
            name: &view.name,
            project: &view.project,
            goal: &view.goal,
            status: &view.status,
            stop_reason: view.stop_reason.as_ref(),
            waiting_for: view.waiting_for.as_deref(),
            question,
        };
        let body = Body { event: occasion.name(), about, group: None, at };
        let body = serde_json::to_string(&body).unwrap_or_else(|error| unreachable!("plain data: {error}"));
        let why = view.waiting_for.as_deref().or(view.stop_reason.as_ref().map(StopReason::name));
        let words = match why {
            _ if question.is_some() && occasion == Occasion::NeedsPerson => {
                let question = question.map_or("", |question| &question.question);
                format!("the agent asks: {question}")
            }
            Some(why) if why != view.status => format!("{}: {why}", view.status),
            Some(_) | None => view.status.clone(),
        };
        Self { event: occasion.name(), id: state.id.clone(), name: view.name, body, words }
    }

    pub(super) fn of_group(occasion: Occasion, kind: GroupKind, row: &GroupRow, news: &GroupNews) -> Self {
        let about = About {
            id: &row.id.0,
            name: &row.name,
            project: &row.project,
            goal: &row.goal,
            status: row.status.name(),
            stop_reason: None,
            waiting_for: (occasion == Occasion::NeedsPerson).then_some(news.words.as_str()),
            question: None,
        };
        let group = AboutGroup { kind, winner: news.winner.as_deref(), verified: news.verified };
        let body = Body { event: occasion.name(), about, group: Some(group), at: row.updated_at };
        let body = serde_json::to_string(&body).unwrap_or_else(|error| unreachable!("plain data: {error}"));
        let (id, name, words) = (LoopId(row.id.0.clone()), row.name.clone(), news.words.clone());
        Self { event: occasion.name(), id, name, body, words }
    }
}
