//! How many may be connected, and who leaves when it is full.
//!
//! Invariant: if a new connection needs a slot, the server closes the oldest connection without a complete request.
//! So clients that never end their request cannot keep others out; who was answered stays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

#[derive(Debug)]
pub(crate) struct Room {
    places: Arc<Semaphore>,
    silent: Arc<Silent>,
    came: u64,
}

/// Those who have not sent a whole request yet, in the order in which they came.
#[derive(Debug, Default)]
struct Silent(Mutex<BTreeMap<u64, Arc<Notify>>>);

impl Silent {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    pub(crate) fn new(most: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(most)), silent: Arc::default(), came: 0 }
    }

    /// A slot; `None` if every open connection has sent a request.
    pub(crate) async fn enter(&mut self) -> Option<Guest> {
        let place = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                let (_, longest) = self.silent.all().pop_first()?;
                longest.notify_one();
                Arc::clone(&self.places).acquire_owned().await.ok()?
            }
        };
        self.came += 1;
        let leave = Arc::new(Notify::new());
        self.silent.all().insert(self.came, Arc::clone(&leave));
        Some(Guest { number: self.came, silent: Arc::clone(&self.silent), leave, _place: place })
    }
}

#[derive(Debug)]
pub(crate) struct Guest {
    number: u64,
    silent: Arc<Silent>,
    leave: Arc<Notify>,
    _place: OwnedSemaphorePermit,
}

impl Guest {
    pub(crate) async fn asked_to_leave(&self) {
        self.leave.notified().await;
    }

    /// The service, which notes that this one has spoken.
    pub(crate) fn serves<S>(&self, service: S) -> Greeted<S> {
        Greeted { service, number: self.number, silent: Arc::clone(&self.silent) }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.silent.all().remove(&self.number);
    }
}

#[derive(Debug)]
pub(crate) struct Greeted<S> {
    service: S,
    number: u64,
    silent: Arc<Silent>,
}

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for Greeted<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.silent.all().remove(&self.number);
        self.service.call(request)
    }
}
