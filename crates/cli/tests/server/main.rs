//! `windlass serve` over real sockets: who may come in, what the feed says, what the commands do.

#[path = "../support/pty.rs"]
#[allow(dead_code)] // Its other users need all of it.
mod pty;
#[path = "../support/mod.rs"]
mod support;

mod attempts;
mod client;
mod commands;
mod feed;
mod goals;
mod login;
mod merge_queue;
mod remote;
mod security;
