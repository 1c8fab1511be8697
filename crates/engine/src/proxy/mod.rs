//! The way out of a sandbox whose network is a list: an HTTP proxy behind a Unix socket.
//!
//! It belongs to the loop's driver and dies with it. Names are resolved here, outside; what is connected to is an address
//! that was checked, so that a name cannot point elsewhere in between. Where the user's environment names a proxy, what
//! is allowed goes through that one. Invariant: nothing is connected to that the
//! loop's list does not allow, whatever the client says.

mod hosts;
mod request;
mod upstream;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, UnixStream};
use windlass_redact::network::HostList;

use crate::own_socket::OwnSocket;
use request::{Asked, LONGEST_HEAD};
pub use upstream::Upstream;

pub(crate) use hosts::host_list;

/// The port on a sandbox's own loopback behind which the proxy is found.
pub(crate) const PORT_INSIDE: u16 = 43_128;
/// More at once wait for each other.
const MOST_CONNECTIONS: usize = 256;
/// A client that says nothing, a server that does not answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// An agent that tries every host there is fills neither memory nor journal.
const MOST_HOSTS: usize = 200;

/// A host that was requested and is not on the list, so many times by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denied {
    pub host: String,
    pub why: String,
    pub count: u64,
}

/// The proxy of one loop; whoever drops this ends it, with its connections.
#[derive(Debug)]
pub struct Proxy {
    _socket: OwnSocket,
}

impl Proxy {
    /// Listens at `path`, the only thing in its directory. Every new host that is denied is told, and then its tenth time,
    /// its hundredth …
    pub fn listen(
        path: &Path,
        list: HostList,
        upstream: Upstream,
        tell: impl Fn(Denied) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let gate = Arc::new(Gate { list, upstream, denied: Box::new(tell), seen: Mutex::default() });
        let _socket = OwnSocket::serve(path, MOST_CONNECTIONS, move |client| {
            let gate = Arc::clone(&gate);
            async move {
                if let Err(error) = gate.serve(client).await {
                    tracing::debug!(%error, "a connection through the proxy ended");
                }
            }
        })?;
        Ok(Self { _socket })
    }
}

struct Gate {
    list: HostList,
    upstream: Upstream,
    denied: Box<dyn Fn(Denied) + Send + Sync>,
    seen: Mutex<HashMap<String, u64>>,
}

impl Gate {
    async fn serve(&self, mut client: UnixStream) -> io::Result<()> {
        let head = match tokio::time::timeout(PATIENCE, read_head(&mut client)).await {
            Ok(head) => head?,
            Err(_) => return refuse(&mut client, "408 Request Timeout", "request timeout").await,
        };
        let asked = match Asked::read(&head) {
            Ok(asked) => asked,
            Err(why) => return refuse(&mut client, "400 Bad Request", why).await,
        };
        let (mut server, said) = match tokio::time::timeout(PATIENCE, self.connect(&asked)).await {
            Ok(Ok(server)) => server,
            Ok(Err(Unreached::Denied(why))) => {
                self.tell(&asked, why);
                let host = format!("{}:{}", asked.host(), asked.port());
                let text = format!(
                    "Windlass's network rule denied {host}: {why}; allow it with --network list --network-host {host}"
                );
                // Clients that request a tunnel show no more than this line.
                return refuse(&mut client, &format!("403 Windlass refused {host}"), &text).await;
            }
            Ok(Err(Unreached::Failed(error))) => {
                return refuse(&mut client, "502 Bad Gateway", &error.to_string()).await;
            }
            Err(_) => return refuse(&mut client, "504 Gateway Timeout", "the host does not respond").await,
        };
        if let Asked::Tunnel { .. } = &asked {
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
            client.write_all(&said).await?;
        }
        server.write_all(asked.rest()).await?;
        copy_bidirectional(&mut client, &mut server).await.map(drop)
    }

