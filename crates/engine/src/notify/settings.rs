//! Who wants to be told, by the user's and the project's settings.

use std::path::Path;

use windlass_core::machine::LoopState;

use super::{Occasion, Way};
use crate::config::{self, ConfigError, Environment, Options, Paths};
use crate::engine::Engine;

#[derive(Debug)]
pub(super) struct NotifySettings {
    pub(super) command: Option<String>,
    pub(super) webhook: Option<String>,
    pub(super) webhook_secret_env: Option<String>,
    pub(super) env_pass: Vec<String>,
    pub(super) desktop: bool,
    pub(super) on: Vec<Occasion>,
}

impl NotifySettings {
    pub(super) fn ways(&self) -> impl Iterator<Item = Way> {
        let command = self.command.is_some().then_some(Way::Command);
        let webhook = self.webhook.is_some().then_some(Way::Webhook);
        let desktop = self.desktop.then_some(Way::Desktop);
        [command, webhook, desktop].into_iter().flatten()
    }
}

/// `None` where nobody wants to be told anything.
pub(super) fn read(engine: &Engine, state: &LoopState) -> Result<Option<NotifySettings>, ConfigError> {
    let env: Environment = engine.env.iter().collect();
    let project = Path::new(&state.project);
    let paths = Paths::from_env(&env, project)?;
    let settings = config::load(&paths, Some(project), &env, Options::default())?;
    // What the project's file says counts like what the user's says: a person started this loop in this repository,
    // whose gates and set-up commands run too. Where a person's consent to a repository's commands is asked for one
    // day, `settings.notify_command.origin` and `settings.notify_webhook.origin` are to be asked here.
    let on = settings.notify_on.value.map_or_else(Vec::new, |on| on.occasions());
    let read = NotifySettings {
        command: settings.notify_command.value,
        webhook: settings.notify_webhook.value,
        webhook_secret_env: settings.notify_webhook_secret_env.value,
        env_pass: settings.env_pass.value.map(|names| names.get().to_vec()).unwrap_or_default(),
        desktop: settings.notify_desktop.value.unwrap_or(false),
        on,
    };
    let wanted = read.ways().next().is_some() && !read.on.is_empty();
    Ok(wanted.then_some(read))
}
