//! What agents are told, as they read it.

use crate::driven::*;
use windlass_core::agent::{ErrorKind, TurnReport};
use windlass_core::machine::{ChangedFile, CheckpointReport, Input, Verdict};
use windlass_core::prompt;
use windlass_core::spec::{CommitPolicy, Done, Limits, LoopSpec, OnFailure, SessionPolicy};

fn said(words: &str) -> TurnReport {
    TurnReport { last_words: words.into(), ..finished() }
}

fn prompt_of(driven: &Driven) -> String {
    prompt::build(&driven.state, &prompt::Facts::default(), &|text: &str| text.len() / 4)
}

fn with_gates() -> LoopSpec {
    LoopSpec { gates: vec![gate("cargo test"), gate("cargo fmt --check")], ..promise_loop() }
}

#[test]
// promise: context-4
fn the_first_turn() {
    insta::assert_snapshot!(prompt_of(&Driven::working(promise_loop())));
}

#[test]
// promise: context-5
fn the_first_turn_of_an_agent_that_commits_by_itself() {
    let spec = LoopSpec { commit: CommitPolicy::Agent, ..promise_loop() };
    insta::assert_snapshot!(prompt_of(&Driven::working(spec)));
}

#[test]
// promise: context-1
fn a_resumed_turn() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn_and_checkpoint(said("Half of it."));
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
fn a_resumed_turn_after_a_refused_claim() {
    let mut driven = Driven::working(with_gates());
    driven.end_turn_and_checkpoint(claimed());
    driven.judge(Verdict::Fail);
    driven.judge(Verdict::Pass);
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
fn a_resumed_turn_after_two_gates_failed_without_a_claim() {
    let mut driven = Driven::working(with_gates());
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::TimedOut);
    driven.judge(Verdict::NotStarted);
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
fn a_turn_after_one_that_failed_before_the_gates_could_judge_it() {
    let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..with_gates() });
    driven.end_turn_and_checkpoint(finished());
    driven.judge(Verdict::Fail);
    driven.judge(Verdict::Pass);
    driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
    driven.pass(MINUTE);
    driven.ok(Input::TimerFired { timer: windlass_core::machine::TimerKind::Wait });
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
// promise: context-3
fn a_fresh_turn_with_history() {
    insta::assert_snapshot!(prompt_of(&after(7, SessionPolicy::Fresh)));
}

#[test]
// promise: context-5
fn a_fresh_turn_where_nothing_is_committed() {
    let mut driven =
        Driven::working(LoopSpec { session: SessionPolicy::Fresh, commit: CommitPolicy::Off, ..promise_loop() });
    driven.end_turn(TurnReport { last_words: String::new(), ..finished() });
    let checkpoint = CheckpointReport { commit: None, files: vec![], files_changed: 0, ..checkpoint_of(key(1, 1)) };
    driven.ok(Input::Checkpointed { turn: key(1, 1), checkpoint });
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
fn a_turn_that_goes_on_after_a_crash() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::SessionSeen { turn: key(1, 1), session: "s1".into() });
    driven.end_turn(cut_off());
    driven.ok(workspace_opened());
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
fn a_turn_with_messages_of_a_person() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::Steer {
        id: "m1".into(),
        text: "Use the parser in src/parse.rs.\nNot the old one.\n".into(),
        now: false,
    });
    driven.ok(Input::Steer { id: "m2".into(), text: "And write it in French.".into(), now: false });
    driven.end_turn_and_checkpoint(finished());
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
fn a_turn_after_a_claim_that_came_before_the_message_was_read() {
    let mut driven = Driven::working(promise_loop());
    driven.ok(Input::Steer { id: "m1".into(), text: "Use the other parser.".into(), now: false });
    driven.end_turn_and_checkpoint(claimed());
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
fn a_turn_after_three_without_progress() {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..promise_loop() });
    for iteration in 1..=3 {
        driven.end_turn(finished());
        let checkpoint = checkpoint_of(key(1, 1));
        driven.ok(Input::Checkpointed { turn: key(iteration, 1), checkpoint });
        driven.judge(Verdict::Fail);
    }
    insta::assert_snapshot!(prompt_of(&driven));
}

/// A loop after so many iterations that all have much to tell.
fn after(iterations: u32, session: SessionPolicy) -> Driven {
    let mut driven = Driven::working(LoopSpec {
        session,
        limits: Limits { max_iterations: Some(100), ..Limits::default() },
        gates: vec![gate("cargo test")],
        ..promise_loop()
    });
    for iteration in 1..=iterations {
        let turn = key(iteration, 1);
        driven.end_turn(said(&format!("Made part {iteration}.\nThe rest is still to do.")));
        let file = |n| ChangedFile { path: format!("src/part_{iteration}/file_{n}.rs"), change: "added".into() };
        let files: Vec<_> = (1..=8).map(file).collect();
        let files_changed = files.len() as u64;
        let commit = Some(format!("{iteration:07}{}", "f".repeat(33)));
        driven.ok(Input::Checkpointed {
            turn,
            checkpoint: CheckpointReport { commit, files, files_changed, ..checkpoint_of(turn) },
        });
        driven.judge(Verdict::Fail);
    }
    driven
}

