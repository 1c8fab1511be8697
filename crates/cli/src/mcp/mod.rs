//! Tools for agents, over MCP.
//!
//! Two servers: one for the agent of a loop's turn, served by the loop's driver on a socket of that turn, and one for the
//! agent that a user talks to, on standard input and output. What goes wrong in a tool is told as that tool's error;
//! nothing of it ends the process.

mod execute;
mod findings;
mod own;
mod person;
mod protocol;
mod relay;
mod sections;
mod server;
mod turn;

use windlass_app::App;

use crate::exit::Exit;
use crate::failure::Failure;

pub use relay::{relay, socket};
pub use turn::ToolsOfTurns;

pub async fn serve(app: App) -> Result<Exit, Failure> {
    server::serve(person::PersonTools::new(app)?).await
}
