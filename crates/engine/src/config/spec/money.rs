//! What is known of an agent's usage before it starts: whether it can be counted, when, and by whose prices.

use windlass_agents::{Counts, KnownAgent, Prices};
use windlass_core::profile::{AdapterKind, AgentProfile, OutputFormat};
use windlass_core::spec::{AgentChoice, Limits};

/// Whether the agent's output can carry one of these numbers. JSON lines always can; in text a pattern finds them.
pub(in crate::config) fn reports(profile: &AgentProfile, groups: &[&str]) -> bool {
    let known = KnownAgent::of(profile.adapter());
    if known.is_some() || profile.adapter() == AdapterKind::Acp {
        // Tokens always; dollars where it names them or its model has a price.
        let priced = || profile.model.as_deref().is_some_and(|model| Prices::of(profile).know(model));
        return !groups.contains(&"cost") || known.is_some_and(|known| known.names_cost) || priced();
    }
    match profile.output.unwrap_or_default() {
        OutputFormat::Jsonl if !profile.events.is_empty() => {
            let priced = || profile.model.as_deref().is_some_and(|model| Prices::of(profile).know(model));
            let counts = profile.events.iter().any(|rule| rule.input_tokens.is_some());
            let names_cost = profile.events.iter().any(|rule| rule.cost_usd.is_some());
            counts && (!groups.contains(&"cost") || names_cost || priced())
        }
        OutputFormat::Jsonl => true,
        OutputFormat::Text => profile.usage_pattern.as_deref().is_some_and(|pattern| {
            groups
                .iter()
                .any(|group| pattern.contains(&format!("?<{group}>")) || pattern.contains(&format!("?P<{group}>")))
        }),
    }
}

/// What a user should know of a limit in dollars or tokens before the start.
pub(in crate::config) fn notes(agent: &AgentChoice, limits: &Limits) -> Vec<String> {
    let what = match (limits.budget_usd, limits.max_tokens) {
        (None, None) => return Vec::new(),
        (Some(_), None) => "the budget",
        (None, Some(_)) => "the token limit",
        (Some(_), Some(_)) => "the budget and the token limit",
    };
    let name = agent.display_name();
    if !reports(&agent.profile, &["input", "output"]) && !reports(&agent.profile, &["cost"]) {
        return Vec::new();
    }
    let mut notes = vec![if counts_in_turn(&agent.profile) {
        format!("{what} can stop a turn midway: {name} reports usage while it works")
    } else {
        format!("{what} applies only between turns: {name} reports usage at the end of a turn")
    }];
    let by_list = KnownAgent::of(agent.profile.adapter()).is_some_and(|known| !known.names_cost);
    if by_list && let (Some(_), Some(model)) = (limits.budget_usd, &agent.profile.model) {
        let whose = if agent.profile.prices.is_empty() { "list price" } else { "price" };
        notes.push(format!(
            "costs are estimated from tokens at the {whose} of {model}; a subscription does not charge them"
        ));
    }
    notes
}

/// Whether usage is known while the turn runs.
fn counts_in_turn(profile: &AgentProfile) -> bool {
    let Some(known) = KnownAgent::of(profile.adapter()) else {
        if profile.adapter() == AdapterKind::Acp {
            // The protocol has a place for it in the answer to a prompt only.
            return false;
        }
        // Its lines are read as they come.
        return true;
    };
    match known.counts {
        Counts::AsItGoes => true,
        Counts::AtTheEnd => false,
        // A short name, such as `opus`, stands for a model of the list.
        Counts::OncePriced => {
            let unknown = |model: &str| model.contains('-') && !Prices::of(profile).know(model);
            !profile.model.as_deref().is_some_and(unknown)
        }
    }
}
