//! Kimi Code, which its profile describes.

use super::DescribedAgent;

pub(super) const AGENT: DescribedAgent =
    DescribedAgent { name: "kimi", profile: include_str!("profile.toml"), traps: &[] };