#[test]
// promise: context-6
fn prompt_of_a_resumed_session_does_not_grow_and_that_of_a_fresh_one_is_bounded() {
    let size = |iterations, session| prompt_of(&after(iterations, session)).len();
    let (early, late) = (size(4, SessionPolicy::Resume), size(99, SessionPolicy::Resume));
    assert!(late * 10 <= early * 11, "{early} bytes at iteration 5, {late} at iteration 100");
    let mut driven = after(99, SessionPolicy::Fresh);
    for most in [300, 1_000, 2_000, 4_000] {
        driven.state.spec.context.max_tokens = most;
        let prompt = prompt_of(&driven);
        let (_, block) = prompt.split_once("<task_context>").unwrap();
        let (block, _) = block.split_once("</task_context>").unwrap();
        assert!(block.len() / 4 <= most, "{} tokens of {most}", block.len() / 4);
    }
}

#[test]
fn work_of_a_prompt_does_not_grow_beyond_what_fits() {
    let counted = |iterations| {
        let mut driven = after(iterations, SessionPolicy::Fresh);
        driven.state.spec.context.max_tokens = 500;
        let bytes = std::cell::Cell::new(0);
        let count = |text: &str| {
            bytes.set(bytes.get() + text.len());
            text.len() / 4
        };
        prompt::build(&driven.state, &prompt::Facts::default(), &count);
        bytes.get()
    };
    let (some, many) = (counted(49), counted(99));
    assert!(many * 10 <= some * 11, "{some} bytes counted at iteration 50, {many} at iteration 100");
}

#[test]
fn prompt_within_its_limit_by_its_bytes_counts_no_tokens() {
    let driven = after(4, SessionPolicy::Fresh);
    let prompt = prompt::build(&driven.state, &prompt::Facts::default(), &|text: &str| {
        unreachable!("counted {text}");
    });
    assert!(prompt.contains("### Iteration 1 →") && prompt.contains("### Iteration 4 →"), "{prompt}");
}

#[test]
// promise: context-6
fn fresh_session_after_33_iterations_hears_of_each_and_of_the_newest_in_full() {
    let mut driven = after(33, SessionPolicy::Fresh);
    for record in driven.state.iterations.iter_mut() {
        record.summary = format!("Part {}. {}", record.iteration, "It took many words to say. ".repeat(40));
    }
    let most = 5_000;
    driven.state.spec.context.max_tokens = most;
    let prompt = prompt_of(&driven);
    for iteration in 1..=33 {
        let told = prompt.lines().filter(|line| line.contains(&format!("Iteration {iteration} → commit")));
        assert_eq!(told.count(), 1, "iteration {iteration}: {prompt}");
    }
    let in_full: Vec<u32> = (1..=33).filter(|n| prompt.contains(&format!("### Iteration {n} →"))).collect();
    assert!((10..33).contains(&in_full.len()) && in_full.last() == Some(&33), "{in_full:?}");
    assert!(in_full.windows(2).all(|pair| pair[1] == pair[0] + 1), "the newest: {in_full:?}");
    assert!((most * 9 / 10..=most + 500).contains(&(prompt.len() / 4)), "{} of {most} tokens", prompt.len() / 4);
}

#[test]
// promise: context-6
fn whatever_agents_and_gates_print_a_prompt_is_bounded() {
    let mut driven = Driven::working(LoopSpec { session: SessionPolicy::Fresh, ..with_gates() });
    driven.end_turn_and_checkpoint(said(&"word ".repeat(1_000_000)));
    for index in 0..2 {
        let mut report = driven.gate_report(Verdict::Fail);
        report.output_tail = "line\n".repeat(1_000_000);
        driven.ok(Input::GateEnded {
            gate: windlass_core::machine::GateKey { on: 1_u32.into(), index, attempt: 1 },
            report,
        });
    }
    assert!(prompt_of(&driven).len() < 12_000, "{}", prompt_of(&driven).len());
}

#[test]
// promise: context-7
fn a_goal_that_looks_like_a_template_stays_as_it_was_written() {
    let goal = "Replace {{ name }} and {% raw %}{{ goal }}{% endraw %} {# not this #} <b>&amp;</b> in x.j2";
    for session in [SessionPolicy::Fresh, SessionPolicy::Resume] {
        let mut driven = Driven::working(LoopSpec { goal: goal.into(), session, ..promise_loop() });
        assert!(prompt_of(&driven).contains(goal));
        driven.ok(Input::Steer { id: "m1".into(), text: goal.into(), now: false });
        driven.end_turn_and_checkpoint(said("{{ summary }} {% if %}"));
        let prompt = prompt_of(&driven);
        assert_eq!(prompt.matches(goal).count(), 2, "once as the goal, once as the message: {prompt}");
    }
}

#[test]
fn a_loop_without_a_promise_is_told_to_go_on_and_nothing_else() {
    let mut driven = Driven::working(LoopSpec { done: Done::Promise { promise: None }, ..promise_loop() });
    driven.end_turn_and_checkpoint(finished());
    assert_eq!(prompt_of(&driven), prompt::build_follow_up_prompt("Build the feature", "continue"));
}

#[test]
// promise: context-2
fn the_promise_is_asked_for_on_a_line_of_its_own() {
    let prompt = prompt_of(&Driven::working(promise_loop()));
    let asked = "When everything is done and checked, end your answer with this on a line of its own:";
    assert!(prompt.contains(&format!("{asked}\n{PROMISE}")), "{prompt}");
}
