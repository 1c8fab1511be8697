//! What the processes of one loop may see and change, from the loop's specification and this machine's files.
//!
//! The rules are in `docs/sandbox.md`. A process sees what is named here and nothing else (`table` has the names). Of two
//! rules the one about the deeper path holds; of two about the same path the later one. Invariant: a loop that has a sandbox
//! never starts a process without it.

pub mod docker;
mod etc;
mod logins;
mod missed;
mod places;
mod private;
mod registries;
mod seal;
mod settings;
mod system;
mod table;
pub mod trial;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_agents::{OwnPlace, PlaceKind};
use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_core::sandbox::{NetworkAccess, SandboxSpec};
use windlass_process::CommandSpec;
use windlass_supervise::{Access, Backend, Network, SandboxPolicy, find_sandbox};

use crate::config::{Environment, Paths};
use crate::data::{DataDir, private_dir};
use crate::proxy::{PORT_INSIDE, host_list};
pub(crate) use missed::Missed;
use places::Places;
use private::Private;
pub(crate) use private::settle_caches;
pub(crate) use registries::LOGIN_VARIABLES;
use registries::{LOGIN_DIRS, LOGIN_FILES};
pub(crate) use seal::{has_placeholders, remove_placeholders};
use seal::{seal, seal_in_place};
use table::DENIED;
use windlass_workspace::{Judge, Kind, Workspace};

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
    #[error("the sandbox of this loop is no longer available: {reason} ({fix})")]
    Unavailable { reason: String, fix: String },
    #[error("cannot prepare the sandbox: cannot create {path}")]
    Prepare {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// A process that is to be started in a loop.
#[derive(Debug)]
pub(crate) struct Confined<'a> {
    /// What it is to the loop: processes of different kinds do not find each other's files.
    pub(crate) who: &'a str,
    /// Whether it may change the directory it works in.
    pub(crate) writes: bool,
    /// Where it works: the workspace, the judge's checkout, a scratch directory.
    pub(crate) dir: &'a Path,
    /// The judge's checkout, or that of reviewers, if it works there.
    pub(crate) judge: Option<&'a Judge>,
    /// The directory of its prompt and private files, to be read.
    pub(crate) files: &'a Path,
    /// More to be read of what is hidden otherwise.
    pub(crate) shown: Vec<PathBuf>,
    /// A file that it leaves for the engine; what is beside it is its own too.
    pub(crate) result: Option<PathBuf>,
    pub(crate) own_places: Vec<OwnPlace>,
    /// It may use the user's logins for package registries.
    pub(crate) credentials: bool,
}

/// What is the same for all processes of a loop.
#[derive(Debug)]
pub(crate) struct Ground<'a> {
    data: &'a DataDir,
    /// The engine's own environment, which says where its settings are.
    env: &'a BTreeMap<String, String>,
    loop_id: &'a str,
    spec: &'a SandboxSpec,
    workspace: Option<Workspace>,
}

impl<'a> Ground<'a> {
    pub(crate) fn of(
        data: &'a DataDir,
        env: &'a BTreeMap<String, String>,
        state: &'a LoopState,
        workspace: Option<Workspace>,
    ) -> Self {
        Self { data, env, loop_id: &state.id.0, spec: &state.spec.sandbox, workspace }
    }

