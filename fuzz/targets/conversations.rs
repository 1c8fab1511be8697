//! Agents that are talked to through their standard input (ACP, and agents whose process lives on). Nothing panics, what Windlass sends is
//! one JSON value a line, and neither that nor the events depend on where the output was cut.
#![no_main]

mod joined;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use joined::joined;
use libfuzzer_sys::fuzz_target;
use windlass_agents::{Exit, LaunchFacts, SessionFacts, TurnRequest, conversation, converses};
use windlass_core::agent::{AgentEvent, TurnOutcome};
use windlass_core::spec::AgentChoice;

static AGENTS: LazyLock<Vec<AgentChoice>> = LazyLock::new(|| {
    let all = windlass_agents::built_in_profiles().into_iter().map(|(name, profile)| AgentChoice { name, profile });
    all.filter(|agent| converses(&agent.profile, true)).collect()
});

/// What a turn leads to.
#[derive(Debug, PartialEq)]
struct Came {
    events: Vec<AgentEvent>,
    sent: Vec<u8>,
    outcome: TurnOutcome,
}

// The first byte chooses the agent, the second how the output is cut, the third what the process already has.
fuzz_target!(|data: &[u8]| {
    let [agent, cut, has, output @ ..] = data else { return };
    let agent = &AGENTS[usize::from(*agent) % AGENTS.len()];
    let Some(whole) = talk(agent, *has, output, output.len().max(1)) else { return };
    for line in whole.sent.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        serde_json::from_slice::<serde_json::Value>(line).expect("what is sent is JSON");
    }
    let pieces = talk(agent, *has, output, usize::from(*cut) % 61 + 1).expect("the same turn");
    assert_eq!(whole, pieces, "a conversation depends on where the output was cut");
});

fn talk(agent: &AgentChoice, has: u8, output: &[u8], piece: usize) -> Option<Came> {
    let request = TurnRequest {
        agent,
        prompt: "make it fixed",
        prompt_file: "/turn/prompt.md".into(),
        session: (has & 1 == 1).then_some("session-1"),
        cwd: "/work".into(),
        env: BTreeMap::new(),
        own_program: "/usr/bin/windlass".into(),
    };
    let launch = LaunchFacts { keep_alive: true, read_only: has & 4 == 4, ..LaunchFacts::default() };
    let facts = SessionFacts { session: request.session.map(str::to_owned), ..SessionFacts::default() };
    let mut session = conversation(&request, &launch, &facts, has & 2 == 2).ok()?;
    let mut events = Vec::new();
    let mut sent = session.input();
    for bytes in output.chunks(piece) {
        session.stdout(bytes, &mut events);
        sent.extend(session.input());
    }
    session.finish(&mut events);
    sent.extend(session.input());
    let _ = (session.progress(), session.spins(), session.interrupt());
    let outcome = session.outcome(Exit::Waits, Timestamp::UNIX_EPOCH);
    Some(Came { events: joined(events), sent, outcome })
}
