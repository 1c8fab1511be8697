//! Which hosts a loop's processes may reach with `network = "list"`.
//!
//! An entry is a host, `host:port`, an address, `*.domain` for everything below a domain, or the name of a ready list.
//! Without a port, 80 and 443 are meant. Invariant: an address is reached only if it is listed itself or is a public one
//! of a listed name, so that a name that resolves to a private network grants no access.

// From `core`, where addresses are plain data; this crate has no sockets.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// Where packages come from.
pub const REGISTRIES: &[&str] = &[
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "static.rust-lang.org",
    "registry.npmjs.org",
    "registry.yarnpkg.com",
    "jsr.io",
    "npm.jsr.io",
    "nodejs.org",
    "pypi.org",
    "files.pythonhosted.org",
    "proxy.golang.org",
    "sum.golang.org",
    "rubygems.org",
    "index.rubygems.org",
    "repo.maven.apache.org",
    "repo1.maven.org",
    "plugins.gradle.org",
    "services.gradle.org",
    "repo.packagist.org",
    "packagist.org",
    "repo.hex.pm",
    "hex.pm",
    "api.nuget.org",
    "hackage.haskell.org",
    "pub.dev",
    "deb.debian.org",
    "security.debian.org",
    "archive.ubuntu.com",
    "security.ubuntu.com",
    "ports.ubuntu.com",
    "dl-cdn.alpinelinux.org",
];

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    #[error("unknown host list '{0}'; use @models or @registries")]
    NoSuchList(String),
    #[error("'{0}' is not a valid host; use example.org, example.org:8443, *.example.org, or an IP address")]
    NoHost(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Exact(String),
    /// Everything below, with the dot.
    Below(String),
    Address(IpAddr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: Name,
    port: Option<u16>,
}

/// The hosts that may be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostList(Vec<Entry>);

impl HostList {
    /// Entries that begin with `@` name one of the ready lists.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a str>, ready: &[(&str, &[&str])]) -> Result<Self, HostError> {
        let mut list = Vec::new();
        for entry in entries {
            if entry.starts_with('@') {
                let named = ready.iter().find(|(name, _)| *name == entry);
                let (_, hosts) = named.ok_or_else(|| HostError::NoSuchList(entry.to_owned()))?;
                for host in *hosts {
                    list.push(Entry::read(host)?);
                }
            } else {
                list.push(Entry::read(entry)?);
            }
        }
        Ok(Self(list))
    }

    /// Whether a request for this name is allowed.
    pub fn allows(&self, host: &str, port: u16) -> bool {
        let host = plain(host);
        match host.parse() {
            Ok(address) => self.lists(address, port),
            Err(_) => self.0.iter().any(|entry| entry.takes(port) && entry.name.is(&host)),
        }
    }

    /// Whether to allow a connection to this address of a listed name.
    pub fn reaches(&self, address: IpAddr, port: u16) -> bool {
        is_public(address) || self.lists(address, port)
    }

    /// The ports of this machine's own address that are listed.
    pub fn local_ports(&self) -> Vec<u16> {
        let local = |entry: &Entry| match &entry.name {
            Name::Address(address) => address.is_loopback(),
            Name::Exact(name) => name == "localhost",
            Name::Below(_) => false,
        };
        self.0.iter().filter(|entry| local(entry)).filter_map(|entry| entry.port).collect()
    }

    fn lists(&self, address: IpAddr, port: u16) -> bool {
        let same = |name: &Name| match name {
            Name::Address(listed) => listed.to_canonical() == address.to_canonical(),
            Name::Exact(name) => name == "localhost" && address.is_loopback(),
            Name::Below(_) => false,
        };
        self.0.iter().any(|entry| entry.takes(port) && same(&entry.name))
    }
}

impl Entry {
    fn read(text: &str) -> Result<Self, HostError> {
        let wrong = || HostError::NoHost(text.to_owned());
        let (host, port) = split(text).ok_or_else(wrong)?;
        let host = plain(host);
        if let Ok(address) = host.parse() {
            return Ok(Self { name: Name::Address(address), port });
        }
        let domain = host.strip_prefix("*.").unwrap_or(&host);
        let letters = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        if domain.is_empty() || !domain.split('.').all(|part| !part.is_empty() && letters(part)) {
            return Err(wrong());
        }
        let name = if host.starts_with("*.") { Name::Below(format!(".{domain}")) } else { Name::Exact(host) };
        Ok(Self { name, port })
    }

