//! Access control. Every request passes through here, including streams and files.
//!
//! 1. The host it names must be ours, so that a name that was made to point to this machine opens nothing.
//! 2. What a browser sends for another site or another port is refused, whatever it is.
//! 3. The API wants a session or the master token as a bearer, or a ticket for a download. Cookies are not read.
//! 4. Guesses and changes come at a bounded rate.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use jiff::Timestamp;

use super::login::{Caller, Logins, Register, Tickets};
use windlass_app::{Kind, Problem};

use super::rate::Rate;
use super::secret::Secret;
use crate::http::refused::Refused;

#[derive(Debug)]
pub(crate) struct Guard {
    secret: Secret,
    pub(crate) register: Register,
    pub(crate) tickets: Tickets,
    /// Names and addresses under which the server may be reached, in lower case and without a port.
    hosts: Vec<String>,
    /// The address of `localhost`, if another program could also listen on that name.
    localhost: Option<&'static str>,
    tls: bool,
    guesses: Rate,
    wrong_codes: Rate,
    changes: Rate,
}

impl Guard {
    pub(crate) fn new(
        secret: Secret,
        logins: Logins,
        hosts: Vec<String>,
        localhost: Option<&'static str>,
        tls: bool,
    ) -> Self {
        Self {
            secret,
            register: Register::new(logins),
            tickets: Tickets::default(),
            hosts,
            localhost,
            tls,
            guesses: Rate::new(0.2, 10.0),
            wrong_codes: Rate::new(0.2, 10.0),
            changes: Rate::new(10.0, 60.0),
        }
    }

    /// Counts a code that opened nothing.
    pub(crate) fn count_wrong_code(&self) -> Result<(), Problem> {
        if self.wrong_codes.take() {
            return Ok(());
        }
        Err(Problem::new(Kind::TooMany, "too many wrong codes").hint("wait a moment and retry"))
    }

    /// Whose bearer it is; a wrong one counts as a guess.
    fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let bearer = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
        let bearer = bearer.map(|value| value.strip_prefix("Bearer ").unwrap_or_default().trim());
        if let Some(said) = bearer {
            if self.secret.is(said) {
                return Ok(Caller::Owner);
            }
            if let Some(id) = self.register.session_of(said, Timestamp::now()) {
                return Ok(Caller::Session(id));
            }
            if !self.guesses.take() {
                return Err(Problem::new(Kind::TooMany, "too many wrong tokens").hint("wait a moment and retry"));
            }
        }
        Err(Problem::new(Kind::Unauthorized, "not logged in")
            .hint("open a login link from `windlass serve link`, or send `Authorization: Bearer TOKEN`"))
    }

    /// The sender of an API request.
    fn caller_of(&self, request: &Request) -> Result<Caller, Problem> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        match (method, uri.path()) {
            (_, "/api/health") => return Ok(Caller::Anyone),
            (&Method::POST, "/api/login") => return Ok(self.caller(headers).unwrap_or(Caller::Anyone)),
            _ => {}
        }
        if *method == Method::GET
            && !headers.contains_key(header::AUTHORIZATION)
            && let Some(session) = self.tickets.take(uri.path(), uri.query())
            && session.is_none_or(|id| self.register.lives(&id))
        {
            return Ok(Caller::Ticket);
        }
        self.caller(headers)
    }

    fn is_ours(&self, authority: &str) -> bool {
        let name = host_of(authority).to_ascii_lowercase();
        self.hosts.contains(&name)
    }

    fn admit(&self, request: &Request) -> Result<Caller, Problem> {
        let headers = request.headers();
        if head_of(request) > LONGEST_HEAD {
            return Err(Problem::new(Kind::TooLarge, "the head of the request is longer than 64 KiB"));
        }
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() || !host.is_some_and(|host| self.is_ours(host)) {
            return Err(Problem::new(Kind::Misdirected, "host not allowed")
                .hint("allow it with `windlass serve --allow-host NAME`"));
        }
        if let Some(authority) = request.uri().authority()
            && !self.is_ours(authority.as_str())
        {
            return Err(Problem::new(Kind::Misdirected, "host not allowed"));
        }
        self.refuse_foreign(request.method(), request.uri().path(), headers, host)?;
        if !is_api(request.uri().path()) {
            return Ok(Caller::Anyone);
        }
        let caller = self.caller_of(request)?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) && !self.changes.take() {
            return Err(Problem::new(Kind::TooMany, "too many changes at once").hint("wait a moment and retry"));
        }
        Ok(caller)
    }

    /// Where to redirect a request to `localhost`. A browser may resolve that name to the other of
    /// 127.0.0.1 and ::1, on which any program can listen with our port: a session must not be kept under it.
    fn elsewhere(&self, request: &Request) -> Option<HeaderValue> {
        let address = self.localhost?;
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let host = request.headers().get(header::HOST)?.to_str().ok()?;
        let port = host.get(..9).filter(|name| name.eq_ignore_ascii_case("localhost")).map(|_| &host[9..])?;
        let page = *request.method() == Method::GET && !is_api(path);
        let here = page && (port.is_empty() || port.starts_with(':'));
        here.then(|| HeaderValue::from_str(&format!("http://{address}{port}{path}")).ok()).flatten()
    }

    /// Refuses what comes from another site, or from another port of this machine.
    fn refuse_foreign(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        host: Option<&str>,
    ) -> Result<(), Problem> {
        let foreign = || Problem::new(Kind::Forbidden, "cross-site request refused");
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().map_err(|_| foreign())?;
            let scheme = if self.tls { "https://" } else { "http://" };
            // The same host and port; behind a TLS proxy, only the scheme may differ.
            let named = origin.strip_prefix(scheme).or_else(|| origin.strip_prefix("https://"));
            if named.is_none() || named != host {
                return Err(foreign());
            }
        }
        let Some(site) = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok()) else { return Ok(()) };
        if matches!(site, "same-origin" | "none") {
            return Ok(());
        }
        // A link from another site opens the page, which alone contains no data.
        let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let followed = said("sec-fetch-mode") == Some("navigate") && said("sec-fetch-dest") == Some("document");
        if *method == Method::GET && followed && !is_api(path) { Ok(()) } else { Err(foreign()) }
    }
}

