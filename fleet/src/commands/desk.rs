//! `windlass-fleet serve`: a desk.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use windlass_fleet::desk;
use windlass_fleet::submit;
use windlass_fleet::worker::Failure;
use windlass_server::{ListenOptions, Tls};

use crate::{Address, host_name, log_to_stderr};

#[derive(Debug, Args)]
pub struct DeskArgs {
    #[command(flatten)]
    at: Address,
    /// The desk's own directory: logins, copies of output, mirrors
    #[arg(long)]
    data: PathBuf,
    /// The desk's name in lists. Default: the host name
    #[arg(long)]
    name: Option<String>,
    /// Remove copies of output that did not change for so many days. They are fetched again when somebody reads them
    #[arg(long, value_name = "N", default_value_t = 7)]
    keep_days: u32,
    /// Port to listen on [default: 4747, or the next free port up to 4756]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Address to listen on; any but localhost requires TLS or --insecure-no-tls [default: localhost]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// TLS certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// TLS private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Allow remote connections without TLS, for use behind a TLS proxy or tunnel
    #[arg(long, conflicts_with = "tls_cert")]
    insecure_no_tls: bool,
    /// Host name that browsers may use to reach the desk. Repeatable
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Maximum number of connections. At the limit, the desk closes idle connections first
    #[arg(long, value_name = "N", default_value = "2048", value_parser = clap::value_parser!(u16).range(1..))]
    max_connections: u16,
}

pub async fn serve(args: DeskArgs) -> Result<ExitCode, Failure> {
    log_to_stderr();
    desk::serve(desk::Options {
        database: args.at.database,
        hub: submit::hub(&args.at.hub)?,
        data: args.data,
        name: args.name.unwrap_or_else(host_name),
        keep: Duration::from_secs(u64::from(args.keep_days) * 86_400),
        listen: ListenOptions {
            listen: args.listen,
            port: args.port,
            tls: args.tls_cert.zip(args.tls_key).map(|(certificate, key)| Tls { certificate, key }),
            insecure: args.insecure_no_tls,
            allow_hosts: args.allow_host,
            max_connections: usize::from(args.max_connections),
        },
    })
    .await?;
    Ok(ExitCode::SUCCESS)
}
