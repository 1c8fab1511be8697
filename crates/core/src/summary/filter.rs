//! What of a turn's words is no part of what the agent did in it.
//!
//! Reminders that were put into a message are taken out of it; a message that is nothing else disappears.

/// Blocks that the harness or an earlier iteration put there.
const BLOCKS: [(&str, &str); 5] = [
    ("<system-reminder>", "</system-reminder>"),
    ("<system_reminder>", "</system_reminder>"),
    ("<task_context>", "</task_context>"),
    ("<summary>", "</summary>"),
    ("<environment_context>", "</environment_context>"),
];

/// Beginnings of messages that an agent's program writes in the assistant's place.
const SYNTHETIC: [&str; 5] = [
    "[Request interrupted by user",
    "No response requested.",
    "Prompt is too long",
    "Credit balance is too low",
    "Claude AI usage limit reached",
];

/// Beginnings of what replaces an earlier part of the conversation.
const CARRIED_OVER: [&str; 3] = [
    "This session is being continued from a previous conversation",
    "Conversation compacted",
    "Another language model started to solve this problem",
];

/// Past this, a message that starts like a synthetic one is a real one that quotes it.
const LONGEST_SYNTHETIC: usize = 1_000;

/// The assistant's own words of a message, empty if there are none.
pub(super) fn own_words(text: &str) -> String {
    let words = without_blocks(text, usize::MAX);
    let words = words.trim();
    let synthetic = words.len() <= LONGEST_SYNTHETIC
        && (is_api_error(words) || SYNTHETIC.iter().any(|beginning| words.starts_with(beginning)));
    let carried_over = CARRIED_OVER.iter().any(|beginning| words.starts_with(beginning));
    if synthetic || carried_over || is_progress(words) { String::new() } else { words.to_owned() }
}

/// `API Error: 529 {…}` and its like; not "API errors are handled now".
pub(super) fn is_api_error(words: &str) -> bool {
    let Some(rest) = words.strip_prefix("API Error") else { return false };
    let rest = rest.trim_start_matches([':', ' ', '(']);
    ["Connection", "Request", "Overloaded", "Internal", "{"].iter().any(|cause| rest.starts_with(cause))
        || rest.chars().take_while(char::is_ascii_digit).count() == 3
}

/// Nothing but spinners, bars and dots.
fn is_progress(words: &str) -> bool {
    !words.is_empty() && !words.chars().any(char::is_alphabetic) && !words.chars().any(|c| c.is_ascii_digit())
        || words.strip_suffix('%').is_some_and(|number| number.trim().parse::<f32>().is_ok())
}

/// The text without the blocks; stops reading when `enough` bytes are gathered.
pub(super) fn without_blocks(text: &str, enough: usize) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while kept.len() < enough {
        let found = BLOCKS.iter().filter_map(|(open, close)| Some((next(rest, open, enough)?, *open, *close)));
        let Some((at, open, close)) = found.min_by_key(|(at, ..)| *at) else {
            kept.push_str(&rest[..rest.floor_char_boundary(enough)]);
            break;
        };
        kept.push_str(&rest[..at]);
        // Without its end the block is cut off, and so is whatever came after it.
        let inside = &rest[at + open.len()..];
        rest = inside.find(close).map_or("", |end| &inside[end + close.len()..]);
    }
    // The start of a long message is cut off, and an opening mark with it.
    for (open, close) in BLOCKS {
        if let Some(end) = kept.find(close)
            && !text.contains(open)
        {
            kept.drain(..end + close.len());
        }
    }
    kept
}

/// Where a mark starts, looking no further than matters.
fn next(text: &str, mark: &str, enough: usize) -> Option<usize> {
    let most = text.floor_char_boundary(enough.saturating_add(mark.len()));
    text[..most].find(mark)
}
