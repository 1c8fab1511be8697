//! The journal's format: what is written once must be readable for ever.

use crate::driven::*;
use serde_json::Value;
use windlass_core::findings::{Finding, FindingId, FindingStatus, Severity};
use windlass_core::ids::{LoopId, Role, TurnKey};
use windlass_core::machine::{
    Aim, AnsweredBy, Counted, Event, GateKey, GateMark, Interrupt, Merge, MergeObstacle, Opener, Opinion, Phase, Raise,
    RefusedBecause, RefusedMerge, ReviewEvent, SessionUse, SkippedBecause, Smaller, StallStep, SummaryReport, Verdict,
};
use windlass_core::milestone::Milestone;
use windlass_core::plan::{Adjustment, Plan};
use windlass_core::residue::{Leftover, LeftoverKind};
use windlass_core::review::{CoderDecisions, Report};
use windlass_core::stop::{End, PauseReason, StopReason, WaitReason};
use windlass_core::trouble::{Step, Trouble, TroubleKind};
use windlass_core::usage::{Usage, UsageByModel};

pub fn every_event() -> Vec<Event> {
    let turn = key(2, 1);
    let limit = StopReason::Budget { limit_usd: 0.1, spent_usd: 0.30000000000000004 };
    vec![
        Event::LoopCreated {
            id: LoopId("l1".into()),
            name: "feature".into(),
            project: "/repo".into(),
            spec: Box::new(promise_loop()),
        },
        Event::LoopOpened {
            by: Opener::Resume,
            raise: Raise { budget_usd: 0.1, ..Raise::default() },
            goal: Some("more".into()),
            target: Some("main".into()),
        },
        Event::DriverAttached { alive_until: Some(start_of_time()) },
        Event::PhaseEntered { phase: Phase::Gates, iteration: 2 },
        Event::WorkspaceOpened { opening: opening() },
        Event::IterationStarted { iteration: 2 },
        Event::TurnStarted {
            turn,
            agent: 1,
            turn_id: "l1.2.coder.1".into(),
            session: SessionUse::FreshInstead,
            steering: vec!["m1".into()],
            answers: vec![],
            recovery: true,
        },
        Event::SessionFound { turn, session: "s1".into() },
        Event::TurnInterrupted { turn, why: Interrupt::Limit { limit: limit.clone() } },
        Event::TurnEnded { turn, report: costing(0.1, 3, claimed()), again: false, counts_as: Counted::Finished },
        Event::SessionLost { turn, message: "who?".into() },
        Event::WorkspaceSetUp,
        Event::Summarised {
            turn,
            summary: SummaryReport {
                summary: "did it".into(),
                commit_message: Some("[iter-2] did it".into()),
                problem: None,
                usage: UsageByModel::new(),
            },
        },
        Event::Checkpointed { turn, checkpoint: checkpoint_of(turn), summary: Some("done".into()) },
        Event::GateEnded {
            gate: GateKey { on: 2_u32.into(), index: 0, attempt: 1 },
            report: gate_report("cargo test", Verdict::TimedOut, None),
            counts: true,
        },
        Event::IterationJudged {
            iteration: 2,
            claim: true,
            failing: vec!["cargo test".into()],
            gates: vec![GateMark::Fail],
            same: Some(2),
        },
        Event::ClaimRefused {
            iteration: 2,
            because: RefusedBecause::HeldBack { files: vec!["a (line 1: jwt)".into()] },
        },
        Event::ProgressStalled { iterations: 5, step: StallStep::FreshSession },
        Event::WaitStarted { until: start_of_time(), why: WaitReason::RateLimit { message: "until 5".into() } },
        Event::WaitEnded,
        Event::PauseRequested { now: true },
        Event::LoopPaused { why: PauseReason::Limit { limit: limit.clone() } },
        Event::StopRequested,
        Event::SteeringQueued { id: "m1".into(), text: "繼續".into() },
        Event::RolledBack {
            to_iteration: 1,
            commit: "c1".into(),
            tree: "t1".into(),
            saved: Some("refs/windlass/l1/rollback/9".into()),
        },
        Event::LoopStopped {
            status: End::Exhausted,
            stop_reason: limit,
            outcome: None,
            verified: false,
            iterations: 2,
            head_commit: None,
            usage: Usage::default(),
        },
        Event::AgentChanged {
            role: Role::Coder,
            from: "claude".into(),
            to: "codex:m".into(),
            index: 1,
            why: "no such model".into(),
        },
        Event::Review(ReviewEvent::Planned { plan: Box::new(Plan::whole("do it")) }),
        Event::Review(ReviewEvent::AimChanged { aim: Aim::Section { number: 2 } }),
        Event::Review(ReviewEvent::FindingWritten { turn, finding: finding(turn) }),
        Event::Review(ReviewEvent::FindingResolved { turn, id: FindingId(1) }),
        Event::Review(ReviewEvent::PlanAdjusted {
            turn,
            adjustment: Adjustment { section: 1, before: "a".into(), after: "b".into(), rationale: "c".into() },
        }),
        Event::Review(ReviewEvent::VerdictGiven { turn, verdict: Opinion::Rejected { reason: "no".into() } }),
        Event::Review(ReviewEvent::Reported { turn, report: Box::new(Report::Unparsed { why: "empty".into() }) }),
        Event::Review(ReviewEvent::QuestionDeferred { turn, question: "which?".into(), default: Some("this".into()) }),
        Event::Review(ReviewEvent::ReviewSkipped { iteration: 2, because: SkippedBecause::NothingChanged }),
        Event::Review(ReviewEvent::AnswerUnreadable { turn, why: "no block".into() }),
        Event::Review(ReviewEvent::Reviewed {
            turn,
            ruling: Opinion::Dirty { open: vec!["f1".into()] },
            same: Some(1),
        }),
        Event::Review(ReviewEvent::RejectedUnseen { iteration: 2, reason: "it failed".into() }),
        Event::Review(ReviewEvent::SectionFinished {
            section: 1,
            title: "One".into(),
            checkpoint: checkpoint_of(turn),
        }),
        Event::Review(ReviewEvent::PostActionEnded { summary: "done".into(), commit: None }),
        Event::Review(ReviewEvent::PostActionRefused { failing: vec!["cargo test".into()] }),
        Event::Review(ReviewEvent::PostActionUndone { commit: "c".into(), tree: "t".into(), saved: None }),
        Event::Review(ReviewEvent::PersonRuled { approved: false, reason: Some("no".into()) }),
        Event::Review(ReviewEvent::MilestoneAmended { milestone: Box::new(milestone()) }),
        Event::ResidueChecked {
            left: vec![Leftover { kind: LeftoverKind::Process, what: "7 sleep".into(), fix: "windlass clean".into() }],
        },
        Event::NetworkDenied { host: "a.org:443".into(), why: "not listed".into(), count: 10 },
        Event::NotTried {
            step: Step::Gate,
            trouble: Trouble { kind: TroubleKind::Sandbox, message: "no user namespaces".into() },
            times: 2,
        },
        Event::Merged { merge: Merge { commit: "c9".into(), target: "main".into() } },
        Event::Review(ReviewEvent::DecisionsTold { turn, decisions: CoderDecisions::default() }),
        Event::UsageReported { turn, usage: usage(0.1, 3) },
        Event::LoopQueued { max_running: 2 },
        Event::QueueLeft { turn_began: false },
        Event::QuestionAsked {
            id: "q1".into(),
            turn,
            question: "Which?".into(),
            default: Some("this".into()),
            until: Some(start_of_time()),
        },
        Event::QuestionAnswered { id: "q1".into(), by: AnsweredBy::Default, answer: Some("this".into()), told: true },
        Event::Minimised { smaller: Smaller { commit: "c8".into(), head: "c7".into(), kept: 2, hunks: 5 } },
        Event::LoopMoved { from: Some("there".into()), to: "here".into() },
        Event::MergeRefused {
            refused: RefusedMerge { target: "main".into(), why: MergeObstacle::Conflicts { files: vec!["a".into()] } },
        },
    ]
}

