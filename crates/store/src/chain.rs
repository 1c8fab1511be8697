//! The hash chain over a loop's journal.
//!
//! Each event is stored with `sha256(link before it || its own bytes)`; before the first come 32 zero bytes. A store
//! computes the link when it writes an event and never again, so an event that was changed, removed, inserted or moved
//! later does not fit. Anyone who can write the database can compute a new chain: it detects accidents, not forgery.

use std::fmt;

/// The value of the chain at an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Link(pub [u8; 32]);

impl Link {
    /// What comes before the first event.
    pub const START: Link = Link([0; 32]);

    /// The value at the next event. Texts are preceded by their length, so that no two events have the same bytes.
    pub fn next(self, event: &Linked<'_>) -> Link {
        let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
        hash.update(&self.0);
        hash.update(&event.seq.to_be_bytes());
        hash.update(&event.at.to_be_bytes());
        for part in [event.kind, event.body] {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let mut value = [0; 32];
        value.copy_from_slice(hash.finish().as_ref());
        Link(value)
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Link> {
        bytes.try_into().ok().map(Link)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The bytes of an event as they are stored; a damaged one need not be text.
#[derive(Clone, Copy, Debug)]
pub struct Linked<'a> {
    pub seq: u64,
    /// In nanoseconds since 1970.
    pub at: i64,
    pub kind: &'a [u8],
    pub body: &'a [u8],
}

/// What a walk along the chain found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainCheck {
    /// Events that fit, from the first on.
    pub events: u64,
    /// The value at the last of them; that of the start if there is none.
    pub head: Link,
    /// The first event that does not fit.
    pub broken_at: Option<u64>,
}

impl ChainCheck {
    pub fn start() -> Self {
        Self { events: 0, head: Link::START, broken_at: None }
    }

    /// Checks the next event against its stored link; returns whether it matches.
    pub fn follow(&mut self, event: &Linked<'_>, stored: Option<Link>) -> bool {
        let expected = self.events + 1;
        let link = self.head.next(event);
        if event.seq != expected || stored != Some(link) {
            self.broken_at = Some(expected);
            return false;
        }
        self.events = expected;
        self.head = link;
        true
    }

    /// The journal should have so many events.
    pub fn ends_at(mut self, head: u64) -> Self {
        if self.broken_at.is_none() && self.events < head {
            self.broken_at = Some(self.events + 1);
        }
        self
    }
}
