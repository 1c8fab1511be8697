//! `execute-plan`: a plan becomes a loop, or one turn without any.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_app::Context;
use windlass_core::ids::slug;
use windlass_core::plan::Plan;
use windlass_engine::config::{DefaultFor, Recipes};
use windlass_engine::data::{DataDir, private_dir};

use super::own;
use super::server::{Told, ToolError};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutePlan {
    /// The plan's text; a line with <!-- windlass-section --> begins each of its sections
    #[serde(default)]
    plan: Option<String>,
    /// Or the file with the plan
    #[serde(default)]
    plan_file: Option<String>,
    /// What the work is for, in a sentence or two [default: made from the plan]
    #[serde(default)]
    goal: Option<String>,
    /// loop: in the background, in a workspace of its own, until the work is verified done. new-session: one turn of the
    /// agent in this checkout, without a loop, a workspace and commits [default: loop]
    #[serde(default)]
    mode: Mode,
    /// The recipe of the loop, such as audited, promise or refine; `windlass recipe list` names all [default: audited]
    #[serde(default)]
    recipe: Option<String>,
    /// The loop's name: a-z 0-9 - _ [default: from the plan or the goal]
    #[serde(default)]
    name: Option<String>,
    /// The agent that works, such as claude or codex
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    model: Option<String>,
    /// Who judges the work: an agent, or agent:model
    #[serde(default)]
    reviewer: Option<String>,
    /// Commands that judge the work: exit 0 passes
    #[serde(default)]
    gates: Vec<String>,
    /// How often the agent runs at most
    #[serde(default)]
    max_iterations: Option<u32>,
    /// How many US dollars the loop may spend
    #[serde(default)]
    budget_usd: Option<f64>,
    /// The person has to agree before the loop is completed
    #[serde(default)]
    human_review: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    #[default]
    Loop,
    NewSession,
}

pub async fn execute(context: &Context, wanted: ExecutePlan) -> Told {
    let plan = plan(context, &wanted)?;
    let goal = goal(&wanted, plan.as_deref())?;
    match wanted.mode {
        Mode::Loop => start_loop(context, &wanted, plan, &goal).await,
        Mode::NewSession => start_session(context, &wanted, plan, &goal).await,
    }
}

fn plan(context: &Context, wanted: &ExecutePlan) -> Result<Option<String>, ToolError> {
    let text = match (&wanted.plan, &wanted.plan_file) {
        (Some(_), Some(_)) => return Err(ToolError::new("pass the plan as text or as a file, not both")),
        (Some(text), None) => text.clone(),
        (None, Some(file)) => std::fs::read_to_string(context.cwd.join(file))
            .map_err(|error| ToolError(format!("cannot read the plan {file}: {error}")))?,
        (None, None) => return Ok(None),
    };
    if text.trim().is_empty() { Err(ToolError::new("the plan is empty")) } else { Ok(Some(text)) }
}

fn goal(wanted: &ExecutePlan, plan: Option<&str>) -> Result<String, ToolError> {
    let said = wanted.goal.as_deref().map(str::trim).filter(|goal| !goal.is_empty());
    match (said, plan) {
        (Some(goal), _) => Ok(goal.to_owned()),
        (None, Some(plan)) => Ok(match title(plan) {
            Some(title) => format!("Carry out the plan: {title}"),
            None => "Carry out the plan".to_owned(),
        }),
        (None, None) => Err(ToolError::new("nothing to do: pass a plan, a plan_file, or a goal")),
    }
}

/// The first heading of the plan.
fn title(plan: &str) -> Option<&str> {
    let headings = plan.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| line.trim_start_matches('#').trim()).find(|title| !title.is_empty())
}

