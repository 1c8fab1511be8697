//! The audited recipe: sections, findings, the audit of the whole, the post-action.

use crate::driven::reviewed::{TWO_SECTIONS, agent, answer, audit as review, audited, block, clean, dirty, ended};
use crate::driven::{Driven, checkpoint_of, gate, interrupted, open};
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::findings::{NewFinding, Severity};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{
    Act, Aim, CheckpointReport, Effect, Event, GateKey, Input, Opener, Opinion, Phase, Refusal, RefusedBecause,
    ReviewEvent, SkippedBecause, Verdict, effects,
};
use windlass_core::prompt::{Facts, build};
use windlass_core::review::SectionSummary;
use windlass_core::spec::{LoopSpec, PostAction, ReviewSpec};
use windlass_core::stop::{End, PauseReason, Status, StopReason};

/// The coder's turn and its commit, up to the reviewer's turn.
fn work(driven: &mut Driven) {
    assert_eq!(driven.turn().role, Role::Coder);
    driven.end_turn(answer("done"));
    driven.checkpoint();
    assert_eq!(driven.state.phase(), Phase::Review);
}

fn seal(driven: &mut Driven, section: u32) -> Vec<Event> {
    assert_eq!(effects(&driven.state), [Effect::Seal { section }]);
    let turn = driven.state.review.as_ref().unwrap().last.as_ref().unwrap().0;
    driven.ok(Input::Sealed { section, checkpoint: checkpoint_of(turn) })
}

#[test]
// promise: plan-1
fn sections_come_in_order_and_the_whole_last() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), review()));
    for section in [1, 2] {
        assert_eq!(driven.state.review.as_ref().unwrap().aim(), Aim::Section { number: section });
        work(&mut driven);
        driven.end_turn(clean());
        seal(&mut driven, section);
    }
    // No coder's turn in between: the audit of the whole follows at once.
    assert_eq!(driven.state.review.as_ref().unwrap().aim(), Aim::Whole);
    assert_eq!(driven.turn(), TurnKey { iteration: 2, role: Role::Auditor, attempt: 2 });
    driven.end_turn(clean());
    assert_eq!(ended(&driven), (End::Completed, StopReason::Completed));
    assert!(driven.state.is_verified());
    assert_eq!(driven.state.claims.made, 1);
}

#[test]
fn a_file_that_is_held_back_is_named_to_the_coder_and_keeps_the_loop_from_its_end() {
    let mut driven = Driven::working(audited(None, review()));
    driven.end_turn(answer("done"));
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    let files = vec!["conf.py (line 1: jwt)".to_owned()];
    let checkpoint = CheckpointReport { held_back: files.clone(), ..checkpoint_of(turn) };
    driven.ok(Input::Checkpointed { turn, checkpoint });
    let events = driven.end_turn(clean());
    assert!(events.contains(&Event::ClaimRefused { iteration: 1, because: RefusedBecause::HeldBack { files } }));
    assert_eq!(driven.turn(), TurnKey { iteration: 2, role: Role::Coder, attempt: 1 });
    let prompt = build(&driven.state, &Facts::default(), &|text| text.len());
    assert!(prompt.contains("- conf.py (line 1: jwt)"), "{prompt}");
}

