//! What the agents of a reviewed loop are told, each by its role.
//!
//! A reviewer sees the goal, the plan, the changes, the gates and the findings; of the coder's own words only what
//! the recipe grants it.

use minijinja::context;
use minijinja::value::Value;

use super::text::{
    ACCEPTOR, ACCEPTOR_TOOLS, AUDITED_CODER, AUDITOR, AUDITOR_TOOLS, DEVELOPER, FINDINGS, FINISHER, NOTHING_CHANGED,
    PLANNER, REJECTED,
};
use super::{
    Facts, answers, ask_question, baseline, fence_around, forked, held_back, last_chars, merged_target, nudge,
    overflow, protected, recovery, refusal, steering, who_commits,
};
use crate::findings::{Finding, RECURRING};
use crate::ids::Role;
use crate::machine::{LoopState, Objection, Review, SessionUse, SkippedBecause, Verdict};
use crate::milestone::{FrontMatter, Milestone};
use crate::plan::{Adjustment, Plan, Section, TrailingPart};
use crate::review::{self, CoderDecisions, Report, SectionSummary};
use crate::spec::{ReviewKind, ReviewSpec};

/// Findings told in one prompt; the rest follows when these are done.
const FINDINGS_TOLD: usize = 40;
const LONGEST_FINDING: usize = 1_500;
const LONGEST_SUMMARY: usize = 800;
/// Summaries told in full; of older sections the title is enough.
const SUMMARIES_TOLD: usize = 8;
const LONGEST_DIFF: usize = 30_000;
const LONGEST_DOCUMENT: usize = 12_000;
const LONGEST_REPORT: usize = 6_000;

pub(super) fn build(state: &LoopState, facts: &Facts) -> Option<String> {
    let (spec, review) = state.reviewed()?;
    let turn = state.turn()?;
    let resumed = matches!(turn.session, SessionUse::Resume { .. });
    // Who is asked again in its own session has all the rest before it.
    if turn.key.role.only_reads() && resumed && !turn.recovery && !review.unreadable.is_empty() {
        return Some(unreadable(turn.key.role, review));
    }
    let told = Told { state, spec, review, facts };
    let mut parts = match turn.key.role {
        Role::Coder => told.coder(resumed),
        Role::Auditor => told.auditor(),
        Role::Acceptor => told.acceptor(),
        Role::Planner => {
            vec![PLANNER.fill(state, context! { goal => state.spec.goal.as_str(), documents => told.documents() })]
        }
        Role::Finisher => vec![told.finisher()],
        Role::Summariser => Vec::new(),
    };
    if turn.key.role.only_reads() && !review.unreadable.is_empty() {
        parts.push(unreadable(turn.key.role, review));
    }
    Some(parts.join("\n\n"))
}

/// What was wrong with the last answer, and what was asked for.
fn unreadable(role: Role, review: &Review) -> String {
    let asked = match role {
        Role::Acceptor => review::ask_verdict(),
        Role::Auditor | Role::Coder | Role::Summariser | Role::Finisher => {
            review::ask_audit_block(review.section_number().is_some())
        }
        Role::Planner => "the whole plan, between its two comments".to_owned(),
    };
    review::ask_again(review.unreadable.last().map_or("", String::as_str), &asked)
}

struct Told<'a> {
    state: &'a LoopState,
    spec: &'a ReviewSpec,
    review: &'a Review,
    facts: &'a Facts,
}

