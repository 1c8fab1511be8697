//! A signed POST to an address of the user's.
//!
//! Address and secret stay out of every error and log line: both may be all that it takes to write to somebody's
//! channel.

use std::fmt::Write as _;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};

use super::message::Message;
use super::settings::NotifySettings;
use crate::engine::Engine;
use crate::http::{self, causes};

/// The body's HMAC-SHA256 with the secret, as `sha256=<hex>`.
const SIGNATURE: HeaderName = HeaderName::from_static("x-windlass-signature");
const EVENT: HeaderName = HeaderName::from_static("x-windlass-event");
const ONE_TRY: Duration = Duration::from_secs(10);
/// Before the second and before the third try.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

pub(super) async fn post(engine: &Engine, settings: &NotifySettings, message: &Message) -> Result<(), String> {
    let Some(address) = &settings.webhook else { return Ok(()) };
    let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.ok_or("not an HTTP or HTTPS URL")?;
    let headers = headers(engine, settings, message)?;
    let client = client(&url)?;
    let mut pauses = PAUSES.into_iter();
    loop {
        let Err(trouble) = try_once(&client, &url, &headers, &message.body).await else { return Ok(()) };
        let pause = pauses.next().filter(|_| trouble.may_pass);
        let Some(pause) = pause else { return Err(trouble.why) };
        tokio::time::sleep(pause).await;
    }
}

fn headers(engine: &Engine, settings: &NotifySettings, message: &Message) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(EVENT, HeaderValue::from_static(message.event));
    if let Some(name) = &settings.webhook_secret_env {
        // Who named a secret checks the signature: without it nothing is sent.
        let secret = engine.env.get(name).filter(|secret| !secret.is_empty());
        let secret = secret.ok_or_else(|| format!("the environment variable {name} with the secret is not set"))?;
        let signature = sign(secret.as_bytes(), message.body.as_bytes());
        headers.insert(SIGNATURE, HeaderValue::from_str(&signature).map_err(|error| error.to_string())?);
    }
    Ok(headers)
}

fn client(url: &Url) -> Result<reqwest::Client, String> {
    http::client(url).timeout(ONE_TRY).build().map_err(causes)
}

struct Trouble {
    why: String,
    may_pass: bool,
}

async fn try_once(client: &reqwest::Client, url: &Url, headers: &HeaderMap, body: &str) -> Result<(), Trouble> {
    let request = client.post(url.clone()).headers(headers.clone()).body(body.to_owned());
    let response = request.send().await;
    let response = response.map_err(|error| Trouble { why: causes(error), may_pass: true })?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let may_pass = status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY);
    let why = if status.is_redirection() {
        format!("the server responded with {status}; Windlass does not follow redirects")
    } else {
        format!("the server responded with {status}")
    };
    Err(Trouble { why, may_pass })
}

/// The error with what caused it, in one line.
fn sign(secret: &[u8], body: &[u8]) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    let tag = ring::hmac::sign(&key, body);
    let mut text = String::from("sha256=");
    for byte in tag.as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::sign;

    /// The second case of RFC 4231.
    #[test]
    fn a_body_is_signed_with_hmac_sha256() {
        let expected = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(sign(b"Jefe", b"what do ya want for nothing?"), expected);
        assert_ne!(sign(b"jefe", b"what do ya want for nothing?"), expected);
    }
}
