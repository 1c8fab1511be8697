//! TCP ports that are listened on: in the loop's range by anybody, elsewhere by its processes.

use std::collections::HashMap;

use super::processes::Seen;
use crate::ports::PortRange;

/// Ports, each with the process that listens there if it is the loop's.
pub(super) fn left(range: Option<PortRange>, processes: &[Seen]) -> Vec<(u16, Option<u32>)> {
    if range.is_none() && processes.is_empty() {
        return Vec::new();
    }
    let owners: HashMap<u64, u32> =
        processes.iter().flat_map(|seen| sockets_of(seen.pid).into_iter().map(|socket| (socket, seen.pid))).collect();
    let mut found = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for (port, socket) in listeners(&std::fs::read_to_string(table).unwrap_or_default()) {
            let owner = owners.get(&socket).copied();
            let in_range = range.is_some_and(|range| range.contains(port));
            if (in_range || owner.is_some()) && !found.contains(&(port, owner)) {
                found.push((port, owner));
            }
        }
    }
    found
}

/// Port and inode of every listening socket.
fn listeners(table: &str) -> Vec<(u16, u64)> {
    const LISTEN: &str = "0A";
    let read = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let port = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
        (*fields.get(3)? == LISTEN).then_some((port, fields.get(9)?.parse().ok()?))
    };
    table.lines().skip(1).filter_map(read).collect()
}

fn sockets_of(pid: u32) -> Vec<u64> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let inode =
        |target: std::path::PathBuf| target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok();
    entries.filter_map(|entry| inode(std::fs::read_link(entry.path()).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_told_from_connections() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
            0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0\n   \
            1: 0100007F:4E21 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0\n";
        assert_eq!(listeners(table), [(20_000, 4711)]);
    }

    #[test]
    fn a_listener_in_the_range_is_found_and_one_beside_it_is_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(left(Some(PortRange { base: port }), &[]).contains(&(port, None)));
        assert!(!left(Some(PortRange { base: port + 1 }), &[]).iter().any(|(seen, _)| *seen == port));
        let own = Seen { pid: std::process::id(), name: "test".into(), tagged: true };
        assert!(left(None, &[own]).contains(&(port, Some(std::process::id()))));
    }
}
