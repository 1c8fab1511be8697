//! The environment that the programs of a loop get: of the engine's own only what is ordinary and what was named.

use std::collections::BTreeMap;

use windlass_core::ids::TurnKey;
use windlass_core::machine::LoopState;
use windlass_core::profile::AgentProfile;
use windlass_redact::environment::passes;
use windlass_workspace::{Kind, Workspace, push_rules};

use crate::engine::Engine;
use crate::ports;
use crate::residue::LOOP_TAG;
use crate::sandbox::LOGIN_VARIABLES;

pub type Variables = BTreeMap<String, String>;

/// What gates and other commands of the user's get.
pub fn for_commands(all: &Variables, named: &[String]) -> Variables {
    pick(all, &named.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What an agent gets: also its own credentials, and what its profile names.
pub fn for_agent(all: &Variables, named: &[String], profile: &AgentProfile) -> Variables {
    let own = windlass_agents::own_variables(profile);
    let about = profile.about.as_ref();
    let variable = profile.places.as_ref().and_then(|places| places.variable.as_ref());
    let described = about.into_iter().flat_map(|about| &about.keys).chain(variable);
    let named = named.iter().chain(&profile.env_pass).chain(described).map(String::as_str);
    pick(all, &named.chain(own.iter().copied()).collect::<Vec<_>>())
}

/// The variables that gates do not get.
pub fn withheld(all: &Variables, named: &[String]) -> Vec<String> {
    // What the shell keeps for itself, and what sets up this very program, is missed by nobody.
    const OWN: [&str; 5] = ["PWD", "OLDPWD", "SHLVL", "_", "GIT_OPTIONAL_LOCKS"];
    let missed = |name: &&String| !OWN.contains(&name.as_str()) && !name.starts_with("WINDLASS_");
    let withheld = |name: &&String| !passes(name, named.iter().map(String::as_str));
    all.keys().filter(missed).filter(withheld).cloned().collect()
}

fn pick(all: &Variables, named: &[&str]) -> Variables {
    let picked = all.iter().filter(|(name, _)| passes(name, named.iter().copied()));
    picked.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The workspace, if it is a clone. In place, a push is the user's own matter.
fn cloned(state: &LoopState) -> Option<Workspace> {
    let known = state.workspace.as_ref()?;
    let workspace: Workspace = serde_json::from_value(known.handle.clone()).ok()?;
    (workspace.kind == Kind::Clone).then_some(workspace)
}

/// Adds settings for git after those that the environment has.
fn add_git_settings(env: &mut Variables, settings: Vec<(String, String)>) {
    let first = env.get("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0_usize);
    env.insert("GIT_CONFIG_COUNT".into(), (first + settings.len()).to_string());
    for (number, (key, value)) in (first..).zip(settings) {
        env.insert(format!("GIT_CONFIG_KEY_{number}"), key);
        env.insert(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
}

impl Engine {
    pub(crate) fn command_environment(&self, state: &LoopState) -> Variables {
        self.tagged(for_commands(&self.env, &state.spec.env_pass), state)
    }

    /// What the set-up on the base gets where it may use the user's logins for package registries.
    pub(crate) fn set_up_environment(&self, state: &LoopState) -> Variables {
        let named: Vec<String> =
            state.spec.env_pass.iter().cloned().chain(LOGIN_VARIABLES.iter().map(|&name| name.to_owned())).collect();
        self.tagged(for_commands(&self.env, &named), state)
    }

    pub(crate) fn agent_environment(&self, state: &LoopState, turn: TurnKey) -> Variables {
        let profile = &state.agent(turn.role).profile;
        let mut env = self.tagged(for_agent(&self.env, &state.spec.env_pass, profile), state);
        env.insert("WINDLASS_TURN".into(), state.turn_id(turn));
        if state.spec.sandbox.is_off()
            && let Some(workspace) = cloned(state)
        {
            add_git_settings(&mut env, push_rules(&workspace));
        }
        env
    }

    fn tagged(&self, mut env: Variables, state: &LoopState) -> Variables {
        // What points git elsewhere is nobody's to pass on, and a fault is for the engine alone.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "WINDLASS_TEST_FAULT"] {
            env.remove(name);
        }
        env.insert("WINDLASS_LOOP".into(), state.name.clone());
        env.insert(LOOP_TAG.into(), state.id.0.clone());
        if let Some(range) = self.ports.of(&state.id.0) {
            env.insert("WINDLASS_PORT_BASE".into(), range.base.to_string());
            env.insert("WINDLASS_PORT_COUNT".into(), ports::COUNT.to_string());
            // One that was passed on by name is meant.
            env.entry("PORT".into()).or_insert_with(|| range.base.to_string());
        }
        // Or the agent's `git status` takes the index lock just when a checkpoint wants it.
        env.insert("GIT_OPTIONAL_LOCKS".into(), "0".into());
        env
    }
}
