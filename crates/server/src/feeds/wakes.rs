//! Waits for changes of a loop: all subscribers share one connection to its driver.
//!
//! Invariant: after anything was written, of the loop's journal or of its output, every waiter wakes. Nothing else is
//! said; each continues at its own pace, on the tape of those who read the loop together.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use windlass_core::ids::LoopId;
use windlass_engine::engine::Engine;
use windlass_engine::feed::News;

use super::tape::Tape;

type Lines = Arc<Mutex<HashMap<String, Line>>>;

/// What those who wait for one loop share.
#[derive(Debug)]
struct Line {
    news: Arc<watch::Sender<u64>>,
    tape: Arc<Tape>,
}

#[derive(Debug)]
pub(crate) struct Wakes {
    engine: Arc<Engine>,
    changes: watch::Receiver<u64>,
    lines: Lines,
    /// Total bytes of all tapes.
    held: Arc<AtomicUsize>,
}

impl Wakes {
    pub(crate) fn new(engine: Arc<Engine>, changes: watch::Receiver<u64>) -> Self {
        Self { engine, changes, lines: Lines::default(), held: Arc::default() }
    }

    /// Changes whenever there may be something new of this loop; and what its subscribers read together.
    pub(crate) fn of(&self, id: &LoopId) -> (watch::Receiver<u64>, Arc<Tape>) {
        let mut lines = self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(line) = lines.get(&id.0) {
            return (line.news.subscribe(), Arc::clone(&line.tape));
        }
        let news = Arc::new(watch::Sender::new(0));
        let receiver = news.subscribe();
        let tape = Arc::new(Tape::new(Arc::clone(&self.held)));
        lines.insert(id.0.clone(), Line { news: Arc::clone(&news), tape: Arc::clone(&tape) });
        let waiting = Waiting {
            engine: Arc::clone(&self.engine),
            changes: self.changes.clone(),
            lines: Arc::clone(&self.lines),
            id: id.clone(),
            line: news,
        };
        tokio::spawn(waiting.run());
        (receiver, tape)
    }
}

struct Waiting {
    engine: Arc<Engine>,
    changes: watch::Receiver<u64>,
    lines: Lines,
    id: LoopId,
    line: Arc<watch::Sender<u64>>,
}

impl Waiting {
    async fn run(mut self) {
        let mut news = News::None;
        loop {
            if let News::None = news {
                // Looked at after the mark, so that a driver that comes between the two is not missed.
                self.changes.mark_unchanged();
                news = News::of(&self.engine, &self.id).await.unwrap_or(News::None);
                self.tell();
            }
            tokio::select! {
                more = news.wait(), if !matches!(news, News::None) => {
                    if !more {
                        news = News::None;
                    }
                    self.tell();
                }
                changed = self.changes.changed(), if matches!(news, News::None) => {
                    if changed.is_err() {
                        break;
                    }
                }
                () = self.line.closed() => {
                    let mut lines = self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    // Somebody may have come just now.
                    if self.line.is_closed() {
                        lines.remove(&self.id.0);
                        return;
                    }
                }
            }
        }
        let mut lines = self.lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        lines.remove(&self.id.0);
    }

    fn tell(&self) {
        self.line.send_modify(|count| *count = count.wrapping_add(1));
    }
}
