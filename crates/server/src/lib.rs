//! The API over HTTP, the feed as server-sent events, and the dashboard.
//!
//! The server shows loops of all processes and passes on users' requests. It decides nothing: `windlass-app` defines
//! what a command does. Everything in a response that came from an
//! agent is data: JSON, plain text or bytes, never a page.

mod api;
mod app;
mod ask;
mod board;
mod client;
mod extract;
mod guard;
mod listen;
mod login;
mod openapi;
mod pages;
mod rate;
mod refused;
mod remote;
mod room;
mod secret;
mod sse;
mod tape;
mod turns;
mod wakes;

pub use app::Facts;
pub use client::{Client, ClientError};
pub use listen::{ListenError, ListenOptions, Listener, Tls};
pub use login::{CODE_MINUTES, LogIn, LoggedIn, LoggedOut, LoginCode, Logins, SESSION_DAYS, Session, Which};
pub use openapi::text as openapi;
pub use remote::TOKEN;
pub use secret::{Running, Secret, fingerprint, read as read_private, server_file, write as write_private};
