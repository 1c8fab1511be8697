//! What people say to a milestone that asks them.

use crate::driven::reviewed::{
    acceptance, accepted, all_features, ended, feature, milestone, prompt_of, reject_three_times, rejected, review,
    reviewed, round,
};
use crate::driven::{Driven, cut_off, interrupted, open, workspace_opened};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Event, Input, Opener, Refusal, ReviewEvent};
use windlass_core::spec::ReviewSpec;
use windlass_core::stop::{PauseReason, Status, StopReason};

#[test]
fn a_person_who_approves_overrules_the_last_rejection() {
    let mut driven = reject_three_times();
    let events = driven.ok(Input::Approve { reason: Some("good enough".into()) });
    let ruled = ReviewEvent::PersonRuled { approved: true, reason: Some("good enough".into()) };
    assert_eq!(events[0], Event::Review(ruled));
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), TurnKey::first(4, Role::Coder));
    assert_eq!(review(&driven).rejections, 0);
    assert_eq!(review(&driven).accepted()[0].id.as_deref(), Some("F1"));
    let prompt = prompt_of(&driven);
    assert!(!prompt.contains("three") && !prompt.contains("not accepted"), "{prompt}");
    assert!(!prompt.contains("good enough"), "why somebody agreed is nothing to work at: {prompt}");
}

#[test]
// promise: milestones-12
fn a_person_who_rejects_gives_a_new_direction_until_it_is_worked_at() {
    let mut driven = reject_three_times();
    driven.ok(Input::Reject { reason: "use the other parser".into() });
    driven.ok(workspace_opened());
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("A user reviewed the work and does not accept it yet:\n\nuse the other parser"));
    assert!(!prompt.contains("three"), "{prompt}");
    // Cut off, it is told again.
    driven.end_turn(cut_off());
    driven.ok(workspace_opened());
    assert!(prompt_of(&driven).contains("use the other parser"));
    round(&mut driven, feature("F1", None), accepted());
    assert!(!prompt_of(&driven).contains("use the other parser"));
    assert_eq!(review(&driven).rejections, 0);
}

#[test]
fn a_person_who_only_resumes_lets_it_try_three_more_times() {
    let mut driven = reject_three_times();
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    assert_eq!(review(&driven).rejections, 0);
    assert!(prompt_of(&driven).contains("Your last round was rejected:\n\nthree"));
    for _ in 0..2 {
        round(&mut driven, feature("F1", None), rejected("again"));
    }
    assert_eq!(driven.state.status(), Status::Running);
}

#[test]
fn there_is_nothing_to_approve_or_reject_unless_the_loop_asks() {
    let mut driven = Driven::created(milestone());
    assert_eq!(driven.refused(Input::Approve { reason: None }), Refusal::NothingToRule);
    let mut driven = Driven::working(milestone());
    assert_eq!(driven.refused(Input::Reject { reason: "no".into() }), Refusal::NothingToRule);
    driven.ok(Input::Pause { now: true });
    driven.end_turn(interrupted());
    assert_eq!(driven.refused(Input::Approve { reason: None }), Refusal::NothingToRule);
}

fn awaiting_review() -> Driven {
    let mut driven = Driven::working(reviewed("milestone", ReviewSpec { human_review: true, ..acceptance() }));
    round(&mut driven, feature("F1", None), accepted());
    round(&mut driven, all_features(), accepted());
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Review });
    driven
}

#[test]
// promise: milestones-11
fn a_milestone_that_needs_a_person_awaits_one() {
    let mut driven = awaiting_review();
    assert_eq!(driven.refused(open(Opener::Resume)), Refusal::AwaitsRuling);
    driven.ok(Input::Reject { reason: "the help text".into() });
    driven.ok(workspace_opened());
    assert!(prompt_of(&driven).contains("the help text"));
    round(&mut driven, all_features(), accepted());
    driven.ok(Input::Approve { reason: None });
    assert_eq!(ended(&driven).1, StopReason::Completed);
    assert_eq!(review(&driven).accepted().len(), 1, "approving the whole is no feature");
}

#[test]
fn what_a_person_took_back_cannot_be_approved() {
    let same_commit = awaiting_review().state.head_commit().unwrap().to_owned();
    for (mut driven, commit) in
        [(awaiting_review(), "base"), (awaiting_review(), same_commit.as_str()), (reject_three_times(), "base")]
    {
        let back = Input::RolledBack { to_iteration: 0, commit: commit.into(), tree: "tree-base".into(), saved: None };
        driven.ok(back);
        assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Person });
        assert_eq!(driven.refused(Input::Approve { reason: None }), Refusal::NothingToRule);
        driven.ok(open(Opener::Resume));
        driven.ok(workspace_opened());
        assert_eq!(driven.turn().role, Role::Coder);
        assert_eq!(review(&driven).rejections, 0);
    }
}

#[test]
fn a_loop_that_asked_and_was_stopped_begins_to_count_anew() {
    let mut driven = reject_three_times();
    driven.ok(Input::Stop);
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    round(&mut driven, feature("F1", None), rejected("four"));
    assert_eq!((review(&driven).rejections, driven.state.status().name()), (1, "running"));
}
