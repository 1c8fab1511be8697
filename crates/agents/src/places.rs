//! Where each agent keeps its login, its sessions and its notes: what it has to write to, whatever else it may.
//!
//! In these places lie also files that say which programs the agent runs by itself (hooks, MCP servers, plug-ins). They
//! would run outside any sandbox when a person uses the agent the next time, so they are named here as sealed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::profile::{AdapterKind, AgentProfile};

/// A place of an agent's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPlace {
    pub path: PathBuf,
    pub kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// Made if it is not there.
    Dir,
    /// A file with settings and state in one: the agent gets a copy of its own.
    Copied,
    /// Not to be changed, if it is there.
    Sealed,
}

/// Files below an agent's directory that make it run programs or tell it what to do, for all agents alike.
const SEALED: [&str; 17] = [
    "settings.json",
    "settings.local.json",
    "config.toml",
    "mcp-config.json",
    "mcp.json",
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    "QWEN.md",
    "hooks",
    "hooks.json",
    "commands",
    "agents",
    "skills",
    "plugins",
    "extensions",
    "prompts",
];

/// The places of the agent that a profile describes, in this environment. Of an agent that is not known by its adapter
/// none are known; its profile can name one as `config_dir`, the settings more as `sandbox_writable`.
pub fn own_places(profile: &AgentProfile, env: &BTreeMap<String, String>) -> Vec<OwnPlace> {
    let said = |name: &str| env.get(name).filter(|value| value.starts_with('/')).map(PathBuf::from);
    let Some(home) = said("HOME") else { return Vec::new() };
    let named = |variable: &str, below: &str| said(variable).unwrap_or_else(|| home.join(below));
    let xdg = |variable: &str, below: &str, name: &str| named(variable, below).join(name);
    let mut places = Vec::new();
    let mut dir = |path: PathBuf| places.push(OwnPlace { path, kind: PlaceKind::Dir });
    match profile.adapter() {
        AdapterKind::Claude => dir(named("CLAUDE_CONFIG_DIR", ".claude")),
        AdapterKind::Codex => dir(named("CODEX_HOME", ".codex")),
        AdapterKind::Copilot => dir(named("COPILOT_HOME", ".copilot")),
        AdapterKind::Gemini => dir(said("GEMINI_CLI_HOME").unwrap_or_else(|| home.clone()).join(".gemini")),
        AdapterKind::Qwen => dir(named("QWEN_HOME", ".qwen")),
        AdapterKind::Opencode => {
            dir(xdg("XDG_DATA_HOME", ".local/share", "opencode"));
            dir(xdg("XDG_STATE_HOME", ".local/state", "opencode"));
            dir(said("OPENCODE_CONFIG_DIR").unwrap_or_else(|| xdg("XDG_CONFIG_HOME", ".config", "opencode")));
        }
        AdapterKind::Acp => {
            // Which agent answers is not said; these are the ones whose bridges are known.
            let known = [named("CLAUDE_CONFIG_DIR", ".claude"), named("CODEX_HOME", ".codex"), home.join(".gemini")];
            known.into_iter().for_each(&mut dir);
        }
        AdapterKind::Command => {
            let own = profile
                .config_dir
                .as_deref()
                .map(|dir| dir.strip_prefix("~/").map_or(dir.into(), |below| home.join(below)));
            own.into_iter().for_each(&mut dir);
        }
    }
    let sealed: Vec<OwnPlace> = places.iter().flat_map(|place| sealed_below(&place.path)).collect();
    places.extend(sealed);
    if matches!(profile.adapter(), AdapterKind::Claude | AdapterKind::Acp) && said("CLAUDE_CONFIG_DIR").is_none() {
        places.push(OwnPlace { path: home.join(".claude.json"), kind: PlaceKind::Copied });
    }
    places
}

fn sealed_below(dir: &Path) -> impl Iterator<Item = OwnPlace> {
    SEALED.iter().map(|name| OwnPlace { path: dir.join(name), kind: PlaceKind::Sealed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(adapter: AdapterKind, env: &[(&str, &str)]) -> Vec<(String, PlaceKind)> {
        let profile = AgentProfile { adapter: Some(adapter), ..AgentProfile::default() };
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        own_places(&profile, &env)
            .into_iter()
            .filter(|place| place.kind != PlaceKind::Sealed)
            .map(|place| (place.path.to_string_lossy().into_owned(), place.kind))
            .collect()
    }

    #[test]
    fn an_agent_has_its_directory_where_its_variable_says() {
        let home = ("HOME", "/h");
        assert_eq!(
            places(AdapterKind::Claude, &[home]),
            [("/h/.claude".into(), PlaceKind::Dir), ("/h/.claude.json".into(), PlaceKind::Copied)]
        );
        let moved = [home, ("CLAUDE_CONFIG_DIR", "/c"), ("CODEX_HOME", "/x")];
        assert_eq!(places(AdapterKind::Claude, &moved), [("/c".into(), PlaceKind::Dir)]);
        assert_eq!(places(AdapterKind::Codex, &moved), [("/x".into(), PlaceKind::Dir)]);
        assert_eq!(places(AdapterKind::Command, &moved), []);
        assert_eq!(places(AdapterKind::Codex, &[]), [], "without a home nothing is known");
    }

    #[test]
    fn what_makes_an_agent_run_programs_is_sealed() {
        let profile = AgentProfile { adapter: Some(AdapterKind::Claude), ..AgentProfile::default() };
        let env = BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]);
        let sealed = OwnPlace { path: "/h/.claude/settings.json".into(), kind: PlaceKind::Sealed };
        assert!(own_places(&profile, &env).contains(&sealed));
    }
}
