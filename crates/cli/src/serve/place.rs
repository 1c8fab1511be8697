//! Where the server is: its socket, its token, and the file by which other commands find it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::watch;
use windlass_app::{Context, Local, Remote, Request, ResumeLoop, SandboxReport};
use windlass_core::ids::LoopId;
use windlass_engine::config::{Options, SandboxSupport};
use windlass_engine::engine::Engine;
use windlass_server::{
    CODE_MINUTES, Client, Facts, ListenError, ListenOptions, Listener, Logins, Running, Secret, Tls, server_file,
};
use windlass_store::ProcessIdentity;

use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::print;

/// What agents of two processes must find alike, for one to stand in for the other: programs and keys.
fn surroundings(context: &Context) -> String {
    let env = context.env.texts();
    let matters = |name: &str| name == "PATH" || name == "HOME" || name.contains("KEY") || name.contains("TOKEN");
    let text: Vec<String> =
        env.iter().filter(|(name, _)| matters(name)).map(|(name, value)| format!("{name}={value}")).collect();
    windlass_server::fingerprint(&text.join("\0"))
}

/// Leaves a loop that nobody drives to the server of this data directory. `false` if there is none that could take it:
/// then it is driven as without a server.
pub async fn hand_over(context: &Context, engine: &Engine, id: &LoopId) -> bool {
    let data = &context.paths.data;
    let Some(running) = Running::find(data) else { return false };
    let Ok(Some(secret)) = Secret::known(data) else { return false };
    if running.surroundings != surroundings(context) {
        tracing::info!("the server has a different environment; not using it");
        return false;
    }
    // A server with TLS has a certificate that only its user trusts.
    let client = Client::new(&running.url, secret.text()).ok().filter(|_| running.url.starts_with("http:"));
    let Some(client) = client else { return false };
    let resume = ResumeLoop { id: id.0.clone(), ..ResumeLoop::default() };
    match client.ask(ResumeLoop::NAME, serde_json::json!(resume)).await {
        Ok(_) => true,
        Err(error) => {
            tracing::info!(error = error.message, "the server refused the loop");
            // It may have taken it up by itself.
            matches!(engine.store.holder(&id.0).await, Ok(Some(lease)) if lease.drives())
        }
    }
}

/// A server that was started here.
#[derive(Debug)]
pub struct Served {
    task: tokio::task::JoinHandle<()>,
    file: PathBuf,
}

impl Served {
    /// Returns when the last request is answered.
    pub async fn left(self) {
        let _ = self.task.await;
        let _ = std::fs::remove_file(&self.file);
    }
}

impl From<ListenError> for Failure {
    fn from(error: ListenError) -> Self {
        Failure::of(Exit::Usage, &error, Some(error.hint()))
    }
}

/// Opens the server beside the drivers, and says where it is.
pub async fn open(
    args: &ServeArgs,
    engine: &Arc<Engine>,
    local: Local,
    driving: Arc<AtomicUsize>,
    project: Option<PathBuf>,
    changes: watch::Receiver<u64>,
    shutdown: watch::Receiver<bool>,
) -> Result<Served, Failure> {
    let context = &local.context;
    let data = &context.paths.data.clone();
    if let Some(other) = Running::find(data) {
        return Err(Failure::usage(
            format!("process {} already serves {}, at {}", other.process.pid, data.display(), other.url),
            format!("use that server or stop it; if its machine is gone, remove {}", server_file(data).display()),
        ));
    }
    more_files();
    let logins = Logins::of(data);
    // Before there were sessions, browsers kept the token in a cookie, which every port of this machine gets to see.
    let secret = Secret::of(data, !logins.exist())?;
    let tls = args.tls_cert.clone().zip(args.tls_key.clone()).map(|(certificate, key)| Tls { certificate, key });
    let options = ListenOptions {
        listen: args.listen.clone(),
        port: args.port,
        tls,
        insecure: args.insecure_no_tls,
        allow_hosts: args.allow_host.clone(),
        max_connections: usize::from(args.max_connections),
    };
    let listener = Listener::bind(options).await?;
    let url = listener.url();
    if !listener.address().ip().is_loopback() && args.insecure_no_tls {
        eprintln!("warning: {url} accepts remote connections without TLS; anyone who can read the traffic can log in");
    }
    let process = ProcessIdentity::current().ok_or(windlass_engine::engine::EngineError::Identity)?;
    let file = server_file(data);
    let running = Running { url: url.clone(), process, surroundings: surroundings(context) };
    running.write(data)?;
    let code = logins.new_code(jiff::Timestamp::now())?;
    let link = super::logins::address_with_code(&url, &code.text);
    print(&format!(
        "listening on {url}\n  open     {link}\n           works once, within {CODE_MINUTES} minutes; for another, run `windlass serve link`\n"
    ));
    let facts = Facts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        address: url,
        project,
        sandbox: sandbox(context),
        started_at: engine.clock.now(),
    };
    let serving = listener.serve(Arc::clone(engine), (local, driving), (secret, logins), facts, changes, shutdown);
    Ok(Served { task: tokio::spawn(serving), file })
}

/// What new loops are kept in, as this machine has it.
fn sandbox(context: &Context) -> Option<SandboxReport> {
    let none = SandboxReport { works: false, backend: None, reason: None, fix: None };
    let settings = context.settings(None, Options::default()).ok()?;
    match context.sandbox(&settings) {
        SandboxSupport::Works { backend } => Some(SandboxReport { works: true, backend: Some(backend), ..none }),
        SandboxSupport::Docker(_) => Some(SandboxReport { works: true, backend: Some("docker".to_owned()), ..none }),
        SandboxSupport::Missing { reason, fix } => Some(SandboxReport { reason: Some(reason), fix: Some(fix), ..none }),
        // Switched off.
        SandboxSupport::Unknown => None,
    }
}

/// Each who watches takes a socket and some files; the usual limit of 1024 is soon reached.
fn more_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    const WANTED: u64 = 16_384;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < WANTED) {
        limit.current = Some(limit.maximum.map_or(WANTED, |most| most.min(WANTED)));
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