/// What tells of loops, and so wants a login.
fn is_api(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}

/// Longer heads are refused. The connection reads a little more than it is told to, so it cannot hold this alone.
const LONGEST_HEAD: usize = 64 * 1024;

/// The bytes of a request's head, as they were sent or a few less.
fn head_of(request: &Request) -> usize {
    let line = request.method().as_str().len() + request.uri().to_string().len() + " HTTP/1.1\r\n".len();
    request.headers().iter().fold(line, |sum, (name, value)| sum + name.as_str().len() + value.len() + ": \r\n".len())
}

/// The name or address in `host:port` or `[v6]:port`.
fn host_of(authority: &str) -> &str {
    if let Some(v6) = authority.strip_prefix('[') {
        return v6.split(']').next().unwrap_or_default();
    }
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => authority,
    }
}

/// Headers of every response, including errors.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; \
         form-action 'self'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

pub(crate) async fn guard(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    let api = is_api(request.uri().path());
    let mut response = match guard.admit(&request) {
        Ok(caller) => match guard.elsewhere(&request) {
            Some(place) => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, place)]).into_response(),
            None => {
                request.extensions_mut().insert(caller.clone());
                let response = next.run(request).await;
                if let Caller::Session(id) = caller { while_it_lives(guard, id, response) } else { response }
            }
        },
        // A body that is too large is told from a head that is.
        Err(problem) if problem.code == Kind::TooLarge => {
            (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, Refused(problem)).into_response()
        }
        Err(problem) => Refused(problem).into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if api {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
    response
}

/// Ends a stream of events when its session is revoked. Looked at before anything is sent, heartbeats too.
fn while_it_lives(guard: Arc<Guard>, id: String, response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    if !kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let lives = move |_: &_| std::future::ready(guard.register.lives(&id));
    Response::from_parts(parts, Body::from_stream(body.into_data_stream().take_while(lives)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_from_its_port() {
        let hosts = ["localhost:4747", "127.0.0.1", "[::1]:4747", "[::1]", "evil.example:4747"];
        assert_eq!(hosts.map(host_of), ["localhost", "127.0.0.1", "::1", "::1", "evil.example"]);
    }
}
