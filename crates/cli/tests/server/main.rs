//! `windlass serve` over real sockets: who may come in, what the feed says, what the commands do.

#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/mod.rs"]
mod support;

mod client;
mod commands;
mod feed;
mod login;
mod remote;
mod security;