    /// For an agent that is called outside any loop, in a directory of its own.
    pub(crate) fn alone(
        data: &'a DataDir,
        env: &'a BTreeMap<String, String>,
        name: &'a str,
        spec: &'a SandboxSpec,
    ) -> Self {
        Self { data, env, loop_id: name, spec, workspace: None }
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
        let own = self.data.loop_temp(self.loop_id).join(what.who);
        let mut private = Private::prepare(own, what.judge.and_then(Judge::caches))?;
        let home = command.env.get("HOME").map(PathBuf::from).filter(|home| home.parent().is_some());
        let home = home.as_deref();
        let mut places = Places::with_agents_dirs(self.agents_dirs(&what, home));
        match &backend {
            Backend::Bubblewrap { .. } => {
                self.show_machine(&mut places, home)?;
                self.private_places(&mut places, &mut private, &what, &command.env, home)?;
                system::show_programs(&mut places, command, home, self.data.root());
            }
            Backend::Docker(_) => self.private_places(&mut places, &mut private, &what, &command.env, home)?,
            Backend::Seatbelt => {
                let temp = private.dir("tmp")?.to_string_lossy().into_owned();
                command.env.insert("TMPDIR".to_owned(), temp);
                for path in ["/Users", "/Volumes"].map(Path::new).into_iter().chain(home) {
                    places.hide(path);
                }
                system::show_programs(&mut places, command, home, self.data.root());
            }
        }
        let copies = !matches!(backend, Backend::Seatbelt);
        self.show_home(&mut places, &mut private, &command.env, home, copies)?;
        if what.credentials {
            registries::show_logins(&mut places, &private, &command.env, home, copies);
        }
        for place in &what.own_places {
            own_place(&mut places, &mut private, place, copies)?;
        }
        private.remember_logins()?;
        for path in &self.spec.readable {
            places.put(&from_home(path, home), Access::ReadOnly);
        }
        let kept = self.workspace.as_ref().filter(|_| copies && what.judge.and_then(Judge::caches).is_some());
        for path in self.spec.writable.iter().map(|path| from_home(path, home)) {
            match kept {
                Some(workspace) => private.as_before(&mut places, &path, &workspace.before_agents())?,
                None => places.put(&path, Access::Writable),
            }
        }
        for path in &self.spec.sockets {
            places.put(&from_home(path, home), Access::ReadOnly);
        }
        self.hide_within(&mut places, home, &what, copies);
        self.work(&mut places, &what)?;
        if let Backend::Docker(docker) = &backend {
            // Whatever else is shown: who reaches it has the machine.
            places.hide(&docker.socket);
        }
        let network = match self.spec.network {
            NetworkAccess::Allow => Network::Allow,
            // With nothing on the list: the proxy says what was refused, and by whom.
            NetworkAccess::Deny if self.has_proxy(&backend) => self.listed(&backend, &[], &mut command.env)?,
            NetworkAccess::Deny => Network::Deny,
            NetworkAccess::List => self.listed(&backend, &self.spec.hosts, &mut command.env)?,
        };
        let policy = SandboxPolicy { backend, network, places: places.list(copies) };
        if self.spec.docker.is_some() {
            docker::leave_out_variables(&mut command.env, &policy.places);
        }
        Ok(Some(policy))
    }

    /// Where processes of the loop write what stays.
    fn agents_dirs(&self, what: &Confined<'_>, home: Option<&Path>) -> Vec<PathBuf> {
        let mut dirs = vec![what.dir.to_owned()];
        if let Some(workspace) = &self.workspace {
            dirs.push(workspace.dir.clone());
            dirs.extend(workspace.agent_git_dirs());
        }
        dirs.extend(self.spec.writable.iter().map(|path| from_home(path, home)));
        dirs.extend(
            what.own_places.iter().filter(|place| place.kind == PlaceKind::Kept).map(|place| place.path.clone()),
        );
        dirs
    }

    /// Gives the user the logins that a process of this kind has refreshed.
    pub(crate) fn keep_logins(&self, who: &str) {
        if !self.spec.is_off() {
            logins::take_over(&self.data.loop_temp(self.loop_id).join(who));
        }
    }

    /// Removes what a process of this kind had in its home, once it has ended.
    pub(crate) fn forget_home(&self, who: &str) {
        if let Err(error) = windlass_workspace::remove_tree(&self.data.loop_temp(self.loop_id).join(who).join("home")) {
            tracing::debug!(%error, who, "the private home stays until the next process of this kind starts");
        }
    }

    fn backend(&self, command: &CommandSpec) -> Result<Backend, SandboxError> {
        if let Some(docker) = &self.spec.docker {
            return Ok(Backend::Docker(docker::container(docker, self.data, self.loop_id, &command.env)));
        }
        let search_path = command.env.get("PATH").map_or("", String::as_str);
        find_sandbox(search_path)
            .map_err(|missing| SandboxError::Unavailable { reason: missing.reason, fix: missing.fix })
    }

    /// Whether a driver listens for what this loop's processes ask for.
    fn has_proxy(&self, backend: &Backend) -> bool {
        matches!(backend, Backend::Bubblewrap { .. })
            && self.data.proxy_socket(&LoopId(self.loop_id.to_owned())).exists()
    }

