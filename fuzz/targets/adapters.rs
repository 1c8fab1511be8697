//! What agents print, through every adapter. Nothing panics, and what comes out does not depend on where the output was cut.
#![no_main]

mod joined;

use std::sync::LazyLock;

use jiff::Timestamp;
use joined::joined;
use libfuzzer_sys::fuzz_target;
use windlass_agents::{Exit, session};
use windlass_core::agent::{AgentEvent, TurnOutcome};
use windlass_core::profile::AgentProfile;

static PROFILES: LazyLock<Vec<AgentProfile>> =
    LazyLock::new(|| windlass_agents::built_in_profiles().into_values().collect());

// The first byte chooses the agent, the second how the output is cut; the rest is the output.
fuzz_target!(|data: &[u8]| {
    let [agent, cut, output @ ..] = data else { return };
    let profile = &PROFILES[usize::from(*agent) % PROFILES.len()];
    let whole = read(profile, output, output.len().max(1));
    let pieces = read(profile, output, usize::from(*cut) % 61 + 1);
    assert_eq!(joined(whole.0), joined(pieces.0), "events depend on where the output was cut");
    assert_eq!(whole.1, pieces.1, "the outcome depends on where the output was cut");
});

fn read(profile: &AgentProfile, output: &[u8], piece: usize) -> (Vec<AgentEvent>, TurnOutcome) {
    let mut session = session(profile);
    let mut events = Vec::new();
    for bytes in output.chunks(piece) {
        session.stdout(bytes, &mut events);
    }
    session.stderr(output, &mut events);
    session.finish(&mut events);
    let outcome = session.outcome(Exit::Code(0), Timestamp::UNIX_EPOCH);
    assert!(!session.outcome(Exit::Signal(9), Timestamp::UNIX_EPOCH).is_finished(), "a killed turn is not finished");
    (events, outcome)
}
