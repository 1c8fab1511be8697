//! What holds for every loop, whoever judges its work.

use proptest::prelude::*;
use windlass_core::agent::TurnOutcome;
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{
    Effect, Event, Input, Opener, Refusal, ReviewEvent, Timer, TimerKind, decide, effects, evolve, replay,
};
use windlass_core::spec::{CommitPolicy, WorkspaceKind};
use windlass_core::stop::{End, Outcome, PauseReason, Status, StopReason, WaitReason};

use super::{Given, Walk};

pub fn replay_equals_live(walk: &Walk) -> Result<(), TestCaseError> {
    let stored: Vec<_> = walk.driven.journal.iter().map(|(at, event)| (*at, through_json(event))).collect();
    prop_assert_eq!(&walk.driven.journal, &stored);
    prop_assert_eq!(&replay(stored.clone()).unwrap(), &walk.driven.state);
    // Also at every place where a crash could end the journal: batches are whole.
    let mut replayed = replay(stored[..1].to_vec()).unwrap();
    let mut rest = stored[1..].iter();
    for given in &walk.given {
        for (at, event) in rest.by_ref().take(given.events().len()) {
            replayed = evolve(replayed, *at, event);
        }
        prop_assert_eq!(&replayed, &given.after);
        prop_assert_eq!(effects(&replayed), effects(&given.after));
    }
    Ok(())
}

pub fn completed_is_absorbing_and_other_ends_accept_only_to_be_opened_again(walk: &Walk) -> Result<(), TestCaseError> {
    // Going back moves the tree of a loop that has ended, and leaves it ended.
    for given in &walk.given {
        let Status::Ended { end } = given.before.status() else { continue };
        let reopens = match &given.input {
            Input::Open { by, .. } => *by != Opener::Start && end != End::Completed,
            Input::Continue { .. } => end == End::Completed,
            Input::RolledBack { .. }
            | Input::ResidueChecked { .. }
            | Input::Merged { .. }
            | Input::MergeRefused { .. }
            | Input::Minimised { .. } => given.after.status() == given.before.status(),
            Input::AmendMilestone { .. } => end != End::Completed && given.after.status() == given.before.status(),
            _ => false,
        };
        prop_assert!(reopens || given.result.is_err(), "{:?} in {end:?}", given.input);
    }
    Ok(())
}

pub fn limits_are_never_exceeded(walk: &Walk) -> Result<(), TestCaseError> {
    for (given, event) in walk.events() {
        let state = &given.after;
        if let Some(max) = state.iteration_limit() {
            prop_assert!(state.iteration <= max, "iteration {} of {max}", state.iteration);
        }
        if let Event::TurnStarted { .. } = event {
            // Usage does not change with the start of a turn, so what stands after the batch stood before it.
            let limits = &state.spec.limits;
            prop_assert!(state.duration_limit_ms().is_none_or(|limit| state.elapsed_at(given.at) < limit));
            prop_assert!(limits.budget_usd.is_none_or(|limit| state.used().known_cost_usd < limit));
            prop_assert!(limits.max_tokens.is_none_or(|limit| state.used().total().tokens() < limit));
        }
    }
    Ok(())
}

pub fn an_answer_is_accepted_when_it_is_wanted_and_refused_when_it_is_stale(walk: &Walk) -> Result<(), TestCaseError> {
    for given in &walk.given {
        if let Some(wanted) = is_wanted(given) {
            prop_assert_eq!(given.result.is_ok(), wanted, "{:?} in {:?}", given.input, given.before);
        }
        if given.result.is_err() {
            prop_assert_eq!(&given.before, &given.after);
        }
    }
    Ok(())
}

