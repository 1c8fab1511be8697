//! Gates that judge a claim without the agent's knowledge.

use crate::driven::{Driven, claimed, finished, gate, hidden_gate, names, promise_loop};
use windlass_core::machine::{Effect, GateKey, GateMark, Input, Verdict};
use windlass_core::prompt::Facts;
use windlass_core::spec::{Done, LoopSpec};

const MARKER: &str = "./hidden-marker.sh";

fn with_hidden() -> LoopSpec {
    LoopSpec {
        gates: vec![gate("cargo test"), hidden_gate(MARKER), hidden_gate("./other-marker.sh")],
        ..promise_loop()
    }
}

fn prompt(driven: &Driven) -> String {
    windlass_core::prompt::build(&driven.state, &Facts::default(), &|text| text.len())
}

fn hidden_run() -> Effect {
    Effect::RunGate { gate: GateKey { on: 1_u32.into(), index: 1, attempt: 1 } }
}

#[test]
// promise: gates-12
fn hidden_gate_does_not_run_without_a_claim() {
    let mut driven = Driven::working(with_hidden());
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Pass);
    assert_eq!(driven.state.iterations[0].gates, [GateMark::Pass, GateMark::Skipped, GateMark::Skipped]);
    assert_eq!(driven.state.iteration, 2);
}

#[test]
fn hidden_gate_does_not_run_when_a_visible_gate_failed() {
    let mut driven = Driven::working(with_hidden());
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Fail);
    assert_eq!(driven.state.iterations[0].gates, [GateMark::Fail, GateMark::Skipped, GateMark::Skipped]);
    assert_eq!((driven.state.claims.refused, driven.state.claims.failed_hidden), (1, 0));
}

#[test]
// promise: gates-12
fn failed_hidden_gate_refuses_the_claim_and_the_prompt_has_only_the_count() {
    let mut driven = Driven::working(with_hidden());
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Pass);
    assert_eq!(driven.effects(), [hidden_run()]);
    driven.judge(Verdict::Fail);
    assert!(names(&driven.judge(Verdict::Fail)).contains(&"claim_refused"));
    let claims = driven.state.claims;
    assert_eq!((claims.made, claims.refused, claims.failed_hidden), (1, 1, 1), "two gates, one claim");
    let prompt = prompt(&driven);
    assert!(prompt.contains("2 hidden gates failed"), "{prompt}");
    assert!(!prompt.contains("marker") && !prompt.contains("what the gate printed"), "{prompt}");
}

#[test]
fn hidden_gate_that_passes_completes_the_loop() {
    let mut driven = Driven::working(with_hidden());
    driven.end_turn_and_checkpoint(claimed());
    for _ in 0..3 {
        driven.judge(Verdict::Pass);
    }
    assert_eq!((driven.stop_reason(), driven.state.claims.failed_hidden), ("completed", 0));
}

#[test]
fn baseline_of_a_hidden_gate_is_journalled_and_not_in_the_prompt() {
    let mut spec = with_hidden();
    spec.workspace.baseline = true;
    let mut driven = Driven::working(spec);
    for (index, verdict, attempt) in [(0, Verdict::Pass, 1), (1, Verdict::Fail, 1), (1, Verdict::Fail, 2)] {
        let report = driven.report_of(index, verdict);
        driven.ok(Input::GateEnded { gate: GateKey { on: 0_u32.into(), index, attempt }, report });
    }
    let (report, flaky) = (driven.report_of(2, Verdict::Fail), driven.report_of(2, Verdict::Pass));
    driven.ok(Input::GateEnded { gate: GateKey { on: 0_u32.into(), index: 2, attempt: 1 }, report });
    driven.ok(Input::GateEnded { gate: GateKey { on: 0_u32.into(), index: 2, attempt: 2 }, report: flaky });
    assert!(driven.state.failed_before(1) && driven.state.is_flaky(2));
    let prompt = prompt(&driven);
    assert!(!prompt.contains("marker") && !prompt.contains("Before you started"), "{prompt}");
}

#[test]
fn refine_loop_at_its_target_stops_short_when_only_a_visible_gate_ran() {
    let spec = || LoopSpec { done: Done::Count { iterations: 1 }, ..with_hidden() };
    let mut visible = Driven::working(spec());
    visible.end_turn_and_checkpoint(finished());
    visible.judge(Verdict::Fail);
    assert_eq!(visible.stop_reason(), "gates_failed");
    let mut hidden = Driven::working(spec());
    hidden.end_turn_and_checkpoint(finished());
    hidden.judge(Verdict::Pass);
    assert_eq!(hidden.effects(), [hidden_run()]);
    hidden.judge(Verdict::Fail);
    hidden.judge(Verdict::Pass);
    assert_eq!((hidden.stop_reason(), hidden.state.claims.failed_hidden), ("gates_failed", 1));
}
