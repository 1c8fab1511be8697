//! Who may ask: the master token, sessions and tickets, and the guard that every request passes.

pub(crate) mod guard;
pub(crate) mod login;
mod rate;
pub(crate) mod secret;
