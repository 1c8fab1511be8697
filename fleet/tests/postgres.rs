//! The store's contract against PostgreSQL, and what only a database of many machines has to bear.

mod server;
#[path = "../../crates/store/tests/store/support.rs"]
mod support;
#[path = "../../crates/store/tests/store/contract.rs"]
mod contract;
mod cut;

use std::sync::Arc;
use std::time::Duration;

use contract::each_story;
use support::{WORKER, holder, new_loop, step};
use windlass_fleet::{FORMAT, PgStore, Worker};
use windlass_store::{ListFilter, Presence, Store, StoreError};

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
    store.seen(&Worker { id: WORKER.into(), name: "w".into() }).await.unwrap();
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
    let Some(url) = server::database().await else { return };
    let direct = PgStore::connect(&url).await.unwrap();
    let cutting = cut::Proxy::start(&url).await;
    let store = PgStore::connect(&cutting.url).await.unwrap();
    new_loop(&direct, "a", "t").await;
    cutting.lose_next_commit();
    assert_eq!(store.append(step("a", 1, "t")).await.unwrap(), 2);
    assert!(cutting.lost(), "the answer was not lost, so nothing was tried");
    assert_eq!(direct.read("a", 0, 10).await.unwrap().len(), 2, "once");
    cutting.lose_next_commit();
    new_loop(&store, "b", "t").await;
    assert!(cutting.lost());
    cutting.lose_next_commit();
    store.remove("b", "t").await.unwrap();
    assert!(cutting.lost());
    assert_eq!(direct.get("b").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn database_without_tables_or_with_newer_ones_is_refused() {
    let Some(url) = server::empty().await else { return };
    let refused = PgStore::connect(&url).await.unwrap_err().to_string();
    assert!(refused.contains("windlass-fleet migrate"), "{refused}");
    assert_eq!(PgStore::migrate(&url).await.unwrap(), (0, FORMAT));
    assert_eq!(PgStore::migrate(&url).await.unwrap(), (FORMAT, FORMAT));
    server::execute(&url, "UPDATE meta SET format = 99").await;
    for refused in [PgStore::connect(&url).await.err(), PgStore::migrate(&url).await.err()] {
        let refused = refused.unwrap().to_string();
        assert!(refused.contains("format 99"), "{refused}");
    }
}

#[test]
fn migrate_says_what_it_did_and_names_a_wrong_address() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let Some(url) = runtime.block_on(server::empty()) else { return };
    let run = |args: &[&str]| std::process::Command::new(env!("CARGO_BIN_EXE_windlass-fleet")).args(args).output().unwrap();
    let done = run(&["migrate", "--database", &url, "--json"]);
    assert_eq!(String::from_utf8_lossy(&done.stdout), format!("{{\"from\":0,\"to\":{FORMAT}}}\n"));
    let again = run(&["migrate", "--database", &url]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("up to date"));
    let wrong = run(&["migrate", "--database", "postgres://127.0.0.1:1/none"]);
    assert_eq!(wrong.status.code(), Some(2));
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.starts_with("error: ") && said.contains("\nhint: check"), "{said}");
}
