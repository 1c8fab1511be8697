//! What an agent's answer says to the machine. It is read before anything is decided, so that rules see values and no text.

use super::review::Opinion;
use crate::agent::TurnReport;
use crate::ids::Role;
use crate::plan::Plan;
use crate::review::{self, Audit, CoderDecisions, Report, Verdict};

/// Each by its role; an error says why the answer cannot be acted upon, in words for the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Nobody reads what this turn says.
    Unread,
    Plan(Result<Box<Plan>, String>),
    Audit(Result<Box<Audit>, String>),
    Acceptance(Result<Opinion, String>),
    /// What a coder says of its own turn.
    Work {
        decisions: Option<CoderDecisions>,
        report: Option<Box<Report>>,
    },
}

impl Answer {
    pub fn read(role: Role, report: &TurnReport) -> Self {
        let text = report.answer.as_deref().unwrap_or_default();
        match role {
            Role::Planner => Answer::Plan(plan(text).map(Box::new)),
            Role::Auditor => Answer::Audit(audit(text).map(Box::new)),
            Role::Acceptor => Answer::Acceptance(match report.verdict.clone() {
                Some(Verdict::Accepted) => Ok(Opinion::Accepted),
                Some(Verdict::Rejected { reason }) => Ok(Opinion::Rejected { reason }),
                Some(Verdict::Unclear { why }) => Err(why),
                None => Err("no answer".to_owned()),
            }),
            Role::Coder => Answer::Work { decisions: review::coder_decisions(text), report: report.developer.clone() },
            Role::Finisher | Role::Summariser => Answer::Unread,
        }
    }
}

fn plan(text: &str) -> Result<Plan, String> {
    match Plan::parse(text) {
        // Any text can be read as a plan; one that was asked for has the marks that were asked for.
        Ok(plan) if !plan.marked => Err("it has no section markers".to_owned()),
        Ok(plan) => Ok(plan),
        Err(error) => Err(format!("{error} ({})", error.hint())),
    }
}

fn audit(text: &str) -> Result<Audit, String> {
    let audit = review::read_audit(text).map_err(|error| error.to_string())?;
    let section_summary = audit.section_summary.or_else(|| review::section_summary(text));
    Ok(Audit { section_summary, ..audit })
}
