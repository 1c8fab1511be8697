//! What reviewers found: bugs and warnings at places, open until a reviewer resolves them.
//!
//! A place has at most one open finding per section; a resolved finding that is found again is the same finding,
//! with its history. Nothing is ever removed.
//!
//! For a journal: `check` judges and changes nothing, `put` takes over what was judged; likewise `to_resolve` and
//! `close`. `write` and `resolve` do both at once.

mod place;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::TurnKey;

pub use place::PlaceError;

/// So many audits with a finding open make it one that recurs.
pub(crate) const RECURRING: u32 = 3;

/// More open findings than this help nobody; a reviewer that continues has gone astray.
pub(crate) const MOST_OPEN: usize = 500;

/// In characters.
pub(crate) const LONGEST_DESCRIPTION: usize = 8_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Bug,
    Warning,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Severity::Bug => "bug",
            Severity::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `f1`, `f2`, … in the order of writing; never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct FindingId(pub u32);

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

impl FromStr for FindingId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim().strip_prefix(['f', 'F']).filter(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|number| *number > 0);
        number.map(FindingId).ok_or_else(|| format!("`{text}` is not a finding ID, such as f1"))
    }
}

impl TryFrom<String> for FindingId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<FindingId> for String {
    fn from(id: FindingId) -> Self {
        id.to_string()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    pub id: FindingId,
    /// From the workspace's root, or one of the names for what is not a file: `GOAL`, `PLAN:section-2`, `PLAN:phase-2`.
    pub file: String,
    pub line: Option<u32>,
    pub severity: Severity,
    pub description: String,
    pub scenario: Option<String>,
    /// The section it belongs to; none if it is about more than one.
    pub section: Option<u32>,
    /// The audits it was open in.
    pub recurrence: u32,
    /// The turn that wrote it, or wrote it again.
    pub written_in: TurnKey,
    pub status: FindingStatus,
    /// What it was before it was written again, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<PastFinding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FindingStatus {
    Open,
    Resolved { resolved_in: TurnKey },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PastFinding {
    pub severity: Severity,
    pub description: String,
    pub written_in: TurnKey,
    pub resolved_in: TurnKey,
}

impl Finding {
    pub fn is_open(&self) -> bool {
        match self.status {
            FindingStatus::Open => true,
            FindingStatus::Resolved { .. } => false,
        }
    }

    /// `src/a.rs:12`, or the file alone.
    pub fn place(&self) -> String {
        place::shown(&self.file, self.line)
    }

    /// All that a search checks.
    pub fn text(&self) -> String {
        let scenario = self.scenario.as_deref().unwrap_or_default();
        format!("{} {} {}\n{}\n{scenario}", self.id, self.severity, self.place(), self.description)
    }

    fn is_at(&self, new: &NewFinding) -> bool {
        let same_place = self.file == new.file && self.line == new.line && self.section == new.section;
        // Without a line the place says too little: a goal may be missed in more than one way.
        same_place && (new.line.is_some() || same_words(&self.description, &new.description))
    }
}

/// What a reviewer hands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFinding {
    pub file: String,
    #[serde(default)]
    pub line: Option<u32>,
    pub severity: Severity,
    pub description: String,
    #[serde(default)]
    pub scenario: Option<String>,
    #[serde(default)]
    pub section: Option<u32>,
}

/// Why a finding is not written or not resolved.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FindingRefusal {
    #[error("{id} is already open at {place}; resolve it first, or write what is new at another line")]
    Duplicate { id: FindingId, place: String },
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("the finding at {place} has no description; say what is wrong and how to fix it")]
    NoDescription { place: String },
    #[error("the {what} of the finding at {place} has a control character ({character}); write plain text")]
    ControlCharacter { place: String, what: &'static str, character: String },
    #[error("the {what} of the finding at {place} has {length} characters; the limit is {LONGEST_DESCRIPTION}")]
    TooLong { place: String, what: &'static str, length: usize },
    #[error("{MOST_OPEN} findings are open, which is the limit; resolve some before writing more")]
    TooMany,
    #[error("finding {name} not found{}", known(open))]
    Unknown { name: String, open: Vec<FindingId> },
    #[error("{id} is already resolved")]
    AlreadyResolved { id: FindingId },
    #[error("several findings are open at {name}: {}; use an ID", listed(ids))]
    Ambiguous { name: String, ids: Vec<FindingId> },
}

fn known(open: &[FindingId]) -> String {
    if open.is_empty() { "; none is open".to_owned() } else { format!("; open: {}", listed(open)) }
}

fn listed(ids: &[FindingId]) -> String {
    const SHOWN: usize = 20;
    let mut names: Vec<String> = ids.iter().take(SHOWN).map(FindingId::to_string).collect();
    if ids.len() > SHOWN {
        names.push(format!("{} more", ids.len() - SHOWN));
    }
    names.join(", ")
}

/// Which findings are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Scope {
    /// Those of one section.
    Section {
        section: u32,
    },
    /// Those that belong to no single section.
    CrossSection,
    All,
}

