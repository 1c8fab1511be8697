//! What requests and answers of all routes have in common.

pub(crate) mod extract;
pub(crate) mod refused;
