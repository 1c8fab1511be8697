//! The pure machine of Windlass.
//!
//! Everything here is a function of its arguments: no clock, file, environment, network or process. What the
//! machine decides is data (events), and what should be under way is data too (effects); the engine performs it.

pub mod agent;
pub mod commit_message;
pub mod duration;
pub mod findings;
pub mod group;
pub mod ids;
pub mod machine;
pub mod milestone;
pub mod nearest;
pub mod plan;
pub mod profile;
pub mod promise;
pub mod prompt;
pub mod residue;
pub mod resources;
pub mod review;
pub mod sandbox;
pub mod size;
pub mod spec;
pub mod stop;
pub mod summary;
pub mod text;
pub mod trouble;
pub mod usage;
