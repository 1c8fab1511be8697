//! Questions of a coder: who answers them, until when, and what the loop does meanwhile.

use crate::driven::*;
use windlass_core::agent::TurnReport;
use windlass_core::ids::Role;
use windlass_core::machine::{
    Act, AnsweredBy, Effect, Event, Input, LoopState, Opener, Refusal, RefusedBecause, Timer, TimerKind, Verdict,
    replay,
};
use windlass_core::prompt;
use windlass_core::spec::{Done, LoopSpec};
use windlass_core::stop::{End, PauseReason, Status, WaitReason};

const WAIT: u64 = 30 * MINUTE;

fn waits() -> LoopSpec {
    LoopSpec { question_wait_ms: WAIT, ..promise_loop() }
}

fn answer(text: &str) -> Input {
    Input::Answer { question: None, text: text.into() }
}

fn ask(driven: &mut Driven, question: &str, default: Option<&str>) -> Vec<Event> {
    let act = Act::Ask { question: question.into(), default: default.map(str::to_owned) };
    let turn = driven.turn();
    driven.ok(Input::Acted { turn, act })
}

/// A loop whose first turn asked, and that waits.
fn waiting(spec: LoopSpec) -> Driven {
    let mut driven = Driven::working(spec);
    driven.end_turn_and_checkpoint(asking("Which database?", Some("SQLite")));
    driven
}

fn answers(state: &LoopState) -> Vec<(AnsweredBy, Option<&str>)> {
    let given = state.questions.iter().filter_map(|question| question.answer.as_ref());
    given.map(|answer| (answer.by, answer.text.as_deref())).collect()
}

fn told(driven: &Driven) -> String {
    prompt::build(&driven.state, &prompt::Facts::default(), &str::len)
}

#[test]
// promise: questions-1
fn a_loop_that_never_waits_takes_the_default_at_once_and_goes_on() {
    let mut driven = Driven::working(promise_loop());
    let events = driven.end_turn(asking("Which database?", Some("SQLite")));
    assert_eq!(names(&events), ["turn_ended", "question_asked", "question_answered", "phase_entered"]);
    driven.checkpoint();
    assert_eq!(driven.state.status(), Status::Running);
    assert_eq!(answers(&driven.state), [(AnsweredBy::Default, Some("SQLite"))]);
    assert!(
        told(&driven)
            .contains("You asked: Which database?\nNobody answered in time. Continue with your default: SQLite")
    );
    assert!(!told(&driven).contains("<question"), "an agent that nobody answers is not invited to ask");
}

#[test]
// promise: questions-2
fn a_question_without_a_default_leaves_the_agent_to_its_own_judgment() {
    let mut driven = Driven::working(promise_loop());
    driven.end_turn_and_checkpoint(asking("Which database?", None));
    assert_eq!(answers(&driven.state), [(AnsweredBy::Default, None)]);
    assert!(told(&driven).contains("Nobody answered in time. Use your own judgment."));
}

#[test]
// promise: questions-3
fn a_question_waits_until_its_deadline_and_then_its_default_is_taken() {
    let mut driven = Driven::working(waits());
    let asked_at = driven.now;
    driven.end_turn_and_checkpoint(asking("Which database?", Some("SQLite")));
    let until = asked_at + jiff::SignedDuration::from_millis(WAIT as i64);
    let why = WaitReason::Question { id: "q1".into(), question: "Which database?".into() };
    assert_eq!(driven.state.status(), Status::Waiting { until, why });
    assert_eq!(driven.effects(), [Effect::SetTimer { timer: Timer { kind: TimerKind::Wait, at: until } }]);
    assert_eq!(driven.refused(Input::TimerFired { timer: TimerKind::Wait }), Refusal::Stale);
    driven.pass(WAIT);
    let events = driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    assert_eq!(names(&events), ["wait_ended", "question_answered", "iteration_started", "turn_started"]);
    assert_eq!(answers(&driven.state), [(AnsweredBy::Default, Some("SQLite"))]);
}

#[test]
// promise: questions-3
fn an_answer_ends_the_wait_and_is_in_the_next_prompt_once() {
    let mut driven = waiting(waits());
    driven.pass(MINUTE);
    let events = driven.ok(answer("Use PostgreSQL."));
    assert_eq!(names(&events), ["question_answered", "wait_ended", "iteration_started", "turn_started"]);
    assert!(
        told(&driven).contains("You asked: Which database?\nThe user answers:\nUse PostgreSQL."),
        "{}",
        told(&driven)
    );
    driven.end_turn_and_checkpoint(finished());
    assert!(!told(&driven).contains("PostgreSQL"));
}

