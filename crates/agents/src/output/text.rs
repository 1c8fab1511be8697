//! Text out of bytes: terminal escapes removed, UTF-8 decoded, whatever the chunks are.

use memchr::memchr;

/// Decodes a stream. What is not UTF-8 becomes U+FFFD; a character cut by a chunk's end waits for its rest.
#[derive(Debug, Default)]
pub(crate) struct TextDecoder {
    escape: Escape,
    rest: Vec<u8>,
}

/// Where in a terminal escape sequence the stream is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// After ESC.
    Begun,
    /// After ESC and an intermediate character, as in `ESC ( B`.
    Short,
    /// After `ESC [`, up to its final letter.
    Control,
    /// After `ESC ]` and the like, up to BEL or `ESC \\`.
    Text,
    TextEnding,
}

impl TextDecoder {
    pub(crate) fn push(&mut self, bytes: &[u8], text: &mut String) {
        let decoded = self.decode(bytes);
        // Most output has no escapes; looking for one is much cheaper than stepping through every character.
        if self.escape == Escape::None && memchr(0x1b, decoded.as_bytes()).is_none() {
            text.push_str(&decoded);
        } else {
            text.extend(decoded.chars().filter(|c| self.escape.shows(*c)));
        }
    }

    pub(crate) fn finish(&mut self, text: &mut String) {
        if !std::mem::take(&mut self.rest).is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn decode(&mut self, bytes: &[u8]) -> String {
        let mut joined = std::mem::take(&mut self.rest);
        joined.extend_from_slice(bytes);
        let keep = incomplete_tail(&joined);
        self.rest = joined.split_off(joined.len() - keep);
        match String::from_utf8(joined) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}

impl Escape {
    /// Skips one character and returns whether it is text. A new line ends any sequence: one that never ends must
    /// not swallow the rest of the output.
    fn shows(&mut self, c: char) -> bool {
        let (next, shown) = match (*self, c) {
            (_, '\n') => (Escape::None, true),
            (Escape::None, '\x1b') => (Escape::Begun, false),
            (Escape::None, _) => (Escape::None, true),
            (Escape::Begun, '[') => (Escape::Control, false),
            (Escape::Begun, ']' | 'P' | 'X' | '^' | '_') => (Escape::Text, false),
            (Escape::Begun, ' '..='/') => (Escape::Short, false),
            (Escape::Begun | Escape::Short | Escape::Control, '\x1b') => (Escape::Begun, false),
            (Escape::Begun | Escape::Short, _) => (Escape::None, false),
            (Escape::Control, '@'..='~') => (Escape::None, false),
            (Escape::Control, _) => (Escape::Control, false),
            (Escape::Text | Escape::TextEnding, '\x07') => (Escape::None, false),
            (Escape::Text | Escape::TextEnding, '\x1b') => (Escape::TextEnding, false),
            (Escape::TextEnding, '\\') => (Escape::None, false),
            (Escape::Text | Escape::TextEnding, _) => (Escape::Text, false),
        };
        *self = next;
        shown
    }
}

/// How many bytes at the end are the start of a character whose rest is still to come.
fn incomplete_tail(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => return 0,
        };
        return if length > back { back } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(input: &[u8], chunk: usize) -> String {
        let mut decoder = TextDecoder::default();
        let mut text = String::new();
        for part in input.chunks(chunk) {
            decoder.push(part, &mut text);
        }
        decoder.finish(&mut text);
        text
    }

    #[test]
    fn text_does_not_depend_on_the_chunks() {
        let input = "plain 日本語 \u{1f980}, ünï\n".as_bytes();
        for chunk in 1..=input.len() {
            assert_eq!(decode(input, chunk).as_bytes(), input, "chunk {chunk}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf_8_are_replaced_and_nothing_else_is_lost() {
        let shift_jis = b"before \x93\xfa\x96{ after\n";
        for chunk in 1..=shift_jis.len() {
            let text = decode(shift_jis, chunk);
            assert!(text.starts_with("before \u{fffd}"), "{text:?}");
            assert!(text.ends_with("{ after\n"), "{text:?}");
        }
        assert_eq!(decode(b"cut \xe6\x97", 100), "cut \u{fffd}");
    }

    #[test]
    fn escapes_are_removed_wherever_they_are_cut() {
        let input = b"\x1b[1;32m<promise>\x1b[0mDONE\x1b]8;;http://x\x07</promise>\x1b[K\nend";
        for chunk in 1..=input.len() {
            assert_eq!(decode(input, chunk), "<promise>DONE</promise>\nend", "chunk {chunk}");
        }
    }
}
