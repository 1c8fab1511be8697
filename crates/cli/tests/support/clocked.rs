//! The engine in the test's own process, on a clock that is moved by hand; processes, git and SQLite are real.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState};
use windlass_engine::clock::ManualClock;
use windlass_engine::config::{self, Environment, Options, Paths, RunOptions, resolve_spec};
use windlass_engine::data::DataDir;
use windlass_engine::driver::Left;
use windlass_engine::engine::{Engine, Held};
use windlass_engine::journal;
use windlass_engine::loops::{Driving, NewLoop};
use windlass_engine::trust;
use windlass_store::{Access, SqliteStore};
use windlass_supervise::Launcher;
use windlass_testkit::World;
use windlass_workspace::Workspaces;

use crate::support::binary;

/// An engine as a process would have it.
pub fn engine(world: &World, clock: &ManualClock) -> Arc<Engine> {
    let data = DataDir::at(world.data_dir());
    let store = SqliteStore::open(data.database(), Access::ReadWrite).unwrap();
    let env = environment(world).texts();
    Arc::new(Engine::new(
        Arc::new(store),
        data,
        Arc::new(clock.clone()),
        Launcher::new(binary()),
        Workspaces::from_env().unwrap(),
        env,
        binary().to_owned(),
    ))
}

fn environment(world: &World) -> Environment {
    let command = world.command("true");
    Environment::new(command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))))
}

/// A loop called `work`, with the settings of the world and these; without an agent among them it is this command.
pub async fn create(engine: &Arc<Engine>, world: &World, agent_command: Option<String>, options: Options) -> Held {
    let env = environment(world);
    let project: PathBuf = world.repo().path().to_owned();
    let paths = Paths::from_env(&env, &project).unwrap();
    let settings = config::load(&paths, Some(&project), &env, options).unwrap();
    let run = RunOptions {
        goal: "do the work".to_owned(),
        name: "work".to_owned(),
        agent_command: agent_command.filter(|_| settings.agent.value.is_none()),
        cwd: project.clone(),
        project_root: project.clone(),
        ..RunOptions::default()
    };
    let spec = resolve_spec(&settings, &run).unwrap().spec;
    let demands = trust::of_loop(&engine.data, &engine.workspaces, &project, &settings, &spec).await.unwrap();
    let new = NewLoop {
        id: None,
        consent: demands.granted().expect("nothing is demanded, or it was agreed to"),
        project,
        name: "work".to_owned(),
        numbered: false,
        spec,
        branch_template: "windlass/{name}".to_owned(),
    };
    engine.create(new).await.unwrap()
}

/// A loop under way, whose journal can be waited for.
pub struct Watched {
    engine: Arc<Engine>,
    pub id: LoopId,
    pub driving: Driving,
    shutdown: watch::Sender<bool>,
}

impl Watched {
    pub fn drive(engine: &Arc<Engine>, held: Held) -> Watched {
        let (shutdown, asked) = watch::channel(false);
        let id = held.state.id.clone();
        let driving = engine.drive(held, asked).unwrap();
        Watched { engine: Arc::clone(engine), id, driving, shutdown }
    }

    pub async fn events(&self) -> Vec<Event> {
        let stored = self.engine.store.read(&self.id.0, 0, 10_000).await.unwrap();
        stored.iter().map(|one| journal::decode(&self.id, one).unwrap()).collect()
    }

    /// Waits until so many events are as described.
    pub async fn until(&mut self, count: usize, is: impl Fn(&Event) -> bool) {
        let waiting = async {
            while self.events().await.iter().filter(|event| is(event)).count() < count {
                self.driving.news.changed().await.expect("the driver has left before that");
            }
        };
        tokio::time::timeout(windlass_testkit::HUNG, waiting).await.expect("it never happens");
    }

    pub async fn state(&self) -> LoopState {
        journal::load(self.engine.store.as_ref(), &self.id).await.unwrap()
    }

    /// Waits until the loop rests.
    pub async fn rested(self) -> LoopState {
        let left = tokio::time::timeout(windlass_testkit::HUNG, self.driving.ended()).await.expect("it never rests");
        assert_eq!(left.unwrap(), Left::Settled);
        journal::load(self.engine.store.as_ref(), &self.id).await.unwrap()
    }

    /// Leaves as a process that is told to.
    pub async fn leave(self) -> LoopState {
        self.shutdown.send_replace(true);
        let left = tokio::time::timeout(windlass_testkit::HUNG, self.driving.ended()).await.expect("it never leaves");
        assert_eq!(left.unwrap(), Left::ShutDown);
        journal::load(self.engine.store.as_ref(), &self.id).await.unwrap()
    }
}
