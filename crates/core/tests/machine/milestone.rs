//! The milestone recipe: features, the acceptor's verdicts, rejections.

use crate::driven::reviewed::{
    MILESTONE, accepted, agent, all_features, answer, develop, ended, feature, milestone, prompt_of,
    reject_three_times, rejected, review, round, verdict,
};
use crate::driven::{
    Driven, MINUTE, checkpoint_of, costing, cut_off, failed, gate, interrupted, names, open, workspace_opened,
};
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{
    Act, Aim, CheckpointReport, Effect, Event, Input, Opener, Opinion, Phase, Raise, Refusal, ReviewEvent, SessionUse,
    SkippedBecause, TimerKind, Verdict, effects, replay,
};
use windlass_core::milestone::Milestone;
use windlass_core::prompt::{self, Changes, Facts};
use windlass_core::review::Report;
use windlass_core::spec::{CommitPolicy, Limits, LoopSpec, SessionPolicy, TimeLimits};
use windlass_core::stop::{End, PauseReason, Status, StopReason};
use windlass_core::trouble::{Trouble, TroubleKind};

fn at_most(max_iterations: u32) -> LoopSpec {
    LoopSpec { limits: Limits { max_iterations: Some(max_iterations), ..Limits::default() }, ..milestone() }
}

fn untouched(driven: &Driven) -> CheckpointReport {
    let workspace = driven.state.workspace.as_ref().unwrap();
    CheckpointReport {
        commit: workspace.head_commit.clone(),
        tree: workspace.tree.clone().unwrap(),
        files: Vec::new(),
        files_changed: 0,
        created: false,
        ..checkpoint_of(driven.state.last_turn.as_ref().unwrap().key)
    }
}

#[test]
// promise: milestones-3
fn the_acceptor_sees_the_feature_its_criterion_the_report_and_the_changes() {
    let mut driven = Driven::working(milestone());
    develop(&mut driven, TurnReport { answer: Some("I wrote find".into()), ..feature("f2", None) });
    let changes = Changes { diff: "+fn find()".into(), log: "abc find".into(), ..Changes::default() };
    let facts = Facts { changes: Some(changes), tools: false };
    let prompt = prompt::build(&driven.state, &facts, &|text| text.len());
    for told in ["F2: search by author", "`find --author x` works", "I wrote find", "+fn find()", "abc find"] {
        assert!(prompt.contains(told), "{told} is missing:\n{prompt}");
    }
    assert!(!prompt.contains("an empty query is an error"), "the criteria of the whole come last");
    driven.end_turn(accepted());
    develop(&mut driven, all_features());
    assert!(prompt_of(&driven).contains("an empty query is an error"));
}

#[test]
// promise: milestones-5
fn the_reason_of_a_rejection_reaches_the_developer_and_is_gone_once_accepted() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), rejected("the empty query panics"));
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("Your last round was rejected:\n\nthe empty query panics"), "{prompt}");
    round(&mut driven, feature("F1", None), accepted());
    let prompt = prompt_of(&driven);
    assert!(!prompt.contains("the empty query panics") && !prompt.contains("rejected"), "{prompt}");
    assert!(prompt.contains("F1: a feature"), "what is accepted is told: {prompt}");
}

#[test]
// promise: milestones-6
fn three_rejections_in_a_row_pause_and_an_acceptance_resets_them() {
    let mut driven = Driven::working(milestone());
    for reason in ["one", "two"] {
        round(&mut driven, feature("F1", None), rejected(reason));
    }
    assert_eq!(review(&driven).rejections, 2);
    round(&mut driven, feature("F1", None), accepted());
    assert_eq!((review(&driven).rejections, review(&driven).reasons.len()), (0, 0));
    for reason in ["three", "four"] {
        round(&mut driven, feature("F2", None), rejected(reason));
    }
    assert_eq!(driven.state.status(), Status::Running);
    round(&mut driven, feature("F2", None), rejected("five"));
    let reasons = ["three", "four", "five"].map(str::to_owned).to_vec();
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Rejections { reasons } });
    assert_eq!(effects(&driven.state), []);
}

