//! The protocol, once for all tools: what is offered, a call, its answer or its error.

use std::future::Future;
use std::io::IsTerminal;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::schemars::JsonSchema;
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use windlass_app::Problem;
use windlass_engine::tools::Connection;

use crate::exit::Exit;
use crate::failure::Failure;

/// A set of tools.
pub trait Toolbox: Send + Sync + 'static {
    /// What the agent is told about all of them.
    fn instructions(&self) -> String;

    fn tools(&self) -> Vec<Tool>;

    /// `None` if there is no such tool.
    fn call(&self, name: &str, input: JsonObject) -> impl Future<Output = Option<Told>> + Send;
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
pub fn tool<Input: JsonSchema + 'static>(name: &'static str, description: &'static str) -> Tool {
    let schema = rmcp::handler::server::tool::schema_for_type::<Input>();
    Tool::new(name, description, schema)
}

/// The input of a call.
pub fn input<Input: DeserializeOwned>(given: JsonObject) -> Result<Input, ToolError> {
    serde_json::from_value(serde_json::Value::Object(given))
        .map_err(|error| ToolError(format!("invalid input: {error}")))
}

#[derive(Debug)]
struct Server<Tools>(Arc<Tools>);

impl<Tools: Toolbox> ServerHandler for Server<Tools> {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("windlass", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(self.0.instructions());
        info
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.tools()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let told = self.0.call(&call.name, call.arguments.unwrap_or_default()).await;
        let Some(told) = told else {
            return Err(ErrorData::invalid_params(format!("unknown tool {}", call.name.escape_debug()), None));
        };
        let result = match told {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(ToolError(text)) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}

/// Serves one connection until it closes.
pub async fn serve_on(tools: impl Toolbox, connection: Connection) {
    let Connection { read, write } = connection;
    match Server(Arc::new(tools)).serve((read, write)).await {
        Ok(running) => drop(running.waiting().await),
        Err(error) => tracing::debug!(%error, "the client disconnected before initialization"),
    }
}

/// Serves until standard input ends.
pub async fn serve(tools: impl Toolbox) -> Result<Exit, Failure> {
    if std::io::stdin().is_terminal() {
        eprintln!("this command is an MCP server for programs; {HINT}; press Ctrl-D to exit");
    }
    let running = match Server(Arc::new(tools)).serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        // Who leaves before saying hello wants nothing.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(Exit::Completed),
        Err(error) => return Err(Failure::usage(format!("no MCP client connected: {error}"), HINT)),
    };
    match running.waiting().await {
        Ok(_) => Ok(Exit::Completed),
        Err(error) => Err(std::io::Error::other(error).into()),
    }
}

const HINT: &str = "add it to an agent, for example: claude mcp add windlass -- windlass mcp";
