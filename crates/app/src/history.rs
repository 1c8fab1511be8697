//! How a loop went: its journal, its iterations with their turns, and everything else that happened in them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::agent::TurnOutcome;
use windlass_core::ids::{LoopId, Role, TurnKey};
use windlass_core::machine::Event;
use windlass_core::spec::LoopSpec;
use windlass_core::usage::{Usage, UsageByModel, total};
use windlass_engine::data::TurnFiles;
use windlass_engine::journal;

use crate::local::Local;
use crate::loops::{page, pages_of_a_loop};
use crate::problem::Problem;
use crate::request::Request;

pages_of_a_loop! {
    "How it went: iterations, turns, verdicts, waits." LoopTimeline
    "Its turns." LoopTurns
}

/// Every event of its journal, from which its state follows.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LoopJournal {
    #[schemars(skip)]
    pub id: String,
    /// Events after the one with this number, as in its `seq`.
    pub after: u64,
    /// At most so many; all if not said.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// What happened before the first iteration.
    pub before: Vec<Mark>,
    pub iterations: Vec<IterationView>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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

/// A turn as it went.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct TurnView {
    /// `iteration.role.attempt`, as the routes below take it.
    pub turn: String,
    pub iteration: u32,
    pub role: Role,
    pub attempt: u32,
    pub agent: String,
    pub model: Option<String>,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// It went on after a crash.
    pub recovery: bool,
    pub outcome: Option<TurnOutcome>,
    pub claim: bool,
    pub usage: Option<Usage>,
    /// The same by model; an agent that named none has an empty name.
    #[serde(default)]
    pub usage_by_model: UsageByModel,
    pub last_words: Option<String>,
    pub duration_ms: Option<u64>,
    pub prompt_bytes: Option<u64>,
    pub stdout_bytes: Option<u64>,
    pub stderr_bytes: Option<u64>,
}

impl TurnView {
    fn started(turn: TurnKey, agent: usize, recovery: bool, at: Timestamp, spec: Option<&LoopSpec>) -> Self {
        let choice = spec.map(|spec| spec.agent_of(turn.role, agent));
        Self {
            turn: turn.to_string(),
            iteration: turn.iteration,
            role: turn.role,
            attempt: turn.attempt,
            agent: choice.map(|choice| choice.name.clone()).unwrap_or_default(),
            model: choice.and_then(|choice| choice.profile.model.clone()),
            started_at: at,
            ended_at: None,
            recovery,
            outcome: None,
            claim: false,
            usage: None,
            usage_by_model: UsageByModel::default(),
            last_words: None,
            duration_ms: None,
            prompt_bytes: None,
            stdout_bytes: None,
            stderr_bytes: None,
        }
    }

    /// What became of it so far.
    fn see(&mut self, event: Event, at: Timestamp) {
        if let Event::TurnEnded { report, .. } = event {
            self.ended(report, at);
        } else if let Event::UsageReported { usage, .. } = event {
            self.used(usage);
        }
    }

    fn used(&mut self, usage: UsageByModel) {
        self.usage = Some(total(&usage));
        self.usage_by_model = usage;
    }

    fn ended(&mut self, report: windlass_core::agent::TurnReport, at: Timestamp) {
        self.ended_at = Some(at);
        self.claim = report.claim;
        if !report.usage.is_empty() || self.usage.is_none() {
            self.used(report.usage);
        }
        self.last_words = Some(report.last_words);
        self.duration_ms = Some(report.duration_ms);
        self.outcome = Some(report.outcome);
    }

    fn measure(&mut self, files: &TurnFiles) {
        let length = |path: std::path::PathBuf| std::fs::metadata(path).ok().map(|meta| meta.len());
        self.prompt_bytes = length(files.prompt());
        self.stdout_bytes = length(files.stdout());
        self.stderr_bytes = length(files.stderr());
    }
}

