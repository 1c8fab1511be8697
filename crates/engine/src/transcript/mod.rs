//! Reading a turn's transcript: the same way for a live turn, for one that was cut off, and for viewers.
//!
//! The bytes are on disk before anybody reads them, so a reader that comes late or is slow loses nothing and costs
//! one buffer.

pub(crate) mod exchange;
mod tool_calls;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use windlass_agents::{Exit, Progress, Session, SessionFacts};
use windlass_core::agent::{AccountWindow, AgentEvent, ErrorKind, TurnOutcome, TurnReport, is_session_name};
use windlass_core::ids::Role;
use windlass_core::milestone::Milestone;
use windlass_core::profile::AgentProfile;
use windlass_core::promise::ClaimDetector;
use windlass_core::review::{AuditVerdict, Report, Verdict, marked_questions, read_audit};
use windlass_core::usage::UsageByModel;
use windlass_workspace::Beneath;

use crate::data::TurnFiles;
use tool_calls::ToolCalls;

const CHUNK: usize = 256 * 1024;

/// A file that grows.
#[derive(Debug)]
struct Tail {
    path: PathBuf,
    file: Option<File>,
    offset: u64,
    /// Where reading ends, for a view of the past.
    end: u64,
}

impl Tail {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None, offset: 0, end: u64::MAX }
    }

    /// The next bytes, none if there are no more yet.
    fn read<'a>(&mut self, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
        if self.file.is_none() {
            self.file = match File::open(&self.path) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(&[]),
                Err(error) => return Err(error),
            };
        }
        let Some(file) = &self.file else { return Ok(&[]) };
        let left = usize::try_from(self.end.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let count = file.read_at(&mut buffer[..most], self.offset)?;
        self.offset += count as u64;
        Ok(&buffer[..count])
    }
}

impl Tail {
    /// Jumps ahead so that no more than half of `most` bytes is left to read, if it was more than that.
    fn skip(&mut self, most: u64) -> u64 {
        let length = self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        let behind = length.saturating_sub(self.offset);
        if behind <= most {
            return 0;
        }
        let skipped = behind - most / 2;
        self.offset += skipped;
        skipped
    }
}

/// A place in the two streams of a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Place {
    pub stdout: u64,
    pub stderr: u64,
}

/// Turns a turn's bytes into neutral events.
#[derive(Debug)]
pub(crate) struct TranscriptReader {
    stdout: Tail,
    stderr: Tail,
    session: Box<dyn Session>,
    buffer: Vec<u8>,
    chunk: usize,
    most_behind: Option<u64>,
    /// Where the agent leaves its usage, if not in its output.
    usage_file: Option<PathBuf>,
}

/// What came out of one reading.
#[derive(Debug, Default)]
pub struct Batch {
    pub events: Vec<AgentEvent>,
    pub stderr: Vec<u8>,
    /// There was something to read, so there may be more.
    pub progressed: bool,
    /// Bytes of standard output that were passed over because the reader was too far behind.
    pub skipped: u64,
}

impl TranscriptReader {
    pub fn new(files: &TurnFiles, profile: &AgentProfile, facts: &SessionFacts) -> Self {
        Self::with(files, profile, windlass_agents::session_with(profile, facts))
    }

    /// Reads with this session, which may also want to say something.
    pub fn with(files: &TurnFiles, profile: &AgentProfile, session: Box<dyn Session>) -> Self {
        Self {
            usage_file: windlass_agents::usage_file(profile, &files.prompt()),
            stdout: Tail::new(files.stdout()),
            stderr: Tail::new(files.stderr()),
            session,
            buffer: Vec::new(),
            chunk: CHUNK,
            most_behind: None,
        }
    }

    /// Reads smaller pieces, for viewers of which there may be hundreds.
    #[must_use]
    pub fn in_pieces_of(mut self, bytes: usize) -> Self {
        self.chunk = bytes;
        self
    }

    /// Starts at this place of both streams, and reads no further than that one.
    #[must_use]
    pub fn between(mut self, from: Place, end: Option<Place>) -> Self {
        (self.stdout.offset, self.stderr.offset) = (from.stdout, from.stderr);
        if let Some(end) = end {
            (self.stdout.end, self.stderr.end) = (end.stdout, end.stderr);
        }
        self
    }

    /// Reads on to a place without telling what is there, so that the next reading continues as an earlier reader did.
    pub fn pass_to(&mut self, place: Place) -> io::Result<()> {
        let ends = (self.stdout.end, self.stderr.end);
        (self.stdout.end, self.stderr.end) = (place.stdout, place.stderr);
        while self.read()?.progressed {}
        (self.stdout.end, self.stderr.end) = ends;
        Ok(())
    }

