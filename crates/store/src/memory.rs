//! A store that lives in memory, for tests and for a dry run.
//!
//! Invariant: it answers every sequence of calls as the SQLite store does (`tests/store_equivalence.rs`). Each
//! call checks everything before it changes anything, which is what a transaction gives the other one.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::{
    Append, CatalogueEntry, ChainCheck, Create, Held, Holder, InboxItem, LOOP, Link, ListFilter, Listed, NewEvent,
    Presence, Result, Rows, Seat, Store, StoreError, StoredEvent, nanoseconds,
};
use crate::chain::Linked;

#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In order of creation.
    loops: Vec<Loop>,
    by_id: HashMap<String, usize>,
    by_name: HashMap<(String, String), usize>,
    /// In order of posting.
    inbox: Vec<Posted>,
    by_item: HashMap<String, usize>,
}

#[derive(Debug)]
struct Loop {
    entry: CatalogueEntry,
    events: Vec<StoredEvent>,
    /// Of each event.
    links: Vec<Link>,
    holder: Option<Holder>,
    removed: bool,
}

#[derive(Debug)]
struct Posted {
    at_loop: usize,
    item: InboxItem,
    taken: bool,
    answer: Option<String>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic of another test thread does not make the data wrong: no call panics between two changes.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn index(&self, loop_id: &str) -> Result<usize> {
        self.by_id.get(loop_id).copied().ok_or_else(|| StoreError::UnknownLoop { id: loop_id.to_owned() })
    }

    /// Refuses a step whose inbox items are not in the state it needs them in.
    fn check_inbox(&self, at_loop: usize, step: &Append) -> Result<()> {
        let mut taken = HashSet::new();
        for id in &step.consumed {
            let pending = self.posted(at_loop, id).is_some_and(|posted| !posted.taken);
            if !pending || !taken.insert(id) {
                return Err(StoreError::NotPending { id: id.clone() });
            }
        }
        let mut answered = HashSet::new();
        for (id, _) in &step.answers {
            let open = self
                .posted(at_loop, id)
                .is_some_and(|posted| (posted.taken || taken.contains(id)) && posted.answer.is_none());
            if !open || !answered.insert(id) {
                return Err(StoreError::NotTaken { id: id.clone() });
            }
        }
        Ok(())
    }

    fn posted(&self, at_loop: usize, id: &str) -> Option<&Posted> {
        let posted = &self.inbox[*self.by_item.get(id)?];
        (posted.at_loop == at_loop).then_some(posted)
    }
}

impl Loop {
    fn head(&self) -> u64 {
        self.events.len() as u64
    }

    fn push(&mut self, events: Vec<NewEvent>) {
        for NewEvent { at, kind, body } in events {
            let event = StoredEvent { seq: self.head() + 1, at, kind, body };
            let before = self.links.last().copied().unwrap_or(Link::START);
            self.links.push(before.next(&linked(&event)));
            self.events.push(event);
        }
    }

    fn listed(&self) -> Listed {
        Listed {
            entry: self.entry.clone(),
            head: self.head(),
            holder: self.held(),
            has_workers: false,
            is_parked: false,
        }
    }

    /// The store ends with its process, and so do the processes that hold its leases.
    fn held(&self) -> Option<Held> {
        let holder = self.holder.clone()?;
        let presence = match holder.seat {
            Seat::Process { .. } => Presence::Alive,
            Seat::Worker { .. } => Presence::Unknown,
        };
        Some(Held { holder, presence })
    }
}

/// Times were checked before anything was written.
fn linked(event: &StoredEvent) -> Linked<'_> {
    let at = nanoseconds(event.at).unwrap_or_default();
    Linked { seq: event.seq, at, kind: event.kind.as_bytes(), body: event.body.as_bytes() }
}

