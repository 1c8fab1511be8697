//! Placement with Temporal: a worker that leaves, one that is frozen, and a server that is killed and forgets everything.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use sqlx::postgres::PgListener;
use windlass_fleet::PgStore;
use windlass_fleet::trial::services::{Place, Temporal, postgres};
use windlass_store::{ListFilter, Listed, Store};

/// Adds a line, and claims to be done with the third. The first turn of a slow one waits to be let go.
const AGENT: &str = r#"cat >/dev/null; n=$(($(wc -l < done.txt) + 1)); echo "step $n" >> done.txt
if [ -n "$1" ] && mkdir "$1.once" 2>/dev/null; then echo > "$1"; cat "$1.go" >/dev/null; fi
[ "$n" -lt 3 ] || echo "<promise>COMPLETE</promise>"; exit 0
"#;

struct Fleet {
    place: Place,
    temporal: Temporal,
    url: String,
    store: PgStore,
    news: PgListener,
}

impl Fleet {
    async fn new() -> Option<Self> {
        let mut place = Place::new().unwrap();
        if !Path::new("/usr/lib/postgresql").exists() {
            say_skipped("PostgreSQL is not installed (apt install postgresql)");
            return None;
        }
        let (url, _) = postgres(&mut place).await.unwrap();
        let temporal = match Temporal::start(&mut place, true).await {
            Ok(temporal) => temporal,
            Err(error) => {
                say_skipped(&format!("Temporal is not available: {error}"));
                return None;
            }
        };
        PgStore::migrate(&url).await.unwrap();
        let store = PgStore::connect(&url).await.unwrap();
        let mut news = PgListener::connect(&url).await.unwrap();
        news.listen_all(["windlass_news", "windlass_lease"]).await.unwrap();
        let repo = place.dir().join("repo");
        std::fs::create_dir(&repo).unwrap();
        std::fs::write(repo.join("agent.sh"), AGENT).unwrap();
        std::fs::write(repo.join("done.txt"), "").unwrap();
        git(&repo, &["init", "-q", "-b", "main"]);
        git(&repo, &["add", "-A"]);
        git(&repo, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base"]);
        Some(Self { place, temporal, url, store, news })
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-fleet"));
        command.args(args).env("HOME", self.place.dir().join("home")).env_remove("XDG_DATA_HOME");
        command.env("WINDLASS_FLEET_DATABASE", &self.url).env("WINDLASS_FLEET_HUB", self.place.dir().join("hub"));
        command.env("WINDLASS_FLEET_TEMPORAL", &self.temporal.address.at);
        command
    }

    fn worker(&mut self, name: &str) -> u32 {
        let data = self.place.dir().join(name).display().to_string();
        let mut command = self.program(&["worker", "--name", name, "--data", &data]);
        self.place.start(&mut command, &format!("{name}.log")).unwrap()
    }

    /// A loop that waits for a worker; with `slow`, its first turn waits to be let go.
    fn submit(&self, name: &str, slow: bool) -> Slow {
        let began = self.place.dir().join(format!("{name}-began"));
        let slow_turn = Slow { go: began.with_extension("go"), began };
        for pipe in [&slow_turn.began, &slow_turn.go] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        let agent = if slow { format!("sh agent.sh {}", slow_turn.began.display()) } else { "sh agent.sh".to_owned() };
        self.submit_with(name, &["--agent-command", &agent]);
        slow_turn
    }

    fn submit_with(&self, name: &str, more: &[&str]) {
        let repo = self.place.dir().join("repo").display().to_string();
        let args = ["run", "three steps", "--name", name, "--repo", &repo];
        let gate = "gates=[\"test $(wc -l < done.txt) = 3\"]";
        let said = self.program(&args).args(more).args(["--set", "sandbox=off", "--set", gate]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }

    async fn row(&self, name: &str) -> Listed {
        let rows = self.store.list(ListFilter::default()).await.unwrap();
        rows.into_iter().find(|row| row.entry.name == name).unwrap()
    }

    async fn until(&mut self, name: &str, what: impl Fn(&Listed) -> bool) -> Listed {
        loop {
            let row = self.row(name).await;
            if what(&row) {
                return row;
            }
            self.news.recv().await.unwrap();
        }
    }

    /// The loop is completed with one commit for each turn, and the journal fits. Returns how often it was taken over.
    async fn ends_well(&mut self, name: &str) -> (usize, u64) {
        let row = self.until(name, |row| !row.entry.open && row.holder.is_none()).await;
        assert_eq!(row.entry.status, "completed", "{:?}", row.entry.stop_reason);
        let hub = self.place.dir().join("hub/repo.git");
        let branch = format!("windlass/{name}");
        assert_eq!(git(&hub, &["rev-list", "--count", &branch]).trim(), "4");
        assert_eq!(git(&hub, &["show", &format!("{branch}:done.txt")]), "step 1\nstep 2\nstep 3\n");
        assert_eq!(self.store.check_chain(&row.entry.id, u64::MAX).await.unwrap().broken_at, None);
        let events = self.store.read(&row.entry.id, 0, 10_000).await.unwrap();
        assert_eq!(events.iter().filter(|event| event.kind == "checkpointed").count(), 3);
        (events.iter().filter(|event| event.kind == "loop_moved").count(), row.head)
    }
}

impl Fleet {
    /// For `tests/histories`, when somebody asks for them.
    async fn save_histories(&self, name: &str) {
        if let Some(dir) = std::env::var_os("SAVE_HISTORIES") {
            let dir = PathBuf::from(dir).join(name);
            windlass_fleet::temporal::save_histories(&self.temporal.address, &dir).await.unwrap();
        }
    }
}

/// The pipes of a turn that waits.
struct Slow {
    began: PathBuf,
    go: PathBuf,
}

impl Slow {
    async fn runs(&self) {
        let began = self.began.clone();
        tokio::task::spawn_blocking(move || std::fs::read(began).unwrap()).await.unwrap();
    }

    fn let_go(&self) {
        std::fs::write(&self.go, "\n").unwrap();
    }
}

fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process.cast_signed()).unwrap(), signal).unwrap();
}

