//! The disk: how much a loop takes of it and how much is left. Nothing tells of that, so it is looked at.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_core::machine::LoopState;
use windlass_core::resources::ResourceSpec;
use windlass_core::size;
use windlass_core::spec::WorkspaceKind;

use crate::engine::Engine;
use windlass_workspace::{disk_use, shared_objects};

/// What is free costs two system calls to know.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What a directory takes means looking at each file: never more than this part of the time.
const SHARE_OF_TIME: u32 = 20;

/// What is to be looked at.
#[derive(Debug, Clone)]
struct Disk {
    name: String,
    own: Vec<PathBuf>,
    /// What of that takes no space, because it is shared with the user's repository.
    shared: Vec<PathBuf>,
    /// Where something must stay free.
    places: Vec<PathBuf>,
    spec: ResourceSpec,
}

impl Disk {
    fn of(engine: &Engine, state: &LoopState) -> Self {
        let work = engine.work_dir(state);
        let own = match state.spec.workspace.kind {
            WorkspaceKind::Clone => Some(work.clone()),
            // What was there before the loop is not the loop's.
            WorkspaceKind::InPlace | WorkspaceKind::External => None,
        };
        Self {
            name: state.name.clone(),
            shared: shared_objects(&engine.data.judge(&state.id.0)).into(),
            own: own.into_iter().chain([engine.data.loop_temp(&state.id.0), engine.data.judge(&state.id.0)]).collect(),
            places: vec![work, engine.data.root().to_owned()],
            spec: state.spec.resources.clone(),
        }
    }

    /// Why the loop cannot go on, if so. One that takes little itself goes on for a while: mostly it is another that fills
    /// the disk, and that one has stopped by then.
    async fn too_little_free(&self) -> Option<String> {
        let short = |place: &PathBuf| {
            let (free, size) = free_of(place)?;
            let wanted = self.spec.kept_free(size);
            (free < wanted).then(|| (place.clone(), free, wanted))
        };
        let (place, free, wanted) = self.places.iter().find_map(short)?;
        if free >= wanted / 2 && self.taken().await < wanted {
            return None;
        }
        Some(format!(
            "only {} free on the disk of {}, less than {} (disk_free): free some space, then run windlass \
            resume {}",
            size::human(free),
            place.display(),
            size::human(wanted),
            self.name
        ))
    }

    async fn taken(&self) -> u64 {
        let mut taken = 0;
        for dir in &self.own {
            taken += disk_use(dir.clone()).await.bytes;
        }
        for dir in &self.shared {
            taken = taken.saturating_sub(disk_use(dir.clone()).await.bytes);
        }
        taken
    }

    async fn too_much_taken(&self) -> Option<String> {
        let most = self.spec.disk_bytes?;
        let taken = self.taken().await;
        (taken > most).then(|| {
            let place = self.own.first().map(|dir| dir.display().to_string()).unwrap_or_default();
            format!(
                "the loop's files use {}, more than {} (disk_limit): remove some from {place}, then run windlass \
                 resume {name}; or raise the limit: windlass resume {name} --disk-limit +5GiB",
                size::human(taken),
                size::human(most),
                name = self.name
            )
        })
    }

    /// Looks on until there is a reason to end.
    async fn watch(self) -> String {
        let mut measure_at = Instant::now();
        loop {
            if let Some(why) = self.too_little_free().await {
                return why;
            }
            let begun = Instant::now();
            if self.spec.disk_bytes.is_some() && begun >= measure_at {
                if let Some(why) = self.too_much_taken().await {
                    return why;
                }
                measure_at = Instant::now() + begun.elapsed() * SHARE_OF_TIME;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// Bytes that this user can still write there, and how many there are in all.
fn free_of(place: &Path) -> Option<(u64, u64)> {
    let system = rustix::fs::statvfs(place).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(system.f_frsize);
    Some((bytes(system.f_bavail), bytes(system.f_blocks)))
}

/// Why a new loop cannot begin, if so: what must stay free in the data directory, or its nearest parent, is not.
pub fn disk_short_at(data: &Path, spec: &ResourceSpec) -> Option<String> {
    let place = data.ancestors().find(|place| place.exists())?;
    let (free, size) = free_of(place)?;
    let wanted = spec.kept_free(size);
    (free < wanted).then(|| {
        format!(
            "only {} are free on the disk of {}, less than the {} that must stay free (disk_free)",
            size::human(free),
            data.display(),
            size::human(wanted)
        )
    })
}

/// Why a loop cannot begin another turn, if so.
pub(crate) async fn disk_short(engine: &Engine, state: &LoopState) -> Option<String> {
    let disk = Disk::of(engine, state);
    match disk.too_little_free().await {
        Some(why) => Some(why),
        None => disk.too_much_taken().await,
    }
}

/// Looks at the disk while a tree runs.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    found: Option<oneshot::Receiver<String>>,
    task: Option<JoinHandle<()>>,
}

impl DiskWatch {
    pub(crate) fn start(engine: &Engine, state: &LoopState) -> Self {
        let disk = Disk::of(engine, state);
        if disk.spec.disk_bytes.is_none() && disk.spec.disk_free_bytes == Some(0) {
            return Self { found: None, task: None };
        }
        let (tell, found) = oneshot::channel();
        let task = tokio::spawn(async move {
            // Nobody hears it any more: the tree has ended.
            let _ = tell.send(disk.watch().await);
        });
        Self { found: Some(found), task: Some(task) }
    }

    /// Why the tree must be ended, told once. Cancel-safe.
    pub(crate) async fn short(&mut self) -> String {
        let told = match &mut self.found {
            Some(found) => found.await.ok(),
            None => None,
        };
        self.found = None;
        match told {
            Some(why) => why,
            None => std::future::pending().await,
        }
    }
}

impl Drop for DiskWatch {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