#[test]
// promise: plan-1
fn a_dirty_section_is_worked_at_again_with_its_findings() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), review()));
    work(&mut driven);
    let events = driven.end_turn(dirty());
    assert!(
        matches!(&events[1], Event::Review(ReviewEvent::FindingWritten { finding, .. }) if finding.section == Some(1))
    );
    assert!(
        matches!(&events[2], Event::Review(ReviewEvent::Reviewed { ruling: Opinion::Dirty { open }, .. }) if open == &["f1"])
    );
    assert_eq!(driven.state.review.as_ref().unwrap().aim(), Aim::Section { number: 1 });
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    work(&mut driven);
    // Saying clean does not make an open bug go away.
    driven.end_turn(clean());
    assert_eq!(driven.turn(), TurnKey::first(3, Role::Coder));
    work(&mut driven);
    driven.end_turn(block(r#"{"verdict": "clean", "resolved": ["f1"], "section_summary": {"done": ["it"]}}"#));
    assert_eq!(driven.state.phase(), Phase::Seal);
}

#[test]
// promise: plan-4
fn without_a_plan_one_audit_is_the_final_one() {
    let mut driven = Driven::working(audited(None, review()));
    assert_eq!(driven.state.review.as_ref().unwrap().aim(), Aim::Whole);
    work(&mut driven);
    driven.end_turn(dirty());
    work(&mut driven);
    driven.end_turn(block(r#"{"verdict": "clean", "resolved": ["f1"]}"#));
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
// promise: plan-3
fn bugs_of_the_whole_are_mended_without_going_back_to_a_section() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), review()));
    for section in [1, 2] {
        work(&mut driven);
        driven.end_turn(clean());
        seal(&mut driven, section);
    }
    driven.end_turn(dirty());
    assert_eq!(driven.state.review.as_ref().unwrap().aim(), Aim::Whole);
    // A restart in the middle of mending goes on mending.
    driven.ok(Input::Stop);
    driven.end_turn(TurnReport::bare(TurnOutcome::Interrupted));
    driven.ok(open(Opener::Restart));
    driven.ok(crate::driven::workspace_opened());
    assert_eq!(driven.turn().role, Role::Coder);
    assert_eq!(driven.state.review.as_ref().unwrap().aim(), Aim::Whole);
    work(&mut driven);
    driven.end_turn(block(r#"{"verdict": "clean", "resolved": ["f1"]}"#));
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
// promise: review-3
fn unreadable_audit_is_asked_for_once_more_and_then_pauses_the_loop_and_names_the_reviewer() {
    for plan in [Some(TWO_SECTIONS), None] {
        let mut driven = Driven::working(audited(plan, review()));
        work(&mut driven);
        let turn = driven.turn();
        driven.ok(Input::SessionSeen { turn, session: "s-auditor".into() });
        driven.end_turn(answer("looks good to me"));
        assert_eq!(driven.turn(), turn.next_attempt(), "asked again");
        let session = driven.state.turn().unwrap().session.clone();
        assert_eq!(session, windlass_core::machine::SessionUse::Resume { session: "s-auditor".into() });
        driven.end_turn(answer(""));
        let Status::Paused { why: PauseReason::Reviewer { role, agent, .. } } = &driven.state.status() else {
            panic!("{:?}", driven.state.status())
        };
        assert_eq!((*role, agent.as_str()), (Role::Auditor, "auditor"));
        // Opened again, the auditor is asked anew.
        driven.ok(open(Opener::Resume));
        driven.ok(crate::driven::workspace_opened());
        assert_eq!(driven.turn().role, Role::Auditor);
    }
}

#[test]
fn a_clean_section_needs_a_summary_and_a_dirty_one_a_finding() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), review()));
    work(&mut driven);
    let events = driven.end_turn(block(r#"{"verdict": "clean"}"#));
    assert!(
        matches!(&events[1], Event::Review(ReviewEvent::AnswerUnreadable { why, .. }) if why.contains("summary")),
        "{events:?}"
    );
    let events = driven.end_turn(block(r#"{"verdict": "dirty"}"#));
    assert!(
        matches!(&events[1], Event::Review(ReviewEvent::AnswerUnreadable { why, .. }) if why.contains("no blocking finding")),
        "{events:?}"
    );
}

#[test]
// promise: review-2
fn nothing_changed_is_not_reviewed_and_so_not_approved() {
    let mut driven = Driven::working(audited(None, review()));
    driven.end_turn(answer("all done, nothing to do"));
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    let checkpoint = CheckpointReport {
        commit: Some("base".into()),
        tree: "tree-base".into(),
        files: Vec::new(),
        files_changed: 0,
        ..checkpoint_of(turn)
    };
    let events = driven.ok(Input::Checkpointed { turn, checkpoint });
    assert!(
        events.contains(&ReviewEvent::ReviewSkipped { iteration: 1, because: SkippedBecause::NothingChanged }.into())
    );
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
}

#[test]
fn a_gate_that_broke_keeps_the_reviewer_away_and_one_that_was_broken_only_from_the_end() {
    let mut spec = audited(Some(TWO_SECTIONS), review());
    spec.gates = vec![gate("cargo test")];
    let mut driven = Driven::working(spec);
    driven.end_turn(answer("done"));
    driven.checkpoint();
    driven.judge(Verdict::Fail);
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder), "it passed before, or nobody knows");
    assert!(matches!(driven.state.review.as_ref().unwrap().skipped, Some(SkippedBecause::Gates { .. })));

    let mut spec = audited(Some(TWO_SECTIONS), review());
    spec.gates = vec![gate("cargo test")];
    spec.workspace.baseline = true;
    let mut driven = Driven::created(spec);
    driven.start();
    driven.ok(crate::driven::workspace_opened());
    for attempt in [1, 2] {
        let report = driven.gate_report(Verdict::Fail);
        driven.ok(Input::GateEnded { gate: GateKey { on: 0_u32.into(), index: 0, attempt }, report });
    }
    for section in [1, 2] {
        driven.end_turn(answer("done"));
        driven.checkpoint();
        driven.judge(Verdict::Fail);
        assert_eq!(driven.turn().role, Role::Auditor, "it failed on the base already");
        driven.end_turn(clean());
        seal(&mut driven, section);
    }
    assert_eq!(driven.state.phase(), Phase::Gates);
    driven.judge(Verdict::Fail);
    assert_eq!(driven.turn(), TurnKey::first(3, Role::Coder), "in the end it has to pass");
    driven.end_turn(answer("mended"));
    driven.checkpoint();
    driven.judge(Verdict::Pass);
    assert_eq!(driven.turn().role, Role::Auditor);
    driven.end_turn(clean());
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
// promise: findings-3
fn what_a_reviewer_does_through_tools_counts_while_its_turn_runs_and_only_its_own() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), review()));
    let finding = NewFinding {
        file: "a.rs".into(),
        line: Some(3),
        severity: Severity::Bug,
        description: "wrong".into(),
        scenario: None,
        section: None,
    };
    let write = Act::WriteFinding { finding };
    let coder = driven.turn();
    assert_eq!(
        driven.refused(Input::Acted { turn: coder, act: write.clone() }),
        Refusal::NotYourRole { role: Role::Coder }
    );
    work(&mut driven);
    let auditor = driven.turn();
    assert_eq!(driven.refused(Input::Acted { turn: coder, act: write.clone() }), Refusal::Stale);
    driven.ok(Input::Acted { turn: auditor, act: write.clone() });
    assert!(matches!(driven.refused(Input::Acted { turn: auditor, act: write }), Refusal::Finding(_)));
    driven.ok(Input::Acted { turn: auditor, act: Act::Say { verdict: Opinion::Dirty { open: Vec::new() } } });
    driven.end_turn(answer("I wrote it down."));
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    work(&mut driven);
    let auditor = driven.turn();
    driven.ok(Input::Acted { turn: auditor, act: Act::ResolveFinding { id: "a.rs:3".into() } });
    let summary = Some(SectionSummary { done: vec!["it".into()], ..SectionSummary::default() });
    driven.ok(Input::Acted { turn: auditor, act: Act::Say { verdict: Opinion::Clean { summary } } });
    driven.end_turn(answer(""));
    assert_eq!(driven.state.phase(), Phase::Seal);
}

