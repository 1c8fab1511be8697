//! The store's contract against PostgreSQL, and what only a database of many machines has to bear.

#[path = "../../crates/store/tests/store/contract.rs"]
mod contract;
mod cut;
mod server;
#[path = "../../crates/store/tests/store/support.rs"]
mod support;

use std::sync::Arc;
use std::time::Duration;

use contract::each_story;
use sqlx::{Connection, PgConnection};
use support::{WORKER, entry, event_with, holder, item, new_loop, step};
use windlass_fleet::{FORMAT, PgStore, Piece, Worker};
use windlass_store::{CatalogueEntry, Create, ListFilter, Presence, Store, StoreError};

macro_rules! against_postgres {
    ($($story:ident)*) => {
        mod story {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $story() {
                let Some(url) = super::server::database().await else { return };
                super::contract::$story(super::Arc::new(super::PgStore::connect(&url).await.unwrap())).await;
            })*
        }
    };
}
each_story!(against_postgres);

#[tokio::test(flavor = "multi_thread")]
async fn of_two_takers_of_a_free_loop_one_wins() {
    let Some(url) = server::database().await else { return };
    let (one, two) = (PgStore::connect(&url).await.unwrap(), PgStore::connect(&url).await.unwrap());
    new_loop(&one, "a", "t").await;
    one.release("a", "t").await.unwrap();
    let (first, second) = tokio::join!(one.acquire("a", holder("one"), None), two.acquire("a", holder("two"), None));
    let winner = match (first, second) {
        (Ok(()), Err(StoreError::Held(by))) | (Err(StoreError::Held(by)), Ok(())) => by.token,
        other => panic!("{other:?}"),
    };
    assert_eq!(one.holder("a").await.unwrap().unwrap().holder.token, winner);
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_lives_while_the_database_hears_of_it() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    new_loop(&store, "a", "t").await;
    let presence = async |lost_after: Duration| {
        let store = store.clone().lost_after(lost_after);
        let listed = store.list(ListFilter::default()).await.unwrap().remove(0);
        assert_eq!(listed.holder, store.holder("a").await.unwrap());
        listed.holder.unwrap().presence
    };
    let hour = Duration::from_secs(3600);
    assert_eq!(presence(hour).await, Presence::Unknown, "it never said anything");
    store.seen(&Worker { id: WORKER.into(), name: "w".into(), is_desk: false, slots: Some(1) }).await.unwrap();
    assert_eq!(presence(hour).await, Presence::Alive);
    assert_eq!(presence(Duration::ZERO).await, Presence::Gone);
    store.acquire("a", holder("next"), Some("t")).await.unwrap();
    let fenced = store.append(step("a", 1, "t")).await;
    assert!(matches!(fenced, Err(StoreError::LeaseLost { .. })), "{fenced:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reader_sees_no_gap_while_64_writers_commit() {
    const WRITERS: usize = 64;
    const STEPS: u64 = 8;
    let Some(url) = server::database().await else { return };
    let store = Arc::new(PgStore::connect(&url).await.unwrap());
    for n in 0..WRITERS {
        new_loop(&*store, &format!("l{n}"), "t").await;
    }
    let writers = (0..WRITERS).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for seq in 1..=STEPS {
                store.append(step(&format!("l{n}"), seq, "t")).await.unwrap();
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut seen = vec![0_u64; WRITERS];
    while seen.iter().any(|head| *head < STEPS + 1) {
        for (n, head) in seen.iter_mut().enumerate() {
            for event in store.read(&format!("l{n}"), *head, 100).await.unwrap() {
                assert_eq!(event.seq, *head + 1, "a gap in l{n}");
                *head = event.seq;
            }
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn step_whose_answer_is_lost_is_written_once() {
    let Some((dir, name)) = server::at_socket().await else { return };
    let url = server::address(&dir, &name);
    PgStore::migrate(&url).await.unwrap();
    let direct = PgStore::connect(&url).await.unwrap();
    let proxy = cut::Proxy::before(&dir);
    let store = PgStore::connect(&server::address(proxy.dir(), &name)).await.unwrap();
    new_loop(&direct, "a", "t").await;
    macro_rules! lose {
        ($call:expr) => {{
            proxy.lose_next_commit();
            let done = $call.await;
            assert!(proxy.lost(), "the answer to {} was not lost, so nothing was tried", stringify!($call));
            done
        }};
    }
    assert_eq!(lose!(store.append(step("a", 1, "t"))).unwrap(), 2);
    assert_eq!(direct.read("a", 0, 10).await.unwrap().len(), 2, "once");
    lose!(store.post("a", item("c"))).unwrap();
    assert_eq!(direct.pending("a").await.unwrap(), [item("c")]);
    lose!(store.acquire("a", holder("u"), Some("t"))).unwrap();
    lose!(store.release("a", "u")).unwrap();
    assert_eq!(direct.holder("a").await.unwrap(), None);
    lose!(new_loop(&store, "b", "t"));
    lose!(store.remove("b", "t")).unwrap();
    assert_eq!(direct.get("b").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_wait_for_a_database_that_closed_its_connections() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    new_loop(&store, "a", "t").await;
    for seq in 1..4 {
        let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        server::execute(&url, all).await;
        assert_eq!(store.append(step("a", seq, "t")).await.unwrap(), seq + 1);
    }
}

/// The holder's step waits for the loop's row while another takes its lease: it must look at the lease after it has waited.
#[tokio::test(flavor = "multi_thread")]
async fn step_that_waits_while_its_lease_is_taken_is_refused() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    new_loop(&store, "a", "t").await;
    let mut taker = PgConnection::connect(&url).await.unwrap();
    let mut taking = taker.begin().await.unwrap();
    sqlx::query("SELECT 1 FROM loops FOR UPDATE").execute(&mut *taking).await.unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.append(step("a", 1, "t")).await }
    });
    // The server sends no word when somebody waits.
    let waits =
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')";
    let mut look = PgConnection::connect(&url).await.unwrap();
    while !sqlx::query_scalar::<_, bool>(waits).fetch_one(&mut look).await.unwrap() {
        tokio::task::yield_now().await;
    }
    sqlx::query("UPDATE leases SET token = 'u'").execute(&mut *taking).await.unwrap();
    taking.commit().await.unwrap();
    let fenced = waiting.await.unwrap();
    assert!(matches!(fenced, Err(StoreError::LeaseLost { .. })), "{fenced:?}");
    assert_eq!(store.read("a", 0, 10).await.unwrap().len(), 1);
}

fn piece(file: i16, at: u64, bytes: &[u8], token: &str) -> Piece {
    let (loop_id, turn) = ("a".to_owned(), "1.coder.1".to_owned());
    Piece { loop_id, turn, file, at, bytes: bytes.to_vec(), token: token.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_fetched_as_it_was_shipped_from_any_place() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    new_loop(&store, "a", "t").await;
    store.ship(&[piece(1, 0, b"one ", "t"), piece(2, 0, b"warning", "t")]).await.unwrap();
    store.ship(&[piece(1, 4, b"two ", "t")]).await.unwrap();
    // A shipment whose answer was lost is repeated, with what came meanwhile.
    store.ship(&[piece(1, 4, b"two three", "t")]).await.unwrap();
    store.ship(&[piece(1, 4, b"two ", "t")]).await.unwrap();
    let fetch = async |known: [i64; 5]| store.fetch("a", "1.coder.1", &known).await.unwrap();
    let mut ends = store.shipped("a", "1.coder.1").await.unwrap();
    ends.sort_unstable();
    assert_eq!(ends, [(1, 13), (2, 7)]);
    let open = fetch([0, 6, 7, 0, 0]).await;
    assert_eq!(open.chunks, [(1, 4, b"two three".to_vec())], "only the chunk with the first new byte");
    assert!(!open.is_closed && !open.has_more);
    store.close_turn("a", "1.coder.1", "t").await.unwrap();
    let closed = fetch([0; 5]).await;
    assert_eq!(closed.chunks, [(1, 0, b"one two three".to_vec()), (2, 0, b"warning".to_vec())], "joined");
    assert!(closed.is_closed);
    assert_eq!(fetch([0, 13, 7, 0, 0]).await.chunks, []);
    store.remove("a", "t").await.unwrap();
    assert_eq!(fetch([0; 5]).await.chunks, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_who_lost_the_lease_is_not_written() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    new_loop(&store, "a", "t").await;
    store.ship(&[piece(1, 0, b"mine", "t")]).await.unwrap();
    store.acquire("a", holder("u"), Some("t")).await.unwrap();
    store.ship(&[piece(1, 4, b" no more", "t")]).await.unwrap();
    store.close_turn("a", "1.coder.1", "t").await.unwrap();
    let fetched = store.fetch("a", "1.coder.1", &[0; 5]).await.unwrap();
    assert_eq!((fetched.chunks, fetched.is_closed), (vec![(1, 0, b"mine".to_vec())], false));
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_event_is_named_by_its_number() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    let changes = ["body = replace(body, 'after', 'aftes')", "at = at + 1", "link = ''", "seq = 9"];
    for (n, change) in changes.into_iter().enumerate() {
        let id = format!("l{n}");
        new_loop(&store, &id, "t").await;
        for seq in 1..4 {
            store.append(step(&id, seq, "t")).await.unwrap();
        }
        let sql =
            format!("UPDATE events SET {change} WHERE seq = 3 AND loop = (SELECT pk FROM loops WHERE id = '{id}')");
        server::execute(&url, &sql).await;
        let check = store.check_chain(&id, u64::MAX).await.unwrap();
        assert_eq!((check.events, check.broken_at), (2, Some(3)), "{change}");
    }
}

/// PostgreSQL has no text with it; JSON writes it as six characters, so only the goal of the list is concerned.
#[tokio::test(flavor = "multi_thread")]
async fn goal_with_a_null_character_is_kept_without_it() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    let odd = CatalogueEntry { goal: "a\0b".into(), ..entry("a", "/p", "a") };
    store.create(Create { entry: odd, events: vec![event_with("x", "a\0b")], holder: None }).await.unwrap();
    assert_eq!(store.get("a").await.unwrap().unwrap().entry.goal, "a\u{fffd}b");
    assert_eq!(store.read("a", 0, 1).await.unwrap()[0].body, event_with("x", "a\0b").body);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_without_tables_or_with_newer_ones_is_refused() {
    let Some(url) = server::empty().await else { return };
    let refused = PgStore::connect(&url).await.unwrap_err().to_string();
    assert!(refused.contains("windlass-fleet store migrate"), "{refused}");
    assert_eq!(PgStore::migrate(&url).await.unwrap(), (0, FORMAT));
    assert_eq!(PgStore::migrate(&url).await.unwrap(), (FORMAT, FORMAT));
    server::execute(&url, "UPDATE meta SET format = 99").await;
    for refused in [PgStore::connect(&url).await.err(), PgStore::migrate(&url).await.err()] {
        let refused = refused.unwrap().to_string();
        assert!(refused.contains("format 99"), "{refused}");
    }
}

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_windlass-fleet")).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code(), text(&done.stdout), text(&done.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_says_what_it_did_and_names_a_wrong_address() {
    let Some(url) = server::empty().await else { return };
    let (code, said, _) = run(&["store", "migrate", "--database", &url, "--json"]);
    assert_eq!((code, said), (Some(0), format!("{{\"from\":0,\"to\":{FORMAT}}}\n")));
    assert!(run(&["store", "migrate", "--database", &url]).1.contains("up to date"));
    let (code, _, said) = run(&["store", "migrate", "--database", "postgres://127.0.0.1:1/none"]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("error: ") && said.contains("\nhint: check"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_counts_loops_and_names_a_changed_journal() {
    let Some(url) = server::database().await else { return };
    let store = PgStore::connect(&url).await.unwrap();
    for id in ["a", "b"] {
        new_loop(&store, id, "t").await;
    }
    let check = || run(&["store", "check", "--database", &url, "--json"]);
    let (code, said, _) = check();
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((&said["format"], &said["loops"], &said["events"]), (&FORMAT.into(), &2.into(), &2.into()));
    assert_eq!(said["changed"], serde_json::json!([]));
    server::execute(&url, "UPDATE events SET at = at + 1 WHERE loop = 1").await;
    let (code, said, _) = check();
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &said["changed"]), (Some(1), &serde_json::json!([{ "id": "a", "name": "a", "event": 1 }])));
    let (_, said, _) = run(&["store", "check", "--database", &url]);
    assert!(said.contains("a (a): event 1 does not fit"), "{said}");
}
