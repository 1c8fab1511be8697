//! Where Windlass keeps its things. Everything is readable by the owner only.

pub(crate) mod rubbish;

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::task::JoinHandle;
use windlass_agents::PrivateFile;
use windlass_core::ids::{LoopId, Role, TurnKey};

/// The longest path a Unix socket can have, less a margin.
const LONGEST_PATH: usize = 100;

/// The data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Closes the directory and the database to everybody else where a lax umask, or somebody, left them open; whether
    /// one was.
    pub fn close_to_others(&self) -> io::Result<bool> {
        let database = self.database();
        let companion = |ending: &str| database.with_extension(format!("db{ending}"));
        let mut was_open = false;
        for (path, mode) in
            [(self.root.clone(), 0o700), (companion(""), 0o600), (companion("-wal"), 0o600), (companion("-shm"), 0o600)]
        {
            let Ok(meta) = std::fs::metadata(&path) else { continue };
            if meta.permissions().mode() & 0o077 != 0 {
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
                was_open = true;
            }
        }
        Ok(was_open)
    }

    pub fn database(&self) -> PathBuf {
        self.root.join("windlass.db")
    }

    pub fn worktrees(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// What people agreed to, by repository.
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust")
    }

    /// Locks of loops that run, and of those that wait for it.
    pub fn places(&self) -> PathBuf {
        self.root.join("places")
    }

    /// Marks of loops that are being created.
    pub fn creating(&self) -> PathBuf {
        self.root.join("creating")
    }

    /// Everything kept of a loop beside the journal.
    pub fn transcripts(&self, id: &LoopId) -> PathBuf {
        self.root.join("transcripts").join(&id.0)
    }

    /// When anything of the loop's transcripts was last written.
    pub(crate) fn last_written(&self, id: &LoopId) -> Option<jiff::Timestamp> {
        let written = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
        let turns = std::fs::read_dir(self.transcripts(id)).ok()?.flatten().map(|turn| turn.path());
        let newest_turn = turns.max_by_key(|turn| written(turn))?;
        let files = std::fs::read_dir(newest_turn).ok()?.flatten().map(|file| file.path());
        files.filter_map(|file| written(&file)).max().and_then(|time| jiff::Timestamp::try_from(time).ok())
    }

    pub fn turn(&self, id: &LoopId, turn: TurnKey) -> TurnFiles {
        TurnFiles { dir: self.transcripts(id).join(turn.to_string()) }
    }

    /// The next free place for a run of a gate or a set-up command: one that was cut off keeps its own.
    pub fn new_run(&self, id: &LoopId, what: &str) -> io::Result<TurnFiles> {
        let base = self.transcripts(id);
        private_dir(&base)?;
        for run in 1_u32.. {
            let files = TurnFiles { dir: base.join(format!("{what}.{run}")) };
            match std::fs::DirBuilder::new().mode(0o700).create(&files.dir) {
                Ok(()) => return Ok(files),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The runs of a gate or a set-up command, the first one first.
    pub fn runs(&self, id: &LoopId, what: &str) -> Vec<TurnFiles> {
        let base = self.transcripts(id);
        let runs = (1_u32..).map(|run| TurnFiles { dir: base.join(format!("{what}.{run}")) });
        runs.take_while(|files| files.dir.is_dir()).collect()
    }

    /// The throw-away repositories of `windlass demo`.
    pub fn demos(&self) -> PathBuf {
        self.root.join("demo")
    }

    /// The judge's checkout with what belongs to it; gone with the loop's end.
    pub fn judge(&self, id: &str) -> PathBuf {
        self.root.join("judge").join(id)
    }

    /// That checkout, and those of merges, searches and checks of proofs that were cut off.
    pub fn judges(&self, id: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.root.join("judge")).into_iter().flatten().flatten();
        let of_loop = |name: &str| name.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        entries.filter(|entry| entry.file_name().to_str().is_some_and(of_loop)).map(|entry| entry.path()).collect()
    }

    /// What gates built on the base of the last loop of a project, for the next one. It may be removed at any time.
    pub fn builds(&self, project: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        hasher.write(project.as_bytes());
        self.root.join("builds").join(format!("{:016x}", hasher.finish()))
    }

    /// Those of all projects.
    pub fn all_builds(&self) -> Vec<PathBuf> {
        let is_one = |name: &str| name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let entries = std::fs::read_dir(self.root.join("builds")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_str().is_some_and(is_one)).map(|entry| entry.path()).collect()
    }

    /// What the loop's processes have for a temporary directory where they are in a sandbox; gone with the loop's end.
    pub fn loop_temp(&self, id: &str) -> PathBuf {
        self.root.join("tmp").join(id)
    }

    /// Directories of ended loops that wait to be removed.
    pub fn rubbish(&self) -> PathBuf {
        self.root.join("rubbish")
    }

    /// What sandboxes show instead of parts of the machine.
    pub fn view(&self) -> PathBuf {
        self.root.join("view")
    }

    /// The loop's log for people. The end of an id is what tells two of the same minute apart.
    pub fn loop_log(&self, name: &str, id: &LoopId) -> PathBuf {
        let tail = id.0.char_indices().rev().nth(7).map_or(id.0.as_str(), |(start, _)| &id.0[start..]);
        self.root.join("logs").join(format!("{name}-{tail}.log"))
    }

    /// Where a loop has its sockets, while it runs. The end of an id is random.
    pub fn sockets(&self, id: &LoopId) -> PathBuf {
        let tail = id.0.char_indices().rev().nth(11).map_or(id.0.as_str(), |(start, _)| &id.0[start..]);
        // All of them are in one place, so the longest decides.
        let longest = run_path(&self.root, &format!("{tail}/summariser/mcp"));
        longest.ancestors().nth(2).map_or(longest.clone(), Path::to_owned)
    }

    /// Where the agent of a role reaches its tools; the only thing in its directory.
    pub fn tool_socket(&self, id: &LoopId, role: Role) -> PathBuf {
        self.sockets(id).join(role.name()).join("mcp")
    }

    /// Where processes without a network reach the loop's proxy; the only thing in its directory.
    pub fn proxy_socket(&self, id: &LoopId) -> PathBuf {
        self.sockets(id).join("network").join("proxy")
    }

    /// Where detached drivers say what went wrong before anybody listens.
    pub fn driver_log(&self, id: &LoopId) -> PathBuf {
        self.transcripts(id).join("driver.log")
    }
}

/// The files of one turn, or of one run of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFiles {
    pub dir: PathBuf,
}

