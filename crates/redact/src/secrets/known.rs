//! Secrets that are known by the names of their variables.

use std::collections::BTreeMap;

use super::KnownSecret;
use crate::environment::looks_secret;

/// The secrets of an environment.
pub fn in_environment(env: &BTreeMap<String, String>) -> Vec<KnownSecret> {
    env.iter().filter_map(|(name, value)| named(name, value)).collect()
}

/// The secrets of a `.env` file: lines of `NAME=value`, with or without `export` and quotes.
pub fn in_dotenv(text: &str) -> Vec<KnownSecret> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<KnownSecret> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    let value = value.trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.split_once(quote).map(|(inside, _)| inside);
    let plain = || value.split(" #").next().unwrap_or(value).trim();
    named(name.trim(), quoted('"').or_else(|| quoted('\'')).unwrap_or_else(plain))
}

fn named(name: &str, value: &str) -> Option<KnownSecret> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    // A URL without a password, a file path, and a placeholder are not secrets.
    let harmless = value.starts_with('/')
        || value.contains("://") && !value.contains('@')
        || value.starts_with(['$', '<', '{'])
        || value.bytes().all(|byte| byte == value.as_bytes()[0]);
    if !is_name || value.is_empty() || harmless || !looks_secret(name) {
        return None;
    }
    KnownSecret::new(name, value)
}
