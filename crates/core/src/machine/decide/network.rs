//! The loop's own rule for the network, told where it may be why a turn failed.

use crate::agent::{ErrorKind, TurnOutcome, TurnReport};
use crate::machine::state::LoopState;
use crate::sandbox::NetworkAccess;

/// More names are no help.
const MOST_HOSTS: usize = 3;

/// The report, with the hosts that the loop's rule refused.
pub(super) fn with_rule(state: &LoopState, report: &TurnReport) -> TurnReport {
    let mut report = report.clone();
    if let TurnOutcome::Failed { kind, message } = &mut report.outcome
        && let Some(told) = told(state, *kind, message)
    {
        message.push_str("; ");
        message.push_str(&told);
    }
    report
}

/// Whether waiting is of no use, because the rule lets nothing through.
pub(super) fn is_closed(state: &LoopState) -> bool {
    !state.spec.sandbox.is_off() && state.spec.sandbox.network == NetworkAccess::Deny
}

fn told(state: &LoopState, kind: ErrorKind, message: &str) -> Option<String> {
    if state.spec.sandbox.is_off() || state.spec.sandbox.network == NetworkAccess::Allow {
        return None;
    }
    let name = |host: &str| host.rsplit_once(':').map_or_else(|| host.to_owned(), |(name, _)| name.to_owned());
    let named = |host: &&String| message.contains(&name(host));
    let unreached = match kind {
        ErrorKind::Network | ErrorKind::Overloaded => true,
        // A proxy's refusal looks like the service's own.
        ErrorKind::Auth => !state.denied_hosts.is_empty(),
        ErrorKind::RateLimit
        | ErrorKind::ContextOverflow
        | ErrorKind::UnknownSession
        | ErrorKind::Billing
        | ErrorKind::ModelNotFound
        | ErrorKind::ResourceLimit
        | ErrorKind::Other => false,
    };
    let mut hosts: Vec<&String> = state.denied_hosts.keys().filter(named).collect();
    if hosts.is_empty() && unreached {
        hosts = state.denied_hosts.keys().collect();
    }
    hosts.truncate(MOST_HOSTS);
    let list: Vec<&str> = hosts.iter().map(|host| host.as_str()).collect();
    let allow = list.iter().map(|host| format!("--network-host {host}")).collect::<Vec<_>>().join(" ");
    let list = list.join(", ");
    match state.spec.sandbox.network {
        NetworkAccess::Deny if !hosts.is_empty() => Some(format!(
            "Windlass's network rule denied {list} (--network deny); allow it with --network list {allow}"
        )),
        NetworkAccess::Deny if unreached => Some(
            "Windlass's network rule denies every host (--network deny); allow some with --network list and \
             --network-host"
                .to_owned(),
        ),
        NetworkAccess::List if !hosts.is_empty() => {
            Some(format!("Windlass's network rule denied {list}; allow it with {allow}"))
        }
        NetworkAccess::Deny | NetworkAccess::List | NetworkAccess::Allow => None,
    }
}
