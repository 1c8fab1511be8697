//! What the subscribers of one loop share: each part of its feed is read and encoded once, for all who are there.
//!
//! Invariants: a part is under the standing it starts at, and points to another; who is at a standing either finds the
//! part, or is the only one who reads it. What lies here is a saving and nothing else: it is bounded, and who comes too
//! late for it reads the files himself.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::watch;
use windlass_core::ids::LoopId;
use windlass_engine::engine::{Engine, EngineError};
use windlass_engine::feed::{Cursor, FeedReader, Standing};

/// So much is handed to a connection at once.
const AT_ONCE: usize = 32 * 1024;
/// So much is kept for those who are a little behind: of one loop, and of all.
const MOST: usize = 4 * 1024 * 1024;
const MOST_OF_ALL: usize = 64 * 1024 * 1024;

/// The next part of a feed as server-sent events; shorter, or nothing, if there is no more yet.
pub(crate) async fn encode(reader: &mut FeedReader, text: &mut Vec<u8>) -> Result<Reached, EngineError> {
    use std::io::Write;
    while text.len() < AT_ONCE || reader.in_a_piece() {
        let Some(item) = reader.next().await? else { return Ok(Reached::End) };
        let _ = write!(text, "id: {}\ndata: ", reader.cursor());
        let _ = serde_json::to_writer(&mut *text, &item);
        text.extend_from_slice(b"\n\n");
    }
    Ok(Reached::More)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    More,
    End,
}

/// The position of a subscriber.
#[derive(Debug, Clone, Copy)]
struct Spot {
    standing: Standing,
    /// The full text, for clients that must re-read from disk.
    cursor: Cursor,
}

#[derive(Debug, Clone)]
struct Part {
    bytes: Bytes,
    to: Spot,
}

/// What there is at a standing.
#[derive(Debug)]
enum Slot {
    /// A reader that waits at this position, and the last wake-up that it has checked.
    Reader {
        reader: Box<FeedReader>,
        seen: Option<u64>,
    },
    /// Somebody reads; the channel closes when he is done.
    Busy(watch::Receiver<()>),
    Part {
        part: Part,
        taken: usize,
    },
}

#[derive(Debug, Default)]
pub(crate) struct Tape {
    slots: Mutex<Slots>,
    /// Total bytes of the tapes of all loops.
    all: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Slots {
    at: HashMap<Standing, Slot>,
    /// The standings that have a part, or a reader, the oldest first.
    parts: VecDeque<Standing>,
    readers: VecDeque<Standing>,
    held: usize,
    riders: usize,
}

impl Tape {
    pub(crate) fn new(all: Arc<AtomicUsize>) -> Self {
        Self { slots: Mutex::default(), all }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(self: &Arc<Self>, standing: Standing, news: Option<u64>) -> Look {
        let mut slots = self.slots();
        let riders = slots.riders;
        let reader = match slots.at.get_mut(&standing) {
            Some(Slot::Part { part, taken }) => {
                let part = part.clone();
                *taken += 1;
                if *taken >= riders {
                    self.drop_part(&mut slots, standing);
                }
                return Look::Part(part);
            }
            Some(Slot::Busy(done)) => return Look::Wait(done.clone()),
            Some(Slot::Reader { seen, .. }) if news.is_some() && *seen >= news => return Look::Nothing,
            Some(Slot::Reader { .. }) | None => slots.take_reader(standing),
        };
        let (busy, done) = watch::channel(());
        slots.at.insert(standing, Slot::Busy(done));
        Look::Read(Reading { tape: Arc::clone(self), standing, reader, _busy: busy })
    }

    /// Leaves a reader for the next subscriber, unless there is one.
    fn park(&self, reader: Box<FeedReader>, seen: Option<u64>) {
        let Some(standing) = reader.standing() else { return };
        let mut slots = self.slots();
        if slots.at.contains_key(&standing) {
            return;
        }
        slots.at.insert(standing, Slot::Reader { reader, seen });
        slots.readers.push_back(standing);
        // Those whose subscriber has gone stay behind.
        while slots.readers.len() > slots.riders.max(1)
            && let Some(oldest) = slots.readers.front().copied()
        {
            slots.take_reader(oldest);
        }
    }

    fn keep_part(&self, standing: Standing, part: Part) {
        let mut slots = self.slots();
        slots.at.remove(&standing);
        if slots.riders < 2 {
            return;
        }
        slots.held += part.bytes.len();
        self.all.fetch_add(part.bytes.len(), Ordering::Relaxed);
        slots.at.insert(standing, Slot::Part { part, taken: 1 });
        slots.parts.push_back(standing);
        let most = if self.all.load(Ordering::Relaxed) > MOST_OF_ALL { 0 } else { MOST };
        while slots.held > most
            && let Some(oldest) = slots.parts.front().copied()
        {
            self.drop_part(&mut slots, oldest);
        }
    }

    fn drop_part(&self, slots: &mut Slots, standing: Standing) {
        forget(&mut slots.parts, standing);
        if let Some(Slot::Part { part, .. }) = slots.at.remove(&standing) {
            slots.held -= part.bytes.len();
            self.all.fetch_sub(part.bytes.len(), Ordering::Relaxed);
        }
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.all.fetch_sub(self.slots().held, Ordering::Relaxed);
    }
}

impl Slots {
    fn take_reader(&mut self, standing: Standing) -> Option<Box<FeedReader>> {
        forget(&mut self.readers, standing);
        match self.at.remove(&standing) {
            Some(Slot::Reader { reader, .. }) => Some(reader),
            _ => None,
        }
    }
}

/// Nearly always it is the oldest.
fn forget(order: &mut VecDeque<Standing>, standing: Standing) {
    if let Some(index) = order.iter().position(|other| *other == standing) {
        order.remove(index);
    }
}

enum Look {
    Part(Part),
    Wait(watch::Receiver<()>),
    /// There was no more at the last news already.
    Nothing,
    Read(Reading),
}

/// The right to read on from a standing. If it is dropped, the next who comes has it.
struct Reading {
    tape: Arc<Tape>,
    standing: Standing,
    reader: Option<Box<FeedReader>>,
    _busy: watch::Sender<()>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut slots = self.tape.slots();
        if let Some(Slot::Busy(_)) = slots.at.get(&self.standing) {
            slots.at.remove(&self.standing);
        }
    }
}

impl Reading {
    /// Stores the part and the reader. `None` if there was nothing to read.
    fn done(self, reader: Box<FeedReader>, text: Vec<u8>, seen: Option<u64>) -> Option<Part> {
        let standing = reader.standing()?;
        if standing == self.standing && text.is_empty() {
            self.tape.slots().at.remove(&standing);
            self.tape.park(reader, seen);
            return None;
        }
        let part = Part { bytes: text.into(), to: Spot { standing, cursor: reader.cursor() } };
        self.tape.keep_part(self.standing, part.clone());
        self.tape.park(reader, seen);
        Some(part)
    }
}

/// One who reads along.
#[derive(Debug)]
pub(crate) struct Rider {
    engine: Arc<Engine>,
    id: LoopId,
    tape: Arc<Tape>,
    place: Placed,
    /// Why reading failed, after everything readable was returned.
    broken: Option<EngineError>,
}

#[derive(Debug)]
enum Placed {
    /// By himself: in the middle of a piece, or in a turn that was not read from its start.
    Alone(Box<FeedReader>),
    Shared(Spot),
}

impl Drop for Rider {
    fn drop(&mut self) {
        self.tape.slots().riders -= 1;
    }
}

impl Rider {
    pub(crate) fn new(engine: Arc<Engine>, id: LoopId, tape: Arc<Tape>, reader: FeedReader) -> Self {
        tape.slots().riders += 1;
        Self { engine, id, tape, place: Placed::Alone(Box::new(reader)), broken: None }
    }

