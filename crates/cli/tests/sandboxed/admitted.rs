//! What a user lets into the sandbox by name, and what is said of the rest: sockets of services, registry logins for the
//! set-up, hints that name a hidden path.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::*;
use windlass_testkit::{Output, World};

/// As `crate::sandboxed`, on a machine that has Python.
fn with_python() -> Option<World> {
    if !Path::new("/usr/bin/python3").exists() {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"\n*** SKIPPED: python3 is not installed\n\n");
        return None;
    }
    crate::sandboxed()
}

fn put(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn agent(world: &World, script: &str, more: &[&str]) -> Output {
    let agent = world.install_script("agent", &format!("{script}\necho '{PROMISE}'")).to_string_lossy().into_owned();
    let args = ["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "1"];
    call(world, &[&args[..], more].concat())
}

/// A service that greets each client and counts them.
struct Service {
    greeted: Arc<AtomicUsize>,
}

impl Service {
    fn at(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let greeted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&greeted);
        // It ends with the test.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let _ = std::io::Write::write_all(&mut &client, b"hello");
            }
        });
        Self { greeted }
    }

    fn greeted(&self) -> usize {
        self.greeted.load(Ordering::SeqCst)
    }
}

/// Connects to each path and prints what it got.
const CONNECT: &str = r#"
import socket, sys
for path in sys.argv[1:]:
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect("\0" + path[1:] if path.startswith("@") else path)
        print("got", client.recv(9).decode())
    except OSError as error:
        print("refused")
"#;

fn connect(world: &World, paths: &[PathBuf]) -> String {
    let script = world.bin_dir().join("connect.py");
    put(&script, CONNECT);
    let paths: String = paths.iter().map(|path| format!(" '{}'", path.display())).collect();
    format!("python3 {}{paths}", script.display())
}

#[test]
// promise: safety-11
fn named_socket_is_reached_by_agent_and_gate_and_no_other_is() {
    let Some(world) = with_python() else { return };
    let dir = world.home().join("a service");
    std::fs::create_dir(&dir).unwrap();
    let (named, other, gone) = (dir.join("pg sql.sock"), dir.join("other.sock"), dir.join("gone.sock"));
    let services = [Service::at(&named), Service::at(&other)];
    let link = world.home().join("link");
    std::os::unix::fs::symlink(&dir, &link).unwrap();
    let text = format!("sandbox_sockets = ['~/link/pg sql.sock', '{}']\n", gone.display());
    world.config(&text);
    let line = connect(&world, &[link.join("pg sql.sock"), named, other, gone]);
    let gate = format!("{line} | grep -c got | grep -qx 2");
    agent(&world, &format!("{line} > out 2>&1"), &["--gate", &gate, "--network", "deny"]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "out"), "got hello\ngot hello\nrefused\nrefused\n");
    assert!(services[0].greeted() > 2 && services[1].greeted() == 0);
}

#[test]
fn socket_behind_which_everything_is_possible_comes_with_a_warning() {
    let Some(world) = with_python() else { return };
    world.config("sandbox_sockets = ['/run/docker.sock', '/run/postgresql/.s.PGSQL.5432']\n");
    let output = agent(&world, "echo x > file", &[]);
    output.assert_code(0);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(
        said.contains("allows /run/docker.sock; an agent that connects to it can do everything that root can"),
        "{said}"
    );
    assert!(!said.contains("PGSQL"), "{said}");
}

#[test]
// promise: safety-11
fn abstract_socket_made_outside_is_not_reached_and_one_made_inside_is() {
    use std::os::linux::net::SocketAddrExt;
    let Some(world) = with_python() else { return };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let numbers: Vec<u32> = kernel.split(['.', '-']).take(2).filter_map(|part| part.parse().ok()).collect();
    if numbers < vec![6, 12] {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"\n*** SKIPPED: the kernel is older than 6.12\n\n");
        return;
    }
    let name = format!("windlass-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let outside = UnixListener::bind_addr(&address).unwrap();
    let line = connect(&world, &[format!("@{name}").into()]);
    let own = "import socket; server = socket.socket(socket.AF_UNIX); server.bind('\\0own'); server.listen(); \
               client = socket.socket(socket.AF_UNIX); client.connect('\\0own'); print('own')";
    agent(&world, &format!("({line}; python3 -c \"{own}\") > out 2>&1"), &[]).assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "out"), "refused\nown\n");
    drop(outside);
}

