//! A policy in the words of bubblewrap, which makes the sandbox if this program cannot (`entry`).
//!
//! Adds what version 0.8 does not do: as root it leaves `/proc/sys` writable, through which a
//! process without any capability can have the kernel run a program outside (`core_pattern`).

use std::ffi::{OsStr, OsString};

use rustix::thread::CapabilitySet;

use super::{Access, Network, SandboxPolicy};

/// Files of `/proc` that change the machine when root writes to them.
pub(super) const PROC_SEALED: [&str; 8] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/mtrr",
];

/// Root keeps what package managers need to unpack archives: none of it reaches past the mounts, and a file that somebody
/// writes to loses its set-user-ID bit.
pub(crate) const CAPABILITIES_OF_ROOT: [(&str, CapabilitySet); 3] = [
    ("CAP_CHOWN", CapabilitySet::CHOWN),
    ("CAP_DAC_OVERRIDE", CapabilitySet::DAC_OVERRIDE),
    ("CAP_FOWNER", CapabilitySet::FOWNER),
];

/// Everything before the program that is to run inside.
pub(crate) fn arguments(policy: &SandboxPolicy, as_root: bool) -> Vec<OsString> {
    let mut all = Arguments::default();
    // The reaper is process 1; when it, bubblewrap or the shim dies, the kernel ends the rest.
    all.words(["--unshare-pid", "--as-pid-1", "--die-with-parent"]);
    all.words(["--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
    match policy.network {
        Network::Allow => {}
        Network::Deny | Network::List { .. } => all.words(["--unshare-net"]),
    }
    all.words(["--dev", "/dev", "--proc", "/proc"]);
    if as_root {
        // For other users the kernel itself refuses to write there.
        for path in PROC_SEALED {
            all.words(["--ro-bind-try", path, path]);
        }
    }
    all.places(policy);
    all.words(["--remount-ro", "/"]);
    all.words(["--cap-drop", "ALL"]);
    if as_root {
        for (capability, _) in CAPABILITIES_OF_ROOT {
            all.words(["--cap-add", capability]);
        }
    }
    all.words(["--chdir", "/", "--"]);
    all.0
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn places(&mut self, policy: &SandboxPolicy) {
        let mut hidden = Vec::new();
        for place in policy.ordered() {
            let path = place.path.as_os_str();
            match place.access {
                Access::HiddenDir => {
                    self.add(["--tmpfs".as_ref(), path]);
                    hidden.push(path);
                }
                Access::HiddenFile => self.add(["--ro-bind".as_ref(), "/dev/null".as_ref(), path]),
                // What is only shown may be gone by now. What seals a part of a writable place may not.
                Access::ReadOnly if policy.seals(place) => {
                    self.add(["--ro-bind".as_ref(), place.source().as_os_str(), path]);
                }
                Access::ReadOnly => self.add(["--ro-bind-try".as_ref(), place.source().as_os_str(), path]),
                Access::Writable | Access::Layered => self.add(["--bind".as_ref(), place.source().as_os_str(), path]),
                Access::Link => self.add(["--symlink".as_ref(), place.source().as_os_str(), path]),
            }
        }
        if let Network::List { socket, .. } = &policy.network {
            self.add(["--bind".as_ref(), socket.as_os_str(), socket.as_os_str()]);
        }
        // Last, because places below them had to be made in them.
        for path in hidden {
            self.add(["--remount-ro".as_ref(), path]);
        }
    }

    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn add<const N: usize>(&mut self, words: [&OsStr; N]) {
        self.0.extend(words.map(OsStr::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Backend, Place};
    use super::*;

    fn policy(places: &[(&str, Access)], network: Network) -> SandboxPolicy {
        SandboxPolicy {
            backend: Backend::Bubblewrap { program: "/usr/bin/bwrap".into() },
            network,
            places: places.iter().map(|(path, access)| Place::new(*path, *access)).collect(),
        }
    }

    fn text(policy: &SandboxPolicy, as_root: bool) -> String {
        let words: Vec<_> =
            arguments(policy, as_root).into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn nothing_is_there_by_itself_and_kernel_settings_are_sealed_for_root() {
        let said = text(&policy(&[], Network::Allow), true);
        assert!(said.starts_with("--unshare-pid --as-pid-1 --die-with-parent "), "{said}");
        assert!(said.contains("--dev /dev --proc /proc --ro-bind-try /proc/sys /proc/sys"), "{said}");
        assert!(said.contains("--remount-ro / --cap-drop ALL --cap-add"), "{said}");
        assert!(!said.contains("--unshare-net") && !said.contains("bind / /"), "{said}");
        let said = text(&policy(&[("/usr", Access::ReadOnly)], Network::Allow), false);
        assert!(said.ends_with("--ro-bind-try /usr /usr --remount-ro / --cap-drop ALL --chdir / --"), "{said}");
    }

    #[test]
    fn a_layered_place_is_what_is_merged_and_a_link_leads_where_it_says() {
        let mut policy = policy(&[], Network::Allow);
        let from = |path: &str, access, from: &str| Place { from: Some(from.into()), ..Place::new(path, access) };
        policy.places.push(from("/h/.npm", Access::Layered, "/p/npm"));
        policy.places.push(from("/bin", Access::Link, "usr/bin"));
        let said = text(&policy, false);
        assert!(said.contains("--bind /p/npm/merged /h/.npm") && said.contains("--symlink usr/bin /bin"), "{said}");
    }

    #[test]
    fn the_deeper_place_comes_later_and_so_decides() {
        let places = [
            ("/h/.cache/secret", Access::HiddenDir),
            ("/h/.cache", Access::Writable),
            ("/data", Access::HiddenDir),
            ("/data/worktrees/1", Access::Writable),
            ("/data/worktrees/1/.git/config", Access::ReadOnly),
            ("/h/.netrc", Access::HiddenFile),
        ];
        let mut policy = policy(&places, Network::Deny);
        policy.places.push(Place { from: Some("/data/tmp/1".into()), ..Place::new("/tmp", Access::Writable) });
        let said = text(&policy, true);
        let at = |part: &str| said.find(part).unwrap_or_else(|| panic!("no {part} in {said}"));
        assert!(at("--tmpfs /data ") < at("--bind /data/worktrees/1 /data/worktrees/1 "));
        assert!(at("--bind /data/worktrees/1 ") < at("--ro-bind /data/worktrees/1/.git/config "));
        assert!(at("--bind /h/.cache /h/.cache ") < at("--tmpfs /h/.cache/secret "));
        assert!(at("--ro-bind /data/worktrees/1/.git/config ") < at("--remount-ro /data "));
        at("--ro-bind /dev/null /h/.netrc ");
        at("--bind /data/tmp/1 /tmp ");
        assert!(at("--remount-ro /data ") < at("--remount-ro / "));
        at("--unshare-net ");
        at("--cap-drop ALL --cap-add CAP_CHOWN ");
    }

    #[test]
    fn what_is_said_last_of_a_path_holds() {
        let said =
            text(&policy(&[("/h/.ssh", Access::HiddenDir), ("/h/.ssh", Access::Writable)], Network::Allow), false);
        assert!(said.contains("--bind /h/.ssh /h/.ssh") && !said.contains("--tmpfs"), "{said}");
    }

    #[test]
    fn a_proxy_is_reached_through_its_socket_alone() {
        let said = text(
            &policy(&[], Network::List { socket: "/s/proxy".into(), proxy_port: 1, local_ports: Vec::new() }),
            false,
        );
        assert!(said.contains("--unshare-net") && said.contains("--bind /s/proxy /s/proxy"), "{said}");
    }
}
