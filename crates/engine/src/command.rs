//! What people ask of a loop from another process, as it lies in the inbox, and what they are told.

use serde::{Deserialize, Serialize};
use windlass_core::ids::TurnKey;
use windlass_core::machine::{Act, Event, Input, LoopState, ReviewEvent};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    Stop,
    Pause {
        now: bool,
    },
    Steer {
        text: String,
        #[serde(default)]
        now: bool,
    },
    Answer {
        #[serde(default)]
        question: Option<String>,
        text: String,
    },
    /// What an agent does through the engine in a turn of its own.
    Act {
        turn: TurnKey,
        act: Act,
    },
    Approve {
        #[serde(default)]
        reason: Option<String>,
    },
    Reject {
        reason: String,
    },
}

impl Command {
    pub fn parse(body: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// The machine's input; `id` makes a message the same message when it is sent twice.
    pub fn input(self, id: &str) -> Input {
        match self {
            Command::Stop => Input::Stop,
            Command::Pause { now } => Input::Pause { now },
            Command::Steer { text, now } => Input::Steer { id: id.to_owned(), text, now },
            Command::Answer { question, text } => Input::Answer { question, text },
            Command::Act { turn, act } => Input::Acted { turn, act },
            Command::Approve { reason } => Input::Approve { reason },
            Command::Reject { reason } => Input::Reject { reason },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Answer {
    Accepted {
        /// The id of the finding that was written or resolved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finding: Option<String>,
    },
    /// The loop has come to rest, in this status.
    Done {
        status: String,
    },
    Refused {
        message: String,
    },
}

impl Answer {
    /// What was asked led to these events.
    pub fn accepted(events: &[Event]) -> Self {
        let finding = events.iter().find_map(|event| {
            if let Event::Review(ReviewEvent::FindingWritten { finding, .. }) = event {
                Some(finding.id)
            } else if let Event::Review(ReviewEvent::FindingResolved { id, .. }) = event {
                Some(*id)
            } else {
                None
            }
        });
        Answer::Accepted { finding: finding.map(|id| id.to_string()) }
    }

    pub fn done(state: &LoopState) -> Self {
        Answer::Done { status: state.status().name().to_owned() }
    }

    pub fn refused(why: &impl std::fmt::Display) -> Self {
        Answer::Refused { message: why.to_string() }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| unreachable!("an answer is plain data: {error}"))
    }
}