#[test]
fn a_verdict_of_a_turn_that_was_cut_off_does_not_count() {
    let mut driven = Driven::working(audited(None, review()));
    work(&mut driven);
    let auditor = driven.turn();
    driven.ok(Input::Acted { turn: auditor, act: Act::Say { verdict: Opinion::Clean { summary: None } } });
    driven.end_turn(TurnReport::bare(TurnOutcome::CutOff));
    driven.ok(crate::driven::workspace_opened());
    assert_eq!(driven.turn(), auditor.next_attempt());
    let events = driven.end_turn(answer("hm"));
    assert!(matches!(&events[1], Event::Review(ReviewEvent::AnswerUnreadable { .. })), "{events:?}");
}

#[test]
// promise: review-7
fn a_question_is_put_off_and_kept() {
    let mut driven = Driven::working(audited(None, review()));
    let turn = driven.turn();
    driven.ok(Input::Acted { turn, act: Act::Ask { question: "Which database?".into(), default: None } });
    assert_eq!(driven.state.questions.len(), 1);
    assert_eq!(driven.turn(), turn, "nobody waits");
    driven.end_turn(answer("done"));
    driven.checkpoint();
    let turn = driven.turn();
    driven.ok(Input::Acted { turn, act: Act::Ask { question: "Which test?".into(), default: None } });
    assert_eq!(driven.state.review.as_ref().unwrap().questions.len(), 1, "of the auditor");
}

