//! Histories that earlier versions of the workflows wrote fit the present ones.

use std::path::{Path, PathBuf};

use temporalio_client::WorkflowHistory;
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};
use windlass_fleet::temporal::{LoopFlow, PresenceFlow};

fn histories() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/histories");
    let versions = std::fs::read_dir(dir).unwrap().map(|version| version.unwrap().path());
    let files = versions.flat_map(|version| std::fs::read_dir(version).unwrap().map(|file| file.unwrap().path()));
    files.collect()
}

fn replayer() -> WorkflowReplayer {
    let options = WorkflowReplayerOptions::new().register_workflow::<LoopFlow>().unwrap();
    WorkflowReplayer::new(options.register_workflow::<PresenceFlow>().unwrap().build()).unwrap()
}

#[tokio::test]
async fn workflows_replay_every_saved_history() {
    let files = histories();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let history = WorkflowHistory::from_json(&std::fs::read(&file).unwrap()).unwrap();
        if let Err(error) = replayer().replay_workflow(history).await {
            panic!("{}: {error}", file.display());
        }
    }
}

#[tokio::test]
async fn history_of_another_workflow_does_not_replay() {
    let mut found = false;
    for file in histories() {
        // As if the workflow had asked for another queue's activity.
        let text = std::fs::read_to_string(&file).unwrap();
        let changed = text.replace("windlass.stretch", "windlass.other");
        if changed != text {
            found = true;
            let history = WorkflowHistory::from_json(changed.as_bytes()).unwrap();
            assert!(replayer().replay_workflow(history).await.is_err(), "{}", file.display());
        }
    }
    assert!(found);
}