    /// The hosts of the list, through the proxy of the loop's driver.
    fn listed(
        &self,
        backend: &Backend,
        hosts: &[String],
        env: &mut BTreeMap<String, String>,
    ) -> Result<Network, SandboxError> {
        if let Backend::Seatbelt = backend {
            let reason = "a host list requires network namespaces, which only Linux supports".to_owned();
            return Err(SandboxError::Unavailable { reason, fix: "use --network allow or deny".to_owned() });
        }
        let list = host_list(hosts).map_err(|error| SandboxError::Unavailable {
            reason: error.to_string(),
            fix: "fix network_hosts".to_owned(),
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
        let socket = socket.canonicalize().unwrap_or(socket);
        Ok(Network::List { socket, proxy_port: PORT_INSIDE, local_ports: list.local_ports() })
    }

    /// The system, to be read.
    fn show_machine(&self, places: &mut Places, home: Option<&Path>) -> Result<(), SandboxError> {
        system::show_system(places);
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let etc = Path::new("/etc");
        let copy = etc::copy_of(etc, &self.data.view(), etc::User { uid, gid, home })
            .map_err(|source| SandboxError::Prepare { path: self.data.view(), source })?;
        places.put_copy(etc, &copy);
        // The relay to the loop's tools.
        if let Ok(own) = std::env::current_exe() {
            places.put(&own, Access::ReadOnly);
        }
        Ok(())
    }

    /// Shows the judge's checkout where the user's is: a virtual environment or a build cache that names the user's
    /// checkout means the judged files then. Of objects, those are there that a clone has.
    fn in_place_of_checkout(&self, places: &mut Places, workspace: &Workspace, judge: &Judge, judged: &Path) {
        let checkout = &workspace.home.checkout;
        let home = self.env.get("HOME").map(Path::new);
        let holds_more = home.is_some_and(|home| home.starts_with(checkout)) || self.data.root().starts_with(checkout);
        if !holds_more {
            places.put_from(checkout, judged);
        }
        for objects in docker::object_stores(judge.object_stores()) {
            places.put(&objects, Access::ReadOnly);
        }
    }

    /// Directories of its own in the place of those that all programs of the user share.
    fn private_places(
        &self,
        places: &mut Places,
        private: &mut Private,
        what: &Confined<'_>,
        env: &BTreeMap<String, String>,
        home: Option<&Path>,
    ) -> Result<(), SandboxError> {
        let own_temp = what.judge.and_then(Judge::temp).map_or_else(|| private.dir("tmp"), Ok)?;
        private_dir(&own_temp).map_err(|source| SandboxError::Prepare { path: own_temp.clone(), source })?;
        let temp = env.get("TMPDIR").map(String::as_str).filter(|dir| dir.starts_with('/'));
        for path in ["/tmp", "/var/tmp"].into_iter().chain(temp) {
            places.put_from(Path::new(path), &own_temp);
        }
        private.replace(places, Path::new("/run"), "run")?;
        let runtime =
            env.get("XDG_RUNTIME_DIR").and_then(|dir| dir.strip_prefix("/run/")).filter(|dir| !dir.contains(".."));
        if let Some(runtime) = runtime {
            private.dir(&format!("run/{runtime}"))?;
        }
        home.map_or(Ok(()), |home| private.replace(places, home, "home"))
    }

    /// Of the home: who commits, where packages come from, caches.
    fn show_home(
        &self,
        places: &mut Places,
        private: &mut Private,
        env: &BTreeMap<String, String>,
        home: Option<&Path>,
        copies: bool,
    ) -> Result<(), SandboxError> {
        let git_global = env.get("GIT_CONFIG_GLOBAL").map(Path::new).filter(|path| path.is_absolute());
        match home {
            Some(home) if copies => private.settings(home, git_global),
            Some(home) => {
                [".gitconfig", ".config/git"].iter().for_each(|name| places.put(&home.join(name), Access::ReadOnly))
            }
            None => {}
        }
        if let Some(path) = git_global.filter(|path| !copies || !private.covers(path)) {
            places.put(path, Access::ReadOnly);
        }
        private.caches(places, env, home)
    }

    /// What stays hidden in a place that the user's settings show: Windlass's own data, other loops, logins.
    fn hide_within(&self, places: &mut Places, home: Option<&Path>, what: &Confined<'_>, from_nothing: bool) {
        // Not only where it would be seen: places of the loop lie below it, and beside them nothing can be written.
        places.hide(self.data.root());
        let mut hidden: Vec<PathBuf> = Vec::new();
        let env: Environment = self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        if let Ok(paths) = Paths::from_env(&env, Path::new("/")) {
            let dir = paths.user_config.parent().filter(|_| !paths.user_config_named);
            hidden.push(dir.map_or_else(|| paths.user_config.clone(), Path::to_owned));
        }
        // Those that the user named are meant.
        let named: Vec<PathBuf> =
            self.spec.readable.iter().chain(&self.spec.writable).map(|path| from_home(path, home)).collect();
        // Some lie in the directory of a toolchain.
        let of_registries = LOGIN_DIRS.iter().chain(LOGIN_FILES).filter(|_| !what.credentials);
        let logins = DENIED.iter().chain(of_registries);
        let logins = home.into_iter().flat_map(|home| logins.clone().map(|name| home.join(name)));
        hidden.extend(logins.filter(|path| !named.contains(path)));
        hidden.extend(self.spec.denied.iter().map(|path| from_home(path, home)));
        for path in hidden {
            if from_nothing {
                places.hide_if_shown(&path);
            } else {
                places.hide(&path);
            }
        }
    }

    /// The workspace, and of its repository what no agent may change.
    fn work(&self, places: &mut Places, what: &Confined<'_>) -> Result<(), SandboxError> {
        let access = if what.writes { Access::Writable } else { Access::ReadOnly };
        match (&self.workspace, what.judge) {
            (Some(workspace), Some(judge)) => self.in_place_of_checkout(places, workspace, judge, what.dir),
            (Some(workspace), None) => {
                // Where the objects are that a clone borrows.
                if workspace.kind == Kind::Clone {
                    for objects in docker::object_stores(workspace.object_stores()) {
                        places.put(&objects, Access::ReadOnly);
                    }
                }
                let own = if what.dir.starts_with(&workspace.dir) { access } else { Access::ReadOnly };
                places.put(&workspace.dir, own);
                for dir in &workspace.agent_git_dirs() {
                    // A mount of its own, so that it cannot be moved out of the way.
                    places.put(dir, own);
                }
                match workspace.kind {
                    Kind::Clone => seal(places, &workspace.dir.join(".git"))?,
                    Kind::InPlace if own == Access::Writable => {
                        seal_in_place(places, workspace, &self.data.loop_temp(self.loop_id))?;
                    }
                    Kind::InPlace => {}
                }
            }
            (None, _) => {}
        }
        places.put(what.dir, access);
        let git_dir = what.dir.join(".git");
        // That of the judge's checkout is thrown away with the judgement, that of reviewers with the review.
        let sealed = self.workspace.as_ref().is_some_and(|workspace| workspace.dir == what.dir);
        if git_dir.is_dir() && what.judge.is_none() && !sealed {
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

/// A place of the agent's own. Without mounts there are no copies, so what would be one stays as it is.
fn own_place(places: &mut Places, private: &mut Private, place: &OwnPlace, copies: bool) -> Result<(), SandboxError> {
    let path = &place.path;
    match (place.kind, copies) {
        (PlaceKind::Root, true) => {
            if !private.covers(path) {
                let name = format!("own/{}", path.to_string_lossy().replace('/', "%"));
                private.replace(places, path, &name)?;
            }
        }
        (PlaceKind::Root | PlaceKind::Kept, _) => {
            private_dir(path).map_err(|source| SandboxError::Prepare { path: path.clone(), source })?;
            places.put(path, Access::Writable);
        }
        (PlaceKind::Login, true) if private.login(path) => {}
        (PlaceKind::Login, _) => places.put(path, Access::Writable),
        (PlaceKind::Copied, true) => private.copy(path),
        (PlaceKind::Copied, false) | (PlaceKind::Shown, _) => places.put(path, Access::ReadOnly),
        (PlaceKind::Layered, true) => private.layer(places, path)?,
        (PlaceKind::Fresh, true) => private.renew(places, path)?,
        (PlaceKind::Layered | PlaceKind::Fresh, false) => places.put(path, Access::Writable),
    }
    Ok(())
}

/// What agents of a loop may write outside the workspace and is there, with the name under which gates have it as it was
/// before. `env` is that of the loop's commands.
pub(crate) fn writable_by_agents(env: &BTreeMap<String, String>, state: &LoopState) -> Vec<(String, PathBuf)> {
    let home = env.get("HOME").map(PathBuf::from).filter(|home| home.parent().is_some());
    let paths = state.spec.sandbox.writable.iter().map(|path| from_home(path, home.as_deref()));
    paths.filter_map(|path| Some((private::one_name(&path), path.canonicalize().ok()?))).collect()
}

fn from_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ if path == "~" => home.map_or_else(|| path.into(), Path::to_owned),
        _ => path.into(),
    }
}
