//! The feed: the journal, and between its events what the agents said and did, read back from the transcripts.
//!
//! A reader requests the next item and gets all there is in order, at its own pace; live viewers and late ones read
//! the same files. Nothing is buffered for a reader but one chunk.

mod cursor;
mod past;
mod said;
mod times;

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_agents::SessionFacts;
use windlass_core::agent::AgentEvent;
use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::Event;
use windlass_core::spec::LoopSpec;

use crate::data::DataDir;
use crate::driver::DriveError;
use crate::engine::{Engine, EngineError};
use crate::journal;
use crate::outside::Station;
use crate::socket::Listening;
use crate::transcript::{Batch, Place, TranscriptReader};
use windlass_store::{Held, Store};

pub use cursor::{Cursor, CursorError, Standing, TurnCursor};
pub use past::{Page, begin_near_end, end, page_before};
pub use said::LastWords;

use times::Times;

/// So much output is read at a time for one of many readers; what it holds in memory is a small multiple of this.
const PIECE: usize = 32 * 1024;

/// One item, as `--json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FeedItem {
    /// The journal's number; a live item carries the number it follows.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub body: FeedBody,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum FeedBody {
    Journal(Box<Event>),
    Live {
        turn: TurnKey,
        #[serde(flatten)]
        event: AgentEvent,
    },
    Stderr {
        turn: TurnKey,
        r#type: StderrType,
        text: String,
    },
    Skipped {
        turn: TurnKey,
        r#type: SkippedType,
        bytes: u64,
    },
}

/// The one word that tells the item from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StderrType {
    Stderr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkippedType {
    OutputSkipped,
}

/// Reads a loop's feed from any point on.
#[derive(Debug)]
pub struct FeedReader {
    store: Arc<dyn Store>,
    data: DataDir,
    /// Other machines may have the transcripts.
    station: Option<Arc<dyn Station>>,
    id: LoopId,
    read_seq: u64,
    shown_seq: u64,
    journal: VecDeque<(u64, Timestamp, Event)>,
    live: VecDeque<FeedItem>,
    tail: Option<Tail>,
    spec: Box<LoopSpec>,
    most_behind: Option<u64>,
    chunk: Option<usize>,
    /// Where the reading of the past ends.
    end: Option<Cursor>,
}

#[derive(Debug)]
struct Tail {
    turn: TurnKey,
    transcript: TranscriptReader,
    times: Times,
    at: TurnCursor,
    /// All that the turn wrote is on this machine.
    whole: bool,
}

impl FeedReader {
    /// Items after event `after`; 0 for all.
    pub async fn open(engine: &Engine, id: &LoopId, after: u64) -> Result<Self, EngineError> {
        // Live items are made by the loop's adapter, which the first event names.
        let spec = journal::spec(engine.store.as_ref(), id).await?;
        Ok(Self {
            store: Arc::clone(&engine.store),
            data: engine.data.clone(),
            station: engine.station.clone(),
            id: id.clone(),
            read_seq: after,
            shown_seq: after,
            journal: VecDeque::new(),
            live: VecDeque::new(),
            tail: None,
            spec,
            most_behind: None,
            chunk: None,
            end: None,
        })
    }

    /// Continues where another reader was. Its turn's output is read again up to there, which is the only way to know
    /// what a session knew.
    pub async fn resume(engine: &Engine, id: &LoopId, cursor: &Cursor) -> Result<Self, EngineError> {
        Self::open(engine, id, cursor.seq).await?.in_pieces_of(PIECE).placed(cursor).await
    }

    async fn placed(mut self, cursor: &Cursor) -> Result<Self, EngineError> {
        let Some(at) = cursor.turn else { return Ok(self) };
        let started = self.store.read(&self.id.0, at.started.saturating_sub(1), 1).await?;
        let event = started.first().map(|stored| journal::decode(&self.id, stored)).transpose()?;
        let Some(Event::TurnStarted { turn, agent, .. }) = event else { return Ok(self) };
        self.fetch(turn).await?;
        let mut tail = self.tail_of(turn, agent, TurnCursor { shown: 0, finished: false, ..at });
        // Reading can take a while, and others want to be served.
        let (tail, batch) = tokio::task::spawn_blocking(move || {
            let batch = tail.catch_up(&at);
            (tail, batch)
        })
        .await
        .map_err(|panic| DriveError::Lost(panic.to_string()))?;
        self.tail = Some(tail);
        let batch = batch.map_err(|source| self.unreadable(turn, source))?;
        self.show(turn, batch);
        let finished = at.finished.then(|| self.tail.as_mut().map(|tail| tail.finish()));
        if let Some(Some(events)) = finished {
            self.live.clear();
            self.show(turn, Batch { events, ..Batch::default() });
        }
        for _ in 0..at.shown {
            self.pop_live();
        }
        Ok(self)
    }

