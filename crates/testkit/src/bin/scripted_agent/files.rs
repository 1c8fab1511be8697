//! Changing files in the agent's working directory, and running commands there.
//!
//! Invariant: a change that cannot be made ends the agent with a message, so that no test passes because an edit
//! silently did not happen.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process;

use windlass_testkit::script::{Chmod, Command, Rename, Symlink};

pub(crate) fn write(path: &str, content: &str) -> Result<(), String> {
    make_parent(path)?;
    fs::write(path, content).map_err(|e| format!("cannot write {path}: {e}"))
}

pub(crate) fn append(path: &str, content: &str) -> Result<(), String> {
    make_parent(path)?;
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .map_err(|e| format!("cannot append to {path}: {e}"))
}

/// A file, a link or a whole directory; what is not there needs no deleting.
pub(crate) fn delete(path: &str) -> Result<(), String> {
    let deleted = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    };
    deleted.map_err(|e| format!("cannot delete {path}: {e}"))
}

pub(crate) fn rename(rename: &Rename) -> Result<(), String> {
    make_parent(&rename.to)?;
    fs::rename(&rename.from, &rename.to).map_err(|e| format!("cannot rename {} to {}: {e}", rename.from, rename.to))
}

pub(crate) fn chmod(chmod: &Chmod) -> Result<(), String> {
    let mode = u32::from_str_radix(&chmod.mode, 8).map_err(|_| format!("not an octal mode: {}", chmod.mode))?;
    fs::set_permissions(&chmod.path, Permissions::from_mode(mode))
        .map_err(|e| format!("cannot chmod {}: {e}", chmod.path))
}

pub(crate) fn symlink(symlink: &Symlink) -> Result<(), String> {
    make_parent(&symlink.path)?;
    delete(&symlink.path)?;
    std::os::unix::fs::symlink(&symlink.target, &symlink.path).map_err(|e| format!("cannot link {}: {e}", symlink.path))
}

/// Runs a command with the agent's own output. That it fails is for the script's reader to see, not an end: real
/// agents continue after a failed command too.
pub(crate) fn run(command: &Command) -> Result<Option<String>, String> {
    let mut process = match command {
        Command::Shell(line) => {
            let mut sh = process::Command::new("sh");
            sh.args(["-c", line]);
            sh
        }
        Command::Words(words) => {
            let (program, args) = words.split_first().ok_or("run needs at least one word")?;
            let mut process = process::Command::new(program);
            process.args(args);
            process
        }
    };
    let status = process.stdin(process::Stdio::null()).status().map_err(|e| format!("cannot run {command:?}: {e}"))?;
    Ok((!status.success()).then(|| format!("{command:?}: {status}")))
}

pub(crate) fn git_commit(message: &str) -> Result<(), String> {
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--allow-empty", "--message", message])
}

fn git(args: &[&str]) -> Result<(), String> {
    let status = process::Command::new("git")
        .args(args)
        .stdin(process::Stdio::null())
        .status()
        .map_err(|e| format!("cannot run git: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("git {args:?}: {status}")) }
}

fn make_parent(path: &str) -> Result<(), String> {
    match Path::new(path).parent() {
        Some(dir) if !dir.as_os_str().is_empty() => {
            fs::create_dir_all(dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))
        }
        Some(_) | None => Ok(()),
    }
}
