//! The tools for the agent that a person talks to.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};

use super::server::{Told, Toolbox};
use crate::context::Context;

#[derive(Debug)]
pub struct PersonTools {
    #[allow(dead_code)]
    context: Arc<Context>,
}

impl PersonTools {
    pub fn new(context: Arc<Context>) -> Self {
        Self { context }
    }
}

impl Toolbox for PersonTools {
    fn instructions(&self) -> String {
        String::new()
    }

    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }

    async fn call(&self, _name: &str, _input: JsonObject) -> Option<Told> {
        None
    }
}
