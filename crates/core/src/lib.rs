//! The pure machine of Windlass.
//!
//! Everything here is a function of its arguments: no clock, file, environment, network or process. What the
//! machine decides is data (events), and what should be under way is data too (effects); the engine performs it.

pub mod command;
