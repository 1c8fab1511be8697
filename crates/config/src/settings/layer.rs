//! What one layer says, and where it says it.

use std::collections::BTreeMap;

use crate::origin::Origin;
use crate::settings::keys::{KEYS, Key, Options};
use crate::settings::profiles::FileProfile;

/// What one layer says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Layer {
    pub(crate) options: Options,
    pub(crate) origins: BTreeMap<&'static str, Origin>,
    pub(crate) agents: BTreeMap<String, FileProfile>,
}

impl Layer {
    pub(crate) fn of_defaults(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    pub(crate) fn of_flags(options: Options) -> Self {
        let origins =
            KEYS.iter().filter_map(|key| Some((key.name, Origin::Flag { name: key.flag?.to_owned() }))).collect();
        Self { options, origins, ..Self::default() }
    }

    pub(crate) fn origin(&self, key: &Key) -> Origin {
        self.origins.get(key.name).cloned().unwrap_or_default()
    }
}
