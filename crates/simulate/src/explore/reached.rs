//! What an exploration came past: refusals, events, phases, ends, inputs. What it cannot come past is listed, with the reason.

use std::collections::BTreeSet;

use windlass_core::machine::{Event, LoopState, Phase, Refusal};
use windlass_core::stop::Status;

use super::inputs;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reached {
    pub events: BTreeSet<String>,
    pub refusals: BTreeSet<String>,
    pub phases: BTreeSet<String>,
    /// Stop reasons.
    pub ends: BTreeSet<String>,
    /// Inputs that were accepted somewhere.
    pub inputs: BTreeSet<String>,
}

/// What no sequence of inputs to the small specs reaches.
pub const OUT_OF_REACH: &[(&str, &str)] = &[
    ("phases: decide", "a state between two events of one decision"),
    ("inputs: timer too early", "refused in every state, which is what it is for"),
    ("inputs: result of another turn", "refused in every state, which is what it is for"),
    ("stop reasons: no_progress", "needs eight iterations"),
    ("stop reasons: cut_off", "needs three cut-offs in a row"),
];

impl Reached {
    pub fn event(&mut self, event: &Event) {
        if !self.events.contains(event.name()) {
            self.events.insert(event.name().to_owned());
        }
    }

    pub fn accepted(&mut self, input: &str, events: &[Event]) {
        events.iter().for_each(|event| self.event(event));
        if !self.inputs.contains(input) {
            self.inputs.insert(input.to_owned());
        }
    }

    pub fn refusal(&mut self, refusal: &Refusal) {
        let name = refusal_name(refusal);
        if !self.refusals.contains(name) {
            self.refusals.insert(name.to_owned());
        }
    }

    pub fn state(&mut self, state: &LoopState) {
        if state.status() == Status::Running && !self.phases.contains(state.phase().name()) {
            self.phases.insert(state.phase().name().to_owned());
        }
        if let Some(reason) = state.stop_reason()
            && !self.ends.contains(reason.name())
        {
            self.ends.insert(reason.name().to_owned());
        }
    }

    pub fn add(&mut self, other: &Reached) {
        self.events.extend(other.events.iter().cloned());
        self.refusals.extend(other.refusals.iter().cloned());
        self.phases.extend(other.phases.iter().cloned());
        self.ends.extend(other.ends.iter().cloned());
        self.inputs.extend(other.inputs.iter().cloned());
    }

    /// What there is, by kind, each with what was reached of it.
    pub fn kinds(&self) -> Vec<(&'static str, Vec<String>, &BTreeSet<String>)> {
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
        vec![
            ("events", tags::<Event>(), &self.events),
            ("refusals", owned(REFUSALS.to_vec()), &self.refusals),
            ("phases", owned(Phase::ALL.map(Phase::name).to_vec()), &self.phases),
            ("stop reasons", tags::<windlass_core::stop::StopReason>(), &self.ends),
            ("inputs", inputs::all().iter().map(|case| case.name.to_owned()).collect(), &self.inputs),
        ]
    }

    /// What was not reached and is not listed, and what is listed and was reached.
    pub fn surprises(&self) -> Vec<String> {
        let mut surprises = Vec::new();
        for (kind, all, reached) in self.kinds() {
            for name in all {
                let listed = OUT_OF_REACH.iter().any(|(one, _)| *one == format!("{kind}: {name}"));
                match (reached.contains(&name), listed) {
                    (false, false) => surprises.push(format!("{kind}: {name} is not reached")),
                    (true, true) => {
                        surprises.push(format!("{kind}: {name} is listed as out of reach, but it is reached"))
                    }
                    (true, false) | (false, true) => {}
                }
            }
        }
        surprises
    }
}

/// The tags of an enum, from its schema, so that none can be forgotten.
fn tags<T: schemars::JsonSchema>() -> Vec<String> {
    let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap_or_default();
    let mut names = Vec::new();
    collect(&schema, &schema, &mut names);
    names
}

fn collect(root: &serde_json::Value, at: &serde_json::Value, names: &mut Vec<String>) {
    if let Some(name) = at["properties"]["type"]["const"].as_str() {
        names.push(name.to_owned());
        return;
    }
    for part in ["oneOf", "anyOf"].iter().filter_map(|key| at[*key].as_array()).flatten() {
        collect(root, part, names);
    }
    if let Some(pointer) = at["$ref"].as_str().and_then(|text| text.strip_prefix('#')) {
        collect(root, root.pointer(pointer).unwrap_or(&serde_json::Value::Null), names);
    }
}

macro_rules! refusals {
    ($($pattern:pat => $name:literal,)*) => {
        const REFUSALS: &[&str] = &[$($name),*];

        fn refusal_name(refusal: &Refusal) -> &'static str {
            match refusal {
                $($pattern => $name,)*
            }
        }
    };
}

refusals! {
    Refusal::Stale => "stale",
    Refusal::Ended { .. } => "ended",
    Refusal::Completed => "completed",
    Refusal::NotCompleted => "not completed",
    Refusal::UnderWay => "running already",
    Refusal::NotUnderWay => "not running",
    Refusal::LimitStands { .. } => "limit still applies",
    Refusal::AlreadyAsked => "already requested",
    Refusal::NoSession => "no session",
    Refusal::NoSuchLimit { .. } => "no such limit",
    Refusal::AwaitsRuling => "waiting for review",
    Refusal::NothingToRule => "nothing to approve",
    Refusal::NoQuestion => "no question",
    Refusal::Answered { .. } => "already answered",
    Refusal::WhichQuestion { .. } => "several questions",
    Refusal::NotReviewed => "no reviewer",
    Refusal::NotYourRole { .. } => "not this role",
    Refusal::Finding(_) => "finding",
    Refusal::Plan(_) => "plan",
}
