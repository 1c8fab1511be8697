//! The subcommands with code of their own.

pub mod desk;
pub mod queue;
pub mod workers;
