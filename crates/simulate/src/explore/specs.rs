//! Small specs of every recipe: two iterations, one gate, one reviewer, one fallback.

use windlass_core::milestone::Milestone;
use windlass_core::profile::AgentProfile;
use windlass_core::spec::{
    AgentChoice, CommitPolicy, ContextSpec, Done, GateSpec, GateWhen, Limits, LoopSpec, OnFailure, OnLimit, PostAction,
    ReviewKind, ReviewSpec, SessionPolicy, TimeLimits, WorkspaceKind,
};
use windlass_core::summary::SummariserKind;

pub const MINUTE: u64 = 60_000;
pub const HOUR: u64 = 60 * MINUTE;

const PLAN: &str =
    "Do it.\n\n<!-- windlass-section -->\n## One\nFirst.\n\n<!-- windlass-section -->\n## Two\nSecond.\n";

pub const MILESTONE: &str = "# Search

## Goal
Books can be searched.

## Features
- [ ] F1: search by title (acceptance: `find x` lists every title with x)
- [ ] F2: search by author (acceptance: `find --author x` works)

## Acceptance Criteria
- [ ] an empty query is an error
";

/// What is explored, by name.
pub fn all() -> Vec<(&'static str, LoopSpec)> {
    vec![
        ("promise", small("promise")),
        ("brittle", brittle()),
        ("asked", asked()),
        ("prepared", prepared()),
        ("refine", LoopSpec { done: Done::Count { iterations: 2 }, ..small("refine") }),
        ("audited", audited()),
        ("planned", planned()),
        ("milestone", milestone()),
    ]
}

fn agent(name: &str) -> AgentChoice {
    AgentChoice { name: name.into(), profile: AgentProfile::default() }
}

fn small(recipe: &str) -> LoopSpec {
    let plain = LoopSpec::of("Build the feature".into(), agent("coder"));
    let workspace = windlass_core::spec::WorkspaceSpec {
        kind: WorkspaceKind::Clone,
        branch: "windlass/feature".into(),
        allow_dirty: false,
        ..plain.workspace.clone()
    };
    LoopSpec {
        recipe: recipe.into(),
        fallbacks: vec![agent("b")],
        session: SessionPolicy::Resume,
        commit: CommitPolicy::Engine,
        done: Done::Promise { promise: Some("<promise>COMPLETE</promise>".into()) },
        gates: vec![GateSpec {
            command: "cargo test".into(),
            timeout_ms: 10 * MINUTE,
            when: GateWhen::Turn,
            hidden: false,
        }],
        limits: Limits {
            max_iterations: Some(2),
            duration_ms: Some(5 * HOUR),
            budget_usd: Some(1.0),
            max_tokens: None,
        },
        on_failure: OnFailure::Retry { times: 1 },
        question_wait_ms: 10 * MINUTE,
        time: TimeLimits { turn_timeout_ms: HOUR, stall_timeout_ms: 5 * MINUTE, max_stalls: 3 },
        workspace,
        ..plain
    }
}

/// Nothing takes over and nothing is tried again, so that one failure ends it.
fn brittle() -> LoopSpec {
    let mut spec = LoopSpec { fallbacks: Vec::new(), on_failure: OnFailure::Stop, ..small("promise") };
    spec.time.max_stalls = 1;
    spec.limits.max_tokens = Some(1);
    spec
}

/// Its agent asks, and nothing is tried twice.
fn asked() -> LoopSpec {
    LoopSpec { fallbacks: Vec::new(), on_failure: OnFailure::Retry { times: 0 }, ..small("asked") }
}

/// With set-up, gates on the base, summaries by an agent, and a pause where the others stop.
fn prepared() -> LoopSpec {
    let mut spec = LoopSpec { session: SessionPolicy::Fresh, on_limit: OnLimit::Pause, ..small("promise") };
    spec.workspace.setup = vec!["npm ci".into()];
    spec.workspace.baseline = true;
    spec.summariser.kind = SummariserKind::Agent;
    spec
}

fn review(kind: ReviewKind) -> ReviewSpec {
    ReviewSpec {
        kind,
        reviewer: agent("reviewer"),
        fallbacks: vec![agent("d")],
        budget_usd: None,
        warnings_block: false,
        planning: false,
        max_rejections: 2,
        human_review: false,
        post_action: None,
        milestone: None,
        documents: Vec::new(),
    }
}

fn audited() -> LoopSpec {
    let post_action = Some(PostAction { prompt: Some("tidy up".into()), skill: None });
    LoopSpec {
        done: Done::Review,
        review: Some(ReviewSpec { post_action, human_review: true, ..review(ReviewKind::Audit) }),
        context: ContextSpec { plan: Some(PLAN.into()), ..ContextSpec::default() },
        session: SessionPolicy::Fresh,
        ..small("audited")
    }
}

/// Audited, by a plan that the coder's agent writes first.
fn planned() -> LoopSpec {
    LoopSpec {
        review: Some(ReviewSpec { planning: true, ..review(ReviewKind::Audit) }),
        context: ContextSpec::default(),
        ..audited()
    }
}

fn milestone() -> LoopSpec {
    let milestone = Milestone::parse("search", MILESTONE).ok();
    LoopSpec {
        done: Done::Review,
        review: Some(ReviewSpec { milestone, ..review(ReviewKind::Acceptance) }),
        session: SessionPolicy::KeepAlive,
        commit: CommitPolicy::Agent,
        on_failure: OnFailure::CountAsRejection,
        on_limit: OnLimit::Pause,
        ..small("milestone")
    }
}