pub fn every_stretch_has_exactly_one_stop_reason(walk: &Walk) -> Result<(), TestCaseError> {
    let mut ended = false;
    for (_, event) in walk.events() {
        match event {
            Event::LoopOpened { .. } => ended = false,
            Event::LoopStopped { status, stop_reason, .. } => {
                prop_assert!(!ended, "stopped twice");
                prop_assert_eq!(*status, stop_reason.end());
                ended = true;
            }
            Event::RolledBack { .. }
            | Event::Merged { .. }
            | Event::MergeRefused { .. }
            | Event::Minimised { .. }
            | Event::ResidueChecked { .. }
            | Event::Review(ReviewEvent::MilestoneAmended { .. }) => {}
            _ => prop_assert!(!ended, "{} after the end", event.name()),
        }
    }
    prop_assert_eq!(ended, walk.driven.state.status().is_ended());
    prop_assert_eq!(ended, walk.driven.state.stop_reason().is_some());
    Ok(())
}

pub fn a_loop_wants_something_exactly_when_it_is_under_way(walk: &Walk) -> Result<(), TestCaseError> {
    for given in &walk.given {
        let state = &given.after;
        let wanted = effects(state);
        prop_assert_eq!(&wanted, &effects(&state.clone()), "effects are a function of the state");
        match &state.status() {
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => prop_assert!(wanted.is_empty()),
            Status::Running => prop_assert!(does_something(&wanted), "stuck in {}: {wanted:?}", state.phase().name()),
            Status::Waiting { until, .. } => {
                let timer = Timer { kind: TimerKind::Wait, at: *until };
                let timer = Effect::SetTimer { timer };
                prop_assert!(wanted.contains(&timer));
            }
        }
        for effect in &wanted {
            prop_assert!(wanted.iter().filter(|other| *other == effect).count() == 1, "{effect:?} twice");
            if let Effect::RunGate { gate } = effect {
                prop_assert!(gate.index < state.spec.gates.len(), "there is no gate {}", gate.index);
            }
        }
    }
    Ok(())
}

pub fn no_more_claims_are_refused_than_made(walk: &Walk) -> Result<(), TestCaseError> {
    for given in &walk.given {
        prop_assert!(given.after.claims.refused <= given.after.claims.made);
    }
    Ok(())
}

pub fn after_a_stop_or_a_pause_is_asked_for_no_turn_starts(walk: &Walk) -> Result<(), TestCaseError> {
    let mut asked = None;
    for (_, event) in walk.events() {
        match event {
            Event::StopRequested => asked = Some("stop"),
            Event::PauseRequested { .. } => {
                prop_assert_ne!(asked, Some("stop"), "a pause takes a stop back");
                asked = Some("pause");
            }
            Event::LoopOpened { .. } | Event::Review(ReviewEvent::PersonRuled { .. }) => asked = None,
            Event::TurnStarted { .. } => prop_assert_eq!(asked, None),
            Event::LoopStopped { stop_reason, .. } if asked == Some("stop") => {
                let honest = matches!(stop_reason, StopReason::Cancelled | StopReason::WorkspaceMissing { .. });
                prop_assert!(honest, "a stop by a person is shown as {}", stop_reason.name());
            }
            _ => {}
        }
    }
    Ok(())
}

/// Trouble is told apart from everything that counts: it takes no iteration, refuses no claim, rejects nothing.
pub fn what_could_not_be_tried_is_no_verdict(walk: &Walk) -> Result<(), TestCaseError> {
    for given in &walk.given {
        let not_tried = match &given.input {
            Input::NotTried { .. } => true,
            Input::TurnEnded { report, .. } => matches!(report.outcome, TurnOutcome::NotTried { .. }),
            _ => false,
        };
        if !not_tried || given.result.is_err() {
            continue;
        }
        let (before, after) = (&given.before, &given.after);
        prop_assert_eq!(before.claims, after.claims);
        prop_assert_eq!(before.iterations.len(), after.iterations.len());
        prop_assert_eq!(&before.gates, &after.gates);
        prop_assert_eq!(before.counters.failures, after.counters.failures);
        if let Some((before, after)) = before.review.as_ref().zip(after.review.as_ref()) {
            prop_assert_eq!(before.rejections, after.rejections);
            prop_assert_eq!(&before.post_action, &after.post_action);
        }
        let asked = before.wish.is_some();
        let rests = match &after.status() {
            Status::Waiting { why, .. } => matches!(why, WaitReason::Infrastructure { .. }),
            Status::Paused { why } => asked || matches!(why, PauseReason::Infrastructure { .. }),
            Status::Ended { end } => asked && *end == End::Cancelled,
            Status::Queued | Status::Running => false,
        };
        prop_assert!(rests, "{:?}", after.status());
    }
    Ok(())
}

