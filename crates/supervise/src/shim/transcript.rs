//! The files that the child's output goes to.
//!
//! Invariant: bytes arrive in the file in order and unchanged but for secrets, of which no byte ever reaches
//! the disk; an offset is reported only after the bytes before it are in the file. Memory does not grow with the
//! output. A failed write is an error for the caller; output is never dropped silently.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_redact::secrets::{Redactor, Rules};

/// How much of the end of a capped stream is kept.
const TAIL: usize = 64 << 10;
const TIMES_APART: Duration = Duration::from_millis(50);

fn open_to_append(path: &Path) -> io::Result<File> {
    // What an agent prints may be private.
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

/// One stream's file, behind the stage that every byte passes on its way there.
#[derive(Debug)]
pub(super) struct Transcript {
    redactor: Redactor,
    sink: Sink,
}

impl Transcript {
    pub(super) fn open(path: &Path, cap: Option<u64>, rules: &Rules) -> io::Result<Self> {
        Ok(Self { redactor: Redactor::new(rules.clone()), sink: Sink::open(path, cap)? })
    }

    /// Length of the file.
    pub(super) fn offset(&self) -> u64 {
        self.sink.offset
    }

    pub(super) fn take(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.sink.take(self.redactor.push(chunk))
    }

    /// Writes what was kept back.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.sink.take(self.redactor.finish())?;
        self.sink.close()
    }
}

#[derive(Debug)]
struct Sink {
    file: File,
    offset: u64,
    /// How much may still go to the file, if there is a cap.
    head_left: Option<u64>,
    tail: VecDeque<u8>,
    left_out: u64,
}

impl Sink {
    fn open(path: &Path, cap: Option<u64>) -> io::Result<Self> {
        let file = open_to_append(path)?;
        let offset = file.metadata()?.len();
        Ok(Self { file, offset, head_left: cap, tail: VecDeque::new(), left_out: 0 })
    }

    fn take(&mut self, chunk: &[u8]) -> io::Result<()> {
        let Some(head_left) = self.head_left else { return self.write(chunk) };
        let split = chunk.len().min(usize::try_from(head_left).unwrap_or(usize::MAX));
        let (head, rest) = chunk.split_at(split);
        self.head_left = Some(head_left - split as u64);
        self.write(head)?;
        self.keep_tail(rest);
        Ok(())
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        self.tail.extend(bytes);
        let surplus = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..surplus);
        self.left_out += surplus as u64;
    }

    /// Writes the end of a capped stream.
    fn close(&mut self) -> io::Result<()> {
        let tail = std::mem::take(&mut self.tail);
        let left_out = std::mem::take(&mut self.left_out);
        if left_out > 0 {
            let marker = format!("\n[... {left_out} bytes omitted ...]\n");
            self.write(marker.as_bytes())?;
        }
        let (first, second) = tail.as_slices();
        self.write(first)?;
        self.write(second)
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.offset += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// When which part of stdout came.
#[derive(Debug)]
pub(super) struct Times {
    file: File,
    last: Option<Instant>,
}

impl Times {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: open_to_append(path)?, last: None })
    }

    /// Bytes from `offset` on come now.
    pub(super) fn note(&mut self, offset: u64) {
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < TIMES_APART) {
            return;
        }
        self.last = Some(now);
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut entry = [0; 16];
        entry[..8].copy_from_slice(&offset.to_le_bytes());
        entry[8..].copy_from_slice(&u64::try_from(unix.as_millis()).unwrap_or(0).to_le_bytes());
        // A convenience for viewers: not worth ending an agent for. A short entry is cut off again, or
        // all that follow would be out of step.
        if self.file.write(&entry).is_ok_and(|written| written < entry.len())
            && let Ok(metadata) = self.file.metadata()
        {
            let _ = self.file.set_len(metadata.len() / 16 * 16);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(cap: Option<u64>, input: &[u8], chunk: usize) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let mut transcript = Transcript::open(&path, cap, &Rules::default()).unwrap();
        for chunk in input.chunks(chunk) {
            transcript.take(chunk).unwrap();
        }
        transcript.close().unwrap();
        let content = std::fs::read(&path).unwrap();
        assert_eq!(content.len() as u64, transcript.offset());
        content
    }

    #[test]
    fn a_capped_stream_keeps_its_head_and_its_tail() {
        let input: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        for chunk in [1000, 65_536, 300_000] {
            let mut expected = input[..100].to_vec();
            let left_out = input.len() - 100 - TAIL;
            expected.extend(format!("\n[... {left_out} bytes omitted ...]\n").into_bytes());
            expected.extend(&input[input.len() - TAIL..]);
            assert_eq!(through(Some(100), &input, chunk), expected);
        }
    }

    #[test]
    fn nothing_is_marked_where_nothing_is_left_out() {
        let input = vec![7; 100 + TAIL];
        assert_eq!(through(Some(100), &input, 999), input);
        assert_eq!(through(Some(1 << 40), &input, 999), input);
        assert_eq!(through(None, &input, 999), input);
    }

    #[test]
    fn no_byte_of_a_secret_reaches_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let key = format!("ghp_{}", "aB3".repeat(12));
        let mut transcript = Transcript::open(&path, None, &Rules::default()).unwrap();
        for byte in format!("token {key}").bytes() {
            transcript.take(&[byte]).unwrap();
            assert!(!std::fs::read_to_string(&path).unwrap().contains("ghp"));
        }
        transcript.take(b" end\n").unwrap();
        transcript.close().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "token [redacted:github-token] end\n");
    }

    #[test]
    fn a_transcript_is_appended_to() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        std::fs::write(&path, "before ").unwrap();
        let mut transcript = Transcript::open(&path, None, &Rules::default()).unwrap();
        assert_eq!(transcript.offset(), 7);
        transcript.take(b"after\n").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"before after\n");
        assert_eq!(transcript.offset(), 13);
    }
}
