//! A desk: what people ask of it reaches the worker, and what agents write reaches the people.

mod server;
mod world;

use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use windlass_app::{
    DrainWorker, Kind, ListFleetQueue, ListWorkers, LoopFeed, PauseLoop, ResumeLoop, SteerLoop, StopLoop,
};
use windlass_core::agent::AgentEvent;
use windlass_engine::feed::FeedBody;
use world::{Desk, Fleet};

/// Reads on until an agent said it, or to the end; returns everything that agents said meanwhile.
async fn read_to(feed: &mut LoopFeed, what: Option<&str>) -> String {
    let mut said = String::new();
    loop {
        while let Some(item) = feed.next().await.unwrap() {
            if let FeedBody::Live { event: AgentEvent::Text { text }, .. } = item.body {
                said.push_str(&text);
                if what.is_some_and(|what| said.contains(what)) {
                    return said;
                }
            }
        }
        if !feed.wait().await.unwrap() {
            assert_eq!(what, None, "the feed ended: {said}");
            return said;
        }
    }
}

async fn whole_feed(desk: &Desk, id: &str) -> String {
    read_to(&mut desk.app.feed(id).await.unwrap(), None).await
}

/// The names and contents of a file of all turns.
fn all_of(data: &Path, id: &str, file: &str) -> Vec<(String, Vec<u8>)> {
    let turns = std::fs::read_dir(data.join("transcripts").join(id)).unwrap().map(|turn| turn.unwrap());
    let mut all: Vec<_> = turns
        .filter(|turn| turn.file_name().to_str().unwrap().contains("coder"))
        .map(|turn| {
            (turn.file_name().into_string().unwrap(), std::fs::read(turn.path().join(file)).unwrap_or_default())
        })
        .collect();
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn desk_shows_output_of_a_running_turn_and_stops_it() {
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let id = fleet.row().await.entry.id;
    let desk = fleet.desk("desk").await;
    let mut feed = desk.app.feed(&id).await.unwrap();
    let _one = fleet.worker("one", None);
    // The feed began before a worker had the loop, and does not end before one has it.
    read_to(&mut feed, Some("step 1 begins")).await;
    fleet.turn_runs().await;
    let view = desk.app.run(StopLoop { id: id.clone() }).await.unwrap();
    // Not the path that the project has on the worker.
    assert_eq!((view.status.as_str(), view.project.as_str()), ("cancelled", "git:repo"));
    read_to(&mut feed, None).await;
    let row = fleet.until(|row| row.holder.is_none()).await;
    assert_eq!(row.entry.status, "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_loop_is_steered_and_resumed_at_the_desk_and_keeps_its_files() {
    const MESSAGE: &str = "mind the third step";
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let id = fleet.row().await.entry.id;
    let desk = fleet.desk("desk").await;
    let _one = fleet.worker("one", None);
    fleet.turn_runs().await;
    let view = desk.app.run(PauseLoop { id: id.clone(), now: true }).await.unwrap();
    assert_eq!(view.status, "paused");
    fleet.until(|row| row.holder.is_none()).await;
    desk.app.run(SteerLoop { id: id.clone(), message: MESSAGE.to_owned(), now: false }).await.unwrap();
    desk.app.run(ResumeLoop { id: id.clone(), ..ResumeLoop::default() }).await.unwrap();
    fleet.ends_well().await;
    assert_eq!(fleet.moves(&id).await, 0, "what the desk did cost the worker its files");
    whole_feed(&desk, &id).await;
    let prompts = all_of(&desk.data, &id, "prompt.md");
    assert!(prompts.iter().any(|(_, prompt)| String::from_utf8_lossy(prompt).contains(MESSAGE)), "{prompts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_of_a_killed_worker_stays_readable() {
    let Some(mut fleet) = Fleet::with_a_loop(true).await else { return };
    let id = fleet.row().await.entry.id;
    let desk = fleet.desk("desk").await;
    let one = fleet.worker("one", None);
    let mut feed = desk.app.feed(&id).await.unwrap();
    read_to(&mut feed, Some("step 1 begins")).await;
    fleet.turn_runs().await;
    one.signal(Signal::KILL);
    let _two = fleet.worker("two", None);
    // The same reader goes on with what the second worker runs.
    let rest = read_to(&mut feed, None).await;
    assert_eq!(rest, "step 1 begins\nstep 2 begins\nstep 3 begins\n<promise>COMPLETE</promise>\n");
    fleet.ends_well().await;
    // A desk that has seen nothing of it reads the same.
    let cold = fleet.desk("cold").await;
    assert_eq!(whole_feed(&cold, &id).await, format!("step 1 begins\n{rest}"));
    let two = fleet.dir.path().join("two");
    for file in ["stdout", "times", "prompt.md", "exit.json"] {
        let (copied, of_worker) = (all_of(&cold.data, &id, file), all_of(&two, &id, file));
        // The first turn ran on the worker that is gone.
        assert_eq!(copied.len(), of_worker.len());
        assert_eq!(copied[1..], of_worker[1..], "{file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stop_of_a_loop_that_no_worker_has_is_answered_by_the_desk() {
    let Some(fleet) = Fleet::with_a_loop(false).await else { return };
    let id = fleet.row().await.entry.id;
    let desk = fleet.desk("desk").await;
    let view = desk.app.find(Some("steps")).await.unwrap();
    assert_eq!((view.status.as_str(), view.project.as_str()), ("queued", "git:repo"));
    assert_eq!(desk.app.run(StopLoop { id }).await.unwrap().status, "cancelled");
    assert_eq!(fleet.row().await.holder, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn drained_worker_exits_and_another_goes_on() {
    let Some(mut fleet) = Fleet::with_a_loop(false).await else { return };
    let desk = fleet.desk("desk").await;
    let workers = async || desk.app.run(ListWorkers::default()).await.unwrap();
    let mut one = fleet.worker("one", None);
    fleet.until(|row| row.holder.is_some()).await;
    let names: Vec<_> = workers().await.into_iter().map(|one| (one.name, one.is_desk, one.slots)).collect();
    assert_eq!(names, [("one".to_owned(), false, Some(2)), ("desk".to_owned(), true, None)]);
    let said = desk.metrics();
    let has = |sample: &str| said.lines().any(|line| line.starts_with(sample));
    assert!(has("windlass_loops{status=") && has("windlass_queue_loops{waits_for=\"slot\"} 0"), "{said}");
    assert!(has("windlass_worker_slots{worker=\"one\",id="), "{said}");
    let queue = desk.app.run(ListFleetQueue {}).await.unwrap();
    assert!(queue.loops.is_empty() && queue.limits.is_empty(), "{queue:?}");
    let done = fleet.program(&["drain", "one", "--json"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "{\"draining\":[\"one\"]}\n");
    assert!(tokio::task::spawn_blocking(move || one.0.wait().unwrap()).await.unwrap().success());
    assert_eq!(workers().await.len(), 1, "a worker that exited is listed");
    assert_eq!(fleet.program(&["drain", "none"]).stderr(Stdio::null()).status().unwrap().code(), Some(1));
    let refused = desk.app.run(DrainWorker { id: "none".to_owned() }).await.unwrap_err();
    assert_eq!(refused.code, Kind::NotFound);
    let _two = fleet.worker("two", None);
    fleet.ends_well().await;
}
