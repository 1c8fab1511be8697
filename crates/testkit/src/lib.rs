//! What tests of Windlass stand on: a hermetic [`World`] and an agent that plays a script.
//!
//! ```no_run
//! use windlass_testkit::World;
//!
//! let world = World::new();
//! let agent = world.script(r#"
//!     [[turn]]
//!     steps = [{ write = { path = "a.txt", content = "hello\n" } }, { say = "<promise>COMPLETE</promise>" }]
//! "#);
//! let mut windlass = world.windlass(std::path::Path::new("target/debug/windlass"));
//! windlass.args(["run", "say hello", "--agent-command", &agent.command_line()]);
//! world.run(windlass).assert_code(0);
//! assert_eq!(agent.turns().len(), 1);
//! ```
//!
//! Invariants: nothing here is a dependency of shipped code, nothing synchronises by sleeping, and no
//! process that a test started outlives its [`World`].

mod agent;
pub mod clis;
pub mod docker;
mod mcp;
pub mod model;
pub mod neutral;
mod output;
mod process;
mod records;
mod repo;
mod running;
pub mod script;
pub mod soak;
mod terminal;
pub mod watch;
mod world;

pub use agent::{ScriptedAgent, mcp_probe, scripted_agent};
pub use mcp::{Mcp, ToolAnswer};
pub use neutral::{ErrorKind, NeutralEvent};
pub use output::Output;
pub use process::{Process, ProcessId, alive, processes_with_env, wait_dead};
pub use records::{Leftover, Records, TurnId, TurnStart};
pub use repo::{Commit, Repo};
pub use running::{Running, Stream};
pub use terminal::{run_in_terminal, type_in_terminal};
pub use world::{TAG, World, sandbox_works};

use std::time::Duration;

/// How long any wait of a test may take before the test is called hung. Generous on purpose: it never decides
/// whether a test passes, only when a broken one is given up.
pub const HUNG: Duration = Duration::from_secs(300);