#[test]
// promise: milestones-7
fn only_the_acceptance_of_the_whole_completes() {
    let mut driven = Driven::working(milestone());
    for id in ["F1", "F2"] {
        round(&mut driven, feature(id, None), accepted());
        assert_eq!(driven.turn().role, Role::Coder, "every feature is accepted, and still it goes on");
    }
    develop(&mut driven, all_features());
    assert_eq!(review(&driven).aim(), Aim::Whole);
    assert_eq!(driven.state.status(), Status::Running);
    driven.end_turn(accepted());
    assert_eq!(ended(&driven), (End::Completed, StopReason::Completed));
    assert!(driven.state.is_verified());
    assert_eq!(review(&driven).agreed.as_ref().unwrap().commit.as_deref(), driven.state.head_commit());
    let ids: Vec<_> = review(&driven).accepted().iter().map(|one| one.id.clone().unwrap()).collect();
    assert_eq!(ids, ["F1", "F2"]);
}

#[test]
// promise: milestones-7
fn a_rejection_of_the_whole_is_fed_back_and_not_counted() {
    let mut driven = Driven::working(milestone());
    for number in 1..=5 {
        let missing = format!("criterion {number} is not met");
        round(&mut driven, all_features(), rejected(&missing));
        assert_eq!(driven.state.status(), Status::Running);
        assert_eq!(review(&driven).rejections, 0);
        let prompt = prompt_of(&driven);
        assert!(prompt.contains(&format!("The milestone as a whole is not accepted yet:\n\n{missing}")), "{prompt}");
    }
    round(&mut driven, feature("F1", None), accepted());
    assert!(!prompt_of(&driven).contains("criterion 5"));
}

#[test]
fn the_last_word_is_fed_back_whatever_was_rejected_before() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), rejected("no tests"));
    round(&mut driven, all_features(), rejected("the empty query panics"));
    assert_eq!(review(&driven).rejections, 1, "the feature's rejection still stands");
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("the empty query panics") && !prompt.contains("no tests"), "{prompt}");
    round(&mut driven, feature("F1", None), rejected("no tests either"));
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("Your last round was rejected:\n\nno tests either"), "{prompt}");
}

#[test]
// promise: milestones-8
fn claims_that_are_never_accepted_end_at_the_limit_of_rounds() {
    let mut driven = Driven::working(at_most(4));
    for _ in 0..4 {
        round(&mut driven, all_features(), rejected("not all of it"));
    }
    let limit = StopReason::MaxIterations { max: 4 };
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Limit { limit: limit.clone() } });
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::LimitStands { limit });
    driven.ok(Input::Open { by: Opener::Resume, raise: Raise { max_iterations: 1, ..Raise::default() } });
    assert_eq!(driven.turn(), TurnKey::first(5, Role::Coder));
}

#[test]
// promise: milestones-9
fn a_turn_of_more_than_ten_minutes_is_a_rejection_with_its_reason() {
    let time = TimeLimits { turn_timeout_ms: 10 * MINUTE, ..milestone().time };
    let mut driven = Driven::working(LoopSpec { time, ..milestone() });
    let timer = |driven: &Driven| Input::TimerFired { timer: TimerKind::TurnTimeout(driven.turn()) };
    driven.pass(10 * MINUTE - 1);
    assert_eq!(driven.refused(timer(&driven)), Refusal::Stale);
    for number in 1..=3 {
        driven.pass(10 * MINUTE);
        driven.ok(timer(&driven));
        driven.end_turn(interrupted());
        driven.checkpoint();
        assert_eq!(review(&driven).rejections, number);
        let Status::Waiting { until, .. } = driven.state.status() else { break };
        driven.now = until;
        driven.ok(Input::TimerFired { timer: TimerKind::Wait });
        let prompt = prompt_of(&driven);
        assert!(prompt.contains("the turn failed"), "the developer is told: {prompt}");
    }
    let Status::Paused { why: PauseReason::Rejections { reasons } } = &driven.state.status() else {
        panic!("{:?}", driven.state.status());
    };
    assert_eq!(reasons.len(), 3);
}

