//! Loops that are opened again: resumed, restarted, continued, approved, rejected.

use std::sync::Arc;

use windlass_core::ids::LoopId;
use windlass_core::machine::{Input, Opener, Raise};
use windlass_core::stop::Status;
use windlass_engine::engine::{Engine, Held};
use windlass_engine::sandbox::docker;
use windlass_engine::view::LoopView;

use crate::context::Context;
use crate::local::Local;
use crate::local::Opened;
use crate::problem::{Kind, Problem};
use crate::request::{Opens, Request};
use crate::requests::{ApproveLoop, ContinueLoop, RaiseLimits, RejectLoop, RestartLoop, ResumeLoop};

/// A request that opens a loop leaves it to the background, unless its caller drives it.
macro_rules! leaves_to_the_background {
    ($($request:ty => $name:literal),*) => {$(
        impl Request for $request {
            type Report = LoopView;
            const NAME: &'static str = $name;

            async fn perform(self, here: &Local) -> Result<LoopView, Problem> {
                here.hand(self.open(here).await?).await
            }
        }
    )*};
}
pub(crate) use leaves_to_the_background;

leaves_to_the_background!(
    ResumeLoop => "resume", RestartLoop => "restart", ContinueLoop => "continue",
    ApproveLoop => "approve", RejectLoop => "reject"
);

impl From<RaiseLimits> for Raise {
    fn from(raise: RaiseLimits) -> Self {
        let RaiseLimits { max_iterations, duration_ms, budget_usd, max_tokens, disk_bytes } = raise;
        Raise { max_iterations, duration_ms, budget_usd, max_tokens, disk_bytes }
    }
}

impl From<Raise> for RaiseLimits {
    fn from(raise: Raise) -> Self {
        let Raise { max_iterations, duration_ms, budget_usd, max_tokens, disk_bytes } = raise;
        RaiseLimits { max_iterations, duration_ms, budget_usd, max_tokens, disk_bytes }
    }
}

impl Opens for ResumeLoop {
    async fn open(self, here: &Local) -> Result<Opened, Problem> {
        let from = if self.take_over { TakenFrom::Unseen } else { TakenFrom::Nobody };
        again(here, &self.id, from, Opener::Resume, self.raise.into()).await
    }
}

impl Opens for RestartLoop {
    async fn open(self, here: &Local) -> Result<Opened, Problem> {
        again(here, &self.id, TakenFrom::Nobody, Opener::Restart, self.raise.into()).await
    }
}

impl Opens for ContinueLoop {
    async fn open(self, here: &Local) -> Result<Opened, Problem> {
        if self.goal.as_ref().is_some_and(|goal| goal.trim().is_empty()) {
            return Err(Problem::new(Kind::Invalid, "the goal is empty")
                .field("goal")
                .hint("write a new goal, or omit it to keep the current one"));
        }
        let engine = here.engine().await?;
        let id = LoopId(here.found(&self.id).await?.entry.id);
        let mut held = engine.take(&id).await?;
        let seen = held.state.seq;
        if let Err(error) = go_on(&here.context, &engine, &mut held, self).await {
            engine.release(held).await?;
            return Err(error);
        }
        Ok(Opened { engine, held, seen, notes: Vec::new() })
    }
}

/// A new stretch of a completed loop. The machine is asked first, so that only a completed loop is looked at further.
async fn go_on(context: &Context, engine: &Arc<Engine>, held: &mut Held, wanted: ContinueLoop) -> Result<(), Problem> {
    let ContinueLoop { goal, into, raise, .. } = wanted;
    let input = Input::Continue { goal, target: into.clone(), raise: raise.into() };
    engine.would_accept(held, &input)?;
    still_confined(context, engine, held)?;
    engine.can_continue(held, into.as_deref()).await?;
    Ok(engine.apply(held, &input).await?)
}

impl Opens for ApproveLoop {
    async fn open(self, here: &Local) -> Result<Opened, Problem> {
        ruled(here, &self.id, &Input::Approve { reason: said(self.reason) }).await
    }
}

impl Opens for RejectLoop {
    async fn open(self, here: &Local) -> Result<Opened, Problem> {
        let reason = said(self.reason).ok_or_else(|| {
            Problem::new(Kind::Invalid, "rejecting requires a reason").field("reason").hint("describe what to change")
        })?;
        ruled(here, &self.id, &Input::Reject { reason }).await
    }
}

/// The reason, if anything is said.
fn said(reason: Option<String>) -> Option<String> {
    reason.filter(|reason| !reason.trim().is_empty())
}

/// Whom a loop is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TakenFrom {
    Nobody,
    /// A driver that nobody sees from here, and that a person calls gone.
    Unseen,
}

