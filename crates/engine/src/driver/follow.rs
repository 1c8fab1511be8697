//! Following a process through a turn: what it says, what it is told, and how the turn ends.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use windlass_agents::Progress;
use windlass_core::machine::Input;
use windlass_supervise::{EndedBy, ExitRecord, ProcessEvent, Running};

use super::DriveError;
use super::performing::Context;
use super::reading::Reading;
use super::turn::{Job, sweep};
use crate::engine::Engine;
use crate::limits::DiskWatch;

/// How long an agent that was asked to end its turn gets before its process is ended. With the grace of a process
/// this stays within the three seconds that a stop may take.
const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// A turn that is over.
pub(super) struct Followed {
    pub(super) reading: Reading,
    /// How it ended, if anybody saw that.
    pub(super) record: Option<ExitRecord>,
    /// The process, if it lives on.
    pub(super) waits: Option<Running>,
    /// The process can take another turn.
    pub(super) fit: bool,
    /// The process had ended before it could hear of the turn.
    pub(super) never_began: bool,
}

/// What is known of the turn on the way.
struct Course {
    /// Of a process that had turns before: it has heard of this one.
    begun: bool,
    /// The task must come to an end.
    ending: bool,
    /// The shim was asked to close the turn.
    closing: bool,
    /// The agent left something running when it had said its last word.
    lingered: bool,
    /// When the process is ended that was asked to end its turn.
    stop_at: Option<Instant>,
}

pub(super) async fn follow(
    context: &mut Context,
    job: &Job<'_>,
    mut running: Running,
    mut reading: Reading,
) -> Result<Followed, DriveError> {
    let engine = Arc::clone(&job.engine);
    let stall = i64::try_from(job.state.spec.time.stall_timeout_ms).unwrap_or(i64::MAX);
    let stall_after = |now: Timestamp| now.checked_add(SignedDuration::from_millis(stall)).unwrap_or(Timestamp::MAX);
    let mut stall_at = stall_after(engine.clock.now());
    let mut course = Course { begun: false, ending: false, closing: false, lingered: false, stop_at: None };
    let mut disk = DiskWatch::start(&engine, job.state);
    running.send(&reading.input());
    let (mut record, lives) = loop {
        tokio::select! {
            event = running.next() => match event {
                Some(ProcessEvent::Output { .. }) => {
                    reading.catch_up(context)?;
                    if reading.took_a_step() {
                        stall_at = stall_after(engine.clock.now());
                    }
                    context.line.tell();
                    if !course.ending && !course.closing && reading.spins() {
                        course.end(&mut running, &mut reading);
                    }
                    course.go_on(&mut running, &mut reading);
                }
                Some(ProcessEvent::TurnOver(record)) => break (Some(record), true),
                Some(ProcessEvent::Closed(record)) => break (Some(record), false),
                Some(ProcessEvent::Lost { why }) => {
                    tracing::warn!(loop_id = %job.state.id, turn = %job.turn, %why, "the turn's supervisor exited");
                    break (None, false);
                }
                Some(ProcessEvent::TurnBegun | ProcessEvent::Started { .. }) => course.begun = true,
                Some(ProcessEvent::SpawnFailed(_) | ProcessEvent::Exited(_)) => {}
                None => break (None, false),
            },
            () = context.ended(), if !course.ending => course.end(&mut running, &mut reading),
            message = disk.short() => context.tell(Input::DiskShort { turn: job.turn, message }),
            () = sleep_until(course.stop_at), if course.stop_at.is_some() => {
                course.stop_at = None;
                running.stop();
            }
            () = clock_reaches(&engine, reading.usage_due()) => reading.tell_usage(context),
            () = engine.clock.sleep_until(stall_at), if !course.ending && !course.closing => {
                stall_at = stall_after(engine.clock.now());
                if reading.progress() == Progress::Lingering {
                    course.lingered = true;
                    course.close(&running);
                } else {
                    context.tell(Input::Stalled { turn: job.turn });
                }
            }
        }
    };
    let spoke = record.as_ref().is_some_and(|record| record.stdout_bytes > 0);
    let never_began = !lives && !course.ending && !(course.begun && (spoke || record.is_none()));
    if let Some(record) = record.as_mut().filter(|_| course.ending && !course.begun) {
        // It ended by itself, but not in this turn, which was told to end.
        record.by = EndedBy::Stopped;
    }
    let fit = !course.ending && !course.lingered;
    let waits = if lives {
        Some(running)
    } else {
        // The shim is gone, and has ended its tree before; the sweep is for a shim that was killed.
        drop(running);
        if record.is_none() {
            sweep(job.state, job.turn);
        }
        None
    };
    Ok(Followed { reading, record, waits, fit, never_began })
}

impl Course {
    /// After something was read: says what there is to say, and closes a turn that is over.
    fn go_on(&mut self, running: &mut Running, reading: &mut Reading) {
        running.send(&reading.input());
        if reading.progress() != Progress::Over {
            return;
        }
        if self.ending {
            self.stop_at = None;
            running.stop();
        } else if !self.closing {
            self.close(running);
        }
    }

    fn close(&mut self, running: &Running) {
        self.closing = true;
        running.end_turn();
    }

    /// The turn must not continue.
    fn end(&mut self, running: &mut Running, reading: &mut Reading) {
        self.ending = true;
        if reading.interrupt() {
            running.send(&reading.input());
            self.stop_at = Some(Instant::now() + CANCEL_GRACE);
        } else {
            running.stop();
        }
    }
}

async fn clock_reaches(engine: &Engine, at: Option<Timestamp>) {
    match at {
        Some(at) => engine.clock.sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
