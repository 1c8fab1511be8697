//! The other side of a conversation: Agent Client Protocol and the lines of `claude --input-format stream-json`. Nothing panics, and
//! neither what comes out nor what is answered depends on where the output was cut.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use windlass_agents::{LaunchFacts, Progress, SessionFacts, TurnRequest, built_in_profiles, conversation, converses};
use windlass_core::agent::AgentEvent;
use windlass_core::spec::AgentChoice;

static AGENTS: LazyLock<Vec<AgentChoice>> = LazyLock::new(|| {
    let talking = built_in_profiles().iter().filter(|(_, profile)| converses(profile, true));
    talking.map(|(name, profile)| AgentChoice { name: name.clone(), profile: profile.clone() }).collect()
});

// The first byte chooses the agent and whether it has a session, the second how the output is cut; the rest is the output.
fuzz_target!(|data: &[u8]| {
    let [agent, cut, output @ ..] = data else { return };
    let chosen = &AGENTS[usize::from(*agent >> 1) % AGENTS.len()];
    let has_session = agent % 2 == 1;
    let whole = talk(chosen, has_session, output, output.len().max(1));
    let pieces = talk(chosen, has_session, output, usize::from(*cut) % 61 + 1);
    assert_eq!(joined(whole.0), joined(pieces.0), "events depend on where the output was cut");
    assert_eq!(whole.1, pieces.1, "answers depend on where the output was cut");
    assert_eq!(whole.2, pieces.2, "progress depends on where the output was cut");
});

fn talk(agent: &AgentChoice, has_session: bool, output: &[u8], piece: usize) -> (Vec<AgentEvent>, Vec<u8>, Progress) {
    let request = TurnRequest {
        agent,
        prompt: "do it",
        prompt_file: "/p/prompt.md".into(),
        session: None,
        cwd: "/w".into(),
        env: Default::default(),
        own_program: "/bin/windlass".into(),
    };
    let launch = LaunchFacts { turn_id: "l1-1.coder.1".into(), keep_alive: true, ..LaunchFacts::default() };
    let talking = conversation(&request, &launch, &SessionFacts::default(), has_session);
    let mut session = talking.expect("a built-in agent needs nothing that is missing");
    let (mut events, mut said) = (Vec::new(), session.input());
    for bytes in output.chunks(piece) {
        session.stdout(bytes, &mut events);
        said.extend(session.input());
    }
    session.finish(&mut events);
    said.extend(session.input());
    (events, said, session.progress())
}

/// Text is passed on as it comes, so pieces of it that follow each other count as one.
fn joined(events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut joined: Vec<AgentEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(AgentEvent::Text { text }), AgentEvent::Text { text: more }) => text.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    joined
}
