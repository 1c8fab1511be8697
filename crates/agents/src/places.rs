//! What each agent needs from its directory: an allow-list based on what the CLIs use.
//!
//! An agent finds its directory empty but for this. Sessions and logins are the user's own files, so that a session can be
//! resumed later and a token that was refreshed is not lost. Settings are copies: what a turn writes there, such as hooks,
//! plug-ins or another program, ends with it and never runs for the user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::profile::{AdapterKind, AgentProfile, ProfilePlaces};

use crate::probe::known;

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
struct Own {
    kept: &'static [&'static str],
    login: &'static [&'static str],
    copied: &'static [&'static str],
    shown: &'static [&'static str],
    fresh: &'static [&'static str],
}

const NOTHING: Own = Own { kept: &[], login: &[], copied: &[], shown: &[], fresh: &[] };

const CLAUDE: Own = Own {
    // And the workspace's directory in `projects`.
    login: &[".credentials.json"],
    copied: &["settings.json", "settings.local.json", "CLAUDE.md", ".claude.json", "keybindings.json"],
    shown: &["agents", "commands", "skills", "plugins", "output-styles", "hooks", "rules", "local"],
    ..NOTHING
};

const CODEX: Own = Own {
    kept: &["sessions"],
    login: &["auth.json"],
    copied: &[
        "config.toml",
        "AGENTS.md",
        "AGENTS.override.md",
        "hooks.json",
        "prompts",
        "rules",
        "skills",
        "agents",
        "hooks",
    ],
    ..NOTHING
};

const COPILOT: Own = Own {
    kept: &["session-state"],
    copied: &[
        "config.json",
        "settings.json",
        "mcp-config.json",
        "lsp-config.json",
        "permissions-config.json",
        "providers.json",
        "copilot-instructions.md",
    ],
    shown: &["agents", "skills", "hooks", "installed-plugins"],
    ..NOTHING
};

const GEMINI: Own = Own {
    kept: &["tmp"],
    login: &["oauth_creds.json", "gemini-credentials.json", "mcp-oauth-tokens.json"],
    copied: &[
        "settings.json",
        "GEMINI.md",
        ".env",
        "google_accounts.json",
        "installation_id",
        "trustedFolders.json",
        "trusted_hooks.json",
        "projects.json",
        "policies",
        "commands",
        "agents",
    ],
    shown: &["extensions", "skills"],
    ..NOTHING
};

const QWEN: Own = Own {
    kept: &["projects"],
    login: &["oauth_creds.json"],
    copied: &[
        "settings.json",
        "QWEN.md",
        ".env",
        "output-language.md",
        "installation_id",
        "trustedFolders.json",
        "agents",
        "commands",
        "skills",
    ],
    shown: &["extensions"],
    ..NOTHING
};

const OPENCODE_DATA: Own = Own {
    // Its database needs the directory, not the file alone.
    kept: &[""],
    fresh: &["snapshot", "log", "repos", "bin"],
    ..NOTHING
};

const OPENCODE_SETTINGS: Own = Own {
    copied: &["opencode.json", "opencode.jsonc", "config.json", "AGENTS.md", "package.json", ".gitignore", "themes"],
    shown: &[
        "plugin",
        "plugins",
        "tool",
        "tools",
        "command",
        "commands",
        "agent",
        "agents",
        "mode",
        "modes",
        "skill",
        "skills",
        "node_modules",
    ],
    ..NOTHING
};

