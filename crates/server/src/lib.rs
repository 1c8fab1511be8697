//! The API over HTTP, the feed as server-sent events, and the dashboard.
//!
//! The server shows loops, whoever drives them, and hands on what people ask for. It decides nothing: what a command
//! does is told by the [`Host`], which is the command line's own code. Everything in a response that came from an
//! agent is data: JSON, plain text or bytes, never a page.

mod api;
mod app;
mod board;
mod client;
mod diff;
mod extract;
mod feed_client;
mod guard;
mod host;
mod listen;
mod login;
mod loops;
mod machine;
mod openapi;
mod pages;
mod problem;
mod rate;
mod reports;
mod requests;
mod room;
mod secret;
mod sse;
mod tape;
mod timeline;
mod turns;
mod views;
mod wakes;

pub use app::Facts;
pub use client::{Client, ClientError};
pub use feed_client::Feed;
pub use host::{Host, Opening};
pub use listen::{ListenError, ListenOptions, Listener, Tls};
pub use login::{CODE_MINUTES, LogIn, LoggedIn, LoggedOut, LoginCode, Logins, SESSION_DAYS, Session, Which};
pub use openapi::document as openapi;
pub use problem::{Kind, Problem};
pub use reports::*;
pub use requests::*;
pub use secret::{Secret, fingerprint, read as read_private, server_file, write as write_private};
pub use timeline::Mark;
pub use views::*;
