//! Commands about a project before its loops: `init`, the gate that `run` offers, and `config`.

mod config;
mod editor;
mod init;

pub use config::{edit, get, set, unset};
pub use init::{init, offered_gates};
