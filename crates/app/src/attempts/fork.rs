//! A new loop that starts from a checkpoint of another one.
//!
//! A fork has the parent's specification, but for what the request says. Its work is compared with the parent's base, so
//! that `verified` and the diff are about the whole work. Nothing of the parent changes.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::machine::LoopState;
use windlass_core::spec::{GateSpec, LoopSpec, Parent, SessionPolicy, WorkspaceKind};
use windlass_engine::config::{Options, RunOptions};
use windlass_engine::trust::Seen;
use windlass_engine::view::LoopView;
use windlass_engine::work::{self, Point};

use crate::diff::no_such_point;
use crate::local::Local;
use crate::local::Opened;
use crate::open::leaves_to_the_background;
use crate::problem::{Kind, Problem};
use crate::request::{Opens, Request};
use crate::start;

/// Start a new loop from a checkpoint of another one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForkLoop {
    #[schemars(skip)]
    pub id: String,
    /// The iteration whose checkpoint it starts from; 0 is where the loop started. The last one if left out.
    pub at: Option<u32>,
    /// The goal; the parent's if left out.
    pub goal: Option<String>,
    /// The name; made from the parent's if left out.
    pub name: Option<String>,
    /// Settings under the very keys of the configuration. What is not here is as in the parent. `agent` may be `A:M`.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// A one-off agent, as with --agent-command.
    pub agent_command: Option<String>,
    pub reviewer_command: Option<String>,
    /// As for any loop.
    pub trust: Option<Vec<Seen>>,
}

leaves_to_the_background!(ForkLoop => "fork");

/// The settings that a fork may change. Everything else is as in the parent.
const CHANGEABLE: &[&str] = &[
    "agent",
    "model",
    "recipe",
    "reviewer",
    "fallbacks",
    "session",
    "gates",
    "hidden_gates",
    "gate_timeout",
    "completion_promise",
    "max_iterations",
    "duration",
    "budget_usd",
    "max_tokens",
    "on_limit",
    "on_rate_limit",
    "turn_timeout",
    "stall_timeout",
];

/// A recipe that every version has, for what does not depend on one.
const ANY_RECIPE: &str = "promise";

impl Opens for ForkLoop {
    async fn open(mut self, here: &Local) -> Result<Opened, Problem> {
        let agreed = self.trust.take();
        let parent = here.state_of(&self.id).await?;
        let (point, base) = self.starting_point(here, &parent).await?;
        self.split_agent();
        self.check()?;
        let goal = self.goal.clone().unwrap_or_else(|| parent.spec.goal.clone());
        let (context, root) = here.at(&parent.project).await?;
        let mut settings = self.settings.clone();
        let known = context.settings(Some(&root), Options::default()).map_err(Problem::invalid)?;
        let named = known.agents.contains_key(&parent.spec.agent.name);
        let mut agent_command = self.agent_command.clone();
        if !self.says("agent") && agent_command.is_none() {
            match named {
                true => {
                    settings.insert("agent".to_owned(), parent.spec.agent.name.clone().into());
                    if let (Some(model), false) = (&parent.spec.agent.profile.model, self.says("model")) {
                        settings.insert("model".to_owned(), model.clone().into());
                    }
                }
                false => {
                    let words = parent.spec.agent.profile.command.iter().map(String::as_str);
                    agent_command = shlex::try_join(words).ok();
                }
            }
        }
        if let (Some(budget), false) = (parent.spec.limits.budget_usd, self.says("budget_usd")) {
            // So that an agent without a price is refused before it starts.
            settings.insert("budget_usd".to_owned(), budget.into());
        }
        if !self.says("recipe") {
            let reviewed = parent.spec.review.is_some() && !self.names_reviewer();
            let recipe = if reviewed { ANY_RECIPE } else { parent.spec.recipe.as_str() };
            settings.insert("recipe".to_owned(), recipe.into());
        }
        let settings = context.settings(Some(&root), Options::from_json(&settings)?).map_err(Problem::invalid)?;
        let review = parent.spec.review.as_ref();
        let wanted = RunOptions {
            goal: goal.clone(),
            name: self.name.clone().unwrap_or_else(|| fork_name(&parent.name)),
            agent_command,
            reviewer_command: self.reviewer_command.clone(),
            milestone: review.and_then(|review| review.milestone.clone()),
            documents: review.map(|review| review.documents.clone()).unwrap_or_default(),
            base: Some(base.clone()),
            ..RunOptions::default()
        };
        let mut prepared = start::prepare(&context, root, &settings, wanted).map_err(Problem::invalid)?;
        prepared.numbered = self.name.is_none();
        prepared.spec = self.specified(&parent.spec, prepared.spec);
        prepared.spec.goal = goal;
        prepared.spec.workspace.base = Some(base);
        prepared.spec.parent = Some(Parent {
            id: parent.id.clone(),
            name: parent.name.clone(),
            iteration: point.iteration,
            commit: point.commit,
            agent: parent.spec.agent.label(),
            target: here.readable().await?.workspace(&parent)?.home.branch,
        });
        start::create(here, prepared, &settings, agreed).await
    }
}

impl ForkLoop {
    fn says(&self, key: &str) -> bool {
        self.settings.contains_key(key)
    }

