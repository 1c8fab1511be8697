//! Reading a milestone's file: headings into parts, lists into items, ids for all features.

use std::collections::{BTreeMap, BTreeSet};

use super::item::{self, Item};
use super::{
    AnimaRecord, Criterion, Feature, FeatureKind, FrontMatter, Milestone, MilestoneError, feature_id, front_matter,
    is_valid_id,
};
use crate::nearest::nearest;
use crate::text::markdown::{self, Kind, Line, joined, without_emphasis};

const LONGEST_FILE: usize = 1024 * 1024;

const FEATURE_EXAMPLE: &str = "`- [ ] F1: what to build (acceptance: how to check it)`";
const CRITERION_EXAMPLE: &str = "`- [ ] what must be true`";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Goal,
    Features,
    Criteria,
    Constraints,
}

impl Part {
    const ALL: [Part; 4] = [Part::Goal, Part::Features, Part::Criteria, Part::Constraints];

    fn names(self) -> &'static [&'static str] {
        match self {
            Part::Goal => &["Goal", "目标"],
            Part::Features => &["Features", "Feature", "功能", "功能列表", "功能清单"],
            Part::Criteria => &["Acceptance Criteria", "验收标准"],
            Part::Constraints => &["Constraints", "Constraint", "约束", "约束条件"],
        }
    }

    fn name(self) -> &'static str {
        self.names()[0]
    }
}

fn kind_names(kind: FeatureKind) -> &'static [&'static str] {
    match kind {
        FeatureKind::BugFix => &["Bug Fixes", "Bug Fix", "Bugs", "缺陷修复", "修复"],
        FeatureKind::NewFeature => &["New Features", "New Feature", "新功能"],
        FeatureKind::Optimization => &["Optimizations", "Optimization", "Optimisations", "Optimisation", "优化"],
    }
}

pub(super) fn parse(id: &str, text: &str, record: Option<&AnimaRecord>) -> Result<Milestone, MilestoneError> {
    if !is_valid_id(id) {
        let what = format!("`{}` is not a valid milestone ID", id.escape_debug());
        return Err(MilestoneError::new(1, what, "use letters, digits, -, and _ in the file name, such as login.md"));
    }
    if text.len() > LONGEST_FILE {
        let what = format!("the file is longer than {LONGEST_FILE} bytes");
        return Err(MilestoneError::new(1, what, "check that it is the right file; a milestone is a page or two"));
    }
    let (front_matter, skip) = front_matter::read(text)?;
    let start: usize = text.split_inclusive('\n').take(skip).map(str::len).sum();
    let (mut lines, unclosed) = markdown::scan(&text[start..]);
    let offset = u32::try_from(skip).unwrap_or(u32::MAX);
    lines.iter_mut().for_each(|line| line.number += offset);
    if let Some(unclosed) = unclosed {
        let what = "unclosed code fence or comment";
        return Err(MilestoneError::new(unclosed.line() + offset, what, "close it"));
    }
    let mut sheet = Sheet::default();
    lines.iter().filter(|line| !is_comment(line)).try_for_each(|line| sheet.read(*line))?;
    let last = lines.last().map_or(1, |line| line.number);
    sheet.finish(id, front_matter, record, last)
}

fn is_comment(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    line.kind == Kind::Comment || (line.kind == Kind::Prose && text.starts_with("<!--") && text.ends_with("-->"))
}

#[derive(Default)]
struct Sheet<'a> {
    title: Option<(String, u32)>,
    parts: Vec<(Part, u32)>,
    goal: Vec<&'a str>,
    features: Vec<(Option<FeatureKind>, Vec<Line<'a>>)>,
    criteria: Vec<Line<'a>>,
    constraints: Vec<&'a str>,
}

impl<'a> Sheet<'a> {
    fn read(&mut self, line: Line<'a>) -> Result<(), MilestoneError> {
        let part = self.parts.last().map(|(part, _)| *part);
        match line.kind.heading().filter(|_| markdown::columns(line.text) < 2) {
            Some((1, title)) => self.title(title, line.number),
            Some((2, title)) => self.begin(title, line.number),
            Some((3, title)) if part == Some(Part::Features) => {
                let kind = feature_kind(title, line.number)?;
                self.features.push((Some(kind), Vec::new()));
                Ok(())
            }
            Some(_) | None => self.add(part, line),
        }
    }

