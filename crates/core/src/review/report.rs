//! A developer's report: what was built in this iteration, or that nothing is left to build.
//!
//! Tolerant of how the fields are written, strict about the claim: `ALL_FEATURES_COMPLETE` counts only as a heading or
//! its own line, outside code and quotes, and not where it repeats the prompt.

use serde::{Deserialize, Serialize};

use super::echo::{Echo, echoes};
use super::verdict::only_fence;
use crate::milestone::{Milestone, feature_id};
use crate::text::markdown::{self, Kind, Line, joined, without_emphasis};
use crate::text::truncate_str;

/// The word that claims that every feature is built.
pub const ALL_FEATURES_COMPLETE: &str = "ALL_FEATURES_COMPLETE";

/// In characters, of each text in a report.
const LONGEST_TEXT: usize = 8_000;
const MOST_ITEMS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Report {
    Feature(FeatureReport),
    AllFeaturesComplete { commits: Vec<ReportedCommit>, summary: String },
    Unparsed { why: String },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FeatureReport {
    pub round: Option<u32>,
    pub feature: String,
    pub feature_id: Option<String>,
    pub commit: Option<String>,
    pub tests: Option<TestCounts>,
    pub lint: Option<Lint>,
    pub changes: Vec<Change>,
    pub notes: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TestCounts {
    pub passed: u32,
    pub failed: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Lint {
    Clean,
    Issues { count: u32 },
}

/// A line of the changes; without a file if none is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Change {
    pub file: String,
    pub what: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReportedCommit {
    pub hash: String,
    pub message: String,
}

impl Report {
    /// The report in a whole answer to a prompt.
    pub fn read(answer: &str, prompt: &str) -> Report {
        let inside = only_fence(&markdown::lines(answer));
        let answer = inside.as_deref().unwrap_or(answer);
        let lines = markdown::lines(answer);
        let echoes = echoes(answer, prompt);
        if let Some(at) = claim(&lines, &echoes) {
            return complete(&lines[at + 1..]);
        }
        feature(&lines, &echoes, false).or_else(|| fenced_feature(&lines, prompt)).unwrap_or_else(|| {
            let why = "the answer has neither a report with a Feature line nor ALL_FEATURES_COMPLETE as a heading";
            Report::Unparsed { why: why.to_owned() }
        })
    }
}

impl Report {
    /// With the id that the milestone has for the feature, where the report names it in another way or only by its
    /// text. If only one feature is left, it is that one.
    #[must_use]
    pub fn of_milestone(mut self, milestone: &Milestone, is_accepted: impl Fn(&str) -> bool) -> Report {
        if let Report::Feature(report) = &mut self {
            let mut open = milestone.features.iter().filter(|feature| !feature.done && !is_accepted(&feature.id));
            let only = open.next().filter(|_| open.next().is_none());
            let known = milestone.feature(report.feature_id.as_deref(), &report.feature);
            if let Some(feature) = known.or(only.filter(|_| report.feature_id.is_none())) {
                report.feature_id = Some(feature.id.clone());
            }
        }
        self
    }
}

fn claim(lines: &[Line<'_>], echoes: &[Echo]) -> Option<usize> {
    lines.iter().zip(echoes).position(|(line, echo)| {
        let said = !line.kind.is_code() && line.kind != Kind::Comment && echo.is_said(true);
        let marks = |c: char| c.is_whitespace() || matches!(c, '*' | '`' | '#' | '~' | ':' | '：' | '.' | '!' | '。');
        said && line.text.trim_matches(marks).trim_matches('_') == ALL_FEATURES_COMPLETE
    })
}

fn complete(lines: &[Line<'_>]) -> Report {
    let mut commits = Vec::new();
    let (mut text, mut summary): (Vec<&str>, Option<Vec<&str>>) = (Vec::new(), None);
    let mut in_commits = false;
    for line in lines {
        let label = markdown::label(*line).filter(|_| markdown::list_item(line.text).is_none());
        if let Some(label) = label.filter(|label| label.is("commits") || label.is("提交")) {
            in_commits = true;
            commits.extend(commit_line(label.rest));
        } else if let Some(label) = label.filter(|label| label.is("summary") || label.is("总结")) {
            in_commits = false;
            summary = Some(vec![label.rest]);
        } else if in_commits {
            commits.extend(commit_line(markdown::list_item(line.text).unwrap_or(line.text)));
        } else {
            summary.as_mut().unwrap_or(&mut text).push(line.text);
        }
    }
    commits.truncate(MOST_ITEMS);
    let summary = summary.map(joined).filter(|summary| !summary.is_empty()).unwrap_or_else(|| joined(text));
    Report::AllFeaturesComplete { commits, summary: truncate_str(&summary, LONGEST_TEXT) }
}

/// `hash: message`, with a hash that can be one.
fn commit_line(text: &str) -> Option<ReportedCommit> {
    let text = text.trim().trim_start_matches(['*', '`', '[']);
    let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
    let (hash, rest) = text.split_at(end);
    let separated = rest.is_empty() || rest.starts_with(|c: char| !c.is_alphanumeric());
    let marks = |c: char| c.is_whitespace() || matches!(c, '*' | '`' | ']' | ':' | '：' | '-' | '—' | '–');
    let message = rest.trim_start_matches(marks).trim_end();
    (is_hash(hash) && separated)
        .then(|| ReportedCommit { hash: hash.to_ascii_lowercase(), message: truncate_str(message, LONGEST_TEXT) })
}

fn is_hash(word: &str) -> bool {
    (7..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A report that stands in a fence, as the format was shown.
fn fenced_feature(lines: &[Line<'_>], prompt: &str) -> Option<Report> {
    let openings = (0..lines.len()).filter(|index| lines[*index].kind.fence_info().is_some());
    openings.collect::<Vec<_>>().into_iter().rev().find_map(|opening| {
        let inside = lines[opening + 1..].iter().take_while(|line| line.kind == Kind::Fenced);
        let text = joined(inside.map(|line| line.text));
        let lines = markdown::lines(&text);
        lines.iter().any(|line| heading(*line).is_some()).then_some(())?;
        feature(&lines, &echoes(&text, prompt), true)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Fields,
    Changes,
    Notes,
}

/// The last report with a feature. Without a heading, unless one is `needed`, the whole text is checked.
fn feature(lines: &[Line<'_>], echoes: &[Echo], needed: bool) -> Option<Report> {
    let begun = lines.iter().zip(echoes).enumerate().filter_map(|(index, (line, echo))| {
        let round = heading(*line).filter(|_| echo.is_said(true))?;
        Some((index + 1, round))
    });
    let mut begun: Vec<(usize, Option<u32>)> = begun.collect();
    if begun.is_empty() && !needed {
        begun.push((0, None));
    }
    let mut end = lines.len();
    begun.into_iter().rev().find_map(|(from, round)| {
        let report = fields(&lines[from..end], &echoes[from..end], round);
        end = from.saturating_sub(1);
        let named = !report.feature.is_empty() || report.feature_id.is_some();
        named.then_some(Report::Feature(report))
    })
}

/// `## Implementation Report — Round 3`, and the 3.
fn heading(line: Line<'_>) -> Option<Option<u32>> {
    const NAMES: [&str; 2] = ["implementation report", "实现报告"];
    let title = match line.kind {
        Kind::Heading { title, .. } => title,
        Kind::Prose => line.text.trim(),
        Kind::Blank | Kind::FenceOpen { .. } | Kind::Fenced | Kind::FenceClose | Kind::Indented | Kind::Comment => {
            return None;
        }
    };
    let title = without_emphasis(title).to_lowercase();
    let rest = NAMES.iter().find_map(|name| title.strip_prefix(name))?;
    let digits: String = rest.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    Some(digits.parse().ok())
}

fn fields(lines: &[Line<'_>], echoes: &[Echo], round: Option<u32>) -> FeatureReport {
    let mut report = FeatureReport { round, ..FeatureReport::default() };
    let mut notes: Vec<&str> = Vec::new();
    let mut part = Part::Fields;
    for (line, echo) in lines.iter().zip(echoes) {
        let label = markdown::label(*line);
        let heads = label.filter(|_| part == Part::Fields || markdown::list_item(line.text).is_none());
        if let Some(label) = heads.filter(|label| is_any(label, &["changes", "变更", "改动", "修改"])) {
            part = Part::Changes;
            report.changes.extend(change(label.rest));
        } else if let Some(label) = heads.filter(|label| is_any(label, &["notes", "note", "说明", "备注", "注意"]))
        {
            part = Part::Notes;
            notes.push(label.rest);
        } else {
            match part {
                Part::Fields if echo.is_said(false) => label.iter().for_each(|label| field(&mut report, *label)),
                Part::Fields => {}
                Part::Changes => report.changes.extend(markdown::list_item(line.text).and_then(change)),
                Part::Notes => notes.push(line.text),
            }
        }
    }
    report.changes.truncate(MOST_ITEMS);
    report.notes = Some(truncate_str(&joined(notes), LONGEST_TEXT)).filter(|notes| !notes.is_empty());
    report
}

fn is_any(label: &markdown::Label<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| label.is(name))
}

fn field(report: &mut FeatureReport, label: markdown::Label<'_>) {
    // A placeholder of the format was not filled in.
    if label.rest.starts_with('{') && label.rest.ends_with('}') {
        return;
    }
    if is_any(&label, &["feature", "功能", "特性"]) && report.feature.is_empty() && report.feature_id.is_none() {
        let (id, text) = feature_id::in_report(label.rest);
        report.feature_id = id;
        report.feature = truncate_str(text, LONGEST_TEXT);
    } else if is_any(&label, &["commit", "commits", "提交"]) && report.commit.is_none() {
        let words = label.rest.split(|c: char| !c.is_ascii_alphanumeric());
        report.commit = words.into_iter().find(|word| is_hash(word)).map(str::to_ascii_lowercase);
    } else if is_any(&label, &["tests", "test", "测试"]) && report.tests.is_none() {
        report.tests = test_counts(label.rest);
    } else if is_any(&label, &["lint", "代码检查"]) && report.lint.is_none() {
        report.lint = lint(label.rest);
    }
}

fn change(text: &str) -> Option<Change> {
    let text = truncate_str(text.trim(), LONGEST_TEXT);
    let split = [": ", "：", " — ", " – ", " - ", ":"].iter().find_map(|separator| text.split_once(separator));
    let named = split.map(|(file, what)| (without_emphasis(file), what.trim()));
    match named.filter(|(file, _)| !file.is_empty() && !file.contains(char::is_whitespace)) {
        Some((file, what)) => Some(Change { file: file.to_owned(), what: what.to_owned() }),
        None if text.is_empty() || text == "..." || text == "…" => None,
        None if text.contains(char::is_whitespace) => Some(Change { file: String::new(), what: text }),
        None => Some(Change { file: without_emphasis(&text).to_owned(), what: String::new() }),
    }
}

fn test_counts(text: &str) -> Option<TestCounts> {
    let text = text.to_lowercase();
    let count = |words: &[&str]| words.iter().find_map(|word| number_at(&text, word));
    let (passed, failed) = (count(&["pass", "通过"]), count(&["fail", "失败"]));
    (passed.is_some() || failed.is_some())
        .then(|| TestCounts { passed: passed.unwrap_or(0), failed: failed.unwrap_or(0) })
}

fn lint(text: &str) -> Option<Lint> {
    let text = text.to_lowercase();
    let words = ["issue", "problem", "error", "warning", "个问题", "问题"];
    match words.iter().find_map(|word| number_at(&text, word)) {
        Some(0) => Some(Lint::Clean),
        Some(count) => Some(Lint::Issues { count }),
        None if text.contains('{') => None,
        None => {
            let clean = ["clean", "no issues", "none", "passed", "无问题", "通过"];
            clean.iter().any(|word| text.contains(word)).then_some(Lint::Clean)
        }
    }
}

/// The number before a word, or after it and a colon.
fn number_at(text: &str, word: &str) -> Option<u32> {
    text.match_indices(word).find_map(|(at, _)| {
        let before = text[..at].trim_end();
        let digits = before.len() - before.bytes().rev().take_while(u8::is_ascii_digit).count();
        let after = text[at + word.len()..].trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim_start();
        let after = after.strip_prefix([':', '：', '=']).unwrap_or_default().trim_start();
        let end = after.bytes().take_while(u8::is_ascii_digit).count();
        before[digits..].parse().or_else(|_| after[..end].parse()).ok()
    })
}

#[cfg(test)]
mod tests;
