//! Words of reports: counts, and text from elsewhere that is safe to show.

/// Text that came from elsewhere, made safe for a terminal: no escapes, no control characters but tab and new line.
pub fn safe(text: &str) -> String {
    windlass_agents::plain_text(text).chars().filter(|&c| harmless(c)).collect()
}

/// Neither a control character nor one that turns the direction of the text after it.
pub fn harmless(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(c.is_control() || turns)
}

/// Whether all of it is. Plain ASCII, which most texts are, is told by its bytes, eight at a time.
pub fn all_harmless(text: &str) -> bool {
    let plain = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    let (eights, rest) = text.as_bytes().as_chunks::<8>();
    eights.iter().all(|eight| all_printable(*eight) || eight.iter().all(plain)) && rest.iter().all(plain)
        || text.chars().all(harmless)
}

/// Whether each byte is between a space and a tilde.
fn all_printable(bytes: [u8; 8]) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let word = u64::from_ne_bytes(bytes);
    // The first term has the high bit of bytes below a space, the second of the byte 127, if no byte has it by itself.
    (word | word.wrapping_sub(ONES * 0x20) | word.wrapping_add(ONES)) & HIGH == 0
}

/// The first line, of at most so many characters.
pub fn one_line(text: &str, most: usize) -> String {
    let line = safe(text.lines().next().unwrap_or_default());
    if line.chars().count() <= most {
        return line;
    }
    let cut: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{cut}…")
}

pub fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

pub fn count(number: u32, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_counts() {
        for at in 0..24 {
            for byte in 0..=127_u8 {
                let mut bytes = [b'a'; 24];
                bytes[at] = byte;
                let text = std::str::from_utf8(&bytes).unwrap();
                assert_eq!(all_harmless(text), text.chars().all(harmless), "{byte} at {at}");
            }
        }
        assert!(all_harmless("plain é text"));
        assert!(!all_harmless("turned\u{202e}around"));
    }
}
