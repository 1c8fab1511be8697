//! What the end of a turn means: whether it is tried again, and what it counts as.

use crate::agent::{ErrorKind, TurnOutcome};
use crate::ids::Role;
use crate::machine::event::{Counted, Interrupt};

/// Whether a turn came to no end of its own, so that the same iteration tries again.
pub(super) fn is_due_again(role: Role, outcome: &TurnOutcome, interrupt: Option<&Interrupt>) -> bool {
    match outcome {
        TurnOutcome::Finished => false,
        // What follows the accepted work may fail, and is over then.
        TurnOutcome::Failed { .. } | TurnOutcome::NotStarted { .. } if role == Role::Finisher => false,
        TurnOutcome::CutOff
        | TurnOutcome::RateLimited { .. }
        | TurnOutcome::NotStarted { .. }
        | TurnOutcome::NotTried { .. } => true,
        TurnOutcome::Failed { kind, .. } => match kind {
            // What the coder wrote before is committed and judged.
            ErrorKind::ContextOverflow if role == Role::Coder => false,
            ErrorKind::RateLimit
            | ErrorKind::Overloaded
            | ErrorKind::Network
            | ErrorKind::ContextOverflow
            | ErrorKind::Auth
            | ErrorKind::Billing
            | ErrorKind::UnknownSession => true,
            ErrorKind::ModelNotFound | ErrorKind::ResourceLimit | ErrorKind::Other => false,
        },
        TurnOutcome::Interrupted => match interrupt {
            Some(Interrupt::TurnTimeout | Interrupt::Limit { .. }) => false,
            Some(
                Interrupt::Stop
                | Interrupt::Pause
                | Interrupt::Shutdown
                | Interrupt::Steer
                | Interrupt::Stall
                | Interrupt::Disk { .. },
            )
            | None => true,
        },
    }
}

pub(super) fn counted(outcome: &TurnOutcome, interrupt: Option<&Interrupt>) -> Counted {
    match outcome {
        TurnOutcome::Finished => Counted::Finished,
        TurnOutcome::CutOff => Counted::CutOff,
        TurnOutcome::NotTried { .. } => Counted::NotTried,
        TurnOutcome::RateLimited { .. } => Counted::RateLimit,
        TurnOutcome::NotStarted { .. } => Counted::Nothing,
        TurnOutcome::Interrupted => match interrupt {
            Some(Interrupt::Stall) => Counted::Stall,
            Some(Interrupt::TurnTimeout) => Counted::Failure,
            Some(
                Interrupt::Stop
                | Interrupt::Pause
                | Interrupt::Shutdown
                | Interrupt::Steer
                | Interrupt::Limit { .. }
                | Interrupt::Disk { .. },
            )
            | None => Counted::Nothing,
        },
        TurnOutcome::Failed { kind, .. } => match kind {
            ErrorKind::RateLimit => Counted::RateLimit,
            ErrorKind::Overloaded | ErrorKind::Network => Counted::NoAnswer,
            ErrorKind::ContextOverflow | ErrorKind::UnknownSession => Counted::SessionLost,
            ErrorKind::ModelNotFound | ErrorKind::ResourceLimit | ErrorKind::Other => Counted::Failure,
            ErrorKind::Auth | ErrorKind::Billing => Counted::Nothing,
        },
    }
}
