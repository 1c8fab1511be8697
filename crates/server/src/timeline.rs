//! How a loop went: its iterations with their turns, and everything else that happened in them.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::machine::Event;
use windlass_core::spec::LoopSpec;

use crate::app::App;
use crate::extract::Path;
use crate::problem::Problem;
use crate::turns::{TurnView, each_event};

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Timeline {
    /// What happened before the first iteration.
    pub before: Vec<Mark>,
    pub iterations: Vec<IterationView>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IterationView {
    pub iteration: u32,
    pub started_at: Timestamp,
    pub turns: Vec<TurnView>,
    /// Claims refused, gates, verdicts, commits, waits, pauses, messages, in their order.
    pub marks: Vec<Mark>,
}

/// An event of the journal.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    pub seq: u64,
    pub at: Timestamp,
    pub event: Event,
}

/// Everything that was decided about the loop, in order; its state follows from it.
pub(crate) async fn journal(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Vec<Mark>>, Problem> {
    let id = app.loop_id(&id).await?;
    let mut marks = Vec::new();
    each_event(&app, &id, |seq, at, event| marks.push(Mark { seq, at, event })).await?;
    Ok(Json(marks))
}

pub(crate) async fn timeline(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Timeline>, Problem> {
    let id = app.loop_id(&id).await?;
    let mut timeline = Timeline::default();
    let mut spec: Option<Box<LoopSpec>> = None;
    each_event(&app, &id, |seq, at, event| see(&mut timeline, &mut spec, seq, at, event)).await?;
    Ok(Json(timeline))
}

fn see(timeline: &mut Timeline, spec: &mut Option<Box<LoopSpec>>, seq: u64, at: Timestamp, event: Event) {
    if let Event::LoopCreated { spec: made, .. } = event {
        *spec = Some(made);
    } else if let Event::IterationStarted { iteration } = event {
        timeline.iterations.push(IterationView { iteration, started_at: at, turns: Vec::new(), marks: Vec::new() });
    } else if let (Event::TurnStarted { turn, agent, recovery, .. }, Some(last)) =
        (&event, timeline.iterations.last_mut())
    {
        last.turns.push(TurnView::started(*turn, *agent, *recovery, at, spec.as_deref()));
    } else if let Event::TurnEnded { turn, report } = event {
        let key = turn.to_string();
        let mut turns = timeline.iterations.iter_mut().rev().flat_map(|iteration| iteration.turns.iter_mut().rev());
        if let Some(view) = turns.find(|view| view.turn == key) {
            view.ended(report, at);
        }
    } else if !matches!(event, Event::PhaseEntered { .. }) {
        let mark = Mark { seq, at, event };
        match timeline.iterations.last_mut() {
            Some(last) => last.marks.push(mark),
            None => timeline.before.push(mark),
        }
    }
}
