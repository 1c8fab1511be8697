//! Where the transitions are checked: loops of every recipe, driven to a place by inputs.
#![allow(unreachable_pub, reason = "a module of a test crate")]

use crate::driven::*;
use windlass_core::agent::{ErrorKind, TurnReport};
use windlass_core::machine::{Input, Verdict};
use windlass_core::spec::{Done, Limits, LoopSpec, OnFailure, OnLimit, PostAction, ReviewSpec};

/// A loop in some state, reached by inputs.
pub struct Place {
    pub name: &'static str,
    pub reach: fn() -> Driven,
}

/// What is walked for one recipe.
pub struct Recipe {
    pub name: &'static str,
    pub about: &'static str,
    pub places: Vec<Place>,
}

pub fn recipes() -> Vec<Recipe> {
    vec![
        Recipe {
            name: "promise",
            about: "One gate, five iterations, a budget and a duration limit; `on_failure = stop` and `on_limit = stop` \
                    where nothing else is said.",
            places: places(),
        },
        Recipe { name: "refine", about: "Two iterations are the target; one gate.", places: refine_places() },
        Recipe {
            name: "audited",
            about: "A plan of two sections, one gate, a post-action, and a person who approves.",
            places: audited_places(),
        },
        Recipe {
            name: "milestone",
            about: "Features that an acceptor judges one by one, then the whole; three rejections in a row ask a person.",
            places: milestone_places(),
        },
    ]
}

fn spec() -> LoopSpec {
    LoopSpec {
        gates: vec![gate("cargo test")],
        limits: Limits {
            max_iterations: Some(5),
            duration_ms: Some(5 * HOUR),
            budget_usd: Some(1.0),
            max_tokens: None,
        },
        ..promise_loop()
    }
}

fn working() -> Driven {
    Driven::working(spec())
}

fn after_turn(report: TurnReport) -> Driven {
    let mut driven = working();
    driven.end_turn(report);
    driven
}

fn working_after(input: Input) -> Driven {
    let mut driven = working();
    driven.ok(input);
    driven
}

fn in_gates(report: TurnReport) -> Driven {
    let mut driven = after_turn(report);
    driven.checkpoint();
    driven
}

/// The gate passed, and a question is open.
fn waiting_for_an_answer(report: TurnReport) -> Driven {
    let mut driven = Driven::working(LoopSpec { question_wait_ms: 30 * MINUTE, ..spec() });
    driven.end_turn_and_checkpoint(TurnReport { claim: report.claim, ..asking("Which?", Some("this")) });
    driven.judge(Verdict::Pass);
    driven
}

