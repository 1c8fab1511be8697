//! A real agent CLI in a container: lent by this machine, with its login, and with no other way out than to its model.
#![cfg(target_os = "linux")]
#![allow(dead_code, reason = "a part of what the conformance tests have is used here")]

use crate::driven::{COMPLETES, Driven};
use windlass_testkit::clis::Cli;
use windlass_testkit::docker::Dockerd;

#[test]
fn claude() {
    let Some(docker) = Dockerd::get() else { return };
    let Some(program) = Cli::Claude.installed_or_say_skipped("a loop in containers") else { return };
    let world = docker.world_with(program.parent());
    let driven = Driven::in_world(world, Cli::Claude, &program, COMPLETES, |setup| setup);
    let url = driven.server.url();
    let host = url.strip_prefix("http://").expect("it has no TLS");
    let output = driven.run(&["--gate", "test -f out.txt", "--network", "list", "--network-host", host]);
    output.assert_code(0);
    driven.assert_completed(&output);
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "scripted\n");
}
