//! Walks of loops in which somebody judges the work.

use proptest::option;
use proptest::prelude::*;
use windlass_core::findings::{NewFinding, Severity};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Act, Input, LoopState, Opinion};
use windlass_core::milestone::Milestone;
use windlass_core::review::{Report, SectionSummary, Verdict};
use windlass_core::spec::{ContextSpec, Done, LoopSpec, OnFailure, PostAction, ReviewSpec, WorkspaceKind};

use super::{Dice, Walk, moods, spec, steps, walk};
use crate::driven::reviewed::{MILESTONE, acceptance, agent, all_features, audit, block_text, feature};

pub fn reviewed_walks() -> impl Strategy<Value = Walk> {
    (reviewed_spec(), moods(), steps(150)).prop_map(|(spec, mood, steps)| walk(spec, mood, &steps))
}

fn sections(count: u32) -> String {
    (1..=count).map(|n| format!("<!-- windlass-section -->\n## Part {n}\nDo {n}.\n\n")).collect()
}

fn reviewed_spec() -> impl Strategy<Value = LoopSpec> {
    let kind = prop_oneof![3 => Just(audit()), 2 => Just(acceptance())];
    let plan = option::weighted(0.7, 1_u32..4);
    let wishes = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), option::weighted(0.2, 0.0_f64..2.0));
    let fallbacks = (0_usize..3, 0_usize..3);
    let counts_rejections = any::<bool>();
    (spec(), kind, plan, wishes, fallbacks, counts_rejections).prop_map(
        |(base, review, plan, (planning, human_review, finishes, warnings_block, budget_usd), agents, counts)| {
            let audits = review.milestone.is_none();
            let post_action = PostAction { prompt: Some("tidy up".into()), skill: None };
            let stand_ins = |count: usize| ["b", "c"].map(agent)[..count].to_vec();
            let review = ReviewSpec {
                planning: planning && audits,
                human_review,
                post_action: Some(post_action).filter(|_| finishes && audits),
                warnings_block,
                budget_usd,
                fallbacks: stand_ins(agents.1),
                ..review
            };
            let mut spec = LoopSpec {
                done: Done::Review,
                context: ContextSpec { plan: plan.filter(|_| audits).map(sections), ..ContextSpec::default() },
                on_failure: if counts && !audits { OnFailure::CountAsRejection } else { base.on_failure.clone() },
                fallbacks: stand_ins(agents.0),
                review: Some(review),
                ..base
            };
            if spec.workspace.kind == WorkspaceKind::External {
                spec.workspace.kind = WorkspaceKind::Clone;
            }
            spec
        },
    )
}

impl Dice {
    /// What a user says to a loop that may or may not have asked.
    pub(super) fn ruling(&mut self) -> Input {
        match self.throw(5) {
            0 => Input::Approve { reason: None },
            1 => Input::Approve { reason: Some("good enough".into()) },
            2..=3 => Input::Reject { reason: "do it otherwise".into() },
            _ => {
                let text = MILESTONE.replace("by author", &format!("by author {}", self.throw(3)));
                Input::AmendMilestone { milestone: Box::new(Milestone::parse("search", &text).unwrap()) }
            }
        }
    }

    pub(super) fn act(&mut self, turn: TurnKey) -> Act {
        let summary = Some(SectionSummary { done: vec!["it".into()], ..SectionSummary::default() });
        let of_role = match turn.role {
            Role::Auditor => 0,
            Role::Acceptor => 3,
            Role::Coder | Role::Summariser | Role::Planner | Role::Finisher => 5,
        };
        match if self.one_in(4) { self.throw(8) } else { of_role + self.throw(3) } {
            0 => Act::WriteFinding { finding: self.finding() },
            1 => Act::ResolveFinding { id: format!("f{}", 1 + self.throw(3)) },
            2 => Act::Say { verdict: self.pick(&[Opinion::Clean { summary }, Opinion::Dirty { open: Vec::new() }]) },
            3 => Act::Say { verdict: Opinion::Accepted },
            4 => Act::Say { verdict: Opinion::Rejected { reason: "no".into() } },
            5 => Act::Ask { question: "which?".into(), default: None },
            6 => Act::AdjustPlan {
                section: u32::try_from(1 + self.throw(4)).unwrap(),
                body: "## Other\nDo that.".into(),
                rationale: "it has to be".into(),
            },
            _ => Act::Report { report: Box::new(Report::read("## ALL_FEATURES_COMPLETE\n\nDone.\n", "")) },
        }
    }

    fn finding(&mut self) -> NewFinding {
        NewFinding {
            file: format!("file-{}.rs", self.throw(3)),
            line: Some(1),
            severity: self.pick(&[Severity::Bug, Severity::Bug, Severity::Warning]),
            description: "wrong".into(),
            scenario: None,
            section: None,
        }
    }

    /// The same input, with what an agent of the turn's role would say at its end.
    pub(super) fn spoken(&mut self, state: &LoopState, input: Input) -> Input {
        let Input::TurnEnded { turn, mut report, .. } = input else { return input };
        if state.review.is_some() {
            let said = match turn.role {
                Role::Auditor => block_text(&self.audit(state)),
                Role::Planner => self.pick(&[sections(1), sections(2), "no plan at all".into(), String::new()]),
                Role::Acceptor => self.pick(&["ACCEPTED", "ACCEPTED", "REJECTED: no", "hm"].map(str::to_owned)),
                Role::Coder | Role::Summariser | Role::Finisher => "I did it.".to_owned(),
            };
            report.verdict = (turn.role == Role::Acceptor).then(|| Verdict::read(&said, ""));
            report.developer = (turn.role == Role::Coder).then(|| Box::new(self.developer()));
            report.answer = (!self.one_in(10)).then_some(said);
        }
        Input::turn_ended(turn, report)
    }

    fn developer(&mut self) -> Report {
        let unread = Report::Unparsed { why: "no".into() };
        let said = [feature("F1", None), feature("F2", Some("commit-")), feature("F2", Some("dead")), all_features()];
        let said = self.pick(&said).developer.map(|report| *report);
        if self.one_in(6) { unread } else { said.unwrap_or(unread) }
    }

    fn audit(&mut self, state: &LoopState) -> String {
        let open: Vec<String> = state
            .review
            .iter()
            .flat_map(|review| review.findings().open())
            .map(|finding| format!("\"{}\"", finding.id))
            .collect();
        let resolved = open.join(", ");
        let finding = self.finding();
        let severity = finding.severity.name();
        let finding =
            format!(r#"{{"file": "{}", "line": 1, "severity": "{severity}", "description": "no"}}"#, finding.file);
        let summary = r#""section_summary": {"done": ["it"]}"#;
        match self.throw(12) {
            0..=5 => format!(r#"{{"verdict": "clean", "resolved": [{resolved}], {summary}}}"#),
            6 => format!(r#"{{"verdict": "clean", {summary}}}"#),
            7 => r#"{"verdict": "clean"}"#.to_owned(),
            8..=9 => format!(r#"{{"verdict": "dirty", "findings": [{finding}]}}"#),
            10 => format!(r#"{{"verdict": "dirty", "resolved": [{resolved}, "f99"], "findings": [{finding}]}}"#),
            _ => "not json".to_owned(),
        }
    }
}
