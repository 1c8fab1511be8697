//! Performs what the machine decides.
//!
//! The engine is the shell around `windlass-core`: it keeps the journal, drives loops, calls git, starts agents and
//! gates, and shows what happens. It holds no rule of its own about when a loop goes on.

pub mod activity;
pub mod call;
pub mod changes;
pub mod clock;
pub mod command;
pub mod config;
pub mod copilot_loop;
pub mod data;
pub mod driver;
pub mod engine;
pub mod environment;
mod failure;
pub mod feed;
pub mod groups;
pub mod journal;
pub mod limits;
pub mod loop_log;
pub mod loops;
pub mod milestones;
pub mod notify;
pub mod outside;
pub mod places;
pub mod ports;
pub mod proxy;
pub mod residue;
pub mod sandbox;
pub mod summariser;
pub mod tokens;
pub mod transcript;
pub mod trust;
pub mod view;
mod wire;
pub mod work;

pub use engine::tools;
use wire::own_socket;
pub use wire::{http, socket};
