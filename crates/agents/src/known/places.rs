//! What an agent needs from its directory: an allow-list based on what the CLIs use. Each agent's list is in its folder.
//!
//! An agent finds its directory empty but for this. Sessions and logins are the user's own files, so that a session can be
//! resumed later and a token that was refreshed is not lost. Settings are copies: what a turn writes there, such as hooks,
//! plug-ins or another program, ends with it and never runs for the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::profile::{AdapterKind, AgentProfile, ProfilePlaces};

use super::known;

/// A place of an agent's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnPlace {
    pub path: PathBuf,
    pub kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// The agent's directory: empty, but for the places below it.
    Root,
    /// A writable directory of the user. Created if it does not exist.
    Kept,
    /// A file of the user's, to be written to if it is there.
    Login,
    /// The agent gets a copy.
    Copied,
    /// To be read.
    Shown,
    /// Read as it is; changes are kept apart and end with the loop.
    Layered,
    /// Empty, inside a directory that is kept.
    Fresh,
}

/// The paths of an agent below one of its directories.
pub(crate) struct Own {
    pub kept: &'static [&'static str],
    pub login: &'static [&'static str],
    pub copied: &'static [&'static str],
    pub shown: &'static [&'static str],
    pub fresh: &'static [&'static str],
}

pub(super) const NOTHING: Own = Own { kept: &[], login: &[], copied: &[], shown: &[], fresh: &[] };

/// The places that an agent turns out to have, in this environment, for a turn in `cwd`.
pub(crate) struct Places<'a> {
    env: &'a BTreeMap<String, String>,
    pub home: PathBuf,
    pub cwd: &'a Path,
    found: Vec<OwnPlace>,
}

impl Places<'_> {
    /// The directory that a variable names.
    pub fn said(&self, variable: &str) -> Option<PathBuf> {
        said(self.env, variable)
    }

    /// The directory that a variable names, or the usual one below the home.
    pub fn named(&self, variable: &str, below: &str) -> PathBuf {
        self.said(variable).unwrap_or_else(|| self.home.join(below))
    }

    pub fn cache(&self, name: &str) -> PathBuf {
        self.named("XDG_CACHE_HOME", ".cache").join(name)
    }

    pub fn put(&mut self, path: PathBuf, kind: PlaceKind) {
        self.found.push(OwnPlace { path, kind });
    }

    /// A directory of the agent, empty but for what is listed.
    pub fn below(&mut self, dir: &Path, own: &Own) {
        self.put(dir.to_owned(), PlaceKind::Root);
        let kinds = [
            (own.kept, PlaceKind::Kept),
            (own.login, PlaceKind::Login),
            (own.copied, PlaceKind::Copied),
            (own.shown, PlaceKind::Shown),
            (own.fresh, PlaceKind::Fresh),
        ];
        for (names, kind) in kinds {
            for name in names {
                self.put(if name.is_empty() { dir.to_owned() } else { dir.join(name) }, kind);
            }
        }
    }

    /// As the profile says. Without a word on what is kept, all of the directory is.
    fn below_described(&mut self, dir: &Path, places: &ProfilePlaces) {
        let kinds = [
            (&places.keep, PlaceKind::Kept),
            (&places.login, PlaceKind::Login),
            (&places.copy, PlaceKind::Copied),
            (&places.show, PlaceKind::Shown),
        ];
        if kinds.iter().all(|(names, _)| names.is_empty()) {
            return self.put(dir.to_owned(), PlaceKind::Kept);
        }
        self.put(dir.to_owned(), PlaceKind::Root);
        for (names, kind) in kinds {
            for name in names {
                let path = match name.strip_prefix("~/") {
                    Some(below) => self.home.join(below),
                    None if name.is_empty() => dir.to_owned(),
                    None => dir.join(name),
                };
                self.put(path, kind);
            }
        }
    }
}

fn said(env: &BTreeMap<String, String>, variable: &str) -> Option<PathBuf> {
    env.get(variable).filter(|value| value.starts_with('/')).map(PathBuf::from)
}

