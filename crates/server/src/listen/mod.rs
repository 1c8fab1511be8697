//! Sockets: where the server listens, and its limits.

pub(crate) mod room;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use windlass_app::Local;
use windlass_engine::engine::Engine;

use crate::access::guard::Guard;
use crate::access::login::Logins;
use crate::access::secret::Secret;
use crate::api;
use crate::app::{App, Facts};
use room::{Greeted, Room};

/// The port that is tried first, and how many after it.
const PORT: u16 = 4747;
const MORE_PORTS: u16 = 9;
/// So long a request's head may take, and the TLS before it.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// The buffer for a response, and the longest request header.
const BUFFER: usize = 64 * 1024;
/// How long open requests may continue after the server is asked to exit.
const LAST_WORDS: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// An address, with or without a port; localhost by default.
    pub listen: Option<String>,
    pub port: Option<u16>,
    pub tls: Option<Tls>,
    /// To be reached from elsewhere without TLS, reported.
    pub insecure: bool,
    /// Extra host names of the server.
    pub allow_hosts: Vec<String>,
    /// So many connections at a time; where all are taken, those that have requested nothing yet leave first.
    pub max_connections: usize,
}

#[derive(Debug, Clone)]
pub struct Tls {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Error)]
pub enum ListenError {
    #[error("'{said}' is not a valid address to listen on")]
    Address { said: String },
    #[error("listening on {address} exposes the server to the network without TLS")]
    Open { address: IpAddr },
    #[error("cannot listen on port {port}")]
    Port {
        port: u16,
        #[source]
        source: io::Error,
    },
    #[error("ports {first} to {last} are all in use")]
    Ports { first: u16, last: u16 },
    #[error("cannot use {} for TLS: {why}", path.display())]
    Tls { path: PathBuf, why: String },
}

impl ListenError {
    pub fn hint(&self) -> String {
        match self {
            ListenError::Address { .. } => "use an address such as 0.0.0.0 or 192.168.1.20:4747".to_owned(),
            ListenError::Open { .. } => {
                "use --tls-cert and --tls-key, or --insecure-no-tls behind a TLS proxy or tunnel".to_owned()
            }
            ListenError::Port { .. } => "choose another port with --port".to_owned(),
            ListenError::Ports { .. } => "choose a port with --port".to_owned(),
            ListenError::Tls { .. } => "use PEM files: the certificate chain and its private key".to_owned(),
        }
    }
}

/// An open socket, so that the address can be printed before serving.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    options: ListenOptions,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Listener {
    pub async fn bind(options: ListenOptions) -> Result<Self, ListenError> {
        let (ip, said_port) = address(options.listen.as_deref())?;
        if !ip.is_loopback() && options.tls.is_none() && !options.insecure {
            return Err(ListenError::Open { address: ip });
        }
        let tls = options.tls.as_ref().map(acceptor).transpose()?;
        let socket = match options.port.or(said_port) {
            Some(port) => TcpListener::bind((ip, port)).await.map_err(|source| ListenError::Port { port, source })?,
            None => first_free(ip).await?,
        };
        let address = socket.local_addr().map_err(|source| ListenError::Port { port: 0, source })?;
        Ok(Self { socket, address, tls, options })
    }

    /// How a browser reaches it.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let port = self.address.port();
        let host = match (self.options.allow_hosts.first(), self.address.ip()) {
            (Some(name), ip) if !ip.is_loopback() => name.clone(),
            (_, IpAddr::V6(ip)) => format!("[{ip}]"),
            (_, IpAddr::V4(ip)) if ip.is_unspecified() => "127.0.0.1".to_owned(),
            (_, IpAddr::V4(ip)) => ip.to_string(),
        };
        format!("{scheme}://{host}:{port}")
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        if !self.address.ip().is_unspecified() {
            hosts.push(self.address.ip().to_string());
        }
        hosts.extend(self.options.allow_hosts.iter().map(|name| name.to_ascii_lowercase()));
        hosts
    }

    /// The server's address for the name `localhost`. With TLS, the certificate identifies the server.
    fn localhost(&self) -> Option<&'static str> {
        if self.tls.is_some() || self.options.allow_hosts.iter().any(|name| name.eq_ignore_ascii_case("localhost")) {
            return None;
        }
        Some(if self.address.is_ipv4() { "127.0.0.1" } else { "[::1]" })
    }

    /// Serves until asked to exit; then ends streams and gives running requests a moment to finish.
    pub async fn serve(
        self,
        engine: Arc<Engine>,
        (local, driving): (Local, Arc<AtomicUsize>),
        (secret, logins): (Secret, Logins),
        facts: Facts,
        changes: watch::Receiver<u64>,
        mut shutdown: watch::Receiver<bool>,
    ) {
        let guard = Guard::new(secret, logins, self.hosts(), self.localhost(), self.tls.is_some());
        let app = App::new(engine, local, driving, guard, facts, changes, shutdown.clone());
        let service = TowerToHyperService::new(api::router(app));
        let mut room = Room::new(self.options.max_connections);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                Some(_) = connections.join_next() => continue,
                _ = shutdown.wait_for(|leave| *leave) => break,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                // Too many files, or a client that has gone; neither passes faster by asking again.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let Some(guest) = room.enter().await else { continue };
            let _ = stream.set_nodelay(true);
            let (service, tls, leave) = (service.clone(), self.tls.clone(), shutdown.clone());
            connections.spawn(async move {
                let service = guest.serves(service);
                let served = async {
                    match tls {
                        None => connection(stream, service, leave).await,
                        Some(tls) => {
                            if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIME, tls.accept(stream)).await {
                                connection(stream, service, leave).await;
                            }
                        }
                    }
                };
                tokio::select! {
                    () = served => {}
                    () = guest.asked_to_leave() => {}
                }
            });
        }
        drop(self.socket);
        let all = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, all).await;
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    service: Greeted<TowerToHyperService<axum::Router>>,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(BUFFER).max_headers(64).half_close(false);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        served = &mut connection => {
            if let Err(error) = served {
                tracing::debug!(%error, "a connection was lost");
            }
            return;
        }
        _ = shutdown.wait_for(|leave| *leave) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}

fn address(said: Option<&str>) -> Result<(IpAddr, Option<u16>), ListenError> {
    let Some(said) = said else { return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), None)) };
    if said == "localhost" {
        return Ok((IpAddr::V4(Ipv4Addr::LOCALHOST), None));
    }
    if let Ok(ip) = said.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok((ip, None));
    }
    let socket: SocketAddr = said.parse().map_err(|_| ListenError::Address { said: said.to_owned() })?;
    Ok((socket.ip(), Some(socket.port())))
}

async fn first_free(ip: IpAddr) -> Result<TcpListener, ListenError> {
    for port in PORT..=PORT + MORE_PORTS {
        match TcpListener::bind((ip, port)).await {
            Ok(socket) => return Ok(socket),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            Err(source) => return Err(ListenError::Port { port, source }),
        }
    }
    Err(ListenError::Ports { first: PORT, last: PORT + MORE_PORTS })
}

fn acceptor(tls: &Tls) -> Result<TlsAcceptor, ListenError> {
    let wrong = |path: &PathBuf, why: String| ListenError::Tls { path: path.clone(), why };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&tls.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(&tls.certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| wrong(&tls.key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&tls.certificate, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| wrong(&tls.certificate, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