/// The events of a loop, one by one.
async fn each_event(here: &Local, id: &LoopId, see: impl FnMut(u64, Timestamp, Event) + Send) -> Result<(), Problem> {
    each_event_after(here, id, 0, None, see).await
}

/// The same from a place on, and at most so many.
async fn each_event_after(
    here: &Local,
    id: &LoopId,
    mut after: u64,
    limit: Option<usize>,
    mut see: impl FnMut(u64, Timestamp, Event) + Send,
) -> Result<(), Problem> {
    let engine = here.readable().await?;
    let mut left = limit.unwrap_or(usize::MAX);
    while left > 0 {
        let page = engine.store.read(&id.0, after, left.min(500)).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.seq;
        left -= page.len().min(left);
        for stored in &page {
            see(stored.seq, stored.at, journal::decode(id, stored)?);
        }
    }
    Ok(())
}

impl Request for LoopJournal {
    type Report = Vec<Mark>;
    const NAME: &'static str = "journal";

    async fn perform(self, here: &Local) -> Result<Vec<Mark>, Problem> {
        let id = LoopId(here.found(&self.id).await?.entry.id);
        let mut marks = Vec::new();
        let push = |seq, at, event| marks.push(Mark { seq, at, event });
        each_event_after(here, &id, self.after, self.limit, push).await?;
        Ok(marks)
    }
}

impl Request for LoopTimeline {
    type Report = Timeline;
    const NAME: &'static str = "timeline";

    async fn perform(self, here: &Local) -> Result<Timeline, Problem> {
        let id = LoopId(here.found(&self.id).await?.entry.id);
        let mut timeline = Timeline::default();
        let mut spec: Option<Box<LoopSpec>> = None;
        each_event(here, &id, |seq, at, event| see(&mut timeline, &mut spec, seq, at, event)).await?;
        if self.after > 0 {
            timeline.before.clear();
        }
        page(&mut timeline.iterations, self.after, self.limit);
        Ok(timeline)
    }
}

impl Request for LoopTurns {
    type Report = Vec<TurnView>;
    const NAME: &'static str = "turns";

    async fn perform(self, here: &Local) -> Result<Vec<TurnView>, Problem> {
        let id = LoopId(here.found(&self.id).await?.entry.id);
        let mut turns: Vec<TurnView> = Vec::new();
        let mut spec: Option<Box<LoopSpec>> = None;
        each_event(here, &id, |_, at, event| {
            if let Event::LoopCreated { spec: made, .. } = event {
                spec = Some(made);
            } else if let Event::TurnStarted { turn, agent, recovery, .. } = event {
                turns.push(TurnView::started(turn, agent, recovery, at, spec.as_deref()));
            } else if let Some(turn) = event_of_turn(&event)
                && let Some(view) = turns.iter_mut().rev().find(|view| view.turn == turn)
            {
                view.see(event, at);
            }
        })
        .await?;
        page(&mut turns, self.after, self.limit);
        let data = &here.readable().await?.data;
        for view in &mut turns {
            if let Ok(key) = view.turn.parse() {
                view.measure(&data.turn(&id, key));
            }
        }
        Ok(turns)
    }
}

/// The turn that an event belongs to and is shown with.
fn event_of_turn(event: &Event) -> Option<String> {
    if let Event::TurnEnded { turn, .. } | Event::UsageReported { turn, .. } = event {
        Some(turn.to_string())
    } else {
        None
    }
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
    } else if let Some(turn) = event_of_turn(&event) {
        let mut turns = timeline.iterations.iter_mut().rev().flat_map(|iteration| iteration.turns.iter_mut().rev());
        if let Some(view) = turns.find(|view| view.turn == turn) {
            view.see(event, at);
        }
    } else if !matches!(event, Event::PhaseEntered { .. }) {
        let mark = Mark { seq, at, event };
        match timeline.iterations.last_mut() {
            Some(last) => last.marks.push(mark),
            None => timeline.before.push(mark),
        }
    }
}
