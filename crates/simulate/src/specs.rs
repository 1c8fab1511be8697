//! Specs of every recipe, as they are after configuration, with drawn policies.

use windlass_core::milestone::Milestone;
use windlass_core::profile::AgentProfile;
use windlass_core::resources::ResourceSpec;
use windlass_core::sandbox::SandboxSpec;
use windlass_core::spec::{
    AgentChoice, CommitPolicy, ContextSpec, Done, GateSpec, GateWhen, Limits, LoopSpec, OnFailure, OnLimit,
    OnRateLimit, PostAction, ReviewKind, ReviewSpec, SessionPolicy, TimeLimits, Verify, WorkspaceKind, WorkspaceSpec,
};
use windlass_core::summary::{SummariserKind, SummariserSettings};

use crate::dice::{Dice, Stream};

const MINUTE: u64 = 60_000;

const MILESTONE: &str = "# Search

## Goal
Books can be searched.

## Features
- [ ] F1: search by title (acceptance: `find x` lists every title with x)
- [ ] F2: search by author (acceptance: `find --author x` works)

## Acceptance Criteria
- [ ] an empty query is an error
";

fn agent(name: &str) -> AgentChoice {
    AgentChoice { name: name.into(), profile: AgentProfile::default() }
}

fn gate(command: &str, when: GateWhen, hidden: bool) -> GateSpec {
    GateSpec { command: command.into(), timeout_ms: 10 * MINUTE, when, hidden }
}

fn sections(count: u64) -> String {
    (1..=count).map(|n| format!("<!-- windlass-section -->\n## Part {n}\nDo {n}.\n\n")).collect()
}

/// A spec of one of the four built-in recipes, or one that a user could write.
pub fn draw(dice: &mut Dice) -> LoopSpec {
    let t = Stream::Spec;
    let gates = [
        gate("cargo test", GateWhen::Turn, false),
        gate("cargo bench", GateWhen::Claim, false),
        gate("./hidden.sh", GateWhen::Claim, true),
    ];
    let count = usize::try_from(dice.throw(t, 4)).unwrap_or_default();
    let promise = Done::Promise { promise: Some("<promise>COMPLETE</promise>".into()) };
    let done = match dice.throw(t, 8) {
        0..=3 => promise,
        4 => Done::Gates,
        5 => Done::Count { iterations: 1 + u32::try_from(dice.throw(t, 3)).unwrap_or(0) },
        6 => Done::Duration { ms: 1 + dice.throw(t, 30 * MINUTE) },
        _ => Done::Promise { promise: None },
    };
    let mut spec = LoopSpec {
        goal: "Build the feature".into(),
        recipe: if matches!(done, Done::Promise { .. }) { "promise" } else { "refine" }.into(),
        agent: agent("coder"),
        fallbacks: ["b", "c"].map(agent)[..usize::try_from(dice.throw(t, 3)).unwrap_or(0)].to_vec(),
        summing_up: None,
        review: None,
        session: dice.pick(t, &[SessionPolicy::Resume, SessionPolicy::Fresh, SessionPolicy::KeepAlive]),
        commit: dice.pick(
            t,
            &[CommitPolicy::Engine, CommitPolicy::Engine, CommitPolicy::Engine, CommitPolicy::Agent, CommitPolicy::Off],
        ),
        done,
        gates: gates[..count].to_vec(),
        limits: Limits {
            max_iterations: (!dice.one_in(t, 5)).then(|| 1 + u32::try_from(dice.throw(t, 6)).unwrap_or(0)),
            duration_ms: dice.one_in(t, 4).then(|| MINUTE + dice.throw(t, 120 * MINUTE)),
            budget_usd: dice.one_in(t, 4).then(|| 0.5 + dice.throw(t, 40) as f64 / 10.0),
            max_tokens: dice.one_in(t, 4).then(|| 500 + dice.throw(t, 5_000)),
        },
        on_limit: dice.pick(t, &[OnLimit::Stop, OnLimit::Stop, OnLimit::Pause]),
        on_rate_limit: OnRateLimit::default(),
        on_failure: dice.pick(t, &[OnFailure::Stop, OnFailure::Continue, OnFailure::Retry { times: 2 }]),
        question_wait_ms: dice.pick(t, &[0, 0, 10 * MINUTE]),
        time: TimeLimits { turn_timeout_ms: 20 * MINUTE, stall_timeout_ms: 5 * MINUTE, max_stalls: 3 },
        workspace: WorkspaceSpec {
            kind: if dice.one_in(t, 8) { WorkspaceKind::InPlace } else { WorkspaceKind::Clone },
            branch: "windlass/feature".into(),
            base: None,
            allow_dirty: false,
            setup: dice.one_in(t, 3).then(|| "npm ci".into()).into_iter().collect(),
            setup_credentials: false,
            copy: Vec::new(),
            baseline: dice.one_in(t, 3),
            verify: Verify::default(),
            subdir: None,
        },
        protect: Vec::new(),
        secrets_allow: Vec::new(),
        env_pass: Vec::new(),
        summariser: SummariserSettings::default(),
        context: ContextSpec::default(),
        sandbox: SandboxSpec::default(),
        resources: ResourceSpec::default(),
        follow_up: "continue".into(),
        group: None,
        prompts: std::collections::BTreeMap::new(),
        parent: None,
    };
    if dice.one_in(t, 4) {
        spec.summariser.kind = SummariserKind::Agent;
    }
    match dice.throw(t, 5) {
        0 => audited(dice, &mut spec),
        1 => milestone(dice, &mut spec),
        _ => {}
    }
    spec
}

fn review(dice: &mut Dice, kind: ReviewKind) -> ReviewSpec {
    let t = Stream::Spec;
    ReviewSpec {
        kind,
        reviewer: agent("reviewer"),
        fallbacks: ["d"].map(agent)[..usize::try_from(dice.throw(t, 2)).unwrap_or(0)].to_vec(),
        budget_usd: dice.one_in(t, 5).then_some(1.5),
        warnings_block: dice.one_in(t, 2),
        planning: false,
        max_rejections: 3,
        human_review: dice.one_in(t, 3),
        post_action: None,
        milestone: None,
        documents: Vec::new(),
    }
}

fn audited(dice: &mut Dice, spec: &mut LoopSpec) {
    let t = Stream::Spec;
    let mut review = review(dice, ReviewKind::Audit);
    review.planning = dice.one_in(t, 2);
    review.post_action = dice.one_in(t, 3).then(|| PostAction { prompt: Some("tidy up".into()), skill: None });
    let plan = (!dice.one_in(t, 3)).then(|| 1 + dice.throw(t, 3)).map(sections);
    spec.recipe = "audited".into();
    spec.context = ContextSpec { plan, ..ContextSpec::default() };
    spec.done = Done::Review;
    spec.review = Some(review);
    spec.workspace.kind = WorkspaceKind::Clone;
}

fn milestone(dice: &mut Dice, spec: &mut LoopSpec) {
    let mut review = review(dice, ReviewKind::Acceptance);
    review.milestone = Milestone::parse("search", MILESTONE).ok();
    spec.recipe = "milestone".into();
    spec.on_failure = OnFailure::CountAsRejection;
    spec.done = Done::Review;
    spec.review = Some(review);
    spec.workspace.kind = WorkspaceKind::Clone;
}
