//! Groups of loops in the terminal.

pub mod tries;
