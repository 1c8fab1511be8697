//! One hermetic temp world: home, repository, configuration, data, and an environment that knows nothing else.
//!
//! Invariant: when a world is dropped, every process that carries its tag or that a script of it recorded is ended
//! before its directory is removed, also when the test panics.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::agent::{ScriptedAgent, scripted_agent};
use crate::output::Output;
use crate::process::{Process, processes_with_env, wait_dead, wait_dead_for};
use crate::repo::Repo;
use crate::running::Running;
use crate::script::Script;

/// The environment variable that marks every process of a world.
pub const TAG: &str = "WINDLASS_TEST_WORLD";

/// Set to keep the directory of a world for a look at it.
const KEEP: &str = "WINDLASS_TEST_KEEP";

/// A world of its own for one test.
#[derive(Debug)]
pub struct World {
    dir: Option<TempDir>,
    root: PathBuf,
    data: PathBuf,
    tag: String,
    env: BTreeMap<OsString, OsString>,
    repo: Repo,
    scripts: Mutex<Vec<ScriptedAgent>>,
}

impl World {
    /// A world with a repository that has one commit on `main`.
    #[expect(clippy::new_without_default, reason = "it makes files, which a default value should not")]
    pub fn new() -> World {
        World::with_sandbox(false)
    }

    /// A world whose loops run in the sandbox that users get. If this machine has none, the test reports it and runs without.
    pub fn sandboxed() -> World {
        World::with_sandbox(sandbox_works())
    }

    fn with_sandbox(sandboxed: bool) -> World {
        // A short name: sockets have paths of at most 107 bytes.
        let dir = tempfile::Builder::new().prefix("wl-").tempdir_in(place(sandboxed)).expect("a temp directory");
        let root = dir.path().canonicalize().expect("the temp directory exists");
        for name in ["home", "config", "bin", "tmp", "scripts", data_name(sandboxed)] {
            fs::create_dir_all(root.join(name)).expect("the temp directory is writable");
        }
        let tag = root.file_name().expect("it has a name").to_string_lossy().into_owned();
        let env = environment(&root, &tag, sandboxed);
        let identity = "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n\
                        [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";
        fs::write(root.join("home/.gitconfig"), identity).expect("the temp directory is writable");
        fs::write(root.join("config/config.toml"), "").expect("the temp directory is writable");
        let repo = Repo::with_commit(root.join("repo"), env.clone());
        World { dir: Some(dir), data: root.join(data_name(sandboxed)), root, tag, env, repo, scripts: Mutex::default() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// `WINDLASS_HOME`.
    pub fn data_dir(&self) -> PathBuf {
        self.data.clone()
    }

    /// `WINDLASS_CONFIG`; empty until [`World::config`] is called.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config/config.toml")
    }

    /// The first directory of `PATH`; empty until something is installed.
    pub fn bin_dir(&self) -> PathBuf {
        self.root.join("bin")
    }

    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Another repository, with one commit.
    pub fn new_repo(&self, name: &str) -> Repo {
        Repo::with_commit(self.root.join(name), self.env.clone())
    }

    /// Another repository, without any commit.
    pub fn new_repo_without_commit(&self, name: &str) -> Repo {
        Repo::without_commit(self.root.join(name), self.env.clone())
    }

    /// A plain directory.
    pub fn new_dir(&self, name: &str) -> PathBuf {
        let path = self.root.join(name);
        fs::create_dir_all(&path).unwrap_or_else(|e| panic!("cannot make {}: {e}", path.display()));
        path
    }

    /// Writes the user's settings.
    pub fn config(&self, toml: &str) {
        fs::write(self.config_file(), toml).expect("the temp directory is writable");
    }

    /// Sets a variable for every program started from here on.
    pub fn set_env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
        self.env.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
    }

