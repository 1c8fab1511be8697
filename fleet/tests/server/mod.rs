//! One PostgreSQL server for all tests of this program, from the system's packages, gone with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use windlass_fleet::PgStore;

struct Server {
    port: u16,
}

/// The newest version that Debian's packages installed.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max()
}

fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(start).as_ref()
}

fn start() -> Option<Server> {
    let Some(bin) = programs() else {
        eprintln!("SKIPPED: PostgreSQL is not installed, so its store is not tested; install the package postgresql");
        return None;
    };
    let dir = tempfile::Builder::new().prefix("windlass-fleet-pg").tempdir().expect("a temporary directory").keep();
    let as_root = rustix::process::geteuid().is_root();
    let run = |program: &str, args: &[&str]| {
        let mut command = if as_root { Command::new("runuser") } else { Command::new(bin.join(program)) };
        if as_root {
            // PostgreSQL refuses to run as root; its package made this user.
            command.args(["-u", "postgres", "--"]).arg(bin.join(program));
        }
        let done = command.args(args).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).output().unwrap();
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    };
    if as_root {
        let owned = Command::new("chown").args(["-R", "postgres"]).arg(&dir).status().unwrap();
        assert!(owned.success());
    }
    let data = dir.join("data");
    let shown = |path: &Path| path.to_str().expect("a plain path").to_owned();
    run("initdb", &["-D", &shown(&data), "-U", "windlass", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let options = format!("-p {port} -h 127.0.0.1 -k {} -c fsync=off -c max_connections=400", shown(&dir));
    run("pg_ctl", &["-D", &shown(&data), "-l", &shown(&dir.join("log")), "-w", "-o", &options, "start"]);
    end_with_this_process(&bin, &data, &dir, as_root);
    Some(Server { port })
}

/// Nothing runs after the tests: a shell waits until this process has closed its pipe, then stops the server.
fn end_with_this_process(bin: &Path, data: &Path, dir: &Path, as_root: bool) {
    let as_user = if as_root { "runuser -u postgres -- " } else { "" };
    let script = format!(
        "cd /; cat >/dev/null; {as_user}{}/pg_ctl -D {} -m immediate stop >/dev/null 2>&1; rm -rf {}",
        bin.display(),
        data.display(),
        dir.display()
    );
    let mut watcher = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Kept open until the process ends, however it ends.
    std::mem::forget(watcher.stdin.take());
}

/// A new database without tables.
pub async fn empty() -> Option<String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = tokio::task::spawn_blocking(server).await.unwrap()?;
    let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let base = format!("postgres://windlass@127.0.0.1:{}", server.port);
    execute(&format!("{base}/postgres"), &format!("CREATE DATABASE {name}")).await;
    Some(format!("{base}/{name}"))
}

/// A new database with the tables of this version.
pub async fn database() -> Option<String> {
    let url = empty().await?;
    PgStore::migrate(&url).await.unwrap();
    Some(url)
}

pub async fn execute(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}
