//! Adding the profile of an agent to the user's settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_agents::Facts;
use windlass_agents::TEMPLATES;
use windlass_core::ids::is_valid_name;
use windlass_core::profile::AgentProfile;
use windlass_engine::config::{self, Options, Origin};

use crate::context::refuse_agents;
use crate::local::Local;
use crate::problem::{Kind, Problem};
use crate::request::Request;

use super::find_program;

/// Writes the profile of an agent into the user's settings file.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AddAgent {
    pub name: String,
    /// Program and arguments, for an agent that Windlass has no template of.
    pub command: Vec<String>,
    /// Write the profile. Without it nothing is written.
    pub write: bool,
}

/// The profile of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AddedAgent {
    pub name: String,
    /// The user's settings file.
    pub file: String,
    /// What is added to it.
    pub text: String,
    pub written: bool,
    /// Whether it comes from a template, which Windlass was not tried with.
    pub template: bool,
    pub installed: bool,
    pub install: Option<String>,
    pub login: Option<String>,
}

impl Request for AddAgent {
    type Report = AddedAgent;
    const NAME: &'static str = "add_agent";

    async fn perform(self, here: &Local) -> Result<AddedAgent, Problem> {
        let context = &here.context;
        let settings = context.settings(None, Options::default()).map_err(Problem::invalid)?;
        if let Some(known) = settings.agents.get(&self.name) {
            let (message, hint) = if known.origins.is_empty() {
                ("is built in", format!("change single fields of it: `windlass config edit`, [agents.{}]", self.name))
            } else {
                ("is in your settings already", "change it with `windlass config edit`".to_owned())
            };
            return Err(Problem::refused(format!("the agent '{}' {message}", self.name), hint));
        }
        let template = TEMPLATES.iter().find(|(name, _)| *name == self.name).map(|(_, text)| *text);
        let text = match (template, self.command.is_empty()) {
            (Some(text), true) => text.to_owned(),
            (_, false) => own(&self.name, &self.command)?,
            (None, true) => return Err(unknown(&self.name)),
        };
        let path = &context.paths.user_config;
        let origin = |path, line| Origin::UserFile { path, line };
        let profile = config::profile_in(&self.name, &text)?;
        if self.write {
            refuse_agents(context)?;
            config::append(path, &text, origin)?;
        }
        Ok(report(here, &self, &profile, text, template.is_some() && self.command.is_empty()))
    }
}

fn report(here: &Local, asked: &AddAgent, profile: &AgentProfile, text: String, template: bool) -> AddedAgent {
    let facts = Facts::of(profile);
    let program = profile.command.first().cloned().unwrap_or_default();
    AddedAgent {
        name: asked.name.clone(),
        file: here.context.paths.user_config.display().to_string(),
        text,
        written: asked.write,
        template,
        installed: find_program(&here.context, None, &program).is_some(),
        install: facts.install,
        login: facts.login,
    }
}

fn unknown(name: &str) -> Problem {
    let known: Vec<&str> = TEMPLATES.iter().map(|(name, _)| *name).collect();
    let hint = format!(
        "give its command, such as --command \"{} --print\"; there are templates for {}",
        if is_valid_name(name) { name } else { "my-agent" },
        known.join(", ")
    );
    Problem::new(Kind::Invalid, format!("there is no template for '{}'", name.escape_debug())).field("name").hint(hint)
}

/// The least profile, with the fields that a person would look for next.
fn own(name: &str, command: &[String]) -> Result<String, Problem> {
    if !is_valid_name(name) {
        let message = format!("'{}' cannot be the name of an agent", name.escape_debug());
        return Err(Problem::new(Kind::Invalid, message)
            .field("name")
            .hint("use a-z, 0-9, -, and _, at most 64 characters"));
    }
    // A list of texts is the same in JSON and in TOML.
    let words = serde_json::to_string(command).unwrap_or_default();
    Ok(format!(
        "[agents.{name}]\n\
         command = {words}\n\
         # model_args = [\"--model\", \"{{model}}\"]\n\
         # resume_args = [\"--resume\", \"{{session}}\"]\n\
         # resume_last_args = [\"--continue\"]\n\
         # output = \"jsonl\"\n\
         #\n\
         # [[agents.{name}.events]]\n\
         # when = {{ type = \"message\" }}\n\
         # text = \"message.text\"\n\
         #\n\
         # [agents.{name}.places]\n\
         # dir = \"~/.{name}\"\n"
    ))
}
