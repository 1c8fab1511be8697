//! The feed read backwards: pages that end where another starts, so that a long transcript opens at its end at once.
//!
//! Invariant: pages and the live feed fit together without gap or overlap. A page is a stretch of a turn's output that
//! starts at a line, with the events of the journal that happened meanwhile.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::Event;

use super::times::Times;
use super::{Cursor, FeedItem, FeedReader, TurnCursor};
use crate::data::TurnFiles;
use crate::driver::DriveError;
use crate::engine::{Engine, EngineError};
use crate::journal;
use crate::transcript::Place;
use windlass_store::StoredEvent;

/// Items of the past, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub items: Vec<(Cursor, FeedItem)>,
    /// Where the page before this one ends; `None` at the loop's beginning.
    pub before: Option<Cursor>,
}

/// A place from which about so many bytes of output are left to read, to follow a loop from there on.
pub async fn begin_near_end(engine: &Engine, id: &LoopId, bytes: u64) -> Result<Cursor, EngineError> {
    Past { engine, id }.back(end(engine, id).await?, bytes).await
}

/// Where the feed ends now.
pub async fn end(engine: &Engine, id: &LoopId) -> Result<Cursor, EngineError> {
    Past { engine, id }.end().await
}

/// What comes before a place, in about so many bytes of output.
pub async fn page_before(engine: &Engine, id: &LoopId, before: Cursor, bytes: u64) -> Result<Page, EngineError> {
    let from = Past { engine, id }.back(before, bytes).await?;
    let mut reader = FeedReader::open(engine, id, from.seq).await?;
    reader.end = Some(before);
    let mut reader = reader.in_pieces_of(super::PIECE).placed(&from).await?;
    let mut items = Vec::new();
    while let Some(item) = reader.next().await? {
        items.push((reader.cursor(), item));
    }
    Ok(Page { items, before: (from.seq > 0).then_some(from) })
}

/// A turn as the journal tells of it.
#[derive(Debug, Clone, Copy)]
struct Turn {
    started: u64,
    key: TurnKey,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Past<'a> {
    pub(super) engine: &'a Engine,
    pub(super) id: &'a LoopId,
}

