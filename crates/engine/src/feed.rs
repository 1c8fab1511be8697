//! The feed: the journal, and between its events what the agents said and did, read back from the transcripts.
//!
//! A reader asks for the next item and gets all there is in order, at its own pace; live viewers and late ones read
//! the same files. Nothing is buffered for a reader but one chunk.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use windlass_agents::SessionFacts;
use windlass_core::agent::AgentEvent;
use windlass_core::ids::{LoopId, TurnKey};
use windlass_core::machine::Event;
use windlass_core::spec::LoopSpec;

use crate::data::{DataDir, TurnFiles};
use crate::driver::DriveError;
use crate::engine::{Engine, EngineError, is_alive};
use crate::journal;
use crate::socket::Listening;
use crate::store::Store;
use crate::transcript::TranscriptReader;

/// One item, as `--json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeedItem {
    /// The journal's number; a live item carries the number it follows.
    pub seq: u64,
    pub at: Timestamp,
    #[serde(flatten)]
    pub body: FeedBody,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
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
        /// Always `stderr`.
        r#type: &'static str,
        text: String,
    },
    Skipped {
        turn: TurnKey,
        /// Always `output_skipped`.
        r#type: &'static str,
        bytes: u64,
    },
}

/// Reads a loop's feed from any point on.
#[derive(Debug)]
pub struct FeedReader {
    store: Arc<dyn Store>,
    data: DataDir,
    id: LoopId,
    read_seq: u64,
    shown_seq: u64,
    journal: VecDeque<(u64, Timestamp, Event)>,
    live: VecDeque<FeedItem>,
    tail: Option<Tail>,
    spec: Box<LoopSpec>,
    most_behind: Option<u64>,
}

#[derive(Debug)]
struct Tail {
    turn: TurnKey,
    transcript: TranscriptReader,
    times: Times,
    finished: bool,
}

impl FeedReader {
    /// Items after event `after`; 0 for all.
    pub async fn open(engine: &Engine, id: &LoopId, after: u64) -> Result<Self, EngineError> {
        // Live items are made by the loop's adapter, which the first event names.
        let first = engine.store.read(&id.0, 0, 1).await?;
        let spec = match first.first().map(|stored| journal::decode(id, stored)).transpose()? {
            Some(Event::LoopCreated { spec, .. }) => spec,
            _ => return Err(journal::JournalError::NoSuchLoop { id: id.0.clone() }.into()),
        };
        Ok(Self {
            store: Arc::clone(&engine.store),
            data: engine.data.clone(),
            id: id.clone(),
            read_seq: after,
            shown_seq: after,
            journal: VecDeque::new(),
            live: VecDeque::new(),
            tail: None,
            spec,
            most_behind: None,
        })
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
            if let Some(mut item) = self.live.pop_front_if(|item| !is_first(&self.journal, item.at)) {
                item.seq = self.shown_seq;
                return Ok(Some(item));
            }
            if self.journal.is_empty() {
                self.read_journal().await?;
            }
            // The journal tells of a turn's end after its last byte was written, so what the agent said comes first.
            if self.live.is_empty() && self.read_tail()? {
                continue;
            }
            let Some((seq, at, event)) = self.journal.pop_front() else { return Ok(None) };
            if let Event::TurnStarted { turn, agent, .. } = &event {
                self.tail = Some(self.tail_of(*turn, *agent));
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

    fn tail_of(&self, turn: TurnKey, agent: usize) -> Tail {
        let files = self.data.turn(&self.id, turn);
        let profile = &self.spec.agent_of(turn.role, agent).profile;
        Tail {
            turn,
            transcript: TranscriptReader::new(&files, profile, &SessionFacts::default())
                .at_most_behind(self.most_behind),
            times: Times::new(&files),
            finished: false,
        }
    }

    async fn read_journal(&mut self) -> Result<(), EngineError> {
        const PAGE: usize = 256;
        for stored in self.store.read(&self.id.0, self.read_seq, PAGE).await? {
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

    /// Reads one chunk of the turn under way; `false` when there is nothing new.
    fn read_tail(&mut self) -> Result<bool, EngineError> {
        let Some(tail) = &mut self.tail else { return Ok(false) };
        let batch = tail.transcript.read().map_err(|source| DriveError::Transcript {
            path: self.data.turn(&self.id, tail.turn).dir.display().to_string(),
            source,
        })?;
        let at = tail.times.at(tail.transcript.stdout_offset());
        let turn = tail.turn;
        if batch.skipped > 0 {
            self.push_live(at, FeedBody::Skipped { turn, r#type: "output_skipped", bytes: batch.skipped });
        }
        for event in batch.events {
            self.push_live(at, FeedBody::Live { turn, event });
        }
        if !batch.stderr.is_empty() {
            let text = windlass_agents::plain_text(&String::from_utf8_lossy(&batch.stderr));
            self.push_live(at, FeedBody::Stderr { turn, r#type: "stderr", text });
        }
        Ok(batch.progressed)
    }

    /// Ends the reading of a turn; `true` when that gave more to show first.
    fn finish_tail(&mut self, turn: TurnKey) -> bool {
        let Some(tail) = self.tail.as_mut().filter(|tail| tail.turn == turn && !tail.finished) else { return false };
        tail.finished = true;
        let at = tail.times.at(tail.transcript.stdout_offset());
        let events = tail.transcript.finish();
        let any = !events.is_empty();
        for event in events {
            self.push_live(at, FeedBody::Live { turn, event });
        }
        any
    }

    fn push_live(&mut self, at: Timestamp, body: FeedBody) {
        self.live.push_back(FeedItem { seq: self.shown_seq, at, body });
    }
}

/// Whether the next event of the journal happened before what was said at `said_at`, in the middle of a turn. That a
/// turn has ended comes after all that was said in it.
fn is_first(journal: &VecDeque<(u64, Timestamp, Event)>, said_at: Timestamp) -> bool {
    journal.front().is_some_and(|(_, at, event)| *at <= said_at && !matches!(event, Event::TurnEnded { .. }))
}

/// When which part of a transcript was written, from the index beside it.
#[derive(Debug)]
struct Times {
    files: TurnFiles,
    file: Option<std::fs::File>,
    read: u64,
    last: Option<(u64, Timestamp)>,
}

impl Times {
    fn new(files: &TurnFiles) -> Self {
        Self { files: files.clone(), file: None, read: 0, last: None }
    }

    /// The time of the last record at or before `offset`; offsets only grow.
    fn at(&mut self, offset: u64) -> Timestamp {
        use std::os::unix::fs::FileExt;
        const RECORD: u64 = 16;
        if self.file.is_none() {
            self.file = std::fs::File::open(self.files.times()).ok();
        }
        let mut record = [0; RECORD as usize];
        while let Some(file) = &self.file
            && self.last.is_none_or(|(reached, _)| reached < offset)
            && file.read_exact_at(&mut record, self.read).is_ok()
        {
            self.read += RECORD;
            let (end, ms) = record.split_at(8);
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
            let ms = i64::try_from(number(ms)).unwrap_or_default();
            self.last = Timestamp::from_millisecond(ms).ok().map(|at| (number(end), at));
        }
        self.last.map_or_else(Timestamp::now, |(_, at)| at)
    }
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
        let Some(holder) = engine.store.holder(&id.0).await?.filter(is_alive) else { return Ok(News::None) };
        Ok(Listening::to(&holder.socket, &id.0).await.map_or(News::None, News::Other))
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
