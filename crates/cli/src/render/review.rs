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
        ReviewEvent::AimChanged { aim: Aim::Whole } => style.dim("  now about the whole"),
        ReviewEvent::MilestoneAmended { .. } => style.bold("the milestone's file was edited and is read anew"),
        ReviewEvent::FindingWritten { finding, .. } => style.warn(&finding_line(finding)),
        ReviewEvent::FindingResolved { id, .. } => style.good(&format!("  ✓ {id} resolved")),
        ReviewEvent::PlanAdjusted { adjustment, .. } => style.accent(&format!(
            "  the plan of section {} was changed: {}",
            adjustment.section,
            one_line(&adjustment.rationale, 160)
        )),
        ReviewEvent::VerdictGiven { verdict, .. } => style.dim(&format!("  the reviewer says {}", said(verdict))),
        ReviewEvent::Reported { report, .. } => style.dim(&format!("  {}", reported(report))),
        ReviewEvent::DecisionsTold { .. } => String::new(),
        ReviewEvent::QuestionDeferred { question, default, .. } => {
            let on = default.as_ref().map_or(String::new(), |on| format!("; it goes on with: {}", one_line(on, 120)));
            style.warn(&format!("  nobody is here to answer: {}{on}", one_line(question, 200)))
        }
        ReviewEvent::ReviewSkipped { because, .. } => style.dim(&format!("  no review: {}", skipped(because))),
        ReviewEvent::AnswerUnreadable { turn, why } => {
            style.warn(&format!("  the {}'s answer cannot be used: {}", turn.role, one_line(why, 300)))
        }
        ReviewEvent::Reviewed { ruling, .. } => match ruling {
            Opinion::Clean { .. } => style.good("  ✓ review: clean"),
            Opinion::Accepted => style.good("  ✓ review: accepted"),
            Opinion::Dirty { open } => style.bad(&format!("  ✗ review: open are {}", open.join(", "))),
            Opinion::Rejected { reason } => style.bad(&format!("  ✗ review: rejected: {}", one_line(reason, 300))),
        },
        ReviewEvent::RejectedUnseen { reason, .. } => {
            style.bad(&format!("  ✗ counts as a rejection: {}", one_line(reason, 300)))
        }
        ReviewEvent::SectionFinished { section, title, checkpoint } => {
            let commit = checkpoint.commit.as_deref().map(short).unwrap_or_default();
            style.good(&format!("✔ section {section} is done: {} {commit}", one_line(title, 80)))
        }
        ReviewEvent::PostActionEnded { .. } => style.dim("  the post-action has ended"),
        ReviewEvent::PostActionRefused { failing } => {
            style.warn(&format!("  gates fail after the post-action, so it is taken back: {}", failing.join(", ")))
        }
        ReviewEvent::PostActionUndone { commit, saved, .. } => {
            let kept = saved.as_ref().map_or(String::new(), |saved| format!("; what it did is at {saved}"));
            style.warn(&format!("  back at {}{kept}", short(commit)))
        }
        ReviewEvent::PersonRuled { approved, reason } => {
            let reason = reason.as_ref().map_or(String::new(), |reason| format!(": {}", one_line(reason, 300)));
            match approved {
                true => style.good(&format!("approved by a person{reason}")),
                false => style.warn(&format!("rejected by a person{reason}")),
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
        Report::Unparsed { why } => format!("no report could be read: {}", one_line(why, 160)),
    }
}

fn skipped(because: &SkippedBecause) -> String {
    match because {
        SkippedBecause::Gates { failing } => format!("{} failed", failing.join(", ")),
        SkippedBecause::NothingChanged => "nothing was changed".to_owned(),
        SkippedBecause::UnknownCommit { commit } => format!("the commit {} was not made", one_line(commit, 60)),
    }
}
