//! What the processes of one loop may see and change, from the loop's specification and this machine's files.
//!
//! The rules are in `docs/sandbox.md`. Of two rules the one about the deeper path holds; of two about the same path the
//! later one. Invariant: a loop that has a sandbox never starts a process without it.

mod denied;
pub mod docker;
mod places;
pub mod trial;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_agents::{OwnPlace, PlaceKind};
use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_core::sandbox::{NetworkAccess, SandboxSpec};
use windlass_process::CommandSpec;
use windlass_redact::network::HostList;
use windlass_supervise::{Access, Backend, Network, SandboxPolicy, find_sandbox};

use crate::config::{Environment, Paths};
use crate::data::{DataDir, private_dir};
use crate::engine::Engine;
use crate::proxy::PORT_INSIDE;
use denied::{CACHE_SETTINGS, CACHE_VARIABLES, CACHES, DENIED, RUN_SHOWN};
use places::Places;
use windlass_workspace::{Judge, Workspace};

/// By which programs are told of a proxy.
const PROXY_VARIABLES: [&str; 9] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "npm_config_proxy",
    "npm_config_https_proxy",
    "CARGO_HTTP_PROXY",
];

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("the sandbox of this loop cannot be had any more: {reason} ({fix})")]
    Unavailable { reason: String, fix: String },
    #[error("the sandbox of this loop cannot be prepared: {path} cannot be made")]
    Prepare {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// A process that is to be started in a loop.
#[derive(Debug)]
pub(crate) struct Confined<'a> {
    /// Whether it may change the directory it works in.
    pub(crate) writes: bool,
    /// Where it works: the workspace, the judge's checkout, a scratch directory.
    pub(crate) dir: &'a Path,
    /// The judge's checkout, if it works there.
    pub(crate) judge: Option<&'a Judge>,
    /// The directory of its prompt and private files, to be read.
    pub(crate) files: &'a Path,
    /// More to be read of what is hidden otherwise.
    pub(crate) shown: Vec<PathBuf>,
    /// A file that it leaves for the engine; what is beside it is its own too.
    pub(crate) result: Option<PathBuf>,
    pub(crate) own_places: Vec<OwnPlace>,
}

/// What is the same for all processes of a loop.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    data: &'a DataDir,
    /// The engine's own environment, which says where its settings are.
    env: &'a BTreeMap<String, String>,
    loop_id: &'a str,
    spec: &'a SandboxSpec,
    project: &'a Path,
    workspace: Option<Workspace>,
}

impl<'a> Ground<'a> {
    pub(crate) fn of(engine: &'a Engine, state: &'a LoopState) -> Self {
        Self {
            data: &engine.data,
            env: &engine.env,
            loop_id: &state.id.0,
            spec: &state.spec.sandbox,
            project: Path::new(&state.project),
            workspace: crate::driver::workspace_handle(state).ok(),
        }
    }

    /// For an agent that is called outside any loop, in a directory of its own.
    pub(crate) fn alone(
        data: &'a DataDir,
        env: &'a BTreeMap<String, String>,
        name: &'a str,
        spec: &'a SandboxSpec,
        dir: &'a Path,
    ) -> Self {
        Self { data, env, loop_id: name, spec, project: dir, workspace: None }
    }

    /// The policy for a process, and what its environment has to say; `None` where the loop has no sandbox.
    pub(crate) fn confine(
        &self,
        command: &mut CommandSpec,
        what: Confined<'_>,
    ) -> Result<Option<SandboxPolicy>, SandboxError> {
        if self.spec.is_off() {
            return Ok(None);
        }
        let backend = self.backend(command)?;
        let temp = what.judge.map_or_else(|| self.data.loop_temp(self.loop_id), Judge::temp);
        private_dir(&temp).map_err(|source| SandboxError::Prepare { path: temp.clone(), source })?;
        if backend == Backend::Seatbelt {
            command.env.insert("TMPDIR".to_owned(), temp.to_string_lossy().into_owned());
        }
        let home = command.env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let mut places = Places::default();
        self.hide_shared(&mut places, &command.env, &temp);
        match &backend {
            Backend::Bubblewrap { .. } | Backend::Seatbelt => {
                self.show_needed(&mut places, command, home.as_deref());
            }
            Backend::Docker(_) => self.show_in_container(&mut places, home.as_deref()),
        }
        if let Some(home) = &home {
            for name in DENIED {
                places.hide(&home.join(name));
            }
        }
        places.hide_sockets();
        self.hide_own(&mut places);
        caches(&mut places, command, home.as_deref())?;
        for place in &what.own_places {
            self.own_place(&mut places, place)?;
        }
        for (paths, access) in [(&self.spec.readable, Access::ReadOnly), (&self.spec.writable, Access::Writable)] {
            for path in paths {
                places.put(&from_home(path, home.as_deref()), access);
            }
        }
        for path in &self.spec.denied {
            places.hide(&from_home(path, home.as_deref()));
        }
        self.work(&mut places, &what)?;
        if let Backend::Docker(docker) = &backend {
            // Whatever else is shown: who reaches it has the machine.
            places.hide(&docker.socket);
        }
        let network = match self.spec.network {
            NetworkAccess::Allow => Network::Allow,
            NetworkAccess::Deny => Network::Deny,
            NetworkAccess::List => self.listed(&backend, &mut command.env)?,
        };
        let policy = SandboxPolicy { backend, network, places: places.list() };
        if self.spec.docker.is_some() {
            docker::leave_out_variables(&mut command.env, &policy.places);
        }
        Ok(Some(policy))
    }

