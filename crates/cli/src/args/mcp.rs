//! `windlass mcp`.

use clap::Args;
use windlass_core::ids::TurnKey;

/// Serve tools to an agent over MCP, on standard input and output
///
/// Without flags it is for the agent you talk to yourself: start loops from a plan, look after them, cancel them. With
/// --loop and --turn it is what a loop gives its own agents; the engine starts that itself.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  claude mcp add windlass -- windlass mcp
  windlass -C ~/src/shop mcp")]
pub struct McpArgs {
    /// The id of the loop that the agent works in
    #[arg(long = "loop", value_name = "ID", requires = "turn")]
    pub loop_id: Option<String>,
    /// The agent's turn: ITERATION.ROLE.ATTEMPT
    #[arg(long, value_name = "KEY", requires = "loop_id")]
    pub turn: Option<TurnKey>,
}
