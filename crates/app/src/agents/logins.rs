//! Whether an agent has a login, without asking it.

use windlass_agents::{Facts, PlaceKind, own_places, own_variables};
use windlass_core::profile::AgentProfile;

use crate::context::Context;

/// Whether an agent cannot be logged in, as far as that can be known without asking it.
pub(crate) fn is_logged_out(context: &Context, profile: &AgentProfile) -> bool {
    let facts = Facts::of(profile);
    let env = context.env.texts();
    let named = |name: &String| {
        let own = own_variables(profile).iter().copied();
        own.chain(facts.keys.iter().map(String::as_str)).any(|own| match own.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == own,
        })
    };
    let places = own_places(profile, &env, &context.cwd);
    let roots: Vec<_> = places.iter().filter(|place| place.kind == PlaceKind::Root).collect();
    let known = facts.login.is_some() && !roots.is_empty();
    known && !env.keys().chain(profile.env.keys()).any(named) && !roots.iter().any(|root| root.path.exists())
}
