//! The tools of one turn in a loop: what its role may read and do.
//!
//! Readers look into the journal; whatever changes something goes through the loop's driver, which decides.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::findings::{NewFinding, Scope, Severity};
use windlass_core::ids::{LoopId, Role};
use windlass_core::machine::{Act, AnsweredBy, LoopState, Opinion, Refusal};
use windlass_core::review::{Report, SectionSummary};
use windlass_engine::command::Answer;
use windlass_engine::engine::{Engine, EngineError};
use windlass_engine::journal;
use windlass_engine::tools::{Connection, ToolServer, Whose};

use super::protocol::{JsonObject, Tool};
use super::server::{Told, ToolError, Toolbox, input, tool};
use super::{findings, sections, server};
use crate::failure::Failure;

/// How long the driver may take to answer. Some agents give a tool a minute.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves the tools of turns on the sockets of the loops that this process drives.
#[derive(Debug)]
pub struct ToolsOfTurns;

#[async_trait]
impl ToolServer for ToolsOfTurns {
    async fn serve(&self, engine: Arc<Engine>, loop_id: LoopId, whose: Whose, connection: Connection) {
        let state = journal::load(engine.store.as_ref(), &loop_id).await;
        let (reviewed, answered) =
            state.map_or((false, false), |state| (state.review.is_some(), state.spec.question_wait_ms > 0));
        server::serve_on(TurnTools { engine, loop_id, whose, reviewed, answered }, connection).await;
    }
}

#[derive(Debug)]
struct TurnTools {
    engine: Arc<Engine>,
    loop_id: LoopId,
    whose: Whose,
    /// Somebody judges the work.
    reviewed: bool,
    /// Questions of the coder wait for an answer.
    answered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ReviewRead,
    ReviewWrite,
    ReviewDelete,
    SectionRead,
    PlanAdjust,
    Verdict,
    Report,
    Ask,
}

impl Kind {
    const ALL: [Kind; 8] = [
        Kind::ReviewRead,
        Kind::ReviewWrite,
        Kind::ReviewDelete,
        Kind::SectionRead,
        Kind::PlanAdjust,
        Kind::Verdict,
        Kind::Report,
        Kind::Ask,
    ];

