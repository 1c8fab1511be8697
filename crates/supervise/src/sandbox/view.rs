//! What a tree sees, mounted as one root that `entry` then changes to.
//!
//! Invariants: everything is mounted in a namespace that ends with this process, so a failure leaves nothing behind and
//! bubblewrap can still mount the places one by one; no symbolic link is followed, neither to a place nor on the way to where it
//! is shown; what was shown stays what it was, even if another directory takes its name, or the machine mounts or unmounts something
//! there.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, mkdirat, openat2, symlinkat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree};

use super::layers::Layers;
use super::{Access, Network, Place, SandboxPolicy};
use crate::sys::{self, MountAttributes};

/// Where the root is mounted. bubblewrap cannot do without this directory either.
pub(super) const ROOT: &str = "/tmp";

/// Directories that `entry` fills in the root, because they belong to the namespaces.
const OF_NAMESPACES: [&str; 2] = ["/dev", "/proc"];

/// The view of a policy.
#[derive(Debug)]
pub(crate) struct View<'a> {
    policy: &'a SandboxPolicy,
    layers: Layers,
}

/// What comes to a place of the root.
enum Shown {
    Tree(OwnedFd),
    Empty,
    Link(CString),
}

impl<'a> View<'a> {
    /// None if bubblewrap has to mount its places itself.
    pub(crate) fn of(policy: &'a SandboxPolicy) -> io::Result<Option<Self>> {
        let inside = |place: &Place| OF_NAMESPACES.iter().any(|path| place.path.starts_with(path));
        if policy.places.iter().any(inside) {
            return Ok(None);
        }
        Ok(Some(Self { policy, layers: Layers::untried(policy)? }))
    }

    /// The namespaces that the process which mounts it must be forked into.
    pub(crate) fn namespaces(&self) -> i32 {
        self.layers.namespaces()
    }

    /// In that process: mounts it at [`ROOT`], and returns that.
    pub(super) fn mount(&self) -> io::Result<OwnedFd> {
        if self.layers.mount()?.contains(&false) {
            return Err(io::Error::other("an overlay cannot be mounted"));
        }
        // All of them before the root covers something.
        let mut shown = Vec::new();
        for place in self.policy.ordered() {
            if let Some(what) = self.shown(place)? {
                let hides = matches!(place.access, Access::HiddenDir | Access::HiddenFile);
                shown.push((place.path.as_path(), what, hides));
            }
        }
        if let Network::List { socket, .. } = &self.policy.network {
            shown.push((socket, Shown::Tree(tree(socket, false)?), false));
        }
        let root = mounted_root()?;
        for path in OF_NAMESPACES {
            point(&root, Path::new(path), true)?;
        }
        let mut sealed = Vec::new();
        for (path, what, hides) in shown {
            let done = match what {
                Shown::Tree(tree) => show(&root, path, &tree),
                Shown::Empty => show_nothing(&root, path).map(|()| sealed.push(path)),
                Shown::Link(target) => link(&root, path, &target),
            };
            match done {
                // It is gone, so nothing has to be hidden, and nothing can be made in a read-only place.
                Err(error) if hides && error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
                done => done?,
            }
        }
        // Last, because places below them had to be made in them.
        for path in sealed {
            sys::set_mount_attributes(
                point(&root, path, true)?.as_fd(),
                MountAttributes { read_only: true, below: false },
            )?;
        }
        Ok(root)
    }

    /// None if it is gone, or a link took its place. What seals a part of a writable place may not be gone.
    fn shown(&self, place: &Place) -> io::Result<Option<Shown>> {
        let source = place.source();
        Ok(match place.access {
            Access::HiddenDir => Some(Shown::Empty),
            Access::HiddenFile => Some(Shown::Tree(tree(Path::new("/dev/null"), true)?)),
            Access::ReadOnly => match tree(&source, true) {
                Err(error) if is_gone(&error) && !self.policy.seals(place) => None,
                found => Some(Shown::Tree(found?)),
            },
            Access::Writable | Access::Layered => Some(Shown::Tree(tree(&source, false)?)),
            Access::Link => Some(Shown::Link(CString::new(source.as_os_str().as_bytes())?)),
        })
    }
}

fn is_gone(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].contains(&errno))
}

/// What is mounted at a path, as a tree that is not attached anywhere yet; no program of it gets rights, no device works.
pub(super) fn tree(source: &Path, read_only: bool) -> io::Result<OwnedFd> {
    let tree = clone_mount(source)?;
    sys::set_mount_attributes(tree.as_fd(), MountAttributes { read_only, below: true })?;
    Ok(tree)
}

/// The same, to be used as it is.
pub(super) fn clone_mount(source: &Path) -> io::Result<OwnedFd> {
    // Without `NOFOLLOW`, with which a link at the end would be the tree.
    let opened = openat2(CWD, source, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let whole = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(open_tree(&opened, c"", whole)?)
}

fn mounted_root() -> io::Result<OwnedFd> {
    mount("tmpfs", ROOT, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")?;
    Ok(rustix::fs::open(ROOT, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

pub(super) fn show(root: &OwnedFd, path: &Path, tree: &OwnedFd) -> io::Result<()> {
    let is_dir = FileType::from_raw_mode(fstat(tree)?.st_mode) == FileType::Directory;
    let at = point(root, path, is_dir)?;
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, c"", &at, c"", both)?)
}

/// An empty directory.
fn show_nothing(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let at = point(root, path, true)?;
    let named = format!("/proc/self/fd/{}", at.as_raw_fd());
    Ok(mount("tmpfs", named, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")?)
}

fn link(root: &OwnedFd, path: &Path, target: &CString) -> io::Result<()> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { return Err(Errno::INVAL.into()) };
    Ok(symlinkat(target, point(root, above, true)?, name)?)
}

/// The place in the root, made if it is not there.
fn point(root: &OwnedFd, path: &Path, is_dir: bool) -> io::Result<OwnedFd> {
    let below = path.strip_prefix("/").map_err(|_| Errno::INVAL)?;
    match found(root, below) {
        Err(Errno::NOENT) => {}
        at => return Ok(at?),
    }
    let mut at = root.try_clone()?;
    let mut names = below.components().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_some() || is_dir {
            match mkdirat(&at, name.as_os_str(), Mode::from_raw_mode(0o755)) {
                Err(Errno::EXIST) | Ok(()) => {}
                Err(error) => return Err(error.into()),
            }
        } else {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::openat(&at, name.as_os_str(), flags, Mode::from_raw_mode(0o666))?;
        }
        at = found(&at, Path::new(name.as_os_str()))?;
    }
    Ok(at)
}

fn found(at: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let alone = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    openat2(at, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), alone)
}
