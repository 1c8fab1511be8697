//! A fleet on this machine: PostgreSQL, a hub, a project with one loop, workers, desks.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgListener;
use windlass_app::App;
use windlass_fleet::PgStore;
use windlass_server::Client;
use windlass_store::{ListFilter, Listed, Store};

use crate::server;

pub const STEPS: usize = 3;
/// Adds a line, and claims to be done with the last one. The first turn of a slow one waits until it is killed.
const AGENT: &str = r#"cat >/dev/null; n=$(wc -l < done.txt); echo "step $((n + 1))" >> done.txt
echo "step $((n + 1)) begins"
if [ -n "$1" ] && mkdir "$1.once" 2>/dev/null; then echo > "$1"; sleep 600; fi
[ $((n + 1)) -ge 3 ] && echo "<promise>COMPLETE</promise>"; exit 0
"#;

pub struct Fleet {
    pub dir: tempfile::TempDir,
    pub url: String,
    pub store: PgStore,
    news: PgListener,
}

impl Fleet {
    /// A fleet with one loop that waits; with `slow`, its first turn does not end.
    pub async fn with_a_loop(slow: bool) -> Option<Self> {
        let fleet = Self::empty().await?;
        let began = fleet.began();
        assert!(Command::new("mkfifo").arg(&began).status().unwrap().success());
        let agent = if slow { format!("sh agent.sh {}", began.display()) } else { "sh agent.sh".to_owned() };
        fleet.submit("steps", &["--agent-command", &agent]);
        assert_eq!(fleet.row().await.entry.status, "queued");
        Some(fleet)
    }

    /// Creates a loop that waits.
    pub fn submit(&self, name: &str, more: &[&str]) {
        let gate = format!(r#"gates=["test $(wc -l < done.txt) = {STEPS}"]"#);
        let repo = self.dir.path().join("repo").display().to_string();
        let args = ["run", "three steps", "--name", name, "--repo", &repo];
        let said = self.program(&args).args(more).args(["--set", "sandbox=off", "--set", &gate]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }

    /// A fleet with a project and no loop.
    pub async fn empty() -> Option<Self> {
        let url = server::database().await?;
        let dir = tempfile::tempdir().unwrap();
        let repo = dir.path().join("repo");
        std::fs::create_dir(&repo).unwrap();
        std::fs::write(repo.join("agent.sh"), AGENT).unwrap();
        std::fs::write(repo.join("done.txt"), "").unwrap();
        git(&repo, &["init", "-q", "-b", "main"]);
        git(&repo, &["add", "-A"]);
        git(&repo, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base"]);
        let store = PgStore::connect(&url).await.unwrap();
        let mut news = PgListener::connect(&url).await.unwrap();
        news.listen("windlass_news").await.unwrap();
        Some(Self { dir, url, store, news })
    }

    /// A pipe that the slow turn writes to.
    fn began(&self) -> PathBuf {
        self.dir.path().join("began")
    }

    /// Returns when the slow turn runs.
    pub async fn turn_runs(&self) {
        let began = self.began();
        tokio::task::spawn_blocking(move || std::fs::read(began).unwrap()).await.unwrap();
    }

    pub fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
        command.args(args).stdin(Stdio::null());
        command.env("WINDLASS_FLEET_DATABASE", &self.url).env("WINDLASS_FLEET_HUB", self.dir.path().join("hub"));
        command.env("HOME", self.dir.path().join("home")).env_remove("XDG_DATA_HOME");
        command
    }

    pub fn worker(&self, name: &str, fault: Option<&str>) -> Running {
        self.worker_with(name, fault, &[])
    }

    pub fn worker_with(&self, name: &str, fault: Option<&str>, more: &[&str]) -> Running {
        let data = self.dir.path().join(name).display().to_string();
        let mut command = self.program(&["worker", "--name", name, "--data", &data]);
        command.args(more);
        command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.dir.path().join(format!("{name}.log"))).unwrap());
        if let Some(fault) = fault {
            command.env("WINDLASS_TEST_FAULT", fault);
        }
        Running(command.spawn().unwrap())
    }

    /// A desk, and what asks it.
    pub async fn desk(&self, name: &str) -> Desk {
        let data = self.dir.path().join(name);
        let mut command =
            self.program(&["serve", "--name", name, "--port", "0", "--data", &data.display().to_string()]);
        let log = std::fs::File::create(self.dir.path().join(format!("{name}.log"))).unwrap();
        let mut process = Running(command.stdout(Stdio::piped()).stderr(log).spawn().unwrap());
        let said = process.0.stdout.take().unwrap();
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(said).read_line(&mut line).unwrap();
            line
        });
        let line = line.await.unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).to_owned();
        let token = std::fs::read_to_string(data.join("server.token")).unwrap();
        let client = Client::new(&url, token.trim()).unwrap();
        Desk { app: App::There(Arc::new(client)), data, url, token: token.trim().to_owned(), _process: process }
    }

    /// The only loop.
    pub async fn row(&self) -> Listed {
        self.store.list(ListFilter::default()).await.unwrap().remove(0)
    }

    pub async fn row_of(&self, name: &str) -> Listed {
        self.store.find("git:repo", name).await.unwrap().unwrap()
    }

    pub async fn until_of(&mut self, name: &str, what: impl Fn(&Listed) -> bool) -> Listed {
        loop {
            let row = self.row_of(name).await;
            if what(&row) {
                return row;
            }
            self.news.recv().await.unwrap();
        }
    }

    pub async fn until(&mut self, what: impl Fn(&Listed) -> bool) -> Listed {
        loop {
            let row = self.row().await;
            if what(&row) {
                return row;
            }
            self.news.recv().await.unwrap();
        }
    }

    /// The loop is completed by `worker` with one commit for each step, and the journal fits.
    pub async fn ends_well(&mut self) -> Listed {
        let row = self.until(|row| !row.entry.open && row.holder.is_none()).await;
        assert_eq!(row.entry.status, "completed", "{:?}", row.entry.stop_reason);
        let hub = self.dir.path().join("hub/repo.git");
        let log = git(&hub, &["log", "--format=%s", "windlass/steps"]);
        assert_eq!(log.lines().count(), STEPS + 1, "{log}");
        assert_eq!(git(&hub, &["show", "windlass/steps:done.txt"]), "step 1\nstep 2\nstep 3\n");
        assert_eq!(self.store.check_chain(&row.entry.id, u64::MAX).await.unwrap().broken_at, None);
        let checkpoints = self.store.read(&row.entry.id, 0, 10_000).await.unwrap();
        assert_eq!(checkpoints.iter().filter(|event| event.kind == "checkpointed").count(), STEPS);
        row
    }

    pub async fn moves(&self, id: &str) -> usize {
        let events = self.store.read(id, 0, 10_000).await.unwrap();
        events.iter().filter(|event| event.kind == "loop_moved").count()
    }
}

pub struct Desk {
    pub app: App,
    url: String,
    token: String,
    pub data: PathBuf,
    _process: Running,
}

impl Desk {
    pub fn metrics(&self) -> String {
        get_metrics(self.url.strip_prefix("http://").unwrap(), &self.token)
    }
}

/// What `/metrics` of an address answers.
pub fn get_metrics(at: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    let head =
        format!("GET /metrics HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
    said
}

/// Nothing outlives its test.
pub struct Running(pub Child);

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn git(dir: &Path, args: &[&str]) -> String {
    let done = Command::new("git").args(["-c", "safe.directory=*"]).args(args).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}
