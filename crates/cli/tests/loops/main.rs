//! Whole loops with scripted agents, without a sandbox. `sandboxed` runs some of them again with this world.

mod acp;
mod agent_calls;
mod any_state;
mod api_coverage;
mod attempts;
mod audited_loop;
mod continuing;
mod control;
mod crash_sweep;
mod documented_commands;
mod documented_runs;
mod drain;
mod elsewhere;
mod first_run;
mod fleet;
mod forge;
mod goals;
mod goals_many;
mod group_ends;
mod held_back;
mod hidden_gates;
mod honesty;
mod hostile_agents;
mod judged_gates;
mod limits;
mod listing;
mod live_sessions;
mod log_lines;
mod manual_clock;
mod mcp_person;
mod mcp_turn;
mod merge_clean_work;
mod merge_queue;
mod milestone_loop;
mod minimise;
mod no_sandbox;
mod notify;
mod places;
mod promise_loop;
mod proof;
mod questions;
mod queue;
mod recipes;
mod redaction;
mod refine_gates;
mod refine_target;
mod residue;
mod resources;
mod reviewed_crash;
mod serve;
mod sessions;
mod shells;
mod signals;
mod signed_proof;
mod summariser;
mod terminal;
mod top;
mod tries;
mod trust;
mod usage_flags;
mod usage_reference;
mod verdict_gallery;
mod withheld_environment;

#[path = "../support/clocked.rs"]
mod clocked;
#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/receiver.rs"]
mod receiver;
#[path = "../support/reviewed.rs"]
mod reviewed;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/sweep.rs"]
mod sweep;
#[path = "../support/tools.rs"]
mod tools;

use windlass_testkit::World;

/// The world of the tests that also run in a sandbox.
fn world() -> World {
    World::new()
}
