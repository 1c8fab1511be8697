//! A range of TCP ports for each loop, so that the servers its agent and gates start do not meet those of another.
//!
//! The range is derived from the loop's id, so it is the same whenever it is still free. It is held by a socket in the
//! abstract namespace, which is seen by every user of this machine's network and goes with the process, however it ends.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// How many ports a loop has.
pub(crate) const COUNT: u16 = 10;
/// Below what systems hand out by themselves, above what services are known by.
const FIRST: u16 = 20_000;
const RANGES: u16 = 1_000;
/// So many are tried; a machine where all of them are taken is not one for ports.
const TRIES: u16 = 100;

/// The ports of a loop: `base` and the nine that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    pub base: u16,
}

impl PortRange {
    pub fn contains(self, port: u16) -> bool {
        (self.base..self.base + COUNT).contains(&port)
    }
}

/// The ranges that loops of this process have.
#[derive(Debug, Default)]
pub struct Ports(Mutex<HashMap<String, Claim>>);

#[derive(Debug)]
struct Claim {
    range: PortRange,
    _mark: mark::Mark,
}

impl Ports {
    /// Takes a range for a loop; one that it has already stays. `None` if nothing is free.
    pub fn claim(&self, loop_id: &str) -> Option<PortRange> {
        let mut claims = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(claim) = claims.get(loop_id) {
            return Some(claim.range);
        }
        let wanted = preferred(loop_id);
        let claim = (0..TRIES).find_map(|step| take((wanted + step) % RANGES))?;
        let range = claim.range;
        claims.insert(loop_id.to_owned(), claim);
        Some(range)
    }

    pub fn of(&self, loop_id: &str) -> Option<PortRange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(loop_id).map(|claim| claim.range)
    }

    pub fn release(&self, loop_id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(loop_id);
    }
}

/// The number of the range that a loop would like to have (FNV-1a, which stays the same forever).
fn preferred(loop_id: &str) -> u16 {
    let hash = loop_id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    u16::try_from(hash % u64::from(RANGES)).unwrap_or(0)
}

fn take(number: u16) -> Option<Claim> {
    let range = PortRange { base: FIRST + number * COUNT };
    let mark = mark::Mark::make(range.base)?;
    let free = (range.base..range.base + COUNT).all(is_free);
    free.then_some(Claim { range, _mark: mark })
}

/// Whether nobody listens there, on whatever address.
fn is_free(port: u16) -> bool {
    let free = |address: SocketAddr| match TcpListener::bind(address) {
        Ok(_) => true,
        // A machine without IPv6 has nobody who listens there.
        Err(error) => error.kind() != std::io::ErrorKind::AddrInUse,
    };
    free((Ipv4Addr::UNSPECIFIED, port).into()) && free((Ipv6Addr::LOCALHOST, port).into())
}

#[cfg(target_os = "linux")]
mod mark {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};

    /// Nobody ever connects to it; that it is bound is all it says.
    #[derive(Debug)]
    pub(super) struct Mark(#[expect(dead_code, reason = "held")] UnixListener);

    impl Mark {
        pub(super) fn make(base: u16) -> Option<Self> {
            let name = SocketAddr::from_abstract_name(format!("windlass-ports-{base}")).ok()?;
            UnixListener::bind_addr(&name).ok().map(Self)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod mark {
    use rustix::fs::{FlockOperation, flock};

    /// A file that is locked as long as the process lives.
    #[derive(Debug)]
    pub(super) struct Mark(#[expect(dead_code, reason = "held")] std::fs::File);

    impl Mark {
        pub(super) fn make(base: u16) -> Option<Self> {
            let uid = rustix::process::getuid().as_raw();
            let path = std::env::temp_dir().join(format!("windlass-{uid}-ports-{base}"));
            let file = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(path).ok()?;
            flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
            Some(Self(file))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_stays_the_loops_is_nobody_elses_and_comes_back_when_it_is_free() {
        let id = format!("loop-{}", std::process::id());
        let (here, elsewhere) = (Ports::default(), Ports::default());
        let first = here.claim(&id).unwrap();
        assert_eq!(here.claim(&id), Some(first));
        assert_eq!(here.of(&id), Some(first));
        // Another process that drives a loop which would like the same.
        let other = elsewhere.claim(&id).unwrap();
        assert!(!first.contains(other.base) && !other.contains(first.base), "{first:?} {other:?}");
        here.release(&id);
        assert_eq!(here.of(&id), None);
        assert_eq!(here.claim(&id), Some(first), "the same again");
    }

    #[test]
    fn a_range_in_which_somebody_listens_is_passed_over() {
        let id = format!("listened-{}", std::process::id());
        let ports = Ports::default();
        let wanted = ports.claim(&id).unwrap();
        ports.release(&id);
        let _listens = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted.base + 3)).unwrap();
        assert_ne!(ports.claim(&id), Some(wanted));
    }
}