#[test]
fn an_answer_is_told_again_if_its_turn_is_tried_again() {
    let mut driven = waiting(waits());
    driven.ok(answer("Use PostgreSQL."));
    driven.end_turn(cut_off());
    driven.ok(workspace_opened());
    assert!(told(&driven).contains("PostgreSQL"));
}

#[test]
// promise: questions-5
fn a_second_a_late_and_an_unknown_answer_are_refused() {
    let mut driven = Driven::working(waits());
    assert_eq!(driven.refused(answer("x")), Refusal::NoQuestion);
    driven.end_turn_and_checkpoint(asking("Which database?", Some("SQLite")));
    let unknown = Input::Answer { question: Some("q7".into()), text: "x".into() };
    assert_eq!(driven.refused(unknown), Refusal::NoQuestion);
    driven.ok(answer("PostgreSQL"));
    let again = driven.refused(answer("MySQL"));
    assert_eq!(again, Refusal::Answered { id: "q1".into(), by: AnsweredBy::Person });
    let mut driven = waiting(waits());
    driven.pass(WAIT);
    driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    let late = driven.refused(answer("PostgreSQL"));
    assert_eq!(late, Refusal::Answered { id: "q1".into(), by: AnsweredBy::Default });
    assert!(late.to_string().contains("the deadline of question q1 has passed"), "{late}");
    driven.ok(Input::Stop);
    driven.end_turn(interrupted());
    assert_eq!(driven.refused(answer("x")), Refusal::Ended { end: End::Cancelled });
}

#[test]
fn several_open_questions_have_to_be_named_and_each_is_waited_for() {
    let mut driven = Driven::working(waits());
    ask(&mut driven, "Which?", None);
    driven.pass(MINUTE);
    driven.end_turn_and_checkpoint(asking("Where?", Some("here")));
    assert_eq!(driven.refused(answer("x")), Refusal::WhichQuestion { open: vec!["q1".into(), "q2".into()] });
    driven.ok(Input::Answer { question: Some("q2".into()), text: "there".into() });
    assert_eq!(driven.state.status().name(), "waiting");
    driven.ok(answer("this"));
    assert_eq!(driven.state.status(), Status::Running);
    assert!(told(&driven).contains("there") && told(&driven).contains("this"));
}

#[test]
// promise: questions-6
fn stop_pause_steer_and_resume_work_while_a_question_is_open() {
    let mut driven = waiting(waits());
    driven.ok(Input::Steer { id: "m1".into(), text: "be brief".into(), now: false });
    driven.ok(Input::Pause { now: false });
    assert_eq!(driven.state.status(), Status::Paused { why: PauseReason::Person });
    driven.pass(MINUTE);
    driven.ok(open(Opener::Resume));
    assert_eq!(driven.state.status().name(), "waiting", "the time is not over");
    driven.ok(Input::Pause { now: false });
    driven.ok(answer("PostgreSQL"));
    assert_eq!(driven.state.status().name(), "paused", "an answer does not resume");
    driven.ok(open(Opener::Resume));
    assert!(told(&driven).contains("PostgreSQL") && told(&driven).contains("be brief"));
    let mut driven = waiting(waits());
    driven.ok(Input::Stop);
    assert_eq!(driven.stop_reason(), "cancelled");
    driven.pass(WAIT);
    driven.ok(open(Opener::Resume));
    assert_eq!(answers(&driven.state), [(AnsweredBy::Default, Some("SQLite"))]);
}

#[test]
// promise: questions-6
fn a_question_waits_on_after_a_restart() {
    let mut driven = waiting(waits());
    let restarted = replay(driven.journal.clone()).unwrap();
    assert_eq!(windlass_core::machine::effects(&restarted), driven.effects());
    driven.pass(2 * WAIT);
    driven.ok(Input::Attach { alive_until: None });
    driven.ok(Input::TimerFired { timer: TimerKind::Wait });
    assert_eq!(answers(&driven.state), [(AnsweredBy::Default, Some("SQLite"))]);
}

