//! The memory store as one simulated process reaches it: slow, failing, and cut off at any moment.
//!
//! Without faults it keeps to the store contract (`tests/contract.rs`).

use std::sync::Arc;

use async_trait::async_trait;
use windlass_store::{
    Append, ChainCheck, Create, Held, Holder, InboxItem, ListFilter, Listed, MemoryStore, Presence, Result, Seat,
    Store, StoreError, StoredEvent,
};

use crate::dice::{Bug, Fault, Stream};
use crate::invariants;
use crate::world::{Life, World};

#[derive(Debug)]
pub struct SimStore {
    pub world: Arc<World>,
    pub memory: Arc<MemoryStore>,
    pub process: u64,
}

fn disk(what: &str) -> StoreError {
    StoreError::Database { what: what.to_owned(), source: None }
}

impl SimStore {
    fn whom(&self, id: &str) -> String {
        format!("p{}, {id}", self.process)
    }

    async fn reach(&self, id: &str) {
        self.world.pass(self.process).await;
        if self.world.fault(Fault::SlowStore, 60, &self.whom(id)) {
            let ms = self.world.lock().dice.throw(Stream::Time, 20_000);
            tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            self.world.pass(self.process).await;
        }
    }

    /// What this process can know of a holder: all of its own machine, nothing of another.
    fn presence(&self, mut held: Held) -> Held {
        let Seat::Worker { id, .. } = &held.holder.seat else { return held };
        let number = id.parse().unwrap_or_default();
        let machine = |process: u64| self.world.lock().processes.get(&process).map(|process| process.machine);
        held.presence = match (machine(self.process) == machine(number), self.world.life(number)) {
            (true, Life::Dead) => Presence::Gone,
            (true, Life::Running | Life::Frozen) => Presence::Alive,
            (false, _) => Presence::Unknown,
        };
        held
    }

    fn seen(&self, mut listed: Listed) -> Listed {
        listed.holder = listed.holder.map(|held| self.presence(held));
        listed
    }

    /// A defect of a store, if a test planted one.
    async fn spoil(&self, mut step: Append) -> Result<(Append, bool)> {
        let mut writes = true;
        match self.world.lock().dice.planted() {
            Some(Bug::DropEvent) if step.events.iter().any(|event| event.kind == "checkpointed") => writes = false,
            Some(Bug::AppendTwice) if step.events.iter().any(|event| event.kind == "turn_ended") => {
                let again = step.events.clone();
                step.events.extend(again);
            }
            Some(Bug::ChangeEvent) => {
                for event in &mut step.events {
                    event.body = event.body.replace("\"claim\":true", "\"claim\":false");
                }
            }
            _ => {}
        }
        if self.world.lock().dice.planted() == Some(Bug::NoFence)
            && let Some(now) = self.memory.get(&step.loop_id).await?
            && let Some(held) = now.holder
        {
            step.token = held.holder.token;
            step.expected_seq = now.head;
        }
        Ok((step, writes))
    }
}

#[async_trait]
impl Store for SimStore {
    async fn create(&self, new: Create) -> Result<u64> {
        self.reach(&new.entry.id).await;
        let head = self.memory.create(new.clone()).await?;
        invariants::created(&self.world, self.process, &new);
        self.world.changed();
        Ok(head)
    }

    async fn append(&self, step: Append) -> Result<u64> {
        let id = step.loop_id.clone();
        let whom = self.whom(&id);
        self.reach(&id).await;
        if self.world.fault(Fault::KillBeforeAppend, 150, &whom) {
            self.world.die(self.process).await;
        }
        if self.world.fault(Fault::FailedAppend, 200, &whom) {
            return Err(disk("the disk is full"));
        }
        let (spoilt, writes) = self.spoil(step.clone()).await?;
        let head =
            if writes { self.memory.append(spoilt).await? } else { step.expected_seq + step.events.len() as u64 };
        let now = self.memory.read(&id, step.expected_seq, usize::MAX).await?;
        invariants::appended(&self.world, self.process, &step, &now);
        self.world.changed();
        if self.world.fault(Fault::KillAfterAppend, 150, &whom) {
            self.world.die(self.process).await;
        }
        if self.world.fault(Fault::LostAnswer, 200, &whom) {
            return Err(disk("the answer to a commit is lost"));
        }
        Ok(head)
    }