fn with_post_action() -> LoopSpec {
    let post_action = Some(PostAction { prompt: Some("write notes".into()), skill: None });
    LoopSpec { gates: vec![gate("cargo test")], ..audited(None, ReviewSpec { post_action, ..review() }) }
}

/// Up to the post-action's turn.
fn finishing() -> Driven {
    let mut driven = Driven::working(with_post_action());
    driven.end_turn(answer("done"));
    driven.checkpoint();
    driven.judge(Verdict::Pass);
    driven.end_turn(clean());
    assert_eq!(driven.turn(), TurnKey::first(1, Role::Finisher));
    driven
}

#[test]
// promise: plan-6
fn the_post_actions_last_message_is_the_summary() {
    let mut driven = finishing();
    driven.end_turn(answer("All is documented."));
    driven.checkpoint();
    driven.judge(Verdict::Pass);
    assert_eq!(ended(&driven).1, StopReason::Completed);
    let record = driven.state.review.as_ref().unwrap().post_action.as_ref().unwrap();
    assert_eq!(record.summary, "All is documented.");
    assert_eq!(driven.state.iterations.len(), 1, "it is no iteration");
}

#[test]
fn a_persons_approval_keeps_the_summary_and_a_rejection_asks_for_another() {
    let mut spec = with_post_action();
    spec.review.as_mut().unwrap().human_review = true;
    let mut driven = Driven::working(spec);
    for summary in ["first", "second"] {
        driven.end_turn(answer("done"));
        driven.checkpoint();
        driven.judge(Verdict::Pass);
        driven.end_turn(clean());
        driven.end_turn(answer(summary));
        driven.checkpoint();
        driven.judge(Verdict::Pass);
        assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Review });
        if summary == "first" {
            driven.ok(Input::Reject { reason: "no".into() });
            driven.ok(crate::driven::workspace_opened());
        }
    }
    driven.ok(Input::Approve { reason: None });
    assert_eq!(driven.state.review.as_ref().unwrap().post_action.as_ref().unwrap().summary, "second");
}

#[test]
// promise: plan-7
fn a_post_action_that_fails_costs_nothing() {
    let failed = TurnOutcome::Failed { kind: ErrorKind::Other, message: "no".into() };
    for outcome in [failed, TurnOutcome::NotStarted { message: "no".into(), missing: true }] {
        let mut driven = finishing();
        driven.end_turn(TurnReport::bare(outcome));
        driven.checkpoint();
        if driven.state.phase() == Phase::Gates {
            driven.judge(Verdict::Pass);
        }
        assert_eq!(ended(&driven).1, StopReason::Completed);
        assert_eq!(driven.state.review.as_ref().unwrap().post_action.as_ref().unwrap().summary, "");
    }
}

