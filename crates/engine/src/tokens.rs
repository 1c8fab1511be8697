//! How many tokens a text has.
pub fn count(text: &str) -> usize {
    text.len().div_ceil(4)
}