async fn start_loop(context: &Context, wanted: &ExecutePlan, plan: Option<String>, goal: &str) -> Told {
    let recipe = match &wanted.recipe {
        Some(recipe) => recipe.clone(),
        None => default_recipe(context, DefaultFor::Plan).await?,
    };
    let mut words = vec!["run".to_owned(), "-".to_owned(), "--detach".to_owned(), "--json".to_owned()];
    let mut flag = |name: &str, value: &str| words.push(format!("--{name}={value}"));
    flag("recipe", &recipe);
    let proposed = || Plan::parse(plan.as_deref()?).ok()?.loop_name().map(slug).filter(|name| !name.is_empty());
    if let Some(name) = wanted.name.clone().or_else(proposed) {
        flag("name", &name);
    }
    let max_iterations = wanted.max_iterations.map(|max| max.to_string());
    let budget_usd = wanted.budget_usd.map(|usd| usd.to_string());
    let given = [
        ("agent", wanted.agent.as_deref()),
        ("model", wanted.model.as_deref()),
        ("reviewer", wanted.reviewer.as_deref()),
        ("max-iterations", max_iterations.as_deref()),
        ("budget-usd", budget_usd.as_deref()),
    ];
    for (name, value) in given {
        if let Some(value) = value {
            flag(name, value);
        }
    }
    for gate in &wanted.gates {
        flag("gate", gate);
    }
    if wanted.human_review {
        words.push("--human-review".to_owned());
    }
    let kept = plan.map(|text| KeptPlan::write(&context.data(), &text)).transpose()?;
    if let Some(kept) = &kept {
        words.push(format!("--plan={}", kept.0.display()));
    }
    let started = own::run(context, &words, goal).await?;
    Ok(told(&started, "loop", &recipe))
}

async fn start_session(context: &Context, wanted: &ExecutePlan, plan: Option<String>, goal: &str) -> Told {
    let not_here =
        wanted.recipe.is_some() || wanted.reviewer.is_some() || wanted.max_iterations.is_some() || wanted.human_review;
    if not_here {
        let why =
            "a new-session is a single turn; recipe, reviewer, max_iterations, and human_review require the mode loop";
        return Err(ToolError::new(why));
    }
    let mut words: Vec<String> =
        ["run", "-", "--detach", "--json", "--no-loop", "--in-place", "--allow-dirty", "--commit=off"]
            .map(str::to_owned)
            .to_vec();
    let recipe = default_recipe(context, DefaultFor::Goal).await?;
    words.push(format!("--recipe={recipe}"));
    let given = [("name", &wanted.name), ("agent", &wanted.agent), ("model", &wanted.model)];
    words.extend(given.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?))));
    words.extend(wanted.gates.iter().map(|gate| format!("--gate={gate}")));
    words.extend(wanted.budget_usd.map(|usd| format!("--budget-usd={usd}")));
    let task = plan.map_or_else(|| goal.to_owned(), |plan| format!("{goal}\n\n{plan}"));
    let started = own::run(context, &words, &task).await?;
    Ok(told(&started, "new-session", &recipe))
}

/// The recipe that is taken for that if nobody names one.
async fn default_recipe(context: &Context, what: DefaultFor) -> Result<String, ToolError> {
    let project = context.project_if_any().await;
    let recipes = Recipes::find(&context.paths, project.as_deref()).map_err(|error| ToolError(error.to_string()))?;
    Ok(recipes.default_for(what))
}

fn told(started: &str, mode: &str, recipe: &str) -> String {
    let started: Value = serde_json::from_str(started).unwrap_or(Value::Null);
    let name = started["name"].as_str().unwrap_or_default();
    json!({
        "started": mode,
        "recipe": recipe,
        "name": name,
        "id": started["id"],
        "follow": format!("windlass logs {name} -f"),
        "status": format!("use the tool loop-status, or run: windlass status {name}"),
    })
    .to_string()
}

/// A plan's text as a file for as long as it takes to start: the loop keeps a copy of its own.
struct KeptPlan(PathBuf);

impl KeptPlan {
    fn write(data: &DataDir, text: &str) -> Result<Self, ToolError> {
        let dir = data.root().join("plans");
        let path = dir.join(format!("{}.md", uuid::Uuid::now_v7()));
        let written = private_dir(&dir).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| ToolError(format!("cannot write the plan to {}: {error}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for KeptPlan {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
