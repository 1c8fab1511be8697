//! Fallbacks if an agent or its model fails permanently.

use crate::driven::reviewed::{TWO_SECTIONS, agent, answer, audit, audited, clean};
use crate::driven::{
    Driven, checkpoint_of, cut_off, failed, finished, gate, names, open, promise_loop, workspace_opened,
};
use windlass_core::agent::{ErrorKind, TurnOutcome, TurnReport};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{CheckpointReport, Event, Input, Opener, Restore, SessionUse, TimerKind, Verdict};
use windlass_core::spec::{AgentChoice, LoopSpec, OnFailure, OnRateLimit, ReviewSpec};
use windlass_core::stop::{PauseReason, Status, StopReason};

fn stand_ins(names: &[&str]) -> Vec<AgentChoice> {
    names.iter().map(|name| agent(name)).collect()
}

fn with(fallbacks: &[&str]) -> LoopSpec {
    LoopSpec { fallbacks: stand_ins(fallbacks), ..promise_loop() }
}

fn missing() -> TurnReport {
    TurnReport::bare(TurnOutcome::NotStarted { message: "no such file".into(), missing: true })
}

/// From whom to whom the events give the role.
fn changes(events: &[Event]) -> Vec<(Role, String, String)> {
    let change = |event: &Event| {
        let Event::AgentChanged { role, from, to, .. } = event else { return None };
        Some((*role, from.clone(), to.clone()))
    };
    events.iter().filter_map(change).collect()
}

fn change(role: Role, from: &str, to: &str) -> Vec<(Role, String, String)> {
    vec![(role, from.into(), to.into())]
}

/// The place in the list that the journal gives for the last turn that was started.
fn told(driven: &Driven) -> (TurnKey, usize) {
    let started = |event: &Event| {
        let Event::TurnStarted { turn, agent, .. } = event else { return None };
        Some((*turn, *agent))
    };
    driven.journal.iter().rev().find_map(|(_, event)| started(event)).unwrap()
}

fn key(iteration: u32, attempt: u32) -> TurnKey {
    crate::driven::key(iteration, attempt)
}

/// Lets a wait pass and opens the workspace if that is asked for.
fn wait(driven: &mut Driven) {
    let Status::Waiting { until, .. } = driven.state.status() else { panic!("{:?}", driven.state.status()) };
    driven.now = until;
    driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    if driven.state.turn().is_none() {
        driven.ok(workspace_opened());
    }
}

#[test]
// promise: failures-6
fn a_model_that_is_not_found_gives_the_same_iteration_to_the_next() {
    let mut driven = Driven::working(with(&["b", "c"]));
    assert_eq!(told(&driven), (key(1, 1), 0));
    for (index, (from, to)) in [("scripted", "b"), ("b", "c")].into_iter().enumerate() {
        let events = driven.end_turn(failed(ErrorKind::ModelNotFound));
        assert_eq!(changes(&events), change(Role::Coder, from, to));
        driven.ok(workspace_opened());
        assert_eq!(told(&driven), (key(1, u32::try_from(index).unwrap() + 2), index + 1));
        assert_eq!(driven.state.agent(Role::Coder).name, to);
    }
    let events = driven.end_turn(failed(ErrorKind::ModelNotFound));
    assert_eq!(names(&events), ["turn_ended", "phase_entered"], "nobody is left: as it was without a list");
    driven.checkpoint();
    assert_eq!(driven.stop_reason(), "agent_failed");
}

#[test]
// promise: failures-6
fn an_account_without_credit_gives_the_same_iteration_to_the_next() {
    let mut driven = Driven::working(with(&["b"]));
    let events = driven.end_turn(failed(ErrorKind::Billing));
    assert_eq!(changes(&events), change(Role::Coder, "scripted", "b"));
    driven.ok(workspace_opened());
    assert_eq!(told(&driven), (key(1, 2), 1));
    driven.end_turn(failed(ErrorKind::Billing));
    assert_eq!(driven.stop_reason(), "provider_limit", "nobody is left, and there is nothing to wait for");
}

