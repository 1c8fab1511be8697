//! The worker's side: sends what its turns wrote since the last time, of all loops in one statement.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use tokio::sync::Notify;
use windlass_core::ids::{LoopId, TurnKey};
use windlass_engine::data::DataDir;
use windlass_engine::driver::DriveError;
use windlass_store::Result;

use super::{EXIT_RECORD, FILES, paths};
use crate::metrics::Counts;
use crate::store::{PgStore, Piece};

/// So often output is sent if nobody watches it, and if somebody does.
const USUAL: Duration = Duration::from_secs(2);
const WATCHED: Duration = Duration::from_millis(50);
/// A desk says so often enough that a loop is watched.
const WATCHED_FOR: Duration = Duration::from_secs(12);
/// The most of one file in one shipment.
const LARGEST: u64 = 256 << 10;

/// How far the files of a turn were sent.
type Sent = [u64; FILES];
type Turn = (String, TurnKey);

#[derive(Debug)]
pub(crate) struct Shipper {
    store: PgStore,
    data: DataDir,
    tokens: Arc<Mutex<HashMap<String, String>>>,
    counts: Arc<Counts>,
    /// Turns that run here.
    open: Mutex<HashMap<Turn, Sent>>,
    watched: Mutex<HashMap<String, Instant>>,
    is_due: Notify,
    /// One shipment at a time, so that offsets only grow.
    shipping: tokio::sync::Mutex<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shipper {
    pub(crate) fn new(
        store: PgStore,
        data: DataDir,
        tokens: Arc<Mutex<HashMap<String, String>>>,
        counts: Arc<Counts>,
    ) -> Self {
        let (open, watched, is_due, shipping) = Default::default();
        Self { store, data, tokens, counts, open, watched, is_due, shipping }
    }

    pub(crate) fn begin(&self, id: &LoopId, turn: TurnKey) {
        locked(&self.open).insert((id.0.clone(), turn), Sent::default());
        // Somebody may watch the loop already.
        self.is_due.notify_one();
    }

    /// Whether this process writes the turn's files.
    pub(crate) fn writes(&self, id: &LoopId, turn: TurnKey) -> bool {
        locked(&self.open).contains_key(&(id.0.clone(), turn))
    }

    /// The loop is no longer driven here.
    pub(crate) fn left(&self, loop_id: &str) {
        locked(&self.open).retain(|(id, _), _| id != loop_id);
    }

    /// Somebody watches the loop's output.
    pub(crate) fn watched(&self, loop_id: &str) {
        let until = Instant::now() + WATCHED_FOR;
        if locked(&self.watched).insert(loop_id.to_owned(), until).is_none_or(|before| before < Instant::now()) {
            self.is_due.notify_one();
        }
    }

    /// Sends until the process ends. Output that could not be sent stays on this disk, and is sent later.
    pub(crate) async fn run(&self) {
        let mut sent_at = Instant::now();
        loop {
            locked(&self.watched).retain(|_, until| *until > Instant::now());
            let runs = |id: &String| locked(&self.open).keys().any(|(open, _)| open == id);
            let live = locked(&self.watched).keys().any(runs);
            let wait = if live { WATCHED } else { USUAL.saturating_sub(sent_at.elapsed()) };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.is_due.notified() => {}
            }
            let all = sent_at.elapsed() >= USUAL;
            if all {
                sent_at = Instant::now();
            }
            if let Err(error) = self.round(all).await {
                Counts::one(&self.counts.ship_failures);
                tracing::warn!(%error, "cannot send output; it waits on this disk");
            }
        }
    }

    async fn round(&self, all: bool) -> Result<(), DriveError> {
        let due: Vec<Turn> = {
            let watched = locked(&self.watched);
            locked(&self.open).keys().filter(|(id, _)| all || watched.contains_key(id)).cloned().collect()
        };
        if due.is_empty() {
            return Ok(());
        }
        let _one = self.shipping.lock().await;
        while self.send(&due, false).await? {}
        Ok(())
    }

