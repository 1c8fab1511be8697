//! What a worker tells a monitor: numbers only, over HTTP without a login, at an address that somebody chose.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use windlass_server::{METRICS_TYPE, Metrics, float};

/// More connections wait.
const AT_ONCE: usize = 8;
/// Whoever asks more slowly gets no answer.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_HEAD: usize = 8 << 10;

/// What happened at this worker since it started.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) slots: AtomicU64,
    pub(crate) running: AtomicU64,
    pub(crate) draining: AtomicBool,
    pub(crate) taken: AtomicU64,
    /// Taken from a worker that was gone.
    pub(crate) taken_over: AtomicU64,
    /// Taken by another worker while they ran here.
    pub(crate) lost: AtomicU64,
    pub(crate) parked: AtomicU64,
    /// Could not be taken, because a limit was reached meanwhile.
    pub(crate) limited: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) snapshots: AtomicU64,
    pub(crate) shipped_bytes: AtomicU64,
    pub(crate) ship_failures: AtomicU64,
}

impl Counts {
    pub(crate) fn one(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn text(&self) -> String {
        let now = |count: &AtomicU64| float(count.load(Ordering::Relaxed));
        let mut all = Metrics::default();
        all.gauge("windlass_build_info", "The version of the worker").of(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        all.gauge("windlass_worker_slots", "How many loops the worker takes").is(now(&self.slots));
        all.gauge("windlass_worker_loops", "How many loops run").is(now(&self.running));
        let draining = u32::from(self.draining.load(Ordering::Relaxed));
        all.gauge("windlass_worker_draining", "Whether the worker takes no new loops").is(draining);
        for (name, help, count) in [
            ("taken", "Loops that the worker took", &self.taken),
            ("taken_over", "Loops that it took from a worker that was gone", &self.taken_over),
            ("lost", "Loops that another worker took while they ran here", &self.lost),
            ("parked", "Loops that it gave back because they wait for long", &self.parked),
            ("limited", "Loops that it did not take because of a limit", &self.limited),
            ("failed", "Loops that it could not take or had to leave", &self.failed),
        ] {
            all.counter(&format!("windlass_worker_loops_{name}_total"), help).is(now(count));
        }
        let saved = now(&self.snapshots);
        all.counter("windlass_worker_snapshots_total", "Times that the files of a running turn were saved").is(saved);
        let shipped = now(&self.shipped_bytes);
        all.counter("windlass_worker_output_bytes_total", "Output that was sent to the database").is(shipped);
        let failures = now(&self.ship_failures);
        all.counter("windlass_worker_output_failures_total", "Times that output could not be sent").is(failures);
        all.into_text()
    }
}

/// Answers until the process ends.
pub(crate) async fn serve(at: SocketAddr, counts: Arc<Counts>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(at).await?;
    let bound = listener.local_addr()?;
    let places = Arc::new(Semaphore::new(AT_ONCE));
    tokio::spawn(async move {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                // No file is free.
                tokio::time::sleep(PATIENCE).await;
                continue;
            };
            let counts = Arc::clone(&counts);
            tokio::spawn(async move {
                let _ = tokio::time::timeout(PATIENCE, answer(stream, &counts)).await;
                drop(place);
            });
        }
    });
    Ok(bound)
}

async fn answer(mut stream: TcpStream, counts: &Counts) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 || head.len() > LONGEST_HEAD {
            return Ok(());
        }
    }
    let (status, kind, body) = match head.starts_with(b"GET /metrics ") {
        true => ("200 OK", METRICS_TYPE, counts.text()),
        false => ("404 Not Found", "text/plain", "see /metrics\n".to_owned()),
    };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}