    fn name(self) -> &'static str {
        match self {
            Kind::ReviewRead => "review-read",
            Kind::ReviewWrite => "review-write",
            Kind::ReviewDelete => "review-delete",
            Kind::SectionRead => "section-read",
            Kind::PlanAdjust => "plan-adjust",
            Kind::Verdict => "verdict",
            Kind::Report => "report",
            Kind::Ask => "ask",
        }
    }

    fn is_for(self, role: Role) -> bool {
        match (self, role) {
            (_, Role::Summariser) => false,
            (Kind::Ask, _) => true,
            (Kind::ReviewRead, role) => matches!(role, Role::Auditor | Role::Acceptor | Role::Coder),
            (Kind::SectionRead, role) => role != Role::Acceptor,
            (Kind::ReviewWrite | Kind::ReviewDelete | Kind::PlanAdjust, role) => role == Role::Auditor,
            (Kind::Verdict, role) => role.reviews(),
            (Kind::Report, role) => role == Role::Coder,
        }
    }

    fn offered(self, role: Role) -> Tool {
        match self {
            Kind::ReviewRead => {
                tool::<findings::ReadFindings>(self.name(), "Read the findings of this loop's reviews.")
            }
            Kind::ReviewWrite => tool::<WriteFinding>(
                self.name(),
                "Record one finding. It stays open until an auditor resolves it, and open bugs block completion. Only one \
                 finding can be open per location.",
            ),
            Kind::ReviewDelete => tool::<ResolveFinding>(
                self.name(),
                "Mark a finding as resolved after you verified that it is. Keeps its history.",
            ),
            Kind::SectionRead => {
                tool::<sections::ReadSections>(self.name(), "Read the plan, or one section of it, with its status.")
            }
            Kind::PlanAdjust => tool::<AdjustPlan>(
                self.name(),
                "Replace the text of the current or a later section if the work has shown that the plan is wrong. The \
                 objective and verification cannot be changed.",
            ),
            Kind::Verdict if role == Role::Acceptor => {
                tool::<AcceptorVerdict>(self.name(), "Report whether you accept the work. The last call counts.")
            }
            Kind::Verdict => tool::<AuditorVerdict>(
                self.name(),
                "Report whether the work is clean. Always call it at the end; the last call counts.",
            ),
            Kind::Report => tool::<TellReport>(
                self.name(),
                "Submit the report of this turn in the format given in the prompt. Only for milestones.",
            ),
            Kind::Ask if role == Role::Coder => tool::<Ask>(
                self.name(),
                "Ask the user. Returns at once with what to do: the answer, or your default, may only come with your next \
                 turn.",
            ),
            Kind::Ask => tool::<Ask>(
                self.name(),
                "Record a question for the user. You get no answer now: decide yourself and continue.",
            ),
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFinding {
    /// From the root of the workspace; for what is missing: GOAL, or PLAN:section-2
    file: String,
    /// The line; without it the finding is about the file as a whole
    #[serde(default)]
    line: Option<u32>,
    severity: FindingSeverity,
    /// What is wrong, what would make it right, and how that can be checked
    description: String,
    /// What happens to whom, step by step
    #[serde(default)]
    scenario: Option<String>,
    /// The section it belongs to [default: the one that is worked at]
    #[serde(default)]
    section: Option<u32>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FindingSeverity {
    Bug,
    Warning,
}

impl From<WriteFinding> for NewFinding {
    fn from(new: WriteFinding) -> Self {
        let severity = match new.severity {
            FindingSeverity::Bug => Severity::Bug,
            FindingSeverity::Warning => Severity::Warning,
        };
        NewFinding {
            file: new.file,
            line: new.line,
            severity,
            description: new.description,
            scenario: new.scenario,
            section: new.section,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ResolveFinding {
    /// The finding's id, such as f1, or its place, such as src/a.rs:12
    finding: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AdjustPlan {
    /// The section's number
    section: u32,
    /// The section's whole new text
    text: String,
    /// Why the plan must change
    rationale: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditorVerdict {
    verdict: CleanOrDirty,
    /// Of a section that is clean: what was done, what differs from the plan, what is left for later
    #[serde(default)]
    summary: Option<Summary>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CleanOrDirty {
    Clean,
    Dirty,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Summary {
    done: Vec<String>,
    #[serde(default)]
    deviations: Vec<String>,
    #[serde(default)]
    follow_ups: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AcceptorVerdict {
    verdict: AcceptedOrRejected,
    /// Of a rejection: what is wrong and what would make it right
    #[serde(default)]
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum AcceptedOrRejected {
    Accepted,
    Rejected,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TellReport {
    /// The report, as the prompt requests it
    report: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    question: String,
    /// What you continue with if nobody answers
    #[serde(default)]
    default: Option<String>,
}

#[async_trait]
impl Toolbox for TurnTools {
    fn instructions(&self) -> String {
        let role = self.whose.role();
        if role == Role::Coder && self.answered {
            return "You are the coder in a Windlass loop. The user may answer a question before your next turn."
                .to_owned();
        }
        format!("You are the {role} in a Windlass loop. Nobody is available to answer questions.")
    }

    fn tools(&self) -> Vec<Tool> {
        let role = self.whose.role();
        Kind::ALL.into_iter().filter(|kind| self.offers(*kind)).map(|kind| kind.offered(role)).collect()
    }

    async fn call(&self, name: &str, given: JsonObject) -> Option<Told> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name)?;
        if !self.offers(kind) {
            return Some(Err(ToolError(Refusal::NotYourRole { role: self.whose.role() }.to_string())));
        }
        Some(self.perform(kind, given).await)
    }
}

impl TurnTools {
    /// A loop without a reviewer has nothing but questions.
    fn offers(&self, kind: Kind) -> bool {
        kind.is_for(self.whose.role()) && (self.reviewed || kind == Kind::Ask)
    }

    async fn perform(&self, kind: Kind, given: JsonObject) -> Told {
        match kind {
            Kind::ReviewRead => findings::read(&self.state().await?, &input(given)?),
            Kind::SectionRead => sections::read(&self.state().await?, &input(given)?),
            Kind::ReviewWrite => {
                let finding: WriteFinding = input(given)?;
                let id = self.act(Act::WriteFinding { finding: finding.into() }).await?;
                Ok(format!("written as {}", id.unwrap_or_default()))
            }
            Kind::ReviewDelete => {
                let ResolveFinding { finding } = input(given)?;
                let id = self.act(Act::ResolveFinding { id: finding }).await?;
                Ok(format!("{} is resolved", id.unwrap_or_default()))
            }
            Kind::PlanAdjust => {
                let AdjustPlan { section, text, rationale } = input(given)?;
                self.act(Act::AdjustPlan { section, body: text, rationale }).await?;
                Ok(format!("updated section {section}; the old text is kept"))
            }
            Kind::Verdict if self.whose.role() == Role::Acceptor => self.accept_or_reject(input(given)?).await,
            Kind::Verdict => self.judge(input(given)?).await,
            Kind::Report => self.report(input(given)?).await,
            Kind::Ask => self.ask(input(given)?).await,
        }
    }

    async fn judge(&self, said: AuditorVerdict) -> Told {
        let summarised = said.summary.as_ref().is_some_and(|summary| !summary.done.is_empty());
        if let (CleanOrDirty::Clean, false) = (said.verdict, summarised)
            && self.state().await?.review.is_some_and(|review| review.section().is_some())
        {
            return Err(ToolError::new("a clean section requires a summary: describe what was done"));
        }
        let verdict = match said.verdict {
            CleanOrDirty::Clean => Opinion::Clean {
                summary: said.summary.map(|summary| SectionSummary {
                    done: summary.done,
                    deviations: summary.deviations,
                    follow_ups: summary.follow_ups,
                }),
            },
            CleanOrDirty::Dirty => Opinion::Dirty { open: Vec::new() },
        };
        self.act(Act::Say { verdict }).await?;
        let blocking = blocking(&self.state().await?);
        Ok(match (said.verdict, blocking.is_empty()) {
            (CleanOrDirty::Clean, true) => "recorded: clean. End your turn now.".to_owned(),
            (CleanOrDirty::Clean, false) => format!(
                "recorded: clean. But blocking findings are open: {}. The work counts as dirty until you resolve them with \
                 review-delete.",
                blocking.join(", ")
            ),
            (CleanOrDirty::Dirty, false) => {
                format!("recorded: dirty. Open blocking findings: {}. End your turn now.", blocking.join(", "))
            }
            (CleanOrDirty::Dirty, true) => {
                "recorded: dirty. But no blocking finding is open: record what is wrong with review-write.".to_owned()
            }
        })
    }

    async fn accept_or_reject(&self, said: AcceptorVerdict) -> Told {
        let reason = said.reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        let (verdict, word) = match (said.verdict, reason) {
            (AcceptedOrRejected::Accepted, _) => (Opinion::Accepted, "accepted"),
            (AcceptedOrRejected::Rejected, Some(reason)) => (Opinion::Rejected { reason }, "rejected"),
            (AcceptedOrRejected::Rejected, None) => {
                return Err(ToolError::new("a rejection requires a reason: say what is wrong and how to fix it"));
            }
        };
        self.act(Act::Say { verdict }).await?;
        Ok(format!("recorded: {word}. End your turn now."))
    }

    async fn report(&self, told: TellReport) -> Told {
        if !self.state().await?.accepts_features() {
            return Err(ToolError::new("this loop has no milestone, so reports are not read: put it in your answer"));
        }
        // What cannot be read would stand in the way of the report in the answer.
        if let Report::Unparsed { why } = Report::read(&told.report, "") {
            return Err(ToolError(format!("cannot parse the report: {why}")));
        }
        self.act(Act::Report { report: Box::new(Report::read(&told.report, "")) }).await?;
        Ok("report received".to_owned())
    }

    async fn ask(&self, asked: Ask) -> Told {
        let question = asked.question.trim().to_owned();
        if question.is_empty() {
            return Err(ToolError::new("the question is empty"));
        }
        let default = asked.default.map(|default| default.trim().to_owned()).filter(|default| !default.is_empty());
        let on = default.as_ref().map_or(String::new(), |default| format!(" You will continue with: {default}."));
        self.act(Act::Ask { question: question.clone(), default }).await?;
        let state = self.state().await?;
        let asked = state.questions.iter().rev().find(|known| known.question == question);
        Ok(match asked.map(|asked| (asked, &asked.answer)) {
            // It does not wait here: the agent's process would be held, and its tools give up after a minute or so.
            Some((asked, None)) => format!(
                "Recorded as {}. The user can answer until {}. Do what does not depend on it, then end your turn: your next \
                 prompt has the answer, or your default.",
                asked.id,
                asked
                    .until
                    .map_or_else(|| "your next turn".to_owned(), |until| until.strftime("%H:%M UTC").to_string()),
            ),
            Some((_, Some(answer))) if answer.by == AnsweredBy::Person => {
                format!("The user answered this before: {}", answer.text.as_deref().unwrap_or_default())
            }
            Some(_) | None => format!(
                "Nobody is available to answer: decide yourself and continue.{on} The question is recorded for the user."
            ),
        })
    }

    async fn state(&self) -> Result<LoopState, ToolError> {
        journal::load(self.engine.store.as_ref(), &self.loop_id).await.map_err(|error| trouble(error.into()))
    }

    /// Has the driver do it; the id of the finding it was about.
    async fn act(&self, act: Act) -> Result<Option<String>, ToolError> {
        let role = self.whose.role();
        let turn = self
            .whose
            .turn(&self.state().await?)
            .ok_or_else(|| ToolError(format!("no turn of the {role} is running")))?;
        match self.engine.act(&self.loop_id, turn, act, PATIENCE).await {
            Ok(Answer::Accepted { finding }) => Ok(finding),
            Ok(Answer::Done { .. }) => Ok(None),
            Ok(Answer::Refused { message }) => Err(ToolError(message)),
            Err(error) => Err(trouble(error)),
        }
    }
}

fn trouble(error: EngineError) -> ToolError {
    let unsure = matches!(error, EngineError::NoAnswer | EngineError::Unanswered { .. });
    let mut failure = Failure::from(error);
    if unsure {
        failure.hint = Some("the change may still be applied: check with review-read before you retry".to_owned());
    }
    failure.into()
}

fn blocking(state: &LoopState) -> Vec<String> {
    let Some((spec, review)) = state.reviewed() else { return Vec::new() };
    let scope = review.section_number().map_or(Scope::All, |section| Scope::Section { section });
    review.findings().blocking(spec.warnings_block, scope).map(|finding| finding.id.to_string()).collect()
}