#[test]
fn a_program_that_is_not_there_gives_the_same_iteration_to_the_next() {
    let mut driven = Driven::working(with(&["b"]));
    assert_eq!(changes(&driven.end_turn(missing())), change(Role::Coder, "scripted", "b"));
    driven.ok(workspace_opened());
    assert_eq!(told(&driven), (key(1, 2), 1));
    assert!(!driven.state.turn().unwrap().recovery, "nothing ran that could be recovered");
    driven.end_turn(missing());
    assert_eq!(driven.state.stop_reason(), Some(StopReason::AgentMissing { message: "no such file".into() }));
}

#[test]
fn where_a_failure_would_stop_the_loop_the_next_goes_on() {
    let mut driven = Driven::working(with(&["b"]));
    driven.end_turn(failed(ErrorKind::Other));
    assert_eq!(changes(&driven.checkpoint()), change(Role::Coder, "scripted", "b"));
    assert_eq!(told(&driven), (key(2, 1), 1));
    driven.end_turn(failed(ErrorKind::Other));
    driven.checkpoint();
    assert_eq!(driven.state.stop_reason(), Some(StopReason::AgentFailed { message: "oops".into() }));
}

#[test]
// promise: failures-6
fn the_next_comes_only_after_the_retries() {
    let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Retry { times: 2 }, ..with(&["b"]) });
    driven.state.spec.limits.max_iterations = Some(100);
    for agent in ["scripted", "b"] {
        for _ in 0..2 {
            assert_eq!(driven.state.agent(Role::Coder).name, agent);
            driven.end_turn(failed(ErrorKind::Other));
            assert_eq!(changes(&driven.checkpoint()), []);
            wait(&mut driven);
        }
        driven.end_turn(failed(ErrorKind::Other));
        let events = driven.checkpoint();
        assert_eq!(changes(&events).len(), usize::from(agent == "scripted"), "each has its own retries");
    }
    assert_eq!(driven.state.stop_reason(), Some(StopReason::ErrorMaxRetries { message: "oops".into() }));
}

#[test]
fn going_on_after_failures_needs_nobody_else() {
    let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..with(&["b"]) });
    for _ in 0..4 {
        driven.end_turn(failed(ErrorKind::Other));
        assert_eq!(changes(&driven.checkpoint()), []);
        wait(&mut driven);
    }
}

#[test]
fn a_provider_that_does_not_answer_is_left_after_many_waits() {
    for kind in [ErrorKind::Overloaded, ErrorKind::Network] {
        let mut driven = Driven::working(with(&["b"]));
        for agent in ["scripted", "b"] {
            for _ in 0..20 {
                assert_eq!(driven.state.agent(Role::Coder).name, agent);
                assert_eq!(changes(&driven.end_turn(failed(kind))), []);
                wait(&mut driven);
            }
            driven.end_turn(failed(kind));
            if agent == "scripted" {
                driven.ok(workspace_opened());
                assert_eq!(told(&driven), (key(1, 22), 1), "in the same iteration");
            }
        }
        assert_eq!(driven.state.stop_reason(), Some(StopReason::ProviderLimit { message: "oops".into() }));
    }
}

#[test]
fn sessions_that_are_lost_again_and_again_are_left_to_the_next() {
    let mut driven = Driven::working(with(&["b"]));
    for _ in 0..2 {
        driven.end_turn(failed(ErrorKind::UnknownSession));
        driven.ok(workspace_opened());
    }
    assert_eq!(changes(&driven.end_turn(failed(ErrorKind::UnknownSession))), change(Role::Coder, "scripted", "b"));
    driven.ok(workspace_opened());
    for _ in 0..2 {
        driven.end_turn(failed(ErrorKind::UnknownSession));
        driven.ok(workspace_opened());
    }
    driven.end_turn(failed(ErrorKind::UnknownSession));
    assert_eq!(driven.stop_reason(), "agent_failed");
}

