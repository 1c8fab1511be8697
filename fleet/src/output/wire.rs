//! What the database tells this process, heard on one connection for all who wait.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use windlass_core::ids::{LoopId, TurnKey};
use windlass_store::Result;

use super::Replica;
use crate::store::{INBOX, LEASE, NEWS, OUTPUT, PgStore, WORK};

/// After a connection that was lost.
const PAUSE: Duration = Duration::from_millis(500);
/// Nobody tells of a worker that died.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Wire {
    loops: Mutex<HashMap<String, watch::Sender<u64>>>,
    any: watch::Sender<u64>,
    replica: Arc<Replica>,
    /// Turns with output that is on its way here.
    coming: Mutex<HashSet<(String, TurnKey)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    pub(crate) async fn open(store: &PgStore, replica: Arc<Replica>) -> Result<Arc<Self>> {
        let wire =
            Arc::new(Self { loops: Mutex::default(), any: watch::Sender::new(0), replica, coming: Mutex::default() });
        let mut listener = store.listener(&[NEWS, OUTPUT, LEASE, WORK, INBOX]).await?;
        let this = Arc::clone(&wire);
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            loop {
                tokio::select! {
                    heard = listener.try_recv() => match heard {
                        Ok(Some(heard)) if heard.channel() == OUTPUT => this.bring(heard.payload()),
                        Ok(Some(heard)) => this.tell(heard.payload()),
                        // Connected again: whatever was said meanwhile is lost.
                        Ok(None) => this.tell_all(),
                        Err(error) => {
                            tracing::warn!(%error, "the database is away");
                            tokio::time::sleep(PAUSE).await;
                        }
                    },
                    _ = look.tick() => this.any.send_modify(|count| *count += 1),
                }
            }
        });
        Ok(wire)
    }

    /// Changes when any loop may have changed.
    pub(crate) fn any(&self) -> watch::Receiver<u64> {
        self.any.subscribe()
    }

    /// Changes when this loop has changed, or wrote more that is here.
    pub(crate) fn of(&self, loop_id: &str) -> watch::Receiver<u64> {
        locked(&self.loops).entry(loop_id.to_owned()).or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    fn tell(&self, loop_id: &str) {
        let mut loops = locked(&self.loops);
        if let Some(told) = loops.get(loop_id) {
            told.send_modify(|count| *count += 1);
            if told.is_closed() {
                loops.remove(loop_id);
            }
        }
        self.any.send_modify(|count| *count += 1);
    }

    fn tell_all(&self) {
        let mut loops = locked(&self.loops);
        loops.retain(|_, told| !told.is_closed());
        loops.values().for_each(|told| told.send_modify(|count| *count += 1));
        self.any.send_modify(|count| *count += 1);
    }

    /// Copies what a turn wrote before anybody is told of it.
    fn bring(self: &Arc<Self>, said: &str) {
        let Some((id, turn)) = said.split_once(' ') else { return };
        let Ok(turn) = turn.parse::<TurnKey>() else { return };
        let key = (id.to_owned(), turn);
        // One that waits to be copied is copied with it.
        if !locked(&self.coming).insert(key.clone()) {
            return;
        }
        let this = Arc::clone(self);
        tokio::spawn(async move {
            locked(&this.coming).remove(&key);
            if let Err(error) = this.replica.fetch(&LoopId(key.0.clone()), turn).await {
                tracing::warn!(loop_id = key.0, %turn, %error, "cannot copy the output");
            }
            this.tell(&key.0);
        });
    }
}
