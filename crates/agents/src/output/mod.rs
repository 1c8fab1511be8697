//! What readers of an agent's output are made of: lines, texts, faults, usage and prices.

pub(crate) mod fault;
pub(crate) mod jsonl;
pub(crate) mod lines;
pub(crate) mod messages;
pub(crate) mod meter;
pub(crate) mod prices;
pub(crate) mod reset;
pub(crate) mod rounds;
pub(crate) mod text;
