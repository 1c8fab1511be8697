//! The machine's settings as a sandbox shows them: a copy of what in `/etc` every user of this machine may read, without
//! known places of secrets.
//!
//! A copy, because to hide a file needs a mount for each, and one that goes away in between would fail the start. Invariants:
//! a copy is complete when it has its name; it is never changed afterwards, so that processes may continue using it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::table::ETC_SECRETS;
use crate::data::private_dir;

/// Larger files are no settings.
const LARGEST: u64 = 4 << 20;
/// Of one that is bigger than this, the rest is left out.
const MOST_ENTRIES: usize = 20_000;
/// No turn uses a copy for longer than that.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

/// Who the processes are.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct User<'a> {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Where they find their home, whatever the list of users says.
    pub(super) home: Option<&'a Path>,
}

#[derive(Debug)]
enum Kind {
    Dir,
    File,
    Link(PathBuf),
}

/// The copy of `etc` below `place`, made if this one is not there yet.
pub(super) fn copy_of(etc: &Path, place: &Path, user: User<'_>) -> io::Result<PathBuf> {
    let (entries, fingerprint) = walk(etc, user);
    let copy = place.join(format!("etc-{fingerprint:016x}"));
    if copy.is_dir() {
        return Ok(copy);
    }
    private_dir(place)?;
    remove_old(place);
    let partial = place.join(format!(".etc-{}", uuid::Uuid::now_v7().simple()));
    std::fs::DirBuilder::new().mode(0o755).create(&partial)?;
    for (path, kind) in entries {
        let (from, to) = (etc.join(&path), partial.join(&path));
        // What goes away meanwhile is not there.
        let _ = match kind {
            Kind::Dir => std::fs::DirBuilder::new().mode(0o755).create(&to),
            Kind::Link(target) => symlink(target, &to),
            Kind::File if path == Path::new("passwd") => {
                std::fs::read_to_string(&from).and_then(|text| std::fs::write(&to, users(&text, user)))
            }
            Kind::File => std::fs::copy(&from, &to).map(drop),
        };
    }
    match std::fs::rename(&partial, &copy) {
        Ok(()) => Ok(copy),
        // Another loop was faster.
        Err(_) if copy.is_dir() => windlass_workspace::remove_tree(&partial).map(|()| copy),
        Err(error) => Err(error),
    }
}

/// What is shown, parents first, and a number that changes with it.
fn walk(etc: &Path, user: User<'_>) -> (Vec<(PathBuf, Kind)>, u64) {
    let mut hasher = DefaultHasher::new();
    user.hash(&mut hasher);
    let mut entries = Vec::new();
    let mut todo = vec![PathBuf::new()];
    while let Some(dir) = todo.pop() {
        let mut names: Vec<_> =
            std::fs::read_dir(etc.join(&dir)).into_iter().flatten().flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            let path = dir.join(name);
            let Ok(data) = etc.join(&path).symlink_metadata() else { continue };
            let mode = data.permissions().mode();
            let kind = if data.is_symlink() {
                let Ok(target) = std::fs::read_link(etc.join(&path)) else { continue };
                Kind::Link(target)
            } else if data.is_dir() && mode & 0o005 == 0o005 {
                Kind::Dir
            } else if data.is_file() && mode & 0o004 != 0 && data.len() <= LARGEST {
                Kind::File
            } else {
                continue;
            };
            if is_left_out(&path) || entries.len() >= MOST_ENTRIES {
                continue;
            }
            (&path, data.ino(), data.mtime(), data.mtime_nsec(), data.ctime(), data.ctime_nsec()).hash(&mut hasher);
            if matches!(kind, Kind::Dir) {
                todo.push(path.clone());
            }
            entries.push((path, kind));
        }
    }
    (entries, hasher.finish())
}

/// Also a lock, which is not a setting.
fn is_left_out(path: &Path) -> bool {
    let by_name = |name: &str| name.starts_with("ssh_host_") && !name.ends_with(".pub") || name.ends_with(".lock");
    ETC_SECRETS.iter().any(|secret| path == Path::new(secret))
        || path.file_name().and_then(|name| name.to_str()).is_some_and(by_name)
}

