//! What the runs have seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use windlass_core::machine::Phase;

use crate::dice::Fault;

#[derive(Debug, Default, Clone)]
pub struct Coverage {
    pub events: BTreeMap<String, u64>,
    pub phases: BTreeMap<&'static str, u64>,
    pub ends: BTreeMap<String, u64>,
    pub recipes: BTreeMap<String, u64>,
    pub faults: BTreeMap<Fault, u64>,
    /// A fault, and the phase of a loop when it happened.
    pub in_phase: BTreeSet<(Fault, &'static str)>,
    /// A fault, and the one before it.
    pub pairs: BTreeSet<(Fault, Fault)>,
    last: Option<Fault>,
    phase: Option<&'static str>,
}

impl Coverage {
    pub fn fault(&mut self, fault: Fault) {
        *self.faults.entry(fault).or_default() += 1;
        if let Some(before) = self.last.replace(fault) {
            self.pairs.insert((before, fault));
        }
        if let Some(phase) = self.phase {
            self.in_phase.insert((fault, phase));
        }
    }

    pub fn phase(&mut self, phase: &'static str) {
        *self.phases.entry(phase).or_default() += 1;
        self.phase = Some(phase);
    }

    pub fn event(&mut self, name: &str) {
        *self.events.entry(name.to_owned()).or_default() += 1;
    }

    pub fn add(&mut self, other: &Coverage) {
        fn sum<K: Ord + Clone>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
            for (key, count) in from {
                *into.entry(key.clone()).or_default() += count;
            }
        }
        sum(&mut self.events, &other.events);
        sum(&mut self.phases, &other.phases);
        sum(&mut self.ends, &other.ends);
        sum(&mut self.recipes, &other.recipes);
        sum(&mut self.faults, &other.faults);
        self.in_phase.extend(&other.in_phase);
        self.pairs.extend(&other.pairs);
    }

    /// For people.
    pub fn report(&self) -> String {
        let mut text = String::new();
        let mut list = |title: &str, of: String, all: Vec<String>| {
            let _ = writeln!(text, "{title}: {of}\n  {}", all.join(", "));
        };
        let shown = |map: &BTreeMap<String, u64>| map.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let kinds = Fault::ALL.len();
        let phases: BTreeMap<String, u64> = self.phases.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let faults: BTreeMap<String, u64> =
            self.faults.iter().map(|(fault, n)| (fault.name().to_owned(), *n)).collect();
        list("recipes", self.recipes.len().to_string(), shown(&self.recipes));
        list("events", format!("{} kinds", self.events.len()), shown(&self.events));
        list("phases", format!("{} of {}", phases.len(), Phase::ALL.len()), shown(&phases));
        list("ends", self.ends.len().to_string(), shown(&self.ends));
        list("faults", format!("{} of {kinds}", faults.len()), shown(&faults));
        let _ = writeln!(text, "fault in phase: {} of {}", self.in_phase.len(), kinds * Phase::ALL.len());
        let _ = writeln!(text, "fault after fault: {} of {}", self.pairs.len(), kinds * kinds);
        text
    }
}
