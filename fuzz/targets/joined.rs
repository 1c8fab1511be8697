//! Shared by targets that compare what adapters say.

use windlass_core::agent::AgentEvent;

/// Text is passed on as it comes, so pieces of it that follow each other count as one.
pub fn joined(events: Vec<AgentEvent>) -> Vec<AgentEvent> {
    let mut joined: Vec<AgentEvent> = Vec::new();
    for event in events {
        match (joined.last_mut(), event) {
            (Some(AgentEvent::Text { text }), AgentEvent::Text { text: more }) => text.push_str(&more),
            (_, event) => joined.push(event),
        }
    }
    joined
}