impl Told<'_> {
    fn coder(&self, resumed: bool) -> Vec<String> {
        let state = self.state;
        let mut parts = match self.spec.kind {
            ReviewKind::Audit => vec![self.audited_coder()],
            ReviewKind::Acceptance => vec![self.developer()],
        };
        if self.spec.kind == ReviewKind::Audit && !resumed {
            parts.extend(who_commits(state));
        }
        parts.extend(forked(state));
        parts.extend(baseline(state));
        parts.extend(merged_target(state));
        parts.extend(recovery(state));
        parts.extend(overflow(state));
        parts.extend(protected(state));
        parts.extend(held_back(state));
        parts.extend(refusal(state));
        parts.extend(self.objection());
        parts.extend(nudge(state));
        parts.extend(steering(state));
        parts.extend(answers(state));
        parts.extend(ask_question(state, self.facts));
        parts.push(match self.spec.kind {
            ReviewKind::Audit => review::ask_decisions(),
            ReviewKind::Acceptance => review::ask_report(state.iteration),
        });
        parts
    }

    fn audited_coder(&self) -> String {
        let plan = self.review.plan.as_ref();
        let state = self.state;
        AUDITED_CODER.fill(
            self.state,
            context! {
                iteration => state.iteration,
                max => state.iteration_limit(),
                goal => self.goal(),
                documents => self.documents(),
                preamble => plan.filter(|plan| plan.marked).map(|plan| plan.preamble.as_str()),
                finished => self.finished(),
                section => self.section_to_build(),
                count => self.review.section_count(),
                trailing => self.trailing(),
                changed_plan => self.adjustments().iter().rev().take(5).map(|change| context! {
                    section => change.section, rationale => change.rationale.as_str()
                }).collect::<Vec<Value>>(),
            },
        )
    }

    fn adjustments(&self) -> &[Adjustment] {
        self.review.audit().map_or(&[], |audit| &audit.adjustments)
    }

    /// The goal, unless the plan is nothing else.
    fn goal(&self) -> &str {
        self.state.spec.goal.trim_end()
    }

    /// The plan, unless it is nothing but the goal.
    fn plan(&self) -> Option<&Plan> {
        let goal = self.goal().trim();
        self.review.plan.as_ref().filter(|plan| plan.sections.iter().any(|section| section.body.trim() != goal))
    }

    /// What the coder works at: the section under way, or the only one there is.
    fn section_to_build(&self) -> Option<Value> {
        let only = || self.plan().filter(|plan| plan.count() == 1).and_then(|plan| plan.section(1));
        told_section(self.review.section().or_else(only))
    }

    fn section(&self) -> Option<Value> {
        told_section(self.review.section())
    }

    fn finished(&self) -> Vec<Value> {
        let recent = self.review.finished().len().saturating_sub(SUMMARIES_TOLD);
        let told = self.review.finished().iter().enumerate();
        told.map(|(index, section)| {
            let summary = if index < recent {
                String::new()
            } else {
                last_chars(&told_summary(&section.summary), LONGEST_SUMMARY)
            };
            context! { number => section.number, title => section.title.as_str(), summary }
        })
        .collect()
    }

    fn trailing(&self) -> Vec<Value> {
        let Some(plan) = &self.review.plan else { return Vec::new() };
        let parts = TrailingPart::ALL.into_iter();
        parts.filter_map(|part| plan.part(part).map(|text| context! { text })).collect()
    }

    fn documents(&self) -> Vec<Value> {
        let documents = self.spec.documents.iter();
        documents
            .map(|document| {
                let text = first_chars(document.text.trim(), LONGEST_DOCUMENT);
                context! { title => document.title.as_str(), text }
            })
            .collect()
    }

    /// What stands against the work: findings, a rejection, a person's word, nothing done.
    fn objection(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.review.skipped == Some(SkippedBecause::NothingChanged) {
            parts.push(NOTHING_CHANGED.fill(self.state, context! {}));
        }
        let open: Vec<&Finding> = self.findings();
        if !open.is_empty() {
            let findings: Vec<Value> = open.iter().take(FINDINGS_TOLD).map(|finding| told(finding)).collect();
            let more = open.len().saturating_sub(FINDINGS_TOLD);
            parts.push(FINDINGS.fill(self.state, context! { findings, more }));
        }
        if let Some(reason) = &self.review.direction {
            parts.push(
                REJECTED.fill(self.state, context! { by_person => true, whole => false, reason => reason.as_str() }),
            );
        } else if let Some(Objection { reason, whole }) = &self.review.objection {
            parts.push(REJECTED.fill(self.state, context! { by_person => false, whole, reason }));
        }
        parts
    }

    /// Open findings of what is worked at, bugs first.
    fn findings(&self) -> Vec<&Finding> {
        let section = self.review.section_number();
        let mut open: Vec<&Finding> = self
            .review
            .findings()
            .open()
            .filter(|finding| section.is_none() || finding.section.is_none() || finding.section == section)
            .collect();
        open.sort_by_key(|finding| finding.severity);
        open
    }

    fn auditor(&self) -> Vec<String> {
        let whole = self.review.aims_at_whole();
        let plan = self.plan().filter(|_| whole).map(Plan::render);
        let plan_told = plan.is_some();
        let changes = self.facts.changes.as_ref();
        let diff = changes.map(|changes| changes.diff.as_str()).filter(|diff| diff.len() <= LONGEST_DIFF);
        let findings: Vec<Value> = self.review.findings().open().take(FINDINGS_TOLD).map(told).collect();
        let text = AUDITOR.fill(
            self.state,
            context! {
                goal => self.goal(),
                documents => self.documents(),
                section => self.section(),
                number => self.review.section_number().unwrap_or(1),
                count => self.review.section_count(),
                plan,
                finished => if whole { self.finished() } else { Vec::new() },
                trailing => if plan_told { Vec::new() } else { self.trailing() },
                from => changes.map_or("", |changes| &changes.from),
                to => changes.map_or("", |changes| &changes.to),
                nothing => changes.is_some_and(|changes| changes.files.is_empty()),
                files => changes.map(|changes| changes.files.as_str()),
                fence => fence_around(diff.unwrap_or_default()),
                diff,
                gates => self.gates(),
                decisions => self.review.audit().and_then(|audit| audit.decisions.as_ref()).map(told_decisions),
                findings,
                warnings_block => self.spec.warnings_block,
            },
        );
        let section = self.review.section_number().is_some();
        let mut parts = vec![text];
        if self.facts.tools {
            parts.push(AUDITOR_TOOLS.fill(self.state, context! { section }));
        }
        parts.push(review::ask_audit_block(section));
        parts
    }

    fn gates(&self) -> Vec<Value> {
        let gates = self.state.visible_gates();
        gates
            .map(|gate| {
                let verdict = match gate.verdict {
                    Verdict::Pass => "passed",
                    Verdict::Fail => "failed",
                    Verdict::TimedOut => "timed out",
                    Verdict::NotStarted => "could not be started",
                };
                context! { command => gate.command.as_str(), verdict }
            })
            .collect()
    }

    fn milestone(&self) -> Value {
        let Some(milestone) = &self.spec.milestone else {
            let goal = self.goal();
            return context! { id => self.state.name.as_str(), title => "", goal, text => goal };
        };
        context! {
            id => milestone.id.as_str(),
            title => milestone.title.as_str(),
            goal => milestone.goal.as_str(),
            text => Milestone { front_matter: FrontMatter::default(), ..milestone.clone() }.render(),
        }
    }

    fn developer(&self) -> String {
        let state = self.state;
        let fixing = self.review.objection.is_some() || self.review.direction.is_some();
        DEVELOPER.fill(self.state, context! {
                branch => state.workspace.as_ref().and_then(|workspace| workspace.branch.as_deref()).unwrap_or("that is checked out"),
                documents => self.documents(),
                milestone => self.milestone(),
                iteration => state.iteration,
                max => state.iteration_limit(),
                accepted => self.accepted(),
                fixing,
                commits => who_commits(state).unwrap_or_default(),
            },
        )
    }

    fn accepted(&self) -> Vec<String> {
        let accepted = self.review.accepted().iter();
        accepted
            .filter(|feature| !feature.feature.is_empty())
            .map(|feature| {
                let commit: String = feature.commit.iter().flat_map(|commit| commit.chars().take(7)).collect();
                let id = feature.id.iter().filter(|id| !feature.feature.starts_with(id.as_str()));
                let id: String = id.map(|id| format!("{id}: ")).collect();
                first_chars(&format!("{id}{} ({commit})", feature.feature), 200)
            })
            .collect()
    }

    fn acceptor(&self) -> Vec<String> {
        let changes = self.facts.changes.as_ref();
        let diff = changes.map(|changes| changes.diff.as_str()).filter(|diff| diff.len() <= LONGEST_DIFF);
        let report = last_chars(
            self.state.last_work.as_ref().and_then(|last| last.answer.as_deref()).unwrap_or("(there is none)"),
            LONGEST_REPORT,
        );
        let (feature, acceptance) = self.feature();
        let text = ACCEPTOR.fill(
            self.state,
            context! {
                documents => self.documents(),
                milestone => self.milestone(),
                whole => self.review.aims_at_whole(),
                feature,
                acceptance,
                fence => fence_around(&report),
                report,
                from => changes.map_or("", |changes| &changes.from),
                to => changes.map_or("", |changes| &changes.to),
                log => changes.map_or("", |changes| &changes.log),
                files => changes.map(|changes| changes.files.as_str()),
                diff_fence => fence_around(diff.unwrap_or_default()),
                diff,
                gates => self.gates(),
            },
        );
        let mut parts = vec![text, review::ask_verdict()];
        if self.facts.tools {
            parts.push(ACCEPTOR_TOOLS.fill(self.state, context! {}));
        }
        parts
    }

    /// The feature that the report is about, and what it is measured by.
    fn feature(&self) -> (String, String) {
        let reported = match self.review.acceptance().and_then(|acceptance| acceptance.report.as_ref()) {
            Some(Report::Feature(report)) => Some((report.feature.as_str(), report.feature_id.as_deref())),
            Some(Report::AllFeaturesComplete { .. } | Report::Unparsed { .. }) | None => None,
        };
        let Some((text, id)) = reported else {
            let unknown = "unreadable report: find the feature from the changes".to_owned();
            return (unknown, "see the milestone".to_owned());
        };
        let known = self.spec.milestone.as_ref().and_then(|milestone| milestone.feature(id, text));
        match known {
            Some(feature) => (
                format!("{}: {}", feature.id, feature.text),
                feature.acceptance.clone().unwrap_or_else(|| "see its text".to_owned()),
            ),
            None => (
                text.to_owned(),
                "the milestone has no such feature: reject, unless it is clearly one of them".to_owned(),
            ),
        }
    }

    fn finisher(&self) -> String {
        let action = self.spec.post_action.as_ref();
        FINISHER.fill(
            self.state,
            context! {
                skill => action.and_then(|action| action.skill.as_deref()),
                prompt => action.and_then(|action| action.prompt.as_deref()),
                goal => self.goal(),
            },
        )
    }
}