/// The places of the agent that a profile describes, in this environment, for a turn in `cwd`. Of an agent that is not known
/// by its adapter or its program none are known; its profile can name one as `config_dir`, the settings more as
/// `sandbox_writable`.
pub fn own_places(profile: &AgentProfile, env: &BTreeMap<String, String>, cwd: &Path) -> Vec<OwnPlace> {
    let Some(home) = said(env, "HOME") else { return Vec::new() };
    let mut places = Places { env, home, cwd, found: Vec::new() };
    if let Some(known) = known(profile) {
        (known.places)(&mut places);
    }
    if matches!(profile.adapter(), AdapterKind::Acp | AdapterKind::Command) {
        let path = |text: &str| text.strip_prefix("~/").map_or(text.into(), |below| places.home.join(below));
        let own = profile.config_dir.as_deref().map(path);
        match &profile.places {
            Some(described) => {
                let set = || described.variable.as_deref().and_then(|variable| places.said(variable));
                if let Some(dir) = own.or_else(set).or_else(|| described.dir.as_deref().map(path)) {
                    places.below_described(&dir, described);
                }
            }
            None => own.into_iter().for_each(|dir| places.put(dir, PlaceKind::Kept)),
        }
    }
    places.found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(profile: &AgentProfile, env: &[(&str, &str)]) -> Vec<(String, PlaceKind)> {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        own_places(profile, &env, Path::new("/w/loop.1"))
            .into_iter()
            .map(|place| (place.path.to_string_lossy().into_owned(), place.kind))
            .collect()
    }

    fn of(adapter: AdapterKind) -> AgentProfile {
        AgentProfile { adapter: Some(adapter), ..AgentProfile::default() }
    }

    fn acp(words: &[&str]) -> AgentProfile {
        let command = words.iter().map(|word| (*word).to_owned()).collect();
        AgentProfile { adapter: Some(AdapterKind::Acp), command, ..AgentProfile::default() }
    }

    const HOME: (&str, &str) = ("HOME", "/h");

    #[test]
    fn an_agent_keeps_its_sessions_and_login_where_its_variable_says() {
        let claude = places(&of(AdapterKind::Claude), &[HOME]);
        assert!(claude.contains(&("/h/.claude/projects/-w-loop-1".into(), PlaceKind::Kept)), "{claude:?}");
        assert!(claude.contains(&("/h/.claude/.credentials.json".into(), PlaceKind::Login)));
        assert!(claude.contains(&("/h/.claude.json".into(), PlaceKind::Copied)));
        let moved = [HOME, ("CLAUDE_CONFIG_DIR", "/c"), ("CODEX_HOME", "/x")];
        assert_eq!(places(&of(AdapterKind::Claude), &moved)[0], ("/c".into(), PlaceKind::Root));
        assert!(places(&of(AdapterKind::Codex), &moved).contains(&("/x/sessions".into(), PlaceKind::Kept)));
        assert_eq!(places(&of(AdapterKind::Codex), &[]), [], "without a home nothing is known");
    }

    #[test]
    fn nothing_that_makes_an_agent_run_programs_is_writable() {
        let programs =
            ["settings", "config", "hooks", "plugin", "skills", "commands", "extensions", "local", "CLAUDE.md"];
        for adapter in
            [AdapterKind::Claude, AdapterKind::Codex, AdapterKind::Copilot, AdapterKind::Gemini, AdapterKind::Qwen]
        {
            for (path, kind) in places(&of(adapter), &[HOME]) {
                let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                let runs = programs.iter().any(|program| name.starts_with(program));
                assert!(!runs || matches!(kind, PlaceKind::Copied | PlaceKind::Shown), "{path}: {kind:?}");
            }
        }
    }

    #[test]
    fn an_agent_that_speaks_acp_is_known_by_its_program() {
        for (words, kept) in [
            (&["gemini", "--acp"][..], "/h/.gemini/tmp"),
            (&["copilot", "--acp"], "/h/.copilot/session-state"),
            (&["qwen", "--acp"], "/h/.qwen/projects"),
            (&["opencode", "acp"], "/h/.local/share/opencode"),
            (&["claude-agent-acp"], "/h/.claude/projects/-w-loop-1"),
            (&["/opt/bin/codex-acp"], "/h/.codex/sessions"),
        ] {
            let places = places(&acp(words), &[HOME]);
            assert!(places.contains(&(kept.into(), PlaceKind::Kept)), "{words:?}: {places:?}");
        }
    }

    #[test]
    fn an_unknown_agent_has_the_directory_that_its_profile_names() {
        let mut profile = acp(&["my-agent"]);
        assert_eq!(places(&profile, &[HOME]), []);
        profile.config_dir = Some("~/.my-agent".into());
        assert_eq!(places(&profile, &[HOME]), [("/h/.my-agent".into(), PlaceKind::Kept)]);
    }

    #[test]
    fn a_profile_says_what_of_a_directory_is_shown() {
        let mut profile = AgentProfile::of_command(vec!["my-agent".into()]);
        profile.places = serde_json::from_value(serde_json::json!({
            "dir": "~/.mine", "variable": "MINE", "keep": ["sessions"], "login": ["~/.login"], "copy": ["settings"],
            "show": ["plugins"],
        }))
        .ok();
        let below = |dir: &str| {
            vec![
                (dir.to_owned(), PlaceKind::Root),
                (format!("{dir}/sessions"), PlaceKind::Kept),
                ("/h/.login".into(), PlaceKind::Login),
                (format!("{dir}/settings"), PlaceKind::Copied),
                (format!("{dir}/plugins"), PlaceKind::Shown),
            ]
        };
        assert_eq!(places(&profile, &[HOME]), below("/h/.mine"));
        assert_eq!(places(&profile, &[HOME, ("MINE", "/elsewhere")]), below("/elsewhere"));
        profile.config_dir = Some("~/.work".into());
        assert_eq!(places(&profile, &[HOME, ("MINE", "/elsewhere")]), below("/h/.work"));
        profile.places = Some(ProfilePlaces { dir: Some("~/.mine".into()), ..ProfilePlaces::default() });
        profile.config_dir = None;
        assert_eq!(places(&profile, &[HOME]), [("/h/.mine".into(), PlaceKind::Kept)]);
    }
}
