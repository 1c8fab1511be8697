//! Faults that the simulation found, each as a plain story.

use std::sync::Arc;

use windlass_core::ids::LoopId;
use windlass_core::summary::SummariserKind;
use windlass_engine::command::{Answer, Command};
use windlass_engine::groups::member;
use windlass_simulate::Plan;
use windlass_simulate::sim::{Sim, create_loop};
use windlass_simulate::specs;
use windlass_store::Store;

const ID: &str = "loop1";

/// A loop that an agent summarizes, without faults.
async fn simulated() -> Arc<Sim> {
    let sim = Sim::new(&Plan::of(1), false).unwrap();
    sim.world.lock().dice.calm = true;
    let mut spec = specs::draw(&mut sim.world.lock().dice);
    spec.summariser.kind = SummariserKind::Agent;
    spec.review = None;
    let process = sim.start(0);
    create_loop(&sim, &process.engine, ID, spec, 0).await.unwrap();
    sim
}

#[tokio::test(start_paused = true)]
// promise: recovery-17
async fn lease_is_released_when_the_journal_cannot_be_read() {
    let sim = simulated().await;
    let (first, second) = (sim.start(0), sim.start(0));
    sim.world.lock().reads_to_fail = 1;
    first.engine.take(&LoopId(ID.into())).await.unwrap_err();
    assert_eq!(sim.memory.holder(ID).await.unwrap(), None, "a process that lives and drives nothing holds the loop");
    second.engine.take(&LoopId(ID.into())).await.unwrap();
}

#[tokio::test(start_paused = true)]
// promise: control-1
async fn stop_ends_an_interrupted_loop_whose_turn_waits_for_its_summary() {
    let sim = simulated().await;
    let (driver, user) = (sim.start(0), sim.start(0));
    let (engine, leaving) = (Arc::clone(&driver.engine), sim.world.leaving(driver.number));
    let driving = tokio::spawn(async move { member::drive(&engine, &LoopId(ID.into()), false, leaving).await });
    loop {
        let written = sim.world.written.notified();
        if sim.state(ID).unwrap().phase().name() == "summarise" {
            break;
        }
        written.await;
    }
    sim.world.kill(driver.number);
    let answer = user.engine.command(&LoopId(ID.into()), &Command::Stop).await.unwrap();
    assert_eq!(answer, Answer::Done { status: "cancelled".into() });
    assert!(sim.state(ID).unwrap().status().is_ended());
    driving.abort();
}
