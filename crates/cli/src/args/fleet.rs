//! Commands of `windlass-fleet`, a program of its own.

use std::ffi::OsString;

use clap::Args;

/// Run loops on many machines: run, list, try, doctor, store
///
/// Starts windlass-fleet, which is beside this program or on PATH.
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "\
Examples:
  windlass fleet try             a whole fleet on this machine, for a minute
  windlass fleet doctor
  windlass fleet --help")]
pub struct FleetArgs {
    /// A command of windlass-fleet with its options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub words: Vec<OsString>,
}

/// Drive loops of a fleet on this machine, as windlass-fleet worker does
#[derive(Debug, Clone, Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "\
Examples:
  windlass worker --slots 4 --data /var/lib/windlass-worker
  windlass worker --help")]
pub struct WorkerArgs {
    /// Options of windlass-fleet worker
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    pub words: Vec<OsString>,
}
