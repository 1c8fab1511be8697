//! What the processes of a loop can see and reach in the default sandbox. The data directory is in the home, as it is by
//! default.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::*;
use windlass_testkit::{Output, World};

/// Runs a loop whose agent is this shell script; it ends with the claim.
fn agent(world: &World, script: &str, more: &[&str]) -> Output {
    let agent = world.install_script("agent", &format!("{script}\necho '{PROMISE}'"));
    let agent = agent.to_string_lossy().into_owned();
    let mut args = vec!["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "1"];
    args.extend(more);
    call(world, &args)
}

/// Makes and removes Unix sockets in a directory until it is dropped.
struct Churner {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Churner {
    fn start(dir: &Path) -> Self {
        let (stop, dir) = (Arc::new(AtomicBool::new(false)), dir.to_owned());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            for count in 0_u32.. {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let path = dir.join(format!("s{}", count % 64));
                drop(UnixListener::bind(&path));
                let _ = std::fs::remove_file(&path);
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Churner {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn sockets_that_come_and_go_beside_a_loop_fail_no_turn_and_no_gate() {
    let Some(world) = crate::sandboxed() else { return };
    let (home, elsewhere) = (world.home().join("sockets"), world.root().join("elsewhere"));
    for dir in [&home, &elsewhere] {
        std::fs::create_dir(dir).unwrap();
    }
    let _churners = [Churner::start(&home), Churner::start(&elsewhere)];
    let gates = ["--gate", "test -f file", "--gate", "true", "--gate", "test -s file"];
    agent(&world, "echo x > file", &gates).assert_code(0);
    assert_eq!(status(&world, "work")["verified"], true);
}

/// Speaks MCP over `windlass mcp` from a shell, as an agent would.
const USE_TOOLS: &str = r#"
mkfifo /tmp/in /tmp/out
"$WINDLASS" mcp < /tmp/in > /tmp/out &
exec 3> /tmp/in 4< /tmp/out
echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}' >&3
read -r answer <&4
echo '{"jsonrpc":"2.0","method":"notifications/initialized"}' >&3
echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"verdict","arguments":{"verdict":"clean","summary":{"done":["the file"]}}}}' >&3
read -r answer <&4
exec 3>&-
echo "TOOLS: $answer"
"#;

#[test]
// promise: tools-4
fn a_reviewer_reaches_its_tools_with_the_data_directory_in_the_home() {
    let Some(world) = crate::sandboxed() else { return };
    let coder = world
        .script("[[turn]]\nsteps = [{ write = { path = \"coder.txt\", content = \"1\\n\" } }, { say = \"Done.\" }]");
    let script = USE_TOOLS.replace("$WINDLASS", env!("CARGO_BIN_EXE_windlass"));
    let auditor = world.install_script("auditor", &script).to_string_lossy().into_owned();
    let coder = coder.command_line();
    let args = ["run", "do it", "--name", "work", "--recipe", "audited", "--agent-command", &coder];
    let output = call(&world, &[&args[..], &["--reviewer-command", &auditor, "--max-iterations", "2"]].concat());
    let verdicts = of_type(&feed(&world, "work"), "verdict_given").len();
    assert!(verdicts > 0, "{}", output.shown());
    output.assert_code(0);
}

/// What an agent's script printed on standard output in the file `out` of the workspace.
fn seen(world: &World, script: &str) -> String {
    agent(world, &format!("({script}) > out 2>&1"), &[]).assert_code(0);
    file_at_branch(world, "work", "out")
}

fn put(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[test]
// promise: safety-1
fn of_the_home_only_what_is_named_is_there() {
    let Some(world) = crate::sandboxed() else { return };
    let home = world.home();
    let bait = [
        ".ssh/id_rsa",
        ".npmrc",
        ".config/containers/auth.json",
        ".config/sops/age/keys.txt",
        ".m2/settings.xml",
        ".gradle/gradle.properties",
        ".bash_history",
        ".config/Signal/config.json",
        ".codex/auth.json",
        "Documents/letter",
        ".cache/mozilla/x",
        ".cargo/credentials.toml",
        "brand-new-tool/token",
        // In the directories of toolchains.
        ".local/share/uv/credentials/credentials.toml",
        ".local/share/gem/credentials",
        ".rye/credentials",
        ".opam/plugins/opam-publish/tok",
        ".npm-global/etc/npmrc",
        ".luarocks/upload_config.lua",
        ".dotnet/corefx/cryptography/x509stores/my/key.pfx",
    ];
    for name in bait {
        put(&home.join(name), "BAIT\n");
    }
    put(&home.join(".config/mise/config.toml"), "[env]\nMY_API_KEY = \"\"\"\nBAIT\n\"\"\"\n");
    put(&home.join(".yarnrc.yml"), "npmAuthIdent: BAIT\nnpmScopes:\n  x:\n    npmAuthToken: >-\n      BAIT\n");
    put(&home.join(".npmrc"), "registry=https://npm.example/\n//npm.example/:_authToken=BAIT\n");
    put(&home.join(".rustup/settings.toml"), "toolchain\n");
    put(&home.join(".cargo/registry/index/x"), "cached\n");
    let said = seen(
        &world,
        "cd; cat .npmrc .rustup/settings.toml .cargo/registry/index/x; grep -r BAIT / --include='*' -s -l -d skip; cat $(find . -type f) 2> /dev/null | grep BAIT",
    );
    assert!(!said.contains("BAIT"), "{said}");
    assert_eq!(said, "registry=https://npm.example/\ntoolchain\ncached\n");
}

#[test]
fn what_a_turn_writes_to_its_home_and_caches_is_gone_and_a_gate_does_not_see_it() {
    let Some(world) = crate::sandboxed() else { return };
    let home = world.home();
    put(&home.join(".cargo/registry/cache/crate"), "good\n");
    put(&home.join(".cache/p10k.zsh"), "mine\n");
    let plant = "cd; for file in .bashrc .profile .cache/p10k.zsh .cargo/config.toml /tmp/left; do echo planted > $file; done\n\
                 echo planted > .cargo/registry/cache/crate; echo new > .cargo/registry/cache/other; cat .cargo/registry/cache/*; \
                 cd - > /dev/null; echo x > file";
    let gate = "cd; ! grep -s planted .bashrc .profile .cache/p10k.zsh .cargo/config.toml /tmp/left && test \"$(cat .cargo/registry/cache/crate)\" = good && test ! -e .bashrc";
    agent(&world, plant, &["--gate", gate]).assert_code(0);
    assert_eq!(std::fs::read_to_string(home.join(".cargo/registry/cache/crate")).unwrap(), "good\n");
    assert_eq!(std::fs::read_to_string(home.join(".cache/p10k.zsh")).unwrap(), "mine\n");
    assert!(!home.join(".cargo/registry/cache/other").exists() && !home.join(".bashrc").exists());
}

#[test]
fn the_rest_of_the_machine_is_not_there() {
    let Some(world) = crate::sandboxed() else { return };
    let said = seen(
        &world,
        "cat /etc/shadow /etc/sudoers; ls /srv /mnt /media /var/lib/dpkg /root/.bashrc; ls /var; cat /etc/passwd | wc -l",
    );
    assert!(!said.contains(":$"), "{said}");
    for gone in ["/etc/shadow: No such", "/srv': No such", "/mnt': No such", "/var/lib/dpkg': No such"] {
        assert!(said.contains(gone), "{gone}: {said}");
    }
}

#[test]
fn a_socket_that_is_not_in_the_view_cannot_be_reached_whatever_its_name() {
    let Some(world) = crate::sandboxed() else { return };
    let home = world.home();
    let names = ["a socket", "plain.sock", "renamed", "linked"];
    let sockets: Vec<_> =
        ["a socket", "plain.sock", "old"].iter().map(|name| UnixListener::bind(home.join(name)).unwrap()).collect();
    std::fs::rename(home.join("old"), home.join("renamed")).unwrap();
    std::fs::hard_link(home.join("plain.sock"), home.join("linked")).unwrap();
    let tries: String =
        names.iter().map(|name| format!("[ -e '{0}/{name}' ] && echo \"seen {name}\";", home.display())).collect();
    let said = seen(&world, &format!("{tries} echo done"));
    assert_eq!(said, "done\n");
    drop(sockets);
}

#[test]
fn a_toolchain_in_the_home_is_found_through_path_with_its_libraries() {
    let Some(mut world) = crate::sandboxed() else { return };
    let home = world.home();
    let prefix = home.join(".tools/node v20");
    put(&prefix.join("lib/text"), "from the library\n");
    put(&home.join(".tools/notes"), "BAIT\n");
    let tool = world.install_script("made", "cat \"$(dirname \"$(readlink -f \"$0\")\")/../lib/text\"");
    std::fs::create_dir_all(prefix.join("bin")).unwrap();
    std::fs::rename(tool, prefix.join("bin/tool")).unwrap();
    std::fs::create_dir(home.join("links")).unwrap();
    std::os::unix::fs::symlink(prefix.join("bin/tool"), home.join("links/tool")).unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", home.join("links").display(), world.bin_dir().display());
    world.set_env("PATH", path);
    assert_eq!(seen(&world, "tool; cat ~/.tools/notes 2> /dev/null"), "from the library\n");
}

#[test]
fn a_home_that_is_not_the_one_of_the_list_of_users_is_the_one_inside() {
    let Some(world) = crate::sandboxed() else { return };
    let said = seen(&world, "getent passwd $(id -u) | cut -d: -f6; echo $HOME; git config user.name");
    let home = world.home().display().to_string();
    assert_eq!(said, format!("{home}\n{home}\nTest\n"));
}

#[test]
fn data_and_caches_behind_links_are_in_the_view() {
    for network in ["allow", "list"] {
        let Some(world) = crate::sandboxed() else { return };
        let home = world.home();
        std::fs::create_dir_all(home.join("disk")).unwrap();
        if std::fs::rename(home.join(".local"), home.join("disk/local")).is_err() {
            std::fs::create_dir(home.join("disk/local")).unwrap();
        }
        std::os::unix::fs::symlink("disk/local", home.join(".local")).unwrap();
        put(&home.join(".local/share/uv/tool"), "tool\n");
        let script =
            "cat ~/.local/share/uv/tool ~/disk/local/share/uv/tool; mkdir -p ~/.cache/x && echo cache; ls -A ~/disk";
        let args = ["--network", network, "--gate", "test -f out"];
        agent(&world, &format!("({script}) > out 2>&1"), &args).assert_code(0);
        assert_eq!(file_at_branch(&world, "work", "out"), "tool\ntool\ncache\nlocal\n", "{network}");
        assert!(!home.join(".cache/x").exists());
    }
}

#[test]
fn an_agent_that_replaces_its_own_program_and_settings_changes_nothing_for_the_user() {
    let Some(world) = crate::sandboxed() else { return };
    let home = world.home();
    put(&home.join(".claude/settings.json"), "{}\n");
    put(&home.join(".claude/local/claude"), "the program\n");
    put(&home.join(".claude/.credentials.json"), "token 1\n");
    put(&home.join(".claude/projects/other/1.jsonl"), "BAIT\n");
    let script = "if [ \"$1\" = --version ]; then echo '2.1.325 (Claude Code)'; exit 0; fi\ncat > /dev/null\n\
        cd ~/.claude; for file in settings.json local/claude statusline.sh hooks/x plugins/y keybindings.json; do\n\
        mkdir -p \"$(dirname $file)\"; echo planted > $file; done; echo token 2 > .credentials.new; mv .credentials.new .credentials.json\n\
        cat projects/other/* 2>/dev/null; mkdir -p \"projects/$(echo $OLDPWD | tr -c 'a-zA-Z0-9\\n' -)\"\n\
        echo session > \"projects/$(echo $OLDPWD | tr -c 'a-zA-Z0-9\\n' -)/2.jsonl\"\ncat \"${0%/*}/said\"";
    let program = world.install_script("claude", script);
    let said = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recordings/claude/plain.jsonl");
    std::fs::copy(said, program.with_file_name("said")).unwrap();
    call(&world, &["run", "do it", "--name", "work", "--agent", "claude", "--max-iterations", "1"]);
    let read = |name: &str| std::fs::read_to_string(home.join(".claude").join(name)).unwrap_or_default();
    assert_eq!((read("settings.json"), read("local/claude")), ("{}\n".to_owned(), "the program\n".to_owned()));
    for name in ["statusline.sh", "hooks/x", "plugins/y", "keybindings.json"] {
        assert_eq!(read(name), "", "{name}");
    }
    assert_eq!(read(".credentials.json"), "token 2\n", "a token that was refreshed is kept");
    let kept = std::fs::read_dir(home.join(".claude/projects")).unwrap().count();
    assert_eq!(kept, 2, "and so is the session");
}

/// Tries what a shell cannot; each line is an attempt that did not fail.
const LASTING_MARKS: &str = r#"
import ctypes, os, socket
def tried(name, attempt):
    try:
        attempt()
        print("allowed", name)
    except OSError as error:
        print("refused", name)
tried("open", lambda: os.close(os.open("a", os.O_CREAT | os.O_WRONLY, 0o4755)))
tried("chmod", lambda: (open("b", "w").close(), os.chmod("b", 0o2755)))
tried("fchmod", lambda: os.fchmod(os.open("b", os.O_RDONLY), 0o6755))
tried("mkdir", lambda: os.mkdir("c", 0o4755))
tried("mknod", lambda: os.mknod("d", 0o104755))
tried("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    if libc.syscall(*args) < 0:
        raise OSError(ctypes.get_errno(), "no")
tried("io_uring", lambda: call(425, 8, ctypes.create_string_buffer(120)))
tried("fchmodat2", lambda: call(452, -100, b"b", 0o4755, 0))
tried("x32 chmod", lambda: call(0x40000000 + 90, b"b", 0o4755))
tried("plain", lambda: os.chmod("b", 0o755))
"#;

#[test]
fn set_user_id_programs_io_uring_and_vsock_are_refused() {
    let Some(world) = crate::sandboxed() else { return };
    if !Path::new("/usr/bin/python3").exists() {
        let _ = std::io::Write::write_all(&mut std::io::stderr(), b"\n*** SKIPPED: python3 is not installed\n\n");
        return;
    }
    let script = world.bin_dir().join("marks.py");
    put(&script, LASTING_MARKS);
    let said =
        seen(&world, &format!("python3 {}; cp /bin/sh shell; chmod u+s shell || echo refused sh", script.display()));
    let refused = ["open", "chmod", "fchmod", "mkdir", "mknod", "vsock", "io_uring", "fchmodat2", "x32 chmod"]
        .map(|name| format!("refused {name}\n"));
    assert_eq!(
        said.replace("chmod: changing permissions of 'shell': Operation not permitted\n", ""),
        format!("{}allowed plain\nrefused sh\n", refused.concat())
    );
}

#[test]
fn an_agent_cannot_change_the_prompt_that_was_recorded() {
    let Some(world) = crate::sandboxed() else { return };
    let forge = "cat > /dev/null; echo forged > /proc/self/fd/0; echo forged >> /dev/stdin; echo x > file";
    agent(&world, forge, &[]).assert_code(0);
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    let turns = world.data_dir().join("transcripts").join(id);
    let prompts: Vec<String> = std::fs::read_dir(turns)
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path().join("prompt.md")).ok())
        .collect();
    assert!(!prompts.is_empty());
    assert!(prompts.iter().all(|prompt| prompt.contains("do it") && !prompt.contains("forged")), "{prompts:?}");
}

#[test]
// promise: bounds-15
fn the_disk_limit_counts_what_a_loop_writes_to_caches_and_to_its_home() {
    for place in [".npm/_cacache/big", ".cache/big", "big", "../../tmp/big"] {
        let Some(world) = crate::sandboxed() else { return };
        put(&world.home().join(".npm/_cacache/known"), "x");
        let place = if place.starts_with("..") { "/tmp/big".to_owned() } else { format!("$HOME/{place}") };
        let script = format!("mkdir -p \"$(dirname {place})\"; head -c 20000000 /dev/urandom > {place}");
        let program = world.install_script("agent", &script).to_string_lossy().into_owned();
        let args = ["run", "do it", "--name", "work", "--agent-command", &program, "--max-iterations", "3"];
        let output = call(&world, &[&args[..], &["--disk-limit", "5MiB"]].concat());
        let seen = status(&world, "work");
        assert_eq!(seen["status"], "paused", "{place}: {}", output.shown());
        assert!(seen["waiting_for"].as_str().unwrap().contains("disk_limit"), "{place}: {seen}");
    }
}

#[test]
fn gate_that_misses_a_hidden_file_gets_a_hint_with_the_setting_that_shows_it() {
    let Some(world) = crate::sandboxed() else { return };
    let hidden = world.home().join("tool/conf");
    std::fs::create_dir(hidden.parent().unwrap()).unwrap();
    std::fs::write(&hidden, "x").unwrap();
    let gate = format!("cat {}", hidden.display());
    agent(&world, "echo x > file", &["--gate", &gate]).assert_code(3);
    let told = call(&world, &["logs", "work", "--json"]).stdout;
    assert!(told.contains("sandbox_readable = [\\\"~/tool/conf\\\"]"), "{told}");
}

#[test]
fn a_session_called_like_a_file_or_an_option_is_not_resumed_and_shows_nothing() {
    for option in [false, true] {
        let Some(world) = crate::sandboxed() else { return };
        let bait = world.new_dir("elsewhere").join("notes");
        put(&bait, "BAIT\n");
        let session = if option { "--settings=evil.json".to_owned() } else { bait.display().to_string() };
        let script = format!(
            "cat {} >> seen 2> /dev/null; echo $# >> seen; echo 'session: {session}'\n\
             [ $(wc -l < seen) -lt 2 ] || echo '{PROMISE}'",
            bait.display()
        );
        let agent = world.install_script("agent", &script);
        world.config(&format!(
            "[agents.named]\ncommand = [{agent:?}]\nsession_pattern = 'session: (\\S+)'\n\
             resume_args = [\"--resume\", \"{{session}}\"]\n"
        ));
        call(&world, &["run", "do it", "--name", "work", "--agent", "named", "--max-iterations", "3"]).assert_code(0);
        assert_eq!(file_at_branch(&world, "work", "seen"), "0\n0\n");
    }
}

#[test]
fn in_place_a_link_that_an_agent_puts_where_a_toolchain_belongs_shows_nothing() {
    let Some(mut world) = crate::sandboxed() else { return };
    let elsewhere = world.new_dir("elsewhere");
    put(&elsewhere.join("notes"), "BAIT\n");
    world.set_env("JAVA_HOME", world.repo().path().join("jdk"));
    let elsewhere = elsewhere.display();
    let script = format!(
        "cat {elsewhere}/notes >> seen 2> /dev/null; echo . >> seen; ln -sfn {elsewhere} jdk\n\
         [ $(wc -l < seen) -lt 2 ] || echo '{PROMISE}'"
    );
    let agent = world.install_script("agent", &script).to_string_lossy().into_owned();
    let args = ["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "3", "--in-place"];
    call(&world, &args).assert_code(0);
    assert_eq!(std::fs::read_to_string(world.repo().path().join("seen")).unwrap(), ".\n.\n");
}
