//! Tools for agents, over MCP on standard input and output.
//!
//! Two servers: one for the agent of a loop's turn, which acts through the loop's driver, and one for the agent that a
//! person talks to. What goes wrong in a tool is told as that tool's error; nothing of it ends the process.

mod execute;
mod findings;
mod own;
mod person;
mod sections;
mod server;
mod turn;

use std::sync::Arc;

use windlass_core::ids::LoopId;

use crate::args::McpArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use turn::Whose;

pub async fn serve(context: Context, args: &McpArgs) -> Result<Exit, Failure> {
    let context = Arc::new(context);
    let whose = args.turn.map(Whose::Turn).or(args.role.map(Whose::Role));
    match (&args.loop_id, whose) {
        (Some(id), Some(whose)) => server::serve(turn::TurnTools::new(context, LoopId(id.clone()), whose)).await,
        (None, _) | (_, None) => server::serve(person::PersonTools::new(context)).await,
    }
}