#[test]
fn acceptor_that_takes_too_long_is_tried_again_on_the_same_commit() {
    let mut driven = Driven::working(milestone());
    develop(&mut driven, feature("F1", None));
    driven.pass(driven.state.spec.time.turn_timeout_ms);
    driven.ok(Input::TimerFired { timer: TimerKind::TurnTimeout(driven.turn()) });
    driven.end_turn(interrupted());
    assert_eq!(review(&driven).rejections, 0);
    wait(&mut driven);
    assert_eq!(driven.turn(), TurnKey { iteration: 1, role: Role::Acceptor, attempt: 2 });
}

#[test]
// promise: bounds-10
fn resume_is_refused_if_the_time_was_up_before_the_set_up_ran() {
    let mut spec = milestone();
    spec.workspace.setup = vec!["npm ci".to_owned()];
    spec.limits.duration_ms = Some(MINUTE);
    let mut driven = Driven::created(spec);
    driven.start();
    driven.ok(workspace_opened());
    let trouble = Trouble { kind: TroubleKind::Disk, message: "full".to_owned() };
    driven.ok(Input::NotTried { effect: Effect::SetUpWorkspace, trouble });
    driven.pass(MINUTE);
    driven.ok(Input::TimerFired { timer: TimerKind::Duration });
    let limit = StopReason::Duration { limit_ms: MINUTE };
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Limit { limit: limit.clone() } });
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::LimitStands { limit });
    let raise = Raise { duration_ms: MINUTE, ..Raise::default() };
    driven.ok(Input::Open { by: Opener::Resume, raise });
    assert!(driven.effects().iter().any(|effect| matches!(effect, Effect::SetUpWorkspace)));
}

#[test]
// promise: bounds-10
fn resume_is_refused_if_the_time_was_up_before_the_gates_ran() {
    let mut spec = LoopSpec { gates: vec![gate("cargo test")], ..milestone() };
    spec.limits.duration_ms = Some(MINUTE);
    let mut driven = Driven::working(spec);
    driven.end_turn_and_checkpoint(feature("F1", None));
    driven.pass(MINUTE);
    driven.ok(Input::TimerFired { timer: TimerKind::Duration });
    let limit = StopReason::Duration { limit_ms: MINUTE };
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::LimitStands { limit });
    driven.ok(Input::Open { by: Opener::Resume, raise: Raise { duration_ms: MINUTE, ..Raise::default() } });
    driven.judge(Verdict::Pass);
}

#[test]
// promise: bounds-10
fn the_limit_of_rounds_pauses_for_a_person() {
    let mut driven = Driven::working(at_most(2));
    round(&mut driven, feature("F1", None), accepted());
    round(&mut driven, feature("F2", None), accepted());
    let limit = StopReason::MaxIterations { max: 2 };
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Limit { limit } });
    assert_eq!(milestone().limits.max_iterations, Some(20));
}

#[test]
// promise: recovery-7
fn a_loop_that_waits_for_a_person_is_not_gone_on_with_by_a_driver() {
    let mut driven = reject_three_times();
    assert_eq!(driven.refused(Input::Attach { alive_until: None }), Refusal::NotUnderWay);
    assert_eq!(driven.refused(Input::TimerFired { timer: TimerKind::Wait }), Refusal::Stale);
    assert_eq!(driven.refused(workspace_opened()), Refusal::Stale);
    assert_eq!(effects(&replay(driven.journal.clone()).unwrap()), []);
}

