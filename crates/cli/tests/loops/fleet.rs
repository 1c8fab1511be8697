//! `windlass fleet` and `windlass worker` hand over to `windlass-fleet`.

use std::os::unix::fs::PermissionsExt;

use crate::support::*;
use windlass_testkit::World;

fn with_a_program(script: &str) -> (World, std::path::PathBuf) {
    let world = World::new();
    let programs = world.root().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let program = programs.join("windlass-fleet");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (world, programs)
}

#[test]
fn fleet_gets_every_word_and_its_exit_code_counts() {
    let (world, programs) = with_a_program("pwd; printf '<%s>' \"$@\"; exit 7");
    let mut command = windlass(&world, &["-C", "/", "fleet", "run", "two words", "--json", "--help", "-C", "x"]);
    let said = command.env("PATH", &programs).output().unwrap();
    assert_eq!(said.status.code(), Some(7));
    assert_eq!(String::from_utf8_lossy(&said.stdout), "/\n<run><two words><--json><--help><-C><x>");
    let mut command = windlass(&world, &["worker", "--slots", "4", "--help"]);
    let said = command.env("PATH", &programs).output().unwrap();
    assert!(String::from_utf8_lossy(&said.stdout).ends_with("<worker><--slots><4><--help>"));
}

#[test]
fn fleet_says_what_to_do_without_its_program() {
    let world = World::new();
    let said = windlass(&world, &["fleet", "try"]).env("PATH", "/nowhere").output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(text.starts_with("error: windlass-fleet is neither beside this program nor on PATH"), "{text}");
    assert!(text.contains("\nhint: "), "{text}");
}
