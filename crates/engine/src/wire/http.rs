//! Requests to other servers, made alike everywhere.

use reqwest::Url;
use reqwest::redirect::Policy;

/// A client that follows no redirects, and asks no proxy for what is on this machine.
pub fn client(url: &Url) -> reqwest::ClientBuilder {
    // Another part of the process may have chosen one already; any will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client =
        reqwest::Client::builder().redirect(Policy::none()).user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")));
    // A proxy elsewhere does not reach a server here.
    if is_local(url) { client.no_proxy() } else { client }
}

/// Whether this machine itself is meant.
pub(crate) fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// An error with its causes, which say more than the error; without the address, which may hold a password.
pub fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
