//! Workers that are killed or frozen: their loops end on another worker, and nothing is done twice.

mod server;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgListener;
use windlass_fleet::PgStore;
use windlass_store::{ListFilter, Listed, Store};

const STEPS: usize = 3;
/// Adds a line, and claims to be done with the last one. The first turn of a slow one waits until it is killed.
const AGENT: &str = r#"cat >/dev/null; n=$(wc -l < done.txt); echo "step $((n + 1))" >> done.txt
if [ -n "$1" ] && mkdir "$1.once" 2>/dev/null; then echo > "$1"; sleep 600; fi
[ $((n + 1)) -ge 3 ] && echo "<promise>COMPLETE</promise>"; exit 0
"#;

struct Fleet {
    dir: tempfile::TempDir,
    url: String,
    store: PgStore,
    news: PgListener,
}

impl Fleet {
    /// A fleet with one loop that waits; with `slow`, its first turn does not end.
    async fn with_a_loop(slow: bool) -> Option<Self> {
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
        let fleet = Self { dir, url, store, news };
        let began = fleet.began();
        assert!(Command::new("mkfifo").arg(&began).status().unwrap().success());
        let agent = if slow { format!("sh agent.sh {}", began.display()) } else { "sh agent.sh".to_owned() };
        let gate = format!(r#"gates=["test $(wc -l < done.txt) = {STEPS}"]"#);
        let repo = repo.display().to_string();
        let args = ["run", "three steps", "--name", "steps", "--repo", &repo, "--agent-command", &agent];
        let said = fleet.program(&args).args(["--set", "sandbox=off", "--set", &gate]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        assert_eq!(fleet.row().await.entry.status, "queued");
        Some(fleet)
    }

    /// A pipe that the slow turn writes to.
    fn began(&self) -> PathBuf {
        self.dir.path().join("began")
    }

    /// Returns when the slow turn runs.
    async fn turn_runs(&self) {
        let began = self.began();
        tokio::task::spawn_blocking(move || std::fs::read(began).unwrap()).await.unwrap();
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
        command.args(args).stdin(Stdio::null());
        command.env("WINDLASS_FLEET_DATABASE", &self.url).env("WINDLASS_FLEET_HUB", self.dir.path().join("hub"));
        command.env("HOME", self.dir.path().join("home")).env_remove("XDG_DATA_HOME");
        command
    }

    fn worker(&self, name: &str, fault: Option<&str>) -> Running {
        let data = self.dir.path().join(name).display().to_string();
        let mut command = self.program(&["worker", "--name", name, "--data", &data]);
        command
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.dir.path().join(format!("{name}.log"))).unwrap());
        if let Some(fault) = fault {
            command.env("WINDLASS_TEST_FAULT", fault);
        }
        Running(command.spawn().unwrap())
    }

    async fn row(&self) -> Listed {
        self.store.list(ListFilter::default()).await.unwrap().remove(0)
    }

    async fn until(&mut self, what: impl Fn(&Listed) -> bool) -> Listed {
        loop {
            let row = self.row().await;
            if what(&row) {
                return row;
            }
            self.news.recv().await.unwrap();
        }
    }

    /// The loop is completed by `worker` with one commit for each step, and the journal fits.
    async fn ends_well(&mut self) -> Listed {
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

    async fn moves(&self, id: &str) -> usize {
        let events = self.store.read(id, 0, 10_000).await.unwrap();
        events.iter().filter(|event| event.kind == "loop_moved").count()
    }
}

/// Nothing outlives its test.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn git(dir: &Path, args: &[&str]) -> String {
    let done = Command::new("git").args(["-c", "safe.directory=*"]).args(args).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Kills the first worker at a fault point and lets a second one finish; returns how often the loop lost its files.
async fn killed_at(fault: &str) -> Option<usize> {
    let mut fleet = Fleet::with_a_loop(false).await?;
    let mut one = fleet.worker("one", Some(fault));
    let ended = tokio::task::spawn_blocking(move || one.0.wait().unwrap()).await.unwrap();
    assert!(!ended.success(), "the worker was not killed at {fault}");
    let _two = fleet.worker("two", None);
    let row = fleet.ends_well().await;
    Some(fleet.moves(&row.entry.id).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_ends_on_another_worker_after_a_kill_between_turn_and_commit() {
    if let Some(moves) = killed_at("checkpoint.before:2").await {
        assert_eq!(moves, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_that_was_pushed_before_a_kill_is_not_made_again() {
    let _ = killed_at("publish.after:2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_ends_on_another_worker_after_a_kill_during_a_turn() {
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let one = fleet.worker("one", None);
    fleet.turn_runs().await;
    one.signal(Signal::KILL);
    let _two = fleet.worker("two", None);
    let row = fleet.ends_well().await;
    assert_eq!(fleet.moves(&row.entry.id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_worker_writes_nothing_after_its_loop_was_taken() {
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let mut one = fleet.worker("one", None);
    fleet.turn_runs().await;
    one.signal(Signal::STOP);
    let _two = fleet.worker("two", None);
    let before = fleet.ends_well().await;
    one.signal(Signal::TERM);
    one.signal(Signal::CONT);
    // It leaves only when nothing of the loop runs any more.
    let left = tokio::task::spawn_blocking(move || one.0.wait().unwrap()).await.unwrap();
    assert!(left.success());
    let after = fleet.ends_well().await;
    assert_eq!(before.head, after.head);
}
