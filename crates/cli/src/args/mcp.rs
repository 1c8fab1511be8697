//! `windlass mcp`.

use clap::Args;
use windlass_core::ids::{Role, TurnKey};

/// Serve tools to an agent over MCP, on standard input and output
///
/// Without flags it is for the agent you talk to yourself: start loops from a plan, look after them, cancel them. With
/// --loop it is what a loop gives its own agents; the engine starts that itself.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass mcp
  windlass -C ~/src/shop mcp

Claude Code takes it with: claude mcp add windlass -- windlass mcp")]
pub struct McpArgs {
    /// The id of the loop that the agent works in
    #[arg(long = "loop", value_name = "ID", requires = "whose")]
    pub loop_id: Option<String>,
    /// The agent's role: whichever turn of it is under way
    #[arg(long, group = "whose", requires = "loop_id")]
    pub role: Option<Role>,
    /// One turn and no other: ITERATION.ROLE.ATTEMPT
    #[arg(long, value_name = "KEY", group = "whose", requires = "loop_id")]
    pub turn: Option<TurnKey>,
}
