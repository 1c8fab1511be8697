//! A Docker daemon for the tests of one binary: its own socket, its own images, no network.
//!
//! Invariant: it ends with the test process, however that ends, because a shell waits for a pipe from it to close.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::scripted_agent;
use crate::world::World;

/// An image with nothing in it but directories and links: what runs is this machine's, by [`Dockerd::world`].
pub const IMAGE: &str = "windlass-test:bare";

/// The daemon and all it started end when standard input does. What it mounted is let go of before it is removed.
const KEEPER: &str = r#"
dockerd --data-root "$0/data" --exec-root "$0/exec" --pidfile "$0/pid" -H "unix://$0/sock" --bridge=none \
    --iptables=false --ip6tables=false --storage-driver=vfs > "$0/log" 2>&1 &
daemon=$!
read -r _
kill "$daemon"
wait "$daemon"
umount -R "$0/exec" "$0/data" 2> /dev/null
rm -rf --one-file-system "$0"
"#;

/// A running daemon.
#[derive(Debug)]
pub struct Dockerd {
    socket: PathBuf,
    _keeper: Child,
}

impl Dockerd {
    /// The one of this process; none, after printing why, if it is not available.
    pub fn get() -> Option<&'static Dockerd> {
        static DAEMON: OnceLock<Result<Dockerd, String>> = OnceLock::new();
        match DAEMON.get_or_init(Dockerd::start) {
            Ok(daemon) => Some(daemon),
            Err(why) => {
                // Not through the test's own output, which nobody sees when it passes.
                let said = format!("\n*** SKIPPED: {why} (apt install docker.io): nothing runs in a container\n\n");
                let _ = std::io::stderr().write_all(said.as_bytes());
                None
            }
        }
    }

    fn start() -> Result<Dockerd, String> {
        // A short name: sockets have paths of at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("wld-").tempdir().map_err(|error| error.to_string())?.keep();
        let ready = UnixDatagram::bind(dir.join("ready")).map_err(|error| error.to_string())?;
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER])
            .arg(&dir)
            .env("NOTIFY_SOCKET", dir.join("ready"))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            // Not by a signal from a terminal, but when the pipe closes.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        ready.set_read_timeout(Some(Duration::from_secs(60))).map_err(|error| error.to_string())?;
        let mut word = [0; 256];
        loop {
            match ready.recv(&mut word) {
                Ok(length) if word[..length].windows(7).any(|part| part == b"READY=1") => break,
                Ok(_) => {}
                Err(_) => {
                    let log = fs::read_to_string(dir.join("log")).unwrap_or_default();
                    drop(keeper.stdin.take());
                    return Err(format!("dockerd does not start: {}", log.lines().last().unwrap_or("no word")));
                }
            }
        }
        let daemon = Dockerd { socket: dir.join("sock"), _keeper: keeper };
        daemon.import(IMAGE, &["etc", "home", "proc", "root", "run", "sys", "tmp", "usr", "var/tmp", "dev"]);
        Ok(daemon)
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// An image with these directories, and links where this machine has links to `/usr`.
    ///
    /// # Panics
    /// If the daemon does not take it.
    pub fn import(&self, name: &str, dirs: &[&str]) {
        let root = tempfile::tempdir().expect("a temp directory");
        for dir in dirs {
            fs::create_dir_all(root.path().join(dir)).expect("the temp directory is writable");
        }
        for link in ["bin", "lib", "lib64", "sbin"] {
            if let Ok(target) = fs::read_link(Path::new("/").join(link)) {
                symlink(target, root.path().join(link)).expect("the temp directory is writable");
            }
        }
        let tar = Command::new("tar").arg("-C").arg(root.path()).args(["-cf", "-", "."]).output().expect("tar runs");
        let (image, tag) = name.split_once(':').expect("a name with a tag");
        let path = format!("/images/create?fromSrc=-&repo={image}&tag={tag}");
        let (status, said) = self.call("POST", &path, "application/x-tar", &tar.stdout);
        assert_eq!(status, 200, "{said}");
    }

    /// A world whose loops run in containers of [`IMAGE`], with this machine's programs.
    pub fn world(&self) -> World {
        self.world_with(None)
    }

    /// The same, and with one more directory of this machine.
    pub fn world_with(&self, dir: Option<&Path>) -> World {
        let mut world = World::new();
        let mut readable = vec![PathBuf::from("/usr"), world.bin_dir()];
        readable.extend(scripted_agent().parent().map(Path::to_owned));
        readable.extend(["/bin", "/lib", "/lib64"].map(PathBuf::from).into_iter().filter(|path| !path.is_symlink()));
        readable.extend(dir.map(Path::to_owned));
        let readable: Vec<String> = readable.iter().map(|path| path.display().to_string()).collect();
        world.set_env("WINDLASS_SANDBOX_READABLE", readable.join("\n"));
        world.set_env("WINDLASS_SANDBOX", "docker");
        world.set_env("WINDLASS_DOCKER_IMAGE", IMAGE);
        // Where the scripted agent says what it did.
        world.set_env("WINDLASS_SANDBOX_WRITABLE", world.root().join("scripts"));
        world.set_env("DOCKER_HOST", format!("unix://{}", self.socket.display()));
        world
    }

    /// The containers of a loop, in whatever state.
    pub fn containers(&self, loop_id: &str) -> Vec<Value> {
        let all = self.json("GET", "/containers/json?all=1", None);
        let of_loop = |one: &Value| one["Labels"]["windlass.loop"] == loop_id;
        all.as_array().expect("a list").iter().filter(|one| of_loop(one)).cloned().collect()
    }

    /// A container of a loop that was made and never started, as a client that was killed leaves it.
    pub fn leave_container(&self, loop_id: &str) {
        let body = json!({ "Image": IMAGE, "Cmd": ["true"], "Labels": { "windlass.loop": loop_id } });
        self.json("POST", "/containers/create", Some(&body));
    }

    fn json(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let text = body.map(Value::to_string).unwrap_or_default();
        let (status, said) = self.call(method, path, "application/json", text.as_bytes());
        assert!((200..300).contains(&status), "{path}: {status} {said}");
        serde_json::from_str(&said).expect("JSON")
    }

    fn call(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
        let mut stream = UnixStream::connect(&self.socket).expect("the daemon listens");
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: docker\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body)).expect("the daemon reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the daemon answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        (status, body.to_owned())
    }
}
