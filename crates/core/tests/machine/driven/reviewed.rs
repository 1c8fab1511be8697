//! Reviewed loops and what their agents say.

use windlass_core::agent::{TurnOutcome, TurnReport};
use windlass_core::ids::Role;
use windlass_core::machine::Review;
use windlass_core::milestone::Milestone;
use windlass_core::profile::AgentProfile;
use windlass_core::prompt::{self, Facts};
use windlass_core::review::{FeatureReport, Report, Verdict};
use windlass_core::spec::{
    AgentChoice, CommitPolicy, ContextSpec, Done, Limits, LoopSpec, OnFailure, OnLimit, ReviewKind, ReviewSpec,
    SessionPolicy,
};
use windlass_core::stop::{End, Status, StopReason};

use super::{Driven, promise_loop};

pub const TWO_SECTIONS: &str =
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

pub fn agent(name: &str) -> AgentChoice {
    AgentChoice { name: name.into(), profile: AgentProfile::default() }
}

pub fn audit() -> ReviewSpec {
    ReviewSpec {
        kind: ReviewKind::Audit,
        reviewer: agent("auditor"),
        fallbacks: Vec::new(),
        budget_usd: None,
        warnings_block: false,
        planning: false,
        max_rejections: 3,
        human_review: false,
        post_action: None,
        milestone: None,
        documents: Vec::new(),
    }
}

pub fn acceptance() -> ReviewSpec {
    let milestone = Some(Milestone::parse("search", MILESTONE).unwrap());
    ReviewSpec { kind: ReviewKind::Acceptance, reviewer: agent("acceptor"), milestone, ..audit() }
}

/// A reviewed loop as `windlass` resolves it.
pub fn reviewed(recipe: &str, review: ReviewSpec) -> LoopSpec {
    let (session, commit, on_failure, on_limit, max) = match review.kind {
        ReviewKind::Audit => {
            (SessionPolicy::Fresh, CommitPolicy::Engine, OnFailure::Retry { times: 3 }, OnLimit::Stop, 15)
        }
        ReviewKind::Acceptance => {
            (SessionPolicy::KeepAlive, CommitPolicy::Agent, OnFailure::CountAsRejection, OnLimit::Pause, 20)
        }
    };
    LoopSpec {
        recipe: recipe.into(),
        session,
        commit,
        on_failure,
        on_limit,
        limits: Limits { max_iterations: Some(max), ..Limits::default() },
        done: Done::Review,
        review: Some(review),
        ..promise_loop()
    }
}

pub fn audited(plan: Option<&str>, review: ReviewSpec) -> LoopSpec {
    let context = ContextSpec { plan: plan.map(Into::into), ..ContextSpec::default() };
    LoopSpec { context, ..reviewed("audited", review) }
}

pub fn answer(text: &str) -> TurnReport {
    TurnReport { answer: Some(text.into()), ..TurnReport::bare(TurnOutcome::Finished) }
}

pub fn block_text(json: &str) -> String {
    format!("Looked.\n\n```windlass-review\n{json}\n```\n")
}

pub fn block(json: &str) -> TurnReport {
    answer(&block_text(json))
}

pub fn clean() -> TurnReport {
    block(r#"{"verdict": "clean", "section_summary": {"done": ["it"]}}"#)
}

pub fn dirty() -> TurnReport {
    let finding = r#"{"file": "a.rs", "line": 3, "severity": "bug", "description": "wrong"}"#;
    block(&format!(r#"{{"verdict": "dirty", "findings": [{finding}]}}"#))
}

/// The developer reports a feature, with the commit it names.
pub fn feature(id: &str, commit: Option<&str>) -> TurnReport {
    let report = FeatureReport {
        feature: format!("{id}: a feature"),
        feature_id: Some(id.into()),
        commit: commit.map(Into::into),
        ..FeatureReport::default()
    };
    TurnReport { developer: Some(Box::new(Report::Feature(report))), ..answer("the report") }
}

pub fn all_features() -> TurnReport {
    let report = Report::AllFeaturesComplete { commits: Vec::new(), summary: "All of it.".into() };
    TurnReport { developer: Some(Box::new(report)), ..answer("the report") }
}

/// An acceptor's words, read as the engine reads them.
pub fn verdict(words: &str) -> TurnReport {
    TurnReport { verdict: Some(Verdict::read(words, "")), ..answer(words) }
}

pub fn accepted() -> TurnReport {
    verdict("ACCEPTED")
}

pub fn rejected(reason: &str) -> TurnReport {
    verdict(&format!("REJECTED: {reason}"))
}

#[track_caller]
pub fn ended(driven: &Driven) -> (End, StopReason) {
    let Status::Ended { end } = driven.state.status else { panic!("{:?}", driven.state.status) };
    (end, driven.state.stop_reason.clone().unwrap())
}

pub fn milestone() -> LoopSpec {
    reviewed("milestone", acceptance())
}

pub fn review(driven: &Driven) -> &Review {
    driven.state.review.as_ref().unwrap()
}

pub fn prompt_of(driven: &Driven) -> String {
    prompt::build(&driven.state, &Facts::default(), &|text| text.len() / 4)
}

/// A developer's turn with a commit of its own, up to the acceptor's.
#[track_caller]
pub fn develop(driven: &mut Driven, report: TurnReport) {
    assert_eq!(driven.turn().role, Role::Coder);
    driven.end_turn(report);
    driven.checkpoint();
    assert_eq!(driven.turn().role, Role::Acceptor);
}

/// A whole round.
#[track_caller]
pub fn round(driven: &mut Driven, report: TurnReport, said: TurnReport) {
    develop(driven, report);
    driven.end_turn(said);
}

#[track_caller]
pub fn reject_three_times() -> Driven {
    let mut driven = Driven::working(milestone());
    for reason in ["one", "two", "three"] {
        round(&mut driven, feature("F1", None), rejected(reason));
    }
    driven
}
