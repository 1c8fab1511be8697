//! `windlass mcp`.

use clap::Args;

/// Run an MCP server on standard input and output
///
/// Lets your own coding agent start, monitor, and cancel loops. If an agent starts it during a turn of a reviewed loop,
/// it offers only the tools of that turn.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  windlass mcp
  windlass -C ~/src/shop mcp

To add it to Claude Code: claude mcp add windlass -- windlass mcp")]
pub struct McpArgs {}
