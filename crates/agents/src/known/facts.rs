//! What Windlass can tell people of an agent: how to get it, how to log in, which versions were tried.

use windlass_core::profile::AgentProfile;

use super::KnownAgent;

/// How an installed version compares to the tested versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionFit {
    Older,
    Tried,
    Newer,
}

/// What Windlass can tell people of an agent, from its adapter or from its profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub install: Option<String>,
    pub login: Option<String>,
    /// Variables with a key that logs in.
    pub keys: Vec<String>,
    /// The first version that was tried, and the first that was not.
    pub versions: Option<(String, String)>,
}

impl Facts {
    pub fn of(profile: &AgentProfile) -> Facts {
        let texts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        if let Some(known) = KnownAgent::of(profile.adapter()) {
            return Facts {
                install: Some(format!("npm install -g {}", known.npm_package)),
                login: Some(known.login.to_owned()),
                keys: texts(known.key_variables),
                versions: Some((known.known_good.0.to_owned(), known.known_good.1.to_owned())),
            };
        }
        let about = profile.about.clone().unwrap_or_default();
        let versions = match about.versions.as_slice() {
            [from, below] => Some((from.clone(), below.clone())),
            _ => None,
        };
        Facts { install: about.install, login: about.login, keys: about.keys, versions }
    }

    /// Compares the printed version to the tried ones; `None` if there are none, or the output contains no version.
    pub fn fit(&self, printed: &str) -> Option<VersionFit> {
        let (from, below) = self.versions.as_ref()?;
        let numbers = |text: &str| -> Vec<u64> { text.split('.').filter_map(|part| part.parse().ok()).collect() };
        let version = numbers(version_in(printed)?);
        Some(if version < numbers(from) {
            VersionFit::Older
        } else if version < numbers(below) {
            VersionFit::Tried
        } else {
            VersionFit::Newer
        })
    }
}

/// The arguments that make an agent's program print its version and nothing else.
pub fn version_args(profile: &AgentProfile) -> Vec<String> {
    let own = profile.about.as_ref().map(|about| about.version_args.clone()).filter(|args| !args.is_empty());
    own.unwrap_or_else(|| vec!["--version".to_owned()])
}

/// The version in what a program prints, such as `codex-cli 0.166.0` or `2.1.325 (Claude Code)`.
pub fn version_in(printed: &str) -> Option<&str> {
    printed.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',')).find_map(|word| {
        let word = word.trim_start_matches('v');
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        let version = word[..end].trim_end_matches('.');
        (version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.')).then_some(version)
    })
}

#[cfg(test)]
mod tests {
    use super::super::built_in_profiles;
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        assert_eq!(version_in("codex-cli 0.166.0\n"), Some("0.166.0"));
        assert_eq!(version_in("2.1.325 (Claude Code)"), Some("2.1.325"));
        assert_eq!(version_in("GitHub Copilot CLI 1.0.102.\nCommit: 0a1b2c3"), Some("1.0.102"));
        assert_eq!(version_in("v20.1.0-beta.3"), Some("20.1.0"));
        assert_eq!(version_in("command not found"), None);
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn ranges_compare_numbers_and_not_letters() {
        let claude = Facts::of(&built_in_profiles()["claude"]);
        assert_eq!(claude.fit("2.1.325 (Claude Code)"), Some(VersionFit::Tried));
        assert_eq!(claude.fit("2.1.999"), Some(VersionFit::Tried));
        assert_eq!(claude.fit("2.2.0"), Some(VersionFit::Newer));
        assert_eq!(claude.fit("2.10.0"), Some(VersionFit::Newer));
        assert_eq!(claude.fit("2.1.99"), Some(VersionFit::Older));
        assert_eq!(claude.fit("garbage"), None);
    }
}
