//! The machine: what a loop decides, as three pure functions.
//!
//! `decide` turns an input into events, `evolve` folds an event into the state, `effects` says what should be under
//! way in that state. Events are durable before anything acts on them; effects are derived, never queued, so
//! restart is: replay, then perform what is wanted.

mod activity;
mod answer;
mod continuing;
mod decide;
mod effect;
mod event;
mod evolve;
mod gates;
mod input;
mod outcome;
mod question;
mod review;
mod shared;
mod spending;
mod state;
mod turn;

pub use crate::agent::ChangedFile;
pub use activity::{Activity, Doing, Next, Phase, Then};
pub use answer::Answer;
pub use continuing::{Base, Continued, MergeIn, MergedTarget};
pub use decide::{Refusal, decide};
pub use effect::{Effect, Timer, TimerKind, effects};
pub use event::{Counted, Event, Interrupt, Opener, RefusedBecause, Restore, SessionUse, StallStep};
pub use evolve::{Replayed, evolve, replay};
pub use input::{
    Act, CheckpointReport, GateKey, GateOn, GateReport, Input, MovedRef, Raise, RestoredSnapshot, SummaryReport,
    Verdict, WorkspaceFailure, WorkspaceOpening,
};
pub use outcome::{Merge, MergeObstacle, RefusedMerge, Smaller};
pub use question::{AnsweredBy, Question, QuestionAnswer};
pub use review::{
    AcceptedFeature, Accepting, Agreed, Aim, Auditing, DeferredQuestion, FinishedSection, Judging, Objection, Opinion,
    PlanAim, PostActionRecord, Review, ReviewEvent, SkippedBecause,
};
pub use shared::Shared;
pub use spending::USAGE_EVERY_MS;
pub use state::{Claims, GateMark, IterationRecord, LoopState, Steering, Wish, Workspace};
pub use turn::{EndedTurn, RunningTurn};
