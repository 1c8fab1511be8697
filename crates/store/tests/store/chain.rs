//! Events that somebody changed in the database do not fit the hash chain, and are named.

use crate::support::{new_loop, open, step};
use rusqlite::Connection;
use windlass_store::Store;

/// A database with one loop of four events, changed by a statement; where its chain breaks.
async fn broken_at(change: &str) -> Option<u64> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("windlass.db");
    let store = open(&path);
    new_loop(&store, "a", "t").await;
    for seq in 1..4 {
        store.append(step("a", seq, "t")).await.unwrap();
    }
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let check = store.check_chain("a", u64::MAX).await.unwrap();
    assert_eq!(check.events, check.broken_at.map_or(4, |broken| broken - 1));
    // The journal continues, and the fault stays where it is.
    store.append(step("a", 4, "t")).await.unwrap();
    assert_eq!(store.check_chain("a", u64::MAX).await.unwrap().broken_at, check.broken_at);
    check.broken_at
}

#[tokio::test]
// promise: recovery-12
async fn changed_event_is_named_by_its_number() {
    let set = |what: &str| format!("UPDATE events SET {what} WHERE seq = 3");
    let cases = [
        (String::new(), None),
        (set("at = at + 1"), Some(3)),
        (set("kind = 'turn_endee'"), Some(3)),
        (set("body = replace(body, 'after', 'aftes')"), Some(3)),
        (set("body = CAST(x'7bff7d' AS TEXT)"), Some(3)),
        (set("link = zeroblob(32)"), Some(3)),
        (set("link = x''"), Some(3)),
        ("DELETE FROM events WHERE seq = 2".to_owned(), Some(2)),
        ("UPDATE events SET seq = 9 WHERE seq = 2; UPDATE events SET seq = 2 WHERE seq = 3; UPDATE events SET seq = 3 WHERE seq = 9".to_owned(), Some(2)),
    ];
    for (change, expected) in cases {
        assert_eq!(broken_at(&change).await, expected, "{change}");
    }
}

#[tokio::test]
// promise: recovery-12
async fn lost_end_of_a_journal_is_found() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("windlass.db");
    let store = open(&path);
    new_loop(&store, "a", "t").await;
    store.append(step("a", 1, "t")).await.unwrap();
    Connection::open(&path).unwrap().execute_batch("DELETE FROM events WHERE seq = 2").unwrap();
    assert_eq!(store.check_chain("a", u64::MAX).await.unwrap().broken_at, Some(2));
    assert_eq!(store.check_chain("a", 1).await.unwrap().broken_at, None);
}