/// The list of users, in which this one lives where `HOME` says: some programs ask here alone.
fn users(text: &str, user: User<'_>) -> String {
    let Some(home) = user.home.and_then(Path::to_str).filter(|home| !home.contains([':', '\n'])) else {
        return text.to_owned();
    };
    let mut known = false;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut fields: Vec<&str> = line.split(':').collect();
        if fields.len() == 7 && fields[2] == user.uid.to_string() {
            known = true;
            fields[5] = home;
        }
        lines.push(fields.join(":"));
    }
    if !known {
        // From a directory service, which is not asked from inside.
        lines.push(format!("user:x:{}:{}::{home}:/bin/sh", user.uid, user.gid));
    }
    lines.join("\n") + "\n"
}

fn remove_old(place: &Path) {
    for path in std::fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path()) {
        let made = path.symlink_metadata().and_then(|data| data.modified()).unwrap_or_else(|_| SystemTime::now());
        if made.elapsed().is_ok_and(|age| age > OLD) {
            let _ = windlass_workspace::remove_tree(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: User<'_> = User { uid: 1000, gid: 1000, home: None };

    #[test]
    fn a_copy_has_what_everybody_may_read_and_no_known_secret() {
        let dir = tempfile::tempdir().unwrap();
        let (etc, place) = (dir.path().join("etc"), dir.path().join("place"));
        for name in ["ssl/certs", "ssl/private", "wireguard", "ssh", "closed"] {
            std::fs::create_dir_all(etc.join(name)).unwrap();
        }
        for name in
            ["hosts", "shadow", "mine", "ssl/certs/a.pem", "ssl/private/key", "wireguard/wg0.conf", "closed/file"]
        {
            std::fs::write(etc.join(name), name).unwrap();
        }
        for name in ["ssh/ssh_config", "ssh/ssh_host_rsa_key", "ssh/ssh_host_rsa_key.pub"] {
            std::fs::write(etc.join(name), name).unwrap();
        }
        std::fs::set_permissions(etc.join("mine"), PermissionsExt::from_mode(0o640)).unwrap();
        std::fs::set_permissions(etc.join("closed"), PermissionsExt::from_mode(0o750)).unwrap();
        symlink("../run/resolv.conf", etc.join("resolv.conf")).unwrap();
        let copy = copy_of(&etc, &place, USER).unwrap();
        let there = |name: &str| copy.join(name).symlink_metadata().is_ok();
        for name in ["hosts", "resolv.conf", "ssl/certs/a.pem", "ssh/ssh_config", "ssh/ssh_host_rsa_key.pub"] {
            assert!(there(name), "{name}");
        }
        for name in ["shadow", "mine", "ssl/private", "wireguard", "closed", "ssh/ssh_host_rsa_key"] {
            assert!(!there(name), "{name}");
        }
        assert_eq!(copy_of(&etc, &place, USER).unwrap(), copy, "it is used again");
        std::fs::write(etc.join("hosts"), "changed").unwrap();
        let next = copy_of(&etc, &place, USER).unwrap();
        assert_ne!(next, copy);
        assert_eq!(std::fs::read_to_string(next.join("hosts")).unwrap(), "changed");
        assert_eq!(std::fs::read_to_string(copy.join("hosts")).unwrap(), "hosts", "the one in use stays");
    }

    #[test]
    fn the_user_lives_where_home_says() {
        let list = "root:x:0:0:root:/root:/bin/bash\nme:x:1000:1000:Me:/home/me:/bin/zsh\n";
        let user = User { home: Some(Path::new("/elsewhere")), ..USER };
        let text = users(list, user);
        assert!(text.contains("me:x:1000:1000:Me:/elsewhere:/bin/zsh\n") && text.contains(":/root:"), "{text}");
        assert!(users("", user).contains("user:x:1000:1000::/elsewhere:/bin/sh"));
        assert_eq!(users(list, USER), list);
    }
}
