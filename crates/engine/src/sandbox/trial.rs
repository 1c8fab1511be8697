//! A sandbox made as for a loop, around things that are there to be stolen or broken, for a program that tries.
//!
//! Everything is in its own directory that is gone afterwards; of the user's files nothing is touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, UnixListener};
use windlass_core::sandbox::SandboxSpec;
use windlass_process::{CommandSpec, Stdin};
use windlass_supervise::{Access, ContainmentRequest, Ended, Launcher, ProcessEvent, ShimSpec, TreeLimits};

use super::{Confined, Ground, SandboxError};
use crate::data::{DataDir, private_dir};
use windlass_workspace::{Kind, WorkspaceRequest, Workspaces};

/// What there is to try, for the program inside; it gets this as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bait {
    /// The user's real home.
    pub home: PathBuf,
    /// A key where keys lie.
    pub key: PathBuf,
    /// Windlass's data, with the workspace of another loop.
    pub data: PathBuf,
    pub other_loop: PathBuf,
    /// The loop's own workspace, a shared clone.
    pub workspace: PathBuf,
    /// The user's repository that it borrows from.
    pub repository: PathBuf,
    /// A repository that could be pushed to.
    pub remote: PathBuf,
    /// A service's socket.
    pub socket: PathBuf,
    /// A file in the shared temporary directory.
    pub shared_temp: PathBuf,
    /// This process.
    pub pid: u32,
    /// A port of this machine with somebody listening.
    pub port: u16,
}

/// One place of the view, and how it is there.
#[derive(Debug, Clone, Serialize)]
pub struct Seen {
    pub how: &'static str,
    pub path: PathBuf,
}

