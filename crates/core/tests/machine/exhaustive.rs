//! Small loops of every recipe, explored completely: every sequence of inputs with at most so many disturbances.
//!
//! What an agent, a gate or a reviewer may answer is free, so a path ends only where the loop does; everything else (a
//! crash, a failure, a person's command, a wrong answer) is a disturbance. A state is explored once, however it was reached.
//!
//! To look further: `DISTURBANCES=3 cargo test --release -p windlass-core --test machine exhaustive -- --nocapture`.
#![allow(clippy::wildcard_enum_match_arm, reason = "one effect is looked for")]
#![allow(clippy::disallowed_methods, reason = "how far to look is the caller's choice; the machine reads no variable")]
#![allow(clippy::print_stdout, reason = "how much was explored is a figure that people ask for")]

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use windlass_core::agent::TurnReport;
use windlass_core::ids::Role;
use windlass_core::machine::{CheckpointReport, Effect, Event, Input, LoopState, Phase, Verdict, effects, evolve};
use windlass_core::spec::{Done, Limits, LoopSpec, OnFailure, OnLimit, PostAction, ReviewSpec};
use windlass_core::stop::Status;

use crate::driven::*;
use crate::transition_table::{Case, ended, inputs, turn};
use crate::walk::{Given, Walk, rules};

/// The longest way from any state to its end, when nothing is out of the ordinary.
const LONGEST: usize = 80;

/// More states than any of these loops has with two disturbances.
const MOST: usize = 5_000_000;

#[test]
fn every_state_of_a_small_promise_loop_is_sound() {
    let explored = explore("promise", small(promise_loop()));
    assert_eq!(explored.phases, BTreeSet::from(["prepare", "work", "checkpoint", "gates"]));
}

#[test]
fn every_state_of_a_small_refine_loop_is_sound() {
    let explored = explore("refine", small(LoopSpec { done: Done::Count { iterations: 2 }, ..promise_loop() }));
    assert_eq!(explored.phases, BTreeSet::from(["prepare", "work", "checkpoint", "gates"]));
}

#[test]
fn every_state_of_a_small_audited_loop_is_sound() {
    let post_action = Some(PostAction { prompt: Some("tidy up".into()), skill: None });
    let review =
        ReviewSpec { post_action, human_review: true, fallbacks: vec![reviewed::agent("b")], ..reviewed::audit() };
    let explored = explore("audited", small(reviewed::audited(Some(reviewed::TWO_SECTIONS), review)));
    assert_eq!(
        explored.phases,
        BTreeSet::from(["prepare", "work", "checkpoint", "gates", "review", "post_action", "undo", "seal"])
    );
}

#[test]
fn every_state_of_a_small_milestone_is_sound() {
    let review = ReviewSpec { fallbacks: vec![reviewed::agent("b")], ..reviewed::acceptance() };
    let explored = explore("milestone", small(reviewed::reviewed("milestone", review)));
    assert_eq!(explored.phases, BTreeSet::from(["prepare", "work", "checkpoint", "gates", "review"]));
}

/// Two iterations, one gate, one more agent to fall back to.
fn small(spec: LoopSpec) -> LoopSpec {
    LoopSpec {
        gates: vec![gate("cargo test")],
        limits: Limits {
            max_iterations: Some(2),
            duration_ms: Some(5 * HOUR),
            budget_usd: Some(1.0),
            max_tokens: None,
        },
        question_wait_ms: 10 * MINUTE,
        fallbacks: vec![reviewed::agent("b")],
        on_failure: OnFailure::Retry { times: 1 },
        on_limit: OnLimit::Stop,
        ..spec
    }
}

