//! Who wants to be told, by the user's and the project's settings.

use std::cell::LazyCell;
use std::path::Path;

use windlass_core::ids::LoopId;

use super::{Occasion, Way};
use crate::config::{self, ConfigError, Environment, Options, Origin, Paths};
use crate::engine::Engine;
use crate::trust;

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
pub(super) fn read(engine: &Engine, id: &LoopId, project: &str) -> Result<Option<NotifySettings>, ConfigError> {
    let env: Environment = engine.env.iter().collect();
    let project = Path::new(project);
    let paths = Paths::from_env(&env, project)?;
    let settings = config::load(&paths, Some(project), &env, Options::default())?;
    // The project's file may have changed since the loop was made, by the agent too: what it says now needs consent.
    let as_read = settings.clone();
    let trusted = LazyCell::new(|| trust::settings_are_trusted(&engine.data, project, &as_read));
    let agreed = |origin: &Origin| !matches!(origin, Origin::ProjectFile { .. }) || *trusted;
    let unagreed = [&settings.notify_command.origin, &settings.notify_webhook.origin].into_iter().any(|o| !agreed(o));
    if unagreed {
        tracing::warn!(loop_id = %id, "this repository's notifications are not trusted yet; see `windlass trust`");
    }
    let on = settings.notify_on.value.map_or_else(Vec::new, |on| on.occasions());
    let read = NotifySettings {
        command: settings.notify_command.value.filter(|_| agreed(&settings.notify_command.origin)),
        webhook: settings.notify_webhook.value.filter(|_| agreed(&settings.notify_webhook.origin)),
        webhook_secret_env: settings.notify_webhook_secret_env.value,
        env_pass: settings.env_pass.value.map(|names| names.get().to_vec()).unwrap_or_default(),
        desktop: settings.notify_desktop.value.unwrap_or(false),
        on,
    };
    let wanted = read.ways().next().is_some() && !read.on.is_empty();
    Ok(wanted.then_some(read))
}
