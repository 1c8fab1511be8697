//! A driver that does not answer is waited for, but not for ever.

#[path = "support/clocked.rs"]
mod clocked;
mod support;
#[path = "support/tools.rs"]
mod tools;

use std::time::Duration;

use support::*;
use windlass_core::ids::LoopId;
use windlass_core::machine::Act;
use windlass_engine::clock::ManualClock;
use windlass_engine::engine::EngineError;
use windlass_testkit::World;

#[test]
fn a_driver_that_hangs_is_given_up_and_never_replaced() {
    let world = World::new();
    let (coder, auditor) = (tools::working_agent(&world), tools::waiting_agent(&world, &["", ""]));
    let running = tools::start(&world, "audited", &coder, &auditor, &[]);
    auditor.wait_touched("there-1");
    running.signal(rustix::process::Signal::STOP);
    let id = LoopId(status(&world, "work")["id"].as_str().unwrap().to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(async {
        let engine = clocked::engine(&world, &ManualClock::at(jiff::Timestamp::now()));
        let before = engine.store.holder(&id.0).await.unwrap();
        let act = Act::Ask { question: "Anybody?".to_owned(), default: None };
        let answer = engine.act(&id, "1.auditor.1".parse().unwrap(), act, Duration::from_millis(200)).await;
        assert_eq!(engine.store.holder(&id.0).await.unwrap(), before);
        answer
    });
    assert!(matches!(answer, Err(EngineError::Unanswered { .. })), "{answer:?}");
    // Once it goes on, it does what lies in its inbox.
    running.signal(rustix::process::Signal::CONT);
    let told = tools::tools_of(&world, "1.auditor.1").call("ask", &serde_json::json!({ "question": "Still?" }));
    told.ok();
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
    assert_eq!(of_type(&feed(&world, "work"), "question_deferred").len(), 2);
}
