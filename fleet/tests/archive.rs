//! Output of ended loops in an archive: gone from the database, read back by a desk that has seen nothing of it.

mod server;
mod world;

use windlass_app::LoopFeed;
use windlass_core::agent::AgentEvent;
use windlass_engine::feed::FeedBody;
use windlass_fleet::Archive;
use world::{Desk, Fleet};

async fn whole_feed(desk: &Desk, id: &str) -> String {
    let mut feed: LoopFeed = desk.app.feed(id).await.unwrap();
    let mut said = String::new();
    loop {
        while let Some(item) = feed.next().await.unwrap() {
            if let FeedBody::Live { event: AgentEvent::Text { text }, .. } = item.body {
                said.push_str(&text);
            }
        }
        if !feed.wait().await.unwrap() {
            return said;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_loop_is_archived_in_a_directory_and_a_desk_reads_it_back() {
    let Some(mut fleet) = Fleet::with_a_loop(false).await else { return };
    let dir = fleet.dir.path().join("archive");
    let _one = fleet.worker_with("one", None, &["--archive", &format!("file://{}", dir.display())]);
    let id = fleet.ends_well().await.entry.id;
    let turns = ["1.coder.1", "2.coder.1", "3.coder.1"];
    for turn in turns {
        // Nobody is told of it: a worker looks every ten seconds.
        while fleet.store.fetch(&id, turn, &[0; 5]).await.unwrap().kept.is_none() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert!(fleet.store.fetch(&id, turn, &[0; 5]).await.unwrap().chunks.is_empty(), "{turn} is still there");
        assert!(dir.join(&id).join(turn).join("exit.json").is_file());
    }
    let desk = fleet.desk("desk").await;
    let said = whole_feed(&desk, &id).await;
    assert_eq!(said, "step 1 begins\nstep 2 begins\nstep 3 begins\n<promise>COMPLETE</promise>\n");
    let copy = std::fs::read(desk.data.join("transcripts").join(&id).join("2.coder.1/stdout")).unwrap();
    assert_eq!(copy, std::fs::read(dir.join(&id).join("2.coder.1/stdout")).unwrap());
}

#[test]
fn archive_is_a_directory_or_a_bucket_without_a_login() {
    for good in ["file:///srv/archive", "s3://bucket", "s3://bucket/a/b?region=eu-1&endpoint=http://127.0.0.1:9000"] {
        assert_eq!(Archive::parse(good).unwrap().text(), good);
    }
    for (wrong, why) in [
        ("/srv/archive", "relative URL"),
        ("s3:///prefix", "names no bucket"),
        ("s3://key:secret@bucket", "the login belongs in the environment"),
        ("s3://bucket?secret=1", "'secret' is not recognized"),
        ("http://bucket", "'http' is not recognized"),
    ] {
        let said = Archive::parse(wrong).unwrap_err().to_string();
        assert!(said.contains(why), "{wrong}: {said}");
    }
}