    /// The next part, or `None` when there is no more for now. `news` is how often there was news before this was
    /// called; without it the files are always checked.
    pub(crate) async fn next(&mut self, news: Option<u64>) -> Result<Option<Bytes>, EngineError> {
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        loop {
            let spot = match &mut self.place {
                Placed::Shared(spot) => *spot,
                Placed::Alone(reader) => match reader.standing() {
                    Some(standing) => Spot { standing, cursor: reader.cursor() },
                    None => {
                        let mut text = Vec::new();
                        let read = encode(reader, &mut text).await;
                        return self.given(text, read.map(|_| ()));
                    }
                },
            };
            // From now on with the others.
            if let Placed::Alone(reader) = std::mem::replace(&mut self.place, Placed::Shared(spot)) {
                self.tape.park(reader, None);
            }
            match self.tape.look(spot.standing, news) {
                Look::Nothing => return Ok(None),
                Look::Wait(mut done) => {
                    let _ = done.changed().await;
                }
                Look::Part(part) => {
                    self.place = Placed::Shared(part.to);
                    if !part.bytes.is_empty() {
                        return Ok(Some(part.bytes));
                    }
                }
                Look::Read(mut reading) => {
                    let mut reader = match reading.reader.take() {
                        Some(reader) => reader,
                        None => Box::new(FeedReader::resume(&self.engine, &self.id, &spot.cursor).await?),
                    };
                    let mut text = Vec::new();
                    let seen = match encode(&mut reader, &mut text).await {
                        Ok(Reached::More) => None,
                        Ok(Reached::End) => news,
                        Err(error) => return self.given(text, Err(error)),
                    };
                    if reader.standing().is_none() {
                        self.place = Placed::Alone(reader);
                        return self.given(text, Ok(()));
                    }
                    let Some(part) = reading.done(reader, text, seen) else { return Ok(None) };
                    self.place = Placed::Shared(part.to);
                    if !part.bytes.is_empty() {
                        return Ok(Some(part.bytes));
                    }
                }
            }
        }
    }

    /// What was read before an error is given out first.
    fn given(&mut self, text: Vec<u8>, read: Result<(), EngineError>) -> Result<Option<Bytes>, EngineError> {
        match read {
            Err(error) if text.is_empty() => Err(error),
            read => {
                self.broken = read.err();
                Ok((!text.is_empty()).then(|| text.into()))
            }
        }
    }
}
