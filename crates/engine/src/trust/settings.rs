//! Which settings of a project's file run something, or reveal something.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::config::{InProject, Key, Origin, RecipeFile, Settings};

/// The fields of an agent that say what it is called and how its words are read, not what runs.
const HARMLESS_FIELDS: &[&str] = &[
    "display_name",
    "output",
    "session_pattern",
    "usage_pattern",
    "answer_pattern",
    "noise_pattern",
    "model",
    "system_prompt",
    "denied_tools",
    "prices",
    "loop_enabled",
    "max_iterations",
    "completion_promise",
];

/// Of these agents, or of all.
pub(super) fn what_runs(settings: &Settings, agents: Option<&[&str]>, project: &Path) -> Vec<String> {
    let mut runs = Vec::new();
    for shown in settings.show() {
        let Origin::ProjectFile { line, .. } = shown.origin else { continue };
        let harmless = match shown.key.strip_prefix("agents.").and_then(|rest| rest.rsplit_once('.')) {
            Some((agent, field)) => {
                HARMLESS_FIELDS.contains(&field) || agents.is_some_and(|agents| !agents.contains(&agent))
            }
            None => is_harmless(&shown.key, &shown.value, project),
        };
        if !harmless && !says_nothing(&shown.value) {
            runs.push(format!("line {line}: {} = {}", shown.key, shown.value));
        }
    }
    runs
}

fn is_harmless(key: &str, value: &Value, project: &Path) -> bool {
    match Key::of(key).map_or(InProject::NeedsConsent, |key| key.in_project) {
        InProject::Harmless => true,
        InProject::Inside => stays(value, project),
        InProject::NeedsConsent | InProject::Refused => false,
    }
}

/// What a project's recipe runs or reveals, and the texts it replaces: those tell agents what to do, and a reviewer what to
/// accept.
pub(super) fn of_recipe(file: &RecipeFile, project: &Path) -> Vec<String> {
    let settings = file.settings().into_iter();
    let settings = settings.filter(|(key, _, value)| !is_harmless(key, value, project) && !says_nothing(value));
    let runs = settings.map(|(key, line, value)| format!("line {line}: {key} = {value}"));
    let texts =
        file.prompts.iter().map(|(name, (text, line))| format!("line {line}: prompts.{name} = {}", short(text)));
    runs.chain(texts).collect()
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    const SHOWN: usize = 200;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("\"{} …\"", words[..end].escape_debug()),
        None => format!("\"{}\"", words.escape_debug()),
    }
}

/// Whether a field of this agent that matters for what runs comes from the project's file.
pub(super) fn touch(settings: &Settings, agent: &str) -> bool {
    settings.show().iter().any(|shown| {
        let field = shown.key.strip_prefix("agents.").and_then(|rest| rest.rsplit_once('.'));
        matches!(shown.origin, Origin::ProjectFile { .. })
            && field.is_some_and(|(name, field)| name == agent && !HARMLESS_FIELDS.contains(&field))
    })
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether every path is one inside the repository, and leads to something inside.
fn stays(value: &Value, project: &Path) -> bool {
    match value {
        Value::String(path) => {
            let inside =
                Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
            inside && real(project, path).is_none_or(|(root, real)| real.starts_with(root))
        }
        Value::Array(list) => list.iter().all(|value| stays(value, project)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

/// Where a file of the project lies, in words, if a link leads there.
pub(super) fn leads_to(project: &Path, file: &str) -> Option<String> {
    let (root, real) = real(project, file)?;
    match real.strip_prefix(root) {
        Ok(inside) if inside == Path::new(file) => None,
        Ok(inside) => Some(format!("link to {}", inside.display())),
        Err(_) => Some(format!("link to {}, outside the repository", real.display())),
    }
}

/// The real paths of a repository and of something in it, if it is there.
fn real(project: &Path, path: &str) -> Option<(PathBuf, PathBuf)> {
    Some((project.canonicalize().ok()?, project.join(path).canonicalize().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_harmless_field_is_a_field() {
        for field in HARMLESS_FIELDS {
            assert!(crate::config::PROFILE_FIELDS.iter().any(|known| known.name == *field), "{field}");
        }
    }

    #[test]
    fn what_runs_or_reveals_is_not_harmless() {
        let dangerous = [
            "gates",
            "setup",
            "copy",
            "env_pass",
            "sandbox",
            "in_place",
            "post_action",
            "notify_command",
            "notify_webhook",
            "notify_webhook_secret_env",
            "summariser_url",
            "summariser_key_env",
        ];
        for key in dangerous {
            assert_eq!(Key::of(key).unwrap().in_project, InProject::NeedsConsent, "{key}");
        }
        for field in ["adapter", "command", "args", "resume_args", "env", "env_pass", "mcp_servers", "settings"] {
            assert!(!HARMLESS_FIELDS.contains(&field), "{field}");
        }
    }

    #[test]
    fn a_place_outside_the_repository_is_not_harmless() {
        let stays = |value: Value| super::stays(&value, Path::new("/p"));
        assert!(stays("docs/vision.md".into()));
        assert!(!stays("../../.ssh/id_rsa".into()) && !stays("/etc/passwd".into()));
        assert!(!stays(serde_json::json!(["plans", "/root"])));
    }
}
