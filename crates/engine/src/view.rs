//! A loop as people and scripts see it: the JSON of `status`, and the catalogue's row.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use windlass_core::agent::AccountWindow;
use windlass_core::ids::{Membership, Role, TurnKey};
use windlass_core::machine::{
    AcceptedFeature, Aim, AnsweredBy, Claims, DeferredQuestion, IterationRecord, LoopState, Merge, MovedRef, Opinion,
    Phase, Question, RefusedMerge, Smaller, Verdict,
};
use windlass_core::residue::{Certificate, Leftover};
use windlass_core::resources::ResourceSpec;
use windlass_core::sandbox::{NetworkAccess, SandboxLevel, SandboxSpec};
use windlass_core::spec::{Limits, Parent, ReviewKind, SessionPolicy, Verify};
use windlass_core::stop::{Outcome, PauseReason, Status, StopReason, WaitReason};
use windlass_core::usage::Usage;

use windlass_store::{CatalogueEntry, LOOP};

/// `status --json`. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoopView {
    pub id: String,
    pub name: String,
    pub project: String,
    pub goal: String,
    pub recipe: String,
    /// One word; `interrupted` is put in by readers.
    pub status: String,
    pub phase: Option<Phase>,
    pub waiting_until: Option<Timestamp>,
    /// Why the loop waits, for the clock or for a person.
    pub waiting_for: Option<String>,
    /// The same while it waits for the clock, with its kind.
    #[serde(default)]
    pub wait: Option<WaitReason>,
    /// The same while it waits for a person.
    #[serde(default)]
    pub pause: Option<PauseReason>,
    pub stop_reason: Option<StopReason>,
    /// Of a completed loop.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// The outcome is `verified`.
    pub verified: bool,
    /// What gates start from: clean, warm or cold.
    #[serde(default)]
    pub verify: Verify,
    /// The last merge of its work by Windlass.
    #[serde(default)]
    pub merged: Option<Merge>,
    /// The last try to merge its work, if that was refused.
    #[serde(default)]
    pub merge_refused: Option<RefusedMerge>,
    /// The loop that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// The smaller tree on top of its branch, from `windlass minimise --take`.
    #[serde(default)]
    pub smaller: Option<Smaller>,
    pub iterations: u32,
    pub limits: Limits,
    pub branch: Option<String>,
    pub worktree: Option<String>,
    pub base_commit: Option<String>,
    pub head_commit: Option<String>,
    pub agent: String,
    /// The coder's model: what its usage names most tokens of, else what was asked for.
    #[serde(default)]
    pub model: Option<String>,
    pub session_policy: SessionPolicy,
    /// The group that the loop belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Membership>,
    #[serde(default)]
    pub sandbox: SandboxView,
    /// What the loop's processes may take of the machine, and what holds it.
    #[serde(default)]
    pub resources: ResourceSpec,
    pub claims: Claims,
    pub gates: Vec<GateView>,
    pub usage: UsageView,
    /// How much of its account the agent last reported as used; empty if it does not report that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub account: Vec<AccountWindow>,
    pub steering: Vec<SteeringView>,
    /// What the coder asked the user.
    #[serde(default)]
    pub questions: Vec<QuestionView>,
    /// In a loop in which somebody judges the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewView>,
    /// Hosts that were asked for and are not on the loop's list.
    #[serde(default)]
    pub denied_hosts: Vec<DeniedHost>,
    /// What is left of the loop on the machine, once it rests.
    #[serde(default)]
    pub residue: Option<ResidueView>,
    /// New files that git ignores and that are in no commit, the first of them, as of the last checkpoint.
    #[serde(default)]
    pub ignored_new: Vec<String>,
    #[serde(default)]
    pub ignored_new_count: u64,
    /// Refs that moved in the user's repository during a turn, without a sandbox, with where they were.
    #[serde(default)]
    pub moved_refs: Vec<MovedRef>,
    pub history: Vec<IterationRecord>,
    pub elapsed_ms: u64,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub stopped_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GateView {
    pub command: String,
    /// Agents and reviewers are not told about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// None: has not run on this iteration's commit yet.
    pub verdict: Option<Verdict>,
    pub exit_code: Option<i32>,
    pub commit: Option<String>,
    pub tree: Option<String>,
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UsageView {
    #[serde(flatten)]
    pub total: Usage,
    pub by_model: Vec<ModelUsage>,
    pub by_role: Vec<RoleUsage>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelUsage {
    pub model: String,
    #[serde(flatten)]
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RoleUsage {
    pub role: Role,
    #[serde(flatten)]
    pub usage: Usage,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SteeringView {
    pub text: String,
    pub delivered: bool,
}

/// A question of the coder. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QuestionView {
    pub id: String,
    pub turn: TurnKey,
    pub question: String,
    /// What the agent does if nobody answers; without one it uses its own judgment.
    pub default: Option<String>,
    pub asked_at: Timestamp,
    /// When the default is taken; none if nobody was waited for.
    pub until: Option<Timestamp>,
    /// Nobody answered yet, and the default is not taken.
    pub open: bool,
    pub answer: Option<String>,
    pub answered_by: Option<AnsweredBy>,
    pub answered_at: Option<Timestamp>,
}

impl QuestionView {
    fn of(question: &Question) -> Self {
        let answer = question.answer.as_ref();
        Self {
            id: question.id.clone(),
            turn: question.turn,
            question: question.question.clone(),
            default: question.default.clone(),
            asked_at: question.asked_at,
            until: question.until,
            open: answer.is_none(),
            answer: answer.and_then(|answer| answer.text.clone()),
            answered_by: answer.map(|answer| answer.by),
            answered_at: answer.map(|answer| answer.at),
        }
    }
}

/// The model that did most of the coder's work, else the one that was asked for.
fn model(state: &LoopState) -> Option<String> {
    let used = state.used();
    let most = used.by_role.get(&Role::Coder).into_iter().flatten().max_by_key(|(_, usage)| usage.tokens());
    most.map(|(model, _)| model.clone()).or_else(|| state.agent(Role::Coder).profile.model.clone())
}

impl LoopView {
    pub fn of(state: &LoopState) -> Self {
        Self { history: Self::history_of(state), ..Self::without_history(state) }
    }

    pub fn history_of(state: &LoopState) -> Vec<IterationRecord> {
        state.iterations.iter().map(|record| (**record).clone()).collect()
    }

    fn without_history(state: &LoopState) -> Self {
        let workspace = state.workspace.as_ref();
        let last = state.iterations.last();
        Self {
            id: state.id.0.clone(),
            name: state.name.clone(),
            project: state.project.clone(),
            goal: state.spec.goal.clone(),
            recipe: state.spec.recipe.clone(),
            status: state.status().name().to_owned(),
            phase: (state.status() == Status::Running).then_some(state.phase()),
            waiting_until: waiting_until(&state.status()),
            waiting_for: waiting_for(&state.status()),
            wait: wait(&state.status()),
            pause: pause(&state.status()),
            stop_reason: state.stop_reason(),
            outcome: state.outcome(),
            verified: state.is_verified(),
            verify: state.spec.workspace.verify,
            merged: state.merged.clone(),
            merge_refused: state.merge_refused.clone(),
            parent: state.spec.parent.clone(),
            smaller: state.smaller.clone(),
            iterations: state.iteration,
            limits: state.spec.limits.clone(),
            branch: workspace.and_then(|workspace| workspace.branch.clone()),
            worktree: workspace.map(|workspace| workspace.dir.clone()),
            base_commit: workspace.and_then(|workspace| workspace.base_commit.clone()),
            head_commit: state.head_commit().map(str::to_owned),
            agent: state.agent(Role::Coder).name.clone(),
            model: model(state),
            group: state.spec.group.clone(),
            session_policy: state.spec.session,
            sandbox: SandboxView::of(&state.spec.sandbox),
            resources: state.spec.resources.clone(),
            claims: state.claims,
            gates: gates(state),
            usage: usage(state),
            account: state.account.clone(),
            steering: state
                .steering
                .iter()
                .map(|message| SteeringView { text: message.text.clone(), delivered: message.delivered.is_some() })
                .collect(),
            questions: state.questions.iter().map(QuestionView::of).collect(),
            review: review(state),
            denied_hosts: state
                .denied_hosts
                .iter()
                .map(|(host, count)| DeniedHost { host: host.clone(), count: *count })
                .collect(),
            residue: state.residue.as_ref().map(ResidueView::of),
            ignored_new: last.map(|last| last.checkpoint.ignored_new.clone()).unwrap_or_default(),
            ignored_new_count: last.map(|last| last.checkpoint.ignored_new_count).unwrap_or_default(),
            moved_refs: state.iterations.iter().flat_map(|record| record.checkpoint.moved_refs.clone()).collect(),
            history: Vec::new(),
            elapsed_ms: state.elapsed_ms,
            created_at: state.created_at,
            started_at: state.started_at,
            stopped_at: state.stopped_at,
            updated_at: state.updated_at,
        }
    }
}

/// The sandbox of the loop's processes. Only add fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SandboxView {
    pub level: SandboxLevel,
    pub backend: Option<String>,
    pub network: NetworkAccess,
    #[serde(default)]
    pub network_hosts: Vec<String>,
    /// What containers are made of, at the level `docker`.
    #[serde(default)]
    pub docker_image: Option<String>,
}

impl SandboxView {
    fn of(spec: &SandboxSpec) -> Self {
        Self {
            level: spec.level,
            backend: spec.backend.clone(),
            network: spec.network,
            network_hosts: spec.hosts.clone(),
            docker_image: spec.docker.as_ref().map(|docker| docker.image.clone()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DeniedHost {
    /// With its port.
    pub host: String,
    /// At least so often: 1, 10, 100 …
    pub count: u64,
}

/// The certificate of a loop's end. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResidueView {
    pub checked_at: Timestamp,
    pub clean: bool,
    pub left: Vec<Leftover>,
}

impl ResidueView {
    fn of(certificate: &Certificate) -> Self {
        Self { checked_at: certificate.checked_at, clean: certificate.is_clean(), left: certificate.left.clone() }
    }
}

/// How a review stands. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReviewView {
    pub kind: ReviewKind,
    pub reviewer: String,
    pub aim: Aim,
    pub sections: Vec<SectionView>,
    pub findings_open: usize,
    pub findings_resolved: usize,
    pub last: Option<Opinion>,
    /// In a row.
    pub consecutive_rejections: u32,
    /// After so many the loop asks for a user. `null` in views of older versions.
    #[serde(default)]
    pub max_rejections: Option<u32>,
    pub rejection_reasons: Vec<String>,
    pub milestone: Option<String>,
    pub features_accepted: Vec<AcceptedFeature>,
    pub questions: Vec<DeferredQuestion>,
    pub completion_summary: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SectionView {
    pub number: u32,
    pub title: String,
    /// `done`, `current` or `open`.
    pub status: String,
    pub commit: Option<String>,
}

fn review(state: &LoopState) -> Option<ReviewView> {
    let (spec, review) = state.reviewed()?;
    let open = review.findings().open().count();
    let section = |section: &windlass_core::plan::Section| {
        let done = review.finished().iter().find(|done| done.number == section.number);
        let current = review.section_number() == Some(section.number);
        let status = if done.is_some() {
            "done"
        } else if current {
            "current"
        } else {
            "open"
        };
        SectionView {
            number: section.number,
            title: section.title.clone(),
            status: status.to_owned(),
            commit: done.and_then(|done| done.commit.clone()),
        }
    };
    Some(ReviewView {
        kind: spec.kind,
        reviewer: state.agent(spec.kind.role()).name.clone(),
        aim: review.aim(),
        sections: review.plan.iter().flat_map(|plan| &plan.sections).map(section).collect(),
        findings_open: open,
        findings_resolved: review.findings().all().len() - open,
        last: review.last.as_ref().map(|(_, ruling)| ruling.clone()),
        consecutive_rejections: review.rejections,
        max_rejections: Some(spec.max_rejections),
        rejection_reasons: review.reasons.clone(),
        milestone: spec.milestone.as_ref().map(|milestone| milestone.id.clone()),
        features_accepted: review.accepted().to_vec(),
        questions: review.questions.clone(),
        completion_summary: review
            .post_action
            .as_ref()
            .filter(|record| record.undone_for.is_empty())
            .map(|record| record.summary.clone()),
    })
}

fn waiting_until(status: &Status) -> Option<Timestamp> {
    match status {
        Status::Waiting { until, .. } => Some(*until),
        Status::Queued | Status::Running | Status::Paused { .. } | Status::Ended { .. } => None,
    }
}

fn wait(status: &Status) -> Option<WaitReason> {
    match status {
        Status::Waiting { why, .. } => Some(why.clone()),
        Status::Queued | Status::Running | Status::Paused { .. } | Status::Ended { .. } => None,
    }
}

fn pause(status: &Status) -> Option<PauseReason> {
    match status {
        Status::Paused { why } => Some(why.clone()),
        Status::Queued | Status::Running | Status::Waiting { .. } | Status::Ended { .. } => None,
    }
}

fn waiting_for(status: &Status) -> Option<String> {
    match status {
        Status::Waiting { why, .. } => Some(why.to_string()),
        Status::Paused { why } => Some(match why {
            PauseReason::Person => "paused by a user".to_owned(),
            PauseReason::Limit { limit } => format!("reached a limit: {}", limit.name()),
            PauseReason::Disk { message } => message.clone(),
            PauseReason::ProviderLimit { message } => format!("provider limit reached: {message}"),
            PauseReason::Auth { message } => format!("the agent is not logged in: {message}"),
            PauseReason::Infrastructure { step, trouble } => format!("{step} could not run ({trouble})"),
            PauseReason::Reviewer { role, agent, message } => {
                format!("no verdict from the {role} ({agent}): {message}")
            }
            PauseReason::Review => "your review is needed: approve or reject the work".to_owned(),
            PauseReason::Rejections { reasons } => {
                format!(
                    "your decision is needed after {} rejections in a row: approve or reject the work",
                    reasons.len()
                )
            }
        }),
        Status::Queued => Some("a free slot".to_owned()),
        Status::Running | Status::Ended { .. } => None,
    }
}

fn gates(state: &LoopState) -> Vec<GateView> {
    let asked = state.spec.gates.iter().enumerate();
    asked
        .map(|(index, gate)| {
            let result = state.gates.get(&index);
            GateView {
                command: gate.command.clone(),
                hidden: gate.hidden,
                verdict: result.map(|result| result.verdict),
                exit_code: result.and_then(|result| result.exit_code),
                commit: result.and_then(|result| result.commit.clone()),
                tree: result.map(|result| result.tree.clone()),
                duration_ms: result.map(|result| result.duration_ms),
            }
        })
        .collect()
}

fn usage(state: &LoopState) -> UsageView {
    let mut by_model: Vec<ModelUsage> = Vec::new();
    let mut by_role = Vec::new();
    let used = state.used();
    for (role, models) in &used.by_role {
        by_role.push(RoleUsage { role: *role, usage: windlass_core::usage::total(models) });
        for (model, used) in models {
            match by_model.iter_mut().find(|known| known.model == *model) {
                Some(known) => known.usage.add(used),
                None => by_model.push(ModelUsage { model: model.clone(), usage: used.clone() }),
            }
        }
    }
    UsageView { total: used.total(), by_model, by_role }
}

/// The catalogue's row for a state, with the whole view as its summary.
/// The row of an open loop has no history, or each step of a long loop would write all of it again. Readers take it from the
/// journal; the row of an ended loop has all.
pub fn catalogue_entry(state: &LoopState) -> CatalogueEntry {
    const LONGEST_GOAL: usize = 200;
    let view = if state.is_open() { LoopView::without_history(state) } else { LoopView::of(state) };
    CatalogueEntry {
        id: view.id.clone(),
        kind: LOOP.to_owned(),
        project: view.project.clone(),
        name: view.name.clone(),
        goal: view.goal.lines().next().unwrap_or_default().chars().take(LONGEST_GOAL).collect(),
        recipe: view.recipe.clone(),
        status: view.status.clone(),
        open: state.is_open(),
        iterations: view.iterations,
        max_iterations: view.limits.max_iterations,
        stop_reason: view.stop_reason.as_ref().map(|reason| reason.name().to_owned()),
        created_at: view.created_at,
        updated_at: view.updated_at,
        stopped_at: view.stopped_at,
        summary: serde_json::to_string(&view).unwrap_or_else(|error| unreachable!("a view is plain data: {error}")),
    }
}