#[test]
// promise: milestones-6
fn the_count_of_rejections_is_in_the_journal() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), rejected("one"));
    round(&mut driven, feature("F1", None), rejected("two"));
    driven.state = replay(driven.journal.clone()).unwrap();
    driven.ok(Input::Attach { alive_until: None });
    round(&mut driven, feature("F1", None), rejected("three"));
    assert!(matches!(driven.state.status(), Status::Paused { why: PauseReason::Rejections { .. } }));
}

#[test]
fn a_turn_that_was_cut_off_goes_on_and_is_told_to_look_at_the_tree() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), accepted());
    let turn = driven.turn();
    driven.ok(Input::SessionSeen { turn, session: "dev".into() });
    driven.ok(Input::Attach { alive_until: None });
    driven.end_turn(cut_off());
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), turn.next_attempt());
    assert_eq!(driven.state.turn().unwrap().session, SessionUse::Resume { session: "dev".into() });
    let prompt = prompt_of(&driven);
    for told in ["The previous turn was interrupted", "git status", "F1: a feature", "Round 2"] {
        assert!(prompt.contains(told), "{told} is missing: {prompt}");
    }
}

#[test]
fn a_restart_keeps_what_is_accepted_and_forgets_rejections_and_sessions() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), accepted());
    develop(&mut driven, feature("F2", None));
    let turn = driven.turn();
    driven.ok(Input::SessionSeen { turn, session: "acc".into() });
    driven.end_turn(rejected("one"));
    driven.ok(Input::Stop);
    driven.end_turn(interrupted());
    assert_eq!(driven.state.status(), Status::Ended { end: End::Cancelled });
    driven.ok(open(Opener::Restart));
    driven.ok(workspace_opened());
    assert_eq!(review(&driven).rejections, 0);
    assert_eq!(review(&driven).accepted().len(), 1);
    assert!(driven.state.sessions.is_empty());
    assert!(prompt_of(&driven).contains("Your last round was rejected:\n\none"), "it is not mended yet");
}

#[test]
// promise: sessions-3
fn each_role_keeps_a_session_of_its_own() {
    assert_eq!(milestone().session, SessionPolicy::KeepAlive);
    let mut driven = Driven::working(milestone());
    let with = |session: &str, report: TurnReport| TurnReport { session: Some(session.into()), ..report };
    develop(&mut driven, with("dev", feature("F1", None)));
    assert_eq!(driven.state.turn().unwrap().session, SessionUse::Fresh);
    driven.end_turn(with("acc", accepted()));
    assert_eq!(driven.state.turn().unwrap().session, SessionUse::Resume { session: "dev".into() });
    develop(&mut driven, with("dev", feature("F2", None)));
    assert_eq!(driven.state.turn().unwrap().session, SessionUse::Resume { session: "acc".into() });
}

#[test]
fn unclear_verdict_is_asked_for_once_more_and_then_pauses_the_loop() {
    let unclear = ["", "looks fine", "ACCEPTED, but not quite", "ACCEPTED\nREJECTED: both", "```\nlet x = 1;\n```"];
    for words in unclear {
        let mut driven = Driven::working(milestone());
        develop(&mut driven, feature("F1", None));
        let turn = driven.turn();
        driven.ok(Input::SessionSeen { turn, session: "acc".into() });
        let events = driven.end_turn(verdict(words));
        assert!(matches!(&events[1], Event::Review(ReviewEvent::AnswerUnreadable { .. })), "{words:?}: {events:?}");
        assert_eq!(driven.turn(), turn.next_attempt());
        let prompt = prompt_of(&driven);
        assert!(prompt.contains("Your last answer was invalid") && !prompt.contains("What changed"), "{prompt}");
        assert_eq!(review(&driven).rejections, 0);
        driven.end_turn(verdict(words));
        assert_eq!(review(&driven).rejections, 0, "{words:?}");
        assert!(matches!(driven.state.status(), Status::Paused { why: PauseReason::Reviewer { .. } }), "{words:?}");
    }
    let mut driven = Driven::working(milestone());
    develop(&mut driven, feature("F1", None));
    driven.end_turn(verdict("hm"));
    driven.end_turn(accepted());
    assert_eq!(review(&driven).accepted().len(), 1, "the second answer counts");
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), verdict("REJECTED: no tests"));
    assert_eq!(review(&driven).rejections, 1);
}

