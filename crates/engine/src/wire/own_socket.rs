//! A Unix socket that lives as long as its owner: alone in a directory of the loop's, for the user only.
//!
//! Invariant: whoever drops it takes the directory away and closes every connection.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::socket::owners_dir;

/// After an error to accept, such as too many open files: nothing reports when it has passed.
const BREATH: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct OwnSocket {
    dir: PathBuf,
    server: tokio::task::JoinHandle<()>,
}

impl OwnSocket {
    /// Listens at `path`, the only thing in its directory; more than `most` connections wait for each other.
    pub(crate) fn serve<Serve, Served>(path: &Path, most: usize, serve: Serve) -> io::Result<Self>
    where
        Serve: Fn(UnixStream) -> Served + Send + 'static,
        Served: Future<Output = ()> + Send + 'static,
    {
        let dir = path.parent().map(Path::to_owned).unwrap_or_default();
        // A driver that was killed left it behind.
        match std::fs::remove_dir_all(&dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        owners_dir(&dir)?;
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let server = tokio::spawn(async move {
            let places = Arc::new(Semaphore::new(most));
            // Dropped with this task, and all connections with it.
            let mut connections = JoinSet::new();
            loop {
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                let Ok((client, _)) = listener.accept().await else {
                    tokio::time::sleep(BREATH).await;
                    continue;
                };
                let served = serve(client);
                connections.spawn(async move {
                    served.await;
                    drop(place);
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { dir, server })
    }
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        self.server.abort();
        let _ = std::fs::remove_dir_all(&self.dir);
        // The loop's directory, once nothing else is in it.
        if let Some(of_loop) = self.dir.parent() {
            let _ = std::fs::remove_dir(of_loop);
        }
    }
}
