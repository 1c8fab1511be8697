//! Commands about a project before its loops: `init`, and the gate that `run` offers.

mod init;

pub use init::{init, offered_gates};