    fn names_reviewer(&self) -> bool {
        self.says("reviewer") || self.reviewer_command.is_some()
    }

    /// `A:M` is an agent with its model.
    fn split_agent(&mut self) {
        let Some((agent, model)) = self.settings.get("agent").and_then(|value| value.as_str()?.split_once(':')) else {
            return;
        };
        let (agent, model) = (agent.to_owned(), model.to_owned());
        self.settings.insert("agent".to_owned(), agent.into());
        self.settings.entry("model".to_owned()).or_insert(model.into());
    }

    fn check(&self) -> Result<(), Problem> {
        if self.goal.as_ref().is_some_and(|goal| goal.trim().is_empty()) {
            return Err(Problem::new(Kind::Invalid, "the goal is empty")
                .field("goal")
                .hint("write a new goal, or omit it to keep the parent's"));
        }
        match self.settings.keys().find(|key| !CHANGEABLE.contains(&key.as_str())) {
            Some(key) => {
                Err(Problem::new(Kind::Invalid, format!("a fork keeps the setting '{key}' of the loop it starts from"))
                    .field(key.clone())
                    .hint("start a new loop with `windlass run --base COMMIT` instead"))
            }
            None => Ok(()),
        }
    }

    /// The checkpoint to start from, and the parent's base; both must still be in the repository.
    async fn starting_point(&self, here: &Local, parent: &LoopState) -> Result<(Point, String), Problem> {
        let name = &parent.name;
        match parent.spec.workspace.kind {
            WorkspaceKind::Clone => {}
            WorkspaceKind::InPlace | WorkspaceKind::External => {
                return Err(Problem::refused(
                    format!("{name}: the loop works in your checkout, so it has no checkpoints to fork"),
                    "start a new loop with `windlass run --base COMMIT` instead",
                ));
            }
        }
        let (point, base) =
            work::fork_point(parent, self.at).map_err(|error| no_such_point(&error, name).field("at"))?;
        let engine = here.readable().await?;
        for commit in [&point.commit, &base] {
            if engine.workspaces.commit_facts(Path::new(&parent.project), commit).await?.is_none() {
                let what = match point.iteration {
                    0 => "the commit that it started from".to_owned(),
                    iteration => format!("the checkpoint of iteration {iteration}"),
                };
                return Err(Problem::refused(
                    format!("{name}: {what} ({}) is no longer in the repository", crate::words::short(commit)),
                    "choose another iteration with --at, or fetch the commit into the repository",
                ));
            }
        }
        Ok((point, base))
    }

    /// The parent's specification with what the request says, of a specification that was made with that.
    fn specified(&self, parent: &LoopSpec, made: LoopSpec) -> LoopSpec {
        let mut spec = parent.clone();
        let new_agent = self.says("agent") || self.says("model") || self.agent_command.is_some();
        let new_recipe = self.says("recipe");
        let hidden = |gates: &[GateSpec], hidden: bool| -> Vec<GateSpec> {
            gates.iter().filter(|gate| gate.hidden == hidden).cloned().collect()
        };
        let mut gates = hidden(if self.says("gates") { &made.gates } else { &parent.gates }, false);
        gates.extend(hidden(if self.says("hidden_gates") { &made.gates } else { &parent.gates }, true));
        spec.gates = gates;
        if self.says("session") || new_recipe || (new_agent && parent.session == SessionPolicy::KeepAlive) {
            spec.session = made.session;
        }
        if new_agent {
            spec.agent = made.agent;
        }
        if self.says("fallbacks") {
            spec.fallbacks = made.fallbacks;
        }
        if new_recipe || self.names_reviewer() {
            spec.review = made.review;
        }
        if new_recipe || self.says("completion_promise") {
            spec.done = made.done;
        }
        if new_recipe || self.says("max_iterations") {
            spec.limits.max_iterations = made.limits.max_iterations;
        }
        if new_recipe || self.says("on_limit") {
            spec.on_limit = made.on_limit;
        }
        if self.says("duration") {
            spec.limits.duration_ms = made.limits.duration_ms;
        }
        if self.says("budget_usd") {
            spec.limits.budget_usd = made.limits.budget_usd;
        }
        if self.says("max_tokens") {
            spec.limits.max_tokens = made.limits.max_tokens;
        }
        if self.says("on_rate_limit") {
            spec.on_rate_limit = made.on_rate_limit;
        }
        if self.says("turn_timeout") {
            spec.time.turn_timeout_ms = made.time.turn_timeout_ms;
        }
        if self.says("stall_timeout") {
            spec.time.stall_timeout_ms = made.time.stall_timeout_ms;
        }
        if new_recipe {
            spec.recipe = made.recipe;
            spec.on_failure = made.on_failure;
            spec.time.max_stalls = made.time.max_stalls;
            spec.prompts = made.prompts;
            spec.context.plan = made.context.plan.or(spec.context.plan);
        }
        spec
    }
}

/// A name that says where the loop comes from; it gets a number if it is taken.
fn fork_name(parent: &str) -> String {
    const LONGEST: usize = 54;
    let kept: String = parent.chars().take(LONGEST).collect();
    format!("{}-fork", kept.strip_suffix("-fork").unwrap_or(&kept))
}
