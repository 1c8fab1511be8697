//! A server of tools: what is offered, what a call says, and where it is served.

use std::io::IsTerminal;
use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use windlass_app::Problem;
use windlass_engine::tools::Connection;

use super::protocol::{JsonObject, Tool, converse};
use crate::exit::Exit;
use crate::failure::Failure;

/// A set of tools.
#[async_trait]
pub trait Toolbox: Send + Sync + 'static {
    /// What the agent is told about all of them.
    fn instructions(&self) -> String;

    fn tools(&self) -> Vec<Tool>;

    /// `None` if there is no such tool.
    async fn call(&self, name: &str, input: JsonObject) -> Option<Told>;
}

/// In bytes; agents cut or refuse what is much longer.
pub const LONGEST_ANSWER: usize = 60_000;

/// What a tool says: its answer, or what went wrong.
pub type Told = Result<String, ToolError>;

/// What went wrong, for an agent to read.
#[derive(Debug)]
pub struct ToolError(pub String);

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        ToolError(failure.text())
    }
}

impl From<Problem> for ToolError {
    fn from(problem: Problem) -> Self {
        Failure::from(problem).into()
    }
}

impl ToolError {
    pub fn new(message: impl Into<String>) -> Self {
        ToolError(message.into())
    }
}

/// A tool as it is offered.
pub fn tool<Input: JsonSchema>(name: &'static str, description: &'static str) -> Tool {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Input>();
    Tool { name, description, input: schema.to_value() }
}

/// The input of a call.
pub fn input<Input: DeserializeOwned>(given: JsonObject) -> Result<Input, ToolError> {
    serde_json::from_value(serde_json::Value::Object(given))
        .map_err(|error| ToolError(format!("invalid input: {error}")))
}

/// Serves one connection until it closes.
pub async fn serve_on(tools: impl Toolbox, connection: Connection) {
    let Connection { read, write } = connection;
    if let Err(error) = converse(Arc::new(tools), Box::new(read), Box::new(write)).await {
        tracing::debug!(%error, "the connection of a turn's tools broke");
    }
}

/// Serves until standard input ends.
pub async fn serve(tools: impl Toolbox) -> Result<Exit, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("this command is an MCP server for programs; {HINT}; press Ctrl-D to exit");
    }
    converse(Arc::new(tools), Box::new(tokio::io::stdin()), Box::new(tokio::io::stdout())).await?;
    Ok(Exit::Completed)
}

const HINT: &str = "add it to an agent, for example: claude mcp add windlass -- windlass mcp";
