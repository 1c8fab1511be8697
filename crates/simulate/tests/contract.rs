//! The simulated store, while no fault happens, keeps to the contract of all stores.

#[path = "../../store/tests/store/contract.rs"]
mod contract;
#[path = "../../store/tests/store/support.rs"]
mod support;

use std::sync::Arc;

use contract::each_story;
use windlass_simulate::Plan;
use windlass_simulate::store::SimStore;
use windlass_simulate::world::{Life, Process, World};
use windlass_store::MemoryStore;

fn store() -> Arc<SimStore> {
    let world = World::new(Plan::default(), false);
    let process = Process {
        machine: 0,
        life: Life::Running,
        turned: Arc::default(),
        leaving: false,
        leave: Vec::new(),
        engine: std::sync::Weak::new(),
    };
    world.lock().dice.calm = true;
    world.lock().processes.insert(1, process);
    Arc::new(SimStore { world, memory: Arc::new(MemoryStore::new()), process: 1 })
}

macro_rules! against_simulation {
    ($($story:ident)*) => {
        $(#[tokio::test(flavor = "multi_thread")]
        async fn $story() {
            contract::$story(store()).await;
        })*
    };
}
each_story!(against_simulation);
