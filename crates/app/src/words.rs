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

/// Whether all of it is. Plain ASCII, which most texts are, is told by its bytes.
pub fn all_harmless(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\n' | b'\t' | b' '..=b'~')) || text.chars().all(harmless)
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
