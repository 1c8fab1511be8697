//! Loops with the real agent CLIs against a scripted model, and with Docker. Each test reports it and passes where what it
//! needs is not installed.

mod conformance;
mod docker_agents;
mod docker_loops;
mod driven;
mod endings;
mod failing;
mod injection;
mod live_sessions;
mod mcp_claude;
mod table;
mod waiting;
mod working;

#[path = "../support/clocked.rs"]
mod clocked;
#[path = "../support/mod.rs"]
mod support;

use windlass_testkit::World;

fn world() -> World {
    World::new()
}
