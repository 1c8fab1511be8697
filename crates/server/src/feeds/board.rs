//! All loops and groups at a glance, kept up to date: whenever one has changed it is sent again.
//!
//! Invariant: a subscriber gets the latest of every loop that changed since its last id; what changes often meanwhile
//! is sent once. Nothing is queued for a subscriber: the board remembers which change was a loop's last, and that is all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use windlass_engine::engine::{Engine, status_word};
use windlass_engine::feed::LastWords;
use windlass_store::{LOOP, ListFilter, Listed, Rows};

use windlass_app::last_words;

/// The catalogue is checked so often at most.
const CALM: Duration = Duration::from_millis(100);
/// How lively a loop is, is checked so often where somebody wants to see it.
const PULSE: Duration = Duration::from_secs(5);
/// What an agent said last is read so often at most, however much it says.
const SPEECH: Duration = Duration::from_secs(1);

/// The last known state of a loop, as far as needed to detect changes.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    head: u64,
    driver: Option<String>,
    word: String,
    output: u64,
    words: Option<String>,
}

/// What the agent of a running loop said last, read once for all who watch.
#[derive(Debug)]
struct Speech {
    known: LastWords,
    words: Option<String>,
    /// How the loop was when it was read, and when.
    at: (u64, u64),
    read: Instant,
}

#[derive(Debug, Default)]
struct Marks {
    /// The number of the last change, and of each loop's.
    last: u64,
    loops: HashMap<String, (u64, Seen)>,
}

#[derive(Debug)]
pub(crate) struct Board {
    /// Tells ids of this server from those of an earlier one.
    pub(crate) boot: String,
    marks: Arc<Mutex<Marks>>,
    pub(crate) news: watch::Receiver<u64>,
}

impl Board {
    pub(crate) fn new(engine: Arc<Engine>, changes: watch::Receiver<u64>, shutdown: watch::Receiver<bool>) -> Self {
        let marks = Arc::new(Mutex::new(Marks::default()));
        let (tell, news) = watch::channel(0);
        let boot = format!("{:x}", engine.clock.now().as_millisecond());
        tokio::spawn(keep(engine, Arc::clone(&marks), tell, changes, shutdown));
        Self { boot, marks, news }
    }

    /// The loops that changed after this, in the order of their changes.
    pub(crate) fn changed_since(&self, after: u64) -> Vec<(u64, String)> {
        let marks = self.marks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut changed: Vec<_> =
            marks.loops.iter().filter(|(_, (at, _))| *at > after).map(|(id, (at, _))| (*at, id.clone())).collect();
        changed.sort_unstable();
        changed
    }

    pub(crate) fn last(&self) -> u64 {
        self.marks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).last
    }

    pub(crate) fn words(&self, id: &str) -> Option<String> {
        let marks = self.marks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        marks.loops.get(id).and_then(|(_, seen)| seen.words.clone())
    }

    pub(crate) fn place(&self, said: Option<&str>) -> Option<u64> {
        let (boot, number) = said?.split_once('-')?;
        (boot == self.boot).then(|| number.parse().ok())?
    }
}

async fn keep(
    engine: Arc<Engine>,
    marks: Arc<Mutex<Marks>>,
    tell: watch::Sender<u64>,
    mut changes: watch::Receiver<u64>,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut speeches = HashMap::new();
    loop {
        changes.mark_unchanged();
        // Without viewers, what loops say and how lively they are is not needed.
        let watched = tell.receiver_count() > 1;
        let looked = engine.store.list(ListFilter { rows: Rows::All, ..ListFilter::default() }).await;
        match looked {
            Ok(listed) => {
                let seen = see(&engine, &listed, &mut speeches, watched).await;
                if let Some(last) = note(&marks, seen) {
                    tell.send_replace(last);
                }
            }
            Err(error) => tracing::warn!(%error, "cannot read the catalogue"),
        }
        pause(CALM, &mut shutdown).await;
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(PULSE), if tell.receiver_count() > 1 => {}
            _ = shutdown.wait_for(|leave| *leave) => return,
        }
    }
}

async fn pause(time: Duration, shutdown: &mut watch::Receiver<bool>) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        _ = shutdown.wait_for(|leave| *leave) => {}
    }
}

/// Notes what changed; the new last number if anything did.
fn note(marks: &Mutex<Marks>, seen: Vec<(String, Seen)>) -> Option<u64> {
    let mut marks = marks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = marks.last;
    for (id, seen) in seen {
        if marks.loops.get(&id).is_none_or(|(_, known)| *known != seen) {
            marks.last += 1;
            let at = marks.last;
            marks.loops.insert(id, (at, seen));
        }
    }
    (marks.last > before).then_some(marks.last)
}

async fn see(
    engine: &Engine,
    listed: &[Listed],
    speeches: &mut HashMap<String, Speech>,
    watched: bool,
) -> Vec<(String, Seen)> {
    let mut all = Vec::with_capacity(listed.len());
    for one in listed {
        let id = one.entry.id.clone();
        let running = one.entry.kind == LOOP && one.entry.status == "running";
        let output = if running { windlass_engine::activity::written(&engine.data, &id) } else { 0 };
        let words = match running {
            true => spoken(engine, one, output, speeches, watched).await,
            false => speeches.remove(&id).and(None),
        };
        let driver = one.holder.as_ref().map(|held| held.holder.token.clone());
        all.push((id, Seen { head: one.head, driver, word: status_word(one).to_owned(), output, words }));
    }
    all
}

async fn spoken(
    engine: &Engine,
    listed: &Listed,
    output: u64,
    speeches: &mut HashMap<String, Speech>,
    watched: bool,
) -> Option<String> {
    let at = (listed.head, output);
    let known = speeches.remove(&listed.entry.id);
    let speech = match known {
        Some(known) if !watched || known.at == at || known.read.elapsed() < SPEECH => known,
        None if !watched => return None,
        known => {
            let mut known = known.map(|speech| speech.known).unwrap_or_default();
            let words = last_words(engine, listed, &mut known).await;
            Speech { known, words, at, read: Instant::now() }
        }
    };
    let words = speech.words.clone();
    speeches.insert(listed.entry.id.clone(), speech);
    words
}
