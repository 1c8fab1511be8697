//! What a client of the proxy requests, read from the head of its request.

use windlass_redact::network::split;

pub(super) const LONGEST_HEAD: usize = 32 * 1024;

/// A request to a proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked<'a> {
    /// `CONNECT host:port`
    Tunnel { host: &'a str, port: u16, authority: &'a str, rest: &'a [u8] },
    /// `GET http://host/path`, with the head as the server is to get it.
    Plain { host: &'a str, port: u16, authority: &'a str, head: Vec<u8>, rest: &'a [u8] },
}

impl<'a> Asked<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let end = end_of_head(bytes).ok_or("the request is incomplete")?;
        let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "the request is not text")?;
        let rest = &bytes[end..];
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("the first line is not a method, a target, and a version");
        };
        if !version.starts_with("HTTP/1.") {
            return Err("only HTTP/1 is supported");
        }
        if method == "CONNECT" {
            let (host, port) = split(target).ok_or("the target is not host:port")?;
            let port = port.ok_or("the target has no port")?;
            return Ok(Asked::Tunnel { host, port, authority: target, rest });
        }
        let after = target.strip_prefix("http://").ok_or("the target is neither host:port nor an http:// address")?;
        let (authority, path) = after.find(['/', '?']).map_or((after, ""), |at| after.split_at(at));
        // A name before the host is for people who try to hide the host.
        if authority.contains('@') {
            return Err("the target contains a user name");
        }
        let (host, port) = split(authority).ok_or("the target is not a host")?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut sent = format!("{method} {slash}{path} {version}\r\nHost: {authority}\r\n");
        for line in lines.filter(|line| !line.is_empty()) {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            if !matches!(name.as_str(), "host" | "connection" | "keep-alive") && !name.starts_with("proxy-") {
                sent.push_str(line);
                sent.push_str("\r\n");
            }
        }
        // One request a connection: the next may be for another host.
        sent.push_str("Connection: close\r\n\r\n");
        Ok(Asked::Plain { host, port: port.unwrap_or(80), authority, head: sent.into_bytes(), rest })
    }

    pub(super) fn host(&self) -> &str {
        match self {
            Asked::Tunnel { host, .. } | Asked::Plain { host, .. } => host,
        }
    }

    pub(super) fn port(&self) -> u16 {
        match self {
            Asked::Tunnel { port, .. } | Asked::Plain { port, .. } => *port,
        }
    }

    /// The head as a further proxy is to get it: with the whole address, and with these lines more.
    pub(super) fn for_proxy(&self, more: &str) -> Vec<u8> {
        match self {
            Asked::Tunnel { .. } => Vec::new(),
            Asked::Plain { authority, head, .. } => {
                let space = head.iter().position(|&byte| byte == b' ').map_or(0, |at| at + 1);
                let line = head.windows(2).position(|two| two == b"\r\n").map_or(head.len(), |at| at + 2);
                let address = format!("http://{authority}");
                [&head[..space], address.as_bytes(), &head[space..line], more.as_bytes(), &head[line..]].concat()
            }
        }
    }

    /// What came behind the head already.
    pub(super) fn rest(&self) -> &[u8] {
        match self {
            Asked::Tunnel { rest, .. } | Asked::Plain { rest, .. } => rest,
        }
    }
}

/// Where the empty line ends.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_request_goes_on_with_the_host_it_was_asked_for() {
        let said = b"POST http://a.org:8080/x?y=1 HTTP/1.1\r\nHost: evil.net\r\nProxy-Authorization: z\r\nConnection: \
                     keep-alive\r\nContent-Length: 2\r\n\r\nhi";
        let asked = Asked::read(said).unwrap();
        let further = String::from_utf8(asked.for_proxy("X: y\r\n")).unwrap();
        assert!(
            further.starts_with("POST http://a.org:8080/x?y=1 HTTP/1.1\r\nX: y\r\nHost: a.org:8080\r\n"),
            "{further}"
        );
        let Asked::Plain { host, port, head, rest, .. } = asked else { panic!("plain") };
        assert_eq!((host, port, rest), ("a.org", 8080, b"hi".as_slice()));
        let head = String::from_utf8(head).unwrap();
        assert_eq!(head, "POST /x?y=1 HTTP/1.1\r\nHost: a.org:8080\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn what_cannot_be_read_without_doubt_is_refused() {
        for wrong in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT a.org HTTP/1.1\r\n\r\n",
            "GET http://a.org@b.org/ HTTP/1.1\r\n\r\n",
            "GET https://a.org/ HTTP/1.1\r\n\r\n",
            "GET  http://a.org/ HTTP/1.1\r\n\r\n",
            "GET http://a.org/\r\n\r\n",
            "CONNECT a.org:443 HTTP/2\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert!(Asked::read(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        let v6 = Asked::read(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!((v6.host(), v6.port()), ("::1", 443));
    }
}
