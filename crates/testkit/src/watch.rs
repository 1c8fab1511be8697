//! Blocking until a file appears, without polling where the system can tell (inotify).
//!
//! Invariant: a file that exists before or appears during the wait is always seen, because the watch stands
//! before the first look.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Blocks until `path` exists; `Ok(false)` if the time is over first.
///
/// # Errors
/// If its directory cannot be made or watched, or vanishes meanwhile.
pub fn wait_exists(path: &Path, time: Option<Duration>) -> io::Result<bool> {
    wait_until(path, time, || path.symlink_metadata().is_ok())
}

/// Blocks until `done` holds, asking again each time something happens beside or to `path`.
///
/// # Errors
/// If the directory of `path` cannot be made or watched, or vanishes meanwhile.
pub fn wait_until(path: &Path, time: Option<Duration>, mut done: impl FnMut() -> bool) -> io::Result<bool> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(dir)?;
    let watch = Watch::on(dir)?;
    let deadline = time.map(|t| Instant::now() + t);
    loop {
        if done() {
            return Ok(true);
        }
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        if left.is_some_and(|l| l.is_zero()) {
            return Ok(false);
        }
        watch.next(left)?;
        if !dir.exists() {
            return Err(io::Error::other(format!("{} is gone", dir.display())));
        }
    }
}

/// Blocks until the descriptor is readable (or closed); says whether it is.
pub(crate) fn readable(fd: &impl AsFd, time: Option<Duration>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    let time = time.and_then(|t| Timespec::try_from(t).ok());
    poll(&mut fds, time.as_ref()).is_ok_and(|n| n > 0)
}

#[cfg(target_os = "linux")]
struct Watch(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Watch {
    fn on(dir: &Path) -> io::Result<Watch> {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let fd = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let events = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        add_watch(&fd, dir, events)?;
        Ok(Watch(fd))
    }

    fn next(&self, time: Option<Duration>) -> io::Result<()> {
        if readable(&self.0, time) {
            // What happened does not matter: the caller looks for itself.
            let mut events = [0_u8; 4096];
            match rustix::io::read(&self.0, &mut events) {
                Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

/// Other systems have no inotify; looking again is the portable fallback.
#[cfg(not(target_os = "linux"))]
struct Watch;

#[cfg(not(target_os = "linux"))]
impl Watch {
    fn on(_dir: &Path) -> io::Result<Watch> {
        Ok(Watch)
    }

    fn next(&self, time: Option<Duration>) -> io::Result<()> {
        let look_again = Duration::from_millis(5);
        std::thread::sleep(time.map_or(look_again, |t| t.min(look_again)));
        Ok(())
    }
}
