//! Adapters for any program: one that its profile describes, and one that speaks the Agent Client Protocol.

mod acp;
mod command;

use windlass_core::profile::AdapterKind;

use crate::start::Adapter;

pub use command::check_patterns;

/// The adapter for agents that are not known.
pub(crate) fn adapter(kind: AdapterKind) -> &'static dyn Adapter {
    if kind == AdapterKind::Acp { &acp::Protocol } else { &command::Described }
}