    /// Everything of a turn that is over.
    pub(crate) async fn flush(&self, id: &LoopId, turn: TurnKey) -> Result<(), DriveError> {
        let key = (id.0.clone(), turn);
        if !self.data.turn(id, turn).have_begun() {
            locked(&self.open).remove(&key);
            return Ok(());
        }
        let _one = self.shipping.lock().await;
        let known = locked(&self.open).contains_key(&key);
        if !known {
            // An earlier process began it.
            let mut sent = Sent::default();
            for (file, end) in self.store.shipped(&id.0, &turn.to_string()).await? {
                if let Some(sent) = usize::try_from(file).ok().and_then(|file| sent.get_mut(file)) {
                    *sent = end.cast_unsigned();
                }
            }
            locked(&self.open).insert(key.clone(), sent);
        }
        while self.send(std::slice::from_ref(&key), true).await? {}
        let token = locked(&self.tokens).get(&id.0).cloned();
        if let Some(token) = token {
            self.store.close_turn(&id.0, &turn.to_string(), &token).await?;
        }
        locked(&self.open).remove(&key);
        Ok(())
    }

    /// Sends what is new; whether there may be more already.
    async fn send(&self, turns: &[Turn], over: bool) -> Result<bool, DriveError> {
        let mut wanted = Vec::new();
        for turn in turns {
            let sent = locked(&self.open).get(turn).copied();
            let token = locked(&self.tokens).get(&turn.0).cloned();
            if let (Some(sent), Some(token)) = (sent, token) {
                wanted.push((turn.clone(), sent, token));
            }
        }
        let data = self.data.clone();
        let read = move || -> io::Result<Vec<(Turn, Piece)>> {
            let mut pieces = Vec::new();
            for (turn, sent, token) in wanted {
                for (file, at, bytes) in new_of(&data, &turn, sent, over)? {
                    let (loop_id, key) = (turn.0.clone(), turn.1.to_string());
                    pieces.push((turn.clone(), Piece { loop_id, turn: key, file, at, bytes, token: token.clone() }));
                }
            }
            Ok(pieces)
        };
        let lost = |error: &dyn std::fmt::Display| DriveError::Lost(format!("cannot read the transcripts: {error}"));
        let read = tokio::task::spawn_blocking(read).await.map_err(|panic| lost(&panic))?;
        let (turns, pieces): (Vec<Turn>, Vec<Piece>) = read.map_err(|error| lost(&error))?.into_iter().unzip();
        if pieces.is_empty() {
            return Ok(false);
        }
        self.store.ship(&pieces).await?;
        let bytes = pieces.iter().map(|piece| piece.bytes.len() as u64).sum();
        self.counts.shipped_bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut open = locked(&self.open);
        let mut has_more = false;
        for (turn, piece) in turns.iter().zip(&pieces) {
            has_more |= piece.bytes.len() as u64 == LARGEST;
            if let (Some(sent), Ok(file)) = (open.get_mut(turn), usize::try_from(piece.file)) {
                sent[file] = piece.at + piece.bytes.len() as u64;
            }
        }
        Ok(has_more)
    }
}

/// What is new of a turn: file, offset, bytes.
fn new_of(data: &DataDir, (id, turn): &Turn, sent: Sent, over: bool) -> io::Result<Vec<(i16, u64, Vec<u8>)>> {
    let paths = paths(&data.turn(&LoopId(id.clone()), *turn));
    let mut new = Vec::new();
    // The times last: they are of all that was read before them.
    for (file, path) in paths.iter().enumerate().rev() {
        if file == EXIT_RECORD && !over {
            continue;
        }
        let bytes = read_on(path, sent[file])?;
        if !bytes.is_empty() {
            new.push((i16::try_from(file).unwrap_or_default(), sent[file], bytes));
        }
    }
    Ok(new)
}

/// The next bytes of a file. Agents may write beside it, so links are not followed.
fn read_on(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let no_follow = OFlags::NOFOLLOW.bits().cast_signed();
    let file: File = match OpenOptions::new().read(true).custom_flags(no_follow).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let new = file.metadata()?.len().saturating_sub(from).min(LARGEST);
    let mut bytes = vec![0; usize::try_from(new).unwrap_or_default()];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
}