struct Node {
    /// Until it is explored.
    state: Option<LoopState>,
    disturbances: u32,
    /// The node it was first reached from, and by what.
    from: Option<(usize, &'static str)>,
}

#[derive(Default)]
struct Explored {
    nodes: Vec<Node>,
    known: HashMap<u64, (usize, u32)>,
    edges: u64,
    refusals: BTreeSet<String>,
    events: BTreeSet<&'static str>,
    phases: BTreeSet<&'static str>,
}

fn explore(recipe: &str, spec: LoopSpec) -> Explored {
    let most = std::env::var("DISTURBANCES").map_or(1, |number| number.parse().expect("DISTURBANCES is a number"));
    let cases = cases();
    let mut explored = Explored::default();
    let mut open = VecDeque::new();
    explored.reach(Driven::created(spec).state, 0, None, &mut open);
    while let Some((index, disturbances)) = open.pop_front() {
        if explored.nodes[index].disturbances < disturbances {
            continue;
        }
        let Some(state) = explored.nodes[index].state.take() else { continue };
        explored.look_at(index, &state);
        for case in &cases {
            let cost = disturbances + u32::from(!is_expected(&state, case.name));
            if cost > most {
                continue;
            }
            let given = give(&state, case);
            match &given.result {
                Err(refusal) => {
                    let shown = format!("{refusal:?}");
                    explored.refusals.insert(shown.split([' ', '{', '(']).next().unwrap_or_default().to_owned());
                }
                Ok(_) => {
                    if let Err(broken) = check(Given {
                        before: given.before.clone(),
                        at: given.at,
                        input: given.input.clone(),
                        result: given.result.clone(),
                        after: given.after.clone(),
                    }) {
                        panic!("{broken}\n\nafter {}", explored.story(index, case.name));
                    }
                    explored.edges += 1;
                    explored.events.extend(given.events().iter().map(Event::name));
                    explored.reach(given.after, cost, Some((index, case.name)), &mut open);
                }
            }
        }
    }
    println!(
        "{recipe}: {} states, {} edges, at most {most} disturbances; {} events, {} phases, {} refusals",
        explored.nodes.len(),
        explored.edges,
        explored.events.len(),
        explored.phases.len(),
        explored.refusals.len()
    );
    explored
}

/// What may be answered to what is wanted, without anything being out of the ordinary.
fn is_expected(state: &LoopState, name: &str) -> bool {
    let names: &[&str] = match effects(state).first() {
        Some(Effect::OpenWorkspace { .. }) => &["workspace opened"],
        Some(Effect::SetUpWorkspace) => &["set up"],
        Some(Effect::RunTurn { turn, .. }) => match (turn.role, &state.spec.review) {
            (Role::Coder, Some(review)) if review.milestone.is_some() => &["feature done", "all features done"],
            (Role::Coder, None) => &["turn finished", "turn finished with a claim"],
            (Role::Auditor, _) => &["audit clean", "audit dirty"],
            (Role::Acceptor, _) => &["accepted", "rejected"],
            (Role::Coder | Role::Planner | Role::Finisher | Role::Summariser, _) => &["turn finished"],
        },
        Some(Effect::EndTurn { .. }) => &["turn interrupted"],
        Some(Effect::Checkpoint { .. }) => &["checkpointed", "checkpointed without a change"],
        Some(Effect::RunGate { .. }) => &["gate passed", "gate failed"],
        Some(Effect::Seal { .. }) => &["section sealed"],
        Some(Effect::Undo { .. }) => &["undone"],
        Some(Effect::SetTimer { .. }) => &["wait over"],
        Some(Effect::Summarise { .. }) => &[],
        None => match state.status() {
            Status::Queued if !state.awaits_place() => &["start"],
            Status::Paused { .. } => &["approve", "reject"],
            Status::Queued | Status::Running | Status::Waiting { .. } | Status::Ended { .. } => &[],
        },
    };
    names.contains(&name)
}

impl Explored {
    fn reach(
        &mut self,
        state: LoopState,
        disturbances: u32,
        from: Option<(usize, &'static str)>,
        open: &mut VecDeque<(usize, u32)>,
    ) {
        let mark = mark(&state);
        let index = match self.known.get_mut(&mark) {
            Some((_, best)) if *best <= disturbances => return,
            Some((index, best)) => {
                *best = disturbances;
                let index = *index;
                self.nodes[index].disturbances = disturbances;
                self.nodes[index].from = from;
                self.nodes[index].state = Some(state);
                index
            }
            None => {
                assert!(
                    self.nodes.len() < MOST,
                    "it goes on for ever, as in {}",
                    self.story(from.map_or(0, |from| from.0), "")
                );
                self.known.insert(mark, (self.nodes.len(), disturbances));
                self.nodes.push(Node { state: Some(state), disturbances, from });
                self.nodes.len() - 1
            }
        };
        // Those with fewer disturbances first, so that few states are explored twice.
        match from {
            Some((before, _)) if self.nodes[before].disturbances == disturbances => {
                open.push_front((index, disturbances))
            }
            _ => open.push_back((index, disturbances)),
        }
    }

    fn look_at(&mut self, index: usize, state: &LoopState) {
        if state.status() == Status::Running {
            self.phases.insert(state.phase().name());
            assert_ne!(state.phase(), Phase::Decide, "rests in a decision after {}", self.story(index, ""));
        }
        if let Err(why) = a_stop_ends_it(state) {
            panic!("a stop does not end it: {why}\n\nafter {}", self.story(index, "stop"));
        }
        if let Err(why) = it_comes_to_rest(state) {
            panic!("it does not come to rest: {why}\n\nafter {}", self.story(index, ""));
        }
    }

    /// How a state was reached, input by input.
    fn story(&self, mut index: usize, last: &'static str) -> String {
        let mut names = vec![last];
        while let Some((before, by)) = self.nodes[index].from {
            names.push(by);
            index = before;
        }
        names.reverse();
        names.join(" · ")
    }
}

/// The same for states that differ only in how many events led to them.
fn mark(state: &LoopState) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut same = state.clone();
    same.seq = 0;
    format!("{same:?}").hash(&mut hasher);
    hasher.finish()
}

fn cases() -> Vec<Case> {
    let mut cases = inputs();
    cases.extend([
        Case { name: "feature done", input: |driven| ended(driven, reviewed::feature("F1", None)) },
        Case { name: "all features done", input: |driven| ended(driven, reviewed::all_features()) },
        Case {
            name: "checkpointed without a change",
            input: |driven| Input::Checkpointed { turn: turn(driven), checkpoint: unchanged(&driven.state) },
        },
        Case { name: "set up", input: |_| Input::SetUp },
        Case {
            name: "section sealed",
            input: |driven| Input::Sealed { section: due(driven), checkpoint: checkpoint_of(turn(driven)) },
        },
    ]);
    cases
}

/// The section whose commit is wanted.
fn due(driven: &Driven) -> u32 {
    let section = driven.effects().into_iter().find_map(|effect| match effect {
        Effect::Seal { section } => Some(section),
        _ => None,
    });
    section.unwrap_or_default()
}

fn unchanged(state: &LoopState) -> CheckpointReport {
    let tree = state.workspace.as_ref().and_then(|workspace| workspace.tree.clone()).unwrap_or_default();
    CheckpointReport {
        commit: state.head_commit().map(str::to_owned),
        tree,
        files: Vec::new(),
        files_changed: 0,
        created: false,
        ..checkpoint_of(key(1, 1))
    }
}

fn driven(state: &LoopState) -> Driven {
    Driven { state: state.clone(), journal: Vec::new(), now: state.updated_at }
}

fn give(state: &LoopState, case: &Case) -> Given {
    let mut driven = driven(state);
    let input = (case.input)(&mut driven);
    let result = driven.give(input.clone());
    Given { before: state.clone(), at: driven.now, input, result, after: driven.state }
}

/// One step is a walk too.
fn check(given: Given) -> Result<(), String> {
    let walk = Walk { driven: driven(&given.after), given: vec![given] };
    let rules = [
        rules::completed_is_absorbing_and_other_ends_accept_only_to_be_opened_again,
        rules::limits_are_never_exceeded,
        rules::an_answer_is_accepted_when_it_is_wanted_and_refused_when_it_is_stale,
        rules::a_loop_wants_something_exactly_when_it_is_under_way,
        rules::no_more_claims_are_refused_than_made,
        rules::what_could_not_be_tried_is_no_verdict,
        rules::only_judged_changes_on_a_commit_are_verified,
        rules::a_decision_is_a_function_of_its_arguments,
        rules::open_questions_hold_the_next_iteration,
    ];
    for rule in rules {
        rule(&walk).map_err(|broken| broken.to_string())?;
    }
    let given = &walk.given[0];
    no_turn_starts_against_a_wish(given)?;
    replays(given)
}

fn no_turn_starts_against_a_wish(given: &Given) -> Result<(), String> {
    let mut wish = given.before.wish.is_some();
    for event in given.events() {
        match event.name() {
            "loop_opened" | "person_ruled" => wish = false,
            "turn_started" if wish => return Err("a turn starts although a stop or a pause is asked for".into()),
            _ => {}
        }
    }
    Ok(())
}

/// What is stored leads to the same state.
fn replays(given: &Given) -> Result<(), String> {
    let mut state = given.before.clone();
    for event in given.events() {
        let stored = serde_json::to_string(event).map_err(|error| error.to_string())?;
        state = evolve(state, given.at, &serde_json::from_str(&stored).map_err(|error| error.to_string())?);
    }
    if state == given.after { Ok(()) } else { Err("what is stored leads to another state".into()) }
}

/// From every state that has not ended, a stop leads to an end, whatever is under way.
fn a_stop_ends_it(state: &LoopState) -> Result<(), String> {
    let mut driven = driven(state);
    if state.status().is_ended() {
        return Ok(());
    }
    let asked = driven.give(Input::Stop);
    for _ in 0..LONGEST {
        if driven.state.status().is_ended() {
            return Ok(());
        }
        let Some(answer) = answer(&mut driven) else { break };
        driven.give(answer).map_err(|refusal| refusal.to_string())?;
    }
    Err(format!("{:?} after {asked:?}", driven.state.status()))
}

/// Undisturbed, every loop that is under way comes to an end or to a question.
fn it_comes_to_rest(state: &LoopState) -> Result<(), String> {
    let mut driven = driven(state);
    for _ in 0..LONGEST {
        if !driven.state.is_under_way() {
            return Ok(());
        }
        let answer = answer(&mut driven).ok_or("it wants nothing")?;
        let shown = format!("{answer:?}");
        driven.give(answer).map_err(|refusal| format!("{shown}: {refusal}"))?;
    }
    Err(format!("{:?}", driven.state.activity))
}

/// The plainest answer to the first thing that is wanted.
fn answer(driven: &mut Driven) -> Option<Input> {
    Some(match effects(&driven.state).into_iter().next()? {
        Effect::OpenWorkspace { .. } => workspace_opened(),
        Effect::SetUpWorkspace => Input::SetUp,
        Effect::RunTurn { turn, .. } => Input::turn_ended(turn, plain(turn.role)),
        Effect::EndTurn { turn } => Input::turn_ended(turn, interrupted()),
        Effect::Summarise { .. } => return None,
        Effect::Checkpoint { turn } => Input::Checkpointed { turn, checkpoint: checkpoint_of(turn) },
        Effect::RunGate { gate } => Input::GateEnded { report: driven.report_of(gate.index, Verdict::Pass), gate },
        Effect::Seal { section } => Input::Sealed { section, checkpoint: checkpoint_of(turn(driven)) },
        Effect::Undo { commit } => Input::Undone { commit, tree: String::new(), saved: None },
        Effect::SetTimer { timer } => {
            driven.now = driven.now.max(timer.at);
            Input::TimerFired { timer: timer.kind }
        }
    })
}

fn plain(role: Role) -> TurnReport {
    match role {
        Role::Coder => claimed(),
        Role::Auditor => reviewed::clean(),
        Role::Acceptor => reviewed::accepted(),
        Role::Planner | Role::Finisher | Role::Summariser => reviewed::answer("done"),
    }
}