    fn takes(&self, port: u16) -> bool {
        self.port.map_or(matches!(port, 80 | 443), |listed| listed == port)
    }
}

impl Name {
    fn is(&self, host: &str) -> bool {
        match self {
            Name::Exact(name) => name == host,
            Name::Below(domain) => host.len() > domain.len() && host.ends_with(domain),
            Name::Address(_) => false,
        }
    }
}

/// `host`, `host:port`, `[address]:port`, or an address of many colons.
pub fn split(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => after.is_empty().then_some((host, None)),
        };
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((text, None));
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

/// Small letters, without brackets and the last dot.
fn plain(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// Whether an address is public.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19));
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, .., y, z] = address.segments();
    let within = |high: u16, low: u16| {
        let ([e, f], [g, h]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(e, f, g, h))
    };
    match (a, b) {
        // Addresses of the old kind in the new one's clothes.
        (0x64, 0xff9b) => within(y, z),
        (0x2002, _) => within(b, c),
        // Tunnels, and examples.
        (0x2001, 0) | (0x2001, 0xdb8) => false,
        // Only these are allocated.
        _ => (0x2000..0x4000).contains(&a),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> HostList {
        HostList::new(entries.iter().copied(), &[("@registries", REGISTRIES)]).unwrap()
    }

    #[test]
    fn a_host_is_meant_alone_and_at_the_usual_ports() {
        let hosts = list(&["api.example.org", "other.example.org:8443"]);
        assert!(hosts.allows("api.example.org", 443) && hosts.allows("API.example.org.", 80));
        assert!(!hosts.allows("api.example.org", 22) && !hosts.allows("example.org", 443));
        assert!(!hosts.allows("xapi.example.org", 443) && !hosts.allows("api.example.org.evil.net", 443));
        assert!(hosts.allows("other.example.org", 8443) && !hosts.allows("other.example.org", 443));
    }

    #[test]
    fn a_star_is_everything_below_and_not_the_domain_itself() {
        let hosts = list(&["*.npmjs.org"]);
        assert!(hosts.allows("registry.npmjs.org", 443) && hosts.allows("a.b.npmjs.org", 443));
        assert!(
            !hosts.allows("npmjs.org", 443) && !hosts.allows("evilnpmjs.org", 443) && !hosts.allows(".npmjs.org", 443)
        );
    }

    #[test]
    fn addresses_are_reached_when_they_are_listed_or_public_behind_a_listed_name() {
        let hosts = list(&["example.org", "127.0.0.1:8080", "[fd00::1]:9000"]);
        assert!(hosts.allows("127.0.0.1", 8080) && !hosts.allows("127.0.0.1", 8081) && !hosts.allows("1.1.1.1", 443));
        assert!(hosts.allows("[fd00::1]", 9000) && hosts.allows("::ffff:127.0.0.1", 8080));
        let reaches = |address: &str, port| hosts.reaches(address.parse().unwrap(), port);
        assert!(reaches("93.184.216.34", 443) && reaches("2606:4700::1", 443) && reaches("127.0.0.1", 8080));
        for private in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "ff02::1",
            "::",
        ] {
            assert!(!reaches(private, 443), "{private}");
        }
        assert_eq!(hosts.local_ports(), [8080]);
        assert_eq!(list(&["localhost:3000"]).local_ports(), [3000]);
        assert!(list(&["localhost:3000"]).reaches("127.0.0.1".parse().unwrap(), 3000));
    }

    #[test]
    fn ready_lists_are_whole_and_what_is_no_host_is_refused() {
        let hosts = list(&["@registries", "api.example.org"]);
        assert!(hosts.allows("api.example.org", 443) && hosts.allows("index.crates.io", 443));
        assert!(!hosts.allows("github.com", 443));
        for wrong in ["", "*", "*.", "a..b", "http://a.org", "a.org:http", "a b", "*.*.org", "a.org/path", "[::1"] {
            assert!(HostList::new([wrong], &[]).is_err(), "{wrong}");
        }
        assert!(HostList::new(["@all"], &[]).unwrap_err().to_string().contains("@registries"));
    }
}