#[test]
fn after_a_post_action_that_failed_a_rejection_goes_to_the_coder() {
    for outcome in [
        TurnOutcome::Failed { kind: ErrorKind::ContextOverflow, message: "no".into() },
        TurnOutcome::NotStarted { message: "no".into(), missing: true },
    ] {
        let mut driven = finishing();
        driven.state.spec.review.as_mut().unwrap().human_review = true;
        driven.end_turn(TurnReport::bare(outcome));
        driven.checkpoint();
        if driven.state.phase() == Phase::Gates {
            driven.judge(Verdict::Pass);
        }
        driven.ok(Input::Reject { reason: "no".into() });
        driven.ok(crate::driven::workspace_opened());
        assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    }
}

#[test]
fn a_post_action_that_breaks_a_gate_is_taken_back() {
    let mut driven = finishing();
    let agreed = driven.state.head_commit().unwrap().to_owned();
    driven.end_turn(answer("I improved it."));
    driven.checkpoint();
    driven.judge(Verdict::Fail);
    assert_eq!(effects(&driven.state), [Effect::Undo { commit: agreed.clone() }]);
    driven.ok(Input::Undone { commit: agreed.clone(), tree: "t".into(), saved: Some("refs/x".into()) });
    assert_eq!(ended(&driven).1, StopReason::Completed);
    assert_eq!(driven.state.head_commit(), Some(agreed.as_str()));
}

#[test]
fn a_stop_in_the_post_action_is_a_stop_and_opened_again_the_loop_is_completed() {
    let mut driven = finishing();
    driven.ok(Input::Stop);
    driven.end_turn(answer("All is documented."));
    driven.checkpoint();
    assert_eq!(ended(&driven), (End::Cancelled, StopReason::Cancelled));
    driven.ok(open(Opener::Resume));
    driven.judge(Verdict::Pass);
    assert_eq!(ended(&driven).1, StopReason::Completed);
    assert_eq!(driven.state.iterations.len(), 1);
}

