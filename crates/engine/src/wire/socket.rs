//! How processes reach the one that drives a loop: a Unix socket for its owner, over which nothing but "look again"
//! is said.
//!
//! Commands travel through the inbox table and output through files, both durable; the socket only wakes. A client
//! names a loop, which wakes its driver, and then gets a line whenever there is something new to read. A slow client
//! gets fewer lines, never fewer facts.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Notify, watch};
use windlass_store::Seat;

use crate::data::{private_dir, run_path};

/// What one driver and its listeners share.
#[derive(Debug)]
pub struct Line {
    /// Somebody left a command in the inbox.
    pub wake: Notify,
    /// Counts changes; its value has no meaning.
    pub news: watch::Sender<u64>,
}

impl Line {
    pub fn tell(&self) {
        self.news.send_modify(|count| *count += 1);
    }
}

/// The socket of a process, for all loops that it drives.
#[derive(Debug)]
pub struct Hub {
    path: PathBuf,
    lines: Arc<Mutex<HashMap<String, Arc<Line>>>>,
    server: Option<tokio::task::JoinHandle<()>>,
}

impl Hub {
    pub fn listen(data_root: &Path, name: &str) -> io::Result<Self> {
        let path = socket_path(data_root, name)?;
        path.parent().into_iter().for_each(remove_dead);
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        let lines: Arc<Mutex<HashMap<String, Arc<Line>>>> = Arc::default();
        let served = Arc::clone(&lines);
        let server = tokio::spawn(async move {
            // An error to accept (too many files) passes; the client sees a closed connection and tries again.
            loop {
                if let Ok((client, _)) = listener.accept().await {
                    let lines = Arc::clone(&served);
                    tokio::spawn(async move { serve(client, &lines).await });
                }
            }
        });
        Ok(Self { path, lines, server: Some(server) })
    }

    /// Lines that only this process reaches.
    pub(crate) fn without_socket() -> Self {
        Self { path: PathBuf::new(), lines: Arc::default(), server: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line of a loop, open from the moment that this process holds the loop.
    pub fn open_line(&self, loop_id: &str) -> Arc<Line> {
        let mut lines = locked(&self.lines);
        let line = lines.entry(loop_id.to_owned());
        Arc::clone(line.or_insert_with(|| Arc::new(Line { wake: Notify::new(), news: watch::Sender::new(0) })))
    }

    /// The line of a loop, while this process holds it.
    pub fn line(&self, loop_id: &str) -> Option<Arc<Line>> {
        locked(&self.lines).get(loop_id).cloned()
    }

    /// Ends the line; listeners see the connection close once what is returned is dropped.
    #[must_use]
    pub fn close_line(&self, loop_id: &str) -> Option<Arc<Line>> {
        locked(&self.lines).remove(loop_id)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            server.abort();
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

async fn serve(client: UnixStream, lines: &Mutex<HashMap<String, Arc<Line>>>) {
    let (read, mut write) = client.into_split();
    let mut request = String::new();
    if BufReader::new(read).read_line(&mut request).await.is_err() {
        return;
    }
    let mut news = {
        let Some(line) = locked(lines).get(request.trim()).cloned() else { return };
        line.wake.notify_one();
        line.news.subscribe()
        // `line` is dropped here: the driver's end closes the channel.
    };
    loop {
        if write.write_all(b"news\n").await.is_err() || news.changed().await.is_err() {
            return;
        }
    }
}

/// A connection to the driver of a loop.
#[derive(Debug)]
pub struct Listening(Heard);

#[derive(Debug)]
enum Heard {
    Socket { reader: BufReader<UnixStream>, buffer: String },
    Here(watch::Receiver<u64>),
}

impl Listening {
    /// Connects to whoever holds the loop, which wakes the driver.
    pub async fn to(seat: &Seat, loop_id: &str) -> io::Result<Self> {
        let socket = match seat {
            Seat::Process { socket, .. } => socket,
            // It is told by its database.
            Seat::Worker { .. } => return Err(io::ErrorKind::AddrNotAvailable.into()),
        };
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(format!("{loop_id}\n").as_bytes()).await?;
        Ok(Self(Heard::Socket { reader: BufReader::new(stream), buffer: String::new() }))
    }

    /// Listens to somebody of this process; as over a socket, the first news is that it was reached.
    pub fn here(mut news: watch::Receiver<u64>) -> Self {
        news.mark_changed();
        Self(Heard::Here(news))
    }

    /// Returns when there is news; `false` when the driver has left the loop.
    pub async fn news(&mut self) -> bool {
        match &mut self.0 {
            Heard::Socket { reader, buffer } => {
                buffer.clear();
                matches!(reader.read_line(buffer).await, Ok(count) if count > 0)
            }
            Heard::Here(news) => news.changed().await.is_ok(),
        }
    }
}

/// A path short enough for a socket, in a directory for the owner only.
fn socket_path(data_root: &Path, name: &str) -> io::Result<PathBuf> {
    let path = run_path(data_root, &format!("{name}.sock"));
    if let Some(dir) = path.parent() {
        owners_dir(dir)?;
    }
    Ok(path)
}

/// Removes the sockets of processes that were killed. One that is being made looks dead for a moment, so only old ones.
fn remove_dead(dir: &Path) {
    const OLD: std::time::Duration = std::time::Duration::from_secs(60);
    let old = |path: &Path| {
        let made = path.symlink_metadata().and_then(|meta| meta.modified());
        made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > OLD))
    };
    let dead = |path: &Path| {
        let tried = std::os::unix::net::UnixStream::connect(path);
        tried.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    };
    for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|ending| ending == "sock") && old(&path) && dead(&path) {
            let _ = std::fs::remove_file(&path);
        }
    }
}

/// Makes a directory for the owner only; one that is open to others is refused.
pub(crate) fn owners_dir(dir: &Path) -> io::Result<()> {
    private_dir(dir)?;
    let is_private = std::fs::symlink_metadata(dir).is_ok_and(|meta| {
        use std::os::unix::fs::MetadataExt;
        meta.is_dir() && meta.uid() == rustix::process::getuid().as_raw() && meta.mode() & 0o077 == 0
    });
    if is_private {
        return Ok(());
    }
    let message = format!("{} is accessible to other users; not creating a socket there", dir.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}
