//! The simulated world with the engines that run on it: processes are started, and loops are made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, Input, LoopState, Opener, Raise, decide, evolve};
use windlass_core::spec::LoopSpec;
use windlass_engine::data::DataDir;
use windlass_engine::engine::{Engine, EngineError};
use windlass_engine::journal;
use windlass_engine::view::catalogue_entry;
use windlass_store::{Create, MemoryStore, StoreError};
use windlass_supervise::Launcher;
use windlass_workspace::Workspaces;
use windlass_workspace::git::GitHost;

use crate::dice::{Plan, Stream};
use crate::machine::{SimMachine, new_workspace};
use crate::store::SimStore;
use crate::world::{Life, Process, SimClock, World};

/// What all simulated processes are made of.
#[derive(Debug)]
pub struct Sim {
    pub world: Arc<World>,
    pub memory: Arc<MemoryStore>,
    next: Mutex<u64>,
    workspaces: Workspaces,
}

/// A process with its engine.
#[derive(Debug)]
pub struct Started {
    pub number: u64,
    pub engine: Arc<Engine>,
}

/// Kills a user's process when its user is gone, also in the middle of a command: a process that nobody runs any more holds no lease.
#[derive(Debug)]
pub struct WithItsUser<'a> {
    world: &'a World,
    process: u64,
}

impl Drop for WithItsUser<'_> {
    fn drop(&mut self) {
        self.world.kill(self.process);
    }
}

impl Started {
    pub fn ends_with_its_user<'a>(&self, sim: &'a Sim) -> WithItsUser<'a> {
        WithItsUser { world: &sim.world, process: self.number }
    }
}

impl Sim {
    /// Inside of a runtime whose time is simulated. `None` if git is not installed.
    pub fn new(plan: &Plan, tells: bool) -> Option<Arc<Self>> {
        // Git is never started; it is only found.
        let host = GitHost::from_env().ok()?;
        Some(Arc::new(Self {
            world: World::new(plan.clone(), tells),
            memory: Arc::new(MemoryStore::new()),
            next: Mutex::new(0),
            workspaces: Workspaces::new(host),
        }))
    }

    pub fn start(&self, machine: u64) -> Started {
        let number = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            *next += 1;
            *next
        };
        let world = Arc::clone(&self.world);
        let store = SimStore { world: Arc::clone(&world), memory: Arc::clone(&self.memory), process: number };
        let clock = SimClock { world: Arc::clone(&world), process: number };
        let engine = Engine::new(
            Arc::new(store),
            // Nothing can be written there: only the log of a loop would be, which is not simulated.
            DataDir::at("/dev/null/simulated"),
            Arc::new(clock),
            Launcher::new("/dev/null/shim"),
            self.workspaces.clone(),
            BTreeMap::new(),
            "/dev/null/windlass".into(),
        );
        let engine = Arc::new(engine.on(Arc::new(SimMachine { world: Arc::clone(&world), process: number, machine })));
        let process = Process {
            machine,
            life: Life::Running,
            turned: Arc::default(),
            leaving: false,
            leave: Vec::new(),
            engine: Arc::downgrade(&engine),
        };
        world.lock().processes.insert(number, process);
        Started { number, engine }
    }

    pub fn state(&self, id: &str) -> Option<LoopState> {
        self.world.lock().journals.get(id)?.state.clone()
    }

    pub fn throw(&self, stream: Stream, sides: u64) -> u64 {
        self.world.lock().dice.throw(stream, sides)
    }
}

/// Makes a loop as `Engine::create` does, with a simulated workspace. Nobody holds it.
pub async fn create_loop(sim: &Sim, engine: &Engine, id: &str, spec: LoopSpec, machine: u64) -> Result<(), StoreError> {
    let now = engine.clock.now();
    *sim.world.lock().coverage.recipes.entry(spec.recipe.clone()).or_default() += 1;
    let created = Event::LoopCreated {
        id: LoopId(id.to_owned()),
        name: id.to_owned(),
        project: "/dev/null/project".into(),
        spec: Box::new(spec),
    };
    let Some(mut state) = LoopState::created(now, &created) else { return Ok(()) };
    let mut events = vec![created];
    let mut take = |state: &mut LoopState, input: &Input| {
        for event in decide(state, input, now).unwrap_or_default() {
            *state = evolve(state.clone(), now, &event);
            events.push(event);
        }
    };
    take(&mut state, &Input::Open { by: Opener::Start, raise: Raise::default() });
    let opening = {
        let mut world = sim.world.lock();
        new_workspace(world.repos.entry(id.to_owned()).or_default(), machine)
    };
    take(&mut state, &Input::WorkspaceOpened { opening });
    let events = events.iter().map(|event| journal::encode(now, event)).collect();
    engine.store.create(Create { entry: catalogue_entry(&state), events, holder: None }).await.map(drop)
}

pub fn causes(error: &EngineError) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
