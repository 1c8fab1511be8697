//! `/metrics`: what a monitor asks for, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use windlass_engine::engine::status_word;
use windlass_engine::outside::{FleetQueue, WaitsFor, WorkerView};
use windlass_store::{ListFilter, Listed, StoreError};

use crate::app::App;
use crate::http::refused::Refused;

/// The content type of the text.
pub const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";
/// All words of a loop's status, so that none appears only with its first loop.
const WORDS: [&str; 10] = [
    "queued",
    "running",
    "waiting",
    "paused",
    "interrupted",
    "completed",
    "exhausted",
    "cancelled",
    "stalled",
    "errored",
];

/// Families of samples, each family with its samples together.
#[derive(Debug, Default)]
pub struct Metrics(String);

impl Metrics {
    /// A number that goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    /// A number that grows until its process ends.
    pub fn counter(&mut self, name: &str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) -> Family<'_> {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { text: &mut self.0, name: name.to_owned() }
    }

    pub fn into_text(self) -> String {
        self.0
    }
}

/// The samples of one family.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    name: String,
}

impl Family<'_> {
    pub fn is(&mut self, value: impl Into<f64>) -> &mut Self {
        self.of(&[], value)
    }

    pub fn of(&mut self, labels: &[(&str, &str)], value: impl Into<f64>) -> &mut Self {
        self.text.push_str(&self.name);
        for (at, (label, said)) in labels.iter().enumerate() {
            let said = said.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
            let _ = write!(self.text, "{}{label}=\"{said}\"", if at == 0 { '{' } else { ',' });
        }
        let _ = writeln!(self.text, "{} {}", if labels.is_empty() { "" } else { "}" }, value.into());
        self
    }
}

pub(crate) async fn metrics(State(app): State<App>) -> Result<Response, Refused> {
    let text = of_server(&app).await?;
    Ok(([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response())
}

async fn of_server(app: &App) -> Result<String, StoreError> {
    let mut all = Metrics::default();
    all.gauge("windlass_build_info", "The version of the server").of(&[("version", &app.facts.version)], 1);
    let started = app.facts.started_at.as_second();
    all.gauge("windlass_start_time_seconds", "When the server started, in seconds since 1970").is(float(started));
    loops(&mut all, &app.engine.store.list(ListFilter::default()).await?);
    let driving = app.driving.load(Ordering::Relaxed);
    all.gauge("windlass_loops_driven", "Loops that this server runs").is(float(driving));
    all.gauge("windlass_streams", "Live streams that clients have open").is(float(app.subscribers()));
    if app.engine.is_one_of_several() {
        workers(&mut all, &app.engine.workers().await?);
        queue(&mut all, &app.engine.fleet_queue().await?);
    }
    Ok(all.into_text())
}

fn loops(all: &mut Metrics, listed: &[Listed]) {
    let mut counts: BTreeMap<&str, u32> = WORDS.iter().map(|word| (*word, 0)).collect();
    for one in listed {
        *counts.entry(status_word(one)).or_default() += 1;
    }
    let mut family = all.gauge("windlass_loops", "Loops by status");
    for (word, count) in counts {
        family.of(&[("status", word)], count);
    }
    let iterations: u64 = listed.iter().map(|one| u64::from(one.entry.iterations)).sum();
    all.gauge("windlass_iterations", "Iterations of all loops that are listed").is(float(iterations));
}

fn workers(all: &mut Metrics, machines: &[WorkerView]) {
    let mut family = all.gauge("windlass_worker_up", "Whether the database hears of the worker");
    for (one, _) in each(machines) {
        family.of(&of_worker(one), u32::from(one.is_alive));
    }
    let mut family = all.gauge("windlass_worker_draining", "Whether the worker takes no new loops");
    for (one, _) in each(machines) {
        family.of(&of_worker(one), u32::from(one.is_draining));
    }
    let mut family = all.gauge("windlass_worker_slots", "How many loops the worker takes");
    for (one, slots) in each(machines) {
        family.of(&of_worker(one), slots);
    }
    let mut family = all.gauge("windlass_worker_loops", "How many loops the worker holds");
    for (one, _) in each(machines) {
        family.of(&of_worker(one), float(one.loops));
    }
}

/// Those that take loops, with how many.
fn each(machines: &[WorkerView]) -> impl Iterator<Item = (&WorkerView, u32)> {
    machines.iter().filter_map(|one| Some((one, one.slots?)))
}

/// Several workers may have one name.
fn of_worker(one: &WorkerView) -> [(&str, &str); 2] {
    [("worker", &one.name), ("id", &one.id)]
}

fn queue(all: &mut Metrics, queue: &FleetQueue) {
    let mut counts: BTreeMap<&str, u32> =
        ["slot", "limit", "account", "time", "machine"].into_iter().map(|word| (word, 0)).collect();
    for one in &queue.loops {
        let word = match one.waits_for {
            WaitsFor::Slot => "slot",
            WaitsFor::Limit { .. } => "limit",
            WaitsFor::Account { .. } => "account",
            WaitsFor::Time { .. } => "time",
            WaitsFor::Machine { .. } => "machine",
        };
        *counts.entry(word).or_default() += 1;
    }
    let mut family = all.gauge("windlass_queue_loops", "Loops that no worker has, by what they wait for");
    for (word, count) in counts {
        family.of(&[("waits_for", word)], count);
    }
    let mut family = all.gauge("windlass_limit_running", "Loops of a limit that run");
    for limit in &queue.limits {
        family.of(&[("limit", &limit.name)], limit.running);
    }
    let mut family = all.gauge("windlass_limit_max", "Loops of a limit that may run at once");
    for limit in &queue.limits {
        if let Some(most) = limit.max_running {
            family.of(&[("limit", &limit.name)], most);
        }
    }
    let mut family = all.gauge("windlass_account_limited", "Whether the provider takes nothing of the account now");
    for limit in &queue.limits {
        if limit.name.starts_with("account:") {
            family.of(&[("limit", &limit.name)], u32::from(limit.limited_until.is_some()));
        }
    }
}

/// Numbers of this size are exact.
pub fn float(number: impl TryInto<u64>) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    number.try_into().map_or(0.0, |number| number as f64)
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn labels_are_escaped_and_each_family_has_its_head() {
        let mut all = Metrics::default();
        all.gauge("a", "What a is").of(&[("name", "x\"y\\z\n"), ("id", "1")], 2).is(0.5);
        all.counter("b_total", "What b is").is(3);
        assert_eq!(
            all.into_text(),
            "# HELP a What a is\n# TYPE a gauge\na{name=\"x\\\"y\\\\z\\n\",id=\"1\"} 2\na 0.5\n\
             # HELP b_total What b is\n# TYPE b_total counter\nb_total 3\n"
        );
    }
}
