//! Who may come in. Every request passes here, streams and files included.
//!
//! 1. The host it names must be ours, so that a name that was made to point to this machine opens nothing.
//! 2. What a browser sends for another site is refused, whatever it is.
//! 3. The API wants the token, as a bearer or in the cookie that the link sets.
//! 4. Guesses and changes come at a bounded rate.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::problem::{Kind, Problem};
use crate::rate::Rate;
use crate::secret::Secret;

#[derive(Debug)]
pub(crate) struct Guard {
    secret: Secret,
    port: u16,
    /// Names and addresses under which the server may be reached, in lower case and without a port.
    hosts: Vec<String>,
    tls: bool,
    guesses: Rate,
    changes: Rate,
}

impl Guard {
    pub(crate) fn new(secret: Secret, port: u16, hosts: Vec<String>, tls: bool) -> Self {
        Self { secret, port, hosts, tls, guesses: Rate::new(0.2, 10.0), changes: Rate::new(10.0, 60.0) }
    }

    /// Cookies do not know ports, so that of another server on this machine has another name.
    pub(crate) fn cookie_name(&self) -> String {
        format!("windlass-{}", self.port)
    }

    pub(crate) fn cookie(&self) -> String {
        let secure = if self.tls { "; Secure" } else { "" };
        let (name, token) = (self.cookie_name(), self.secret.text());
        format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=31536000{secure}")
    }

    /// Looks at a token; a wrong one counts as a guess.
    pub(crate) fn check(&self, said: Option<&str>) -> Result<(), Problem> {
        if said.is_some_and(|said| self.secret.is(said)) {
            return Ok(());
        }
        if said.is_some() && !self.guesses.take() {
            return Err(Problem::new(Kind::TooMany, "too many wrong tokens").hint("wait a moment"));
        }
        Err(Problem::new(Kind::Unauthorized, "this needs the token")
            .hint("open the link that `windlass serve` prints, or send `Authorization: Bearer TOKEN`"))
    }

    fn is_ours(&self, authority: &str) -> bool {
        let name = host_of(authority).to_ascii_lowercase();
        self.hosts.contains(&name)
    }

    fn admit(&self, request: &Request) -> Result<(), Problem> {
        let headers = request.headers();
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        if hosts.next().is_some() || !host.is_some_and(|host| self.is_ours(host)) {
            return Err(Problem::new(Kind::Misdirected, "this server does not answer under that host")
                .hint("`windlass serve --allow-host NAME` adds one"));
        }
        if let Some(authority) = request.uri().authority()
            && !self.is_ours(authority.as_str())
        {
            return Err(Problem::new(Kind::Misdirected, "this server does not answer under that host"));
        }
        self.refuse_foreign(request.method(), request.uri().path(), headers, host)?;
        if !request.uri().path().starts_with("/api/") || request.uri().path() == "/api/health" {
            return Ok(());
        }
        self.check(token_of(headers, &self.cookie_name()))?;
        if !matches!(*request.method(), Method::GET | Method::HEAD) && !self.changes.take() {
            return Err(Problem::new(Kind::TooMany, "too many changes at once").hint("wait a moment"));
        }
        Ok(())
    }

    /// Refuses what comes from another site, or from another port of this machine.
    fn refuse_foreign(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        host: Option<&str>,
    ) -> Result<(), Problem> {
        let foreign = || Problem::new(Kind::Forbidden, "requests from other sites are refused");
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().map_err(|_| foreign())?;
            let scheme = if self.tls { "https://" } else { "http://" };
            // The very host and port that was asked for; behind a proxy with TLS only the scheme may differ.
            let named = origin.strip_prefix(scheme).or_else(|| origin.strip_prefix("https://"));
            if named.is_none() || named != host {
                return Err(foreign());
            }
        }
        let Some(site) = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok()) else { return Ok(()) };
        if matches!(site, "same-origin" | "none") {
            return Ok(());
        }
        // A link that is followed from elsewhere shows the page, which says nothing by itself.
        let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let followed = said("sec-fetch-mode") == Some("navigate") && said("sec-fetch-dest") == Some("document");
        if *method == Method::GET && followed && !path.starts_with("/api/") { Ok(()) } else { Err(foreign()) }
    }
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

fn token_of<'a>(headers: &'a HeaderMap, cookie: &str) -> Option<&'a str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(bearer) = bearer {
        return bearer.strip_prefix("Bearer ").map(str::trim).or(Some(""));
    }
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == cookie)
        .map(|(_, value)| value)
}

/// What every response says to browsers, errors too.
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

pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let api = request.uri().path().starts_with("/api/");
    let mut response = match app.guard.admit(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_from_its_port() {
        let hosts = ["localhost:4747", "127.0.0.1", "[::1]:4747", "[::1]", "evil.example:4747"];
        assert_eq!(hosts.map(host_of), ["localhost", "127.0.0.1", "::1", "::1", "evil.example"]);
    }
}