/// Prints the login that the sandbox has, on one line.
const LOGIN: &str = "echo $(cat ~/.npmrc ~/.cargo/credentials.toml ~/.netrc 2>&1 | grep -c LOGIN) ${NPM_TOKEN:+set}";

#[test]
// promise: safety-12
fn set_up_on_the_base_uses_registry_logins_and_nothing_later_does() {
    let Some(mut world) = with_python() else { return };
    let home = world.home();
    put(&home.join(".npmrc"), "//npm.example/:_authToken=LOGIN\n");
    put(&home.join(".cargo/credentials.toml"), "token = 'LOGIN'\n");
    put(&home.join(".netrc"), "machine example password LOGIN\n");
    world.set_env("NPM_TOKEN", "secret-of-the-registry");
    let (setup, gate) = (format!("{LOGIN} > from-setup; echo x >> ~/.npmrc"), format!("test \"$({LOGIN})\" = '0'"));
    let script = format!("cp from-setup out; {LOGIN} >> out; echo '{{}}' > package.json");
    for (allowed, expected) in [(true, "3 set\n0\n"), (false, "0\n0\n")] {
        world.config(&format!("setup_credentials = {allowed}\n"));
        let name = format!("work-{allowed}");
        let program = world.install_script("agent", &format!("{script}\necho '{PROMISE}'"));
        let program = program.to_string_lossy().into_owned();
        let args = ["run", "do it", "--name", &name, "--agent-command", &program, "--max-iterations", "1"];
        call(&world, &[&args[..], &["--setup", &setup, "--gate", &gate, "--verify", "cold"]].concat()).assert_code(0);
        assert_eq!(file_at_branch(&world, &name, "out"), expected);
    }
    // A set-up on a commit of the agent's had none: it ran again, because what it installs changed.
    let runs = world.data_dir().join("transcripts");
    let text = std::process::Command::new("grep").args(["-rl", "LOGIN"]).arg(&runs).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&text.stdout), "");
    assert_eq!(std::fs::read_to_string(home.join(".npmrc")).unwrap(), "//npm.example/:_authToken=LOGIN\n");
}

#[test]
fn set_up_on_a_later_commit_has_no_registry_login() {
    let Some(world) = with_python() else { return };
    put(&world.home().join(".npmrc"), "//npm.example/:_authToken=LOGIN\n");
    world.config("setup_credentials = true\n");
    // On the base there is no package.json, and the login is needed there; later it must be gone.
    let setup = "if test -e package.json; then ! grep -q LOGIN ~/.npmrc; else grep -q LOGIN ~/.npmrc; fi";
    let gates = ["--setup", setup, "--gate", "true"];
    agent(&world, "echo '{}' > package.json", &gates).assert_code(0);
    assert_eq!(status(&world, "work")["verified"], true);
}

#[test]
fn gate_and_agent_that_miss_a_hidden_path_get_a_hint_with_its_setting() {
    let Some(world) = with_python() else { return };
    put(&world.home().join(".my tool/settings"), "x\n");
    put(&world.home().join(".rustup/settings.toml"), "x\n");
    let output = agent(&world, "echo x > file", &["--gate", "cat \"$HOME/.my tool/settings\""]);
    output.assert_code(3);
    let said = serde_json::to_string(&feed(&world, "work")).unwrap();
    assert!(said.contains("sandbox_readable = [\\\"~/.my tool/settings\\\"]"), "{said}");
    let program = world.install_script("broken", "cat ~/.my\\ tool/settings; echo x > ~/.rustup/settings.toml; exit 1");
    let program = program.to_string_lossy().into_owned();
    call(&world, &["run", "do it", "--name", "broken", "--agent-command", &program, "--max-iterations", "1"]);
    let said = status(&world, "broken").to_string();
    assert!(said.contains("sandbox_readable") && said.contains("~/.my tool/settings"), "{said}");
    assert!(
        said.contains("~/.rustup/settings.toml is read-only in the sandbox; allow writes with sandbox_writable"),
        "{said}"
    );
}
