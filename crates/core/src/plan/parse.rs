//! Reading a plan: lines into parts, then a look at what the parts lack.

use std::collections::BTreeMap;

use super::marker::{self, Marker};
use super::warning::{Field, PlanWarning, Trouble};
use super::{Outside, Plan, PlanError, Section, Trailing, TrailingPart};
use crate::text::markdown::{self, Kind, Line, Unclosed, joined};

const LONGEST_TITLE: usize = 60;

pub(super) fn parse(text: &str) -> Result<Plan, PlanError> {
    if text.trim().is_empty() {
        return Err(PlanError::Empty);
    }
    let (lines, unclosed) = markdown::scan(text);
    let wrapper = find_wrapper(&lines, unclosed)?;
    let mut reader = Reader::default();
    reader.parts.push(Part { line: lines[wrapper.inside.start].number, kind: PartKind::Preamble, lines: Vec::new() });
    lines[wrapper.inside.clone()].iter().for_each(|line| reader.read(*line));
    for line in lines[..wrapper.before].iter().chain(&lines[wrapper.after..]) {
        if is_marker(*line, Marker::Section) {
            reader.warn(line.number, Trouble::MarkerOutside);
        }
    }
    if let Some(unclosed) = unclosed {
        reader.warn(unclosed.line(), Trouble::Unclosed);
    }
    let outside = Outside {
        before: joined(lines[..wrapper.before].iter().map(|line| line.text)),
        after: joined(lines[wrapper.after..].iter().map(|line| line.text)),
    };
    reader.finish(outside)
}

fn is_marker(line: Line<'_>, marker: Marker) -> bool {
    marker_of(line) == Some(marker)
}

/// The marker on a line, if it is one there: not as part of code.
fn marker_of(line: Line<'_>) -> Option<Marker> {
    let shown = line.kind.is_code() || line.kind == Kind::Comment || markdown::columns(line.text) >= 4;
    if shown { None } else { marker::read(line.text) }
}

/// Where the plan lies among the lines.
struct Wrapper {
    before: usize,
    inside: std::ops::Range<usize>,
    after: usize,
}

fn find_wrapper(lines: &[Line<'_>], unclosed: Option<Unclosed>) -> Result<Wrapper, PlanError> {
    let at = |marker: Marker| -> Vec<usize> {
        lines.iter().enumerate().filter(|(_, line)| is_marker(**line, marker)).map(|(index, _)| index).collect()
    };
    let (starts, ends) = (at(Marker::PlanStart), at(Marker::PlanEnd));
    let number = |index: usize| lines[index].number;
    for same in [&starts, &ends] {
        if let [first, second, ..] = same[..] {
            return Err(PlanError::Multiple { line: number(second), first: number(first) });
        }
    }
    match (starts.first(), ends.first()) {
        (None, None) => Ok(Wrapper { before: 0, inside: 0..lines.len(), after: lines.len() }),
        (None, Some(end)) => Err(PlanError::MissingStart { line: number(*end) }),
        (Some(start), None) => {
            let in_code = unclosed.map(Unclosed::line).filter(|line| *line > number(*start));
            Err(PlanError::Unterminated { line: number(*start), in_code })
        }
        (Some(start), Some(end)) if end < start => Err(PlanError::MissingStart { line: number(*end) }),
        (Some(start), Some(end)) => {
            let inside = start + 1..*end;
            if lines[inside.clone()].iter().all(|line| line.kind == Kind::Blank) {
                return Err(PlanError::EmptyWrapper { line: number(*start), end: number(*end) });
            }
            Ok(Wrapper { before: *start, inside, after: end + 1 })
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Preamble,
    Section,
    Trailing(TrailingPart),
}

struct Part<'a> {
    /// Of its marker or heading.
    line: u32,
    kind: PartKind,
    lines: Vec<Line<'a>>,
}

impl Part<'_> {
    fn body(&self) -> String {
        joined(self.lines.iter().map(|line| line.text))
    }
}

#[derive(Default)]
struct Reader<'a> {
    parts: Vec<Part<'a>>,
    warnings: Vec<PlanWarning>,
}

impl<'a> Reader<'a> {
    fn warn(&mut self, line: u32, trouble: Trouble) {
        self.warnings.push(PlanWarning { line, trouble });
    }

    fn read(&mut self, line: Line<'a>) {
        if marker_of(line) == Some(Marker::Section) {
            self.parts.push(Part { line: line.number, kind: PartKind::Section, lines: Vec::new() });
            return;
        }
        let hidden = line.kind.is_code() || line.kind == Kind::Comment || markdown::columns(line.text) >= 4;
        if hidden && marker::read(line.text).is_some() {
            self.warn(line.number, Trouble::MarkerInCode);
        } else if !hidden && marker::resembles(line.text) {
            self.warn(line.number, Trouble::NotAMarker);
        }
        if let Some(part) = TrailingPart::begun_by(line.kind) {
            self.parts.push(Part { line: line.number, kind: PartKind::Trailing(part), lines: Vec::new() });
        }
        if let Some(part) = self.parts.last_mut() {
            part.lines.push(line);
        }
    }

    fn finish(mut self, outside: Outside) -> Result<Plan, PlanError> {
        let first_marker = self.parts.iter().find(|part| part.kind == PartKind::Section).map(|part| part.line);
        let mut plan = match first_marker {
            None => self.unmarked(),
            Some(line) => {
                let plan = self.marked();
                if plan.sections.is_empty() {
                    return Err(PlanError::OnlyEmptySections { line });
                }
                plan
            }
        };
        plan.outside = outside;
        self.warnings.sort_by_key(|warning| warning.line);
        plan.warnings = self.warnings;
        Ok(plan)
    }

