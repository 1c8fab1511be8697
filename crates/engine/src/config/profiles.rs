//! Agents' profiles: the built-in ones, those of the files, one on top of the other field by field.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use toml_edit::Item;
use windlass_core::profile::{AgentProfile, OutputFormat};

use super::error::ConfigError;
use super::fields::{self, PROFILE_FIELDS};
use super::file::{Source, entries, span_of, wrong_type};
use super::origin::{Layer, Origin, Shown};
use crate::config::values::value::ValueError;

/// An agent, with where each of its fields came from; a field without one is built in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    pub profile: AgentProfile,
    pub origins: BTreeMap<&'static str, Origin>,
}

/// An agent as one file has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FileProfile {
    profile: AgentProfile,
    origins: BTreeMap<&'static str, Origin>,
}

/// The profile that a text has of an agent.
pub fn profile_in(name: &str, text: &str) -> Result<AgentProfile, ConfigError> {
    let mut layer = super::file::read_layer(Path::new(name), text, |_, _| Origin::default())?;
    Ok(layer.agents.remove(name).unwrap_or_default().profile)
}

/// The profiles of the files that are part of the program; a test reads each.
fn described() -> Result<BTreeMap<String, AgentProfile>, ConfigError> {
    let mut all = BTreeMap::new();
    for agent in windlass_agents::DESCRIBED_AGENTS {
        let layer = super::file::read_layer(Path::new(agent.name), agent.profile, |_, _| Origin::default())?;
        all.extend(layer.agents.into_iter().map(|(name, file)| (name, file.profile)));
    }
    Ok(all)
}

/// The agents that are part of the program. `{self}` stands for its path and is filled in when it is started.
pub fn built_in_agents() -> BTreeMap<String, AgentProfile> {
    let demo = AgentProfile {
        display_name: Some("Demo".to_owned()),
        command: vec!["{self}".to_owned(), "demo-agent".to_owned()],
        output: Some(OutputFormat::Jsonl),
        ..AgentProfile::default()
    };
    let mut agents = windlass_agents::built_in_profiles();
    agents.insert("demo".to_owned(), demo);
    agents.extend(described().unwrap_or_default());
    agents
}

pub(super) fn built_in() -> BTreeMap<String, Profile> {
    let with_origins = |(name, profile)| (name, Profile { profile, origins: BTreeMap::new() });
    built_in_agents().into_iter().map(with_origins).collect()
}

/// Puts the agents of a layer on top of those below.
pub(super) fn overlay(agents: &mut BTreeMap<String, Profile>, layer: &Layer) {
    for (name, over) in &layer.agents {
        let base = agents.entry(name.clone()).or_default();
        base.profile = base.profile.overlaid(&over.profile);
        base.origins.extend(over.origins.clone());
    }
}

impl Profile {
    pub(super) fn show(&self, agent: &str) -> Vec<Shown> {
        let Ok(Json::Object(fields)) = serde_json::to_value(&self.profile) else { return Vec::new() };
        let known = PROFILE_FIELDS.iter().filter_map(|field| Some((field.name, fields.get(field.name)?)));
        known
            .map(|(field, value)| Shown {
                key: format!("agents.{agent}.{field}"),
                value: value.clone(),
                unset: "unset".into(),
                origin: self.origins.get(field).cloned().unwrap_or_default(),
            })
            .collect()
    }
}

/// The table `[agents]` of a file.
pub(super) fn read(
    source: &Source<'_>,
    item: &Item,
    origin: &impl Fn(PathBuf, usize) -> Origin,
) -> Result<BTreeMap<String, FileProfile>, ConfigError> {
    const EXAMPLE: &str = "{ NAME = { command = [\"program\"] } }";
    let Some(table) = item.as_table_like() else {
        return Err(wrong_type(source.place_of(item.span()), "agents", "a table of agents", EXAMPLE, item));
    };
    let mut agents = BTreeMap::new();
    for (key, item) in entries(table) {
        let path = format!("agents.{}", key.get());
        let Some(table) = item.as_table_like() else {
            let place = source.place_of(span_of(key, item));
            return Err(wrong_type(place, &path, "a table", "{ command = [\"program\"] }", item));
        };
        let mut origins = BTreeMap::new();
        let json = fields::read_fields(source, &path, &PROFILE_FIELDS, table, |field, line| {
            origins.insert(field, origin(source.path.to_owned(), line));
        })?;
        let profile = serde_json::from_value(Json::Object(json)).map_err(|error| ConfigError::Value {
            place: source.place_of(key.span()),
            key: path,
            error: ValueError { problem: error.to_string(), hint: None },
        })?;
        agents.insert(key.get().to_owned(), FileProfile { profile, origins });
    }
    Ok(agents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_read_and_says_that_it_was_not_tried() {
        for (name, text) in windlass_agents::TEMPLATES {
            let profile = profile_in(name, text).unwrap();
            assert!(!profile.command.is_empty(), "{name}");
            let about = profile.about.as_ref().expect("it says how it is installed");
            assert!(about.install.is_some() && about.login.is_some() && !about.keys.is_empty(), "{name}");
            assert!(about.versions.is_empty(), "{name} names a version that was tried");
            assert!(text.starts_with("# Windlass was not tried with this agent."), "{name}");
        }
    }

    #[test]
    fn every_profile_of_the_program_is_read_and_has_what_people_ask_for() {
        let described = described().unwrap();
        assert_eq!(described.len(), windlass_agents::DESCRIBED_AGENTS.len());
        for (name, profile) in described {
            assert_eq!(windlass_agents::check_patterns(&profile), Ok(()), "{name}");
            let about = profile.about.expect("it says how it is installed");
            assert!(about.install.is_some() && about.login.is_some() && !about.keys.is_empty(), "{name}");
            assert_eq!(about.versions.len(), 2, "{name}");
            assert!(profile.places.is_some_and(|places| places.dir.is_some()), "{name}");
        }
    }
}