/// What to try it with.
#[derive(Debug, Clone)]
pub struct Trial {
    pub spec: SandboxSpec,
    pub launcher: Launcher,
    pub workspaces: Workspaces,
    pub env: BTreeMap<String, String>,
    /// Started inside with these arguments and the bait behind them.
    pub program: PathBuf,
    pub args: Vec<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Tried {
    /// What the program printed.
    pub output: String,
    pub ended: String,
    pub bait: Bait,
    place: tempfile::TempDir,
}

impl Tried {
    /// What is outside now, by a path below the place of the trial.
    pub fn place(&self) -> &Path {
        self.place.path()
    }
}

/// Makes the sandbox, runs the program in it to its end, and passes what there is to look at.
pub async fn run(trial: &Trial) -> Result<Tried, Box<dyn std::error::Error + Send + Sync>> {
    let place = tempfile::Builder::new().prefix("windlass-escape-").tempdir()?;
    let root = place.path().canonicalize()?;
    let bait = lay_out(trial, &root).await?;
    let _service = UnixListener::bind(&bait.socket)?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let bait = Bait { port: listener.local_addr()?.port(), ..bait };

    let data = DataDir::at(&bait.data);
    let request = request(&bait.repository, &data);
    let workspace = trial.workspaces.create(&request).await?.workspace;
    let bait = Bait { workspace: workspace.dir.clone(), ..bait };
    let mut spec = trial.spec.clone();
    let temp = trial.env.get("TMPDIR").map_or("/tmp", String::as_str);
    if bait.home.starts_with("/tmp") || bait.home.starts_with(temp) {
        // Or its name could be that of a directory in the private temporary directory, and prove nothing.
        spec.readable.push(bait.home.to_string_lossy().into_owned());
    }
    let files = root.join("data/transcripts/trial/1");
    private_dir(&files)?;
    let mut env = trial.env.clone();
    env.insert("HOME".into(), root.join("home").to_string_lossy().into_owned());
    let mut command = CommandSpec {
        program: trial.program.to_string_lossy().into_owned(),
        args: trial.args.iter().cloned().chain([serde_json::to_string(&bait)?]).collect(),
        env,
        cwd: bait.workspace.clone(),
        stdin: Stdin::Null,
    };
    let ground = Ground { data: &data, env: &trial.env, loop_id: "trial", spec: &spec, workspace: Some(workspace) };
    let confined = Confined {
        who: "trial",
        writes: trial.spec.writes(),
        dir: &bait.workspace,
        judge: None,
        files: &files,
        shown: Vec::new(),
        result: None,
        own_places: Vec::new(),
        credentials: false,
    };
    let sandbox = ground.confine(&mut command, confined)?;
    let (stdout, stderr, exit_record) = (files.join("stdout"), files.join("stderr"), files.join("exit.json"));
    let shim = ShimSpec {
        command,
        stdout: stdout.clone(),
        stderr: stderr.clone(),
        times: None,
        exit_record,
        secrets: Vec::new(),
        cap_bytes: Some(1 << 20),
        grace_ms: ShimSpec::DEFAULT_GRACE_MS,
        containment: ContainmentRequest::Auto,
        sandbox,
        limits: TreeLimits::default(),
    };
    let mut running = trial.launcher.start(&shim).await?;
    let mut ended = "its supervisor was killed".to_owned();
    while let Some(event) = running.next().await {
        if let ProcessEvent::Closed(record) = event {
            ended = match record.ended {
                Ended::Exited { code } => format!("exit code {code}"),
                Ended::Signaled { signal } => format!("signal {signal}"),
                Ended::SpawnFailed(failure) => failure.message,
                Ended::TurnOver | Ended::WriteFailed { .. } => "ended abnormally".to_owned(),
            };
        }
    }
    let said = std::fs::read_to_string(&stderr).unwrap_or_default();
    if let Some(line) = said.lines().next() {
        ended = format!("{ended}: {line}");
    }
    Ok(Tried { output: std::fs::read_to_string(&stdout)?, ended, bait, place })
}

/// What a gate of a loop would see on this machine, in this environment.
pub fn view(spec: &SandboxSpec, env: &BTreeMap<String, String>) -> Result<Vec<Seen>, SandboxError> {
    let prepared = |source| SandboxError::Prepare { path: std::env::temp_dir(), source };
    let place = tempfile::Builder::new().prefix("windlass-view-").tempdir().map_err(prepared)?;
    let (data, dir) = (DataDir::at(place.path().join("data")), place.path().join("workspace"));
    for path in [data.root(), &dir] {
        private_dir(path).map_err(prepared)?;
    }
    let mut command = CommandSpec {
        program: "true".to_owned(),
        args: Vec::new(),
        env: env.clone(),
        cwd: dir.clone(),
        stdin: Stdin::Null,
    };
    let confined = Confined {
        who: "view",
        writes: spec.writes(),
        dir: &dir,
        judge: None,
        files: &dir,
        shown: Vec::new(),
        result: None,
        own_places: Vec::new(),
        credentials: false,
    };
    let policy = Ground::alone(&data, env, "view", spec).confine(&mut command, confined)?;
    let places = policy.map(|policy| policy.places).unwrap_or_default();
    let root = place.path().canonicalize().map_err(prepared)?;
    let seen = places.into_iter().filter(|place| !place.path.starts_with(&root)).map(|place| Seen {
        how: match (place.access, place.from.is_some()) {
            (Access::ReadOnly, false) => "read-only",
            (Access::ReadOnly, true) => "copy",
            (Access::Writable, false) => "writable",
            (Access::Writable, true) => "private",
            (Access::Layered, _) => "overlay",
            (Access::Link, _) => "link",
            (Access::HiddenDir | Access::HiddenFile, _) => "hidden",
        },
        path: place.path,
    });
    Ok(seen.collect())
}

async fn lay_out(trial: &Trial, root: &Path) -> Result<Bait, Box<dyn std::error::Error + Send + Sync>> {
    let real_home = trial.env.get("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let bait = Bait {
        home: real_home,
        key: root.join("home/.ssh/id_ed25519"),
        data: root.join("data"),
        other_loop: root.join("data/worktrees/another/notes.txt"),
        workspace: PathBuf::new(),
        repository: root.join("repository"),
        remote: root.join("remote.git"),
        socket: root.join("home/service.sock"),
        shared_temp: root.join("shared.txt"),
        pid: std::process::id(),
        port: 0,
    };
    for (path, content) in [
        (&bait.key, "a key\n"),
        (&bait.other_loop, "the work of another loop\n"),
        (&bait.data.join("windlass.db"), "a journal\n"),
        (&bait.repository.join("file.txt"), "a file\n"),
        (&bait.shared_temp, "of somebody else\n"),
    ] {
        private_dir(path.parent().unwrap_or(root))?;
        std::fs::write(path, content)?;
    }
    trial.workspaces.make_repository(&bait.repository, "base").await?;
    trial.workspaces.make_bare(&bait.remote).await?;
    Ok(bait)
}

fn request(repository: &Path, data: &DataDir) -> WorkspaceRequest {
    WorkspaceRequest {
        project: repository.to_owned(),
        loop_id: "trial".to_owned(),
        loop_name: "trial".to_owned(),
        kind: Kind::Clone,
        branch: "windlass/trial".to_owned(),
        base: None,
        root: data.worktrees(),
        allow_dirty: false,
        fork: None,
    }
}