impl Scope {
    pub fn has(self, finding: &Finding) -> bool {
        match self {
            Scope::Section { section } => finding.section == Some(section),
            Scope::CrossSection => finding.section.is_none(),
            Scope::All => true,
        }
    }
}

/// All findings of a loop, in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Findings(
    Vec<Finding>,
    /// The highest id that was ever given.
    #[serde(skip)]
    u32,
);

impl Findings {
    pub const NONE: Self = Self(Vec::new(), 0);

    pub fn all(&self) -> &[Finding] {
        &self.0
    }

    pub fn get(&self, id: FindingId) -> Option<&Finding> {
        self.0.iter().find(|finding| finding.id == id)
    }

    pub fn open(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter().filter(|finding| finding.is_open())
    }

    pub fn open_bugs(&self, scope: Scope) -> impl Iterator<Item = &Finding> {
        self.blocking(false, scope)
    }

    /// What keeps a section, or with `Scope::All` the loop, from being clean.
    pub fn blocking(&self, warnings_block: bool, scope: Scope) -> impl Iterator<Item = &Finding> {
        self.open().filter(move |finding| scope.has(finding)).filter(move |finding| match finding.severity {
            Severity::Bug => true,
            Severity::Warning => warnings_block,
        })
    }

    /// Open through so many audits that more of the same will not help.
    pub fn recurring(&self) -> impl Iterator<Item = &Finding> {
        self.open().filter(|finding| finding.recurrence >= RECURRING)
    }

    /// Findings, resolved ones too, whose text the caller's pattern matches.
    pub fn search(&self, matches: impl Fn(&str) -> bool) -> impl Iterator<Item = &Finding> {
        self.0.iter().filter(move |finding| matches(&finding.text()))
    }

    /// The finding as it would be written, with its path made relative to the workspace.
    pub fn check(&self, new: &NewFinding, turn: TurnKey, workspace: Option<&str>) -> Result<Finding, FindingRefusal> {
        let new = cleaned(new, workspace)?;
        let place = place::shown(&new.file, new.line);
        let known = self.0.iter().rev().find(|finding| finding.is_at(&new));
        let (id, recurrence, history) = match known {
            Some(known) => match &known.status {
                FindingStatus::Open => return Err(FindingRefusal::Duplicate { id: known.id, place }),
                FindingStatus::Resolved { resolved_in } => {
                    let mut history = known.history.clone();
                    history.push(PastFinding {
                        severity: known.severity,
                        description: known.description.clone(),
                        written_in: known.written_in,
                        resolved_in: *resolved_in,
                    });
                    (known.id, known.recurrence, history)
                }
            },
            None => (self.next_id(), 0, Vec::new()),
        };
        if self.open().count() >= MOST_OPEN {
            return Err(FindingRefusal::TooMany);
        }
        Ok(Finding {
            id,
            file: new.file,
            line: new.line,
            severity: new.severity,
            description: new.description,
            scenario: new.scenario,
            section: new.section,
            recurrence,
            written_in: turn,
            status: FindingStatus::Open,
            history,
        })
    }

    fn next_id(&self) -> FindingId {
        FindingId(self.0.iter().map(|finding| finding.id.0).max().unwrap_or(0).max(self.1) + 1)
    }

