//! Explores the pure machine completely, as far as it is small: every sequence of inputs, each state once.
//!
//! Two bounds are meant: so many inputs, whatever they are; or sequences of any length with at most so many inputs that are
//! out of the ordinary (a failure, a crash, a user's command, a wrong answer). `docs/simulation.md` says what is checked.

pub mod inputs;
pub mod invariants;
pub mod machine;
pub mod reached;
pub mod specs;

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use windlass_core::ids::LoopId;
use windlass_core::machine::{Event, LoopState, Shared};
use windlass_core::spec::LoopSpec;

use inputs::{Case, is_expected};
use invariants::{Books, Invariant, Step};
use machine::Machine;
use reached::Reached;

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Sequences of so many accepted inputs.
    Depth(u32),
    /// Sequences of any length with so many inputs that are not expected.
    Disturbances(u32),
}

/// What was found, up to the first invariant that does not hold.
#[derive(Debug, Default)]
pub struct Explored {
    pub states: usize,
    pub edges: u64,
    /// Inputs that were refused.
    pub refused: u64,
    /// The most inputs on the shortest way to a state.
    pub longest: u32,
    pub reached: Reached,
    pub violation: Option<Violation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    pub what: String,
    /// The inputs that lead there.
    pub story: Vec<&'static str>,
}

struct Node {
    /// Until it is explored.
    open: Option<(LoopState, Books)>,
    from: Option<(usize, &'static str)>,
    length: u32,
}

/// Explores one spec.
pub fn explore(spec: &LoopSpec, machine: Machine, bound: Bound) -> Explored {
    let mut search = Search {
        machine,
        bound,
        cases: inputs::all(),
        nodes: Vec::new(),
        known: HashMap::new(),
        now: VecDeque::new(),
        later: VecDeque::new(),
        found: Explored::default(),
    };
    search.run(spec);
    search.found.states = search.nodes.len();
    search.found
}

struct Search {
    machine: Machine,
    bound: Bound,
    cases: Vec<Case>,
    nodes: Vec<Node>,
    known: HashMap<u64, usize>,
    /// What costs as much as what is looked at, and what costs one more.
    now: VecDeque<usize>,
    later: VecDeque<usize>,
    found: Explored,
}

impl Search {
    fn run(&mut self, spec: &LoopSpec) {
        let at = Timestamp::UNIX_EPOCH;
        let (id, name, project) = (LoopId("l1".into()), "feature".into(), "/repo".into());
        let created = Event::LoopCreated { id, name, project, spec: Box::new(spec.clone()) };
        self.found.reached.event(&created);
        let Some(first) = LoopState::created(at, &created) else { return };
        self.reach(first, Books::default(), None, false);
        let most = match self.bound {
            Bound::Depth(most) | Bound::Disturbances(most) => most,
        };
        for cost in 0..=most {
            while let Some(index) = self.now.pop_front() {
                let Some((state, books)) = self.nodes[index].open.take() else { continue };
                if let Err((invariant, what)) = self.look_at(index, &state, &books, cost == most) {
                    self.found.violation.get_or_insert(Violation { invariant, what, story: Vec::new() });
                    return;
                }
            }
            std::mem::swap(&mut self.now, &mut self.later);
        }
    }

