//! Directories that a tree may change without changing them: overlays, mounted where only bubblewrap sees them.
//!
//! bubblewrap 0.8 mounts no overlays, so the process that becomes bubblewrap gets a mount namespace and mounts them before.
//! They are mounted so that their end writes nothing to the disk: otherwise the kernel would write out the whole file system that
//! the changes lie on, for each of them and after each turn.
//! Invariant: a layered place whose overlay cannot be mounted is a copy (`copies`) or an empty directory, never the real one.

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

use super::{Access, LAYERS, SandboxPolicy};
use crate::contain::{Maps, write_maps};
use crate::sys::{self, Forked, Waited};

/// One directory: its changes and its view, and how the kernel is told.
#[derive(Debug)]
struct Overlay {
    kept: PathBuf,
    options: Vec<u8>,
    at: CString,
    /// There until somebody removes it, if an overlay that writes nothing out was mounted before. Such changes may be half
    /// written after a power failure; they are thrown away anyway.
    mark: PathBuf,
}

/// The overlays of a policy, ready to be mounted in the child.
#[derive(Debug)]
pub(crate) struct Layers {
    overlays: Vec<Overlay>,
    /// Only root needs no user namespace to mount.
    maps: Option<Maps>,
}

impl Layers {
    /// Those that can be mounted here, and the directories of changes of those that cannot: a file system below may support
    /// none, or a path may be too long.
    pub(crate) fn of(policy: &SandboxPolicy) -> io::Result<(Option<Self>, Vec<PathBuf>)> {
        let mut layers = Self::untried(policy)?;
        if layers.overlays.is_empty() {
            return Ok((None, Vec::new()));
        }
        let mut mounted = layers.tried().into_iter();
        let mut refused = Vec::new();
        layers.overlays.retain(|overlay| {
            let works = mounted.next().unwrap_or(false);
            if !works {
                refused.push(overlay.kept.clone());
            }
            works
        });
        Ok(((!layers.overlays.is_empty()).then_some(layers), refused))
    }

    /// Those of a policy, none perhaps.
    pub(crate) fn untried(policy: &SandboxPolicy) -> io::Result<Self> {
        let maps = (!rustix::process::geteuid().is_root()).then(Maps::own);
        let mut overlays = Vec::new();
        for place in policy.ordered() {
            if let (Access::Layered, Some(kept)) = (place.access, &place.from) {
                let [merged, upper, work] = LAYERS.map(|name| kept.join(name));
                let options = options(&place.path, &upper, &work, maps.is_some());
                let at = CString::new(merged.as_os_str().as_bytes())?;
                let mark = work.join("work/incompat/volatile");
                overlays.push(Overlay { kept: kept.clone(), options, at, mark });
            }
        }
        Ok(Self { overlays, maps })
    }

    /// The namespaces that the process which mounts them must be forked into.
    pub(crate) fn namespaces(&self) -> i32 {
        let user = if self.maps.is_some() { libc::CLONE_NEWUSER } else { 0 };
        libc::CLONE_NEWNS | user
    }

    /// In that process: mounts them; says of each whether it could.
    pub(crate) fn mount(&self) -> io::Result<Vec<bool>> {
        if let Some(maps) = &self.maps {
            write_maps(maps)?;
        }
        mount_change(c"/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
        Ok(self.overlays.iter().map(|overlay| overlay.mount().is_ok()).collect())
    }

    /// Tried in its own process: some systems give a user namespace in which nothing can be mounted, and in which
    /// bubblewrap would not work either.
    fn tried(&self) -> Vec<bool> {
        let Ok((mut answer, mut told)) = io::pipe() else { return Vec::new() };
        match sys::fork_into(self.namespaces()) {
            Ok(Forked::Child) => {
                // A policy has far fewer than a pipe takes at once.
                let mounted: Vec<u8> = self.mount().unwrap_or_default().into_iter().map(u8::from).collect();
                sys::exit_now(i32::from(told.write_all(&mounted).is_err()))
            }
            Ok(Forked::Parent { child }) => {
                drop(told);
                let mut mounted = Vec::new();
                let read = answer.read_to_end(&mut mounted);
                match (sys::wait_for(child), read) {
                    (Waited::Ended { status: 0, .. }, Ok(_)) => mounted.into_iter().map(|byte| byte == 1).collect(),
                    (Waited::Ended { .. } | Waited::Running | Waited::NoChildren, _) => Vec::new(),
                }
            }
            Err(_) => Vec::new(),
        }
    }
}

impl Overlay {
    fn mount(&self) -> io::Result<()> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let with = |options: &[u8]| -> io::Result<()> {
            Ok(mount(c"overlay", &self.at, c"overlay", flags, &*CString::new(options)?)?)
        };
        let _ = std::fs::remove_dir_all(&self.mark);
        // Kernels before 5.10 do not know the word.
        with(&[self.options.as_slice(), b",volatile"].concat()).or_else(|_| with(&self.options))
    }
}

fn options(lower: &Path, upper: &Path, work: &Path, in_user_namespace: bool) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, path) in [("lowerdir=", lower), (",upperdir=", upper), (",workdir=", work)] {
        text.extend(name.as_bytes());
        for byte in path.as_os_str().as_bytes() {
            if matches!(byte, b'\\' | b',' | b':') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
    }
    if in_user_namespace {
        text.extend(b",userxattr");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_separators_are_escaped() {
        let text = options(Path::new("/a b/c:d"), Path::new("/u,v"), Path::new("/w"), true);
        assert_eq!(String::from_utf8(text).unwrap(), r"lowerdir=/a b/c\:d,upperdir=/u\,v,workdir=/w,userxattr");
    }

    #[test]
    fn one_that_cannot_be_mounted_is_told_apart_from_those_that_can() {
        use crate::sandbox::{Backend, Network, Place};
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let layered = |name: &str| {
            let (real, kept) = (root.join(name), root.join("kept").join(name));
            std::fs::create_dir_all(&real).unwrap();
            LAYERS.iter().for_each(|part| std::fs::create_dir_all(kept.join(part)).unwrap());
            Place { from: Some(kept), ..Place::new(real, Access::Layered) }
        };
        // The kernel takes one page of options.
        let long = vec!["x".repeat(200); 10].join("/");
        let policy = SandboxPolicy {
            backend: Backend::Bubblewrap { program: "bwrap".into() },
            network: Network::Allow,
            places: vec![layered("a"), layered(&long)],
        };
        let (layers, refused) = Layers::of(&policy).unwrap();
        match layers {
            Some(layers) => {
                assert_eq!(layers.overlays.iter().map(|one| &one.kept).collect::<Vec<_>>(), [&root.join("kept/a")]);
                assert_eq!(refused, [root.join("kept").join(&long)]);
            }
            // A machine without overlays has copies of both.
            None => assert_eq!(refused.len(), 2),
        }
    }
}
