//! Loops that wait for long without a worker, limits while workers run, and what a worker tells a monitor.

mod server;
mod world;

use serde_json::Value;
use windlass_store::Store;
use world::{Fleet, get_metrics};

/// Is over its limit for some seconds at first, and done then. Its words are of an agent's.
const LIMITED: &str = r#"cat >/dev/null
if mkdir "$1" 2>/dev/null; then
    echo '{"type":"error","kind":"rate_limit","message":"slow down","retry_after_ms":12000}'; exit 1
fi
printf 'step 1\nstep 2\nstep 3\n' > done.txt
echo '{"type":"text","text":"<promise>COMPLETE</promise>"}'
"#;

/// Makes an agent known that is over its limit in its first turn.
fn limited_agent(fleet: &Fleet) {
    let dir = fleet.dir.path();
    let (script, once) = (dir.join("limited.sh"), dir.join("limited.once"));
    std::fs::write(&script, LIMITED).unwrap();
    let config = dir.join("home/.config/windlass");
    std::fs::create_dir_all(&config).unwrap();
    let agent = format!("[agents.limited]\ncommand = [\"sh\", {script:?}, {once:?}]\noutput = \"jsonl\"\n");
    std::fs::write(config.join("config.toml"), agent).unwrap();
}

fn asked(fleet: &Fleet, args: &[&str]) -> Value {
    let said = fleet.program(args).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn loop_over_its_limit_gives_its_slot_to_another_and_continues_where_its_files_are() {
    let Some(mut fleet) = Fleet::empty().await else { return };
    limited_agent(&fleet);
    fleet.submit("limited", &["--set", "agent=limited", "--account", "team", "--priority", "1"]);
    fleet.submit("other", &["--agent-command", "sh agent.sh"]);
    fleet.submit("third", &["--agent-command", "sh agent.sh", "--account", "team", "--priority", "5"]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let _one = fleet.worker_with("one", None, &["--slots", "1", "--park-after", "1", "--metrics", &free]);
    fleet.until_of("limited", |row| row.is_parked).await;
    let queue = asked(&fleet, &["queue", "--json"]);
    let parked = queue["loops"].as_array().unwrap().iter().find(|one| one["name"] == "limited").unwrap();
    assert_eq!((&parked["status"], &parked["waits_for"]["type"]), (&"waiting".into(), &"time".into()));
    // Its slot is free, but nothing of its account may run.
    fleet.until_of("other", |row| row.holder.is_some()).await;
    assert!(fleet.row_of("limited").await.is_parked);
    let third = asked(&fleet, &["queue", "--json"])["loops"].clone();
    let third = third.as_array().unwrap().iter().find(|one| one["name"] == "third").unwrap().clone();
    assert_eq!(third["waits_for"]["type"], "account");
    for name in ["limited", "other", "third"] {
        let row = fleet.until_of(name, |row| !row.entry.open && row.holder.is_none()).await;
        assert_eq!(row.entry.status, "completed", "{name}: {:?}", row.entry.stop_reason);
        assert_eq!(fleet.moves(&row.entry.id).await, 0);
    }
    let said = get_metrics(&free, "");
    for sample in
        ["windlass_worker_slots 1", "windlass_worker_loops_parked_total 1", "windlass_worker_loops_taken_total 4"]
    {
        assert!(said.lines().any(|line| line == sample), "{sample}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_as_many_loops_of_a_project_run_as_its_limit_says() {
    let Some(mut fleet) = Fleet::empty().await else { return };
    assert_eq!(asked(&fleet, &["limit", "project:repo", "1", "--json"])["max_running"], 1);
    for name in ["a", "b", "c"] {
        fleet.submit(name, &["--agent-command", "sh agent.sh"]);
    }
    let _one = fleet.worker_with("one", None, &["--slots", "3"]);
    let _two = fleet.worker("two", None);
    for name in ["a", "b", "c"] {
        fleet.until_of(name, |row| !row.entry.open).await;
    }
    // The journals do not overlap: each loop ended before the next began.
    let mut times = Vec::new();
    for name in ["a", "b", "c"] {
        let events = fleet.store.read(&fleet.row_of(name).await.entry.id, 0, 10_000).await.unwrap();
        let began =
            events.iter().find(|event| event.kind == "loop_opened" || event.kind == "phase_entered").unwrap().at;
        times.push((began, events.last().unwrap().at));
    }
    times.sort();
    assert!(times.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{times:?}");
    assert!(!fleet.program(&["limit", "repo", "1"]).output().unwrap().status.success(), "a name without its kind");
}
