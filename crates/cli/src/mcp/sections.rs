//! The plan as agents read it: its sections, and how far each is.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::machine::{Aim, LoopState, Review};
use windlass_core::plan::{Plan, Section};

use super::server::{LONGEST_ANSWER, Told, ToolError};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSections {
    /// The section's number, from 1; without it, the whole plan
    #[serde(default)]
    pub section: Option<u32>,
}

/// One section, or the plan as a whole, as JSON.
pub fn read(state: &LoopState, wanted: &ReadSections) -> Told {
    let Some(review) = &state.review else { return Err(ToolError::new("this loop has no plan")) };
    let Some(plan) = &review.plan else {
        let why = if state.accepts_features() {
            "this loop has a milestone instead of a plan with sections; see the prompt"
        } else {
            "the plan is not written yet"
        };
        return Err(ToolError::new(why));
    };
    match wanted.section {
        Some(number) => {
            let section = plan.section(number).ok_or_else(|| {
                ToolError(format!("section {number} does not exist; the plan has sections 1 to {}", plan.count()))
            })?;
            Ok(shown(review, section).to_string())
        }
        None => {
            let text = whole(review, plan).to_string();
            Ok(if text.len() <= LONGEST_ANSWER { text } else { contents(review, plan).to_string() })
        }
    }
}

fn whole(review: &Review, plan: &Plan) -> Value {
    let sections: Vec<Value> = plan.sections.iter().map(|section| shown(review, section)).collect();
    let parts: Vec<&str> = plan.trailing.iter().map(|part| part.body.as_str()).collect();
    json!({
        "objective": plan.preamble,
        "sections": sections,
        "for_all_sections": parts,
        "adjustments": review.audit().map_or(0, |audit| audit.adjustments.len()),
    })
}

/// What a plan that is too long for one answer consists of.
fn contents(review: &Review, plan: &Plan) -> Value {
    let short = |section: &Section| json!({ "number": section.number, "title": section.title, "status": status(review, section.number) });
    let sections: Vec<Value> = plan.sections.iter().map(short).collect();
    json!({ "sections": sections, "left_out": "the texts are too long to read together; read the sections one by one" })
}

fn shown(review: &Review, section: &Section) -> Value {
    let finished = review.finished().iter().find(|done| done.number == section.number);
    json!({
        "number": section.number,
        "title": section.title,
        "status": status(review, section.number),
        "commit": finished.and_then(|done| done.commit.clone()),
        "summary": finished.map(|done| &done.summary),
        "text": section.body,
    })
}

fn status(review: &Review, number: u32) -> &'static str {
    let finished = review.finished().iter().any(|done| done.number == number);
    let current = match review.aim() {
        Aim::Section { number: current } => current == number,
        Aim::Whole => true,
    };
    match (finished, current) {
        (true, _) => "done",
        (false, true) => "current",
        (false, false) => "to_come",
    }
}
