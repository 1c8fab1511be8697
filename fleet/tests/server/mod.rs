//! One PostgreSQL server for all tests of this program, from the system's packages, on a Unix socket, gone with it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::{AssertSqlSafe, Connection, PgConnection};
use windlass_fleet::PgStore;

/// The directory of its socket.
struct Server(PathBuf);

/// The newest version that Debian's packages installed.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max()
}

fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| programs().map(|bin| start(&bin))).as_ref()
}

/// What a test that found no server says past the capture of its output.
fn say_skipped() {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let said = format!("\n*** SKIPPED: {test}: PostgreSQL is not installed (apt install postgresql)\n");
    let _ = std::io::stderr().write_all(said.as_bytes());
}

fn start(bin: &Path) -> Server {
    let dir = tempfile::Builder::new().prefix("windlass-pg").tempdir().expect("a temporary directory").keep();
    // PostgreSQL refuses to run as root; its package made this user.
    let as_user: &[&str] =
        if rustix::process::geteuid().is_root() { &["runuser", "-u", "postgres", "--"] } else { &[] };
    if !as_user.is_empty() {
        let owned = Command::new("chown").args(["-R", "postgres"]).arg(&dir).status().unwrap();
        assert!(owned.success());
    }
    let (data, log) = (shown(&dir.join("data")), shown(&dir.join("log")));
    let run = |program: &str, args: &[&str]| {
        let program = shown(&bin.join(program));
        let words: Vec<&str> = as_user.iter().copied().chain([program.as_str()]).chain(args.iter().copied()).collect();
        let mut command = Command::new(words[0]);
        // Its output is a file: the server inherits it, and would keep a pipe open.
        let errors = std::fs::File::create(dir.join("errors")).unwrap();
        command.args(&words[1..]).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let done = command.status().unwrap();
        assert!(done.success(), "{program}: {}", std::fs::read_to_string(dir.join("errors")).unwrap_or_default());
    };
    run("initdb", &["-D", &data, "-U", "windlass", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"]);
    let options = format!("-c listen_addresses= -k {} -c fsync=off -c max_connections=400", shown(&dir));
    end_with_this_process(&format!("{} {}/pg_ctl -D {data}", as_user.join(" "), shown(bin)), &dir);
    run("pg_ctl", &["-D", &data, "-l", &log, "-w", "-o", &options, "start"]);
    Server(dir)
}

fn shown(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

/// Nothing runs after the tests: a shell waits until this process has closed its pipe, then stops the server.
#[allow(clippy::zombie_processes, reason = "it outlives this process")]
fn end_with_this_process(pg_ctl: &str, dir: &Path) {
    let script = format!("cd /; cat >/dev/null; {pg_ctl} -m immediate stop; rm -rf {}", dir.display());
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

/// The address of a database behind the socket in `dir`.
pub fn address(dir: &Path, database: &str) -> String {
    format!("postgres://windlass@localhost/{database}?host={}", dir.display())
}

/// A new database without tables, and the directory of its server's socket.
pub async fn at_socket() -> Option<(PathBuf, String)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let Some(Server(dir)) = tokio::task::spawn_blocking(server).await.unwrap() else {
        say_skipped();
        return None;
    };
    let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
    execute(&address(dir, "postgres"), &format!("CREATE DATABASE {name}")).await;
    Some((dir.clone(), name))
}

pub async fn empty() -> Option<String> {
    let (dir, name) = at_socket().await?;
    Some(address(&dir, &name))
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
