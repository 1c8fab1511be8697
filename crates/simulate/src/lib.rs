//! Runs the real engine on simulated machines, from one seed, on one thread and without waiting.
//!
//! Real: the machine, the driver with its tasks, the group driver, leases, fencing, inbox and commands, journal and
//! catalogue. Simulated: time, disk, processes, git, agents, gates, people. `docs/simulation.md` has the whole list.

pub mod agent;
pub mod coverage;
pub mod dice;
pub mod explore;
pub mod groups;
pub mod invariants;
pub mod machine;
pub mod people;
pub mod run;
pub mod shrink;
pub mod sim;
pub mod specs;
pub mod store;
pub mod violation;
pub mod world;

pub use coverage::Coverage;
pub use dice::{Bug, Fault, Plan};
pub use run::{Outcome, run};
pub use shrink::shrink;
pub use violation::{Invariant, Violation};