    fn backend(&self, command: &CommandSpec) -> Result<Backend, SandboxError> {
        if let Some(docker) = &self.spec.docker {
            return Ok(Backend::Docker(docker::container(docker, self.data, self.loop_id, &command.env)));
        }
        let search_path = command.env.get("PATH").map_or("", String::as_str);
        find_sandbox(search_path)
            .map_err(|missing| SandboxError::Unavailable { reason: missing.reason, fix: missing.fix })
    }

    /// The hosts of the list, through the proxy of the loop's driver.
    fn listed(&self, backend: &Backend, env: &mut BTreeMap<String, String>) -> Result<Network, SandboxError> {
        if let Backend::Seatbelt = backend {
            let reason = "a list of hosts needs a network namespace, which only Linux has".to_owned();
            return Err(SandboxError::Unavailable { reason, fix: "use --network allow or deny".to_owned() });
        }
        let list = HostList::new(self.spec.hosts.iter().map(String::as_str)).map_err(|error| {
            SandboxError::Unavailable { reason: error.to_string(), fix: "correct network_hosts".to_owned() }
        })?;
        let proxy = format!("http://127.0.0.1:{PORT_INSIDE}");
        for name in PROXY_VARIABLES {
            env.insert((*name).to_owned(), proxy.clone());
        }
        for name in ["NO_PROXY", "no_proxy"] {
            env.insert(name.to_owned(), "localhost,127.0.0.1,::1".to_owned());
        }
        // Node's own fetch looks at the variables only if it is told to.
        env.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
        let socket = self.data.proxy_socket(&LoopId(self.loop_id.to_owned()));
        Ok(Network::List { socket, proxy_port: PORT_INSIDE, local_ports: list.local_ports() })
    }

    /// What all users of the machine write to: sockets of its services, temporary files.
    fn hide_shared(&self, places: &mut Places, env: &BTreeMap<String, String>, temp: &Path) {
        places.hide(Path::new("/run"));
        let own = env.get("TMPDIR").map(String::as_str).filter(|dir| dir.starts_with('/'));
        for path in ["/tmp", "/var/tmp"].into_iter().chain(own) {
            places.put_from(Path::new(path), temp);
        }
    }

    /// What lies below those and is needed all the same.
    fn show_needed(&self, places: &mut Places, command: &CommandSpec, home: Option<&Path>) {
        for path in RUN_SHOWN {
            places.put(Path::new(path), Access::ReadOnly);
        }
        let mut needed: Vec<PathBuf> = home.map(Path::to_owned).into_iter().collect();
        needed.push(self.project.to_owned());
        if let Some(workspace) = &self.workspace {
            needed.push(workspace.home.common_dir.clone());
        }
        let path = command.env.get("PATH").map(String::as_str).unwrap_or_default();
        needed.extend(path.split(':').filter(|dir| dir.starts_with('/')).map(PathBuf::from));
        // What the command line names, a program or a file, is meant for the process.
        let words = std::iter::once(&command.program).chain(&command.args);
        needed.extend(words.filter(|word| word.starts_with('/') && word.len() < 4096).map(PathBuf::from));
        // What lies in our own data is shown by its own rule, or not at all.
        for path in needed.iter().filter(|path| !path.starts_with(self.data.root())) {
            places.show_if_hidden(path);
        }
    }

    /// In a container nothing is there but what is named: who commits, and the objects that the workspace borrows.
    fn show_in_container(&self, places: &mut Places, home: Option<&Path>) {
        for name in [".gitconfig", ".config/git"] {
            home.into_iter().for_each(|home| places.put(&home.join(name), Access::ReadOnly));
        }
        let borrowed = self.workspace.as_ref().map(|workspace| docker::object_stores(&workspace.home.common_dir));
        for objects in borrowed.into_iter().flatten() {
            places.put(&objects, Access::ReadOnly);
        }
    }

    /// Windlass's own data and settings, with the workspaces of all loops.
    fn hide_own(&self, places: &mut Places) {
        places.hide(self.data.root());
        let env: Environment = self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        if let Ok(paths) = Paths::from_env(&env, Path::new("/")) {
            match paths.user_config.parent().filter(|_| !paths.user_config_named) {
                Some(dir) => places.hide(dir),
                None => places.hide(&paths.user_config),
            }
        }
    }

