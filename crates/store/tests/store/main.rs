//! What every store promises, and what SQLite adds: places, opening, several processes. One program.

mod chain;
mod contract;
mod equivalence;
mod opening;
mod places;
mod processes;
mod stores;
mod support;
