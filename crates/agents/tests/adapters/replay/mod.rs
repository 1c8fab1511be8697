//! Recorded output, fed to an adapter as a turn would feed it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;
use windlass_agents::{Exit, SessionFacts, session_with};
use windlass_core::agent::{AgentEvent, TurnOutcome};
use windlass_core::profile::{AdapterKind, AgentProfile};
use windlass_core::usage::UsageByModel;

pub const AGENTS: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "qwen"];

#[derive(Debug, Clone)]
pub struct Recording {
    pub case: String,
    /// Where it comes from, if not from the ones that came with the project.
    pub from: Option<String>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub usage_file: Option<Vec<u8>>,
    pub exit: Exit,
}

impl Recording {
    pub fn all(agent: &str) -> Vec<Recording> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = Self::in_dir(&here.join("tests/recordings").join(agent), None);
        let mut own: Vec<PathBuf> = fs::read_dir(here.join("recordings"))
            .map(|dir| dir.filter_map(|entry| Some(entry.ok()?.path())).collect())
            .unwrap_or_default();
        own.sort();
        for dir in own {
            let name = dir.file_name().unwrap().to_string_lossy().into_owned();
            // One directory for each version: `claude-2.1.325`, or the bare name.
            if dir.is_dir() && (name == agent || name.strip_prefix(agent).is_some_and(|rest| rest.starts_with('-'))) {
                let version = name.strip_prefix(agent).unwrap_or_default();
                found.extend(Self::in_dir(&dir, Some(&format!("recorded{version}"))));
            }
        }
        found
    }

    fn in_dir(dir: &Path, from: Option<&str>) -> Vec<Recording> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(dir).map(|dir| dir.filter_map(|entry| Some(entry.ok()?.path())).collect()).unwrap_or_default();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
        files.iter().map(|path| Self::read(path, from)).collect()
    }

    fn read(path: &Path, from: Option<&str>) -> Recording {
        let beside = |extension: &str| fs::read(path.with_extension(extension)).ok();
        let meta: Value = beside("meta.json").map_or(Value::Null, |bytes| serde_json::from_slice(&bytes).unwrap());
        let number = |name: &str| meta[name].as_i64().map(|number| i32::try_from(number).unwrap());
        // The one recorder writes a signal as a negative exit code, the other by itself.
        let exit = match (number("exit"), number("signal")) {
            (None, Some(signal)) => Exit::Signal(signal),
            (Some(code), _) if code < 0 => Exit::Signal(-code),
            (code, _) => Exit::Code(code.unwrap_or(0)),
        };
        Recording {
            case: path.file_stem().unwrap().to_string_lossy().into_owned(),
            from: from.map(str::to_owned),
            stdout: fs::read(path).unwrap(),
            stderr: beside("stderr").unwrap_or_default(),
            usage_file: beside("usage.json"),
            exit,
        }
    }

    pub fn name(&self) -> String {
        match &self.from {
            None => self.case.clone(),
            Some(from) => format!("{from}_{}", self.case),
        }
    }
}

pub fn adapter(agent: &str) -> AgentProfile {
    let adapter: AdapterKind = serde_json::from_value(agent.into()).unwrap();
    AgentProfile { adapter: Some(adapter), model: Some("gpt-5-codex".into()), ..AgentProfile::default() }
}

pub fn now() -> Timestamp {
    "2026-11-15T23:00:00Z".parse().unwrap()
}

pub fn events_and_outcome(
    profile: AgentProfile,
    recording: &Recording,
    facts: &SessionFacts,
    chunk: usize,
) -> (Vec<AgentEvent>, TurnOutcome) {
    let mut session = session_with(&profile, facts);
    let mut events = Vec::new();
    let mut ignored = Vec::new();
    for part in recording.stderr.chunks(chunk) {
        session.stderr(part, &mut ignored);
    }
    for part in recording.stdout.chunks(chunk) {
        // As the driver does it: what came out before is not there any more.
        let mut batch = Vec::new();
        session.stdout(part, &mut batch);
        events.extend(batch);
    }
    if let Some(file) = &recording.usage_file {
        session.usage_file(file, &mut events);
    }
    session.finish(&mut events);
    let outcome = session.outcome(recording.exit, now());
    (events, outcome)
}

pub fn usage_of(events: &[AgentEvent]) -> UsageByModel {
    let mut sum = UsageByModel::new();
    for event in events {
        if let AgentEvent::Usage { model, usage } = event {
            sum.entry(model.clone()).or_default().add(usage);
        }
    }
    sum
}
