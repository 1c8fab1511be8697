//! Writing a milestone's file, so that reading it gives the same again.

use super::item::fits_brackets;
use super::{Feature, FeatureKind, Milestone, front_matter};
use crate::text::markdown;

pub(super) fn render(milestone: &Milestone) -> String {
    let mut parts = vec![
        format!("# {}", milestone.title.trim()),
        format!("## Goal\n\n{}", milestone.goal.trim()),
        format!("## Features\n\n{}", features(&milestone.features)),
        format!("## Acceptance Criteria\n\n{}", criteria(milestone)),
    ];
    if !milestone.constraints.trim().is_empty() {
        parts.push(format!("## Constraints\n\n{}", milestone.constraints.trim()));
    }
    format!("{}{}\n", front_matter::render(&milestone.front_matter), parts.join("\n\n"))
}

fn features(features: &[Feature]) -> String {
    // Under a heading a feature would take its kind, so those without one come first.
    let (plain, grouped): (Vec<&Feature>, Vec<&Feature>) = features.iter().partition(|feature| feature.kind.is_none());
    let mut blocks: Vec<String> = Vec::new();
    blocks.extend((!plain.is_empty()).then(|| items(&plain)));
    for group in grouped.chunk_by(|one, next| one.kind == next.kind) {
        let heading = group.first().and_then(|feature| feature.kind).map_or("", FeatureKind::heading);
        blocks.push(format!("### {heading}\n\n{}", items(group)));
    }
    blocks.join("\n\n")
}

fn items(features: &[&Feature]) -> String {
    features.iter().map(|feature| one(feature)).collect::<Vec<_>>().join("\n")
}

fn one(feature: &Feature) -> String {
    let mut text = feature.text.trim().to_owned();
    if !feature.id.is_empty() {
        text.insert_str(0, &format!("{}: ", feature.id));
    }
    let mut details = feature.details.clone();
    match feature.acceptance.as_deref() {
        Some(acceptance) if fits_brackets(acceptance) => text.push_str(&format!(" (acceptance: {acceptance})")),
        Some(acceptance) => {
            // First, so that nothing that is open in the details swallows it.
            let line = format!("- acceptance: {}", acceptance.replace('\n', "; "));
            details = if details.is_empty() { line } else { format!("{line}\n\n{details}") };
        }
        None => {}
    }
    item(&text, &details, feature.done)
}

fn criteria(milestone: &Milestone) -> String {
    let criterion = |(text, done): (&str, bool)| {
        let (first, details) = text.split_once('\n').unwrap_or((text, ""));
        item(first, details, done)
    };
    let all = milestone.acceptance_criteria.iter().map(|one| criterion((one.text.trim(), one.done)));
    all.collect::<Vec<_>>().join("\n")
}

fn item(text: &str, details: &str, done: bool) -> String {
    let mut lines = vec![format!("- [{}] {text}", if done { 'x' } else { ' ' })];
    // Words right below would continue with the text.
    let begins_anew = details.lines().next().is_none_or(|line| markdown::list_item(line).is_some());
    lines.extend((!begins_anew).then(String::new));
    lines.extend(details.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") }));
    lines.join("\n")
}
