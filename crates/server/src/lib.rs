//! The API over HTTP, the feed as server-sent events, and the dashboard.
//!
//! The server shows loops of all processes and passes on users' requests. It decides nothing: `windlass-app` defines
//! what a command does. Everything in a response that came from an
//! agent is data: JSON, plain text or bytes, never a page.

mod access;
mod api;
mod app;
mod client;
mod feeds;
mod http;
mod listen;
mod remote;

pub use access::login::{CODE_MINUTES, LogIn, LoggedIn, LoggedOut, LoginCode, Logins, Session, Which};
pub use access::secret::{Running, Secret, fingerprint, read as read_private, server_file, write as write_private};
pub use api::metrics::{Family, METRICS_TYPE, Metrics, float};
pub use api::openapi::text as openapi;
pub use app::Facts;
pub use client::{Client, ClientError};
pub use listen::{ListenError, ListenOptions, Listener, Tls};
pub use remote::TOKEN;
