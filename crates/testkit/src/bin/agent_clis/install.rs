//! Installing the CLIs from npm or PyPI at their pinned versions, each in its own directory.
//!
//! Invariants: an installation counts only once its program has told the pinned version, and then it is never touched
//! again; one that was cut off is done over (npm and pip keep what they have downloaded); two installers do not meet in
//! one directory, not even an npm that has outlived its installer; nothing is waited for without end.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use windlass_testkit::clis::{Cli, cache_dir};

use crate::limited::run_limited;

/// More at once is slower: unpacking is what takes the time.
const AT_ONCE: usize = 2;

/// The longest an installation may take, and a wait for that of another installer.
pub(crate) const LIMIT: Duration = Duration::from_secs(15 * 60);

/// The longest a program may take to tell its version.
const PROOF_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn install(clis: &[Cli], limit: Duration) -> Result<(), String> {
    let missing: Vec<Cli> = clis.iter().copied().filter(|c| c.program().is_none()).collect();
    if missing.iter().any(|cli| cli.pythons().is_none()) {
        need_npm()?;
    }
    fs::create_dir_all(cache_dir()).map_err(|e| format!("cannot make {}: {e}", cache_dir().display()))?;
    let queue = Mutex::new(missing.into_iter());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(cli) = { queue.lock().expect("no panic under the lock").next() } {
                    if let Err(why) = install_one(cli, limit) {
                        eprintln!("*** {} FAILED: {why}", cli.name());
                        failed.lock().expect("no panic under the lock").push(cli.name());
                    }
                }
            });
        }
    });
    show(clis);
    let failed = failed.into_inner().expect("no panic under the lock");
    if failed.is_empty() { Ok(()) } else { Err(format!("not installed: {}", failed.join(", "))) }
}

pub(crate) fn show(clis: &[Cli]) {
    for cli in clis {
        let place = cli.program().map_or("not installed".to_owned(), |p| p.display().to_string());
        println!("{:17} {:9} {place}", cli.name(), cli.version());
    }
}

fn need_npm() -> Result<(), String> {
    let found = Command::new("npm").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|s| s.success()) {
        return Ok(());
    }
    let line = "*".repeat(88);
    eprintln!("{line}\n*** NPM IS MISSING: no agent CLI can be installed, every test with a real CLI will be SKIPPED.");
    eprintln!("*** Install node 20 or later with npm, then run this again.\n{line}");
    Err("npm is missing".to_owned())
}

/// The lock of an installation, once nobody else has it.
fn lock(path: &Path, limit: Duration) -> Result<File, String> {
    let failed = |what: &str, e: std::io::Error| format!("cannot {what} {}: {e}", path.display());
    let lock = File::create(path).map_err(|e| failed("make", e))?;
    let ours = lock.try_clone().map_err(|e| failed("open", e))?;
    let (had, have) = mpsc::channel();
    std::thread::spawn(move || had.send(lock.lock()));
    match have.recv_timeout(limit) {
        Ok(locked) => locked.map(|()| ours).map_err(|e| failed("lock", e)),
        Err(_) => Err(format!("another installer has held {} for {limit:?}; end it and try again", path.display())),
    }
}

fn install_one(cli: Cli, limit: Duration) -> Result<(), String> {
    let (name, version, dir) = (cli.name(), cli.version(), cli.dir());
    let lock = lock(&cache_dir().join(format!("{name}-{version}.lock")), limit)?;
    if cli.program().is_some() {
        // Another installer was faster.
        return Ok(());
    }
    let started = Instant::now();
    eprintln!("{name} {version}: installing");
    match cli.pythons() {
        Some(pythons) => from_pypi(cli, pythons, &lock, limit)?,
        None => from_npm(cli, &lock, limit)?,
    }
    let program = cli.unproven_program().ok_or_else(|| format!("no program for this platform in {}", dir.display()))?;
    prove(cli, &program)?;
    fs::write(cli.finished_mark(), format!("{version}\n")).map_err(|e| format!("cannot write its mark: {e}"))?;
    drop(lock);
    eprintln!("{name} {version}: installed in {} s", started.elapsed().as_secs());
    Ok(())
}

