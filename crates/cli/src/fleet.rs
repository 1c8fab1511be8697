//! `windlass fleet` and `windlass worker`: hand over to `windlass-fleet`, as git does with its programs.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exit::Exit;
use crate::failure::Failure;

const PROGRAM: &str = "windlass-fleet";

/// Becomes that program; returns only if it cannot be started.
pub fn hand_over(dir: Option<&Path>, first: Option<&str>, words: &[OsString]) -> Result<Exit, Failure> {
    let Some(program) = find() else {
        return Err(Failure::usage(
            format!("{PROGRAM} is neither beside this program nor on PATH"),
            "build it with `cargo install --locked --path fleet`; see docs/fleet.md",
        ));
    };
    let mut command = Command::new(&program);
    command.args(first).args(words);
    if let Some(dir) = dir {
        command.current_dir(dir);
    }
    let error = command.exec();
    Err(Failure::usage(format!("cannot start {}: {error}", program.display()), "check that it can be run"))
}

fn find() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = beside.into_iter().chain(std::env::split_paths(&path).filter(|dir| dir.is_absolute()));
    places.map(|dir| dir.join(PROGRAM)).find(|program| program.is_file())
}
