//! goose, which its profile describes.

use super::DescribedAgent;

pub(super) const AGENT: DescribedAgent =
    DescribedAgent { name: "goose", profile: include_str!("profile.toml"), traps: &[] };
