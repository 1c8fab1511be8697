//! Work on many files, off the async threads. It ends early when nobody waits for it.
//!
//! A walk over millions of files cannot be cancelled from outside, so it asks: everything here that loops over files that an
//! agent or a gate made calls [`still_wanted`]. Invariant: when the future of [`blocking`] is dropped, its work ends with the
//! next file.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::sync::{Arc, Weak};

thread_local! {
    /// Lives as long as somebody waits for what this thread does.
    static WAITED_FOR: RefCell<Option<Weak<()>>> = const { RefCell::new(None) };
}

/// Does it on a thread of its own. Dropping the future ends the work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    blocking_until(std::future::pending(), work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The same; once `enough` is ready, the work ends early and says what it has.
pub async fn blocking_until<T: Send + 'static>(
    enough: impl Future<Output = ()>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, tokio::task::JoinError> {
    let waits = Arc::new(());
    let waited_for = Arc::downgrade(&waits);
    let mut working = tokio::task::spawn_blocking(move || {
        WAITED_FOR.set(Some(waited_for));
        let done = work();
        WAITED_FOR.set(None);
        done
    });
    tokio::select! {
        done = &mut working => return done,
        () = enough => drop(waits),
    }
    working.await
}

/// Who waits for what a thread does, to be told to threads that help it.
pub(crate) struct Wanted(Option<Weak<()>>);

impl Wanted {
    /// As for this thread.
    pub(crate) fn here() -> Self {
        Self(WAITED_FOR.with_borrow(Clone::clone))
    }

    /// Does it on a new thread that ends with the one it helps.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        WAITED_FOR.set(self.0.clone());
        work()
    }
}

/// Fails once nobody waits for the work of this thread.
pub(crate) fn still_wanted() -> io::Result<()> {
    let gone = WAITED_FOR.with_borrow(|waits| waits.as_ref().is_some_and(|waits| waits.strong_count() == 0));
    if gone { Err(io::Error::other("it was stopped before it was done")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    /// Loops until it is told that nobody waits.
    fn endless(started: &mpsc::Sender<()>, ended: &mpsc::Sender<()>) -> io::Result<()> {
        let _ = started.send(());
        while still_wanted().is_ok() {
            std::thread::yield_now();
        }
        let _ = ended.send(());
        still_wanted()
    }

    #[tokio::test]
    async fn work_ends_when_its_future_is_dropped() {
        let ((started, has_started), (ended, has_ended)) = (mpsc::channel(), mpsc::channel());
        let working = tokio::spawn(blocking(move || endless(&started, &ended)));
        tokio::task::spawn_blocking(move || has_started.recv()).await.unwrap().unwrap();
        working.abort();
        tokio::task::spawn_blocking(move || has_ended.recv()).await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn work_ends_early_when_it_was_enough_and_other_work_does_not() {
        let (started, _) = mpsc::channel();
        let (ended, _) = mpsc::channel();
        assert!(blocking_until(async {}, move || endless(&started, &ended)).await.unwrap().is_err());
        assert_eq!(blocking(|| still_wanted().map(|()| 7)).await.unwrap(), 7);
    }
}