    /// Connects, and sends the head of a plain request. What comes back is what the server said already.
    async fn connect(&self, asked: &Asked<'_>) -> Result<(TcpStream, Vec<u8>), Unreached> {
        let (host, port) = (asked.host(), asked.port());
        if !self.list.allows(host, port) {
            return Err(Unreached::Denied("not on the list"));
        }
        if let Some(hop) = self.upstream.to(asked) {
            return hop.connect(asked).await.map_err(Unreached::Failed);
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> = tokio::net::lookup_host((bare, port)).await.map_err(Unreached::Failed)?.collect();
        let open: Vec<_> = found.iter().filter(|address| self.list.reaches(address.ip(), port)).copied().collect();
        if open.is_empty() && !found.is_empty() {
            return Err(Unreached::Denied("it resolves to a private address that is not on the list"));
        }
        let mut server = TcpStream::connect(open.as_slice()).await.map_err(Unreached::Failed)?;
        if let Asked::Plain { head, .. } = asked {
            server.write_all(head).await.map_err(Unreached::Failed)?;
        }
        Ok((server, Vec::new()))
    }

    fn tell(&self, asked: &Asked<'_>, why: &str) {
        let host = format!("{}:{}", asked.host(), asked.port());
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST_HOSTS && !seen.contains_key(&host) {
            return;
        }
        let count = seen.entry(host.clone()).or_default();
        *count += 1;
        if is_power_of_ten(*count) {
            (self.denied)(Denied { host, why: why.to_owned(), count: *count });
        }
    }
}

enum Unreached {
    Denied(&'static str),
    Failed(io::Error),
}

fn is_power_of_ten(count: u64) -> bool {
    count.checked_ilog10().is_some_and(|power| 10_u64.pow(power) == count)
}

/// Everything up to the empty line, and what came behind it.
async fn read_head(client: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut piece = [0; 4096];
    while request::end_of_head(&head).is_none() {
        if head.len() > LONGEST_HEAD {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
        }
        match client.read(&mut piece).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => head.extend_from_slice(&piece[..length]),
        }
    }
    Ok(head)
}

async fn refuse(client: &mut UnixStream, status: &str, text: &str) -> io::Result<()> {
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}\n",
        text.len() + 1
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use tokio::sync::mpsc;

    use super::*;

