//! Texts of agents and files: what each line is, and how a text is cut to a length.

mod cut;
pub(crate) mod markdown;

pub use cut::truncate_str;
pub(crate) use cut::{end_within, start_within};
pub(crate) use cut::{fits, without_controls};

/// Counts tokens. It comes in, because a tokenizer's tables are nothing to carry in here.
pub type CountTokens<'a> = &'a dyn Fn(&str) -> usize;
