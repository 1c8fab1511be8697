//! Mistral Vibe, which its profile describes.

use super::DescribedAgent;
use super::traps::{Trap, anything, below, file};

pub(super) const AGENT: DescribedAgent =
    DescribedAgent { name: "mistral-vibe", profile: include_str!("profile.toml"), traps: TRAPS };

const TRAPS: &[Trap] = &[
    file(".vibe/config.toml", anything),
    file(".vibe/hooks.toml", anything),
    below(".vibe/tools", ".py", anything),
    below(".vibe/agents", ".toml", anything),
];