#[test]
fn a_stop_while_the_post_action_is_taken_back_is_a_stop() {
    let mut driven = finishing();
    let agreed = driven.state.head_commit().unwrap().to_owned();
    let undone = || Input::Undone { commit: agreed.clone(), tree: "t".into(), saved: None };
    driven.end_turn(answer("I improved it."));
    driven.checkpoint();
    driven.judge(Verdict::Fail);
    driven.ok(Input::Stop);
    driven.ok(undone());
    assert_eq!(ended(&driven), (End::Cancelled, StopReason::Cancelled));
    driven.ok(open(Opener::Resume));
    driven.ok(undone());
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
fn a_stop_after_the_last_section_leads_to_the_audit_of_the_whole() {
    let mut spec = audited(Some(TWO_SECTIONS), review());
    spec.limits.max_iterations = Some(2);
    let mut driven = Driven::working(spec);
    for section in [1, 2] {
        work(&mut driven);
        driven.end_turn(clean());
        if section == 2 {
            driven.ok(Input::Stop);
        }
        seal(&mut driven, section);
    }
    assert_eq!(ended(&driven).0, End::Cancelled);
    driven.ok(open(Opener::Resume));
    assert_eq!(driven.turn().role, Role::Auditor, "no iteration is needed, and none is left");
    driven.end_turn(clean());
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
fn what_was_resolved_already_may_be_said_again() {
    let mut driven = Driven::working(audited(None, review()));
    work(&mut driven);
    driven.end_turn(dirty());
    work(&mut driven);
    driven.end_turn(block(r#"{"verdict": "clean", "resolved": ["f1", "f99"]}"#));
    assert_eq!(driven.turn().attempt, 2, "nobody knows f99");
    driven.end_turn(block(r#"{"verdict": "clean", "resolved": ["f1"]}"#));
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
// promise: review-8
fn a_person_has_the_last_word_where_that_is_asked_for() {
    let mut driven = Driven::working(audited(None, ReviewSpec { human_review: true, ..review() }));
    work(&mut driven);
    driven.end_turn(clean());
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Review });
    assert_eq!(driven.state.status().name(), "awaiting_review");
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::AwaitsRuling);
    driven.ok(Input::Reject { reason: "the empty case".into() });
    driven.ok(crate::driven::workspace_opened());
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    assert_eq!(driven.state.review.as_ref().unwrap().direction.as_deref(), Some("the empty case"));
    work(&mut driven);
    driven.end_turn(clean());
    driven.ok(Input::Approve { reason: None });
    assert_eq!(ended(&driven).1, StopReason::Completed);
    assert_eq!(driven.refused(Input::Approve { reason: None }), Refusal::Ended { end: End::Completed });
}

#[test]
fn a_loop_that_is_stopped_while_it_asks_a_person_asks_again() {
    let mut spec = with_post_action();
    spec.review.as_mut().unwrap().human_review = true;
    let mut driven = Driven::working(spec);
    driven.end_turn(answer("done"));
    driven.checkpoint();
    driven.judge(Verdict::Pass);
    driven.end_turn(clean());
    driven.end_turn(answer("notes"));
    driven.checkpoint();
    driven.judge(Verdict::Pass);
    driven.ok(Input::Stop);
    driven.ok(open(Opener::Resume));
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Review }, "no turn is worked for nothing");
    driven.ok(Input::Approve { reason: None });
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
fn a_pause_before_the_review_comes_back_to_the_review() {
    let mut driven = Driven::working(audited(None, review()));
    driven.end_turn(answer("done"));
    driven.ok(Input::Pause { now: false });
    driven.checkpoint();
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Person });
    driven.ok(open(Opener::Resume));
    driven.ok(crate::driven::workspace_opened());
    assert_eq!(driven.turn(), TurnKey::first(1, Role::Auditor));
}

#[test]
// promise: review-4
fn the_reviewers_failures_are_retried_and_then_a_stand_in_takes_over() {
    let fallbacks = vec![agent("other")];
    let mut driven = Driven::working(audited(None, ReviewSpec { fallbacks, ..review() }));
    work(&mut driven);
    let failed = || TurnReport::bare(TurnOutcome::Failed { kind: ErrorKind::Other, message: "500".into() });
    for _ in 0..3 {
        driven.end_turn(failed());
        let Status::Waiting { until, .. } = driven.state.status() else { panic!("{:?}", driven.state.status()) };
        driven.now = until;
        driven.ok(Input::TimerFired { timer: windlass_core::machine::TimerKind::Wait });
        driven.ok(crate::driven::workspace_opened());
        assert_eq!(driven.turn().role, Role::Auditor);
    }
    let events = driven.end_turn(failed());
    assert!(events.iter().any(|event| matches!(event, Event::AgentChanged { to, .. } if to == "other")));
    driven.ok(crate::driven::workspace_opened());
    assert_eq!(driven.state.agent(Role::Auditor).name, "other");
    driven.end_turn(clean());
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
fn the_agent_can_write_the_plan_first() {
    let mut driven = Driven::working(audited(None, ReviewSpec { planning: true, ..review() }));
    assert_eq!(driven.turn(), TurnKey { iteration: 0, role: Role::Planner, attempt: 1 });
    let asked_again = |said: &str| {
        let mut driven = Driven::working(audited(None, ReviewSpec { planning: true, ..review() }));
        driven.end_turn(answer(said));
        assert_eq!(driven.turn(), TurnKey { iteration: 0, role: Role::Planner, attempt: 2 }, "{said}");
        driven
    };
    asked_again("Sorry, I cannot plan this.");
    asked_again("");
    driven = asked_again("<!-- windlass-plan:start -->\n<!-- windlass-plan:end -->");
    driven.end_turn(answer(TWO_SECTIONS));
    assert_eq!(driven.state.review.as_ref().unwrap().section_count(), 2);
    assert_eq!(driven.turn(), TurnKey::first(1, Role::Coder));
    assert_eq!(driven.state.iteration, 1);
}

#[test]
fn steering_that_nobody_saw_keeps_a_clean_loop_open() {
    let mut driven = Driven::working(audited(None, review()));
    work(&mut driven);
    driven.ok(Input::Steer { id: "m1".into(), text: "also the docs".into(), now: false });
    driven.end_turn(clean());
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    assert_eq!(driven.state.claims.refused, 1);
}

#[test]
fn a_plan_of_one_section_reaches_the_coder_and_the_auditor_and_a_goal_is_told_once() {
    let told = |driven: &Driven| {
        let facts = windlass_core::prompt::Facts::default();
        windlass_core::prompt::build(&driven.state, &facts, &|text: &str| text.len() / 4)
    };
    for plan in ["Build the paddle wheel.", "Why.\n\n<!-- windlass-section -->\n## Only\nBuild the paddle wheel.\n"] {
        let mut driven = Driven::working(audited(Some(plan), review()));
        assert!(told(&driven).contains("Build the paddle wheel."), "{}", told(&driven));
        work(&mut driven);
        assert!(told(&driven).contains("Build the paddle wheel."), "{}", told(&driven));
    }
    let driven = Driven::working(audited(None, review()));
    assert_eq!(told(&driven).matches("Build the feature").count(), 1, "{}", told(&driven));
}

#[test]
// promise: work-14
fn rollback_brings_back_findings_sections_and_adjustments_of_that_point() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), review()));
    work(&mut driven);
    driven.end_turn(dirty());
    work(&mut driven);
    let resolved = r#"{"verdict": "clean", "resolved": ["f1"], "section_summary": {"done": ["it"]}}"#;
    driven.end_turn(block(resolved));
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    driven.ok(Input::Sealed { section: 1, checkpoint: checkpoint_of(turn) });
    assert_eq!(driven.state.review.as_ref().unwrap().section_number(), Some(2));
    driven.ok(Input::Pause { now: true });
    driven.end_turn(interrupted());
    let back_to = |to_iteration, commit: &str| Input::RolledBack {
        to_iteration,
        commit: commit.into(),
        tree: format!("tree of {commit}"),
        saved: None,
    };
    driven.ok(back_to(1, "c1"));
    let review = driven.state.review.as_ref().unwrap();
    assert_eq!(review.findings().open().count(), 1, "its fix is undone");
    assert_eq!((review.section_number(), review.finished().len()), (Some(1), 0));
    driven.ok(back_to(0, "c0"));
    assert_eq!(driven.state.review.as_ref().unwrap().findings().all().len(), 0);
    driven.ok(back_to(2, "c2"));
    let review = driven.state.review.as_ref().unwrap();
    assert_eq!(review.findings().open().count(), 0);
    assert_eq!((review.section_number(), review.finished().len()), (Some(2), 1));
}

#[test]
fn message_during_the_post_action_is_delivered_before_the_loop_completes() {
    let post_action = Some(PostAction { prompt: Some("tidy up".into()), skill: None });
    let mut driven = Driven::working(audited(None, ReviewSpec { post_action, ..review() }));
    work(&mut driven);
    driven.end_turn(clean());
    assert_eq!(driven.turn().role, Role::Finisher);
    driven.ok(Input::Steer { id: "m1".into(), text: "also the docs".into(), now: false });
    driven.end_turn(answer("tidied"));
    driven.checkpoint();
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    assert_eq!(driven.state.undelivered_steering().count(), 0);
    work(&mut driven);
    driven.end_turn(clean());
    assert_eq!(driven.turn().role, Role::Finisher, "the post-action follows what is accepted now");
}
