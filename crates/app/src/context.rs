//! What every request starts from: the environment, the paths, the project, the engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::sandbox::DockerSpec;
use windlass_engine::clock::SystemClock;
use windlass_engine::config::{self, Environment, Options, Paths, Sandbox, SandboxSupport, Settings};
use windlass_engine::data::DataDir;
use windlass_engine::engine::Engine;
use windlass_engine::sandbox::docker;
use windlass_engine::tools::ToolServer;
use windlass_store::{Access, SqliteStore, StoreError};
use windlass_supervise::{Launcher, Unavailable};
use windlass_workspace::Workspaces;

use crate::problem::{Kind, Problem};

#[derive(Debug, Clone)]
pub struct Context {
    pub env: Environment,
    pub cwd: PathBuf,
    pub paths: Paths,
    /// Who serves the tools of turns.
    tools: Option<Arc<dyn ToolServer>>,
    /// Where warnings go that belong to no report.
    warn: fn(&str),
}

impl Context {
    /// `dir` is what `-C` says.
    pub fn new(dir: Option<&Path>) -> Result<Self, Problem> {
        let here = std::env::current_dir().map_err(|error| {
            Problem::refused(format!("cannot use the current directory: {error}"), "change to an existing directory")
        })?;
        let cwd = match dir {
            Some(dir) => here.join(dir).canonicalize().map_err(|error| {
                Problem::refused(format!("cannot change to {}: {error}", dir.display()), "use an existing directory")
            })?,
            None => here,
        };
        if !cwd.is_dir() {
            return Err(Problem::refused(format!("{} is not a directory", cwd.display()), "use -C with a directory"));
        }
        let env = Environment::new(std::env::vars_os());
        let paths = Paths::from_env(&env, &cwd)?;
        Ok(Self { env, cwd, paths, tools: None, warn: |text| tracing::warn!("{text}") })
    }

    /// The same, for a process that serves tools to the agents of its loops.
    #[must_use]
    pub fn with_tools(self, tools: Arc<dyn ToolServer>) -> Self {
        Self { tools: Some(tools), ..self }
    }

    /// The same, with its warnings shown to somebody.
    #[must_use]
    pub fn with_warnings(self, warn: fn(&str)) -> Self {
        Self { warn, ..self }
    }

    pub fn warn(&self, text: &str) {
        (self.warn)(text);
    }

    /// The same, as if started in another directory.
    pub fn at(&self, dir: &Path) -> Self {
        Self { cwd: dir.to_owned(), ..self.clone() }
    }

    pub fn data(&self) -> DataDir {
        DataDir::at(&self.paths.data)
    }

    pub fn workspaces(&self) -> Result<Workspaces, Problem> {
        Workspaces::from_env().map_err(|error| {
            let hint = error.hint();
            Problem { hint, ..Problem::new(Kind::Failed, error.to_string()) }
        })
    }

    /// The root of the checkout we are in; an error if there is none.
    pub async fn project(&self) -> Result<PathBuf, Problem> {
        Ok(self.workspaces()?.project_root(&self.cwd).await?)
    }

    /// The same, where a command also makes sense elsewhere.
    pub async fn project_if_any(&self) -> Option<PathBuf> {
        self.project().await.ok()
    }

    pub fn settings(&self, project: Option<&Path>, flags: Options) -> Result<Settings, Problem> {
        Ok(config::load(&self.paths, project, &self.env, flags)?)
    }

    /// What this machine can do to keep agents in; looked up only where it matters.
    pub fn sandbox(&self, settings: &Settings) -> SandboxSupport {
        match settings.sandbox.value {
            Some(Sandbox::Off) => return SandboxSupport::Unknown,
            Some(Sandbox::Docker) => {
                return match self.docker(settings) {
                    Ok(docker) => SandboxSupport::Docker(docker),
                    Err(missing) => SandboxSupport::Missing { reason: missing.reason, fix: missing.fix },
                };
            }
            Some(Sandbox::Auto | Sandbox::Workspace | Sandbox::ReadOnly) | None => {}
        }
        match windlass_supervise::probe_sandbox(&self.search_path()) {
            Ok(backend) => SandboxSupport::Works { backend: backend.name().to_owned() },
            Err(missing) => SandboxSupport::Missing { reason: missing.reason, fix: missing.fix },
        }
    }

    /// The container that the settings request, tried.
    pub fn docker(&self, settings: &Settings) -> Result<DockerSpec, Unavailable> {
        let env = self.env.texts();
        let socket = docker::socket(settings.docker_host.value.as_deref(), &env)?;
        docker::probe(&config::asked_container(settings, &socket), &env)
    }

    pub fn search_path(&self) -> String {
        self.env.texts().remove("PATH").unwrap_or_default()
    }

    /// The engine, able to write.
    pub async fn engine(&self) -> Result<Arc<Engine>, Problem> {
        let store = SqliteStore::open(self.data().database(), Access::ReadWrite)?;
        if let Err(error) = self.data().close_to_others() {
            self.warn(&format!(
                "{} is accessible to other users, and its permissions cannot be changed: {error}",
                self.paths.data.display()
            ));
        }
        self.engine_on(store)
    }

    /// The engine for looking only: works where nothing may be written. `None` when there is no database yet.
    pub async fn reader(&self) -> Result<Option<Arc<Engine>>, Problem> {
        match SqliteStore::open(self.data().database(), Access::ReadOnly) {
            Ok(store) => Ok(Some(self.engine_on(store)?)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn engine_on(&self, store: SqliteStore) -> Result<Arc<Engine>, Problem> {
        let own_program = std::env::current_exe()?;
        let engine = Engine::new(
            Arc::new(store),
            self.data(),
            Arc::new(SystemClock),
            Launcher::current()?,
            self.workspaces()?,
            self.agent_env(),
            own_program,
        );
        // Settings that cannot be read are reported by whoever needs them.
        if let Some(max) = self.settings(None, Options::default()).ok().and_then(|user| user.max_running.value) {
            engine.places.limit(max.get());
        }
        if let Some(tools) = &self.tools {
            engine.offer_tools(Arc::clone(tools));
        }
        Ok(Arc::new(engine))
    }

    fn agent_env(&self) -> BTreeMap<String, String> {
        self.env.texts()
    }
}

/// An agent cannot trust what it wrote.
pub fn refuse_agents(context: &Context) -> Result<(), Problem> {
    let env = context.env.texts();
    if env.contains_key("WINDLASS_TURN") || env.contains_key("WINDLASS_LOOP") {
        return Err(Problem::refused("agents in a loop cannot trust commands", "ask a user to run this command"));
    }
    Ok(())
}
