//! `windlass serve`, and the logins of its server.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use windlass_engine::config::Millis;

use super::values::setting;

/// Run the server: background loops, dashboard, and API
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  windlass serve
  windlass serve --port 8080
  windlass serve --listen 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host build.example
  windlass serve --drain 30m     on Ctrl-C, let running turns end first
  windlass serve --once          no dashboard; exit when nothing is left to do
  windlass serve link            print another login link while the server runs

Listens on localhost only, on port 4747 or the next free port, and prints a login link that works once, for 10 minutes. \
Shows the loops of every project, including those started from a terminal.

Resumes waiting loops when their wait is over. In projects with auto_start = true in .windlass/config.toml, starts \
pending milestones one at a time, in order or oldest first, on the schedule in wake. Loops that need your review keep \
waiting.

After Ctrl-C or a crash, every loop can be resumed. The next 'windlass serve' resumes waiting loops and interrupted \
milestones. Resume other interrupted loops with 'windlass resume', or set recover = true to resume them automatically.")]
pub struct ServeArgs {
    /// Exit when no loop is running; do not listen
    #[arg(long)]
    pub once: bool,
    /// On Ctrl-C or SIGTERM, start nothing new and wait up to this time (such as 30m) for running turns and gates
    #[arg(long, value_name = "D", value_parser = setting::<Millis>)]
    pub drain: Option<Millis>,
    /// Port to listen on [default: 4747, or the next free port up to 4756]
    #[arg(long, value_name = "N", conflicts_with = "once")]
    pub port: Option<u16>,
    /// Address to listen on; any but localhost requires TLS or --insecure-no-tls [default: localhost]
    #[arg(long, value_name = "ADDR", conflicts_with = "once")]
    pub listen: Option<String>,
    /// TLS certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// TLS private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Allow remote connections without TLS, for use behind a TLS proxy or tunnel
    #[arg(long, conflicts_with = "tls_cert")]
    pub insecure_no_tls: bool,
    /// Host name that browsers may use to reach the server. Repeatable
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Maximum number of connections. At the limit, the server closes idle connections first
    #[arg(long, value_name = "N", default_value = "2048", value_parser = clap::value_parser!(u16).range(1..))]
    pub max_connections: u16,
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
}

/// Manage logins to the server of this data directory.
#[derive(Debug, Clone, Subcommand)]
pub enum ServeCommand {
    /// Print a login link for one browser, or for --server on another machine
    #[command(after_help = "\
Examples:
  windlass serve link
  windlass serve link --json

The link works once, for 10 minutes. Requires a running server.")]
    Link {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Sessions(SessionsArgs),
    /// Log out all browsers and clients; with --server, only this machine's session
    #[command(after_help = "\
Examples:
  windlass serve logout
  windlass --server https://build.example:4747 serve logout")]
    Logout {
        /// Print a JSON array of the ended sessions
        #[arg(long)]
        json: bool,
    },
}

/// List or revoke logins of browsers and clients
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass serve sessions
  windlass serve sessions --revoke 1f09a3c4
  windlass serve sessions --revoke --all

Sessions expire after 30 days without use. Revoking takes effect immediately.")]
pub struct SessionsArgs {
    /// Log out the session ID
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    pub revoke: Option<Option<String>>,
    /// With --revoke, log out all sessions
    #[arg(long)]
    pub all: bool,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}

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
