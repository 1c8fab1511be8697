//! This machine: its data directory, the engine on it, and who drives loops in the background.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::OnceCell;
use windlass_core::group::GroupStatus;
use windlass_core::group::tries::Tries;
use windlass_core::ids::LoopId;
use windlass_core::machine::LoopState;
use windlass_core::stop::Status;
use windlass_engine::engine::{Engine, Held};
use windlass_engine::groups::{AnyGroup, HeldGroup, TriesView};
use windlass_engine::journal;
use windlass_engine::view::LoopView;
use windlass_store::{LOOP, Listed};

use crate::context::Context;
use crate::problem::{Kind, Problem};

/// Drives loops while nobody watches: a server does it itself, a command starts or asks another process.
#[async_trait]
pub trait Background: fmt::Debug + Send + Sync {
    async fn take(&self, engine: &Arc<Engine>, held: Held) -> Result<(), Problem>;

    async fn take_group(&self, engine: &Arc<Engine>, held: AnyGroup) -> Result<(), Problem>;
}

/// A loop that was opened and that nobody drives yet.
#[derive(Debug)]
pub struct Opened {
    pub engine: Arc<Engine>,
    pub held: Held,
    /// The number of the last event before that.
    pub seen: u64,
    /// What the user should know before it starts.
    pub notes: Vec<String>,
}

#[derive(Debug)]
pub struct Local {
    pub context: Context,
    background: Arc<dyn Background>,
    writer: OnceCell<Arc<Engine>>,
    reader: OnceCell<Arc<Engine>>,
}

impl Local {
    pub fn new(context: Context, background: Arc<dyn Background>) -> Self {
        Self { context, background, writer: OnceCell::new(), reader: OnceCell::new() }
    }

    /// The same on an engine that is open already.
    pub fn on(context: Context, engine: Arc<Engine>, background: Arc<dyn Background>) -> Self {
        let writer = OnceCell::new_with(Some(engine));
        Self { context, background, writer, reader: OnceCell::new() }
    }

    /// The same once more, on an engine of it.
    pub(crate) fn again(&self, engine: &Arc<Engine>) -> Self {
        Self::on(self.context.clone(), Arc::clone(engine), Arc::clone(&self.background))
    }

    /// The engine, able to write.
    pub async fn engine(&self) -> Result<Arc<Engine>, Problem> {
        Ok(Arc::clone(self.writer.get_or_try_init(|| self.context.engine()).await?))
    }

    /// The engine for looking only: works where nothing may be written. `None` when there is no database yet.
    pub async fn reader(&self) -> Result<Option<Arc<Engine>>, Problem> {
        if let Some(engine) = self.writer.get() {
            return Ok(Some(Arc::clone(engine)));
        }
        if let Some(engine) = self.reader.get() {
            return Ok(Some(Arc::clone(engine)));
        }
        // That there is no database is not remembered: another process may make one.
        let Some(engine) = self.context.reader().await? else { return Ok(None) };
        Ok(Some(Arc::clone(self.reader.get_or_init(|| async { engine }).await)))
    }

    /// The same, where there has to be a loop.
    pub async fn readable(&self) -> Result<Arc<Engine>, Problem> {
        let none = || Problem::refused("no loops yet", "start one with `windlass run`, or try `windlass demo`");
        self.reader().await?.ok_or_else(none)
    }

    /// As if the request was made in that directory, with the root of its repository.
    pub async fn at(&self, project: &str) -> Result<(Context, PathBuf), Problem> {
        let dir = Path::new(project);
        if !dir.is_absolute() || !dir.is_dir() {
            return Err(Problem::new(Kind::Invalid, format!("directory {} does not exist", dir.display()))
                .field("project")
                .hint("use the absolute path of the project"));
        }
        let context = self.context.at(dir);
        let root = context.project().await.map_err(|problem| problem.invalid().field("project"))?;
        Ok((context, root))
    }

    /// As if the request was made in that directory, which need not be in a repository.
    pub fn there(&self, project: Option<&str>) -> Result<Context, Problem> {
        let Some(said) = project.filter(|said| !said.is_empty()) else { return Ok(self.context.clone()) };
        let path = Path::new(said);
        if path.is_absolute() && path.is_dir() {
            return Ok(self.context.at(path));
        }
        Err(Problem::new(Kind::Invalid, "the project is not a directory on this machine")
            .field("project")
            .hint("use its absolute path"))
    }

    /// A loop by its id.
    pub async fn found(&self, id: &str) -> Result<Listed, Problem> {
        let engine = self.readable().await?;
        let listed = engine.store.get(id).await?.ok_or_else(|| Problem::no_loop(id))?;
        if listed.entry.kind != LOOP {
            return Err(Problem::group(&listed.entry));
        }
        settled(&engine, listed).await
    }

    pub async fn state_of(&self, id: &str) -> Result<LoopState, Problem> {
        let engine = self.readable().await?;
        let id = LoopId(self.found(id).await?.entry.id);
        Ok(journal::load(engine.store.as_ref(), &id).await?)
    }

    /// Holds a loop for the time of some work, so that nobody drives it meanwhile.
    pub(crate) async fn held<T>(
        &self,
        id: &str,
        work: impl AsyncFnOnce(&Arc<Engine>, &mut Held) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let engine = self.engine().await?;
        let mut held = engine.take(&LoopId(self.found(id).await?.entry.id)).await?;
        let done = work(&engine, &mut held).await;
        engine.release(held).await?;
        done
    }

    /// Leaves opened tries to the background.
    pub async fn hand_tries(&self, engine: &Arc<Engine>, held: HeldGroup<Tries>) -> Result<TriesView, Problem> {
        let view = TriesView::of(&held.state);
        self.hand_group(engine, AnyGroup::Tries(Box::new(held))).await?;
        Ok(view)
    }

    /// Leaves a group to the background, if there is anything to drive.
    pub async fn hand_group(&self, engine: &Arc<Engine>, held: AnyGroup) -> Result<(), Problem> {
        match held.row().status {
            GroupStatus::Running => self.background.take_group(engine, held).await,
            GroupStatus::Paused | GroupStatus::Ended(_) => Ok(held.release(engine).await?),
        }
    }

    /// Leaves an opened loop to the background, if there is anything to drive.
    pub async fn hand(&self, opened: Opened) -> Result<LoopView, Problem> {
        let Opened { engine, held, .. } = opened;
        let view = LoopView::of(&held.state);
        match held.state.status() {
            Status::Running | Status::Waiting { .. } => self.background.take(&engine, held).await?,
            Status::Queued | Status::Paused { .. } | Status::Ended { .. } => engine.release(held).await?,
        }
        Ok(view)
    }
}

/// A row of the catalogue as it is now. A driver's last act is to write the end and to leave, so a loop whose driver is
/// gone is looked up again before it counts as interrupted.
pub(crate) async fn settled(engine: &Engine, listed: Listed) -> Result<Listed, Problem> {
    let gone = listed.holder.is_some() && !listed.is_driven();
    if !gone {
        return Ok(listed);
    }
    let again = engine.store.get(&listed.entry.id).await?;
    Ok(again.unwrap_or(listed))
}
