//! Checks whether a loop left anything on the machine when it pauses or ends.
//!
//! Nothing here is about what the loop made: its workspace, its branch and its transcripts are kept. It is about what
//! should have gone with its processes. Invariant: looking changes nothing; only `remove` does.

mod listening;
mod mounts;
mod processes;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_core::residue::{Leftover, LeftoverKind};
use windlass_core::spec::WorkspaceKind;
use windlass_supervise::docker::{find_containers, remove_containers};

use crate::engine::Engine;
use crate::limits;
use crate::ports::PortRange;
use processes::Seen;

/// The variable by which every process of a loop is told, whatever it was started for.
pub(crate) const LOOP_TAG: &str = "WINDLASS_LOOP_ID";

/// Where things of a loop may be.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    id: LoopId,
    /// The directory that the loop's processes worked in, if it is the loop's own.
    workspace: Option<PathBuf>,
    worktrees: PathBuf,
    temp: PathBuf,
    sockets: PathBuf,
    /// The socket of the daemon that made the loop's containers.
    docker: Option<PathBuf>,
    started_at: Option<Timestamp>,
    ports: Option<PortRange>,
    /// A loop that is paused goes on with its temporary files.
    ended: bool,
}

impl Engine {
    /// What is left of a loop that nobody drives, or whose driver has ended all it had under way.
    pub async fn residue(&self, state: &LoopState) -> Vec<Leftover> {
        let places = self.places_of(state);
        tokio::task::spawn_blocking(move || look(&places)).await.unwrap_or_default()
    }

    pub(crate) fn places_of(&self, state: &LoopState) -> Places {
        let own = match state.spec.workspace.kind {
            WorkspaceKind::Clone => true,
            WorkspaceKind::InPlace | WorkspaceKind::External => false,
        };
        Places {
            id: state.id.clone(),
            workspace: state.workspace.as_ref().filter(|_| own).map(|known| PathBuf::from(&known.dir)),
            worktrees: self.data.worktrees(),
            temp: self.data.loop_temp(&state.id.0),
            sockets: self.data.sockets(&state.id),
            docker: state.spec.sandbox.docker.as_ref().map(|docker| PathBuf::from(&docker.socket)),
            started_at: state.started_at,
            ports: self.ports.of(&state.id.0),
            ended: state.status().is_ended(),
        }
    }
}

pub(crate) fn look(places: &Places) -> Vec<Leftover> {
    let mut left = Vec::new();
    let clean = || "windlass clean".to_owned();
    let processes = processes::of_loop(places);
    for Seen { pid, name, tagged } in &processes {
        let why = if *tagged { "started by the loop" } else { "running in the loop's workspace" };
        let fix = if *tagged { clean() } else { format!("inspect it, then: kill {pid}") };
        left.push(Leftover { kind: LeftoverKind::Process, what: format!("{pid} {name} ({why})"), fix });
    }
    for (port, pid) in listening::left(places.ports, &processes) {
        let (who, fix) = match pid {
            Some(pid) => (format!(" by process {pid}"), format!("kill {pid}")),
            None => (String::new(), format!("find the process: ss -ltnp sport = :{port}")),
        };
        left.push(Leftover { kind: LeftoverKind::Port, what: format!("{port} is in use{who}"), fix });
    }
    let own = [places.workspace.as_deref(), Some(places.temp.as_path()), Some(places.sockets.as_path())];
    for point in mounts::below(&own.into_iter().flatten().collect::<Vec<_>>()) {
        let fix = format!("umount {}", point.display());
        left.push(Leftover { kind: LeftoverKind::Mount, what: point.display().to_string(), fix });
    }
    for what in containers(places) {
        left.push(Leftover { kind: LeftoverKind::Container, what, fix: clean() });
    }
    let mut path = |kind, path: &Path| {
        left.push(Leftover { kind, what: path.display().to_string(), fix: clean() });
    };
    if places.ended && places.temp.exists() {
        path(LeftoverKind::TempFiles, &places.temp);
    }
    if places.sockets.exists() {
        path(LeftoverKind::Socket, &places.sockets);
    }
    for group in limits::left(&places.id) {
        path(LeftoverKind::ControlGroup, &group);
    }
    for unfinished in unfinished(places) {
        path(LeftoverKind::Worktree, &unfinished);
    }
    left
}

fn containers(places: &Places) -> Vec<String> {
    let Some(socket) = &places.docker else { return Vec::new() };
    match find_containers(socket, &places.id.0) {
        Ok(found) => found.iter().map(|one| format!("{:.12} ({})", one.id, one.state)).collect(),
        Err(error) if error.is_absence() => Vec::new(),
        Err(error) => vec![format!("unknown: {error}")],
    }
}

/// What git or a removal that was cut off left beside the workspace.
fn unfinished(places: &Places) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(&places.worktrees).into_iter().flatten().flatten();
    let of_loop = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&places.id.0) && (name.ends_with(".lock") || name.ends_with(".removing"))
    });
    of_loop.map(|entry| entry.path()).collect()
}

pub(crate) fn remove(places: &Places) {
    if let Err(error) = windlass_supervise::sweep(LOOP_TAG, &places.id.0) {
        tracing::warn!(loop_id = %places.id, %error, "cannot find leftover processes");
    }
    if let Some(Err(error)) = places.docker.as_ref().map(|socket| remove_containers(socket, &places.id.0)) {
        tracing::warn!(loop_id = %places.id, %error, "cannot remove leftover containers");
    }
    limits::release(&places.id);
    let temp = places.ended.then_some(&places.temp);
    for path in temp.into_iter().chain([&places.sockets]).chain(&unfinished(places)) {
        let gone = if path.is_dir() { windlass_workspace::remove_tree(path) } else { std::fs::remove_file(path) };
        match gone {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "cannot remove leftovers");
            }
            Ok(()) | Err(_) => {}
        }
    }
}
