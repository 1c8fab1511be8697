//! Settings that are one of a few words, and the template of a branch's name.

use serde_json::{Value as Json, json};
use toml_edit::Value as Toml;
use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, OnLimit, OnRateLimit, SessionPolicy, Verify};
use windlass_core::summary::{Protocol, SummariserKind};

use super::value::{Value, ValueError};
use windlass_core::nearest::nearest;

/// The sandbox level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// `Workspace` if this machine supports it, otherwise `Off` with a warning.
    Auto,
    Off,
    Workspace,
    ReadOnly,
    Docker,
}

macro_rules! words {
    ($type:ty, $expected:literal, $example:literal, $what:literal, [$($word:literal => $variant:path),+ $(,)?]) => {
        impl $crate::config::values::value::Value for $type {
            const EXPECTED: &'static str = $expected;
            const EXAMPLE: &'static str = $example;
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn from_toml(value: &toml_edit::Value) -> Option<Result<Self, $crate::config::values::value::ValueError>> {
                value.as_str().map(Self::from_text)
            }

            fn from_text(text: &str) -> Result<Self, $crate::config::values::value::ValueError> {
                match text {
                    $($word => Ok($variant),)+
                    _ => Err($crate::config::values::words::unknown_word($what, text, &[$($word),+], $expected)),
                }
            }

            fn json(&self) -> serde_json::Value {
                match self {
                    $($variant => serde_json::json!($word),)+
                }
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": [$($word),+] })
            }
        }
    };
}

pub(in crate::config) use words;

words!(SessionPolicy, "resume, fresh, or keep_alive", "\"fresh\"", "session policy", [
    "resume" => SessionPolicy::Resume,
    "fresh" => SessionPolicy::Fresh,
    "keep_alive" => SessionPolicy::KeepAlive,
]);
words!(Verify, "clean, warm, or cold", "\"clean\"", "verify level", [
    "clean" => Verify::Clean,
    "warm" => Verify::Warm,
    "cold" => Verify::Cold,
]);

words!(OnLimit, "stop or pause", "\"pause\"", "limit policy", [
    "stop" => OnLimit::Stop,
    "pause" => OnLimit::Pause,
]);
words!(OnRateLimit, "wait, fallback, or pause", "\"wait\"", "rate limit policy", [
    "wait" => OnRateLimit::Wait,
    "fallback" => OnRateLimit::Fallback,
    "pause" => OnRateLimit::Pause,
]);
words!(CommitPolicy, "engine, agent, or off", "\"engine\"", "commit policy", [
    "engine" => CommitPolicy::Engine,
    "agent" => CommitPolicy::Agent,
    "off" => CommitPolicy::Off,
]);
words!(Sandbox, "auto, off, workspace, read-only, or docker", "\"workspace\"", "sandbox", [
    "auto" => Sandbox::Auto,
    "off" => Sandbox::Off,
    "workspace" => Sandbox::Workspace,
    "read-only" => Sandbox::ReadOnly,
    "docker" => Sandbox::Docker,
]);
words!(NetworkAccess, "allow, deny, or list", "\"deny\"", "network access", [
    "allow" => NetworkAccess::Allow,
    "deny" => NetworkAccess::Deny,
    "list" => NetworkAccess::List,
]);

words!(SummariserKind, "deterministic, agent, or endpoint", "\"deterministic\"", "summariser", [
    "deterministic" => SummariserKind::Deterministic,
    "agent" => SummariserKind::Agent,
    "endpoint" => SummariserKind::Endpoint,
]);
words!(Protocol, "openai or anthropic", "\"openai\"", "protocol", [
    "openai" => Protocol::Openai,
    "anthropic" => Protocol::Anthropic,
]);

pub(in crate::config) fn unknown_word(what: &str, text: &str, known: &[&str], expected: &str) -> ValueError {
    let text = text.escape_debug().to_string();
    let hint = match nearest(&text, known.iter().copied()) {
        Some(word) => format!("did you mean '{word}'? possible values: {}", known.join(", ")),
        None => format!("use {expected}"),
    };
    ValueError::new(format!("'{text}' is not a known {what}"), hint)
}

/// The name of a loop's branch, with `{name}` for the loop's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTemplate(String);

const NAME: &str = "{name}";

impl Default for BranchTemplate {
    fn default() -> Self {
        Self(format!("windlass/{NAME}"))
    }
}

impl BranchTemplate {
    pub fn new(text: impl Into<String>) -> Result<Self, ValueError> {
        let text = text.into();
        let filled = text.replace(NAME, "x");
        if filled.contains(['{', '}']) {
            return Err(ValueError::new(
                format!("unknown placeholder in the branch name '{}'", text.escape_debug()),
                "use {name} for the loop's name; there is no other placeholder",
            ));
        }
        if !is_branch_name(&filled) {
            return Err(ValueError::new(
                format!("'{}' is not a valid branch name", text.escape_debug()),
                "use letters, digits, - _ . and /, as in windlass/{name}",
            ));
        }
        Ok(Self(text))
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The branch of the loop with this name.
    pub fn fill(&self, name: &str) -> String {
        self.0.replace(NAME, name)
    }
}

/// The rules of `git check-ref-format --branch`.
fn is_branch_name(name: &str) -> bool {
    let bad_char = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    !(name.starts_with('-')
        || name == "HEAD"
        || name == "@"
        || name.ends_with('.')
        || name.contains("..")
        || name.contains("@{")
        || name.contains(bad_char)
        || name.split('/').any(bad_part))
}

impl Value for BranchTemplate {
    const EXPECTED: &'static str = "the name of a branch";
    const EXAMPLE: &'static str = "\"windlass/{name}\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_str().map(Self::new)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        Self::new(text)
    }

    fn json(&self) -> Json {
        json!(self.0)
    }

    fn schema() -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_follow_gits_rules() {
        for good in ["windlass/{name}", "a", "feature/x-1.2_3", "修复/{name}"] {
            assert!(BranchTemplate::new(good).is_ok(), "{good}");
        }
        let bad = [
            "", " ", "-x", "a b", "a..b", "a/", "/a", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a~1", "a^", "a:b",
            "a?", "a*", "a[", "a\\b", "@", "HEAD", "a@{b", "a.", "a\tb", "a\nb", "{nane}", "x/{name",
        ];
        for bad in bad {
            assert!(BranchTemplate::new(bad).is_err(), "{bad}");
        }
        assert_eq!(BranchTemplate::default().fill("fix-it"), "windlass/fix-it");
    }
}
