//! Databases in places that cannot be written, or have no room.
//!
//! Needs separate mounts, because root ignores permissions. Each test restarts itself
//! in a mount namespace, where nothing it mounts is seen outside or left behind; where the system does not
//! allow that, it prints SKIPPED and passes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::support::{event_with, new_loop, open, step};
use tempfile::TempDir;
use windlass_store::{Access, ListFilter, SqliteStore, Store, StoreError};

const INSIDE: &str = "STORE_TEST_INSIDE_NAMESPACE";

/// True in the namespace, where the test's body is to run; false outside, when it has passed there.
#[allow(clippy::print_stderr, reason = "a skipped test must not look like one that passed")]
fn in_namespace(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let unshare: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    let probe = "d=$(mktemp -d) && mount -t tmpfs none $d && umount $d && rmdir $d";
    let allowed = unshare.into_iter().find(|how| {
        let tried = Command::new("unshare").args(*how).args(["sh", "-c", probe]).output();
        tried.is_ok_and(|tried| tried.status.success())
    });
    let Some(how) = allowed else {
        eprintln!("SKIPPED {test}: this system allows no mount namespace");
        return false;
    };
    let output = Command::new("unshare")
        .args(how)
        .arg(std::env::current_exe().unwrap())
        .args([&format!("places::{test}"), "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}\n{err}");
    false
}

fn mount(arguments: &[&str], target: &Path) {
    let status = Command::new("mount").args(arguments).arg(target).status().unwrap();
    assert!(status.success(), "mount {arguments:?}");
}

/// The same directory again, read-only.
fn read_only_view(directory: &Path) -> TempDir {
    let view = tempfile::tempdir().unwrap();
    mount(&["--bind", directory.to_str().unwrap()], view.path());
    mount(&["-o", "remount,bind,ro"], view.path());
    assert!(fs::write(view.path().join("probe"), "").is_err());
    view
}

/// Copies the database and those of its companions, as they are at this moment.
fn copy(database: &Path, companions: &[&str]) -> TempDir {
    let target = tempfile::tempdir().unwrap();
    for suffix in [&[""], companions].concat() {
        let name = format!("windlass.db{suffix}");
        fs::copy(database.with_file_name(&name), target.path().join(&name)).unwrap();
    }
    target
}

async fn assert_reads(path: &Path, head: u64) {
    let store = SqliteStore::open(path, Access::ReadOnly).unwrap();
    // Several readers, because each connection opens separately.
    let (found, events, listed) =
        tokio::join!(store.get("a"), store.read("a", 0, usize::MAX), store.list(ListFilter::default()));
    assert_eq!(found.unwrap().unwrap().head, head);
    assert_eq!(events.unwrap().len() as u64, head);
    assert_eq!(listed.unwrap().len(), 1);
    let refused = store.append(step("a", head, "t")).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
}

fn assert_not_writable(path: &Path) {
    let refused = SqliteStore::open(path, Access::ReadWrite).unwrap_err();
    assert!(matches!(&refused, StoreError::ReadOnly { path: named } if named == path), "{refused:?}");
    assert!(refused.hint().unwrap().contains("WINDLASS_HOME"));
}

#[tokio::test]
async fn a_closed_database_in_a_read_only_directory_can_be_read() {
    if !in_namespace("a_closed_database_in_a_read_only_directory_can_be_read") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let odd = home.path().join("50% off? #1 ü");
    let store = open(&odd.join("windlass.db"));
    new_loop(&store, "a", "t").await;
    drop(store);
    assert_eq!(fs::read_dir(&odd).unwrap().count(), 1);
    let view = read_only_view(home.path());
    let path = view.path().join("50% off? #1 ü/windlass.db");
    assert_reads(&path, 1).await;
    assert_not_writable(&path);
}

#[tokio::test]
async fn a_database_in_use_is_read_live_through_a_read_only_directory() {
    if !in_namespace("a_database_in_use_is_read_live_through_a_read_only_directory") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let store = open(&home.path().join("windlass.db"));
    new_loop(&store, "a", "t").await;
    let view = read_only_view(home.path());
    let path = view.path().join("windlass.db");
    assert_reads(&path, 1).await;
    store.append(step("a", 1, "t")).await.unwrap();
    assert_reads(&path, 2).await;
    let reader = SqliteStore::open(&path, Access::ReadOnly).unwrap();
    store.append(step("a", 2, "t")).await.unwrap();
    assert_eq!(reader.get("a").await.unwrap().unwrap().head, 3);
    assert_not_writable(&path);
}

#[tokio::test]
async fn what_a_crash_left_in_the_log_is_read_in_a_read_only_directory() {
    if !in_namespace("what_a_crash_left_in_the_log_is_read_in_a_read_only_directory") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let database = home.path().join("windlass.db");
    let store = open(&database);
    new_loop(&store, "a", "t").await;
    store.append(step("a", 1, "t")).await.unwrap();
    for companions in [&["-wal"][..], &["-wal", "-shm"]] {
        let crashed = copy(&database, companions);
        let view = read_only_view(crashed.path());
        let path = view.path().join("windlass.db");
        assert_reads(&path, 2).await;
        assert_not_writable(&path);
    }
}

#[tokio::test]
async fn an_empty_read_only_directory_has_no_database() {
    if !in_namespace("an_empty_read_only_directory_has_no_database") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let view = read_only_view(home.path());
    for path in [view.path().join("windlass.db"), view.path().join("data/windlass.db")] {
        let missing = SqliteStore::open(&path, Access::ReadOnly);
        assert!(matches!(missing, Err(StoreError::NotFound { .. })), "{missing:?}");
        assert_not_writable(&path);
    }
}

/// A disk of two megabytes, and a file that fills it.
fn small_disk() -> (TempDir, PathBuf, PathBuf) {
    let disk = tempfile::tempdir().unwrap();
    mount(&["-t", "tmpfs", "-o", "size=2m", "none"], disk.path());
    let (path, filler) = (disk.path().join("windlass.db"), disk.path().join("filler"));
    (disk, path, filler)
}

#[tokio::test]
async fn a_full_disk_is_told_and_the_store_goes_on_once_there_is_room() {
    if !in_namespace("a_full_disk_is_told_and_the_store_goes_on_once_there_is_room") {
        return;
    }
    let (_disk, path, filler) = small_disk();
    fs::write(&filler, vec![b'x'; 1024 * 1024]).unwrap();
    let store = open(&path);
    new_loop(&store, "a", "t").await;
    let mut head = 1;
    let refused = loop {
        let mut big = step("a", head, "t");
        big.events = vec![event_with("said", &"x".repeat(20_000)); 3];
        match store.append(big).await {
            Ok(new) => head = new,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::DiskFull { .. }), "{refused:?}");
    assert!(refused.hint().unwrap().contains("free some space"));
    // Nothing of the step is there, everything before it is.
    assert!(head > 1);
    assert_eq!(store.get("a").await.unwrap().unwrap().head, head);
    assert_eq!(store.read("a", 0, usize::MAX).await.unwrap().len() as u64, head);
    let mut big = step("a", head, "t");
    big.events = vec![event_with("said", &"x".repeat(600_000))];
    let refused = store.append(big).await;
    assert!(matches!(refused, Err(StoreError::DiskFull { .. })), "{refused:?}");

    fs::remove_file(&filler).unwrap();
    assert_eq!(store.append(step("a", head, "t")).await.unwrap(), head + 1);
    drop(store);
    assert_eq!(open(&path).read("a", 0, usize::MAX).await.unwrap().len() as u64, head + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_does_not_fit_leaves_its_neighbours_unharmed() {
    if !in_namespace("a_step_that_does_not_fit_leaves_its_neighbours_unharmed") {
        return;
    }
    let (_disk, path, _) = small_disk();
    let store = Arc::new(open(&path));
    for n in 0..8 {
        new_loop(&*store, &format!("l{n}"), "t").await;
    }
    let tasks = (0..8).map(|n| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for seq in 1..=10 {
                let mut step = step(&format!("l{n}"), if n == 0 { 1 } else { seq }, "t");
                if n == 0 {
                    step.events = vec![event_with("said", &"x".repeat(4 << 20))];
                    let refused = store.append(step).await;
                    assert!(matches!(refused, Err(StoreError::DiskFull { .. })), "{refused:?}");
                } else {
                    assert_eq!(store.append(step).await.unwrap(), seq + 1);
                }
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for n in 0..8 {
        let expected = if n == 0 { 1 } else { 11 };
        assert_eq!(store.get(&format!("l{n}")).await.unwrap().unwrap().head, expected);
    }
}

#[tokio::test]
async fn opening_on_a_full_disk_is_told_and_harms_nothing() {
    if !in_namespace("opening_on_a_full_disk_is_told_and_harms_nothing") {
        return;
    }
    let (_disk, path, filler) = small_disk();
    let fill = || {
        // As much as fits: the write ends with an error.
        let _ = fs::write(&filler, vec![b'x'; 4 << 20]);
    };
    fill();
    let refused = SqliteStore::open(&path, Access::ReadWrite).unwrap_err();
    assert!(matches!(refused, StoreError::DiskFull { .. }), "{refused:?}");
    fs::remove_file(&filler).unwrap();
    let store = open(&path);
    new_loop(&store, "a", "t").await;
    drop(store);

    fill();
    for access in [Access::ReadOnly, Access::ReadWrite] {
        let refused = SqliteStore::open(&path, access).unwrap_err();
        assert!(matches!(refused, StoreError::DiskFull { .. }), "{refused:?}");
    }
    fs::remove_file(&filler).unwrap();
    assert_eq!(open(&path).get("a").await.unwrap().unwrap().head, 1);
}