    fn title(&mut self, title: &str, line: u32) -> Result<(), MilestoneError> {
        let hint = "use one title, `# …`, and second-level headings, `## …`";
        if let Some((_, first)) = &self.title {
            return Err(MilestoneError::new(line, format!("a second title; the first is on line {first}"), hint));
        }
        if !self.parts.is_empty() {
            return Err(MilestoneError::new(line, "the title comes after other headings", hint));
        }
        let title: String = without_emphasis(title).chars().filter(|c| !c.is_control()).collect();
        if title.is_empty() {
            return Err(MilestoneError::new(line, "the title is empty", "write `# ` and the milestone's title"));
        }
        self.title = Some((title, line));
        Ok(())
    }

    fn begin(&mut self, title: &str, line: u32) -> Result<(), MilestoneError> {
        let Some(part) = Part::ALL.into_iter().find(|part| is_one_of(title, part.names())) else {
            return Err(unknown_heading(title, line, "## ", Part::ALL.map(Part::name)));
        };
        if let Some((_, first)) = self.parts.iter().find(|(known, _)| *known == part) {
            let what = format!("a second ## {}; the first is on line {first}", part.name());
            return Err(MilestoneError::new(line, what, "merge them under one heading"));
        }
        self.parts.push((part, line));
        if part == Part::Features {
            self.features.push((None, Vec::new()));
        }
        Ok(())
    }

    fn add(&mut self, part: Option<Part>, line: Line<'a>) -> Result<(), MilestoneError> {
        match part {
            Some(Part::Goal) => self.goal.push(line.text),
            Some(Part::Constraints) => self.constraints.push(line.text),
            Some(Part::Criteria) => self.criteria.push(line),
            Some(Part::Features) => self.features.last_mut().into_iter().for_each(|(_, lines)| lines.push(line)),
            None if line.kind == Kind::Blank => {}
            None => {
                let what = "text before the first second-level heading";
                return Err(MilestoneError::new(line.number, what, "move it under ## Goal"));
            }
        }
        Ok(())
    }

    fn finish(
        self,
        id: &str,
        mut front_matter: FrontMatter,
        record: Option<&AnimaRecord>,
        last: u32,
    ) -> Result<Milestone, MilestoneError> {
        let recorded = record.and_then(|record| record.title.clone()).filter(|title| !title.trim().is_empty());
        let title = self
            .title
            .map(|(title, _)| title)
            .or(recorded)
            .ok_or_else(|| MilestoneError::new(1, "the milestone has no title", "start with `# ` and the title"))?;
        let at = |part: Part| {
            let missing = || {
                let what = format!("the milestone has no ## {}", part.name());
                MilestoneError::new(last, what, format!("add the heading `## {}` and its content", part.name()))
            };
            self.parts.iter().find(|(known, _)| *known == part).map(|(_, line)| *line).ok_or_else(missing)
        };
        let (goal_line, features_line, criteria_line) = (at(Part::Goal)?, at(Part::Features)?, at(Part::Criteria)?);
        let goal = joined(self.goal);
        if goal.is_empty() {
            return Err(MilestoneError::new(
                goal_line,
                "the goal is empty",
                "describe what the milestone should achieve",
            ));
        }
        let features = features(&self.features)?;
        if features.is_empty() {
            let hint = format!("add one, such as {FEATURE_EXAMPLE}");
            return Err(MilestoneError::new(features_line, "the milestone has no feature", hint));
        }
        let acceptance_criteria = criteria(&self.criteria)?;
        if acceptance_criteria.is_empty() {
            let hint = format!("add one, such as {CRITERION_EXAMPLE}");
            return Err(MilestoneError::new(criteria_line, "the milestone has no acceptance criterion", hint));
        }
        if let Some(record) = record {
            front_matter.requires_human_review = front_matter.requires_human_review.or(record.requires_human_review);
            front_matter.created_at = front_matter.created_at.or(record.created_at);
        }
        let constraints = joined(self.constraints);
        Ok(Milestone { id: id.to_owned(), title, goal, features, acceptance_criteria, constraints, front_matter })
    }
}

