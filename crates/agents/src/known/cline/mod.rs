//! Cline, which its profile describes.

use super::DescribedAgent;
use super::traps::{Trap, anything, below};

pub(super) const AGENT: DescribedAgent =
    DescribedAgent { name: "cline", profile: include_str!("profile.toml"), traps: TRAPS };

const TRAPS: &[Trap] = &[
    below(".clinerules/hooks", "", anything),
    below(".cline/hooks", "", anything),
    below(".cline/plugins", "", anything),
];
