//! Which hosts a list means, with the ready lists.

use std::sync::LazyLock;

use windlass_redact::network::{HostError, HostList, REGISTRIES};

static MODELS: LazyLock<Vec<&'static str>> = LazyLock::new(|| windlass_agents::model_hosts().collect());

/// The names of the ready lists.
const READY: [&str; 2] = ["@models", "@registries"];

/// The hosts that these entries allow.
pub(crate) fn host_list(entries: &[String]) -> Result<HostList, HostError> {
    let [models, registries] = READY;
    HostList::new(entries.iter().map(String::as_str), &[(models, &MODELS), (registries, REGISTRIES)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_lists_are_whole() {
        let hosts = host_list(&READY.map(str::to_owned)).unwrap();
        assert!(hosts.allows("api.anthropic.com", 443) && hosts.allows("index.crates.io", 443));
        assert!(!hosts.allows("github.com", 443));
        assert!(host_list(&["@all".to_owned()]).is_err());
    }
}
