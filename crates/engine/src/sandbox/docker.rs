//! Containers as a sandbox: which daemon, which image, and what of this machine they are told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_core::sandbox::{DockerSpec, SandboxSpec};
use windlass_supervise::docker::{LOOP_LABEL, probe_docker, remove_containers};
use windlass_supervise::{Access, Backend, Docker, Network, Place, SandboxPolicy, Unavailable};

use super::from_home;
use super::places::Places;
use crate::data::DataDir;

/// The variable by which Docker's own program finds its daemon.
const HOST_VARIABLE: &str = "DOCKER_HOST";

/// The daemon's socket: the one that is named, else where Docker puts it.
pub fn socket(named: Option<&str>, env: &BTreeMap<String, String>) -> Result<PathBuf, Unavailable> {
    let named = named.or_else(|| env.get(HOST_VARIABLE).map(String::as_str)).filter(|text| !text.is_empty());
    if let Some(text) = named {
        let path = text.strip_prefix("unix://").unwrap_or(text);
        if path.starts_with('/') {
            return Ok(path.into());
        }
        let reason = format!(
            "cannot use Docker at '{text}': Windlass shares files with containers, so it requires a Unix socket on this machine"
        );
        return Err(Unavailable { reason, fix: "set docker_host = \"unix:///var/run/docker.sock\"".to_owned() });
    }
    let of_root = PathBuf::from("/var/run/docker.sock");
    let own = env.get("XDG_RUNTIME_DIR").map(|dir| Path::new(dir).join("docker.sock"));
    Ok(usable(&[Some(&of_root), own.as_ref()]).unwrap_or(of_root))
}

/// The first that this user may speak to: a rootless daemon is often there beside one that is only root's.
fn usable(sockets: &[Option<&PathBuf>]) -> Option<PathBuf> {
    let may = |path: &&&PathBuf| rustix::fs::access(path.as_path(), rustix::fs::Access::WRITE_OK).is_ok();
    sockets.iter().flatten().find(may).map(|path| (*path).clone())
}

/// Tries the container that a loop of this specification would get; what is to be known of its daemon.
pub fn probe(spec: &SandboxSpec, env: &BTreeMap<String, String>) -> Result<DockerSpec, Unavailable> {
    let Some(docker) = &spec.docker else {
        let reason = "no Docker image selected".to_owned();
        return Err(Unavailable { reason, fix: "use --docker-image IMAGE, or set docker_image".to_owned() });
    };
    let home = env.get("HOME").map(Path::new).filter(|home| home.is_absolute());
    let mut places = Places::default();
    for (paths, access) in [(&spec.readable, Access::ReadOnly), (&spec.writable, Access::Writable)] {
        paths.iter().for_each(|path| places.put(&from_home(path, home), access));
    }
    let container = Docker {
        socket: docker.socket.clone().into(),
        image: docker.image.clone(),
        rootless: docker.rootless,
        labels: [(LOOP_LABEL.to_owned(), "trial".to_owned())].into(),
        doors: PathBuf::new(),
    };
    let backend = Backend::Docker(container.clone());
    let policy = SandboxPolicy { backend, network: Network::Deny, places: places.list(true) };
    let facts = probe_docker(&container, &policy)?;
    Ok(DockerSpec { rootless: facts.rootless, ..docker.clone() })
}

/// The container of one process.
pub(super) fn container(spec: &DockerSpec, data: &DataDir, loop_id: &str, env: &BTreeMap<String, String>) -> Docker {
    let mut labels = BTreeMap::from([
        (LOOP_LABEL.to_owned(), loop_id.to_owned()),
        ("windlass.home".to_owned(), data.root().to_string_lossy().into_owned()),
    ]);
    if let Some(turn) = env.get("WINDLASS_TURN") {
        labels.insert("windlass.turn".to_owned(), turn.clone());
    }
    Docker {
        socket: spec.socket.clone().into(),
        image: spec.image.clone(),
        rootless: spec.rootless,
        labels,
        doors: data.sockets(&LoopId(loop_id.to_owned())),
    }
}

/// Removes the containers that an earlier driver of the loop left, if it was killed together with all that would have.
pub(crate) async fn clear(state: &LoopState) {
    let Some(docker) = state.spec.sandbox.docker.clone() else { return };
    let id = state.id.0.clone();
    let removed = tokio::task::spawn_blocking(move || remove_containers(Path::new(&docker.socket), &id)).await;
    match removed {
        Ok(Ok(removed)) if removed.is_empty() => {}
        Ok(Ok(removed)) => tracing::warn!(loop_id = %state.id, ?removed, "removed leftover containers"),
        Ok(Err(error)) => tracing::warn!(loop_id = %state.id, %error, "cannot list containers"),
        Err(error) => tracing::warn!(loop_id = %state.id, %error, "cannot list containers"),
    }
}