    /// Reads from here to a place in one piece, as an earlier reader did.
    pub fn read_to(&mut self, place: Place) -> io::Result<Batch> {
        let ends = (self.stdout.end, self.stderr.end);
        let here = self.place();
        let longest = place.stdout.saturating_sub(here.stdout).max(place.stderr.saturating_sub(here.stderr));
        let longest = usize::try_from(longest).unwrap_or(CHUNK).clamp(1, CHUNK);
        (self.stdout.end, self.stderr.end) = (place.stdout, place.stderr);
        let batch = self.read_piece(longest);
        (self.stdout.end, self.stderr.end) = ends;
        batch
    }

    /// How far this reader is.
    pub fn place(&self) -> Place {
        Place { stdout: self.stdout.offset, stderr: self.stderr.offset }
    }

    /// Passes over output when it comes faster than it is read, for viewers that a user checks.
    #[must_use]
    pub fn at_most_behind(mut self, bytes: Option<u64>) -> Self {
        self.most_behind = bytes;
        self
    }

    /// Reads at most one chunk of each stream. A chunk ends at a multiple of its size, so that readers who came at
    /// different times are at the same places again.
    pub fn read(&mut self) -> io::Result<Batch> {
        let size = self.chunk as u64;
        let past = usize::try_from(self.stdout.offset % size).unwrap_or_default();
        self.read_piece(self.chunk - past)
    }

    fn read_piece(&mut self, most: usize) -> io::Result<Batch> {
        // Between turns nothing is read, and the buffer would be the largest part of a sleeping loop.
        self.buffer.resize(most, 0);
        let mut batch = Batch::default();
        if let Some(most) = self.most_behind {
            batch.skipped = self.stdout.skip(most);
        }
        let bytes = self.stdout.read(&mut self.buffer)?;
        batch.progressed = !bytes.is_empty();
        self.session.stdout(bytes, &mut batch.events);
        let bytes = self.stderr.read(&mut self.buffer)?;
        if !bytes.is_empty() {
            batch.progressed = true;
            batch.stderr = bytes.to_vec();
            self.session.stderr(bytes, &mut batch.events);
        }
        if !batch.progressed || self.chunk < CHUNK {
            self.buffer = Vec::new();
        }
        Ok(batch)
    }

    /// What is to be written to the agent's standard input.
    pub fn input(&mut self) -> Vec<u8> {
        self.session.input()
    }

    pub fn progress(&self) -> Progress {
        self.session.progress()
    }

    /// Asks the agent to end its turn, if it can be asked.
    pub fn interrupt(&mut self) -> bool {
        self.session.interrupt()
    }

    /// As `Session::took_a_step`.
    pub fn took_a_step(&mut self) -> bool {
        self.session.took_a_step()
    }

    /// As `Session::spins`.
    pub fn spins(&self) -> Option<(ErrorKind, String)> {
        self.session.spins()
    }

    /// The output is at its end.
    pub fn finish(&mut self) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        // A turn that was cut off may have left none.
        if let Some(bytes) = self.usage_file.as_deref().and_then(left_by_agent) {
            self.session.usage_file(&bytes, &mut events);
        }
        self.session.finish(&mut events);
        events
    }

    pub fn outcome(&self, exit: Exit, now: Timestamp) -> TurnOutcome {
        self.session.outcome(exit, now)
    }
}

/// More is no usage.
const LARGEST_USAGE: u64 = 1 << 20;

/// A small file in a directory that the agent can write: no link, pipe or device of its making is followed or waited for.
fn left_by_agent(path: &Path) -> Option<Vec<u8>> {
    let (dir, name) = (path.parent()?, path.file_name()?);
    let file = Beneath::open(dir).ok()?.file(Path::new(name)).ok()??;
    let mut bytes = Vec::new();
    file.take(LARGEST_USAGE + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LARGEST_USAGE).then_some(bytes)
}

const LONGEST_LAST_WORDS: usize = 2_000;

/// Adds to what was said and keeps the end of it.
fn keep_end(said: &mut String, text: &str, longest: usize) {
    let mut from = text.len().saturating_sub(longest);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    said.push_str(&text[from..]);
    if said.len() > longest {
        let mut cut = said.len() - longest;
        while !said.is_char_boundary(cut) {
            cut += 1;
        }
        said.drain(..cut);
    }
}

/// Gathers from a turn's events what is journalled of it.
#[derive(Debug)]
pub(crate) struct TurnWatcher {
    claim: ClaimDetector,
    session: Option<String>,
    usage: UsageByModel,
    account: Vec<AccountWindow>,
    last_words: String,
    calls: ToolCalls,
    /// A reviewer called Windlass's verdict tool to refuse the work.
    refused_by_tool: bool,
    /// What was said since the last tool call.
    answer: String,
    /// Somebody reads the whole of it.
    answers: bool,
    role: Role,
    prompt: String,
    /// The milestone that is worked on, with the ids of the features that are accepted.
    milestone: Option<(Milestone, Vec<String>)>,
}

/// The longest answer that is kept; of a longer one the end.
const LONGEST_ANSWER: usize = 256 * 1024;

