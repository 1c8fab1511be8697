//! Aider, which its profile describes.

use super::DescribedAgent;
use super::traps::{Trap, anything, file};

pub(super) const AGENT: DescribedAgent =
    DescribedAgent { name: "aider", profile: include_str!("profile.toml"), traps: TRAPS };

const TRAPS: &[Trap] = &[file(".aider.conf.yml", anything), file(".env", variables)];

/// It takes its options from there too.
fn variables(text: &str) -> Vec<String> {
    let name = |line: &str| line.trim_start().trim_start_matches("export ").split('=').next().map(str::to_owned);
    text.lines().filter_map(name).map(|name| name.trim().to_owned()).filter(|name| name.starts_with("AIDER_")).collect()
}
