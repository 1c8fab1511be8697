//! A group that this process holds, and its journal.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use uuid::Uuid;
use windlass_core::group::{Group, GroupId, replay};
use windlass_core::ids::LoopId;

use super::Kind;
use crate::command::Answer;
use crate::engine::{Engine, EngineError, driven};
use crate::journal::JournalError;
use jiff::Timestamp;
use windlass_faults as faults;
use windlass_store::{Append, CatalogueEntry, Create, InboxItem, NewEvent, Store, StoreError};

/// The format that events of groups are written in, as `v` in each of them.
const FORMAT: u64 = 1;

/// A group that this process holds the lease of.
#[derive(Debug)]
pub struct HeldGroup<G> {
    pub state: G,
    /// The last event of its journal.
    pub seq: u64,
    pub(super) token: String,
}

#[derive(Serialize, Deserialize)]
struct Versioned<E> {
    v: u64,
    #[serde(flatten)]
    event: E,
}

fn encode<G: Group>(engine: &Engine, at: Timestamp, event: &G::Event) -> NewEvent {
    let body = serde_json::to_string(&Versioned { v: FORMAT, event });
    let body = body.unwrap_or_else(|error| unreachable!("an event is plain data: {error}"));
    NewEvent { at, kind: G::event_name(event).to_owned(), body: engine.own_secrets().text(&body) }
}

/// A group from its whole journal, with the number of its last event.
pub async fn load_group<G: Group>(store: &dyn Store, id: &GroupId) -> Result<(G, u64), JournalError> {
    const PAGE: usize = 1_000;
    let mut events = Vec::new();
    let mut seq = 0;
    loop {
        let page = store.read(&id.0, seq, PAGE).await?;
        for stored in &page {
            let unreadable = |source| JournalError::Unreadable { id: id.0.clone(), seq: stored.seq, source };
            let read: Versioned<G::Event> = serde_json::from_str(&stored.body).map_err(unreadable)?;
            if read.v != FORMAT {
                return Err(JournalError::OtherFormat { id: id.0.clone(), seq: stored.seq, version: read.v });
            }
            events.push((stored.at, read.event));
            seq = stored.seq;
        }
        if page.len() < PAGE {
            break;
        }
    }
    let state = replay(events).ok_or_else(|| JournalError::NoSuchLoop { id: id.0.clone() })?;
    Ok((state, seq))
}

fn entry<K: Kind>(kind: &K, state: &K::Group) -> CatalogueEntry {
    const LONGEST_GOAL: usize = 200;
    let row = state.row();
    CatalogueEntry {
        id: row.id.0,
        kind: K::Group::KIND.name().to_owned(),
        project: row.project,
        name: row.name,
        goal: row.goal.lines().next().unwrap_or_default().chars().take(LONGEST_GOAL).collect(),
        recipe: String::new(),
        status: row.status.name().to_owned(),
        open: row.status.is_open(),
        iterations: 0,
        max_iterations: None,
        stop_reason: None,
        created_at: row.created_at,
        updated_at: row.updated_at,
        stopped_at: row.stopped_at,
        summary: kind.summary(state),
    }
}

impl Engine {
    /// Creates a group with its first event and holds it.
    pub async fn create_group<K: Kind>(
        &self,
        kind: &K,
        first: &<K::Group as Group>::Event,
    ) -> Result<HeldGroup<K::Group>, EngineError> {
        let now = self.clock.now();
        let state = K::Group::created(now, first).unwrap_or_else(|| unreachable!("a group begins with that"));
        let holder = self.holder()?;
        let token = holder.token.clone();
        let events = vec![encode::<K::Group>(self, now, first)];
        let seq = self.store.create(Create { entry: entry(kind, &state), events, holder: Some(holder) }).await?;
        faults::point("group.created");
        self.hub()?.open_line(&state.row().id.0);
        Ok(HeldGroup { state, seq, token })
    }

    /// Takes the lease of a group that nobody living holds.
    pub async fn take_group<G: Group>(&self, id: &GroupId) -> Result<HeldGroup<G>, EngineError> {
        let holder = self.holder()?;
        let token = holder.token.clone();
        let dead = self.dead_holder(&id.0).await?;
        match self.store.acquire(&id.0, holder, dead.as_deref()).await {
            Ok(()) => {}
            Err(StoreError::Held(other)) => return Err(driven(&other)),
            Err(error) => return Err(error.into()),
        }
        self.hub()?.open_line(&id.0);
        match load_group(self.store.as_ref(), id).await {
            Ok((state, seq)) => Ok(HeldGroup { state, seq, token }),
            Err(error) => {
                self.give_back(&id.0, &token).await;
                Err(error.into())
            }
        }
    }

    pub async fn release_group<G: Group>(&self, held: HeldGroup<G>) -> Result<(), EngineError> {
        let id = held.state.row().id.0;
        let _line = self.hub()?.close_line(&id);
        Ok(self.store.release(&id, &held.token).await?)
    }