    /// Puts a shell script on `PATH`.
    pub fn install_script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.bin_dir().join(name);
        // Written by a child: were the file open for writing here while another test's thread forks, that fork
        // would hold it open and running the script would fail with "text file busy".
        let mut child = self
            .command("sh")
            .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .expect("sh starts");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let text = if body.starts_with("#!") { body.to_owned() } else { format!("#!/bin/sh\n{body}\n") };
        std::io::Write::write_all(&mut stdin, text.as_bytes()).expect("sh reads");
        drop(stdin);
        assert!(child.wait().expect("sh ends").success(), "cannot install {}", path.display());
        path
    }

    /// Puts a program on `PATH` under another name.
    pub fn install_link(&self, name: &str, program: &Path) -> PathBuf {
        let path = self.bin_dir().join(name);
        std::os::unix::fs::symlink(program, &path).unwrap_or_else(|e| panic!("cannot link {}: {e}", path.display()));
        path
    }

    /// Any program, in this world's environment and repository, with nothing on stdin.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.env).current_dir(self.repo.path()).stdin(Stdio::null());
        command
    }

    /// The product's binary, in this world's environment and repository.
    pub fn windlass(&self, bin: &Path) -> Command {
        self.command(bin)
    }

    /// The scripted agent itself, for a test without the product in between.
    pub fn agent(&self, agent: &ScriptedAgent) -> Command {
        let mut command = self.command(scripted_agent());
        command.arg("--script").arg(&agent.path);
        command
    }

    /// Runs a command to its end with these bytes on its stdin.
    ///
    /// # Panics
    /// If it does not end within [`crate::HUNG`].
    #[track_caller]
    pub fn run_with_input(&self, command: Command, input: impl Into<Vec<u8>>) -> Output {
        Running::start_with_input(command, input.into()).wait()
    }

    /// Runs a command to its end.
    ///
    /// # Panics
    /// If it does not end within [`crate::HUNG`].
    #[track_caller]
    pub fn run(&self, command: Command) -> Output {
        Running::start(command).wait()
    }

    /// Starts a command.
    #[track_caller]
    pub fn start(&self, command: Command) -> Running {
        Running::start(command)
    }

    /// Writes a script for the scripted agent.
    ///
    /// # Panics
    /// If the script has a mistake.
    #[track_caller]
    pub fn script(&self, toml: &str) -> ScriptedAgent {
        if let Err(e) = Script::from_toml(toml) {
            panic!("bad script: {e}");
        }
        let mut scripts = self.scripts();
        let number = scripts.len() + 1;
        // A directory each, so that gates of two scripts may have the same name.
        let dir = self.root.join(format!("scripts/{number}"));
        fs::create_dir(&dir).expect("the temp directory is writable");
        let path = dir.join("agent.toml");
        fs::write(&path, toml).expect("the temp directory is writable");
        let agent = ScriptedAgent::new(path);
        scripts.push(agent.clone());
        agent
    }

    /// Also after a panic under the lock: dropping the world must still find its processes.
    fn scripts(&self) -> MutexGuard<'_, Vec<ScriptedAgent>> {
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every living process of this world: by its tag, or because a script recorded it.
    pub fn processes(&self) -> Vec<Process> {
        let mut found = processes_with_env(TAG, &self.tag);
        for script in self.scripts().iter() {
            for recorded in script.still_alive() {
                if let Some(process) = Process::of(&recorded.process)
                    && !found.contains(&process)
                {
                    found.push(process);
                }
            }
        }
        found
    }

    /// Blocks until no process of this world is alive.
    ///
    /// # Panics
    /// If that does not happen within [`crate::HUNG`].
    #[track_caller]
    pub fn wait_no_processes(&self) {
        while let Some(process) = self.processes().first() {
            wait_dead(process.pid);
        }
    }

    /// Ends whatever is still running in this world.
    fn end_processes(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        // Again and again, because a process can fork between being seen and being killed.
        loop {
            let found = self.processes();
            if found.is_empty() || Instant::now() > deadline {
                return;
            }
            found.iter().for_each(Process::kill);
            for process in found {
                wait_dead_for(process.pid, Duration::from_secs(1));
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.end_processes();
        if std::env::var_os(KEEP).is_some()
            && let Some(dir) = self.dir.take()
        {
            let _ = dir.keep();
        }
    }
}

/// Where worlds are made. A sandbox replaces the temporary directory, which would hide mistakes in what it shows: its
/// worlds are beside the built programs.
fn place(sandboxed: bool) -> PathBuf {
    let own = std::env::current_exe().ok().filter(|_| sandboxed);
    own.and_then(|path| path.ancestors().nth(2).map(Path::to_owned)).unwrap_or_else(std::env::temp_dir)
}

/// The data directory below the world's: in the home, as it is by default, where that matters.
fn data_name(sandboxed: bool) -> &'static str {
    if sandboxed { "home/.local/share/windlass" } else { "data" }
}

/// Whether this machine has a sandbox; if not, that is said, once for each caller.
pub fn sandbox_works() -> bool {
    static TRIED: OnceLock<bool> = OnceLock::new();
    let works = *TRIED.get_or_init(|| {
        let words = ["--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--", "true"];
        let tried = Command::new("bwrap").args(words).stdin(Stdio::null()).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    if !works {
        let said =
            b"\n*** SKIPPED: bubblewrap does not work on this machine (apt install bubblewrap): nothing runs in a sandbox\n\n";
        // Not through the test's own output, which nobody sees when it passes.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), said);
    }
    works
}

fn environment(root: &Path, tag: &str, sandboxed: bool) -> BTreeMap<OsString, OsString> {
    let path = search_path(&root.join("bin"));
    let mut env = BTreeMap::new();
    let mut set = |name: &str, value: &OsStr| env.insert(name.into(), value.to_owned());
    set("HOME", root.join("home").as_os_str());
    set("PATH", &path);
    set("TMPDIR", root.join("tmp").as_os_str());
    set("SHELL", "/bin/sh".as_ref());
    set("LANG", "C.UTF-8".as_ref());
    set("TZ", "UTC".as_ref());
    set("GIT_CONFIG_GLOBAL", root.join("home/.gitconfig").as_os_str());
    set("GIT_CONFIG_NOSYSTEM", "1".as_ref());
    set("WINDLASS_HOME", root.join(data_name(sandboxed)).as_os_str());
    set("WINDLASS_CONFIG", root.join("config/config.toml").as_os_str());
    if sandboxed {
        set("WINDLASS_SANDBOX", "workspace".as_ref());
        // Where the scripted agent says what it did.
        set("WINDLASS_SANDBOX_WRITABLE", root.join("scripts").as_os_str());
    } else {
        set("WINDLASS_SANDBOX", "off".as_ref());
    }
    // By the setting that everybody has: agents and gates get no other variable.
    set("WINDLASS_ENV_PASS", "WINDLASS_TEST_*".as_ref());
    set(TAG, tag.as_ref());
    env
}

/// The world's own directory, the system's, and where git is if that is elsewhere: no agent that the user who
/// runs the tests has installed for himself is found.
fn search_path(bin: &Path) -> OsString {
    let mut dirs = vec![bin.to_owned(), PathBuf::from("/usr/bin"), PathBuf::from("/bin")];
    if !dirs.iter().any(|d| d.join("git").exists()) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        dirs.extend(std::env::split_paths(&path).find(|d| d.join("git").exists()));
    }
    std::env::join_paths(dirs).expect("no colon in a temp directory")
}