impl TurnWatcher {
    pub fn new(promise: Option<&str>, prompt: &str) -> Self {
        Self {
            claim: ClaimDetector::new(promise.unwrap_or_default(), prompt),
            session: None,
            usage: UsageByModel::new(),
            account: Vec::new(),
            last_words: String::new(),
            calls: ToolCalls::default(),
            refused_by_tool: false,
            answer: String::new(),
            answers: false,
            role: Role::Coder,
            prompt: prompt.to_owned(),
            milestone: None,
        }
    }

    /// Keeps the whole of what is said after the last tool call, for who reads that in a reviewed loop.
    #[must_use]
    pub fn answers(mut self, role: Role) -> Self {
        self.answers = true;
        self.role = role;
        self
    }

    /// Reports name features of this milestone.
    #[must_use]
    pub fn of_milestone(mut self, milestone: Milestone, accepted: Vec<String>) -> Self {
        self.milestone = Some((milestone, accepted));
        self
    }

    pub fn see(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { text } => {
                self.claim.push(text);
                keep_end(&mut self.last_words, text, LONGEST_LAST_WORDS);
                keep_end(&mut self.answer, text, LONGEST_ANSWER);
            }
            // One that cannot be named safely cannot be resumed.
            AgentEvent::Session { id } => self.session = Some(id.clone()).filter(|id| is_session_name(id)),
            AgentEvent::Usage { model, usage } => {
                self.usage.entry(model.clone()).or_default().add(usage);
            }
            AgentEvent::Account { windows } => self.account.clone_from(windows),
            AgentEvent::ToolUse { id, name, input } => {
                self.calls.begun(id, name);
                self.refused_by_tool |=
                    name.ends_with("verdict") && ["dirty", "rejected"].iter().any(|no| input.contains(no));
                self.answer.clear();
            }
            AgentEvent::ToolResult { id, output, is_error } => self.calls.ended(id, output, *is_error),
            AgentEvent::Thinking { .. }
            | AgentEvent::Error { .. }
            | AgentEvent::Result { .. }
            | AgentEvent::Raw { .. } => {}
        }
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// How much of its account the agent last reported as used.
    pub fn account(&self) -> &[AccountWindow] {
        &self.account
    }

    pub fn usage(&self) -> &UsageByModel {
        &self.usage
    }

    /// The outcome of a turn that went well, unless it is the approval of a reviewer that saw nothing.
    fn of_reviewer(&self, outcome: TurnOutcome, verdict: Option<&Verdict>) -> TurnOutcome {
        let refuses = self.refused_by_tool
            || match verdict {
                Some(Verdict::Rejected { .. }) => true,
                Some(Verdict::Accepted | Verdict::Unclear { .. }) => false,
                None => {
                    let audit = read_audit(&self.answer);
                    audit.is_ok_and(|audit| audit.verdict == AuditVerdict::Dirty)
                }
            };
        match self.calls.all_failed() {
            Some(why) if self.role.reviews() && outcome.is_finished() && !refuses => {
                let message = format!("the {} approved the work without reading it: {why}", self.role);
                TurnOutcome::Failed { kind: ErrorKind::Other, message }
            }
            Some(_) | None => outcome,
        }
    }

    pub fn report(self, outcome: TurnOutcome, exit: Option<Exit>, duration_ms: u64) -> TurnReport {
        let exit_code = match exit {
            Some(Exit::Code(code)) => Some(code),
            Some(Exit::Signal(_) | Exit::Waits) | None => None,
        };
        let reads = |role: Role| self.answers && self.role == role;
        let verdict = reads(Role::Acceptor).then(|| Verdict::read(&self.answer, &self.prompt));
        let asks = self.role == Role::Coder && outcome.is_finished();
        let questions = if asks { marked_questions(&self.answer, &self.prompt) } else { Vec::new() };
        let developer = reads(Role::Coder).then(|| {
            let report = Report::read(&self.answer, &self.prompt);
            Box::new(match &self.milestone {
                Some((milestone, accepted)) => {
                    report.of_milestone(milestone, |id| accepted.iter().any(|known| known.eq_ignore_ascii_case(id)))
                }
                None => report,
            })
        });
        TurnReport {
            outcome: self.of_reviewer(outcome, verdict.as_ref()),
            claim: self.claim.finish(),
            session: self.session,
            usage: self.usage,
            answer: self.answers.then_some(self.answer),
            verdict,
            developer,
            questions,
            put_back: Vec::new(),
            limits_hit: Vec::new(),
            last_words: self.last_words.trim().to_owned(),
            tools: self.calls.by_name(),
            failed_calls: self.calls.failed(),
            exit_code,
            duration_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_that_is_a_link_a_pipe_or_too_large_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("usage.json");
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(left_by_agent(&path).as_deref(), Some(&b"{}"[..]));
        let replace = |make: &dyn Fn()| {
            std::fs::remove_file(&path).unwrap();
            make();
            left_by_agent(&path)
        };
        assert_eq!(replace(&|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap()), None);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let pipe = || rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(replace(&pipe), None);
        let large = || File::create(&path).unwrap().set_len(LARGEST_USAGE + 1).unwrap();
        assert_eq!(replace(&large), None);
    }
}