/// The places of the agent that a profile describes, in this environment, for a turn in `cwd`. Of an agent that is not known
/// by its adapter or its program none are known; its profile can name one as `config_dir`, the settings more as
/// `sandbox_writable`.
pub fn own_places(profile: &AgentProfile, env: &BTreeMap<String, String>, cwd: &Path) -> Vec<OwnPlace> {
    let said = |name: &str| env.get(name).filter(|value| value.starts_with('/')).map(PathBuf::from);
    let Some(home) = said("HOME") else { return Vec::new() };
    let named = |variable: &str, below: &str| said(variable).unwrap_or_else(|| home.join(below));
    let cache = |name: &str| named("XDG_CACHE_HOME", ".cache").join(name);
    let mut places = Vec::new();
    let mut put = |path: PathBuf, kind: PlaceKind| places.push(OwnPlace { path, kind });
    let agent = known(profile).map(|known| known.adapter);
    match agent {
        Some(AdapterKind::Claude) => {
            let dir = named("CLAUDE_CONFIG_DIR", ".claude");
            below(&dir, &CLAUDE, &mut put);
            let sessions = claude_sessions(&cwd.to_string_lossy());
            put(sessions.map_or_else(|| dir.join("projects"), |name| dir.join("projects").join(name)), PlaceKind::Kept);
            if said("CLAUDE_CONFIG_DIR").is_none() {
                put(home.join(".claude.json"), PlaceKind::Copied);
            }
        }
        Some(AdapterKind::Codex) => {
            below(&named("CODEX_HOME", ".codex"), &CODEX, &mut put);
            put(home.join(".agents/skills"), PlaceKind::Shown);
        }
        Some(AdapterKind::Copilot) => {
            below(&named("COPILOT_HOME", ".copilot"), &COPILOT, &mut put);
            // The program unpacks itself there and runs from there.
            put(cache("copilot"), PlaceKind::Layered);
        }
        Some(AdapterKind::Gemini) => {
            let dir = said("GEMINI_CLI_HOME").unwrap_or_else(|| home.clone()).join(".gemini");
            below(&dir, &GEMINI, &mut put);
        }
        Some(AdapterKind::Qwen) => below(&named("QWEN_HOME", ".qwen"), &QWEN, &mut put),
        Some(AdapterKind::Opencode) => {
            let xdg = |variable: &str, below: &str| named(variable, below).join("opencode");
            below(&xdg("XDG_DATA_HOME", ".local/share"), &OPENCODE_DATA, &mut put);
            put(xdg("XDG_STATE_HOME", ".local/state"), PlaceKind::Root);
            let settings = said("OPENCODE_CONFIG_DIR").unwrap_or_else(|| xdg("XDG_CONFIG_HOME", ".config"));
            below(&settings, &OPENCODE_SETTINGS, &mut put);
            put(cache("opencode"), PlaceKind::Layered);
        }
        Some(AdapterKind::Acp | AdapterKind::Command) | None => {}
    }
    if matches!(profile.adapter(), AdapterKind::Acp | AdapterKind::Command) {
        let path = |text: &str| text.strip_prefix("~/").map_or(text.into(), |below| home.join(below));
        let own = profile.config_dir.as_deref().map(path);
        match &profile.places {
            Some(places) => {
                let set = || places.variable.as_deref().and_then(said);
                if let Some(dir) = own.or_else(set).or_else(|| places.dir.as_deref().map(path)) {
                    below_described(&dir, &home, places, &mut put);
                }
            }
            None => own.into_iter().for_each(|dir| put(dir, PlaceKind::Kept)),
        }
    }
    places
}

/// As the profile says. Without a word on what is kept, all of the directory is.
fn below_described(dir: &Path, home: &Path, places: &ProfilePlaces, put: &mut impl FnMut(PathBuf, PlaceKind)) {
    let kinds = [
        (&places.keep, PlaceKind::Kept),
        (&places.login, PlaceKind::Login),
        (&places.copy, PlaceKind::Copied),
        (&places.show, PlaceKind::Shown),
    ];
    if kinds.iter().all(|(names, _)| names.is_empty()) {
        return put(dir.to_owned(), PlaceKind::Kept);
    }
    put(dir.to_owned(), PlaceKind::Root);
    for (names, kind) in kinds {
        for name in names {
            let path = match name.strip_prefix("~/") {
                Some(below) => home.join(below),
                None if name.is_empty() => dir.to_owned(),
                None => dir.join(name),
            };
            put(path, kind);
        }
    }
}

fn below(dir: &Path, own: &Own, put: &mut impl FnMut(PathBuf, PlaceKind)) {
    put(dir.to_owned(), PlaceKind::Root);
    let kinds = [
        (own.kept, PlaceKind::Kept),
        (own.login, PlaceKind::Login),
        (own.copied, PlaceKind::Copied),
        (own.shown, PlaceKind::Shown),
        (own.fresh, PlaceKind::Fresh),
    ];
    for (names, kind) in kinds {
        for name in names {
            put(if name.is_empty() { dir.to_owned() } else { dir.join(name) }, kind);
        }
    }
}

/// What Claude Code calls its directory of sessions for this working directory; none for a long one, which it shortens.
fn claude_sessions(cwd: &str) -> Option<String> {
    const LONGEST: usize = 200;
    let name: String = cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    (name.len() <= LONGEST && cwd.is_ascii()).then_some(name)
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