    /// Goes back to what was known before; an id is not given twice for that.
    pub fn go_back_to(&mut self, known: &Findings) {
        let highest = self.next_id().0 - 1;
        *self = Findings(known.0.clone(), highest);
    }

    /// Takes over a finding that was checked.
    pub fn put(&mut self, finding: Finding) {
        match self.0.iter_mut().find(|known| known.id == finding.id) {
            Some(known) => *known = finding,
            None => self.0.push(finding),
        }
    }

    pub fn write(
        &mut self,
        new: &NewFinding,
        turn: TurnKey,
        workspace: Option<&str>,
    ) -> Result<Finding, FindingRefusal> {
        let finding = self.check(new, turn, workspace)?;
        self.put(finding.clone());
        Ok(finding)
    }

    /// The open finding that a reviewer names: by id, by `file:line`, or by file if only one is open there.
    pub fn to_resolve(&self, name: &str, workspace: Option<&str>) -> Result<FindingId, FindingRefusal> {
        let unknown = || FindingRefusal::Unknown {
            name: name.trim().escape_debug().to_string(),
            open: self.open().map(|finding| finding.id).collect(),
        };
        if let Some(finding) = name.parse().ok().and_then(|id| self.get(id)) {
            return if finding.is_open() {
                Ok(finding.id)
            } else {
                Err(FindingRefusal::AlreadyResolved { id: finding.id })
            };
        }
        let (file, line) = place::read(name, None, workspace).map_err(|_| unknown())?;
        let there: Vec<&Finding> =
            self.0.iter().filter(|f| f.file == file && (line.is_none() || f.line == line)).collect();
        let open: Vec<FindingId> = there.iter().filter(|finding| finding.is_open()).map(|finding| finding.id).collect();
        match (&open[..], there.last()) {
            ([], None) => Err(unknown()),
            ([], Some(last)) => Err(FindingRefusal::AlreadyResolved { id: last.id }),
            ([one], _) => Ok(*one),
            ([_, _, ..], _) => Err(FindingRefusal::Ambiguous { name: place::shown(&file, line), ids: open }),
        }
    }

    /// Marks a finding as resolved; one that is not open stays as it is.
    pub fn close(&mut self, id: FindingId, turn: TurnKey) {
        if let Some(finding) = self.0.iter_mut().find(|finding| finding.id == id && finding.is_open()) {
            finding.status = FindingStatus::Resolved { resolved_in: turn };
        }
    }

    pub fn resolve(&mut self, name: &str, turn: TurnKey, workspace: Option<&str>) -> Result<FindingId, FindingRefusal> {
        let id = self.to_resolve(name, workspace)?;
        self.close(id, turn);
        Ok(id)
    }

    /// An audit has ended: everything that is still open was open in one more.
    pub fn audited(&mut self) {
        for finding in self.0.iter_mut().filter(|finding| finding.is_open()) {
            finding.recurrence += 1;
        }
    }
}

fn same_words(one: &str, other: &str) -> bool {
    let words = |text: &str| text.to_lowercase().split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    words(one) == words(other)
}

fn cleaned(new: &NewFinding, workspace: Option<&str>) -> Result<NewFinding, FindingRefusal> {
    let (file, line) = place::read(&new.file, new.line, workspace)?;
    let place = place::shown(&file, line);
    let description = plain(&new.description, "description", &place)?;
    if description.is_empty() {
        return Err(FindingRefusal::NoDescription { place });
    }
    let scenario = plain(new.scenario.as_deref().unwrap_or_default(), "scenario", &place)?;
    let scenario = Some(scenario).filter(|scenario| !scenario.is_empty());
    Ok(NewFinding { file, line, severity: new.severity, description, scenario, section: new.section })
}

fn plain(text: &str, what: &'static str, place: &str) -> Result<String, FindingRefusal> {
    let text = text.replace("\r\n", "\n");
    if let Some(character) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        let character = character.escape_default().to_string();
        return Err(FindingRefusal::ControlCharacter { place: place.to_owned(), what, character });
    }
    let length = text.trim().chars().count();
    if length > LONGEST_DESCRIPTION {
        return Err(FindingRefusal::TooLong { place: place.to_owned(), what, length });
    }
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests;