/// Lets a wait end and the workspace open.
#[track_caller]
fn wait(driven: &mut Driven) {
    let Status::Waiting { until, .. } = driven.state.status() else { panic!("{:?}", driven.state.status()) };
    driven.now = until;
    driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    driven.ok(workspace_opened());
}

#[test]
// promise: review-4
fn acceptor_that_fails_is_tried_again_then_replaced_then_named_to_a_person_and_never_rejects() {
    let mut spec = milestone();
    spec.review.as_mut().unwrap().fallbacks = vec![agent("second")];
    for report in [feature("F1", None), all_features()] {
        let mut driven = Driven::working(spec.clone());
        develop(&mut driven, report);
        let head = driven.state.head_commit().map(str::to_owned);
        for _ in 0..2 {
            driven.end_turn(failed(ErrorKind::Other));
            wait(&mut driven);
        }
        driven.end_turn(failed(ErrorKind::Other));
        driven.ok(workspace_opened());
        assert_eq!(driven.state.agent(Role::Acceptor).name, "second");
        for _ in 0..2 {
            driven.end_turn(failed(ErrorKind::Other));
            wait(&mut driven);
        }
        driven.end_turn(failed(ErrorKind::Other));
        let Status::Paused { why: PauseReason::Reviewer { role: Role::Acceptor, agent, message } } =
            driven.state.status()
        else {
            panic!("{:?}", driven.state.status())
        };
        assert_eq!((agent.as_str(), message.as_str()), ("second", "oops"));
        assert_eq!((review(&driven).rejections, driven.state.iteration), (0, 1));
        assert_eq!(driven.state.head_commit(), head.as_deref(), "the same commit is reviewed");
        driven.ok(open(Opener::Resume));
        driven.ok(workspace_opened());
        assert_eq!(driven.turn().role, Role::Acceptor);
    }
}

#[test]
fn an_acceptor_that_runs_into_the_budget_has_neither_failed_nor_rejected() {
    let limits = Limits { budget_usd: Some(1.0), ..milestone().limits };
    let mut driven = Driven::working(LoopSpec { limits, ..milestone() });
    develop(&mut driven, feature("F1", None));
    let turn = driven.turn();
    let events = driven.ok(Input::UsageSeen { turn, usage: crate::driven::usage(1.5, 10) });
    assert_eq!(names(&events), ["usage_reported", "turn_interrupted"]);
    driven.end_turn(costing(1.5, 10, interrupted()));
    assert!(matches!(driven.state.status(), Status::Paused { why: PauseReason::Limit { .. } }));
    assert_eq!(review(&driven).rejections, 0);
    assert!(matches!(driven.refused(open(Opener::Resume)), Refusal::LimitStands { .. }));
    driven.ok(Input::Open { by: Opener::Resume, raise: Raise { budget_usd: 1.0, ..Raise::default() } });
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), turn.next_attempt(), "the same review, not another round");
}

#[test]
// promise: milestones-10
fn a_report_of_a_commit_that_was_not_made_is_a_rejection() {
    let mut driven = Driven::working(milestone());
    driven.end_turn(feature("F1", Some("deadbee")));
    let events = driven.checkpoint();
    let commit = "deadbee".to_owned();
    assert!(events.contains(
        &ReviewEvent::ReviewSkipped { iteration: 1, because: SkippedBecause::UnknownCommit { commit } }.into()
    ));
    assert!(review(&driven).reasons[0].contains("deadbee"));
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder), "no acceptor is asked");
    // By its beginning, as the agent's own commit or the engine's.
    develop(&mut driven, feature("F1", Some("commit-2")));
    driven.end_turn(rejected("no"));
    driven.end_turn(feature("F1", Some("cafe")));
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    let checkpoint = CheckpointReport { agent_commits: vec!["cafe123".into()], ..checkpoint_of(turn) };
    driven.ok(Input::Checkpointed { turn, checkpoint });
    assert_eq!(driven.turn().role, Role::Acceptor);
}