    /// A server that says one line to whoever connects.
    async fn server() -> u16 {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut head = [0; 1024];
                let length = client.read(&mut head).await.unwrap_or(0);
                let said = String::from_utf8_lossy(&head[..length]).lines().next().unwrap_or_default().to_owned();
                let _ = client
                    .write_all(format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nheard {said}").as_bytes())
                    .await;
            }
        });
        port
    }

    type World = (u16, PathBuf, Proxy, mpsc::UnboundedReceiver<Denied>, tempfile::TempDir);

    /// Such a server, and the proxy in front of it.
    async fn world(entries: &[&str]) -> World {
        world_behind(entries, Upstream::default()).await
    }

    async fn world_behind(entries: &[&str], upstream: Upstream) -> World {
        let port = server().await;
        let entries: Vec<String> = entries.iter().map(|entry| entry.replace("PORT", &port.to_string())).collect();
        let list = HostList::new(entries.iter().map(String::as_str), &[]).unwrap();
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("net/proxy");
        let (tell, denied) = mpsc::unbounded_channel();
        let proxy = Proxy::listen(&path, list, upstream, move |told| drop(tell.send(told))).unwrap();
        (port, path, proxy, denied, home)
    }

    async fn say(path: &Path, words: &str) -> String {
        let mut stream = UnixStream::connect(path).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[tokio::test]
    async fn listed_hosts_are_reached_by_tunnel_and_by_plain_requests() {
        let (port, path, _proxy, _denied, _home) = world(&["127.0.0.1:PORT"]).await;
        let tunnel = say(&path, &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\n")).await;
        assert!(tunnel.starts_with("HTTP/1.1 200") && tunnel.ends_with("heard hello"), "{tunnel}");
        let plain = say(&path, &format!("GET http://127.0.0.1:{port}/a?b HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(plain.ends_with("heard GET /a?b HTTP/1.1"), "{plain}");
    }

    /// A proxy as a company has it: says what it was asked first, then lets everything through to one server.
    async fn company_proxy(to: u16, refuses: bool) -> (Upstream, mpsc::UnboundedReceiver<String>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://me:secret@{}", listener.local_addr().unwrap());
        let (tell, asked) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut head = Vec::new();
                while request::end_of_head(&head).is_none() {
                    client.read_buf(&mut head).await.unwrap();
                }
                let _ = tell.send(String::from_utf8_lossy(&head).into_owned());
                if refuses {
                    client.write_all(b"HTTP/1.1 407 Log in\r\n\r\n").await.unwrap();
                    continue;
                }
                let mut server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                if head.starts_with(b"CONNECT") {
                    client.write_all(b"HTTP/1.1 200 OK\r\n\r\nearly ").await.unwrap();
                } else {
                    server.write_all(&head).await.unwrap();
                }
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        });
        let env = ["HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name.to_owned(), address.clone()));
        (Upstream::from_env(&env.into_iter().collect()), asked)
    }

    #[tokio::test]
    async fn listed_hosts_are_reached_through_the_proxy_of_the_environment_and_others_are_not_asked_of_it() {
        let (upstream, mut asked) = company_proxy(server().await, false).await;
        // Such a name leads nowhere from here.
        let (_, path, _proxy, mut denied, _home) =
            world_behind(&["only.invalid:443", "only.invalid:80"], upstream).await;
        let tunnel = say(&path, "CONNECT only.invalid:443 HTTP/1.1\r\n\r\nhello\n").await;
        assert!(
            tunnel.starts_with("HTTP/1.1 200") && tunnel.contains("early ") && tunnel.ends_with("heard hello"),
            "{tunnel}"
        );
        let head = asked.recv().await.unwrap();
        assert!(
            head.starts_with("CONNECT only.invalid:443 ") && head.contains("Proxy-Authorization: Basic "),
            "{head}"
        );
        let plain = say(&path, "GET http://only.invalid/a HTTP/1.1\r\n\r\n").await;
        assert!(plain.ends_with("heard GET http://only.invalid/a HTTP/1.1"), "{plain}");
        assert!(asked.recv().await.unwrap().contains("Proxy-Authorization: Basic "));
        let other = say(&path, "CONNECT other.invalid:443 HTTP/1.1\r\n\r\n").await;
        assert!(other.starts_with("HTTP/1.1 403"), "{other}");
        assert_eq!(denied.recv().await.unwrap().host, "other.invalid:443");
        assert!(asked.try_recv().is_err());
    }

    #[tokio::test]
    async fn a_proxy_of_the_environment_that_refuses_is_named() {
        let (upstream, _asked) = company_proxy(server().await, true).await;
        let (_, path, _proxy, _denied, _home) = world_behind(&["only.invalid:443"], upstream).await;
        let answer = say(&path, "CONNECT only.invalid:443 HTTP/1.1\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("407 Log in"), "{answer}");
    }

    #[tokio::test]
    async fn what_is_not_listed_is_denied_and_told_with_its_count() {
        let (port, path, proxy, mut denied, home) = world(&["localhost:1", "rebound.test"]).await;
        for _ in 0..10 {
            let answer = say(&path, &format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("not on the list"), "{answer}");
        }
        let told = [denied.recv().await.unwrap(), denied.recv().await.unwrap()];
        assert_eq!(told.map(|one| (one.host, one.count)), [1, 10].map(|count| (format!("127.0.0.1:{port}"), count)));
        assert!(say(&path, "garbage\r\n\r\n").await.starts_with("HTTP/1.1 400"));
        drop(proxy);
        assert!(!home.path().join("net").exists());
    }

    #[tokio::test]
    async fn a_listed_name_that_leads_to_a_private_address_is_denied() {
        // `localhost` is a name that points to this machine; listed at another port it opens nothing here.
        let (port, path, _proxy, mut denied, _home) = world(&["localhost:1", "*.localhost:PORT"]).await;
        let answer = say(&path, &format!("CONNECT a.localhost:{port} HTTP/1.1\r\n\r\n")).await;
        // Some resolvers do not know such names, which reaches nothing either.
        if answer.starts_with("HTTP/1.1 403") {
            assert!(denied.recv().await.unwrap().why.contains("private"));
        } else {
            assert!(answer.starts_with("HTTP/1.1 502"), "{answer}");
        }
    }
}