/// Only a commit that changes something, and that somebody agreed to, looks verified.
pub fn only_judged_changes_on_a_commit_are_verified(walk: &Walk) -> Result<(), TestCaseError> {
    for (given, event) in walk.events() {
        let Event::LoopStopped { status, outcome, verified, head_commit, .. } = event else { continue };
        let state = &given.after;
        prop_assert_eq!(outcome.is_some(), *status == End::Completed);
        prop_assert_eq!(*verified, *outcome == Some(Outcome::Verified));
        if *verified {
            let workspace = state.workspace.as_ref().unwrap();
            prop_assert!(workspace.tree != workspace.base_tree || workspace.head_commit != workspace.base_commit);
            prop_assert!(head_commit.is_some() && state.spec.commit != CommitPolicy::Off);
            prop_assert!(matches!(state.spec.workspace.kind, WorkspaceKind::Clone));
            let agreed = state
                .review
                .as_ref()
                .is_some_and(|review| review.agreed.as_ref().is_some_and(|agreed| agreed.commit == *head_commit));
            prop_assert!(agreed || (!state.gates.is_empty() && state.failing_gates().is_empty()));
        }
    }
    Ok(())
}

/// No iteration starts while somebody can still answer, and no question is answered twice or left open at the end.
pub fn open_questions_hold_the_next_iteration(walk: &Walk) -> Result<(), TestCaseError> {
    for given in &walk.given {
        let mut open: Vec<String> = given.before.open_questions().map(|question| question.id.clone()).collect();
        for event in given.events() {
            match event {
                Event::QuestionAsked { id, .. } => open.push(id.clone()),
                Event::QuestionAnswered { id, .. } => {
                    prop_assert!(open.contains(id), "{id} is answered twice");
                    open.retain(|other| other != id);
                }
                Event::IterationStarted { iteration } => {
                    prop_assert!(open.is_empty(), "iteration {iteration} starts although {open:?} are open");
                }
                Event::LoopStopped { status: End::Completed, .. } => prop_assert!(open.is_empty(), "{open:?}"),
                Event::TurnStarted { turn, answers, .. } if turn.role == Role::Coder => {
                    let unread = given.before.questions.iter().filter_map(|question| {
                        let answer = question.answer.as_ref()?;
                        answer.delivered.is_none().then_some(&question.id)
                    });
                    let unread: Vec<&String> = unread.collect();
                    prop_assert!(unread.iter().all(|id| answers.contains(id)), "{unread:?} are not in {answers:?}");
                }
                _ => {}
            }
        }
        prop_assert_eq!(given.after.open_questions().count(), open.len());
        let waits = given.after.spec.question_wait_ms > 0;
        prop_assert!(waits || open.is_empty(), "a loop that never waits has an open question");
    }
    Ok(())
}

pub fn a_decision_is_a_function_of_its_arguments(walk: &Walk) -> Result<(), TestCaseError> {
    for given in &walk.given {
        prop_assert_eq!(&decide(&given.before, &given.input, given.at), &given.result);
    }
    Ok(())
}

/// As a store would hand it back.
fn through_json(event: &Event) -> Event {
    serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap()
}

