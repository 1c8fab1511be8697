//! The command line of Windlass.

pub mod args;