#[test]
fn who_makes_no_progress_is_relieved() {
    let mut spec = LoopSpec { gates: vec![gate("cargo test")], ..with(&["b"]) };
    spec.limits.max_iterations = Some(100);
    let mut driven = Driven::working(spec);
    let mut relieved_after = Vec::new();
    while driven.state.is_open() {
        driven.end_turn(finished());
        let turn = driven.state.last_turn.as_ref().unwrap().key;
        let checkpoint = CheckpointReport { commit: Some("same".into()), tree: "same".into(), ..checkpoint_of(turn) };
        driven.ok(Input::Checkpointed { turn, checkpoint });
        if !changes(&driven.judge(Verdict::Fail)).is_empty() {
            relieved_after.push(turn.iteration);
            assert_eq!(driven.state.turn().unwrap().session, SessionUse::FreshInstead);
        }
    }
    assert_eq!(relieved_after, [8]);
    assert_eq!(driven.state.iteration, 16, "the next has as many tries");
    assert_eq!(driven.stop_reason(), "no_progress");
}

#[test]
fn what_the_old_agent_remembers_is_not_asked_of_the_new_one() {
    let mut driven = Driven::working(with(&["b"]));
    let turn = driven.turn();
    driven.ok(Input::SessionSeen { turn, session: "of-a".into() });
    driven.end_turn(failed(ErrorKind::ModelNotFound));
    assert!(driven.state.sessions.is_empty());
    assert!(matches!(driven.state.restore(), Restore::Reset { .. }), "it finds the checkpoint");
    driven.ok(workspace_opened());
    assert!(!matches!(driven.state.turn().unwrap().session, SessionUse::Resume { .. }));
}

#[test]
fn messages_of_a_person_reach_who_takes_over() {
    let mut driven = Driven::created(with(&["b"]));
    driven.ok(Input::Steer { id: "m1".into(), text: "mind the docs".into(), now: false });
    driven.start();
    driven.ok(workspace_opened());
    driven.end_turn(missing());
    driven.ok(workspace_opened());
    let (_, event) = driven.journal.last().unwrap();
    assert!(matches!(event, Event::TurnStarted { steering, .. } if steering == &["m1"]), "{event:?}");
}

#[test]
fn a_resumption_stays_with_who_took_over_and_a_restart_goes_back_to_the_first() {
    for (opener, agent) in [(Opener::Resume, "b"), (Opener::Restart, "scripted")] {
        let mut driven = Driven::working(with(&["b"]));
        driven.end_turn(failed(ErrorKind::Other));
        driven.checkpoint();
        driven.end_turn(failed(ErrorKind::Other));
        driven.checkpoint();
        assert!(driven.state.status().is_ended());
        driven.ok(open(opener));
        assert_eq!(driven.state.agent(Role::Coder).name, agent);
        assert_eq!(told(&driven).1, usize::from(agent == "b"));
    }
}

#[test]
fn a_pause_is_kept_while_the_role_changes_hands() {
    let mut driven = Driven::working(with(&["b"]));
    driven.ok(Input::Pause { now: false });
    driven.end_turn(failed(ErrorKind::ModelNotFound));
    assert_eq!(driven.state.status().name(), "paused");
    driven.ok(open(Opener::Resume));
    driven.ok(workspace_opened());
    assert_eq!(told(&driven), (key(1, 2), 1));
}

#[test]
fn a_stop_is_kept_while_the_role_changes_hands() {
    for report in [failed(ErrorKind::ModelNotFound), missing()] {
        let mut driven = Driven::working(with(&["b"]));
        driven.ok(Input::Stop);
        driven.end_turn(report);
        assert_eq!(driven.stop_reason(), "cancelled");
    }
}

#[test]
fn cut_offs_are_nobodys_fault() {
    let mut driven = Driven::working(with(&["b"]));
    for _ in 0..2 {
        assert_eq!(changes(&driven.end_turn(cut_off())), []);
        driven.ok(workspace_opened());
    }
    driven.end_turn(cut_off());
    assert_eq!(driven.stop_reason(), "cut_off");
}

fn audited_with(reviewers: &[&str]) -> LoopSpec {
    audited(Some(TWO_SECTIONS), ReviewSpec { fallbacks: stand_ins(reviewers), ..audit() })
}

fn up_to_the_audit(spec: LoopSpec) -> Driven {
    let mut driven = Driven::working(spec);
    driven.end_turn(answer("done"));
    driven.checkpoint();
    assert_eq!(driven.turn().role, Role::Auditor);
    driven
}

