//! Time for the shell around the machine. Tests move it by hand.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::watch;

#[async_trait]
pub trait Clock: fmt::Debug + Send + Sync {
    fn now(&self) -> Timestamp;
    /// Returns once `now` is at or past `at`.
    async fn sleep_until(&self, at: Timestamp);
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn sleep_until(&self, at: Timestamp) {
        // The wall clock may be set, and sleeps with the machine: look again at least every minute.
        const LONGEST_NAP_MS: u64 = 60_000;
        loop {
            let left = at.as_millisecond() - self.now().as_millisecond();
            let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) else { return };
            tokio::time::sleep(std::time::Duration::from_millis(left.min(LONGEST_NAP_MS))).await;
        }
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub struct ManualClock {
    now: Arc<watch::Sender<Timestamp>>,
}

impl ManualClock {
    pub fn at(now: Timestamp) -> Self {
        Self { now: Arc::new(watch::Sender::new(now)) }
    }

    pub fn advance_ms(&self, ms: i64) {
        self.now.send_modify(|now| *now += jiff::SignedDuration::from_millis(ms));
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    async fn sleep_until(&self, at: Timestamp) {
        let mut watching = self.now.subscribe();
        // The sender lives as long as `self`, so this only ends when the time has come.
        let _ = watching.wait_for(|now| *now >= at).await;
    }
}