    /// Reads smaller pieces of output at a time, for readers of which there may be hundreds.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.chunk = Some(bytes);
        self
    }

    /// Where this reader is: who continues from there gets just what this one has not given out yet.
    pub fn cursor(&self) -> Cursor {
        Cursor { seq: self.shown_seq, turn: self.tail.as_ref().map(|tail| tail.at) }
    }

    /// Whether part of what was last read is not given out yet.
    pub fn in_a_piece(&self) -> bool {
        !self.live.is_empty()
    }

    /// The same for a reader that holds nothing back and has read its turn from the start; others have none.
    pub fn standing(&self) -> Option<Standing> {
        let turn = self.tail.as_ref().map(|tail| tail.at);
        let whole = turn.is_none_or(|turn| turn.from == Place::default());
        (whole && !self.in_a_piece())
            .then(|| Standing { seq: self.shown_seq, turn: turn.map(|turn| (turn.started, turn.end, turn.finished)) })
    }

    /// Passes over output that comes faster than it is read, and says how much.
    #[must_use]
    pub fn at_most_behind(mut self, bytes: u64) -> Self {
        self.most_behind = Some(bytes);
        self
    }

    /// The next item, or `None` when there is no more for now.
    pub async fn next(&mut self) -> Result<Option<FeedItem>, EngineError> {
        loop {
            if self.live.front().is_some_and(|item| !is_first(&self.journal, item.at))
                && let Some(mut item) = self.pop_live()
            {
                item.seq = self.shown_seq;
                return Ok(Some(item));
            }
            if self.journal.is_empty() {
                self.read_journal().await?;
            }
            self.fetch_rest().await?;
            // The journal tells of a turn's end after its last byte was written, so what the agent said comes first.
            if self.live.is_empty() && self.read_tail()? {
                continue;
            }
            let Some((seq, at, event)) = self.journal.pop_front() else { return Ok(None) };
            if let Event::TurnStarted { turn, agent, .. } = &event {
                let at = TurnCursor { started: seq, ..TurnCursor::default() };
                self.fetch(*turn).await?;
                self.tail = Some(self.tail_of(*turn, *agent, at));
            } else if let Event::TurnEnded { turn, .. } = &event {
                if self.finish_tail(*turn) {
                    self.journal.push_front((seq, at, event));
                    continue;
                }
                self.tail = None;
            }
            self.shown_seq = seq;
            return Ok(Some(FeedItem { seq, at, body: FeedBody::Journal(Box::new(event)) }));
        }
    }

    fn pop_live(&mut self) -> Option<FeedItem> {
        let item = self.live.pop_front()?;
        if let Some(tail) = &mut self.tail {
            tail.at.shown += 1;
        }
        Some(item)
    }

    fn tail_of(&self, turn: TurnKey, agent: usize, at: TurnCursor) -> Tail {
        let files = self.data.turn(&self.id, turn);
        let profile = &self.spec.agent_of(turn.role, agent).profile;
        let end = self.end.as_ref().and_then(|end| end.turn).filter(|end| end.started == at.started);
        let transcript = TranscriptReader::new(&files, profile, &SessionFacts::default())
            .at_most_behind(self.most_behind)
            .between(at.from, end.map(|end| end.at));
        let transcript = match self.chunk {
            Some(bytes) => transcript.in_pieces_of(bytes),
            None => transcript,
        };
        Tail { turn, transcript, times: Times::new(&files), at, whole: self.station.is_none() }
    }

    /// Waits with nothing of the reader in hand, which no two threads may share.
    fn fetch(&self, turn: TurnKey) -> impl Future<Output = Result<(), DriveError>> + use<> {
        let of = self.station.clone().map(|station| (station, self.id.clone()));
        async move {
            match of {
                Some((station, id)) => station.fetch(&id, turn).await,
                None => Ok(()),
            }
        }
    }

    /// Before a turn's end is told, all that it wrote has to be here.
    async fn fetch_rest(&mut self) -> Result<(), EngineError> {
        let Some((_, _, Event::TurnEnded { turn, .. })) = self.journal.front() else { return Ok(()) };
        let turn = *turn;
        if self.tail.as_ref().is_some_and(|tail| tail.turn == turn && !tail.whole) {
            self.fetch(turn).await?;
            self.tail.as_mut().into_iter().for_each(|tail| tail.whole = true);
        }
        Ok(())
    }

    async fn read_journal(&mut self) -> Result<(), EngineError> {
        const PAGE: usize = 256;
        let left = self.end.as_ref().map_or(u64::MAX, |end| end.seq.saturating_sub(self.read_seq));
        let page = PAGE.min(usize::try_from(left).unwrap_or(PAGE));
        if page == 0 {
            return Ok(());
        }
        for stored in self.store.read(&self.id.0, self.read_seq, page).await? {
            self.read_seq = stored.seq;
            let event = journal::decode(&self.id, &stored)?;
            // The end of a loop is the end of its feed; what was left behind is told by its status.
            if let Event::ResidueChecked { .. } = event {
                continue;
            }
            self.journal.push_back((stored.seq, stored.at, event));
        }
        Ok(())
    }

    fn unreadable(&self, turn: TurnKey, source: std::io::Error) -> DriveError {
        DriveError::Transcript { path: self.data.turn(&self.id, turn).dir.display().to_string(), source }
    }

    /// Reads one chunk of the turn under way; `false` when there is nothing new.
    fn read_tail(&mut self) -> Result<bool, EngineError> {
        let Some(tail) = self.tail.as_mut().filter(|tail| !tail.at.finished) else { return Ok(false) };
        let turn = tail.turn;
        match tail.read() {
            Ok(batch) => {
                let progressed = batch.progressed;
                self.show(turn, batch);
                Ok(progressed)
            }
            Err(source) => Err(self.unreadable(turn, source).into()),
        }
    }

    fn show(&mut self, turn: TurnKey, batch: Batch) {
        let Some(tail) = &mut self.tail else { return };
        let at = tail.times.at(tail.transcript.place().stdout);
        if batch.skipped > 0 {
            self.push_live(at, FeedBody::Skipped { turn, r#type: SkippedType::OutputSkipped, bytes: batch.skipped });
        }
        for event in batch.events {
            self.push_live(at, FeedBody::Live { turn, event });
        }
        if !batch.stderr.is_empty() {
            let text = windlass_agents::plain_text(&String::from_utf8_lossy(&batch.stderr));
            self.push_live(at, FeedBody::Stderr { turn, r#type: StderrType::Stderr, text });
        }
    }

    /// Ends the reading of a turn; `true` when that gave more to show first.
    fn finish_tail(&mut self, turn: TurnKey) -> bool {
        let Some(tail) = self.tail.as_mut().filter(|tail| tail.turn == turn && !tail.at.finished) else { return false };
        let events = tail.finish();
        let any = !events.is_empty();
        self.show(turn, Batch { events, ..Batch::default() });
        any
    }

    fn push_live(&mut self, at: Timestamp, body: FeedBody) {
        self.live.push_back(FeedItem { seq: self.shown_seq, at, body });
    }
}

impl Tail {
    /// The next batch; the one before was given out in full.
    fn read(&mut self) -> std::io::Result<Batch> {
        let before = self.transcript.place();
        let batch = self.transcript.read()?;
        if batch.progressed {
            // Where a piece was passed over, what was given out starts behind it.
            let skipped = batch.skipped;
            self.at.at = Place { stdout: before.stdout + skipped, ..before };
            self.at.end = self.transcript.place();
            self.at.shown = 0;
        }
        Ok(batch)
    }

    /// Reads up to where another reader was, and again the batch it was in.
    fn catch_up(&mut self, at: &TurnCursor) -> std::io::Result<Batch> {
        self.transcript.pass_to(at.at)?;
        self.transcript.read_to(at.end)
    }

    fn finish(&mut self) -> Vec<AgentEvent> {
        let place = self.transcript.place();
        self.at = TurnCursor { at: place, end: place, shown: 0, finished: true, ..self.at };
        self.transcript.finish()
    }
}

/// Whether the next event of the journal happened before what was said at `said_at`, in the middle of a turn. That a
/// turn has ended comes after all that was said in it.
fn is_first(journal: &VecDeque<(u64, Timestamp, Event)>, said_at: Timestamp) -> bool {
    journal.front().is_some_and(|(_, at, event)| *at <= said_at && !matches!(event, Event::TurnEnded { .. }))
}

/// Waits for news of a loop, whoever drives it.
#[derive(Debug)]
pub enum News {
    /// This process drives it.
    Own(tokio::sync::watch::Receiver<u64>),
    Other(Listening),
    /// Nobody drives it.
    None,
}

impl News {
    pub async fn of(engine: &Engine, id: &LoopId) -> Result<Self, EngineError> {
        let Some(lease) = engine.store.holder(&id.0).await?.filter(Held::drives) else { return Ok(News::None) };
        Ok(engine.listen(&lease.holder.seat, &id.0).await.map_or(News::None, News::Other))
    }

    /// Returns when there may be something new; `false` when nobody drives the loop any more.
    pub async fn wait(&mut self) -> bool {
        match self {
            News::Own(news) => news.changed().await.is_ok(),
            News::Other(listening) => listening.news().await,
            News::None => false,
        }
    }
}
