//! What depends on time, with the engine in this process on a clock that is moved by hand; processes and git are real.

use std::sync::Arc;

use crate::clocked::{Watched, engine};
use crate::support::*;
use windlass_config::Options;
use windlass_core::machine::{Event, Input, Interrupt};
use windlass_core::stop::{End, Status, StopReason};
use windlass_engine::clock::ManualClock;
use windlass_engine::engine::{Engine, Held};
use windlass_testkit::{ScriptedAgent, World};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;

fn clock() -> ManualClock {
    ManualClock::at("2026-01-02T03:04:05Z".parse().unwrap())
}

async fn create(engine: &Arc<Engine>, world: &World, agent: &ScriptedAgent, options: Options) -> Held {
    crate::clocked::create(engine, world, Some(agent.command_line()), options).await
}

fn started(event: &Event) -> bool {
    matches!(event, Event::TurnStarted { .. })
}

fn interrupted(event: &Event) -> bool {
    matches!(event, Event::TurnInterrupted { .. })
}

#[tokio::test]
// promise: bounds-11
async fn silence_is_a_stall_and_output_is_not() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { touch = "a" }, { wait_for = "speak" }, { say = "session: s-1" }, { wait_for = "end" },
            { say = "<promise>COMPLETE</promise>" },
        ]
    "#,
    );
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    let command = words.join(", ");
    world.config(&format!("[agents.scripted]\ncommand = [{command}]\nsession_pattern = 'session: (\\S+)'\n"));
    let clock = clock();
    let engine = engine(&world, &clock);
    let options = Options { agent: Some("scripted".to_owned()), ..Options::default() };
    let held = create(&engine, &world, &agent, options).await;
    let mut watched = Watched::drive(&engine, held);
    wait_touched(&agent, "a").await;
    clock.advance_ms(5 * MINUTE - SECOND);
    agent.open_gate("speak");
    // The journal has it, so the engine has heard it.
    watched.until(1, |event| matches!(event, Event::SessionFound { .. })).await;
    // Two seconds later the first five minutes are over, and the agent has spoken since.
    clock.advance_ms(2 * SECOND);
    agent.open_gate("end");
    watched.until(1, |event| matches!(event, Event::TurnEnded { .. })).await;
    assert!(!watched.events().await.iter().any(interrupted));
    let state = watched.rested().await;
    assert_eq!(state.status, Status::Ended { end: End::Completed });
}

/// Blocks off the runtime's thread until the agent has come to the step.
async fn wait_touched(agent: &ScriptedAgent, name: &str) {
    let (agent, name) = (agent.clone(), name.to_owned());
    tokio::task::spawn_blocking(move || agent.wait_touched(&name)).await.unwrap();
}

async fn wait_turns(agent: &ScriptedAgent, count: usize) {
    let agent = agent.clone();
    tokio::task::spawn_blocking(move || agent.wait_turns(count)).await.unwrap();
}

#[tokio::test]
// promise: bounds-11
async fn three_stalls_in_a_row_end_the_loop() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ hang = { ignore_signals = true } }]");
    let clock = clock();
    let engine = engine(&world, &clock);
    let held = create(&engine, &world, &agent, Options::default()).await;
    let mut watched = Watched::drive(&engine, held);
    for attempt in 1..=3 {
        wait_turns(&agent, attempt).await;
        clock.advance_ms(5 * MINUTE + SECOND);
        watched.until(attempt, interrupted).await;
    }
    let state = watched.rested().await;
    assert_eq!(state.stop_reason, Some(StopReason::Stall { stalls: 3 }));
    assert_eq!(starts(&agent), [(1, 1), (1, 2), (1, 3)]);
    assert!(agent.still_alive().is_empty());
}

#[tokio::test]
// promise: bounds-12
async fn an_hour_is_the_most_for_a_turn_however_much_it_says() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ write = { path = \"half\", content = \"1\" } }, { touch = \"a\" }, { hang = { ignore_signals = true } }]",
    );
    let clock = clock();
    let engine = engine(&world, &clock);
    world.config("stall_timeout = \"2h\"\n");
    let held = create(&engine, &world, &agent, Options::default()).await;
    let mut watched = Watched::drive(&engine, held);
    wait_touched(&agent, "a").await;
    clock.advance_ms(60 * MINUTE - SECOND);
    assert!(!watched.events().await.iter().any(interrupted));
    clock.advance_ms(2 * SECOND);
    watched.until(1, |event| matches!(event, Event::TurnInterrupted { why: Interrupt::TurnTimeout, .. })).await;
    let state = watched.rested().await;
    assert!(matches!(state.stop_reason, Some(StopReason::AgentFailed { .. })), "{:?}", state.stop_reason);
    assert_eq!(file_at_branch(&world, "work", "half"), "1", "the work is committed");
}