    async fn read(&self, loop_id: &str, after_seq: u64, limit: usize) -> Result<Vec<StoredEvent>> {
        self.reach(loop_id).await;
        let broken = {
            let mut world = self.world.lock();
            let broken = world.reads_to_fail > 0;
            world.reads_to_fail = world.reads_to_fail.saturating_sub(1);
            broken
        };
        if broken || self.world.fault(Fault::FailedRead, 200, &self.whom(loop_id)) {
            return Err(disk("cannot read the database"));
        }
        let mut events = self.memory.read(loop_id, after_seq, limit).await?;
        if self.world.lock().dice.planted() == Some(Bug::IgnoreLimit) {
            for event in &mut events {
                let limits = "\"limits\":{\"max_iterations\":";
                let number =
                    |at: &usize| event.body[at + limits.len()..].starts_with(|next: char| next.is_ascii_digit());
                if let Some(at) = event.body.find(limits).filter(number) {
                    event.body.insert(at + limits.len(), '9');
                }
            }
        }
        Ok(events)
    }

    async fn check_chain(&self, loop_id: &str, until: u64) -> Result<ChainCheck> {
        self.reach(loop_id).await;
        self.memory.check_chain(loop_id, until).await
    }

    async fn get(&self, loop_id: &str) -> Result<Option<Listed>> {
        self.reach(loop_id).await;
        Ok(self.memory.get(loop_id).await?.map(|listed| self.seen(listed)))
    }

    async fn find(&self, project: &str, name: &str) -> Result<Option<Listed>> {
        self.reach(name).await;
        Ok(self.memory.find(project, name).await?.map(|listed| self.seen(listed)))
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>> {
        self.reach("list").await;
        Ok(self.memory.list(filter).await?.into_iter().map(|listed| self.seen(listed)).collect())
    }

    async fn acquire(&self, loop_id: &str, holder: Holder, replacing: Option<&str>) -> Result<()> {
        self.reach(loop_id).await;
        let token = holder.token.clone();
        self.memory.acquire(loop_id, holder, replacing).await?;
        self.world.tell(|| format!("p{} holds {loop_id}", self.process));
        self.world.lock().leases.insert(loop_id.to_owned(), (self.process, token));
        Ok(())
    }

    async fn remove(&self, loop_id: &str, token: &str) -> Result<()> {
        self.reach(loop_id).await;
        self.memory.remove(loop_id, token).await
    }

    async fn release(&self, loop_id: &str, token: &str) -> Result<()> {
        self.reach(loop_id).await;
        self.memory.release(loop_id, token).await?;
        let mut world = self.world.lock();
        if world.leases.get(loop_id).is_some_and(|(_, held)| held == token) {
            world.leases.remove(loop_id);
        }
        drop(world);
        self.world.changed();
        Ok(())
    }

    async fn holder(&self, loop_id: &str) -> Result<Option<Held>> {
        self.reach(loop_id).await;
        Ok(self.memory.holder(loop_id).await?.map(|held| self.presence(held)))
    }

    async fn post(&self, loop_id: &str, item: InboxItem) -> Result<()> {
        self.reach(loop_id).await;
        self.memory.post(loop_id, item).await?;
        self.world.changed();
        Ok(())
    }

    async fn pending(&self, loop_id: &str) -> Result<Vec<InboxItem>> {
        self.reach(loop_id).await;
        let mut items = self.memory.pending(loop_id).await?;
        let deaf = {
            let world = self.world.lock();
            world.dice.planted() == Some(Bug::DeafToStop) && world.dice.calm
        };
        // Only what a user says: a group would ask again and again.
        if deaf && loop_id.starts_with("loop") {
            items.retain(|item| !item.body.contains("\"stop\""));
        }
        Ok(items)
    }

    async fn answer(&self, item_id: &str) -> Result<Option<Option<String>>> {
        self.reach("answer").await;
        self.memory.answer(item_id).await
    }
}