fn check_times(entry: &CatalogueEntry, events: &[NewEvent]) -> Result<()> {
    let entry_times = [Some(entry.created_at), Some(entry.updated_at), entry.stopped_at];
    let times = entry_times.into_iter().flatten().chain(events.iter().map(|event| event.at));
    times.into_iter().try_for_each(|at| nanoseconds(at).map(drop))
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, new: Create) -> Result<u64> {
        let mut state = self.state();
        check_times(&new.entry, &new.events)?;
        let Create { entry, events, holder } = new;
        if state.by_id.contains_key(&entry.id) {
            return Err(StoreError::IdTaken { id: entry.id });
        }
        let key = (entry.project.clone(), entry.name.clone());
        if state.by_name.contains_key(&key) {
            return Err(StoreError::NameTaken { name: entry.name });
        }
        let index = state.loops.len();
        state.by_id.insert(entry.id.clone(), index);
        state.by_name.insert(key, index);
        let mut created = Loop { entry, events: Vec::new(), links: Vec::new(), holder, removed: false };
        created.push(events);
        let head = created.head();
        state.loops.push(created);
        Ok(head)
    }

    async fn append(&self, step: Append) -> Result<u64> {
        let mut state = self.state();
        check_times(&step.entry, &step.events)?;
        let index = state.index(&step.loop_id)?;
        let current = &state.loops[index];
        if current.holder.as_ref().is_none_or(|holder| holder.token != step.token) {
            return Err(StoreError::LeaseLost { loop_id: step.loop_id });
        }
        if current.head() != step.expected_seq {
            return Err(StoreError::Conflict { expected: step.expected_seq, found: current.head() });
        }
        state.check_inbox(index, &step)?;

        for id in &step.consumed {
            let item = state.by_item[id];
            state.inbox[item].taken = true;
        }
        for (id, answer) in step.answers {
            let item = state.by_item[&id];
            state.inbox[item].answer = Some(answer);
        }
        let current = &mut state.loops[index];
        let fixed = current.entry.clone();
        current.entry = CatalogueEntry {
            id: fixed.id,
            kind: fixed.kind,
            project: fixed.project,
            name: fixed.name,
            created_at: fixed.created_at,
            ..step.entry
        };
        current.push(step.events);
        Ok(current.head())
    }

    async fn read(&self, loop_id: &str, after_seq: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        let state = self.state();
        let Some(&index) = state.by_id.get(loop_id) else {
            return Ok(Vec::new());
        };
        let after = usize::try_from(after_seq).unwrap_or(usize::MAX);
        Ok(state.loops[index].events.iter().skip(after).take(limit).cloned().collect())
    }

    async fn check_chain(&self, loop_id: &str, until: u64) -> Result<ChainCheck> {
        let state = self.state();
        let found = &state.loops[state.index(loop_id)?];
        let mut check = ChainCheck::start();
        for (event, link) in found.events.iter().zip(&found.links).take_while(|(event, _)| event.seq <= until) {
            if !check.follow(&linked(event), Some(*link)) {
                break;
            }
        }
        Ok(check.ends_at(found.head().min(until)))
    }

    async fn get(&self, loop_id: &str) -> Result<Option<Listed>> {
        let state = self.state();
        Ok(state.by_id.get(loop_id).map(|&index| state.loops[index].listed()))
    }

    async fn find(&self, project: &str, name: &str) -> Result<Option<Listed>> {
        let state = self.state();
        let index = state.by_name.get(&(project.to_owned(), name.to_owned()));
        Ok(index.map(|&index| state.loops[index].listed()))
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>> {
        let state = self.state();
        let mut found: Vec<&Loop> = state
            .loops
            .iter()
            .rev()
            .filter(|row| !row.removed)
            .filter(|row| match filter.rows {
                Rows::Loops => row.entry.kind == LOOP,
                Rows::Groups => row.entry.kind != LOOP,
                Rows::All => true,
            })
            .filter(|row| filter.project.as_ref().is_none_or(|project| row.entry.project == *project))
            .filter(|row| row.entry.open || !filter.open_only)
            .filter(|row| filter.ids.as_ref().is_none_or(|ids| ids.contains(&row.entry.id)))
            .collect();
        // Stable, so loops of the same moment keep the order of creation, last first.
        found.sort_by_key(|row| std::cmp::Reverse(row.entry.created_at));
        let mut listed: Vec<Listed> =
            found.into_iter().take(filter.limit.unwrap_or(usize::MAX)).map(Loop::listed).collect();
        if !filter.summaries {
            listed.iter_mut().for_each(|row| row.entry.summary.clear());
        }
        Ok(listed)
    }

    async fn acquire(&self, loop_id: &str, holder: Holder, replacing: Option<&str>) -> Result<()> {
        let mut state = self.state();
        let index = state.index(loop_id)?;
        let lease = &mut state.loops[index].holder;
        if let Some(current) = lease
            && current.token != holder.token
            && replacing != Some(current.token.as_str())
        {
            return Err(StoreError::Held(Box::new(current.clone())));
        }
        *lease = Some(holder);
        Ok(())
    }

    async fn remove(&self, loop_id: &str, token: &str) -> Result<()> {
        let mut state = self.state();
        let index = state.index(loop_id)?;
        if state.loops[index].holder.as_ref().is_none_or(|holder| holder.token != token) {
            return Err(StoreError::LeaseLost { loop_id: loop_id.to_owned() });
        }
        let State { loops, by_id, by_name, inbox, by_item } = &mut *state;
        by_id.retain(|_, at| *at != index);
        by_name.retain(|_, at| *at != index);
        by_item.retain(|_, position| inbox[*position].at_loop != index);
        // Its place stays, because the others are known by theirs.
        loops[index].removed = true;
        Ok(())
    }

    async fn release(&self, loop_id: &str, token: &str) -> Result<()> {
        let mut state = self.state();
        let index = state.index(loop_id)?;
        state.loops[index].holder.take_if(|holder| holder.token == token);
        Ok(())
    }

    async fn holder(&self, loop_id: &str) -> Result<Option<Held>> {
        let state = self.state();
        Ok(state.by_id.get(loop_id).and_then(|&index| state.loops[index].held()))
    }

    async fn post(&self, loop_id: &str, item: InboxItem) -> Result<()> {
        let mut state = self.state();
        nanoseconds(item.at)?;
        let at_loop = state.index(loop_id)?;
        if !state.by_item.contains_key(&item.id) {
            let position = state.inbox.len();
            state.by_item.insert(item.id.clone(), position);
            state.inbox.push(Posted { at_loop, item, taken: false, answer: None });
        }
        Ok(())
    }

    async fn pending(&self, loop_id: &str) -> Result<Vec<InboxItem>> {
        let state = self.state();
        let Some(&index) = state.by_id.get(loop_id) else {
            return Ok(Vec::new());
        };
        let waiting = state.inbox.iter().filter(|posted| posted.at_loop == index && !posted.taken);
        Ok(waiting.map(|posted| posted.item.clone()).collect())
    }

    async fn answer(&self, item_id: &str) -> Result<Option<Option<String>>> {
        let state = self.state();
        Ok(state.by_item.get(item_id).map(|&position| state.inbox[position].answer.clone()))
    }
}
