//! Reviewed loops whose turns wait for the test, and the tools of those turns.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::PathBuf;
use std::process::Command;

use windlass_core::ids::LoopId;
use windlass_engine::data::DataDir;
use windlass_testkit::{Mcp, Running, ScriptedAgent, World};

use crate::support::{status, windlass};

/// An agent whose n-th turn says that it is there (`there-n`), waits (`go-n`), does the n-th steps, and speaks.
pub fn waiting_agent(world: &World, turns: &[&str]) -> ScriptedAgent {
    let turns: Vec<String> = turns
        .iter()
        .enumerate()
        .map(|(index, steps)| {
            let n = index + 1;
            format!("[[turn]]\nsteps = [{{ touch = \"there-{n}\" }}, {{ wait_for = \"go-{n}\" }}, {steps} {{ say = \"Done.\" }}]\n")
        })
        .collect();
    world.script(&turns.concat())
}

/// An agent that writes a line more in every turn.
pub fn working_agent(world: &World) -> ScriptedAgent {
    world.script(
        "[[turn]]\nsteps = [{ append = { path = \"out.txt\", content = \"line {{count}}\\n\" } }, { say = \"Done.\" }]",
    )
}

/// Starts a loop called `work` of this recipe.
pub fn start(world: &World, recipe: &str, coder: &ScriptedAgent, reviewer: &ScriptedAgent, more: &[&str]) -> Running {
    let (coder, reviewer) = (coder.command_line(), reviewer.command_line());
    let mut args = vec!["run", "do the work", "--name", "work", "--recipe", recipe, "--session", "fresh"];
    args.extend(["--commit", "engine", "--agent-command", &coder, "--reviewer-command", &reviewer]);
    args.extend(more);
    world.start(windlass(world, &args))
}

/// The tools of the turn of `work` that is running in this role, as its agent would start them.
#[track_caller]
pub fn tools_of(world: &World, role: &str) -> Mcp {
    Mcp::start(mcp_of(world, role))
}

pub fn mcp_of(world: &World, role: &str) -> Command {
    let mut command = windlass(world, &["mcp"]);
    // All that the relay needs is the socket.
    command.env("WINDLASS_MCP_SOCKET", socket_of(world, role)).env("WINDLASS_HOME", "/nowhere").env_remove("HOME");
    command
}

/// Where the agent of a role in `work` reaches its tools.
#[track_caller]
pub fn socket_of(world: &World, role: &str) -> PathBuf {
    let id = status(world, "work")["id"].as_str().expect("a loop has an id").to_owned();
    DataDir::at(world.data_dir()).tool_socket(&LoopId(id), role.parse().expect("a role"))
}
