//! A desk: the server and its pages over the fleet's store. It drives nothing, so it needs no agent and no workspace.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use windlass_app::{Context, Local};
use windlass_engine::engine::{Engine, EngineError};
use windlass_server::{CODE_MINUTES, Facts, ListenOptions, Listener, Logins, Running, Secret, server_file};
use windlass_store::ProcessIdentity;

use crate::station::FleetStation;
use crate::store::PgStore;
use crate::submit::{Workers, failure};
use crate::worker::{Failure, Who, engine, keep_alive};

/// Copies of output are looked through for old ones so often.
const SWEEP: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub struct Options {
    pub database: String,
    pub hub: String,
    /// The desk's own directory: logins, copies of output, mirrors.
    pub data: PathBuf,
    pub name: String,
    /// Copies of output that are older are removed, and fetched again when somebody reads them.
    pub keep: Duration,
    pub listen: ListenOptions,
}

/// Serves until SIGINT or SIGTERM.
pub async fn serve(options: Options) -> Result<(), Failure> {
    let store = PgStore::connect(&options.database).await?;
    let (engine, station) =
        engine(store.clone(), &options.data, &options.hub, Who::Desk { name: &options.name }, None).await?;
    let data = engine.data.root().to_owned();
    if let Some(other) = Running::find(&data) {
        let what = format!("process {} already serves {}, at {}", other.process.pid, data.display(), other.url);
        return Err(format!("{what}\nhint: stop it, or use another directory").into());
    }
    let logins = Logins::of(&data);
    let secret = Secret::of(&data, !logins.exist())?;
    let listener = Listener::bind(options.listen).await.map_err(|error| format!("{error}\nhint: {}", error.hint()))?;
    let url = listener.url();
    let process = ProcessIdentity::current().ok_or(EngineError::Identity)?;
    Running { url: url.clone(), process, surroundings: String::new() }.write(&data)?;
    let code = logins.new_code(engine.clock.now())?;
    say(&format!(
        "listening on {url}\n  open     {url}/#code={}\n           works once, within {CODE_MINUTES} minutes",
        code.text
    ));
    let mut context = Context::new(None).map_err(failure)?;
    context.paths.data.clone_from(&data);
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        address: url,
        project: None,
        sandbox: None,
        started_at: engine.clock.now(),
    };
    let changes = station.wire().await?.any();
    let (leave, shutdown) = watch::channel(false);
    let beating = keep_alive(Arc::clone(&engine), Arc::clone(&station));
    let worker = station.worker.clone();
    let sweeping = tokio::spawn(sweep(station, options.keep));
    tokio::spawn(told_to_leave(leave));
    let local = Local::on(context, Arc::clone(&engine), Arc::new(Workers));
    serving(listener, engine, local, (secret, logins), facts, changes, shutdown).await;
    beating.abort();
    sweeping.abort();
    store.leave(&worker).await?;
    let _ = std::fs::remove_file(server_file(&data));
    Ok(())
}

async fn serving(
    listener: Listener,
    engine: Arc<Engine>,
    local: Local,
    logins: (Secret, Logins),
    facts: Facts,
    changes: watch::Receiver<u64>,
    shutdown: watch::Receiver<bool>,
) {
    let driving = Arc::new(AtomicUsize::new(0));
    listener.serve(engine, (local, driving), logins, facts, changes, shutdown).await;
}

/// Whoever started the desk may no longer listen, which is no reason to end.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

async fn sweep(station: Arc<FleetStation>, keep: Duration) {
    let mut each = tokio::time::interval(SWEEP);
    loop {
        each.tick().await;
        let replica = Arc::clone(&station.replica);
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || replica.forget_older_than(keep)).await {
            tracing::warn!(%error, "cannot remove old copies of output");
        }
    }
}

async fn told_to_leave(leave: watch::Sender<bool>) {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    leave.send_replace(true);
}
