//! How lively a loop is: when its agents last wrote, and how much in each of the last minutes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use jiff::Timestamp;
use windlass_core::ids::LoopId;

use crate::data::{DataDir, TurnFiles};

/// How long one interval is.
pub(crate) const INTERVAL_MS: i64 = 30_000;
const INTERVALS: usize = 20;
const RECORD: u64 = 16;
/// More records than that are not checked.
const MOST_RECORDS: u64 = 4_096;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    /// Bytes of output in each interval, oldest first.
    pub intervals: Vec<u64>,
    pub last_at: Option<Timestamp>,
}

/// How much the latest turn of a loop has written so far.
pub fn written(data: &DataDir, id: &str) -> u64 {
    let Some(files) = latest_turn(data, id) else { return 0 };
    std::fs::metadata(files.stdout()).map_or(0, |meta| meta.len())
}

pub fn activity(data: &DataDir, id: &str, now: Timestamp) -> Activity {
    latest_turn(data, id).and_then(|files| of_turn(&files, now)).unwrap_or_default()
}

/// The directory that was made last; a loop has one for each turn.
fn latest_turn(data: &DataDir, id: &str) -> Option<TurnFiles> {
    let dir: PathBuf = data.transcripts(&LoopId(id.to_owned()));
    let entries = std::fs::read_dir(dir).ok()?.flatten();
    let times = entries.filter_map(|entry| {
        let files = TurnFiles { dir: entry.path() };
        let written = std::fs::metadata(files.stdout()).and_then(|meta| meta.modified()).ok()?;
        // Gates write as well, but are no turns.
        files.times().is_file().then_some((written, files))
    });
    times.max_by_key(|(written, _)| *written).map(|(_, files)| files)
}

fn of_turn(files: &TurnFiles, now: Timestamp) -> Option<Activity> {
    let file = File::open(files.times()).ok()?;
    let records = file.metadata().ok()?.len() / RECORD;
    let first = records.saturating_sub(MOST_RECORDS);
    let mut bytes = vec![0; usize::try_from((records - first) * RECORD).ok()?];
    file.read_exact_at(&mut bytes, first * RECORD).ok()?;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    // Each says where it started and when; what came then ends where the next one starts.
    let stretches = bytes
        .chunks_exact(usize::try_from(RECORD).ok()?)
        .map(|record| (number(&record[..8]), i64::try_from(number(&record[8..])).unwrap_or(0)));
    let end = std::fs::metadata(files.stdout()).ok()?.len();
    let ends = stretches.clone().skip(1).map(|(from, _)| from).chain([end]);
    let mut activity = Activity { intervals: vec![0; INTERVALS], last_at: None };
    for ((from, ms), until) in stretches.zip(ends) {
        activity.last_at = Timestamp::from_millisecond(ms).ok().or(activity.last_at);
        let back = (now.as_millisecond() - ms).max(0) / INTERVAL_MS;
        if let Some(index) = usize::try_from(back).ok().and_then(|back| INTERVALS.checked_sub(back + 1)) {
            activity.intervals[index] += until.saturating_sub(from);
        }
    }
    Some(activity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_counts_where_it_came_also_what_came_last() {
        let dir = tempfile::tempdir().unwrap();
        let files = TurnFiles { dir: dir.path().to_owned() };
        let now = Timestamp::from_millisecond(10_000_000).unwrap();
        let records = [(0_u64, 10_000_000 - 2 * INTERVAL_MS), (300, 10_000_000 - 1)];
        let bytes: Vec<u8> = records
            .iter()
            .flat_map(|(from, ms)| [from.to_le_bytes(), u64::try_from(*ms).unwrap().to_le_bytes()].concat())
            .collect();
        std::fs::write(files.times(), bytes).unwrap();
        std::fs::write(files.stdout(), vec![b'x'; 1000]).unwrap();
        let seen = of_turn(&files, now).unwrap();
        assert_eq!(seen.intervals[INTERVALS - 3..], [300, 0, 700]);
        assert_eq!(seen.last_at, Timestamp::from_millisecond(10_000_000 - 1).ok());
    }
}
