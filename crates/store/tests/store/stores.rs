//! The contract against the stores of this crate, and what only SQLite knows: whether a process lives.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::contract::{self, each_story};
use crate::support::{holder, new_loop, open, process};
use windlass_store::{MemoryStore, Presence, Seat, Store};

macro_rules! against_memory {
    ($($story:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $story() {
                super::contract::$story(super::Arc::new(super::MemoryStore::new())).await;
            })*
        }
    };
}
each_story!(against_memory);

macro_rules! against_sqlite {
    ($($story:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $story() {
                let home = tempfile::tempdir().expect("a temporary directory");
                super::contract::$story(super::Arc::new(super::open(&home.path().join("windlass.db")))).await;
            })*
        }
    };
}
each_story!(against_sqlite);

#[tokio::test]
async fn process_comes_back_as_it_was_with_any_socket() {
    let home = tempfile::tempdir().unwrap();
    let store = open(&home.path().join("windlass.db"));
    new_loop(&store, "a", "t").await;
    let mut odd = process("t");
    let Seat::Process { process, socket } = &mut odd.seat else { panic!("a process") };
    process.start_time = u64::MAX - 1;
    *socket = OsStr::from_bytes(b"/run/\xff\xfe.sock").into();
    store.acquire("a", odd.clone(), None).await.unwrap();
    assert_eq!(store.holder("a").await.unwrap().unwrap().holder, odd);
}

#[tokio::test]
// promise: recovery-13
async fn holder_lives_as_long_as_its_store_is_open() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("windlass.db");
    let (driver, reader) = (open(&path), open(&path));
    new_loop(&driver, "a", "t").await;
    new_loop(&driver, "worker", "t").await;
    let presence = async |id: &str| {
        let listed = reader.get(id).await.unwrap().unwrap();
        let held = reader.holder(id).await.unwrap().unwrap();
        assert_eq!(listed.holder.as_ref(), Some(&held));
        assert_eq!(listed.is_driven(), held.presence != Presence::Gone);
        held.presence
    };
    // The same kernel, but another container: its number says nothing here, its lock does.
    let mut container = process("t");
    if let Seat::Process { process, .. } = &mut container.seat {
        process.pid_namespace += 1;
    }
    driver.acquire("a", container, None).await.unwrap();
    driver.acquire("worker", holder("t"), None).await.unwrap();
    assert_eq!(presence("a").await, Presence::Alive);
    assert_eq!(presence("worker").await, Presence::Unknown, "no heartbeats reach this store");
    drop(driver);
    assert_eq!(presence("a").await, Presence::Gone);
}