#[test]
fn a_claim_with_an_open_question_is_judged_once_that_is_answered() {
    let claimed = || TurnReport { claim: true, ..asking("Which?", Some("this")) };
    let with_gate = || LoopSpec { gates: vec![gate("cargo test")], ..waits() };
    for spec in [waits(), with_gate()] {
        let reach = |spec: LoopSpec| {
            let gates = !spec.gates.is_empty();
            let mut driven = Driven::working(spec);
            driven.end_turn_and_checkpoint(claimed());
            if gates {
                driven.judge(Verdict::Pass);
            }
            assert_eq!(driven.state.status().name(), "waiting");
            driven
        };
        let mut by_default = reach(spec.clone());
        by_default.pass(WAIT);
        by_default.ok(Input::TimerFired { timer: TimerKind::Wait });
        assert_eq!(by_default.stop_reason(), "completed");
        assert_eq!(by_default.state.iteration, 1);
        let mut by_person = reach(spec);
        let events = by_person.ok(answer("that"));
        assert!(events.contains(&Event::ClaimRefused { iteration: 1, because: RefusedBecause::SteeringPending }));
        assert_eq!(by_person.state.status(), Status::Running);
        assert!(told(&by_person).contains("The user answers:\nthat"));
    }
}

#[test]
fn the_same_question_gets_the_same_answer_without_another_wait() {
    let mut driven = waiting(waits());
    driven.ok(answer("PostgreSQL"));
    driven.end_turn_and_checkpoint(asking("Which database?", Some("SQLite")));
    assert_eq!(driven.state.status(), Status::Running);
    assert_eq!(answers(&driven.state).last(), Some(&(AnsweredBy::Person, Some("PostgreSQL"))));
}

#[test]
fn a_question_asked_by_tool_is_not_asked_again_by_the_answer_of_the_same_turn() {
    let mut driven = Driven::working(waits());
    ask(&mut driven, "Which database?", Some("SQLite"));
    let act = Act::Ask { question: "Which database?".into(), default: None };
    let turn = driven.turn();
    assert_eq!(driven.refused(Input::Acted { turn, act }), Refusal::AlreadyAsked);
    driven.end_turn(asking("Which database?", None));
    assert_eq!(driven.state.questions.len(), 1);
}

#[test]
fn what_the_tool_returned_is_not_in_the_next_prompt() {
    let mut driven = Driven::working(promise_loop());
    ask(&mut driven, "Which database?", Some("SQLite"));
    driven.end_turn_and_checkpoint(finished());
    assert!(!told(&driven).contains("SQLite"));
}

#[test]
fn questions_of_reviewers_and_of_failed_turns_wait_for_nobody() {
    let mut driven = Driven::working(LoopSpec { question_wait_ms: WAIT, ..reviewed::audited(None, reviewed::audit()) });
    driven.end_turn_and_checkpoint(finished());
    assert_eq!(driven.turn().role, Role::Auditor);
    assert_eq!(names(&ask(&mut driven, "Which?", None)), ["question_deferred"]);
    assert_eq!(driven.state.open_questions().count(), 0);
    let mut driven = Driven::working(waits());
    driven.end_turn(TurnReport { questions: asking("Which?", None).questions, ..cut_off() });
    assert_eq!(driven.state.questions.len(), 0);
}

#[test]
fn a_review_begins_after_the_answer() {
    let spec = LoopSpec { question_wait_ms: WAIT, ..reviewed::audited(None, reviewed::audit()) };
    let mut driven = Driven::working(spec);
    driven.end_turn_and_checkpoint(asking("Which?", None));
    assert_eq!(driven.state.status().name(), "waiting");
    driven.ok(answer("that"));
    assert_eq!(driven.turn().role, Role::Auditor);
}

#[test]
fn a_target_that_is_reached_waits_for_no_answer() {
    let mut driven = Driven::working(LoopSpec { done: Done::Count { iterations: 1 }, ..waits() });
    driven.end_turn_and_checkpoint(asking("Which?", Some("this")));
    assert_eq!(driven.stop_reason(), "completed");
    assert_eq!(answers(&driven.state), [(AnsweredBy::Default, Some("this"))]);
}

#[test]
fn the_prompt_says_how_to_ask_if_somebody_may_answer() {
    let driven = Driven::working(waits());
    let without = told(&driven);
    assert!(without.contains("<question default=") && without.contains("within 30m"), "{without}");
    assert!(!without.contains("tool"));
    let facts = prompt::Facts { tools: true, ..prompt::Facts::default() };
    assert!(prompt::build(&driven.state, &facts, &str::len).contains("tool `ask`"));
    let echo = windlass_core::review::marked_questions(&without, &without);
    assert_eq!(echo, [], "an echo of the prompt asks nothing");
}
