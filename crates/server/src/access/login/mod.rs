//! Logging in: a link's code buys a session, and a session buys download tickets.
//!
//! No cookie takes part. Browsers send cookies to every port of an address, so a development server that an agent
//! starts would receive them. A page keeps its session secret in storage that is bound to scheme, host, and port, and
//! sends it as `Authorization: Bearer`.

mod book;
mod name;
mod tickets;

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use book::Register;
pub use book::{CODE_MINUTES, LoginCode, Logins, Session, Which};
pub(crate) use tickets::Tickets;

use super::guard::Guard;
use crate::http::extract::Body;
use windlass_app::{Kind, Problem};

use crate::http::refused::Refused;

/// The sender of a request, from the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Routes that need no login.
    Anyone,
    /// Has the master token: the owner's own scripts and commands.
    Owner,
    /// The session with this id.
    Session(String),
    /// Has a ticket for this very request.
    Ticket,
}

/// The code of a login link.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogIn {
    pub code: String,
    /// What the session is called in `windlass serve sessions`; made from the `User-Agent` if left out.
    #[serde(default)]
    pub name: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoggedIn {
    pub id: String,
    pub name: String,
    /// Send it as `Authorization: Bearer`. The server keeps only its hash.
    pub secret: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LoggedOut {
    pub id: String,
}

/// A file to be downloaded.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WantTicket {
    /// Path and query of a prompt or of a turn's output.
    pub path: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    /// The path with the ticket in its query. It works once, within half a minute.
    pub path: String,
}

pub(crate) async fn log_in(
    State(guard): State<Arc<Guard>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Body(request): Body<LogIn>,
) -> Result<Json<LoggedIn>, Refused> {
    let agent = headers.get(axum::http::header::USER_AGENT).and_then(|value| value.to_str().ok());
    let name = request.name.as_deref().map_or_else(|| name::of_browser(agent.unwrap_or_default()), name::shown);
    let now = Timestamp::now();
    let opened = guard.register.logins().redeem(&request.code, &name, now).map_err(failed)?;
    let Some((session, secret)) = opened else {
        guard.count_wrong_code()?;
        return Err(Problem::new(Kind::Unauthorized, "this login link was already used or has expired")
            .hint("run `windlass serve link` on the server's machine and open the link it prints")
            .into());
    };
    // The same browser again: its old session is obsolete.
    if let Caller::Session(old) = caller {
        guard.register.logins().revoke(&Which::One(old), now).map_err(failed)?;
    }
    Ok(Json(LoggedIn { id: session.id, name: session.name, secret }))
}

pub(crate) async fn log_out(
    State(guard): State<Arc<Guard>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<LoggedOut>, Refused> {
    let Caller::Session(id) = caller else {
        return Err(Problem::new(Kind::Invalid, "this request has no session to end")
            .hint("remove the file server.token and restart the server to change the token")
            .into());
    };
    guard.register.logins().revoke(&Which::One(id.clone()), Timestamp::now()).map_err(failed)?;
    Ok(Json(LoggedOut { id }))
}

pub(crate) async fn ticket(
    State(guard): State<Arc<Guard>>,
    Extension(caller): Extension<Caller>,
    Body(request): Body<WantTicket>,
) -> Result<Json<Ticket>, Refused> {
    let session = if let Caller::Session(id) = caller { Some(id) } else { None };
    Ok(Json(Ticket { path: guard.tickets.issue(&request.path, session)? }))
}

fn failed(error: std::io::Error) -> Problem {
    Problem::new(Kind::Failed, format!("cannot read or write logins: {error}"))
}
