//! What opening a SQLite store does to files that are new, foreign, newer, damaged or shared.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

use crate::support::{new_loop, open, step};
use tempfile::TempDir;
use windlass_store::{Access, ListFilter, SqliteStore, Store, StoreError};

const BOTH: [Access; 2] = [Access::ReadOnly, Access::ReadWrite];

fn home() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("windlass.db");
    (home, path)
}

/// Everything in the database's directory, by name.
fn files(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|file| (file.clone(), fs::read(file).unwrap()))
        .collect();
    files.sort();
    files
}

/// A closed database with one loop of `events` events.
async fn filled(path: &Path, events: u64) {
    let store = open(path);
    new_loop(&store, "a", "t").await;
    for seq in 1..events {
        store.append(step("a", seq, "t")).await.unwrap();
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_directory_and_all_files_are_for_this_user_only() {
    let (home, _) = home();
    let path = home.path().join("data/windlass/windlass.db");
    let store = open(&path);
    new_loop(&store, "a", "t").await;
    assert_eq!(mode(&home.path().join("data")), 0o700);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let files = files(&path);
    assert!(files.len() >= 2, "database and log: {files:?}");
    for (file, _) in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening_and_the_log_is_tidied_away() {
    let (_home, path) = home();
    filled(&path, 3).await;
    assert_eq!(files(&path).len(), 1);
    for access in BOTH {
        let store = SqliteStore::open(&path, access).unwrap();
        assert_eq!(store.read("a", 0, 10).await.unwrap().len(), 3);
        assert_eq!(store.list(ListFilter::default()).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn reading_a_database_that_was_never_created_says_so_and_creates_nothing() {
    let (home, path) = home();
    let missing = SqliteStore::open(home.path().join("none/windlass.db"), Access::ReadOnly);
    assert!(matches!(missing, Err(StoreError::NotFound { .. })));
    assert!(matches!(SqliteStore::open(&path, Access::ReadOnly), Err(StoreError::NotFound { .. })));
    assert_eq!(files(&path), []);
    // A creation that was cut off right after the file appeared.
    fs::write(&path, "").unwrap();
    assert!(matches!(SqliteStore::open(&path, Access::ReadOnly), Err(StoreError::NotFound { .. })));
    new_loop(&open(&path), "a", "t").await;
}

#[tokio::test]
async fn a_store_opened_for_reading_refuses_to_write() {
    let (_home, path) = home();
    filled(&path, 1).await;
    let store = SqliteStore::open(&path, Access::ReadOnly).unwrap();
    let refused = store.append(step("a", 1, "t")).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
    assert!(refused.unwrap_err().hint().unwrap().contains("writable"));
    assert_eq!(store.get("a").await.unwrap().unwrap().head, 1);
}

#[tokio::test]
async fn a_reader_sees_what_a_writer_in_another_store_acknowledges() {
    let (_home, path) = home();
    let writer = open(&path);
    new_loop(&writer, "a", "t").await;
    let reader = SqliteStore::open(&path, Access::ReadOnly).unwrap();
    for seq in 1..20 {
        writer.append(step("a", seq, "t")).await.unwrap();
        assert_eq!(reader.get("a").await.unwrap().unwrap().head, seq + 1);
    }
}

#[tokio::test]
// promise: recovery-10
async fn a_file_that_is_no_database_is_called_damaged_and_left_alone() {
    let (_home, path) = home();
    for content in [b"#!/bin/sh\n".repeat(2000), vec![0; 8192], b"short".to_vec()] {
        fs::write(&path, content).unwrap();
        let before = files(&path);
        for access in BOTH {
            let refused = SqliteStore::open(&path, access).unwrap_err();
            assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
            assert!(refused.hint().unwrap().contains("Windlass changed nothing"));
        }
        assert_eq!(files(&path), before);
    }
}

#[tokio::test]
async fn a_truncated_database_is_called_damaged_and_left_alone() {
    let (_home, path) = home();
    filled(&path, 200).await;
    let whole = fs::read(&path).unwrap();
    for length in [60, 4096, whole.len() / 2, whole.len() - 4096] {
        fs::write(&path, &whole[..length]).unwrap();
        for access in BOTH {
            let refused = SqliteStore::open(&path, access).unwrap_err();
            assert!(matches!(refused, StoreError::Corrupt { .. }), "at {length}: {refused:?}");
        }
        assert!(fs::read(&path).unwrap() == whole[..length], "changed at {length}");
    }
}

#[tokio::test]
async fn damage_inside_the_file_is_told_when_it_is_met() {
    let (_home, path) = home();
    filled(&path, 2000).await;
    let mut content = fs::read(&path).unwrap();
    let tables = content.len().min(16 * 4096);
    content[tables..].fill(0xa5);
    fs::write(&path, &content).unwrap();
    let store = SqliteStore::open(&path, Access::ReadOnly).unwrap();
    let read = store.read("a", 0, usize::MAX).await;
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{:?}", read.map(|events| events.len()));
    drop(store);
    assert!(fs::read(&path).unwrap() == content);
}

#[tokio::test]
async fn a_log_without_its_database_is_not_thrown_away() {
    let (_home, path) = home();
    let store = open(&path);
    new_loop(&store, "a", "t").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let orphan = elsewhere.path().join("windlass.db");
    fs::copy(path.with_extension("db-wal"), orphan.with_extension("db-wal")).unwrap();
    for emptied in [false, true] {
        if emptied {
            fs::write(&orphan, "").unwrap();
        }
        for access in BOTH {
            let refused = SqliteStore::open(&orphan, access).unwrap_err();
            assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
            assert!(orphan.with_extension("db-wal").metadata().unwrap().len() > 0);
        }
    }
}

#[tokio::test]
// promise: recovery-10
async fn a_newer_database_is_refused_and_left_alone() {
    let (_home, path) = home();
    filled(&path, 3).await;
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = fs::read(&path).unwrap();
    for access in BOTH {
        let refused = SqliteStore::open(&path, access).unwrap_err();
        assert!(matches!(refused, StoreError::NewerDatabase { found: 99, .. }), "{refused:?}");
        assert!(refused.hint().unwrap().contains("update windlass"));
    }
    assert!(fs::read(&path).unwrap() == before);
}

#[tokio::test]
async fn a_newer_database_that_a_crash_left_with_a_log_is_not_even_tidied() {
    let (_home, path) = home();
    filled(&path, 3).await;
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    let copy = crashed.path().join("windlass.db");
    fs::copy(&path, &copy).unwrap();
    fs::copy(path.with_extension("db-wal"), copy.with_extension("db-wal")).unwrap();
    let before = (fs::read(&copy).unwrap(), fs::read(copy.with_extension("db-wal")).unwrap());
    for access in BOTH {
        let refused = SqliteStore::open(&copy, access).unwrap_err();
        assert!(matches!(refused, StoreError::NewerDatabase { found: 99, .. }), "{refused:?}");
    }
    let after = (fs::read(&copy).unwrap(), fs::read(copy.with_extension("db-wal")).unwrap());
    assert!(before == after);
}

#[tokio::test]
async fn a_process_that_runs_on_while_the_database_is_migrated_stops_writing() {
    let (_home, path) = home();
    let store = open(&path);
    new_loop(&store, "a", "t").await;
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let refused = store.append(step("a", 1, "t")).await;
    assert!(matches!(refused, Err(StoreError::NewerDatabase { found: 99, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_database_of_another_program_is_refused_and_left_alone() {
    let (_home, path) = home();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 1").unwrap();
    drop(other);
    let before = files(&path);
    for access in BOTH {
        let refused = SqliteStore::open(&path, access).unwrap_err();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused:?}");
    }
    assert_eq!(files(&path), before);
}

#[test]
fn many_threads_may_create_the_same_database_at_once() {
    for _ in 0..10 {
        let (_home, path) = home();
        let start = Arc::new(Barrier::new(8));
        let threads = (0..8).map(|n| {
            let (path, start) = (path.clone(), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                let store = open(&path);
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                runtime.block_on(new_loop(&store, &format!("l{n}"), "t"));
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let listed = runtime.block_on(open(&path).list(ListFilter::default())).unwrap();
        assert_eq!(listed.len(), 8);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_on_one_file_keep_the_contract_between_them() {
    let (_home, path) = home();
    let stores = [Arc::new(open(&path)), Arc::new(open(&path))];
    new_loop(&*stores[0], "shared", "t").await;
    let tasks = stores.clone().map(|store| {
        tokio::spawn(async move {
            let (mut seq, mut won) = (1, 0);
            while won < 50 {
                match store.append(step("shared", seq, "t")).await {
                    Ok(head) => (seq, won) = (head, won + 1),
                    Err(StoreError::Conflict { found, .. }) => seq = found,
                    Err(error) => panic!("{error:?}"),
                }
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    for store in &stores {
        assert_eq!(store.get("shared").await.unwrap().unwrap().head, 101);
        let seqs: Vec<u64> = store.read("shared", 0, 1000).await.unwrap().iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=101).collect::<Vec<_>>());
    }
}