fn told_section(section: Option<&Section>) -> Option<Value> {
    let section = section?;
    Some(context! { number => section.number, title => section.title.as_str(), body => section.body.as_str() })
}

fn told_summary(summary: &SectionSummary) -> String {
    lists(&[("Done", &summary.done), ("Deviations", &summary.deviations), ("Follow-ups", &summary.follow_ups)])
}

fn told_decisions(said: &CoderDecisions) -> String {
    let text = lists(&[("Decisions", &said.decisions), ("Verification", &said.verification), ("Notes", &said.notes)]);
    first_chars(&text, LONGEST_REPORT)
}

fn lists(parts: &[(&str, &Vec<String>)]) -> String {
    let part = |(name, items): &(&str, &Vec<String>)| {
        let list: Vec<String> = items.iter().map(|item| format!("- {item}")).collect();
        (!list.is_empty()).then(|| format!("{name}:\n{}", list.join("\n")))
    };
    parts.iter().filter_map(part).collect::<Vec<_>>().join("\n")
}

fn told(finding: &Finding) -> Value {
    let mut text = finding.description.clone();
    if let Some(scenario) = &finding.scenario {
        text = format!("{text}\n  Scenario: {scenario}");
    }
    context! {
        id => finding.id.to_string(),
        severity => finding.severity.name(),
        place => finding.place(),
        section => finding.section,
        recurring => finding.recurrence >= RECURRING,
        recurrence => finding.recurrence,
        text => first_chars(&text, LONGEST_FINDING).replace('\n', "\n  "),
    }
}

/// The beginning of a text, where that is the part that matters.
fn first_chars(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most).collect();
    format!("{head} […]")
}
