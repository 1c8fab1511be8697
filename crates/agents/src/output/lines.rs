//! Lines out of bytes, in bounded memory.

use memchr::memchr;

/// Splits a stream into lines; a line longer than the cap is cut to it and marked.
#[derive(Debug)]
pub(crate) struct LineSplitter {
    line: Vec<u8>,
    cap: usize,
    cut: bool,
}

impl LineSplitter {
    pub(crate) fn new(cap: usize) -> Self {
        Self { line: Vec::new(), cap, cut: false }
    }

    /// Calls `each` with every line that ends in `bytes`, without its end, and whether it was cut.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(&[u8], bool)) {
        while let Some(end) = memchr(b'\n', bytes) {
            if self.line.is_empty() && !self.cut && end <= self.cap {
                each(without_return(&bytes[..end]), false);
            } else {
                self.extend(&bytes[..end]);
                self.flush(&mut each);
            }
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// The last line, if it had no end.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8], bool)) {
        if !self.line.is_empty() {
            self.flush(&mut each);
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = self.cap - self.line.len();
        self.cut |= bytes.len() > room;
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn flush(&mut self, each: &mut impl FnMut(&[u8], bool)) {
        let line = std::mem::take(&mut self.line);
        each(without_return(&line), std::mem::take(&mut self.cut));
    }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(input: &[u8], chunk: usize, cap: usize) -> Vec<(Vec<u8>, bool)> {
        let mut splitter = LineSplitter::new(cap);
        let mut lines = Vec::new();
        for part in input.chunks(chunk) {
            splitter.push(part, |line, cut| lines.push((line.to_vec(), cut)));
        }
        splitter.finish(|line, cut| lines.push((line.to_vec(), cut)));
        lines
    }

    #[test]
    fn lines_do_not_depend_on_the_chunks() {
        let input = b"one\r\n\ntwo three\nlast";
        let whole = split(input, input.len(), 100);
        assert_eq!(
            whole.iter().map(|(line, _)| line.as_slice()).collect::<Vec<_>>(),
            [b"one".as_slice(), b"", b"two three", b"last"]
        );
        for chunk in 1..input.len() {
            assert_eq!(split(input, chunk, 100), whole);
        }
    }

    #[test]
    fn a_line_over_the_cap_is_cut_and_said_to_be() {
        for chunk in 1..30 {
            let lines = split(b"abcdefghijkl\nxy\n", chunk, 5);
            assert_eq!(lines, [(b"abcde".to_vec(), true), (b"xy".to_vec(), false)], "chunk {chunk}");
        }
    }
}