fn places() -> Vec<Place> {
    vec![
        Place { name: "queued", reach: || Driven::created(spec()) },
        Place {
            name: "queued, until a place is free",
            reach: || {
                let mut driven = working();
                driven.ok(Input::Queue { max_running: 8 });
                driven
            },
        },
        Place {
            name: "running · prepare",
            reach: || {
                let mut driven = Driven::created(spec());
                driven.start();
                driven
            },
        },
        Place { name: "running · prepare, a turn is to be tried again", reach: || after_turn(cut_off()) },
        Place { name: "running · work", reach: working },
        Place { name: "running · work, to pause", reach: || working_after(Input::Pause { now: false }) },
        Place { name: "running · work, stopping", reach: || working_after(Input::Stop) },
        Place { name: "running · work, pausing now", reach: || working_after(Input::Pause { now: true }) },
        Place { name: "running · work, stalled", reach: || working_after(Input::Stalled { turn: key(1, 1) }) },
        Place {
            name: "running · work, stalled for the third time",
            reach: || {
                let mut driven = working();
                for attempt in 1..=2 {
                    driven.ok(Input::Stalled { turn: key(1, attempt) });
                    driven.end_turn(interrupted());
                    driven.ok(workspace_opened());
                }
                driven.ok(Input::Stalled { turn: key(1, 3) });
                driven
            },
        },
        Place {
            name: "running · work, cut off twice before",
            reach: || {
                let mut driven = working();
                for _ in 0..2 {
                    driven.end_turn(cut_off());
                    driven.ok(workspace_opened());
                }
                driven
            },
        },
        Place { name: "running · work, shutting down", reach: || working_after(Input::Shutdown) },
        Place {
            name: "running · work, out of budget",
            reach: || working_after(Input::UsageSeen { turn: key(1, 1), usage: usage(2.0, 1) }),
        },
        Place { name: "running · checkpoint", reach: || after_turn(finished()) },
        Place {
            name: "running · checkpoint, stopping",
            reach: || {
                let mut driven = after_turn(finished());
                driven.ok(Input::Stop);
                driven
            },
        },
        Place { name: "running · checkpoint, the turn failed", reach: || after_turn(failed(ErrorKind::Other)) },
        Place {
            name: "running · checkpoint, the turn failed, `on_failure = continue`",
            reach: || {
                let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..spec() });
                driven.end_turn(failed(ErrorKind::Other));
                driven
            },
        },
        Place {
            name: "running · checkpoint, out of budget",
            reach: || {
                let mut driven = working_after(Input::UsageSeen { turn: key(1, 1), usage: usage(2.0, 1) });
                driven.end_turn(costing(2.0, 1, interrupted()));
                driven
            },
        },
        Place { name: "running · gates", reach: || in_gates(finished()) },
        Place { name: "running · gates, claimed", reach: || in_gates(claimed()) },
        Place {
            name: "running · gates, claimed, steering is pending",
            reach: || {
                let mut driven = in_gates(claimed());
                driven.ok(Input::Steer { id: "m0".into(), text: "first".into(), now: false });
                driven
            },
        },
        Place {
            name: "running · gates, to pause",
            reach: || {
                let mut driven = in_gates(finished());
                driven.ok(Input::Pause { now: false });
                driven
            },
        },
        Place { name: "running · gates, last iteration", reach: || last_iteration(OnLimit::Stop) },
        Place {
            name: "running · gates, last iteration, `on_limit = pause`", reach: || last_iteration(OnLimit::Pause)
        },
        Place { name: "waiting for a provider", reach: || after_turn(failed(ErrorKind::Overloaded)) },
        Place {
            name: "waiting after a failure",
            reach: || {
                let mut driven = Driven::working(LoopSpec { on_failure: OnFailure::Continue, ..spec() });
                driven.end_turn_and_checkpoint(failed(ErrorKind::Other));
                driven
            },
        },
        Place { name: "waiting for an answer", reach: || waiting_for_an_answer(finished()) },
        Place { name: "waiting for an answer, claimed", reach: || waiting_for_an_answer(claimed()) },
        Place { name: "paused in a turn", reach: || after_turn(failed(ErrorKind::Auth)) },
        Place {
            name: "paused between iterations",
            reach: || {
                let mut driven = in_gates(finished());
                driven.ok(Input::Pause { now: false });
                driven.judge(Verdict::Fail);
                driven
            },
        },
        Place {
            name: "paused at a limit",
            reach: || {
                let mut driven = last_iteration(OnLimit::Pause);
                driven.judge(Verdict::Fail);
                driven
            },
        },
        Place {
            name: "exhausted",
            reach: || {
                let mut driven = last_iteration(OnLimit::Stop);
                driven.judge(Verdict::Fail);
                driven
            },
        },
        Place {
            name: "cancelled in a turn",
            reach: || {
                let mut driven = working_after(Input::Stop);
                driven.end_turn(interrupted());
                driven
            },
        },
        Place {
            name: "cancelled in the gates",
            reach: || {
                let mut driven = in_gates(finished());
                driven.ok(Input::Stop);
                driven
            },
        },
        Place {
            name: "errored",
            reach: || {
                let mut driven = after_turn(failed(ErrorKind::Other));
                driven.checkpoint();
                driven
            },
        },
        Place {
            name: "completed",
            reach: || {
                let mut driven = in_gates(claimed());
                driven.judge(Verdict::Pass);
                driven
            },
        },
    ]
}

/// The gates of the last iteration that is allowed.
fn last_iteration(on_limit: OnLimit) -> Driven {
    let limits = Limits { max_iterations: Some(1), ..spec().limits };
    let mut driven = Driven::working(LoopSpec { limits, on_limit, ..spec() });
    driven.end_turn_and_checkpoint(finished());
    driven
}

fn refine() -> LoopSpec {
    LoopSpec {
        done: Done::Count { iterations: 2 },
        limits: Limits::default(),
        on_failure: OnFailure::Continue,
        gates: vec![gate("cargo test")],
        ..promise_loop()
    }
}