impl Past<'_> {
    /// Where the feed ends now.
    async fn end(self) -> Result<Cursor, EngineError> {
        let head = self.engine.store.get(&self.id.0).await?.map_or(0, |listed| listed.head);
        let turn = match self.last_turn_event(0, head).await? {
            Some((seq, Event::TurnStarted { turn, .. })) => {
                self.engine.fetch_turn(self.id, turn).await?;
                let files = self.engine.data.turn(self.id, turn);
                let place = Place { stdout: length(&files.stdout()), stderr: length(&files.stderr()) };
                Some(TurnCursor { started: seq, at: place, end: place, ..TurnCursor::default() })
            }
            Some(_) | None => None,
        };
        Ok(Cursor { seq: head, turn })
    }

    /// Steps back until there is enough to read, or no more.
    async fn back(self, mut at: Cursor, bytes: u64) -> Result<Cursor, EngineError> {
        /// Turns that said little are passed so many at a time.
        const MOST_TURNS: usize = 20;
        let mut left = bytes.max(1);
        for _ in 0..MOST_TURNS {
            let (began, passed) = self.step(at, left).await?;
            at = began;
            left = left.saturating_sub(passed);
            if left == 0 || at.seq == 0 {
                break;
            }
        }
        Ok(at)
    }

    /// One stretch back: in the turn's output, or to the end of the turn before. Says how many bytes it passed.
    async fn step(self, at: Cursor, bytes: u64) -> Result<(Cursor, u64), EngineError> {
        if let Some(turn) = at.turn.filter(|turn| turn.at.stdout > 0 || turn.at.stderr > 0) {
            let stored = self.engine.store.read(&self.id.0, turn.started.saturating_sub(1), 1).await?;
            let event = stored.first().map(|stored| journal::decode(self.id, stored)).transpose()?;
            if let Some(Event::TurnStarted { turn: key, .. }) = event {
                self.engine.fetch_turn(self.id, key).await?;
                return self.within(Turn { started: turn.started, key }, turn.at, at.seq, bytes).await;
            }
        }
        let before = at.turn.map_or(at.seq, |turn| turn.started.saturating_sub(1).min(at.seq));
        let Some((ended, Event::TurnEnded { turn: key, .. })) = self.last_turn_event(0, before).await? else {
            return Ok((Cursor::default(), 0));
        };
        let Some(started) = self.start_of(key, ended).await? else { return Ok((Cursor::default(), 0)) };
        self.engine.fetch_turn(self.id, key).await?;
        let files = self.engine.data.turn(self.id, key);
        let end = Place { stdout: length(&files.stdout()), stderr: length(&files.stderr()) };
        self.within(Turn { started, key }, end, ended - 1, bytes).await
    }

    async fn within(self, turn: Turn, end: Place, last: u64, bytes: u64) -> Result<(Cursor, u64), EngineError> {
        let files = self.engine.data.turn(self.id, turn.key);
        let from = line_start(&files, end.stdout, bytes)
            .map_err(|source| DriveError::Transcript { path: files.dir.display().to_string(), source })?;
        // When standard error was written is not known: what is older than this stretch is shown with the first.
        let place = Place { stdout: from, stderr: if from == 0 { 0 } else { end.stderr } };
        let seq = if from == 0 { turn.started } else { self.last_before(turn.started, last, &files, from).await? };
        let at = TurnCursor { started: turn.started, from: place, at: place, end: place, ..TurnCursor::default() };
        Ok((Cursor { seq, turn: Some(at) }, (end.stdout - from).max(1)))
    }

    /// The last event of the journal that had happened when the output reached this place.
    async fn last_before(self, from: u64, last: u64, files: &TurnFiles, offset: u64) -> Result<u64, EngineError> {
        let said_at = Times::new(files).at(offset);
        let mut seq = from;
        loop {
            let events = self.engine.store.read(&self.id.0, seq, 64).await?;
            for event in &events {
                if event.seq > last || event.at > said_at {
                    return Ok(seq);
                }
                seq = event.seq;
            }
            if events.is_empty() {
                return Ok(seq);
            }
        }
    }

    /// The last event after one and up to another that starts or ends a turn.
    pub(super) async fn last_turn_event(self, after: u64, seq: u64) -> Result<Option<(u64, Event)>, EngineError> {
        self.find_back(after, seq, |stored| matches!(stored.kind.as_str(), "turn_started" | "turn_ended")).await
    }

    async fn start_of(self, key: TurnKey, mut before: u64) -> Result<Option<u64>, EngineError> {
        while let Some((seq, event)) = self.find_back(0, before, |stored| stored.kind == "turn_started").await? {
            if matches!(event, Event::TurnStarted { turn, .. } if turn == key) {
                return Ok(Some(seq));
            }
            before = seq - 1;
        }
        Ok(None)
    }

    async fn find_back(
        self,
        after: u64,
        mut seq: u64,
        wanted: impl Fn(&StoredEvent) -> bool,
    ) -> Result<Option<(u64, Event)>, EngineError> {
        const PAGE: u64 = 64;
        while seq > after {
            let from = seq.saturating_sub(PAGE).max(after);
            let count = usize::try_from(seq - from).unwrap_or(0);
            let events = self.engine.store.read(&self.id.0, from, count).await?;
            if let Some(stored) = events.iter().rev().find(|stored| wanted(stored)) {
                return Ok(Some((stored.seq, journal::decode(self.id, stored)?)));
            }
            seq = from;
        }
        Ok(None)
    }
}

fn length(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

/// The start of a line about `bytes` before `end`; one line that is longer is taken whole.
fn line_start(files: &TurnFiles, end: u64, bytes: u64) -> io::Result<u64> {
    const BLOCK: u64 = 64 * 1024;
    let mut near = end.saturating_sub(bytes);
    if near == 0 {
        return Ok(0);
    }
    let file = File::open(files.stdout())?;
    let mut block = vec![0; BLOCK as usize];
    // The last line that starts at or before `near`.
    while near > 0 {
        let from = near.saturating_sub(BLOCK);
        let part = &mut block[..usize::try_from(near - from).unwrap_or(0)];
        file.read_exact_at(part, from)?;
        if let Some(newline) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + newline as u64 + 1);
        }
        near = from;
    }
    Ok(0)
}
