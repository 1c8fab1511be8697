//! Output of turns: shipped by the worker that drives a loop, copied by whoever reads it.
//!
//! Invariant: the files of a turn are the same on every machine as far as they are there, so the readers of one machine
//! read them without knowing whose they are.

mod replica;
mod ship;
mod wire;

use std::path::PathBuf;

use windlass_engine::data::TurnFiles;

pub(crate) use replica::Replica;
pub(crate) use ship::Shipper;
pub(crate) use wire::Wire;

/// How many files of a turn are shipped.
pub(crate) const FILES: usize = 5;
/// Written when the turn is over.
const EXIT_RECORD: usize = 4;

/// What an archive calls them.
pub(crate) const NAMES: [&str; FILES] = ["times", "stdout", "stderr", "prompt.md", "exit.json"];

/// The files of a turn by their number in the database, which never changes. Times come before what they are the times of.
pub(crate) fn paths(files: &TurnFiles) -> [PathBuf; FILES] {
    [files.times(), files.stdout(), files.stderr(), files.prompt(), files.exit_record()]
}