fn milestone() -> Milestone {
    let text = "# M\n\n## Goal\n\nIt.\n\n## Features\n\n- [ ] F1: a\n\n## Acceptance Criteria\n\n- [ ] b\n";
    Milestone::parse("m", text).unwrap()
}

fn finding(turn: TurnKey) -> Finding {
    Finding {
        id: FindingId(1),
        file: "a.rs".into(),
        line: Some(3),
        severity: Severity::Bug,
        description: "wrong".into(),
        scenario: None,
        section: Some(1),
        recurrence: 2,
        written_in: turn,
        status: FindingStatus::Resolved { resolved_in: turn },
        history: Vec::new(),
    }
}

#[test]
fn the_list_above_has_every_event() {
    // A new variant does not compile here until it has a place, and the list has to hold it.
    let place = |event: &Event| match event {
        Event::LoopCreated { .. } => 0,
        Event::LoopOpened { .. } => 1,
        Event::DriverAttached { .. } => 2,
        Event::PhaseEntered { .. } => 3,
        Event::WorkspaceOpened { .. } => 4,
        Event::IterationStarted { .. } => 5,
        Event::TurnStarted { .. } => 6,
        Event::SessionFound { .. } => 7,
        Event::TurnInterrupted { .. } => 8,
        Event::TurnEnded { .. } => 9,
        Event::SessionLost { .. } => 10,
        Event::WorkspaceSetUp => 11,
        Event::Summarised { .. } => 12,
        Event::Checkpointed { .. } => 13,
        Event::GateEnded { .. } => 14,
        Event::IterationJudged { .. } => 15,
        Event::ClaimRefused { .. } => 16,
        Event::ProgressStalled { .. } => 17,
        Event::WaitStarted { .. } => 18,
        Event::WaitEnded => 19,
        Event::PauseRequested { .. } => 20,
        Event::LoopPaused { .. } => 21,
        Event::StopRequested => 22,
        Event::SteeringQueued { .. } => 23,
        Event::RolledBack { .. } => 24,
        Event::LoopStopped { .. } => 25,
        Event::NetworkDenied { .. } => 46,
        Event::NotTried { .. } => 47,
        Event::Merged { .. } => 48,
        Event::ResidueChecked { .. } => 45,
        Event::AgentChanged { .. } => 26,
        Event::Review(ReviewEvent::Planned { .. }) => 27,
        Event::Review(ReviewEvent::AimChanged { .. }) => 28,
        Event::Review(ReviewEvent::FindingWritten { .. }) => 29,
        Event::Review(ReviewEvent::FindingResolved { .. }) => 30,
        Event::Review(ReviewEvent::PlanAdjusted { .. }) => 31,
        Event::Review(ReviewEvent::VerdictGiven { .. }) => 32,
        Event::Review(ReviewEvent::Reported { .. }) => 33,
        Event::Review(ReviewEvent::QuestionDeferred { .. }) => 34,
        Event::Review(ReviewEvent::ReviewSkipped { .. }) => 35,
        Event::Review(ReviewEvent::AnswerUnreadable { .. }) => 36,
        Event::Review(ReviewEvent::Reviewed { .. }) => 37,
        Event::Review(ReviewEvent::RejectedUnseen { .. }) => 38,
        Event::Review(ReviewEvent::SectionFinished { .. }) => 39,
        Event::Review(ReviewEvent::PostActionEnded { .. }) => 40,
        Event::Review(ReviewEvent::PostActionRefused { .. }) => 41,
        Event::Review(ReviewEvent::PostActionUndone { .. }) => 42,
        Event::Review(ReviewEvent::PersonRuled { .. }) => 43,
        Event::Review(ReviewEvent::MilestoneAmended { .. }) => 44,
        Event::Review(ReviewEvent::DecisionsTold { .. }) => 49,
        Event::UsageReported { .. } => 50,
        Event::LoopQueued { .. } => 51,
        Event::QueueLeft { .. } => 52,
        Event::QuestionAsked { .. } => 53,
        Event::QuestionAnswered { .. } => 54,
        Event::Minimised { .. } => 55,
        Event::LoopMoved { .. } => 56,
        Event::MergeRefused { .. } => 57,
    };
    assert_eq!(every_event().iter().map(place).collect::<Vec<_>>(), (0..58).collect::<Vec<_>>());
}

#[test]
fn the_name_of_every_event_is_its_tag() {
    for event in every_event() {
        assert_eq!(serde_json::to_value(&event).unwrap()["type"], event.name());
    }
}

#[test]
fn every_event_reads_back_as_it_was_written() {
    for event in every_event() {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
    }
}

#[test]
fn every_key_and_every_tag_is_snake_case() {
    fn check(value: &Value) {
        let is_snake = |word: &str| word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    assert!(is_snake(key), "{key}");
                    if key == "type" {
                        assert!(is_snake(value.as_str().unwrap()), "{value}");
                    }
                    check(value);
                }
            }
            Value::Array(values) => values.iter().for_each(check),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    for event in every_event() {
        check(&serde_json::to_value(&event).unwrap());
    }
}