fn is_one_of(title: &str, names: &[&str]) -> bool {
    let title = without_emphasis(without_emphasis(title).trim_end_matches([':', '：']));
    names.iter().any(|name| name.eq_ignore_ascii_case(title))
}

fn feature_kind(title: &str, line: u32) -> Result<FeatureKind, MilestoneError> {
    FeatureKind::ALL
        .into_iter()
        .find(|kind| is_one_of(title, kind_names(*kind)))
        .ok_or_else(|| unknown_heading(title, line, "### ", FeatureKind::ALL.map(FeatureKind::heading)))
}

fn unknown_heading<const N: usize>(title: &str, line: u32, marks: &str, known: [&str; N]) -> MilestoneError {
    let hint = match nearest(title, known) {
        Some(meant) => format!("did you mean `{marks}{meant}`?"),
        None => format!(
            "known headings: {}; move the text under one of them",
            known.map(|name| format!("`{marks}{name}`")).join(", ")
        ),
    };
    MilestoneError::new(line, format!("unknown heading `{marks}{}`", title.escape_debug()), hint)
}

fn criteria(lines: &[Line<'_>]) -> Result<Vec<Criterion>, MilestoneError> {
    let items = item::items(lines, CRITERION_EXAMPLE)?;
    let whole = |item: Item| match item.details.as_str() {
        "" => Criterion { text: item.text, done: item.done },
        details => Criterion { text: format!("{}\n{details}", item.text), done: item.done },
    };
    Ok(items.into_iter().map(whole).collect())
}

/// A feature before the ids that nobody gave are assigned.
struct Draft {
    line: u32,
    id: Option<String>,
    feature: Feature,
}

fn features(groups: &[(Option<FeatureKind>, Vec<Line<'_>>)]) -> Result<Vec<Feature>, MilestoneError> {
    let mut drafts: Vec<Draft> = Vec::new();
    for (kind, lines) in groups {
        for item in item::items(lines, FEATURE_EXAMPLE)? {
            drafts.push(draft(item, *kind)?);
        }
    }
    let mut given: BTreeMap<&str, u32> = BTreeMap::new();
    for later in &drafts {
        let Some(id) = later.id.as_deref() else { continue };
        if let Some(first) = given.insert(id, later.line) {
            let what = format!("duplicate feature ID {id}; the first is on line {first}");
            return Err(MilestoneError::new(later.line, what, "use a unique ID for each feature, or no IDs"));
        }
    }
    let given: BTreeSet<String> = drafts.iter().filter_map(|draft| draft.id.clone()).collect();
    let mut free = (1_u32..).map(|number| format!("F{number}")).filter(|id| !given.contains(id));
    let with_id = |draft: Draft| {
        let id = draft.id.or_else(|| free.next()).unwrap_or_default();
        Feature { id, ..draft.feature }
    };
    Ok(drafts.into_iter().map(with_id).collect())
}

/// One feature by itself, as its item would say it.
pub(super) fn feature(text: &str) -> Result<Feature, MilestoneError> {
    let item = Item { line: 1, done: false, text: text.trim().to_owned(), details: String::new() };
    let draft = draft(item, None)?;
    Ok(Feature { id: draft.id.unwrap_or_default(), ..draft.feature })
}

fn draft(mut item: Item, kind: Option<FeatureKind>) -> Result<Draft, MilestoneError> {
    let acceptance = item::take_acceptance(&mut item)?;
    let (id, text) = match feature_id::before_colon(&item.text) {
        Some((id, text)) => (Some(id), text.to_owned()),
        None => (None, item.text),
    };
    if text.is_empty() {
        return Err(MilestoneError::new(
            item.line,
            "the feature has no text",
            format!("write it as {FEATURE_EXAMPLE}"),
        ));
    }
    let feature = Feature { id: String::new(), text, details: item.details, acceptance, kind, done: item.done };
    Ok(Draft { line: item.line, id, feature })
}