    /// Removes a held group with its journal and log. Its loops are not touched.
    pub async fn forget_group<G: Group>(&self, held: HeldGroup<G>) -> Result<(), EngineError> {
        let row = held.state.row();
        let _line = self.hub()?.close_line(&row.id.0);
        self.store.remove(&row.id.0, &held.token).await?;
        // A log that stays is only a log.
        let _ = std::fs::remove_file(self.data.loop_log(&row.name, &LoopId(row.id.0)));
        Ok(())
    }

    /// One input to a group that this process holds: the decision is durable before it is part of the state. Returns
    /// whether anything changed.
    pub async fn apply_group<K: Kind>(
        &self,
        kind: &K,
        held: &mut HeldGroup<K::Group>,
        input: &<K::Group as Group>::Input,
    ) -> Result<bool, EngineError> {
        let now = self.clock.now();
        let events = held.state.decide(input, now)?;
        if events.is_empty() {
            return Ok(false);
        }
        self.append_group(kind, held, now, &events, Vec::new(), Vec::new()).await?;
        Ok(true)
    }

    pub(super) async fn append_group<K: Kind>(
        &self,
        kind: &K,
        held: &mut HeldGroup<K::Group>,
        at: Timestamp,
        events: &[<K::Group as Group>::Event],
        consumed: Vec<String>,
        answers: Vec<(String, Answer)>,
    ) -> Result<(), EngineError> {
        let next = events.iter().fold(held.state.clone(), |state, event| state.evolve(at, event));
        faults::point("group.append.before");
        let head = self
            .store
            .append(Append {
                loop_id: next.row().id.0,
                expected_seq: held.seq,
                events: events.iter().map(|event| encode::<K::Group>(self, at, event)).collect(),
                entry: entry(kind, &next),
                token: held.token.clone(),
                consumed,
                answers: answers.into_iter().map(|(id, answer)| (id, answer.to_json())).collect(),
            })
            .await?;
        faults::point("group.append.after");
        held.seq = head;
        held.state = next;
        Ok(())
    }

    /// What waits in the inbox, each taken exactly once with the events it leads to. Says whether anything was answered.
    pub(super) async fn take_group_commands<K: Kind>(
        &self,
        kind: &K,
        held: &mut HeldGroup<K::Group>,
    ) -> Result<bool, EngineError> {
        let mut answered = false;
        for item in self.store.pending(&held.state.row().id.0).await? {
            let now = self.clock.now();
            let decided = match kind.command(&item.body) {
                Ok(input) => held.state.decide(&input, now).map_err(|refusal| Answer::refused(&refusal)),
                Err(error) => Err(Answer::refused(&error)),
            };
            let (events, answer) = match decided {
                Ok(events) => (events, Answer::Accepted { finding: None }),
                Err(refused) => (Vec::new(), refused),
            };
            answered = true;
            self.append_group(kind, held, now, &events, vec![item.id.clone()], vec![(item.id, answer)]).await?;
        }
        Ok(answered)
    }

    /// Brings a group to rest: waits for its driver, or drives it here if it has none.
    pub async fn settle_group<K: Kind>(self: &Arc<Self>, kind: Arc<K>, id: &GroupId) -> Result<(), EngineError> {
        let (_keep, shutdown) = tokio::sync::watch::channel(false);
        loop {
            match self.take_group::<K::Group>(id).await {
                Ok(held) => return self.drive_group(kind, held, shutdown)?.ended().await.map(drop),
                Err(EngineError::Driven { .. }) => {
                    super::member::others_driver_left(self, &LoopId(id.0.clone()), shutdown.clone()).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until nobody drives the group.
    pub async fn driven_to_rest(
        &self,
        id: &GroupId,
        shutdown: tokio::sync::watch::Receiver<bool>,
    ) -> Result<(), EngineError> {
        while self.store.holder(&id.0).await?.is_some_and(|held| held.drives()) {
            if !super::member::others_driver_left(self, &LoopId(id.0.clone()), shutdown.clone()).await? {
                break;
            }
        }
        Ok(())
    }

    /// Asks the group's driver for something, or does it itself where nobody drives.
    pub async fn command_group<K: Kind>(
        self: &Arc<Self>,
        kind: &K,
        id: &GroupId,
        body: &str,
    ) -> Result<Answer, EngineError> {
        let item = Uuid::now_v7().to_string();
        let body = self.own_secrets().text(body);
        self.store.post(&id.0, InboxItem { id: item.clone(), at: self.clock.now(), body }).await?;
        loop {
            if let Some(lease) = self.store.holder(&id.0).await?.filter(windlass_store::Held::drives)
                && let Ok(mut listening) = self.listen(&lease.holder.seat, &id.0).await
            {
                while listening.news().await {
                    if let Some(answer) = self.answer(&item).await? {
                        return Ok(answer);
                    }
                }
            }
            if let Some(answer) = self.answer(&item).await? {
                return Ok(answer);
            }
            match self.take_group::<K::Group>(id).await {
                Ok(mut held) => {
                    let taken = self.take_group_commands(kind, &mut held).await;
                    self.release_group(held).await?;
                    taken?;
                }
                // It was just starting or leaving.
                Err(EngineError::Driven { .. }) => tokio::time::sleep(super::member::LOOK_AGAIN).await,
                Err(error) => return Err(error),
            }
        }
    }
}
