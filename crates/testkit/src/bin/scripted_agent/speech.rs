//! Writing to the two output streams.
//!
//! Invariant: one call is one `write` for anything that fits the pipe, with no buffer in between, so that the
//! script decides where the reader sees borders.

use std::os::fd::RawFd;

use rustix::fd::BorrowedFd;
use windlass_testkit::script::{Flood, FloodStream};

pub(crate) const STDOUT: RawFd = 1;
pub(crate) const STDERR: RawFd = 2;

pub(crate) fn write_all(fd: RawFd, mut bytes: &[u8]) -> Result<(), String> {
    // SAFETY: only called with the two standard streams, which stay open for the life of the process.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    while !bytes.is_empty() {
        match rustix::io::write(fd, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(format!("cannot write: {e}")),
        }
    }
    Ok(())
}

/// Writes `bytes` bytes as fast as the reader takes them.
pub(crate) fn flood(flood: &Flood) -> Result<(), String> {
    const BUFFER: u64 = 1 << 17;
    let fd = match flood.stream {
        FloodStream::Stdout => STDOUT,
        FloodStream::Stderr => STDERR,
    };
    // The buffer holds whole lines, so that writing it again and again keeps the borders. A line longer than the
    // buffer makes the buffer as long as the line.
    let length = if flood.line == 0 { BUFFER } else { BUFFER.div_ceil(flood.line) * flood.line };
    let length = usize::try_from(length.min(flood.bytes)).map_err(|e| e.to_string())?;
    let mut buffer = vec![b'x'; length];
    if let Ok(line) = usize::try_from(flood.line)
        && line > 0
    {
        buffer.iter_mut().skip(line - 1).step_by(line).for_each(|b| *b = b'\n');
    }
    let mut left = flood.bytes;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        write_all(fd, &buffer[..now])?;
        left -= now as u64;
    }
    Ok(())
}
