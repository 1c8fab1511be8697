//! Telling people and programs outside what became of a loop or a group.
//!
//! Best effort, and never in the loop's way: told after the event is durable, in tasks of their own, given a bounded
//! time when the process leaves. What fails is said in the loop's log.

mod command;
mod desktop;
mod message;
mod settings;
mod webhook;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::JoinSet;
use windlass_core::group::{GroupKind, GroupRow};
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState};

use crate::engine::Engine;
use crate::loop_log;
use message::Message;
pub use message::{Body as Notification, GroupNews, Occasion};
use settings::NotifySettings;

/// How long the process stays for what is under way when it leaves its loop.
const LAST: Duration = Duration::from_secs(5);

/// Tells at once what these events mean, for who does not drive the loop. `state` is the loop after them.
pub(crate) async fn tell(engine: &Arc<Engine>, state: &LoopState, at: Timestamp, events: &[Event]) {
    if events.iter().any(|event| Occasion::of(event).is_some()) {
        let notifier = Notifier::of(engine, state);
        notifier.tell(state, at, events);
        notifier.finish().await;
    }
}

/// Tells of one loop or group.
pub(crate) struct Notifier {
    engine: Arc<Engine>,
    id: LoopId,
    name: String,
    settings: Option<Arc<NotifySettings>>,
    under_way: Mutex<JoinSet<()>>,
}

impl Notifier {
    pub(crate) fn of(engine: &Arc<Engine>, state: &LoopState) -> Self {
        Self::new(engine, state.id.clone(), state.name.clone(), &state.project)
    }

    pub(crate) fn of_group(engine: &Arc<Engine>, row: GroupRow) -> Self {
        Self::new(engine, LoopId(row.id.0), row.name, &row.project)
    }

    /// By the settings as they are now: whom to tell is the person's, not the loop's, so it is not frozen in its spec.
    fn new(engine: &Arc<Engine>, id: LoopId, name: String, project: &str) -> Self {
        let settings = match settings::read(engine, &id, project) {
            Ok(settings) => settings,
            Err(error) => {
                let line = format!("No notification sent: cannot read the settings: {error}");
                tracing::warn!(loop_id = %id, "{line}");
                loop_log::note(&engine.data, &name, &id, engine.clock.now(), &line);
                None
            }
        };
        let engine = Arc::clone(engine);
        Self { engine, id, name, settings: settings.map(Arc::new), under_way: Mutex::default() }
    }

    /// Tells what these events mean. `state` is the loop after them.
    pub(crate) fn tell(&self, state: &LoopState, at: Timestamp, events: &[Event]) {
        for occasion in events.iter().filter_map(Occasion::of) {
            self.send(occasion, || Message::new(occasion, state, at));
        }
    }

    /// Tells that a group came to rest like this.
    pub(crate) fn tell_group(&self, kind: GroupKind, row: &GroupRow, news: &GroupNews) {
        let Some(occasion) = Occasion::of_group(row.status) else { return };
        self.send(occasion, || {
            let mut message = Message::of_group(occasion, kind, row, news);
            message.body = self.engine.own_secrets().text(&message.body);
            message
        });
    }

    fn send(&self, occasion: Occasion, message: impl FnOnce() -> Message) {
        let Some(settings) = self.settings.as_ref().filter(|settings| settings.on.contains(&occasion)) else { return };
        let message = Arc::new(message());
        for way in settings.ways() {
            let (engine, settings, message) = (Arc::clone(&self.engine), Arc::clone(settings), Arc::clone(&message));
            let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
            under_way.spawn(async move {
                if let Err(why) = way.send(&engine, &settings, &message).await {
                    failed(&engine, &message, way, &why);
                }
            });
        }
    }

    /// Waits for what is under way, but not long; the rest is given up.
    pub(crate) async fn finish(&self) {
        let mut under_way = std::mem::take(&mut *self.under_way.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while under_way.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST, all).await.is_err() {
            let line = format!("Notifications timed out after {} s: {}", LAST.as_secs(), under_way.len());
            tracing::warn!(loop_id = %self.id, "{line}");
            loop_log::note(&self.engine.data, &self.name, &self.id, self.engine.clock.now(), &line);
            under_way.shutdown().await;
        }
    }
}

fn failed(engine: &Engine, message: &Message, way: Way, why: &str) {
    tracing::warn!(loop_id = %message.id, event = message.event, way = way.name(), why, "notification failed");
    let line = format!("Notification failed ({}, {}): {why}", message.event, way.name());
    loop_log::note(&engine.data, &message.name, &message.id, engine.clock.now(), &line);
}

/// How somebody is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Command,
    Webhook,
    Desktop,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Command => "notify_command",
            Way::Webhook => "notify_webhook",
            Way::Desktop => "notify_desktop",
        }
    }

    async fn send(self, engine: &Engine, settings: &NotifySettings, message: &Message) -> Result<(), String> {
        match self {
            Way::Command => command::run(engine, settings, message).await,
            Way::Webhook => webhook::post(engine, settings, message).await,
            Way::Desktop => desktop::show(engine, message).await,
        }
    }
}