fn git(repo: &Path, args: &[&str]) -> String {
    let said = Command::new("git").arg("-C").arg(repo).args(args).output().unwrap();
    assert!(said.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

/// What a test that could not run says past the capture of its output.
fn say_skipped(why: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = std::io::stderr().write_all(format!("\n*** SKIPPED: {test}: {why}\n").as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn worker_that_drains_hands_its_loop_on_after_the_commit() {
    let Some(mut fleet) = Fleet::new().await else { return };
    let one = fleet.worker("one");
    let slow = fleet.submit("steps", true);
    slow.runs().await;
    let two = fleet.worker("two");
    signal(one, Signal::TERM);
    slow.let_go();
    // Not a takeover: its files are older than the journal, but no turn is lost.
    fleet.ends_well("steps").await;
    let turns = fleet.store.read(&fleet.row("steps").await.entry.id, 0, 10_000).await.unwrap();
    assert_eq!(turns.iter().filter(|event| event.kind == "turn_started").count(), 3);
    fleet.place.leaves(one).await;
    fleet.save_histories("drained").await;
    signal(two, Signal::TERM);
    fleet.place.leaves(two).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn frozen_worker_writes_nothing_after_its_loop_was_taken() {
    let Some(mut fleet) = Fleet::new().await else { return };
    let one = fleet.worker("one");
    let slow = fleet.submit("steps", true);
    slow.runs().await;
    signal(one, Signal::STOP);
    fleet.worker("two");
    let (moves, before) = fleet.ends_well("steps").await;
    assert_eq!(moves, 1);
    signal(one, Signal::TERM);
    signal(one, Signal::CONT);
    fleet.place.leaves(one).await;
    assert_eq!(fleet.ends_well("steps").await, (1, before));
    fleet.save_histories("frozen").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn loops_go_on_without_temporal_and_wait_until_it_is_back_without_memory() {
    let Some(mut fleet) = Fleet::new().await else { return };
    let slow = fleet.submit("runs", true);
    fleet.worker("one");
    slow.runs().await;
    fleet.place.kill(fleet.temporal.process).unwrap();
    fleet.submit("waits", false);
    slow.let_go();
    assert_eq!(fleet.ends_well("runs").await.0, 0);
    assert_eq!(fleet.row("waits").await.entry.status, "queued");
    // It comes back and knows nothing.
    std::fs::remove_file(Temporal::memory(&fleet.place)).unwrap();
    let Fleet { place, temporal, .. } = &mut fleet;
    temporal.start_again(place).await.unwrap();
    assert_eq!(fleet.ends_well("waits").await.0, 0);
}

/// Is over its limit at first, and done then.
const LIMITED: &str = r#"cat >/dev/null
if mkdir "$1" 2>/dev/null; then
    echo '{"type":"error","kind":"rate_limit","message":"slow down","retry_after_ms":4000}'; exit 1
fi
printf 'step 1\nstep 2\nstep 3\n' > done.txt
echo '{"type":"text","text":"<promise>COMPLETE</promise>"}'
"#;

#[tokio::test(flavor = "multi_thread")]
async fn loop_over_its_limit_waits_without_a_worker_and_limits_hold_loops_back() {
    let Some(mut fleet) = Fleet::new().await else { return };
    let dir = fleet.place.dir().to_owned();
    let (script, once) = (dir.join("limited.sh"), dir.join("limited.once"));
    std::fs::write(&script, LIMITED).unwrap();
    std::fs::create_dir_all(dir.join("home/.config/windlass")).unwrap();
    let agent = format!("[agents.limited]\ncommand = [\"sh\", {script:?}, {once:?}]\noutput = \"jsonl\"\n");
    std::fs::write(dir.join("home/.config/windlass/config.toml"), agent).unwrap();
    fleet.store.limit("project:repo", Some(1)).await.unwrap();
    fleet.submit_with("limited", &["--set", "agent=limited", "--priority", "1"]);
    let data = dir.join("one").display().to_string();
    let mut command = fleet.program(&["worker", "--name", "one", "--data", &data, "--park-after", "1"]);
    fleet.place.start(&mut command, "one.log").unwrap();
    fleet.until("limited", |row| row.is_parked).await;
    // Whoever is parked counts for no limit.
    fleet.submit("a", false);
    fleet.submit("b", false);
    for name in ["limited", "a", "b"] {
        let row = fleet.until(name, |row| !row.entry.open && row.holder.is_none()).await;
        assert_eq!(row.entry.status, "completed", "{name}: {:?}", row.entry.stop_reason);
        let events = fleet.store.read(&row.entry.id, 0, 10_000).await.unwrap();
        assert!(events.iter().all(|event| event.kind != "loop_moved"), "{name}");
    }
    fleet.save_histories("parked").await;
}
