//! Tells when any process has written to the database, by watching its files.
//!
//! Invariant: what is committed after [`watch`] returned is reported, when readers can see it. A report does not mean that there
//! is anything new.

use std::io;
use std::path::Path;

use tokio::sync::watch;

use crate::data::private_dir;

/// A number that changes after each write, as long as somebody checks it.
pub fn watch(data_root: &Path) -> io::Result<watch::Receiver<u64>> {
    private_dir(data_root)?;
    let (tell, told) = watch::channel(0);
    start(data_root, tell)?;
    Ok(told)
}

/// The same after a process closed a file of the directory that it could write to, or removed one.
pub fn watch_closed(dir: &Path) -> io::Result<watch::Receiver<u64>> {
    let (tell, told) = watch::channel(0);
    start_closed(dir, tell)?;
    Ok(told)
}

#[cfg(target_os = "linux")]
fn start(data_root: &Path, tell: watch::Sender<u64>) -> io::Result<()> {
    use rustix::fs::inotify::WatchFlags;
    // The store touches the database, which is in this directory, after every commit.
    tell_of(data_root, WatchFlags::ATTRIB | WatchFlags::CREATE, tell)
}

#[cfg(target_os = "linux")]
fn start_closed(dir: &Path, tell: watch::Sender<u64>) -> io::Result<()> {
    use rustix::fs::inotify::WatchFlags;
    tell_of(dir, WatchFlags::CLOSE_WRITE | WatchFlags::DELETE, tell)
}

#[cfg(target_os = "linux")]
fn tell_of(dir: &Path, what: rustix::fs::inotify::WatchFlags, tell: watch::Sender<u64>) -> io::Result<()> {
    use rustix::fs::inotify;
    let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
    let watcher = inotify::init(flags)?;
    inotify::add_watch(&watcher, dir, what)?;
    // It is read as a pipe is; what it says in detail does not matter.
    let mut watcher = tokio::net::unix::pipe::Receiver::from_owned_fd_unchecked(watcher)?;
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        loop {
            tokio::select! {
                () = tell.closed() => return,
                read = tokio::io::AsyncReadExt::read(&mut watcher, &mut buffer) => match read {
                    Ok(0) | Err(_) => return,
                    Ok(_) => tell.send_modify(|count| *count = count.wrapping_add(1)),
                },
            }
        }
    });
    Ok(())
}

/// Where the system does not tell of files, they are checked.
#[cfg(not(target_os = "linux"))]
fn start(data_root: &Path, tell: watch::Sender<u64>) -> io::Result<()> {
    let log = data_root.join("windlass.db-wal");
    tokio::spawn(async move {
        let look = || std::fs::metadata(&log).and_then(|meta| Ok((meta.len(), meta.modified()?))).ok();
        let mut seen = look();
        loop {
            tokio::select! {
                () = tell.closed() => return,
                () = tokio::time::sleep(std::time::Duration::from_millis(200)) => {
                    let now = look();
                    if now != seen {
                        seen = now;
                        tell.send_modify(|count| *count = count.wrapping_add(1));
                    }
                }
            }
        }
    });
    Ok(())
}

/// Where the system does not report it, whoever waits looks again now and then.
#[cfg(not(target_os = "linux"))]
fn start_closed(_: &Path, tell: watch::Sender<u64>) -> io::Result<()> {
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = tell.closed() => return,
                () = tokio::time::sleep(std::time::Duration::from_millis(500)) => {
                    tell.send_modify(|count| *count = count.wrapping_add(1));
                }
            }
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use windlass_store::{Access, CatalogueEntry, Create, LOOP, ListFilter, SqliteStore, Store};

    use super::*;

    fn entry(number: usize) -> CatalogueEntry {
        CatalogueEntry {
            id: format!("loop-{number}"),
            kind: LOOP.to_owned(),
            project: "/p".to_owned(),
            name: format!("loop-{number}"),
            goal: String::new(),
            recipe: String::new(),
            status: "running".to_owned(),
            open: true,
            iterations: 0,
            max_iterations: None,
            stop_reason: None,
            created_at: Timestamp::UNIX_EPOCH,
            updated_at: Timestamp::UNIX_EPOCH,
            stopped_at: None,
            summary: String::new(),
        }
    }

    /// A reader that looks only when a commit is reported misses none, the last one included.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn commit_is_visible_when_it_is_reported() {
        const COMMITS: usize = 100;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("windlass.db");
        let writes = SqliteStore::open(&path, Access::ReadWrite).unwrap();
        let reads = Arc::new(SqliteStore::open(&path, Access::ReadWrite).unwrap());
        let mut changes = watch(dir.path()).unwrap();
        let seen = tokio::spawn(async move {
            loop {
                let rows = reads.list(ListFilter::default()).await.unwrap();
                if rows.len() == COMMITS {
                    return;
                }
                changes.changed().await.unwrap();
            }
        });
        for number in 0..COMMITS {
            let create = Create { entry: entry(number), events: Vec::new(), holder: None };
            writes.create(create).await.unwrap();
        }
        let hung = std::time::Duration::from_secs(30);
        tokio::time::timeout(hung, seen).await.expect("the last commit was reported too early").unwrap();
    }
}
