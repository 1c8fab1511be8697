//! Several processes on one database, and a process that is killed while it writes.
//!
//! The other processes are this test binary, started again to run the one test that plays them.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{entry, event, holder, item, new_loop, open, step};
use windlass_store::{Create, ListFilter, Store, StoreError};

/// Set in a child: where the database is.
const DATABASE: &str = "STORE_TEST_DATABASE";
/// Set in a child: its number.
const NUMBER: &str = "STORE_TEST_NUMBER";

fn child(test: &str, database: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([&format!("processes::{test}"), "--exact", "--nocapture", "--test-threads=1"])
        .env(DATABASE, database)
        .env(NUMBER, number.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[allow(clippy::print_stdout, reason = "the pipe to the parent")]
fn report(id: &str, head: u64) {
    println!("acknowledged {id} {head}");
}

/// Helper process: appends to four loops and prints each acknowledged event until it is killed.
#[tokio::test(flavor = "multi_thread")]
async fn child_that_appends_for_ever() {
    let Some(database) = std::env::var_os(DATABASE) else { return };
    let store = std::sync::Arc::new(open(Path::new(&database)));
    let number = std::env::var(NUMBER).unwrap();
    let tasks = (0..4).map(|n| {
        let (store, id) = (store.clone(), format!("{number}-{n}"));
        tokio::spawn(async move {
            new_loop(&*store, &id, "t").await;
            report(&id, 1);
            for seq in 1.. {
                let head = store.append(step(&id, seq, "t")).await.unwrap();
                report(&id, head);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test]
// promise: recovery-8
async fn what_was_acknowledged_survives_kill_9() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("windlass.db");
    let mut acknowledged: HashMap<String, u64> = HashMap::new();
    // The same database each time: later processes also recover what the killed ones left.
    for (number, lines) in [1, 2, 7, 40, 150, 400, 31, 90].into_iter().enumerate() {
        let mut writer = child("child_that_appends_for_ever", &path, number);
        let mut output = BufReader::new(writer.stdout.take().unwrap());
        let mut told = String::new();
        let mut count = 0;
        while count < lines {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "the writer ended by itself");
            count += usize::from(line.contains("acknowledged "));
            told.push_str(&line);
        }
        writer.kill().unwrap();
        output.read_to_string(&mut told).unwrap();
        writer.wait().unwrap();
        // The harness may write the test's name ahead of the first line; the last one may be cut off.
        for line in told.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let Some((_, told)) = line.split_once("acknowledged ") else { continue };
            let (id, head) = told.trim().split_once(' ').unwrap();
            let known = acknowledged.entry(id.to_owned()).or_default();
            *known = (*known).max(head.parse().unwrap());
        }

        let store = open(&path);
        for (id, &head) in &acknowledged {
            let found = store.get(id).await.unwrap().unwrap();
            assert!(found.head >= head, "{id}: {head} was acknowledged, {} is there", found.head);
            let events = store.read(id, 0, usize::MAX).await.unwrap();
            let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
            assert_eq!(seqs, (1..=found.head).collect::<Vec<_>>(), "{id}");
            // The projection belongs to the last event, not to one before or after it.
            assert_eq!(u64::from(found.entry.iterations), found.head - 1, "{id}");
        }
    }
    assert!(acknowledged.len() >= 8);
}

/// Helper process: waits for its parent, then competes with its siblings.
#[tokio::test]
async fn child_that_competes() {
    let Some(database) = std::env::var_os(DATABASE) else { return };
    let number = std::env::var(NUMBER).unwrap();
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();

    let store = open(Path::new(&database));
    let token = format!("t{number}");
    let contended = Create {
        entry: entry(&number, "/p", "contended"),
        events: vec![event("loop_created")],
        holder: Some(holder(&token)),
    };
    match store.create(contended).await {
        Ok(_) => report("contended", number.parse().unwrap()),
        Err(error) => assert!(matches!(error, StoreError::NameTaken { .. }), "{error:?}"),
    }
    let id = format!("own-{number}");
    new_loop(&store, &id, &token).await;
    for seq in 1..=25 {
        store.append(step(&id, seq, &token)).await.unwrap();
        store.post(&id, item(&format!("{number}-{seq}"))).await.unwrap();
    }
}

#[tokio::test]
async fn many_processes_create_and_share_a_database_at_once() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("windlass.db");
    let mut children: Vec<Child> = (0..6).map(|n| child("child_that_competes", &path, n)).collect();
    // All wait for the end of their input; closing the pipes lets them go together.
    for child in &mut children {
        drop(child.stdin.take());
    }
    let mut winners = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{told}");
        winners += told.matches("acknowledged contended").count();
    }
    assert_eq!(winners, 1);

    let store = open(&path);
    assert_eq!(store.list(ListFilter::default()).await.unwrap().len(), 7);
    for n in 0..6 {
        let id = format!("own-{n}");
        assert_eq!(store.get(&id).await.unwrap().unwrap().head, 26);
        assert_eq!(store.pending(&id).await.unwrap().len(), 25);
    }
}
