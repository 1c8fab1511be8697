//! When what was said: the index beside a transcript.

use jiff::Timestamp;

use crate::data::TurnFiles;

/// When which part of a transcript was written, from the index beside it.
#[derive(Debug)]
pub(super) struct Times {
    files: TurnFiles,
    file: Option<std::fs::File>,
    read: u64,
    last: Option<(u64, Timestamp)>,
}

impl Times {
    pub(super) fn new(files: &TurnFiles) -> Self {
        Self { files: files.clone(), file: None, read: 0, last: None }
    }

    /// The time of the last record at or before `offset`; offsets only grow.
    pub(super) fn at(&mut self, offset: u64) -> Timestamp {
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
