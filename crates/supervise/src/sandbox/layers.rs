//! Directories that a tree may change without changing them: overlays, mounted where only bubblewrap sees them.
//!
//! bubblewrap 0.8 mounts no overlays, so the process that becomes bubblewrap gets a mount namespace and mounts them before.
//! Invariant: a layered place whose overlay cannot be mounted is a copy (`copies`) or an empty directory, never the real one.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

use super::{Access, LAYERS, SandboxPolicy};
use crate::contain::{Maps, write_maps};
use crate::sys::{self, Forked, Waited};

/// The overlays of a policy, ready to be mounted in the child.
#[derive(Debug)]
pub(crate) struct Layers {
    overlays: Vec<(CString, CString)>,
    /// Only root needs no user namespace to mount.
    maps: Option<Maps>,
}

impl Layers {
    /// None if the policy has no layered place, or this machine cannot mount one.
    pub(crate) fn of(policy: &SandboxPolicy) -> io::Result<Option<Self>> {
        let maps = (!rustix::process::geteuid().is_root()).then(Maps::own);
        let mut overlays = Vec::new();
        for place in policy.ordered() {
            if let (Access::Layered, Some(kept)) = (place.access, &place.from) {
                let [merged, upper, work] = LAYERS.map(|name| kept.join(name));
                let options = options(&place.path, &upper, &work, maps.is_some());
                overlays.push((CString::new(options)?, CString::new(merged.as_os_str().as_bytes())?));
            }
        }
        let layers = Self { overlays, maps };
        Ok(layers.work().then_some(layers))
    }

    /// The namespaces that the process which mounts them must be forked into.
    pub(crate) fn namespaces(&self) -> i32 {
        let user = if self.maps.is_some() { libc::CLONE_NEWUSER } else { 0 };
        libc::CLONE_NEWNS | user
    }

    /// In that process: mounts them; how many it could.
    pub(crate) fn mount(&self) -> io::Result<usize> {
        if let Some(maps) = &self.maps {
            write_maps(maps)?;
        }
        mount_change(c"/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let mounted =
            self.overlays.iter().filter(|(options, at)| mount(c"overlay", at, c"overlay", flags, &**options).is_ok());
        Ok(mounted.count())
    }

    /// Tried in its own process: some systems give a user namespace in which nothing can be mounted, and in which
    /// bubblewrap would not work either.
    fn work(&self) -> bool {
        if self.overlays.is_empty() {
            return false;
        }
        match sys::fork_into(self.namespaces()) {
            Ok(Forked::Child) => sys::exit_now(i32::from(!matches!(self.mount(), Ok(count) if count > 0))),
            Ok(Forked::Parent { child }) => matches!(sys::wait_for(child), Waited::Ended { status: 0, .. }),
            Err(_) => false,
        }
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
}