impl TurnFiles {
    /// Whether an earlier driver began the turn: then it is never started again, whatever became of it.
    pub fn have_begun(&self) -> bool {
        self.dir.exists()
    }

    /// Records that the turn begins. Nothing of it may run before what this returns has ended: then the record is on disk.
    pub fn begin(&self) -> io::Result<JoinHandle<io::Result<()>>> {
        private_dir(&self.dir)?;
        let above = self.dir.parent().map(Path::to_owned);
        let sync = move || above.map_or(Ok(()), |above| std::fs::File::open(above)?.sync_all());
        Ok(tokio::task::spawn_blocking(sync))
    }

    pub fn prompt(&self) -> PathBuf {
        self.dir.join("prompt.md")
    }

    /// The hash of all that was printed, as it is stored.
    pub fn stdout_sha256(&self) -> Option<String> {
        let output = std::fs::read(self.stdout()).ok()?;
        Some(windlass_workspace::git::hex(ring::digest::digest(&ring::digest::SHA256, &output).as_ref()))
    }

    pub fn stdout(&self) -> PathBuf {
        self.dir.join("stdout")
    }

    pub fn stderr(&self) -> PathBuf {
        self.dir.join("stderr")
    }

    /// When which part of standard output was written.
    pub fn times(&self) -> PathBuf {
        self.dir.join("times")
    }

    pub fn exit_record(&self) -> PathBuf {
        self.dir.join("exit.json")
    }

    /// What git would run or follow, as it was before the turn; only where the agent can change it.
    pub fn git_settings(&self) -> PathBuf {
        self.dir.join("git-before.json")
    }

    /// Where the refs of the user's repository were before the turn; only where the agent can move them.
    pub fn refs_before(&self) -> PathBuf {
        self.dir.join("refs-before.json")
    }

    /// What the agent had put there.
    pub fn planted(&self) -> PathBuf {
        self.dir.join("planted")
    }
}

/// Where something called so lies among the sockets: with the data, or, if that is too long for a socket, in a
/// directory of the user's for temporary files.
pub(crate) fn run_path(data_root: &Path, name: &str) -> PathBuf {
    let path = data_root.join("run").join(name);
    if path.as_os_str().len() <= LONGEST_PATH {
        return path;
    }
    let uid = rustix::process::getuid().as_raw();
    std::env::temp_dir().join(format!("windlass-{uid}")).join(name)
}

/// Makes a directory, and those above it, for the owner only.
pub fn private_dir(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes files that only their owner may read; they may hold keys.
pub fn private_files(files: &[PrivateFile]) -> io::Result<()> {
    for file in files {
        if let Some(dir) = file.path.parent() {
            private_dir(dir)?;
        }
        let mut open = std::fs::OpenOptions::new();
        open.write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&file.path)?
            .write_all(file.content.as_bytes())?;
    }
    Ok(())
}
