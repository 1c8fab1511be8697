//! A proxy before PostgreSQL that loses the answer to a commit, as a network does that breaks at the wrong moment.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// What PostgreSQL calls its socket.
const SOCKET: &str = ".s.PGSQL.5432";

pub struct Proxy {
    dir: tempfile::TempDir,
    armed: Arc<AtomicBool>,
}

impl Proxy {
    pub fn before(server: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(SOCKET)).unwrap();
        let armed = Arc::new(AtomicBool::new(false));
        let (shared, target) = (Arc::clone(&armed), server.join(SOCKET));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&target).await.unwrap();
                tokio::spawn(relay(client, server, Arc::clone(&shared)));
            }
        });
        Self { dir, armed }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn lose_next_commit(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Whether the answer was lost since.
    pub fn lost(&self) -> bool {
        !self.armed.load(Ordering::SeqCst)
    }
}

async fn relay(mut client: UnixStream, mut server: UnixStream, armed: Arc<AtomicBool>) {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(count @ 1..) = read else { return };
                let commits = asked[..count].windows(6).any(|bytes| bytes == b"COMMIT");
                let lose = commits && armed.swap(false, Ordering::SeqCst);
                if server.write_all(&asked[..count]).await.is_err() {
                    return;
                }
                if lose {
                    // Written by the time the server answers; the client hears nothing of it.
                    let _ = server.read(&mut answered).await;
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(count @ 1..) = read else { return };
                if client.write_all(&answered[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
