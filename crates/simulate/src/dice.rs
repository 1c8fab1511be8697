//! Where every choice of a run comes from: one seed, in streams that do not disturb each other.
//!
//! A fault that is left out does not shift the draws of other faults, so a failing run can be shrunk by leaving faults out.

use std::collections::{BTreeMap, BTreeSet};

/// What a run is made of. The same plan always gives the same run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    pub seed: u64,
    /// Faults that never happen.
    pub without: BTreeSet<Fault>,
    /// Single faults that do not happen, by kind and number.
    pub skip: BTreeSet<(Fault, u64)>,
    /// A defect that a test puts into the simulated store or machine.
    pub planted: Option<Bug>,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }
}

macro_rules! named {
    ($(#[$meta:meta])* $type:ident { $($variant:ident => $name:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type { $($variant),* }

        impl $type {
            pub const ALL: &[$type] = &[$($type::$variant),*];

            pub fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }

            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named! {
    /// What goes wrong, or what somebody does at a bad moment.
    Fault {
        KillBeforeAppend => "kill-before-append",
        KillAfterAppend => "kill-after-append",
        KillInEffect => "kill-in-effect",
        KillAfterEffect => "kill-after-effect",
        KillProcess => "kill-process",
        FailedAppend => "failed-append",
        LostAnswer => "lost-commit-answer",
        SlowStore => "slow-store",
        FailedRead => "failed-read",
        ClockJump => "clock-jump",
        Freeze => "freeze-process",
        TakeOver => "take-over",
        Shutdown => "shutdown",
        LostWake => "lost-wake",
        DelayedWake => "delayed-wake",
        DoubledOutcome => "doubled-outcome",
        StaleOutcome => "stale-outcome",
        FilesGone => "files-removed",
        Trouble => "trouble",
        AgentLies => "agent-lies",
        AgentCrashes => "agent-crashes",
        AgentHangs => "agent-hangs",
        AgentFloods => "agent-floods",
        AgentLimited => "agent-rate-limited",
        AgentFails => "agent-fails",
        AgentAsks => "agent-asks",
        ReviewerNonsense => "reviewer-nonsense",
        FlakyGate => "flaky-gate",
        GateNotStarted => "gate-not-started",
        PersonStops => "person-stops",
        PersonPauses => "person-pauses",
        PersonResumes => "person-resumes",
        PersonSteers => "person-steers",
        PersonAnswers => "person-answers",
        PersonApproves => "person-approves",
        PersonRejects => "person-rejects",
        PersonRollsBack => "person-rolls-back",
        PersonContinues => "person-continues",
    }
}

named! {
    /// Defects that tests plant, one for each invariant.
    Bug {
        DropEvent => "drop-event",
        AppendTwice => "append-twice",
        NoFence => "no-fence",
        IgnoreLimit => "ignore-limit",
        WrongCommit => "wrong-commit",
        DeafToStop => "deaf-to-stop",
        LoseOutcome => "lose-outcome",
        ChangeEvent => "change-event",
    }
}

/// Streams of choices that are no faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    Spec,
    Agent,
    Gate,
    People,
    Time,
    Nemesis,
}

#[derive(Debug)]
pub struct Dice {
    plan: Plan,
    faults: BTreeMap<Fault, u64>,
    streams: BTreeMap<Stream, u64>,
    /// Faults are over.
    pub calm: bool,
    /// Those that happened, in order.
    pub happened: Vec<(Fault, u64)>,
}

impl Dice {
    pub fn new(plan: Plan) -> Self {
        Self { plan, faults: BTreeMap::new(), streams: BTreeMap::new(), calm: false, happened: Vec::new() }
    }

    pub fn planted(&self) -> Option<Bug> {
        self.plan.planted
    }

    /// Whether this fault happens here: once in `sides` times.
    pub fn fault(&mut self, fault: Fault, sides: u64) -> bool {
        let number = self.faults.entry(fault).or_default();
        *number += 1;
        let number = *number;
        let thrown = mix(self.plan.seed ^ (fault as u64 + 1).wrapping_mul(0x1000_0001), number);
        let hit = thrown.is_multiple_of(sides);
        let left_out = self.calm || self.plan.without.contains(&fault) || self.plan.skip.contains(&(fault, number));
        if hit && !left_out {
            self.happened.push((fault, number));
        }
        hit && !left_out
    }

    /// A number below `sides`.
    pub fn throw(&mut self, stream: Stream, sides: u64) -> u64 {
        let number = self.streams.entry(stream).or_default();
        *number += 1;
        mix(self.plan.seed ^ (stream as u64 + 101).wrapping_mul(0x1000_0003), *number) % sides
    }

    pub fn one_in(&mut self, stream: Stream, sides: u64) -> bool {
        self.throw(stream, sides) == 0
    }

    pub fn pick<T: Clone>(&mut self, stream: Stream, from: &[T]) -> T {
        let index = self.throw(stream, from.len() as u64);
        from[usize::try_from(index).unwrap_or_default()].clone()
    }
}

/// splitmix64 of two numbers.
fn mix(seed: u64, number: u64) -> u64 {
    let mut z = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for _ in 0..2 {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}
