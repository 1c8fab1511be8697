//! The installer of the real CLIs, with an npm that does what a test wants.

use std::path::PathBuf;
use std::process::Command;

use windlass_testkit::clis::Cli;
use windlass_testkit::{Output, World, watch};

const CLI: Cli = Cli::Gemini;

/// An npm that makes a program of this version, and notes that it was asked.
fn npm_making(version: &str) -> String {
    format!(
        "echo \"$1\" >> $HOME/asked\n[ \"$1\" = install ] || exit 0\n{}\nmkdir -p node_modules/.bin\n\
         printf '#!/bin/sh\\necho {version}\\n' > node_modules/.bin/gemini\nchmod 755 node_modules/.bin/gemini",
        "[ ! -e $HOME/hold ] || { echo here > $HOME/started; cat $HOME/hold; }"
    )
}

struct Installing {
    world: World,
}

impl Installing {
    fn with_npm(script: &str) -> Installing {
        let world = World::new();
        world.install_script("npm", script);
        Installing { world }
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = self.world.command(env!("CARGO_BIN_EXE_agent-clis"));
        command.arg("install").args(more).arg(CLI.name()).env("WINDLASS_TEST_CLIS", self.world.root().join("clis"));
        command
    }

    fn install(&self, more: &[&str]) -> Output {
        self.world.run(self.command(more))
    }

    fn dir(&self) -> PathBuf {
        self.world.root().join(format!("clis/{}-{}", CLI.name(), CLI.version()))
    }

    /// How often npm was asked to install.
    fn installs(&self) -> usize {
        let asked = std::fs::read_to_string(self.world.home().join("asked")).unwrap_or_default();
        asked.lines().filter(|word| *word == "install").count()
    }
}

#[test]
fn what_is_installed_once_is_used_again() {
    let installing = Installing::with_npm(&npm_making(CLI.version()));
    for _ in 0..2 {
        let out = installing.install(&[]);
        out.assert_code(0);
        out.assert_stdout_has(&installing.dir().join("node_modules/.bin/gemini").display().to_string());
    }
    assert_eq!(installing.installs(), 1);
}

#[test]
fn another_version_than_the_pinned_one_does_not_count() {
    let installing = Installing::with_npm(&npm_making("0.0.1"));
    let out = installing.install(&[]);
    out.assert_code(1);
    out.assert_stderr_has("0.0.1");
    out.assert_stdout_has("not installed");
    assert!(!installing.dir().join(".installed").exists());
}

#[test]
fn npm_that_fails_or_is_missing_is_named() {
    let installing = Installing::with_npm("[ \"$1\" = install ] || exit 0; echo no such package >&2; exit 7");
    let out = installing.install(&[]);
    out.assert_code(1);
    out.assert_stderr_has("no such package");
    out.assert_stderr_has("not installed: gemini");
    let installing = Installing::with_npm("exit 127");
    let out = installing.install(&[]);
    out.assert_code(1);
    out.assert_stderr_has("NPM IS MISSING");
    out.assert_stderr_has("SKIPPED");
}

#[test]
fn half_an_installation_is_done_over() {
    let installing = Installing::with_npm(&npm_making(CLI.version()));
    let half = installing.dir().join("node_modules/left/behind");
    std::fs::create_dir_all(&half).unwrap();
    installing.install(&[]).assert_code(0);
    assert!(!half.exists(), "npm would have taken it for whole");
}

#[test]
fn an_npm_that_hangs_is_ended() {
    let installing = Installing::with_npm("[ \"$1\" = install ] || exit 0; echo begun; exec sleep 1000");
    let out = installing.install(&["--limit-s", "1"]);
    out.assert_code(1);
    out.assert_stderr_has("did not end within 1s");
    out.assert_stderr_has("begun");
    installing.world.wait_no_processes();
}

#[test]
fn two_installers_install_once_and_an_npm_without_its_installer_keeps_others_away() {
    let installing = Installing::with_npm(&npm_making(CLI.version()));
    let hold = installing.world.home().join("hold");
    assert!(Command::new("mkfifo").arg(&hold).status().unwrap().success());
    let first = installing.world.start(installing.command(&[]));
    watch::wait_exists(&installing.world.home().join("started"), None).unwrap();
    first.kill();
    first.wait_ended();
    // The npm of the first one still runs: whoever comes now waits for it.
    let out = installing.install(&["--limit-s", "1"]);
    out.assert_code(1);
    out.assert_stderr_has("another installer has held");
    assert_eq!(installing.installs(), 1);
    let (second, third) =
        (installing.world.start(installing.command(&[])), installing.world.start(installing.command(&[])));
    // The one that hangs continues; those that come after it do not hang.
    let writer = std::fs::OpenOptions::new().write(true).open(&hold).unwrap();
    std::fs::remove_file(&hold).unwrap();
    drop(writer);
    second.wait().assert_code(0);
    third.wait().assert_code(0);
    assert_eq!(installing.installs(), 2, "the cut-off one is done over, once");
}
