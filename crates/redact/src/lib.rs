//! What must not be seen, and what may pass: secrets in bytes and texts, variables of an environment, hosts of a network.
//!
//! Pure functions of bytes and names. Code that reads files, starts programs, or opens connections asks here first.

pub mod environment;
pub mod network;
pub mod secrets;
