//! Leaving without cutting off a turn.

use crate::clocked::{Watched, create, engine};
use crate::support::*;
use rustix::process::Signal;
use windlass_core::machine::Event;
use windlass_core::stop::{End, Status};
use windlass_engine::clock::ManualClock;
use windlass_engine::config::Options;
use windlass_engine::driver::Left;
use windlass_testkit::{Running, ScriptedAgent, Stream, World};

/// Works until it is let go; ends in its second turn.
const TWO_TURNS: &str = r#"
    [[turn]]
    steps = [{ append = { path = "log", content = "first\n" } }, { touch = "reached" }, { wait_for = "go" }, { say = "more" }]
    [[turn]]
    steps = [{ append = { path = "log", content = "second\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

fn clock() -> ManualClock {
    ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())
}

async fn off_the_runtime(agent: &ScriptedAgent, wait: impl FnOnce(&ScriptedAgent) + Send + 'static) {
    let agent = agent.clone();
    tokio::task::spawn_blocking(move || wait(&agent)).await.unwrap();
}

#[tokio::test]
// promise: recovery-15
async fn drained_loop_is_left_after_its_turn_is_committed_and_continues_elsewhere() {
    let world = World::new();
    let agent = world.script(TWO_TURNS);
    let leaving = engine(&world, &clock());
    let held = create(&leaving, &world, Some(agent.command_line()), Options::default()).await;
    let watched = Watched::drive(&leaving, held);
    off_the_runtime(&agent, |agent| agent.wait_touched("reached")).await;
    leaving.drain();
    agent.open_gate("go");
    let id = watched.id.clone();
    let left = tokio::time::timeout(windlass_testkit::HUNG, watched.driving.ended()).await.expect("it never leaves");
    assert_eq!(left.unwrap(), Left::ShutDown);

    let next = engine(&world, &clock());
    assert_eq!(next.store.holder(&id.0).await.unwrap(), None);
    let mut held = next.take(&id).await.unwrap();
    assert_eq!(held.state.status(), Status::Running);
    assert_eq!((agent.turns().len(), world.repo().file_at("windlass/work", "log")), (1, "first\n".to_owned()));
    next.attach(&mut held).await.unwrap();
    let watched = Watched::drive(&next, held);
    let state = watched.rested().await;
    assert_eq!(state.status(), Status::Ended { end: End::Completed });
    assert_eq!(agent.turns().len(), 2);
}

#[tokio::test]
// promise: recovery-15
async fn loop_that_waits_is_left_at_once_by_a_drain() {
    let world = World::new();
    let limited = "{ type = \"error\", kind = \"rate_limit\", message = \"slow down\", retry_after_ms = 60000 }";
    let agent = world.script(&format!("[[turn]]\nsteps = [{{ event = {limited} }}, {{ exit = 1 }}]\n"));
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.scripted]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", ")));
    let engine = engine(&world, &clock());
    let options = Options { agent: Some("scripted".to_owned()), ..Options::default() };
    let held = create(&engine, &world, None, options).await;
    let mut watched = Watched::drive(&engine, held);
    watched.until(1, |event| matches!(event, Event::WaitStarted { .. })).await;
    engine.drain();
    let left = tokio::time::timeout(windlass_testkit::HUNG, watched.driving.ended()).await.expect("it never leaves");
    assert_eq!(left.unwrap(), Left::ShutDown);
}

/// A server that works on a goal whose agent has begun, and another goal behind it.
fn serving(world: &World, agent: &ScriptedAgent, drain: &str) -> Running {
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.slow]\ncommand = [{}]\n", words.join(", ")));
    for goal in ["first", "second"] {
        let after: &[&str] = if goal == "second" { &["--after", "1"] } else { &[] };
        let add = ["queue", "add", goal, "--agent", "slow", "--name", goal, "--gate", "true"];
        call(world, &[&add[..], after].concat()).assert_code(0);
    }
    let running = world.start(windlass(world, &["serve", "--port", "0", "--drain", drain]));
    agent.wait_touched("reached");
    running
}

#[test]
// promise: recovery-15
fn serve_drains_and_the_next_one_continues() {
    let world = World::new();
    let agent = world.script(TWO_TURNS);
    let mut running = serving(&world, &agent, "1h");
    running.signal(Signal::TERM);
    running.wait_line(Stream::Stdout, "draining");
    agent.open_gate("go");
    running.wait().assert_code(143);
    assert_eq!(agent.turns().len(), 1, "no other turn, no other goal");
    let events = feed(&world, "first");
    assert!(of_type(&events, "turn_interrupted").is_empty(), "{events:?}");
    assert_eq!(of_type(&events, "checkpointed").len(), 1);
    assert_eq!(status(&world, "first")["status"], "interrupted");
    world.wait_no_processes();
    call(&world, &["serve", "--once"]).assert_code(0);
    assert_eq!(status(&world, "first")["status"], "completed");
}

#[test]
// promise: recovery-15
fn drain_that_takes_too_long_interrupts_the_turn() {
    let world = World::new();
    let agent = world.script(TWO_TURNS);
    let running = serving(&world, &agent, "1ms");
    running.signal(Signal::TERM);
    running.wait().assert_code(143);
    assert_eq!(of_type(&feed(&world, "first"), "turn_interrupted").len(), 1);
    world.wait_no_processes();
}
