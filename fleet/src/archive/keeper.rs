//! A worker's part: moves the output of ended loops from the database to the archive.
//!
//! Invariant: the database forgets the output of a turn only when the archive has all of it. Two workers may write the same
//! objects, which are the same; what was cut off is done again.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::ids::{LoopId, TurnKey};

use super::{Archive, PART, parts};
use crate::output::{NAMES, paths};
use crate::station::FleetStation;
use crate::store::Kept;
use crate::worker::{Failure, with_causes};

/// So often a worker looks for loops that ended.
const LOOK: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) archive: Archive,
    pub(crate) station: Arc<FleetStation>,
}

impl Keeper {
    /// Works until it is dropped.
    pub(crate) async fn run(&self) {
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            look.tick().await;
            if let Err(error) = self.round().await {
                tracing::warn!(
                    archive = self.archive.text(),
                    error = with_causes(&*error),
                    "cannot archive output; it stays in the database"
                );
            }
        }
    }

    async fn round(&self) -> Result<(), Failure> {
        for (id, turn) in self.station.store.to_archive(&self.station.worker.id).await? {
            let Ok(key) = turn.parse::<TurnKey>() else { continue };
            let sizes = self.move_turn(&LoopId(id.clone()), key).await?;
            let kept = Kept { archive: self.archive.text().to_owned(), sizes };
            if self.station.store.archived(&id, &turn, &kept).await? {
                tracing::info!(loop_id = id, turn, "archived the output of a turn");
            }
        }
        Ok(())
    }

    /// Writes the files of a turn; returns their sizes.
    async fn move_turn(&self, id: &LoopId, turn: TurnKey) -> Result<Vec<i64>, Failure> {
        // What this worker wrote is here already.
        self.station.replica.fetch(id, turn).await?;
        let mut sizes = Vec::new();
        for (path, name) in paths(&self.station.turn_files(id, turn)).into_iter().zip(NAMES) {
            let size = path.metadata().map_or(0, |meta| meta.len());
            for (number, key) in parts(&id.0, &turn.to_string(), name, size).into_iter().enumerate() {
                let path = path.clone();
                let content = tokio::task::spawn_blocking(move || part(&path, number as u64, size)).await??;
                self.archive.put(&key, content).await?;
            }
            sizes.push(size.cast_signed());
        }
        Ok(sizes)
    }
}

/// One part of a file of this size; nothing of one that is not there.
fn part(path: &Path, number: u64, size: u64) -> io::Result<Vec<u8>> {
    let from = number * PART as u64;
    let length = (size - from).min(PART as u64);
    let mut content = Vec::new();
    if length == 0 {
        return Ok(content);
    }
    let mut file = File::open(PathBuf::from(path))?;
    io::Seek::seek(&mut file, io::SeekFrom::Start(from))?;
    file.take(length).read_to_end(&mut content)?;
    Ok(content)
}