async fn again(here: &Local, id: &str, from: TakenFrom, by: Opener, raise: Raise) -> Result<Opened, Problem> {
    let engine = here.engine().await?;
    let id = LoopId(here.found(id).await?.entry.id);
    let held = match from {
        TakenFrom::Nobody => engine.take(&id).await?,
        TakenFrom::Unseen => engine.take_over(&id).await?,
    };
    let (held, seen) = open_again(&here.context, &engine, held, by, raise).await?;
    Ok(Opened { engine, held, seen, notes: Vec::new() })
}

async fn ruled(here: &Local, id: &str, input: &Input) -> Result<Opened, Problem> {
    let engine = here.engine().await?;
    let id = LoopId(here.found(id).await?.entry.id);
    let (held, seen) = take_ruled(&engine, &id, input).await?;
    Ok(Opened { engine, held, seen, notes: Vec::new() })
}

/// Opens a loop that was taken; with the number of the last event before that.
async fn open_again(
    context: &Context,
    engine: &Arc<Engine>,
    mut held: Held,
    by: Opener,
    raise: Raise,
) -> Result<(Held, u64), Problem> {
    let seen = held.state.seq;
    let opened = async {
        if by == Opener::Restart {
            amend(context, engine, &mut held).await?;
        }
        still_confined(context, engine, &held)?;
        open_held(engine, &mut held, by, raise).await
    };
    if let Err(error) = opened.await {
        engine.release(held).await?;
        return Err(error);
    }
    Ok((held, seen))
}

/// A loop keeps its sandbox. If it is no longer available, the loop does not continue without one.
fn still_confined(context: &Context, engine: &Engine, held: &Held) -> Result<(), Problem> {
    let spec = &held.state.spec.sandbox;
    // Another machine drives it, and looks for its own.
    if spec.is_off() || engine.is_one_of_several() {
        return Ok(());
    }
    let tried = match spec.docker {
        Some(_) => docker::probe(spec, &context.env.texts()).map(drop),
        None => windlass_supervise::probe_sandbox(&context.search_path()).map(drop),
    };
    tried.map_err(|missing| {
        let what = format!(
            "the loop uses the sandbox '{}', which is not available on this machine: {}",
            spec.level.name(),
            missing.reason
        );
        // What it suggests is for a new loop; this one is bound to its sandbox.
        Problem::refused(
            what,
            missing.fix.replace("or run without one: --sandbox off", "or start a new loop with --sandbox off"),
        )
    })
}

/// A milestone whose file was edited since is taken as it stands there now.
async fn amend(context: &Context, engine: &Arc<Engine>, held: &mut Held) -> Result<(), Problem> {
    let Some(known) = held.state.spec.review.as_ref().and_then(|review| review.milestone.clone()) else {
        return Ok(());
    };
    let now = windlass_engine::milestones::load(std::path::Path::new(&held.state.project), &known.id);
    match (now, &held.state.status()) {
        (Ok(found), Status::Queued | Status::Paused { .. } | Status::Ended { .. }) if found.milestone != known => {
            let milestone = Box::new(found.milestone);
            match engine.apply(held, &Input::AmendMilestone { milestone }).await {
                // What ended for good says so when it is opened.
                Ok(()) | Err(windlass_engine::engine::EngineError::Refused(_)) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        (Ok(_), _) => Ok(()),
        (Err(error), _) => {
            context.warn(&format!("{error}; using the original text"));
            Ok(())
        }
    }
}

/// Opens a loop that nobody drives, from wherever it was left.
async fn open_held(engine: &Arc<Engine>, held: &mut Held, by: Opener, raise: Raise) -> Result<(), Problem> {
    if held.state.awaits_place() {
        // Whoever waited for a place is gone; its turn, if it had begun, says by itself what became of it.
        engine.unqueue(held).await?;
    }
    match held.state.status() {
        Status::Running | Status::Waiting { .. } => {
            // Cut off. A plain resume goes on just there; anything else is a new opening after a pause.
            // A pause or a stop that was asked for before is over with that.
            let plain = by == Opener::Resume && raise == Raise::default() && held.state.wish.is_none();
            engine.attach(held).await?;
            if plain {
                return Ok(());
            }
            engine.settle(held).await?;
        }
        Status::Queued | Status::Paused { .. } | Status::Ended { .. } => {}
    }
    engine.can_open(held).await?;
    Ok(engine.apply(held, &Input::Open { by, raise }).await?)
}

/// Takes a loop that nobody drives and gives it a person's word; with the number of the last event before that.
async fn take_ruled(engine: &Arc<Engine>, id: &LoopId, input: &Input) -> Result<(Held, u64), Problem> {
    let mut held = engine.take(id).await?;
    let seen = held.state.seq;
    if let Err(error) = engine.apply(&mut held, input).await {
        engine.release(held).await?;
        return Err(error.into());
    }
    Ok((held, seen))
}