/// Whether the input answers something that is under way; nothing for inputs that answer nothing.
fn is_wanted(given: &Given) -> Option<bool> {
    let wanted = effects(&given.before);
    let runs = |turn: &TurnKey| {
        wanted.iter().any(|effect| match effect {
            Effect::RunTurn { turn: wanted, .. } => wanted == turn,
            _ => false,
        })
    };
    let ends = |turn: &TurnKey| wanted.contains(&Effect::EndTurn { turn: *turn });
    Some(match &given.input {
        Input::TurnEnded { turn, .. } | Input::SessionSeen { turn, .. } | Input::UsageSeen { turn, .. } => {
            runs(turn) || ends(turn)
        }
        Input::Stalled { turn } | Input::DiskShort { turn, .. } => runs(turn),
        Input::NotTried { effect, .. } => match effect {
            Effect::RunTurn { turn, .. } | Effect::EndTurn { turn } => runs(turn) || ends(turn),
            _ => wanted.contains(effect) && !matches!(effect, Effect::SetTimer { .. }),
        },
        Input::SetUp => wanted.contains(&Effect::SetUpWorkspace),
        Input::Summarised { turn, .. } => wanted.contains(&Effect::Summarise { turn: *turn }),
        Input::Checkpointed { turn, .. } => wanted.contains(&Effect::Checkpoint { turn: *turn }),
        // What is wanted may still not be the agent's to do.
        Input::Acted { .. } if given.result.as_ref().is_err_and(|refusal| *refusal != Refusal::Stale) => return None,
        Input::Acted { turn, .. } => runs(turn) || ends(turn),
        Input::Sealed { section, .. } => wanted.contains(&Effect::Seal { section: *section }),
        Input::Undone { commit, .. } => wanted.contains(&Effect::Undo { commit: commit.clone() }),
        Input::GateEnded { gate, .. } => wanted.contains(&Effect::RunGate { gate: gate.clone() }),
        Input::WorkspaceOpened { .. } => wanted.iter().any(|effect| matches!(effect, Effect::OpenWorkspace { .. })),
        Input::TimerFired { timer } => wanted.iter().any(|effect| match effect {
            Effect::SetTimer { timer: wanted } => wanted.kind == *timer && (wanted.at <= given.at || is_over(given)),
            _ => false,
        }),
        // Any phase can find its workspace gone.
        Input::WorkspaceFailed { .. } => given.before.status() == Status::Running,
        Input::Open { .. }
        | Input::Continue { .. }
        | Input::Queue { .. }
        | Input::LeaveQueue { .. }
        | Input::Attach { .. }
        | Input::Moved { .. }
        | Input::Merged { .. }
        | Input::MergeRefused { .. }
        | Input::Minimised { .. }
        | Input::Shutdown
        | Input::Stop
        | Input::Pause { .. }
        | Input::Approve { .. }
        | Input::AmendMilestone { .. }
        | Input::Reject { .. }
        | Input::ResidueChecked { .. }
        | Input::NetworkDenied { .. }
        | Input::RolledBack { .. }
        | Input::Answer { .. }
        | Input::Steer { .. } => return None,
    })
}

/// Whether the loop has run for as long as it may, also if the clock has gone back since.
fn is_over(given: &Given) -> bool {
    matches!(given.input, Input::TimerFired { timer: TimerKind::Duration })
        && given.before.duration_limit_ms().is_some_and(|limit| given.before.elapsed_at(given.at) >= limit)
}

fn does_something(wanted: &[Effect]) -> bool {
    wanted.iter().any(|effect| match effect {
        Effect::OpenWorkspace { .. }
        | Effect::SetUpWorkspace
        | Effect::Summarise { .. }
        | Effect::RunTurn { .. }
        | Effect::EndTurn { .. }
        | Effect::Checkpoint { .. }
        | Effect::Seal { .. }
        | Effect::Undo { .. }
        | Effect::RunGate { .. } => true,
        Effect::SetTimer { .. } => false,
    })
}
