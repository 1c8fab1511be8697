//! Download tickets: a link that a browser follows cannot carry a header.
//!
//! Invariant: a ticket opens exactly the path and query it was issued for, once, within [`VALID`]. It dies with the
//! session that requested it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::access::secret::{fingerprint, random};
use windlass_app::{Kind, Problem};

const VALID: Duration = Duration::from_secs(30);
const MOST: usize = 256;
/// How a path with a ticket ends.
const PARAMETER: &str = "ticket=";

#[derive(Debug)]
struct Issued {
    path: String,
    session: Option<String>,
    until: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Tickets {
    /// By the fingerprint of the ticket.
    issued: Mutex<HashMap<String, Issued>>,
}

impl Tickets {
    /// Returns the path with a ticket in its query.
    pub(crate) fn issue(&self, path: &str, session: Option<String>) -> Result<String, Problem> {
        self.issue_at(path, session, Instant::now())
    }

    fn issue_at(&self, path: &str, session: Option<String>, now: Instant) -> Result<String, Problem> {
        if !is_download(path) {
            return Err(Problem::new(Kind::Invalid, "no download tickets for this path")
                .field("path")
                .hint("use the path of a turn's prompt, stdout, or stderr"));
        }
        let mut issued = self.issued();
        issued.retain(|_, one| one.until > now);
        if issued.len() >= MOST {
            return Err(Problem::new(Kind::TooMany, "too many downloads at once").hint("wait a moment and retry"));
        }
        let ticket = random(16).map_err(super::failed)?;
        issued.insert(fingerprint(&ticket), Issued { path: path.to_owned(), session, until: now + VALID });
        let and = if path.contains('?') { '&' } else { '?' };
        Ok(format!("{path}{and}{PARAMETER}{ticket}"))
    }

    /// Takes the ticket of a request; the session that requested it is in the answer.
    pub(crate) fn take(&self, path: &str, query: Option<&str>) -> Option<Option<String>> {
        self.take_at(path, query, Instant::now())
    }

    fn take_at(&self, path: &str, query: Option<&str>, now: Instant) -> Option<Option<String>> {
        let query = query?;
        let (rest, ticket) = match query.rsplit_once('&') {
            Some((rest, last)) => (Some(rest), last.strip_prefix(PARAMETER)?),
            None => (None, query.strip_prefix(PARAMETER)?),
        };
        let asked = rest.map_or_else(|| path.to_owned(), |rest| format!("{path}?{rest}"));
        let issued = self.issued().remove(&fingerprint(ticket))?;
        (issued.path == asked && issued.until > now).then_some(issued.session)
    }

    fn issued(&self) -> MutexGuard<'_, HashMap<String, Issued>> {
        self.issued.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that a browser saves: nothing that a page could read as its own.
fn is_download(path_and_query: &str) -> bool {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let parts: Vec<&str> = path.split('/').collect();
    let named = matches!(parts[..], ["", "api", "loops", _, "turns", _, "stdout" | "stderr" | "prompt"]);
    named && !query.contains(PARAMETER) && path_and_query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/api/loops/x/turns/1.coder.1/stdout";

    fn parts(path: &str) -> (&str, Option<&str>) {
        path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)))
    }

    #[test]
    fn ticket_opens_its_own_path_once() {
        let tickets = Tickets::default();
        let issued = tickets.issue(&format!("{PATH}?limit=5"), Some("me".to_owned())).unwrap();
        let (path, query) = parts(&issued);
        assert_eq!(tickets.take(path, query), Some(Some("me".to_owned())));
        assert_eq!(tickets.take(path, query), None);
    }

    #[test]
    fn ticket_is_spent_when_used_for_another_path() {
        let tickets = Tickets::default();
        let issued = tickets.issue(PATH, None).unwrap();
        let (path, query) = parts(&issued);
        assert_eq!(tickets.take("/api/loops/y/turns/1.coder.1/stdout", query), None);
        assert_eq!(tickets.take(path, query), None);
        let more = tickets.issue(PATH, None).unwrap();
        let query = format!("limit=9&{}", parts(&more).1.unwrap());
        assert_eq!(tickets.take(PATH, Some(&query)), None, "nor for another query");
    }

    #[test]
    fn ticket_expires() {
        let tickets = Tickets::default();
        let now = Instant::now();
        let issued = tickets.issue_at(PATH, None, now).unwrap();
        let (path, query) = parts(&issued);
        assert_eq!(tickets.take_at(path, query, now + VALID), None);
    }

    #[test]
    fn ticket_is_refused_for_everything_but_downloads() {
        let tickets = Tickets::default();
        for path in
            ["/api/loops", "/api/settings", "/api/loops/x/turns/1/stdout/../../..", "/api/loops/x/events", "/", ""]
        {
            assert!(tickets.issue(path, None).is_err(), "{path}");
        }
        assert!(tickets.issue(&format!("{PATH}?ticket=1"), None).is_err());
        let full = (0..MOST).try_for_each(|_| tickets.issue(PATH, None).map(drop));
        assert!(full.is_ok() && tickets.issue(PATH, None).is_err());
    }
}
