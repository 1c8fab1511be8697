//! Commands about a project before its loops: `init`, the gate that `run` offers, `config` and `recipe`.

mod config;
mod editor;
mod init;
mod recipe;

pub use config::{edit, get, set, unset};
pub use init::{init, offered_gates};
pub use recipe::recipe;