#[tokio::test]
// promise: bounds-5
async fn a_duration_counts_over_restarts_and_not_between_them() {
    let world = World::new();
    let agent = world.script("[[turn]]\nsteps = [{ hang = { ignore_signals = true } }]");
    let clock = clock();
    world.config("duration = \"30m\"\nstall_timeout = \"2h\"\n");
    let first = engine(&world, &clock);
    let held = create(&first, &world, &agent, Options::default()).await;
    let watched = Watched::drive(&first, held);
    wait_turns(&agent, 1).await;
    clock.advance_ms(20 * MINUTE);
    let state = watched.leave().await;
    assert_eq!(state.status, Status::Running);
    assert!(agent.still_alive().is_empty());
    // A day without a driver.
    clock.advance_ms(24 * 60 * MINUTE);
    let second = engine(&world, &clock);
    let mut held = second.take(&state.id).await.unwrap();
    second.apply(&mut held, &Input::Attach { alive_until: None }).await.unwrap();
    let mut watched = Watched::drive(&second, held);
    wait_turns(&agent, 2).await;
    clock.advance_ms(9 * MINUTE);
    assert!(!matches!(watched.state().await.status, Status::Ended { .. }));
    clock.advance_ms(2 * MINUTE);
    watched.until(2, interrupted).await;
    let state = watched.rested().await;
    assert_eq!(state.stop_reason, Some(StopReason::Duration { limit_ms: 30 * 60 * 1_000 }));
    assert!((30 * 60_000..32 * 60_000).contains(&state.elapsed_ms), "{} ms", state.elapsed_ms);
}

#[tokio::test]
// promise: failures-4
async fn a_wait_for_a_rate_limit_survives_a_restart_of_the_engine() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [
            { event = { type = "error", kind = "rate_limit", message = "slow down", retry_after_ms = 3_600_000 } },
            { exit = 1 },
        ]
        [[turn]]
        steps = [{ event = { type = "text", text = "<promise>COMPLETE</promise>" } }]
    "#,
    );
    let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
    world.config(&format!("[agents.scripted]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", ")));
    let clock = clock();
    let first = engine(&world, &clock);
    let options = Options { agent: Some("scripted".to_owned()), ..Options::default() };
    let held = create(&first, &world, &agent, options).await;
    let mut watched = Watched::drive(&first, held);
    watched.until(1, |event| matches!(event, Event::WaitStarted { .. })).await;
    let Status::Waiting { until, .. } = watched.state().await.status else { panic!("it waits") };
    clock.advance_ms(30 * MINUTE);
    let state = watched.leave().await;
    assert!(matches!(state.status, Status::Waiting { until: same, .. } if same == until));
    let second = engine(&world, &clock);
    let mut held = second.take(&state.id).await.unwrap();
    second.apply(&mut held, &Input::Attach { alive_until: None }).await.unwrap();
    let mut watched = Watched::drive(&second, held);
    clock.advance_ms(29 * MINUTE);
    assert!(matches!(watched.state().await.status, Status::Waiting { .. }));
    assert_eq!(agent.turns().len(), 1);
    clock.advance_ms(2 * MINUTE);
    watched.until(2, started).await;
    let state = watched.rested().await;
    assert_eq!(state.status, Status::Ended { end: End::Completed });
    assert_eq!(starts(&agent), [(1, 1), (1, 2)]);
}

#[tokio::test]
// promise: bounds-13
async fn a_gate_has_ten_minutes() {
    let world = World::new();
    let agent = world.script(
        "[[turn]]\nsteps = [{ write = { path = \"a\", content = \"1\" } }, { say = \"<promise>COMPLETE</promise>\" }]",
    );
    let reached = world.root().join("gate-reached");
    world.config(&format!(
        "gates = [\"test ! -f a || {{ touch {}; exec sleep 100; }}\"]\nmax_iterations = 1\n",
        reached.display()
    ));
    let clock = clock();
    let engine = engine(&world, &clock);
    let held = create(&engine, &world, &agent, Options::default()).await;
    let watched = Watched::drive(&engine, held);
    tokio::task::spawn_blocking(move || windlass_testkit::watch::wait_exists(&reached, None)).await.unwrap().unwrap();
    clock.advance_ms(10 * MINUTE + SECOND);
    let state = watched.rested().await;
    assert_eq!(state.gates[&0].verdict, windlass_core::machine::Verdict::TimedOut);
    assert_eq!(state.status, Status::Ended { end: End::Exhausted });
}

#[tokio::test]
// promise: failures-2
async fn a_refine_loop_goes_on_after_a_failure_but_not_at_once() {
    let world = World::new();
    let agent = world.script(
        r#"
        [[turn]]
        steps = [{ write = { path = "half", content = "1" } }, { stderr = "boom" }, { exit = 1 }]
        [[turn]]
        steps = [{ exit = 1 }]
        [[turn]]
        steps = [{ append = { path = "whole", content = "1" } }, { say = "done" }]
    "#,
    );
    let clock = clock();
    let engine = engine(&world, &clock);
    let options = Options { recipe: Some("refine".into()), ..Options::default() };
    let held = create(&engine, &world, &agent, options).await;
    let mut watched = Watched::drive(&engine, held);
    // 10 seconds, then 20: no hot spin, however the agent fails.
    for (waits, wait) in [(1, 10 * SECOND), (2, 20 * SECOND)] {
        watched.until(waits, |event| matches!(event, Event::WaitStarted { .. })).await;
        clock.advance_ms(wait - SECOND);
        assert_eq!(agent.turns().len(), waits, "it waits");
        clock.advance_ms(2 * SECOND);
    }
    let state = watched.rested().await;
    assert_eq!(state.status, Status::Ended { end: End::Completed });
    let success: Vec<bool> = state.iterations.iter().map(|record| record.success).collect();
    assert_eq!(success, [false, false, true, true, true]);
    assert_eq!(
        windlass_engine::loop_log::result_line(&state).unwrap(),
        "Loop execution complete: 5/5 attempted, 3 succeeded, 2 failed"
    );
    assert_eq!(file_at_branch(&world, "work", "half"), "1", "what a failed turn left is committed");
}
