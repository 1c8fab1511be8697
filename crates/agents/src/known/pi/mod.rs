//! pi, which its profile describes.

use super::DescribedAgent;
use super::traps::{Trap, anything, below, file, keys};

pub(super) const AGENT: DescribedAgent =
    DescribedAgent { name: "pi", profile: include_str!("profile.toml"), traps: TRAPS };

const TRAPS: &[Trap] = &[below(".pi/extensions", "", anything), file(".pi/settings.json", settings)];

fn settings(text: &str) -> Vec<String> {
    keys(text, &["packages", "extensions", "npmCommand", "shellPath", "shellCommandPrefix"])
}