fn refining(iteration: u32) -> Driven {
    let mut driven = Driven::working(refine());
    for _ in 1..iteration {
        driven.end_turn_and_checkpoint(finished());
        driven.judge(Verdict::Pass);
    }
    driven
}

fn refine_places() -> Vec<Place> {
    vec![
        Place { name: "running · work", reach: || refining(1) },
        Place {
            name: "running · gates",
            reach: || {
                let mut driven = refining(1);
                driven.end_turn_and_checkpoint(finished());
                driven
            },
        },
        Place {
            name: "running · gates, the last iteration",
            reach: || {
                let mut driven = refining(2);
                driven.end_turn_and_checkpoint(finished());
                driven
            },
        },
    ]
}

fn audited_loop() -> Driven {
    let post_action = Some(PostAction { prompt: Some("tidy up".into()), skill: None });
    let review = ReviewSpec { post_action, human_review: true, ..reviewed::audit() };
    Driven::working(LoopSpec {
        gates: vec![gate("cargo test")],
        ..reviewed::audited(Some(reviewed::TWO_SECTIONS), review)
    })
}

/// Up to the review of a section; after the second section the whole is reviewed.
fn in_audit(section: u32) -> Driven {
    let mut driven = audited_loop();
    for number in 1..=section {
        if number <= 2 {
            driven.end_turn_and_checkpoint(reviewed::answer("done"));
            driven.judge(Verdict::Pass);
        }
        if number < section {
            driven.end_turn(reviewed::clean());
            let turn = driven.state.last_turn.as_ref().unwrap().key;
            driven.ok(Input::Sealed { section: number, checkpoint: checkpoint_of(turn) });
            if number == 2 {
                driven.judge(Verdict::Pass);
            }
        }
    }
    driven
}

fn finishing() -> Driven {
    let mut driven = in_audit(3);
    driven.end_turn(reviewed::clean());
    driven
}

fn audited_places() -> Vec<Place> {
    vec![
        Place { name: "running · work", reach: audited_loop },
        Place { name: "running · review", reach: || in_audit(1) },
        Place {
            name: "running · review, asked again",
            reach: || {
                let mut driven = in_audit(1);
                driven.end_turn(reviewed::answer("looks good"));
                driven
            },
        },
        Place { name: "running · review, of the whole", reach: || in_audit(3) },
        Place {
            name: "running · seal",
            reach: || {
                let mut driven = in_audit(1);
                driven.end_turn(reviewed::clean());
                driven
            },
        },
        Place { name: "running · post_action", reach: finishing },
        Place {
            name: "running · gates, after the post-action",
            reach: || {
                let mut driven = finishing();
                driven.end_turn_and_checkpoint(reviewed::answer("tidied"));
                driven
            },
        },
        Place {
            name: "running · undo",
            reach: || {
                let mut driven = finishing();
                driven.end_turn_and_checkpoint(reviewed::answer("tidied"));
                driven.judge(Verdict::Fail);
                driven
            },
        },
        Place {
            name: "awaiting_review",
            reach: || {
                let mut driven = finishing();
                driven.end_turn_and_checkpoint(reviewed::answer("tidied"));
                driven.judge(Verdict::Pass);
                driven
            },
        },
    ]
}

fn developing(report: TurnReport) -> Driven {
    let mut driven = Driven::working(reviewed::milestone());
    reviewed::develop(&mut driven, report);
    driven
}

fn milestone_places() -> Vec<Place> {
    vec![
        Place { name: "running · work", reach: || Driven::working(reviewed::milestone()) },
        Place { name: "running · review", reach: || developing(reviewed::feature("F1", None)) },
        Place { name: "running · review, of the whole", reach: || developing(reviewed::all_features()) },
        Place {
            name: "running · review, twice rejected before",
            reach: || {
                let mut driven = Driven::working(reviewed::milestone());
                for _ in 0..2 {
                    reviewed::round(&mut driven, reviewed::feature("F1", None), reviewed::rejected("no"));
                }
                reviewed::develop(&mut driven, reviewed::feature("F1", None));
                driven
            },
        },
        Place { name: "paused after three rejections", reach: reviewed::reject_three_times },
    ]
}
