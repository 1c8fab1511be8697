//! The proxy that the user's own environment names: what a listed host is reached through where there is no other way out.
//!
//! Which host is requested is decided before, by the loop's list. A name is then resolved by that proxy, as it must be
//! where names outside are not known here.

use std::collections::BTreeMap;
use std::io;

use base64::Engine as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::request::{Asked, LONGEST_HEAD, end_of_head};

/// What `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Upstream {
    tunnels: Option<Hop>,
    plain: Option<Hop>,
    except: Vec<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Hop {
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    authorization: Option<String>,
}

impl std::fmt::Debug for Hop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Upstream {
    pub fn from_env(env: &BTreeMap<String, String>) -> Self {
        let said = |name: &str| {
            let value = env.get(&name.to_ascii_lowercase()).or_else(|| env.get(name));
            value.map(|value| value.trim()).filter(|value| !value.is_empty())
        };
        let hop = |name: &str| {
            let value = said(name).or_else(|| said("ALL_PROXY"))?;
            let hop = Hop::read(value);
            if hop.is_none() {
                tracing::warn!(variable = name, "is not an HTTP proxy; connecting to hosts directly");
            }
            hop
        };
        let except = said("NO_PROXY").unwrap_or_default().split([',', ' ']).map(str::trim);
        let except = except.filter(|entry| !entry.is_empty()).map(str::to_ascii_lowercase).collect();
        Self { tunnels: hop("HTTPS_PROXY"), plain: hop("HTTP_PROXY"), except }
    }

    /// The way to what was requested; none if it is reached directly.
    pub(super) fn to(&self, asked: &Asked<'_>) -> Option<&Hop> {
        let hop = match asked {
            Asked::Tunnel { .. } => &self.tunnels,
            Asked::Plain { .. } => &self.plain,
        };
        hop.as_ref().filter(|_| !self.excepts(asked.host(), asked.port()))
    }

    /// This machine is never reached through another.
    fn excepts(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let here = host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
        here || self.except.iter().any(|entry| {
            let entry = entry.strip_suffix(&format!(":{port}")).unwrap_or(entry);
            let name = entry.trim_start_matches('*').trim_start_matches('.');
            entry == "*" || host == name || !name.is_empty() && host.ends_with(&format!(".{name}"))
        })
    }
}

impl Hop {
    fn read(value: &str) -> Option<Self> {
        let value = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        let url = reqwest::Url::parse(&value).ok().filter(|url| url.scheme() == "http")?;
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let authorization = (!url.username().is_empty()).then(|| {
            let pair = [&decoded(url.username())[..], b":", &decoded(url.password().unwrap_or_default())].concat();
            format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
        });
        Some(Self { host, port: url.port().unwrap_or(80), authorization })
    }

    /// Connects, and says what must be said first. What comes back is what the other side said already.
    pub(super) async fn connect(&self, asked: &Asked<'_>) -> io::Result<(TcpStream, Vec<u8>)> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let login = self.authorization.as_ref().map(|value| format!("Proxy-Authorization: {value}\r\n"));
        let login = login.unwrap_or_default();
        match asked {
            Asked::Plain { .. } => {
                stream.write_all(&asked.for_proxy(&login)).await?;
                Ok((stream, Vec::new()))
            }
            Asked::Tunnel { authority, .. } => {
                let words = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{login}\r\n");
                stream.write_all(words.as_bytes()).await?;
                let mut answer = Vec::new();
                let end = loop {
                    if let Some(end) = end_of_head(&answer) {
                        break end;
                    }
                    if answer.len() > LONGEST_HEAD || stream.read_buf(&mut answer).await? == 0 {
                        return Err(io::Error::other("the proxy from your environment does not respond like a proxy"));
                    }
                };
                let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
                if line.split(' ').nth(1).is_none_or(|status| !status.starts_with('2')) {
                    return Err(io::Error::other(format!("the proxy from your environment responded: {line}")));
                }
                Ok((stream, answer.split_off(end)))
            }
        }
    }
}

/// A part of an address, with its `%41` as bytes.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.filter(|_| first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(pairs: &[(&str, &str)]) -> Upstream {
        Upstream::from_env(&pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn the_environment_says_which_hosts_go_through_which_proxy() {
        let set = upstream(&[
            ("HTTPS_PROXY", "http://us%40er:p%3Aw@Gate.corp:3128/"),
            ("http_proxy", "gate.corp"),
            ("NO_PROXY", "intern.corp, .lab:8080,*.dev"),
        ]);
        let tunnel = |words: &str| {
            let words = format!("CONNECT {words} HTTP/1.1\r\n\r\n");
            set.to(&Asked::read(words.as_bytes()).unwrap()).cloned()
        };
        let hop = tunnel("api.example:443").unwrap();
        assert_eq!((hop.host.as_str(), hop.port), ("gate.corp", 3128));
        assert_eq!(hop.authorization.as_deref(), Some("Basic dXNAZXI6cDp3"));
        assert!(!format!("{hop:?}").contains("dXNA"), "no login in a log");
        for direct in ["a.intern.corp:443", "intern.corp:80", "x.lab:8080", "y.dev:1", "localhost:9", "127.0.0.9:1"] {
            assert_eq!(tunnel(direct), None, "{direct}");
        }
        assert!(tunnel("x.lab:443").is_some() && tunnel("notintern.corp:443").is_some());
        let plain = Asked::read(b"GET http://a.example/b HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(set.to(&plain).map(|hop| hop.port), Some(80));
        assert_eq!(upstream(&[("ALL_PROXY", "socks5://gate:1080")]), Upstream::default());
    }
}