    fn own_place(&self, places: &mut Places, place: &OwnPlace) -> Result<(), SandboxError> {
        match place.kind {
            PlaceKind::Dir => {
                private_dir(&place.path)
                    .map_err(|source| SandboxError::Prepare { path: place.path.clone(), source })?;
                places.put(&place.path, Access::Writable);
            }
            PlaceKind::Sealed => places.put(&place.path, Access::ReadOnly),
            PlaceKind::Copied => {
                let name = place.path.file_name().unwrap_or_default();
                let copy = self.data.loop_temp(self.loop_id).join(name);
                if place.path.is_file() && !copy.exists() {
                    std::fs::copy(&place.path, &copy)
                        .map_err(|source| SandboxError::Prepare { path: copy.clone(), source })?;
                }
                places.put_from(&place.path, &copy);
            }
        }
        Ok(())
    }

    /// Shows the judge's checkout where the user's is: a virtual environment or a build cache that names the user's
    /// checkout means the judged files then. The objects that it borrows stay where they are.
    fn in_place_of_checkout(&self, places: &mut Places, workspace: &Workspace, judged: &Path) {
        let checkout = &workspace.home.checkout;
        let home = self.env.get("HOME").map(Path::new);
        let holds_more = home.is_some_and(|home| home.starts_with(checkout)) || self.data.root().starts_with(checkout);
        if !holds_more {
            places.put_from(checkout, judged);
        }
        for objects in docker::object_stores(&workspace.home.common_dir) {
            places.put(&objects, Access::ReadOnly);
        }
    }

    /// The workspace, and of its repository what no agent may change.
    fn work(&self, places: &mut Places, what: &Confined<'_>) -> Result<(), SandboxError> {
        let access = if what.writes { Access::Writable } else { Access::ReadOnly };
        match (&self.workspace, what.judge) {
            (Some(workspace), Some(_)) => self.in_place_of_checkout(places, workspace, what.dir),
            (Some(workspace), None) => {
                let own = if what.dir.starts_with(&workspace.dir) { access } else { Access::ReadOnly };
                places.put(&workspace.dir, own);
                for dir in &workspace.agent_git_dirs() {
                    // A mount of its own, so that it cannot be moved out of the way.
                    places.put(dir, own);
                    seal(places, dir)?;
                }
            }
            (None, _) => {}
        }
        places.put(what.dir, access);
        let git_dir = what.dir.join(".git");
        // The judge's own is thrown away with the judgement.
        if git_dir.is_dir() && what.judge.is_none() {
            places.put(&git_dir, access);
            seal(places, &git_dir)?;
        }
        for path in what.shown.iter().map(PathBuf::as_path).chain([what.files]) {
            places.put(path, Access::ReadOnly);
        }
        if what.dir.starts_with(what.files) {
            places.put(what.dir, access);
        }
        if let Some(dir) = what.result.as_deref().and_then(Path::parent) {
            places.put(dir, Access::Writable);
        }
        Ok(())
    }
}

/// Hooks, settings and borrowed objects of a repository stay as they are.
fn seal(places: &mut Places, git_dir: &Path) -> Result<(), SandboxError> {
    let hooks = git_dir.join("hooks");
    if git_dir.join("config").is_file() && !hooks.exists() {
        // Or the agent could make it.
        std::fs::create_dir(&hooks).map_err(|source| SandboxError::Prepare { path: hooks.clone(), source })?;
    }
    for name in ["config", "config.worktree", "hooks", "objects/info/alternates", "commondir", "gitdir"] {
        places.put(&git_dir.join(name), Access::ReadOnly);
    }
    Ok(())
}

fn caches(places: &mut Places, command: &mut CommandSpec, home: Option<&Path>) -> Result<(), SandboxError> {
    if let Some(home) = home {
        // The one that most tools make by themselves.
        let cache = home.join(".cache");
        if home.is_dir() && !cfg!(target_os = "macos") {
            private_dir(&cache).map_err(|source| SandboxError::Prepare { path: cache.clone(), source })?;
        }
        if !home.join(".npm").is_dir() {
            let moved = cache.join("npm").to_string_lossy().into_owned();
            command.env.entry("npm_config_cache".to_owned()).or_insert(moved);
        }
        for name in CACHES {
            let path = home.join(name);
            // A tool that has been used, but not for this yet, could not make it inside. Without it the tool says so itself.
            if name.split_once('/').is_some_and(|(tool, cache)| !cache.contains('/') && home.join(tool).is_dir()) {
                let _ = private_dir(&path);
            }
            places.put(&path, Access::Writable);
        }
        for name in CACHE_SETTINGS {
            places.put(&home.join(name), Access::ReadOnly);
        }
    }
    for (variable, below) in CACHE_VARIABLES {
        if let Some(dir) = command.env.get(*variable).filter(|dir| dir.starts_with('/')) {
            places.put(&Path::new(dir).join(below), Access::Writable);
        }
    }
    Ok(())
}

fn from_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ if path == "~" => home.map_or_else(|| path.into(), Path::to_owned),
        _ => path.into(),
    }
}