#[test]
fn where_the_engine_commits_no_hash_is_asked_for() {
    let mut driven = Driven::working(LoopSpec { commit: CommitPolicy::Engine, ..milestone() });
    develop(&mut driven, feature("F1", Some("deadbee")));
}

#[test]
// promise: milestones-10
fn a_round_without_any_change_is_a_rejection() {
    let unread = TurnReport { developer: Some(Box::new(Report::Unparsed { why: "no".into() })), ..answer("done!") };
    for report in [feature("F2", None), unread, answer("")] {
        let mut driven = Driven::working(milestone());
        round(&mut driven, feature("F1", None), accepted());
        driven.end_turn(report);
        let turn = driven.state.last_turn.as_ref().unwrap().key;
        let checkpoint = untouched(&driven);
        let events = driven.ok(Input::Checkpointed { turn, checkpoint });
        assert!(
            events
                .contains(&ReviewEvent::ReviewSkipped { iteration: 2, because: SkippedBecause::NothingChanged }.into())
        );
        assert_eq!(review(&driven).rejections, 1);
        assert!(prompt_of(&driven).contains("no changes"));
    }
    // That all is done can be said without another change.
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), accepted());
    driven.end_turn(all_features());
    let turn = driven.state.last_turn.as_ref().unwrap().key;
    let checkpoint = untouched(&driven);
    driven.ok(Input::Checkpointed { turn, checkpoint });
    assert_eq!(driven.turn().role, Role::Acceptor);
}

#[test]
fn nothing_at_all_was_done_and_still_all_is_claimed() {
    let mut driven = Driven::working(milestone());
    for _ in 0..3 {
        driven.end_turn(all_features());
        let turn = driven.state.last_turn.as_ref().unwrap().key;
        let checkpoint = untouched(&driven);
        driven.ok(Input::Checkpointed { turn, checkpoint });
    }
    assert!(matches!(driven.state.status(), Status::Paused { why: PauseReason::Rejections { .. } }));
}

#[test]
fn a_report_that_cannot_be_read_is_still_looked_at() {
    let mut driven = Driven::working(milestone());
    let unread = TurnReport { developer: Some(Box::new(Report::Unparsed { why: "no".into() })), ..answer("I did F1.") };
    develop(&mut driven, unread);
    assert!(prompt_of(&driven).contains("unreadable report"));
}

#[test]
fn a_stop_is_a_stop_whatever_the_acceptor_says_meanwhile() {
    let mut driven = Driven::working(milestone());
    develop(&mut driven, all_features());
    let turn = driven.turn();
    driven.ok(Input::Stop);
    driven.end_turn(accepted());
    assert_eq!(ended(&driven), (End::Cancelled, StopReason::Cancelled));
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), turn.next_attempt(), "it is asked again");
    driven.end_turn(accepted());
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
fn an_edited_milestone_is_taken_by_a_loop_at_rest() {
    let edited = Box::new(Milestone::parse("search", &MILESTONE.replace("by author", "by year")).unwrap());
    let mut driven = Driven::working(milestone());
    assert_eq!(driven.refused(Input::AmendMilestone { milestone: edited.clone() }), Refusal::UnderWay);
    round(&mut driven, feature("F1", None), accepted());
    driven.ok(Input::Stop);
    driven.end_turn(interrupted());
    driven.ok(Input::AmendMilestone { milestone: edited.clone() });
    driven.ok(open(Opener::Restart));
    driven.ok(workspace_opened());
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("search by year") && prompt.contains("F1: a feature"), "{prompt}");
    let mut driven = Driven::working(crate::driven::promise_loop());
    driven.ok(Input::Stop);
    driven.end_turn(interrupted());
    assert_eq!(driven.refused(Input::AmendMilestone { milestone: edited }), Refusal::NotReviewed);
}

