//! `windlass serve`, and the logins of its server.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Run loops in the background, and show them: the dashboard and the API
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Examples:
  windlass serve
  windlass serve --port 8080
  windlass serve --listen 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host build.example
  windlass serve --once     no dashboard: until nothing is left to do
  windlass serve link       while it runs: print another login link

It listens on this machine only, on port 4747 or the next free one, and prints a link that logs one browser in within
10 minutes. Loops of every project are shown, whoever drives them.

Waiting loops go on when their time has come. In a project with auto_start = true in .windlass/config.toml the pending
milestones are started, oldest first or by their order, one at a time, and on the schedule in wake. A loop that waits
for a person stays as it is.

Ctrl-C, or a crash, leaves all loops resumable. The next 'windlass serve' takes up loops that wait, and milestones that
were cut off in the middle of a turn; other loops that were cut off go on with 'windlass resume', or by themselves with
recover = true in the settings.")]
pub struct ServeArgs {
    /// Leave when nothing runs any more; listens nowhere
    #[arg(long)]
    pub once: bool,
    /// The port [default: 4747, or the next free one up to 4756]
    #[arg(long, value_name = "N", conflicts_with = "once")]
    pub port: Option<u16>,
    /// Another address than this machine's own; needs TLS, or --insecure-no-tls
    #[arg(long, value_name = "ADDR", conflicts_with = "once")]
    pub listen: Option<String>,
    /// The certificate with its chain, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Let others reach it without TLS: for a proxy or a tunnel that has TLS
    #[arg(long, conflicts_with = "tls_cert")]
    pub insecure_no_tls: bool,
    /// A name under which browsers may reach it; can be given more than once
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Connections at a time; where all are taken, silent ones leave first
    #[arg(long, value_name = "N", default_value = "2048", value_parser = clap::value_parser!(u16).range(1..))]
    pub max_connections: u16,
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
}

/// Logins of the server of this data directory.
#[derive(Debug, Clone, Subcommand)]
pub enum ServeCommand {
    /// Print a login link for one browser, or for --server on another machine
    #[command(after_help = "\
Examples:
  windlass serve link
  windlass serve link --json

The link holds a code that works once, for 10 minutes. The server has to run.")]
    Link {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Sessions(SessionsArgs),
    /// Log every browser and client out; with --server, end this machine's session on that server
    #[command(after_help = "\
Examples:
  windlass serve logout
  windlass --server https://build.example:4747 serve logout")]
    Logout {
        /// Print a JSON array of the sessions that ended
        #[arg(long)]
        json: bool,
    },
}

/// List the browsers and clients that are logged in, or log them out
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass serve sessions
  windlass serve sessions --revoke 1f09a3c4
  windlass serve sessions --revoke --all

A session ends after 30 days without use. Revoking one takes effect at once.")]
pub struct SessionsArgs {
    /// Log this session out
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    pub revoke: Option<Option<String>>,
    /// Log every session out
    #[arg(long)]
    pub all: bool,
    /// Print a JSON array
    #[arg(long)]
    pub json: bool,
}