    /// Checks a state and everything that can happen in it. On the last level of a depth, nothing follows.
    fn look_at(&mut self, index: usize, state: &LoopState, books: &Books, last: bool) -> invariants::Broken {
        let wanted = self.machine.effects(state);
        self.found.reached.state(state);
        if let Err((invariant, what)) = invariants::state(self.machine, state, &wanted) {
            return self.violated(index, None, invariant, what);
        }
        if last && matches!(self.bound, Bound::Depth(_)) {
            return Ok(());
        }
        for case in 0..self.cases.len() {
            let name = self.cases[case].name;
            let expected = matches!(self.bound, Bound::Disturbances(_)) && is_expected(state, &wanted, name);
            if last && !expected {
                continue;
            }
            let mut at = state.updated_at;
            let input = (self.cases[case].input)(state, &mut at);
            let result = self.machine.decide(state, &input, at);
            let (after, books_after) = match &result {
                Ok(events) => {
                    let fold = |state, event: &Event| self.machine.evolve(state, at, event);
                    let after = events.iter().fold(state.clone(), fold);
                    let books = books.after(state, &input, events, &after);
                    (after, books)
                }
                Err(_) => (state.clone(), books.clone()),
            };
            let step = Step {
                before: state,
                wanted: &wanted,
                at,
                input: &input,
                result: &result,
                after: &after,
                books: &books_after,
            };
            if let Err((invariant, what)) = invariants::step(self.machine, &step) {
                return self.violated(index, Some(name), invariant, what);
            }
            match result {
                Ok(events) => {
                    self.found.edges += 1;
                    self.found.reached.accepted(name, &events);
                    self.reach(after, books_after, Some((index, name)), !expected);
                }
                Err(refusal) => {
                    self.found.refused += 1;
                    self.found.reached.refusal(&refusal);
                }
            }
        }
        Ok(())
    }

    fn reach(&mut self, state: LoopState, books: Books, from: Option<(usize, &'static str)>, costs: bool) {
        let mark = mark(&state, &books);
        let length = from.map_or(0, |(before, _)| self.nodes[before].length + 1);
        let index = match self.known.get(&mark) {
            // Reached more cheaply before it was explored.
            Some(index) if !costs && self.nodes[*index].open.is_some() => *index,
            Some(_) => return,
            None => {
                self.known.insert(mark, self.nodes.len());
                self.nodes.push(Node { open: Some((state, books)), from, length });
                self.found.longest = self.found.longest.max(length);
                self.nodes.len() - 1
            }
        };
        if costs && from.is_some() { &mut self.later } else { &mut self.now }.push_back(index);
    }

    fn violated(
        &mut self,
        index: usize,
        last: Option<&'static str>,
        invariant: Invariant,
        what: String,
    ) -> invariants::Broken {
        let mut story: Vec<&'static str> = last.into_iter().collect();
        let mut at = index;
        while let Some((before, by)) = self.nodes[at].from {
            story.push(by);
            at = before;
        }
        story.reverse();
        self.found.violation = Some(Violation { invariant, what: what.clone(), story });
        Err((invariant, what))
    }
}

/// The same for states that differ only in how many events led to them and when that was: times count from the last event.
fn mark(state: &LoopState, books: &Books) -> u64 {
    let mut same = state.clone();
    let now = state.updated_at;
    same.seq = 0;
    same.created_at = now;
    same.started_at = same.started_at.map(|_| now);
    same.stopped_at = same.stopped_at.map(|_| now);
    if let Some(residue) = &mut same.residue {
        residue.checked_at = now;
    }
    for record in same.iterations.iter_mut() {
        *record = Shared::new(windlass_core::machine::IterationRecord { at: now, ..(**record).clone() });
    }
    let mut hasher = DefaultHasher::new();
    let text = format!("{same:?}");
    let mut rest = text.as_str();
    // Every other time is written as `1970-01-01T00:00:00Z`.
    while let Some((before, at, after)) = next_time(rest) {
        before.hash(&mut hasher);
        (at.as_millisecond() - now.as_millisecond()).hash(&mut hasher);
        rest = after;
    }
    rest.hash(&mut hasher);
    books.hash(&mut hasher);
    hasher.finish()
}

/// What comes before the next time in a text, the time, and the rest.
fn next_time(text: &str) -> Option<(&str, Timestamp, &str)> {
    const DAY: usize = "1970-01-01".len();
    let mut from = 0;
    while let Some(found) =
        text[from..].find("T0").into_iter().chain(text[from..].find("T1")).chain(text[from..].find("T2")).min()
    {
        let at = from + found;
        let start = at.checked_sub(DAY).filter(|start| text.is_char_boundary(*start));
        let end = text[at..].find('Z').map(|length| at + length + 1);
        if let (Some(start), Some(end)) = (start, end)
            && end - start <= 32
            && let Ok(time) = text[start..end].parse()
        {
            return Some((&text[..start], time, &text[end..]));
        }
        from = at + 1;
    }
    None
}
