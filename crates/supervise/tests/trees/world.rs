//! One directory per case, and what cases ask of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use windlass_process::{CommandSpec, Stdin};
use windlass_supervise::{
    Access, ContainmentRequest, ExitRecord, Launcher, Network, Place, ProcessEvent, Running, SandboxPolicy, ShimSpec,
    TreeLimits, probe, probe_sandbox, read_exit_record,
};

/// Whether trees are started in a sandbox.
pub(crate) static SANDBOXED: AtomicBool = AtomicBool::new(false);

static COUNTER: AtomicU32 = AtomicU32::new(0);

pub(crate) struct World {
    dir: tempfile::TempDir,
    /// In the arguments of every process of this world that stays.
    pub(crate) token: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let token = format!("windlass-test-{}-{number}-", std::process::id());
        Self { dir: tempfile::tempdir().unwrap(), token }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A spec for this binary as an agent.
    pub(crate) fn agent(&self, role: &str, parameter: &str) -> ShimSpec {
        let program = std::env::current_exe().unwrap();
        self.command(program.to_str().unwrap(), &["agent", role, parameter])
    }

    pub(crate) fn staying(&self, role: &str) -> ShimSpec {
        self.agent(role, &self.token)
    }

    pub(crate) fn command(&self, program: &str, args: &[&str]) -> ShimSpec {
        ShimSpec {
            command: CommandSpec {
                program: program.to_owned(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
                cwd: self.dir.path().to_owned(),
                stdin: Stdin::Null,
            },
            stdout: self.path("stdout"),
            stderr: self.path("stderr"),
            times: None,
            exit_record: self.path("exit.json"),
            secrets: Vec::new(),
            cap_bytes: None,
            grace_ms: ShimSpec::DEFAULT_GRACE_MS,
            containment: ContainmentRequest::Auto,
            sandbox: self.sandbox(),
            limits: TreeLimits::default(),
        }
    }

    /// In the second round of the cases: this world may be written to, and the system is there to be read.
    fn sandbox(&self) -> Option<SandboxPolicy> {
        if !SANDBOXED.load(Ordering::Relaxed) {
            return None;
        }
        let mut places = vec![Place::new(self.dir.path().canonicalize().unwrap(), Access::Writable)];
        places.extend(system());
        let more = ["/etc", "/sys/fs/cgroup"].into_iter().filter(|path| std::path::Path::new(path).exists());
        places.extend(more.map(|path| Place::new(path, Access::ReadOnly)));
        let own = std::env::current_exe().unwrap();
        places.push(Place::new(own.parent().unwrap(), Access::ReadOnly));
        Some(SandboxPolicy {
            backend: probe_sandbox("").expect("it was there a moment ago"),
            network: Network::Allow,
            places,
        })
    }

    pub(crate) fn stdout(&self) -> Vec<u8> {
        std::fs::read(self.path("stdout")).unwrap()
    }

    pub(crate) fn record(&self) -> Option<ExitRecord> {
        read_exit_record(&self.path("exit.json")).unwrap()
    }

    pub(crate) fn alive(&self) -> Vec<u32> {
        alive(&self.token)
    }

    pub(crate) fn assert_gone(&self) {
        assert_eq!(self.alive(), Vec::<u32>::new(), "processes are left");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // After a failed case; ids found by our own token a moment ago.
        for pid in self.alive() {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

pub(crate) fn launcher() -> Launcher {
    Launcher::new(std::env::current_exe().unwrap())
}

/// Processes with the token in their arguments, as the engine's `/proc` has them.
pub(crate) fn alive(token: &str) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|args| args.windows(token.len()).any(|window| window == token.as_bytes()))
    })
    .collect()
}

/// Runs a case on the rungs that end every tree, as far as this machine has them.
pub(crate) fn on_each_strong_rung(mut case: impl FnMut(ContainmentRequest)) {
    if probe()[0].available {
        case(ContainmentRequest::PidNamespace);
    } else {
        eprintln!("SKIPPED: no PID namespaces here: {}", probe()[0].why);
    }
    if !SANDBOXED.load(Ordering::Relaxed) {
        case(ContainmentRequest::Subreaper);
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limit = Duration::from_secs(60);
    runtime.block_on(async { tokio::time::timeout(limit, future).await.expect("the case hangs") })
}

/// Runs a tree to its end.
pub(crate) fn run(spec: &ShimSpec) -> (Vec<ProcessEvent>, ExitRecord) {
    block_on(async {
        let mut running = launcher().start(spec).await.unwrap();
        finish(&mut running).await
    })
}

/// All events to the end, which must be `Closed`.
pub(crate) async fn finish(running: &mut Running) -> (Vec<ProcessEvent>, ExitRecord) {
    let mut events = Vec::new();
    while let Some(event) = running.next().await {
        events.push(event);
    }
    match events.last() {
        Some(ProcessEvent::Closed(record)) => (events.clone(), record.clone()),
        last => panic!("the tree did not close: {last:?}"),
    }
}

/// Follows a tree until its stdout has `text`.
pub(crate) async fn until_said(running: &mut Running, stdout: &Path, text: &str) {
    loop {
        match running.next().await {
            Some(ProcessEvent::Output { stdout: length, .. }) => {
                let said = std::fs::read(stdout).unwrap();
                assert!(said.len() as u64 >= length, "an offset is told only after its bytes are there");
                if said.windows(text.len()).any(|window| window == text.as_bytes()) {
                    return;
                }
            }
            Some(ProcessEvent::Started { .. }) => {}
            other => panic!("ended before it said {text:?}: {other:?}"),
        }
    }
}

/// Polls for a condition that has no event source.
pub(crate) fn within(limit: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The programs and libraries of this machine, with links as links: a view follows none.
pub(crate) fn system() -> Vec<Place> {
    let mut places = vec![Place::new("/usr", Access::ReadOnly)];
    for name in ["/bin", "/lib", "/lib64"] {
        match std::fs::read_link(name) {
            Ok(target) => places.push(Place { from: Some(target), ..Place::new(name, Access::Link) }),
            Err(_) => places.push(Place::new(name, Access::ReadOnly)),
        }
    }
    places
}