    fn unmarked(&mut self) -> Plan {
        let line = self.parts.first().map_or(1, |part| part.line);
        self.warn(line, Trouble::NoMarkers);
        let lines: Vec<Line<'_>> = self.parts.iter().flat_map(|part| part.lines.iter().copied()).collect();
        self.warn_of_paths(&lines);
        let body = joined(lines.iter().map(|line| line.text));
        let section = Section { number: 1, title: title_of(&lines, 1), body };
        Plan {
            preamble: String::new(),
            sections: vec![section],
            trailing: Vec::new(),
            outside: Outside::default(),
            marked: false,
            warnings: Vec::new(),
        }
    }

    fn marked(&mut self) -> Plan {
        let parts = std::mem::take(&mut self.parts);
        let (mut preamble, mut sections, mut trailing): (Vec<String>, Vec<Section>, Vec<Trailing>) = Default::default();
        let mut titles: BTreeMap<String, u32> = BTreeMap::new();
        let mut begun: Vec<(TrailingPart, u32)> = Vec::new();
        for part in &parts {
            match part.kind {
                PartKind::Preamble => preamble.push(part.body()),
                PartKind::Trailing(name) => {
                    if let Some((_, first)) = begun.iter().find(|(known, _)| *known == name) {
                        self.warn(part.line, Trouble::DuplicatePart { part: name, first: *first });
                    }
                    begun.push((name, part.line));
                    trailing.push(Trailing { part: name, body: part.body() });
                }
                PartKind::Section => {
                    let number = u32::try_from(sections.len() + 1).unwrap_or(u32::MAX);
                    let Some(section) = self.section(part, number, &mut titles) else { continue };
                    if let Some((name, _)) = begun.last() {
                        self.warn(part.line, Trouble::SectionAfter { section: number, part: *name });
                    }
                    sections.push(section);
                }
            }
        }
        let parts_lacking: Vec<TrailingPart> =
            TrailingPart::ALL.into_iter().filter(|part| begun.iter().all(|(known, _)| known != part)).collect();
        if !parts_lacking.is_empty() {
            let last = parts.iter().flat_map(|part| &part.lines).map(|line| line.number).max().unwrap_or(1);
            self.warn(last, Trouble::LacksParts { parts: parts_lacking });
        }
        Plan {
            preamble: preamble.join("\n\n"),
            sections,
            trailing,
            outside: Outside::default(),
            marked: true,
            warnings: Vec::new(),
        }
    }

    fn section(&mut self, part: &Part<'_>, number: u32, titles: &mut BTreeMap<String, u32>) -> Option<Section> {
        let body = part.body();
        if body.is_empty() {
            self.warn(part.line, Trouble::EmptySection);
            return None;
        }
        let title = title_of(&part.lines, number);
        match titles.get(&title) {
            Some(first) => self.warn(part.line, Trouble::DuplicateTitle { title: title.clone(), first: *first }),
            None => {
                titles.insert(title.clone(), part.line);
            }
        }
        let told: Vec<Field> = part.lines.iter().filter_map(|line| field_of(*line)).collect();
        let fields: Vec<Field> = Field::ALL.into_iter().filter(|field| !told.contains(field)).collect();
        if !fields.is_empty() {
            self.warn(part.line, Trouble::LacksFields { section: number, fields });
        }
        self.warn_of_paths(&part.lines);
        Some(Section { number, title, body })
    }

    fn warn_of_paths(&mut self, lines: &[Line<'_>]) {
        let mut in_files = false;
        for line in lines.iter().filter(|line| !line.kind.is_code()) {
            match field_of(*line) {
                Some(field) => in_files = field == Field::Files,
                None => in_files &= line.kind.heading().is_none(),
            }
            if let Some(path) = absolute_path(line.text, in_files) {
                self.warn(line.number, Trouble::AbsolutePath { path: path.to_owned() });
            }
        }
    }
}

/// The first heading of the second level that does not start its own part.
pub(super) fn title_of(lines: &[Line<'_>], number: u32) -> String {
    let heading = lines
        .iter()
        .filter(|line| TrailingPart::begun_by(line.kind).is_none())
        .find_map(|line| line.kind.heading().filter(|(level, _)| *level == 2))
        .map(|(_, title)| title);
    let shown: String = heading.unwrap_or_default().chars().filter(|c| !c.is_control()).take(LONGEST_TITLE).collect();
    let shown = shown.trim();
    if shown.is_empty() { format!("Section {number}") } else { shown.to_owned() }
}

/// The field that a line starts: `### Files`, `**Files**: …`, `- Files: …`.
fn field_of(line: Line<'_>) -> Option<Field> {
    let label = markdown::label(line)?;
    Field::ALL.into_iter().find(|field| label.is(field.name()))
}

/// A path that only exists on one machine. In a list of files that is every path from the root; elsewhere `/users`
/// may as well be a route, so only well-known places count.
fn absolute_path(line: &str, in_files: bool) -> Option<&str> {
    const PLACES: [&str; 10] =
        ["/home/", "/Users/", "/tmp/", "/var/", "/etc/", "/opt/", "/usr/", "/root/", "/mnt/", "~/"];
    let ends = |c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | '(' | ')' | '<' | '>' | '[' | ']' | ',');
    line.split(ends).map(|word| word.trim_end_matches(['.', ':', ';', '*'])).find(|word| {
        let drive = word.as_bytes();
        let on_drive = drive.len() > 3
            && drive[0].is_ascii_alphabetic()
            && drive[1] == b':'
            && matches!(drive[2], b'\\' | b'/')
            && drive[3] != b'/';
        let from_root = in_files && word.len() > 1 && word.starts_with('/') && !word.starts_with("//");
        on_drive || from_root || PLACES.iter().any(|place| word.starts_with(place) && word.len() > place.len())
    })
}
