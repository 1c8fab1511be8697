//! `windlass mcp`.

use clap::Args;

/// Serve tools to an agent over MCP, on standard input and output
///
/// It is for the agent you talk to yourself: start loops from a plan, look after them, cancel them. Started by an agent
/// in a turn of a reviewed loop it offers the tools of that turn instead, and nothing else.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass mcp
  windlass -C ~/src/shop mcp

Claude Code takes it with: claude mcp add windlass -- windlass mcp")]
pub struct McpArgs {}