/// Takes out variables that lead to something of this machine that is not in the container.
pub(super) fn leave_out_variables(env: &mut BTreeMap<String, String>, places: &[Place]) {
    let shown = |path: &Path| {
        places.iter().any(|place| match place.access {
            Access::HiddenDir | Access::HiddenFile | Access::Link => false,
            Access::ReadOnly | Access::Writable | Access::Layered => {
                place.path.starts_with(path) || path.starts_with(&place.path)
            }
        })
    };
    env.retain(|name, value| {
        let meant = ["HOME", "PATH"].contains(&name.as_str()) || name.starts_with("WINDLASS_");
        meant || !value.starts_with('/') || Path::new(value).canonicalize().map_or(true, |path| shown(&path))
    });
}

/// Where a repository has its objects, with those that it borrows.
pub(super) fn object_stores(mut found: Vec<PathBuf>) -> Vec<PathBuf> {
    /// As deep as git itself goes.
    const DEEPEST: usize = 5;
    let mut next = 0;
    for _ in 0..DEEPEST {
        let level = next..found.len();
        next = found.len();
        for at in level {
            let text = std::fs::read_to_string(found[at].join("info/alternates")).unwrap_or_default();
            let named: Vec<PathBuf> =
                text.lines().filter(|line| !line.is_empty()).map(|line| found[at].join(line)).collect();
            found.extend(named);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_daemon_is_a_socket_of_this_machine() {
        let here = env(&[(HOST_VARIABLE, "unix:///of/variable")]);
        assert_eq!(socket(Some("/named"), &here).unwrap(), Path::new("/named"));
        assert_eq!(socket(Some("unix:///named"), &here).unwrap(), Path::new("/named"));
        assert_eq!(socket(None, &here).unwrap(), Path::new("/of/variable"));
        let refused = socket(None, &env(&[(HOST_VARIABLE, "tcp://10.0.0.1:2375")])).unwrap_err();
        assert!(refused.reason.contains("tcp://10.0.0.1:2375"), "{refused:?}");
    }

    #[test]
    fn a_daemon_of_ones_own_is_found_where_none_other_may_be_spoken_to() {
        let dir = tempfile::tempdir().unwrap();
        let (missing, there) = (dir.path().join("missing.sock"), dir.path().join("docker.sock"));
        let _daemon = std::os::unix::net::UnixListener::bind(&there).unwrap();
        assert_eq!(usable(&[Some(&missing), None, Some(&there)]), Some(there));
        assert_eq!(usable(&[Some(&missing)]), None);
    }

    #[test]
    fn a_variable_that_leads_to_what_is_not_inside_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for name in ["cache/registry", "toolchain", "hidden"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let path = |name: &str| root.join(name).to_string_lossy().into_owned();
        let mut env = env(&[
            ("HOME", &path("toolchain")),
            ("CARGO_HOME", &path("cache")),
            ("RUSTUP_HOME", &path("toolchain")),
            ("JAVA_HOME", "/only/in/the/image"),
            ("XDG_RUNTIME_DIR", &path("hidden")),
            ("WINDLASS_X", &path("toolchain")),
            ("LANG", "C.UTF-8"),
        ]);
        let places = [
            Place::new(root.join("cache/registry"), Access::Writable),
            Place::new(root.join("hidden"), Access::HiddenDir),
        ];
        leave_out_variables(&mut env, &places);
        let left: Vec<&str> = env.keys().map(String::as_str).collect();
        assert_eq!(left, ["CARGO_HOME", "HOME", "JAVA_HOME", "LANG", "WINDLASS_X"]);
    }

    #[test]
    fn objects_that_borrowed_objects_are_borrowed_from_are_found_too() {
        let dir = tempfile::tempdir().unwrap();
        for (name, borrowed) in [("a", "/else/objects\n"), ("b", "")] {
            let info = dir.path().join(name).join("objects/info");
            std::fs::create_dir_all(&info).unwrap();
            std::fs::write(info.join("alternates"), borrowed).unwrap();
        }
        let path = |name: &str| dir.path().join(name).join("objects");
        assert_eq!(object_stores(vec![path("a")]), [path("a"), "/else/objects".into()]);
        assert_eq!(object_stores(vec![path("b")]), [path("b")]);
    }
}