#[test]
fn verdicts_and_reports_can_be_given_through_tools() {
    let mut driven = Driven::working(milestone());
    let developer = driven.turn();
    let text = "## ALL_FEATURES_COMPLETE\n\nDone.\n\n### Summary\nAll.\n".to_owned();
    driven.ok(Input::Acted { turn: developer, act: Act::Report { report: Box::new(Report::read(&text, "")) } });
    let say = |verdict| Act::Say { verdict };
    assert_eq!(
        driven.refused(Input::Acted { turn: developer, act: say(Opinion::Accepted) }),
        Refusal::NotYourRole { role: Role::Coder }
    );
    develop(&mut driven, feature("F1", None));
    assert_eq!(review(&driven).aim(), Aim::Whole, "what was said through the tool goes before the words");
    let acceptor = driven.turn();
    assert!(matches!(
        driven.refused(Input::Acted { turn: acceptor, act: say(Opinion::Dirty { open: Vec::new() }) }),
        Refusal::NotYourRole { .. }
    ));
    driven.ok(Input::Acted { turn: acceptor, act: say(Opinion::Rejected { reason: "criterion 1".into() }) });
    driven.end_turn(accepted());
    assert!(matches!(&review(&driven).last, Some((_, Opinion::Rejected { reason })) if reason == "criterion 1"));
}

#[test]
fn a_gate_that_fails_keeps_the_acceptor_away() {
    let mut driven = Driven::working(LoopSpec { gates: vec![gate("cargo test")], ..milestone() });
    driven.end_turn(feature("F1", None));
    driven.checkpoint();
    driven.judge(Verdict::Fail);
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    assert_eq!(review(&driven).rejections, 0, "the developer is told by the gate");
    assert!(prompt_of(&driven).contains("what the gate printed"));
    driven.end_turn(all_features());
    driven.checkpoint();
    driven.judge(Verdict::Pass);
    driven.end_turn(accepted());
    assert_eq!(ended(&driven).1, StopReason::Completed);
}

#[test]
fn a_developer_that_is_not_logged_in_is_no_rejection() {
    let mut driven = Driven::working(milestone());
    driven.end_turn(failed(ErrorKind::Auth));
    assert!(matches!(driven.state.status(), Status::Paused { why: PauseReason::Auth { .. } }));
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    driven.end_turn(TurnReport::bare(TurnOutcome::RateLimited { until: None, message: "later".into() }));
    assert!(matches!(driven.state.status(), Status::Waiting { .. }));
    assert_eq!(review(&driven).rejections, 0);
    assert_ne!(driven.state.phase(), Phase::Review);
}

#[test]
fn feature_accepted_twice_or_without_a_readable_report_is_counted_once() {
    let mut driven = Driven::working(milestone());
    let unreadable =
        || TurnReport { developer: Some(Box::new(Report::Unparsed { why: "no".into() })), ..answer("a report") };
    for report in [feature("F1", None), unreadable(), unreadable(), feature("F1", None)] {
        round(&mut driven, report, accepted());
    }
    let ids: Vec<_> = review(&driven).accepted().iter().map(|feature| feature.id.clone()).collect();
    assert_eq!(ids, [None, Some("F1".into())]);
}

#[test]
fn commit_of_a_milestone_is_titled_by_its_feature_or_its_goal() {
    let mut driven = Driven::working(milestone());
    driven.end_turn(feature("F1", None));
    assert_eq!(driven.state.commit_message(), "[iter-1] F1: a feature\n");
    let mut driven = Driven::working(LoopSpec { goal: "Build the search".into(), ..milestone() });
    driven.end_turn(answer("# Implementation Report — Round 1"));
    assert_eq!(driven.state.commit_message(), "[iter-1] Build the search\n");
}
