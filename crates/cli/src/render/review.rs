//! What happens around a review, in words.

use windlass_core::findings::Finding;
use windlass_core::machine::{Aim, Opinion, ReviewEvent, SkippedBecause};
use windlass_core::review::Report;

use crate::style::{Style, one_line, short};

/// The lines for what happened.
pub(super) fn event(event: &ReviewEvent, style: Style) -> String {
    match event {
        ReviewEvent::Planned { plan } if plan.count() <= 1 => String::new(),
        ReviewEvent::Planned { plan } => {
            let mut lines = style.bold(&format!("plan: {} sections", plan.count()));
            for section in &plan.sections {
                lines.push_str(&style.dim(&format!("\n  {}. {}", section.number, one_line(&section.title, 80))));
            }
            lines
        }
        ReviewEvent::AimChanged { aim: Aim::Section { number } } => style.bold(&format!("§ section {number}")),
        ReviewEvent::AimChanged { aim: Aim::Whole } => style.dim("  final review"),
        ReviewEvent::MilestoneAmended { .. } => style.bold("milestone file changed; reloaded"),
        ReviewEvent::FindingWritten { finding, .. } => style.warn(&finding_line(finding)),
        ReviewEvent::FindingResolved { id, .. } => style.good(&format!("  ✓ {id} resolved")),
        ReviewEvent::PlanAdjusted { adjustment, .. } => style.accent(&format!(
            "  plan of section {} changed: {}",
            adjustment.section,
            one_line(&adjustment.rationale, 160)
        )),
        ReviewEvent::VerdictGiven { verdict, .. } => style.dim(&format!("  reviewer's verdict: {}", said(verdict))),
        ReviewEvent::Reported { report, .. } => style.dim(&format!("  {}", reported(report))),
        ReviewEvent::DecisionsTold { .. } => String::new(),
        ReviewEvent::QuestionDeferred { question, default, .. } => {
            let on = default.as_ref().map_or(String::new(), |on| format!("; continuing with: {}", one_line(on, 120)));
            style.warn(&format!("  unanswered question: {}{on}", one_line(question, 200)))
        }
        ReviewEvent::ReviewSkipped { because, .. } => style.dim(&format!("  review skipped: {}", skipped(because))),
        ReviewEvent::AnswerUnreadable { turn, why } => {
            style.warn(&format!("  invalid answer from the {}: {}", turn.role, one_line(why, 300)))
        }
        ReviewEvent::Reviewed { ruling, .. } => match ruling {
            Opinion::Clean { .. } => style.good("  ✓ review: clean"),
            Opinion::Accepted => style.good("  ✓ review: accepted"),
            Opinion::Dirty { open } => style.bad(&format!("  ✗ review: open findings: {}", open.join(", "))),
            Opinion::Rejected { reason } => style.bad(&format!("  ✗ review: rejected: {}", one_line(reason, 300))),
        },
        ReviewEvent::RejectedUnseen { reason, .. } => {
            style.bad(&format!("  ✗ counted as a rejection: {}", one_line(reason, 300)))
        }
        ReviewEvent::SectionFinished { section, title, checkpoint } => {
            let commit = checkpoint.commit.as_deref().map(short).unwrap_or_default();
            style.good(&format!("✔ section {section} done: {} {commit}", one_line(title, 80)))
        }
        ReviewEvent::PostActionEnded { .. } => style.dim("  post-action finished"),
        ReviewEvent::PostActionRefused { failing } => {
            style.warn(&format!("  reverting the post-action, because gates failed: {}", failing.join(", ")))
        }
        ReviewEvent::PostActionUndone { commit, saved, .. } => {
            let kept = saved.as_ref().map_or(String::new(), |saved| format!("; its changes are at {saved}"));
            style.warn(&format!("  post-action reverted to {}{kept}", short(commit)))
        }
        ReviewEvent::PersonRuled { approved, reason } => {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {}", one_line(reason, 300)));
            match approved {
                true => style.good(&format!("approved by a user{reason}")),
                false => style.warn(&format!("rejected by a user{reason}")),
            }
        }
    }
}

/// A finding in one line.
pub fn finding_line(finding: &Finding) -> String {
    let again = if finding.recurrence > 1 { format!(" ({} reviews)", finding.recurrence) } else { String::new() };
    format!(
        "  {} [{}] {}{again}: {}",
        finding.id,
        finding.severity,
        one_line(&finding.place(), 80),
        one_line(&finding.description, 160)
    )
}

fn said(verdict: &Opinion) -> &'static str {
    match verdict {
        Opinion::Clean { .. } => "clean",
        Opinion::Dirty { .. } => "dirty",
        Opinion::Accepted => "accepted",
        Opinion::Rejected { .. } => "rejected",
    }
}

fn reported(report: &Report) -> String {
    match report {
        Report::Feature(report) => format!("report: {}", one_line(&report.feature, 120)),
        Report::AllFeaturesComplete { .. } => "report: all features are complete".to_owned(),
        Report::Unparsed { why } => format!("unreadable report: {}", one_line(why, 160)),
    }
}

fn skipped(because: &SkippedBecause) -> String {
    match because {
        SkippedBecause::Gates { failing } => format!("{} failed", failing.join(", ")),
        SkippedBecause::NothingChanged => "no changes".to_owned(),
        SkippedBecause::UnknownCommit { commit } => {
            format!("the reported commit {} does not exist", one_line(commit, 60))
        }
    }
}