fn from_npm(cli: Cli, lock: &File, limit: Duration) -> Result<(), String> {
    let dir = cli.dir();
    // Half an installation looks whole to npm.
    let _ = fs::remove_dir_all(dir.join("node_modules"));
    fs::create_dir_all(&dir)
        .and_then(|()| fs::write(dir.join("package.json"), "{ \"private\": true }\n"))
        .map_err(|e| format!("cannot write in {}: {e}", dir.display()))?;
    // Without install scripts: they fetch from elsewhere, and the programs do without them.
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--loglevel=error"])
        .arg("--prefix")
        .arg(&dir)
        .arg(format!("{}@{}", cli.package(), cli.package_version()))
        .args(cli.node_package())
        .current_dir(&dir)
        // Empty to read, and locked for as long as npm has it open.
        .stdin(lock.try_clone().map_err(|e| format!("cannot hand on the lock: {e}"))?);
    let (status, said) = run_limited(npm, limit).map_err(|e| format!("npm {e}"))?;
    if !status.success() {
        return Err(format!("npm: {status}\n{said}"));
    }
    make_executable(&dir.join(format!("node_modules/{}/vendor/ripgrep", cli.package())));
    Ok(())
}

/// Into an environment of its own, with an interpreter of this machine.
fn from_pypi(cli: Cli, pythons: &[&str], lock: &File, limit: Duration) -> Result<(), String> {
    let (version, environment) = (cli.version(), cli.environment());
    let python = pythons
        .iter()
        .find_map(|version| python(version))
        .ok_or_else(|| format!("no Python {} among the programs of PATH", pythons.join(" or ")))?;
    let _ = fs::remove_dir_all(&environment);
    let mut make = Command::new(&python);
    make.args(["-m", "venv"]).arg(&environment);
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"])
        .arg(format!("{}=={version}", cli.package()));
    for (what, mut command) in [("venv", make), ("pip", pip)] {
        // Empty to read, and locked for as long as it has it open.
        command.stdin(lock.try_clone().map_err(|e| format!("cannot hand on the lock: {e}"))?);
        let (status, said) = run_limited(command, limit).map_err(|e| format!("{what} {e}"))?;
        if !status.success() {
            return Err(format!("{what}: {status}\n{said}"));
        }
    }
    Ok(())
}

/// The interpreter of that version, if this machine has one. pyenv's launchers start only the versions that are selected, so
/// each is also asked with this version selected.
fn python(version: &str) -> Option<PathBuf> {
    let wanted = format!("{version}\n");
    let ask = |name: &str, select: bool| {
        let mut command = Command::new(name);
        command
            .args(["-c", "import sys; print('%d.%d\\n%s' % (*sys.version_info[:2], sys.executable))"])
            .stdin(Stdio::null());
        if select {
            command.env("PYENV_VERSION", version);
        }
        let said = command.output().ok().filter(|said| said.status.success())?;
        let said = String::from_utf8(said.stdout).ok()?;
        Some(PathBuf::from(said.strip_prefix(&wanted)?.trim_end()))
    };
    let names = [format!("python{version}"), "python3".to_owned()];
    names.iter().find_map(|name| ask(name, false).or_else(|| ask(name, true)))
}

/// What an install script would have done to the `rg` in each directory below, if there are any.
fn make_executable(below: &Path) {
    let Ok(platforms) = fs::read_dir(below) else { return };
    for file in platforms.filter_map(|p| Some(p.ok()?.path().join("rg"))).filter(|f| f.is_file()) {
        let _ = fs::set_permissions(&file, fs::Permissions::from_mode(0o755));
    }
}

/// Runs it once, in a home that is thrown away: these programs write there even to tell their version.
fn prove(cli: Cli, program: &Path) -> Result<(), String> {
    if matches!(cli, Cli::ClaudeAcp | Cli::CodexAcp) {
        // They wait for a client whatever they are asked.
        return Ok(());
    }
    let home = tempfile::tempdir().map_err(|e| format!("no temp directory: {e}"))?;
    let setup = cli.setup(program, home.path(), "http://127.0.0.1:9");
    let mut command = Command::new(program);
    command
        .arg("--version")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TMPDIR", home.path())
        .envs(&setup.env)
        .current_dir(home.path())
        .stdin(Stdio::null());
    let (_, said) = run_limited(command, PROOF_LIMIT).map_err(|e| format!("{} {e}", program.display()))?;
    if said.contains(cli.version()) {
        return Ok(());
    }
    Err(format!("{} --version does not say {}: {said}", program.display(), cli.version()))
}
