//! One turn with an agent outside a loop's turns: a call to see whether it answers, a summary. Prompt in, end out.

use std::io;

use windlass_agents::{LaunchError, LaunchFacts, Progress, SessionFacts, TurnRequest};
use windlass_core::agent::AgentEvent;
use windlass_supervise::{ExitRecord, ProcessEvent, Running};

use super::TranscriptReader;
use crate::data::TurnFiles;

/// A process and what is read of it; `see` gets what it says.
pub(crate) struct Exchange<F> {
    running: Running,
    transcript: TranscriptReader,
    see: F,
    closing: bool,
}

/// A reader for the turn, which also talks where the agent must be talked to.
pub(crate) fn reader(
    request: &TurnRequest<'_>,
    facts: &LaunchFacts,
    files: &TurnFiles,
) -> Result<TranscriptReader, LaunchError> {
    let profile = &request.agent.profile;
    let known = SessionFacts::default();
    if !windlass_agents::converses(profile, facts.keep_alive) {
        return Ok(TranscriptReader::new(files, profile, &known));
    }
    let session = windlass_agents::conversation(request, facts, &known, false)?;
    Ok(TranscriptReader::with(files, profile, session))
}

impl<F: FnMut(&AgentEvent)> Exchange<F> {
    pub(crate) fn new(mut running: Running, mut transcript: TranscriptReader, see: F) -> Self {
        running.send(&transcript.input());
        Self { running, transcript, see, closing: false }
    }

    /// The next thing that happens: `Some` when the turn is over, with its record if there is one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Option<ExitRecord>>> {
        match self.running.next().await {
            Some(ProcessEvent::Output { .. }) => {
                self.read()?;
                self.running.send(&self.transcript.input());
                if self.transcript.progress() != Progress::Working && !self.closing {
                    self.closing = true;
                    self.running.end_turn();
                }
                Ok(None)
            }
            Some(ProcessEvent::TurnOver(record) | ProcessEvent::Closed(record)) => Ok(Some(Some(record))),
            Some(ProcessEvent::Lost { .. }) | None => Ok(Some(None)),
            Some(
                ProcessEvent::Started { .. }
                | ProcessEvent::SpawnFailed(_)
                | ProcessEvent::Exited(_)
                | ProcessEvent::TurnBegun,
            ) => Ok(None),
        }
    }

    pub(crate) fn stop(&self) {
        self.running.stop();
    }

    /// Waits until the process is gone and everything it said is read.
    pub(crate) async fn finish(mut self) -> io::Result<TranscriptReader> {
        self.running.stop();
        while self.running.next().await.is_some() {}
        self.read()?;
        self.transcript.finish().iter().for_each(&mut self.see);
        Ok(self.transcript)
    }

    fn read(&mut self) -> io::Result<()> {
        loop {
            let batch = self.transcript.read()?;
            batch.events.iter().for_each(&mut self.see);
            if !batch.progressed {
                return Ok(());
            }
        }
    }
}
