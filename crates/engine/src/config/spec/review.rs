//! From the settings about reviewers and stand-ins to what a loop is told about them.

use windlass_core::plan::Plan;
use windlass_core::profile::ITERATIONS;
use windlass_core::spec::{AgentChoice, PostAction, ReviewSpec};

use super::money;
use super::{RunOptions, named_agent, no_price, one_off};
use crate::config::keys::Settings;
use crate::config::origin::Origin;
use crate::config::recipe::Recipe;
use crate::config::usage::UsageError;

/// Agents to fall back to if an agent fails permanently.
pub(in crate::config) fn fallbacks(
    list: Option<&[String]>,
    settings: &Settings,
    run: &RunOptions,
) -> Result<Vec<AgentChoice>, UsageError> {
    list.unwrap_or_default().iter().map(|wish| wished_agent(wish, settings, run)).collect()
}

/// An agent as people name it: `codex`, or with a model, `codex:gpt-5`.
pub(in crate::config) fn wished_agent(
    wish: &str,
    settings: &Settings,
    run: &RunOptions,
) -> Result<AgentChoice, UsageError> {
    let (name, model) = match wish.split_once(':') {
        Some((name, model)) => (name.trim(), Some(model.trim())),
        None => (wish.trim(), None),
    };
    if name.is_empty() || model.is_some_and(str::is_empty) {
        return Err(UsageError::Wish { wish: wish.escape_debug().to_string() });
    }
    named_agent(name, model, settings, run)
}

/// Who sums up, if another agent was named for that.
pub(in crate::config) fn summing_up(settings: &Settings, run: &RunOptions) -> Result<Option<AgentChoice>, UsageError> {
    settings.summariser_agent.value.as_deref().map(|wish| wished_agent(wish, settings, run)).transpose()
}

/// The review of a loop whose recipe has one.
pub(in crate::config) fn review(
    recipe: &Recipe,
    coder: &AgentChoice,
    settings: &Settings,
    run: &RunOptions,
) -> Result<Option<ReviewSpec>, UsageError> {
    let Some(kind) = recipe.review else {
        // A setting is for the loops that have one; who names one for this loop means it.
        let said = matches!(settings.reviewer.origin, Origin::Flag { .. }) || run.reviewer_command.is_some();
        return if said { Err(UsageError::ReviewerUnused { recipe: recipe.name.clone() }) } else { Ok(None) };
    };
    let reviewer = match (&run.reviewer_command, &settings.reviewer.value) {
        (Some(command), _) => one_off(command, &run.cwd)?,
        (None, Some(wish)) => wished_agent(wish, settings, run)?,
        (None, None) => coder.clone(),
    };
    let budget_usd = settings.reviewer_budget_usd.value.map(|usd| usd.get());
    if let Some(amount) = budget_usd
        && !money::reports(&reviewer.profile, &["cost"])
    {
        return Err(no_price(&reviewer, amount, &settings.reviewer_budget_usd.origin));
    }
    let post_action =
        PostAction { prompt: settings.post_action.value.clone(), skill: settings.post_action_skill.value.clone() };
    Ok(Some(ReviewSpec {
        kind,
        reviewer,
        fallbacks: fallbacks(settings.reviewer_fallbacks.value.as_ref().map(|list| list.get()), settings, run)?,
        budget_usd,
        warnings_block: settings.warnings_block.value.unwrap_or(false),
        planning: run.plan.is_none() && settings.plan_first.value.unwrap_or(false),
        max_rejections: recipe.max_rejections,
        human_review: settings.human_review.value.unwrap_or(false),
        post_action: Some(post_action).filter(|action| action.prompt.is_some() || action.skill.is_some()),
        milestone: run.milestone.clone(),
        documents: run.documents.clone(),
    }))
}

/// What a plan allows in turns when nobody says a number: three for each of its sections, if that is more.
pub(in crate::config) fn iterations_for(by_recipe: u32, plan: Option<&Plan>) -> u32 {
    let by_sections = plan.map_or(0, |plan| plan.count().saturating_mul(3));
    by_recipe.max(by_sections).min(*ITERATIONS.end())
}