#[test]
fn a_reviewers_stand_in_takes_over_the_same_review() {
    let model = || failed(ErrorKind::ModelNotFound);
    for report in [model, missing] {
        let mut driven = up_to_the_audit(audited_with(&["other"]));
        assert_eq!(changes(&driven.end_turn(report())), change(Role::Auditor, "auditor", "other"));
        driven.ok(workspace_opened());
        assert_eq!(told(&driven), (TurnKey { iteration: 1, role: Role::Auditor, attempt: 2 }, 1));
        assert_eq!(driven.state.agent(Role::Coder).name, "scripted", "the coder stays");
        driven.end_turn(clean());
        assert_eq!(driven.state.review.as_ref().unwrap().section_number(), Some(1));
    }
}

#[test]
fn a_stand_in_is_asked_as_often_as_who_went_before() {
    let mut driven = up_to_the_audit(audited_with(&["other"]));
    driven.end_turn(answer("hm"));
    assert_eq!(changes(&driven.end_turn(answer("hm"))), change(Role::Auditor, "auditor", "other"));
    driven.ok(workspace_opened());
    driven.end_turn(answer("I do not know either"));
    assert_eq!(told(&driven), (TurnKey { iteration: 1, role: Role::Auditor, attempt: 4 }, 1), "asked again");
    driven.end_turn(answer("no"));
    assert!(matches!(driven.state.status(), Status::Paused { why: PauseReason::Reviewer { .. } }));
    driven.ok(open(Opener::Restart));
    driven.ok(workspace_opened());
    assert_eq!(driven.state.agent(Role::Auditor).name, "auditor");
}

#[test]
fn planner_and_finisher_are_the_coders_seat() {
    let review = ReviewSpec { planning: true, ..audit() };
    let mut driven = Driven::working(LoopSpec { fallbacks: stand_ins(&["b"]), ..audited(None, review) });
    assert_eq!(driven.turn().role, Role::Planner);
    assert_eq!(changes(&driven.end_turn(missing())), change(Role::Planner, "scripted", "b"));
    driven.ok(workspace_opened());
    assert_eq!(driven.turn(), TurnKey { iteration: 0, role: Role::Planner, attempt: 2 });
    driven.end_turn(answer(TWO_SECTIONS));
    assert_eq!(driven.state.agent(Role::Coder).name, "b", "who wrote the plan works on it");
}

#[test]
fn a_model_is_named_with_its_agent() {
    let mut spec = with(&["b"]);
    spec.agent.profile.model = Some("large".into());
    spec.fallbacks[0].profile.model = Some("small".into());
    let mut driven = Driven::working(spec);
    let events = driven.end_turn(failed(ErrorKind::ModelNotFound));
    assert_eq!(changes(&events), change(Role::Coder, "scripted:large", "b:small"));
}

#[test]
// promise: failures-12
fn rate_limit_hands_over_to_the_next_where_the_loop_wants_that_and_the_last_waits() {
    let mut driven = Driven::working(LoopSpec { on_rate_limit: OnRateLimit::Fallback, ..with(&["b"]) });
    let limited = || TurnReport::bare(TurnOutcome::RateLimited { until: None, message: "later".into() });
    assert_eq!(changes(&driven.end_turn(limited())), change(Role::Coder, "scripted", "b"));
    driven.ok(workspace_opened());
    assert_eq!(told(&driven), (key(1, 2), 1));
    driven.end_turn(limited());
    assert_eq!(driven.state.status().name(), "waiting");
}

#[test]
fn rate_limit_and_missing_credit_pause_a_loop_that_wants_that() {
    for report in [
        TurnReport::bare(TurnOutcome::RateLimited { until: None, message: "oops".into() }),
        failed(ErrorKind::RateLimit),
        failed(ErrorKind::Billing),
    ] {
        let mut driven = Driven::working(LoopSpec { on_rate_limit: OnRateLimit::Pause, ..promise_loop() });
        let why = PauseReason::ProviderLimit { message: "oops".into() };
        assert_eq!(driven.end_turn(report)[1..], [Event::LoopPaused { why }]);
        driven.ok(open(Opener::Resume));
        driven.ok(workspace_opened());
        assert_eq!(driven.turn(), key(1, 2), "the same iteration");
    }
}
