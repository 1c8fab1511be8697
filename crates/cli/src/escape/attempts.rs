//! The attempts themselves, made inside a sandbox. Each says how far it got; what that means is judged outside.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use windlass_engine::sandbox::trial::Bait;

type Attempt = (&'static str, fn(&Bait) -> io::Result<()>);

/// Every attempt, by the name that the report has for it.
pub(super) const ATTEMPTS: &[Attempt] = &[
    ("write_workspace", |bait| write(&bait.workspace.join("by-probe.txt"))),
    ("commit", |_| git(&["commit", "--allow-empty", "--quiet", "-m", "by the probe"])),
    ("write_temp", |_| write(&std::env::temp_dir().join("by-probe.txt"))),
    ("connect", |bait| {
        TcpStream::connect_timeout(&SocketAddr::from(([127, 0, 0, 1], bait.port)), Duration::from_secs(2)).map(drop)
    }),
    ("write_home", |bait| write(&bait.home.join(".windlass-escape-probe"))),
    ("write_system", |_| write(Path::new("/usr/windlass-escape-probe"))),
    ("read_key", |bait| read(&bait.key)),
    ("read_data", |bait| read(&bait.data.join("windlass.db"))),
    ("write_data", |bait| write(&bait.data.join("windlass.db"))),
    ("read_other_loop", |bait| read(&bait.other_loop)),
    ("read_shared_temp", |bait| read(&bait.shared_temp)),
    ("plant_hook", |bait| write(&bait.workspace.join(".git/hooks/post-checkout"))),
    ("hooks_path", |_| git(&["config", "core.hooksPath", "/tmp"])),
    ("edit_git_config", |bait| append(&bait.workspace.join(".git/config"))),
    ("edit_alternates", |bait| append(&bait.workspace.join(".git/objects/info/alternates"))),
    ("replace_git_directory", |bait| {
        let git_dir = bait.workspace.join(".git");
        std::fs::rename(&git_dir, bait.workspace.join("old-git"))?;
        std::fs::create_dir(git_dir)
    }),
    ("write_repository", |bait| write(&bait.repository.join(".git/refs/heads/stolen"))),
    ("delete_objects", |bait| std::fs::remove_dir_all(bait.repository.join(".git/objects"))),
    ("push_home", |bait| git(&["push", "--quiet", path(&bait.repository), "HEAD:refs/heads/stolen"])),
    ("push_by_path", |bait| git(&["push", "--quiet", "--force", path(&bait.remote), "HEAD:refs/heads/stolen"])),
    ("symlink_out", |bait| {
        let link = bait.workspace.join("out");
        symlink(&bait.home, &link)?;
        write(&link.join(".windlass-escape-probe"))
    }),
    ("rename_race", rename_race),
    ("service_socket", |bait| UnixStream::connect(&bait.socket).map(drop)),
    ("docker_socket", |_| {
        UnixStream::connect("/var/run/docker.sock").or_else(|_| UnixStream::connect("/run/docker.sock")).map(drop)
    }),
    ("signal_engine", |bait| {
        let pid = i32::try_from(bait.pid).ok().and_then(rustix::process::Pid::from_raw).ok_or(io::ErrorKind::Other)?;
        Ok(rustix::process::test_kill_process(pid)?)
    }),
    ("proc_of_engine", |bait| read(Path::new(&format!("/proc/{}/environ", bait.pid)))),
    ("trace_supervisor", |_| File::open("/proc/1/mem").map(drop)),
    ("root_of_supervisor", |bait| {
        let below = bait.key.strip_prefix("/").unwrap_or(&bait.key);
        read(&Path::new("/proc/1/root").join(below))
    }),
    ("kernel_settings", |_| OpenOptions::new().write(true).open("/proc/sys/kernel/core_pattern").map(drop)),
    ("mount", |bait| run(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&bait.workspace))),
    ("user_namespace", |_| run(Command::new("unshare").args(["--user", "--map-root-user", "true"]))),
    ("block_device", block_device),
    ("leave_limits", leave_limits),
];

fn path(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

fn read(path: &Path) -> io::Result<()> {
    std::fs::read(path).map(drop)
}

fn write(path: &Path) -> io::Result<()> {
    File::create(path)?.write_all(b"by the probe\n")
}

fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"\n")
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(said.lines().last().unwrap_or("it failed").trim().to_owned()))
}

fn git(args: &[&str]) -> io::Result<()> {
    run(Command::new("git").args(["-c", "user.name=probe", "-c", "user.email=probe@localhost"]).args(args))
}

/// Writes to a name that is a directory at one moment and a link that leads out at the next.
fn rename_race(bait: &Bait) -> io::Result<()> {
    let [place, dir, link] = ["race", "race-dir", "race-link"].map(|name| bait.workspace.join(name));
    std::fs::create_dir(&dir)?;
    symlink(&bait.home, &link)?;
    std::thread::scope(|scope| {
        let swapping = scope.spawn(|| {
            for _ in 0..200 {
                let _ = std::fs::rename(&dir, &place).and_then(|()| std::fs::rename(&place, &dir));
                let _ = std::fs::rename(&link, &place).and_then(|()| std::fs::rename(&place, &link));
            }
        });
        let target = bait.home.join(".windlass-escape-race");
        while !swapping.is_finished() {
            let _ = write(&place.join(".windlass-escape-race"));
        }
        if target.exists() { Ok(()) } else { Err(io::Error::other("all writes stayed inside or were denied")) }
    })
}

fn block_device(_: &Bait) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    for entry in std::fs::read_dir("/dev")?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_block_device()) && File::open(entry.path()).is_ok() {
            return Ok(());
        }
    }
    Err(io::Error::other("none can be opened"))
}

/// Moves itself into the control group at the top, which has no limits.
fn leave_limits(_: &Bait) -> io::Result<()> {
    let top = Path::new("/sys/fs/cgroup");
    let below = std::fs::read_dir(top)?.flatten().map(|entry| entry.path());
    let mut why = io::Error::other("no control group");
    for dir in below.chain([top.to_owned()]) {
        match OpenOptions::new().write(true).open(dir.join("cgroup.procs")).and_then(|mut file| file.write_all(b"0")) {
            Ok(()) => return Ok(()),
            Err(error) => why = error,
        }
    }
    Err(why)
}
