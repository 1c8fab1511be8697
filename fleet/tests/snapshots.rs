//! Long turns whose worker is killed: another one continues with the files that were saved last.

mod server;
mod world;

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use windlass_store::Store;
use world::{Fleet, git};

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
/// Writes half of its work and files that nobody may see, claims to be done, and does not end. Who comes after it claims
/// nothing the first time.
const AGENT: &str = r#"cat > "$1/prompt.$(ls "$1" | grep -c prompt)"
if mkdir "$1/once" 2>/dev/null; then
    echo half > half.txt; echo "KEY=$2" > .env; echo "$2" > notes.txt; printf 'step 1\nstep 2\nstep 3\n' > done.txt
    echo "<promise>COMPLETE</promise>"; echo > "$1/began"; sleep 600
fi
mkdir "$1/found" 2>/dev/null && { ls -A > "$1/found/files"; cat half.txt > whole.txt; exit 0; }
echo "<promise>COMPLETE</promise>"
"#;

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

async fn events(fleet: &Fleet, id: &str, kind: &str) -> Vec<Value> {
    let events = fleet.store.read(id, 0, 10_000).await.unwrap();
    events.iter().filter(|event| event.kind == kind).map(|event| serde_json::from_str(&event.body).unwrap()).collect()
}

/// Refs of the hub that are no branches: the names below the loop's own.
fn saved(fleet: &Fleet) -> Vec<String> {
    let listed = git(&fleet.dir.path().join("hub/repo.git"), &["for-each-ref", "--format=%(refname)", "refs/windlass"]);
    listed.lines().filter_map(|name| Some(name.split_once("/wip/")?.1.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_worker_continues_a_killed_turn_with_its_last_snapshot_and_judges_only_its_own_commit() {
    let Some(mut fleet) = Fleet::empty().await else { return };
    let place = fleet.dir.path().join("place");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("agent.sh"), AGENT).unwrap();
    let agent = format!("sh {0}/agent.sh {0} {KEY}", place.display());
    fleet.submit("steps", &["--agent-command", &agent]);
    let id = fleet.row().await.entry.id;
    let one = fleet.worker_with("one", None, &["--snapshot-every", "1"]);
    let hub = fleet.dir.path().join("hub/repo.git");
    // The hub tells nobody. The agent writes this file last.
    let mut name = String::new();
    while name.is_empty() || !git(&hub, &["show", &format!("{name}:done.txt")]).contains("step 3") {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        name =
            git(&hub, &["for-each-ref", "--format=%(refname)", &format!("refs/windlass/{id}/wip")]).trim().to_owned();
    }
    let files = git(&hub, &["ls-tree", "-r", "--name-only", &name]);
    assert_eq!(files, "agent.sh\ndone.txt\nhalf.txt\n", "no file with a secret");
    let dumped = ["-c", "safe.directory=*", "cat-file", "--batch-all-objects", "--batch"];
    let dumped = std::process::Command::new("git").args(dumped).current_dir(&hub).output().unwrap();
    let everything = String::from_utf8_lossy(&dumped.stdout);
    assert!(everything.contains("step 3") && !everything.contains(KEY));
    assert_eq!(git(&hub, &["log", "--format=%s", "windlass/steps"]), "base\n");
    one.signal(Signal::KILL);
    let _two = fleet.worker("two", None);
    let row = fleet.until(|row| !row.entry.open && row.holder.is_none()).await;
    assert_eq!(row.entry.status, "completed", "{:?}", row.entry.stop_reason);
    assert_eq!(text(&place.join("found/files")).lines().filter(|line| *line == "half.txt").count(), 1);
    let told = text(&place.join("prompt.1"));
    assert!(told.contains("lost with the machine that it ran on"), "{told}");
    let openings = events(&fleet, &id, "workspace_opened").await;
    let restored: Vec<u64> =
        openings.iter().filter_map(|opened| opened["opening"]["snapshot"]["files_changed"].as_u64()).collect();
    assert_eq!(restored, [2], "{openings:?}");
    // The lost turn's claim does not count, though its files would pass: the second turn made none, the third did.
    assert_eq!(row.entry.iterations, 2);
    let ends = events(&fleet, &id, "turn_ended").await;
    let claims: Vec<&Value> = ends.iter().map(|end| &end["report"]["claim"]).collect();
    assert_eq!((&ends[0]["again"], &claims[1..]), (&Value::Bool(true), &[&Value::Bool(false), &Value::Bool(true)][..]));
    assert_eq!(git(&hub, &["show", "windlass/steps:whole.txt"]), "half\n");
    assert_eq!(saved(&fleet), [""; 0], "a commit has what they had");
    assert_eq!(fleet.store.check_chain(&id, u64::MAX).await.unwrap().broken_at, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_snapshots_the_turn_begins_at_the_commit() {
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let one = fleet.worker_with("one", None, &["--snapshot-every", "0"]);
    fleet.turn_runs().await;
    one.signal(Signal::KILL);
    let _two = fleet.worker("two", None);
    let row = fleet.ends_well().await;
    let openings = events(&fleet, &row.entry.id, "workspace_opened").await;
    assert!(openings.iter().all(|opened| opened["opening"]["snapshot"].is_null()));
}
