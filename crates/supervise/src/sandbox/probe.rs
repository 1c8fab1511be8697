//! Probes bubblewrap by running it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Backend, Unavailable};

const INSTALL: &str = "install it: `apt install bubblewrap`, `dnf install bubblewrap`, or `pacman -S bubblewrap`; \
                       or run without one: --sandbox off";

fn unavailable(reason: String, fix: &str) -> Unavailable {
    Unavailable { reason, fix: fix.to_owned() }
}

/// Finds the program without running it.
pub(super) fn find_bubblewrap(search_path: &str) -> Result<PathBuf, Unavailable> {
    find(search_path).ok_or_else(|| unavailable("bubblewrap is not installed".to_owned(), INSTALL))
}

pub(super) fn bubblewrap(search_path: &str) -> Result<Backend, Unavailable> {
    let program = find_bubblewrap(search_path)?;
    // Only flags that need kernel support. Runs bubblewrap itself inside, the one program known to exist.
    let words = ["--unshare-pid", "--as-pid-1", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--"];
    let tried = Command::new(&program).args(words).arg(&program).arg("--version").stdin(Stdio::null()).output();
    match tried {
        Ok(output) if output.status.success() => Ok(Backend::Bubblewrap { program }),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().next().unwrap_or("no output").trim().to_owned();
            Err(unavailable(format!("bubblewrap does not work on this machine: {said}"), fix_for(&said)))
        }
        Err(error) => Err(unavailable(format!("cannot start bubblewrap: {error}"), INSTALL)),
    }
}

/// Chooses a fix from bubblewrap's error message.
fn fix_for(said: &str) -> &'static str {
    const NAMESPACES: &str = "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1 and \
                              user.max_user_namespaces=10000; on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0, \
                              or an AppArmor profile for bwrap); or run without one: --sandbox off";
    const CONTAINER: &str = "allow mounts in the container (docker run --security-opt seccomp=unconfined \
                                 --security-opt systempaths=unconfined), or use the container as the sandbox: \
                                 --sandbox off";
    if said.contains("mount proc") || said.contains("pivot_root") { CONTAINER } else { NAMESPACES }
}

fn find(search_path: &str) -> Option<PathBuf> {
    // Also outside a short PATH, because the engine needs it, not the agent.
    let usual = ["/usr/bin", "/usr/local/bin", "/run/current-system/sw/bin"];
    let named = search_path.split(':').filter(|dir| dir.starts_with('/'));
    named.chain(usual).map(|dir| Path::new(dir).join("bwrap")).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_the_system_comes_with_its_own_remedy() {
        assert!(fix_for("bwrap: No permissions to create new namespace").contains("userns"));
        assert!(fix_for("bwrap: Can't mount proc on /newroot/proc: Operation not permitted").contains("container"));
    }
}
