//! What the agent of a loop said last, for a list of loops: read from the end of its output, never from the start.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use windlass_agents::SessionFacts;
use windlass_core::agent::AgentEvent;
use windlass_core::ids::LoopId;
use windlass_core::machine::Event;
use windlass_core::profile::AgentProfile;

use super::past::Past;
use crate::data::TurnFiles;
use crate::driver::DriveError;
use crate::engine::{Engine, EngineError};
use crate::journal;

/// So much of the output's end is read at most.
const NEAR_END: u64 = 32 * 1024;

/// The last line that a loop's agent said in its latest turn. Kept between readings, it reads only what is new of the
/// journal.
#[derive(Debug, Default)]
pub struct LastWords {
    /// The journal is read up to this event.
    read_seq: u64,
    under_way: Option<UnderWay>,
    line: Option<String>,
}

#[derive(Debug)]
struct UnderWay {
    files: TurnFiles,
    profile: Box<AgentProfile>,
}

impl LastWords {
    pub fn line(&self) -> Option<&str> {
        self.line.as_deref()
    }

    /// Reads on, up to the journal's last event `head`.
    pub async fn read(&mut self, engine: &Engine, id: &LoopId, head: u64) -> Result<Option<&str>, EngineError> {
        match (Past { engine, id }).last_turn_event(self.read_seq, head).await? {
            Some((_, Event::TurnStarted { turn, agent, .. })) => {
                let spec = journal::spec(engine.store.as_ref(), id).await?;
                engine.fetch_turn(id, turn).await?;
                let profile = Box::new(spec.agent_of(turn.role, agent).profile.clone());
                self.under_way = Some(UnderWay { files: engine.data.turn(id, turn), profile });
                self.line = None;
            }
            Some((_, Event::TurnEnded { report, .. })) => {
                self.under_way = None;
                self.line = last_line(&report.last_words).or(self.line.take());
            }
            Some(_) | None => {}
        }
        self.read_seq = self.read_seq.max(head);
        if let Some(turn) = &self.under_way {
            let end = near_end(&turn.files)
                .map_err(|source| DriveError::Transcript { path: turn.files.dir.display().to_string(), source })?;
            let mut events = Vec::new();
            windlass_agents::session_with(&turn.profile, &SessionFacts::default()).stdout(&end, &mut events);
            // What was said before may be further from the end than is read.
            self.line = last_said(&events).or(self.line.take());
        }
        Ok(self.line())
    }
}

/// The last bytes of the output, from the start of a line on.
fn near_end(files: &TurnFiles) -> io::Result<Vec<u8>> {
    let file = match File::open(files.stdout()) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    let from = length.saturating_sub(NEAR_END);
    let mut bytes = vec![0; usize::try_from(length - from).unwrap_or(0)];
    file.read_exact_at(&mut bytes, from)?;
    if from > 0 {
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |newline| newline + 1);
        bytes.drain(..line);
    }
    Ok(bytes)
}

/// The last line of what was said together: an agent may say a sentence in many pieces.
fn last_said(events: &[AgentEvent]) -> Option<String> {
    let mut line = None;
    let mut said = String::new();
    for event in events {
        match event {
            AgentEvent::Text { text } => said.push_str(text),
            AgentEvent::Thinking { .. }
            | AgentEvent::ToolUse { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::Error { .. }
            | AgentEvent::Result { .. } => line = last_line(&std::mem::take(&mut said)).or(line),
            AgentEvent::Session { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Account { .. }
            | AgentEvent::Raw { .. } => {}
        }
    }
    last_line(&said).or(line)
}

/// The last line with a letter or a digit; fences and rules of Markdown have none.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().find(|line| line.chars().any(char::is_alphanumeric))?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text { text: text.to_owned() }
    }

    #[test]
    fn last_line_is_of_the_last_text_also_if_a_tool_runs_since() {
        let tool = AgentEvent::ToolUse { id: String::new(), name: "Bash".to_owned(), input: String::new() };
        let usage = AgentEvent::Usage { model: String::new(), usage: windlass_core::usage::Usage::default() };
        let events = [text("first\n"), tool.clone(), text("I read the "), usage, text("parser.\n```\n"), tool];
        assert_eq!(last_said(&events).as_deref(), Some("I read the parser."));
        assert_eq!(last_said(&[text(" \n---\n")]), None);
    }

    #[test]
    fn only_the_end_of_a_long_output_is_read_from_the_start_of_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let files = TurnFiles { dir: dir.path().to_owned() };
        assert!(near_end(&files).unwrap().is_empty());
        std::fs::write(files.stdout(), "a line\n".repeat(100_000)).unwrap();
        let end = near_end(&files).unwrap();
        assert!(end.len() as u64 <= NEAR_END && end.starts_with(b"a line\n"));
        std::fs::write(files.stdout(), "x".repeat(100_000)).unwrap();
        assert!(near_end(&files).unwrap().is_empty(), "the line's start is further away");
    }
}
