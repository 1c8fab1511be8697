//! Usage over many loops, as a document for people.

use super::document::{Block, Document};
use super::usage::{ReportRow, UsageReport};

impl UsageReport {
    /// For people; `of` says which loops were added up.
    pub fn document(&self, of: &str) -> Document {
        let mut blocks = vec![Block::Text(format!("{of}. A loop counts on the day it started (UTC)."))];
        blocks.push(table("", &[ReportRow { name: "all".to_owned(), ..self.total.clone() }]));
        for (what, rows) in
            [("day", &self.by_day), ("agent", &self.by_agent), ("model", &self.by_model), ("project", &self.by_project)]
        {
            if !rows.is_empty() {
                blocks.push(Block::Heading(format!("By {what}")));
                blocks.push(table(what, rows));
            }
        }
        Document { title: "Windlass report".to_owned(), blocks }
    }
}

fn table(what: &str, rows: &[ReportRow]) -> Block {
    let head = [what, "loops", "verified", "claims refused", "tokens", "cost", "cost per verified"];
    let line = |row: &ReportRow| {
        vec![
            row.name.clone(),
            row.loops.to_string(),
            verified(row),
            format!("{} of {}", row.claims_refused, row.claims),
            tokens(row),
            cost(row),
            row.cost_per_verified_usd.map_or(String::new(), |usd| format!("${usd:.2}")),
        ]
    };
    Block::Table { head: head.map(str::to_owned).to_vec(), rows: rows.iter().map(line).collect() }
}

/// The part of the ended loops that is verified.
fn verified(row: &ReportRow) -> String {
    match (row.verified * 100).checked_div(row.ended) {
        Some(percent) => format!("{} of {} ({percent}%)", row.verified, row.ended),
        None => "none ended".to_owned(),
    }
}

/// Unknown is not nothing.
fn tokens(row: &ReportRow) -> String {
    match (row.tokens, row.cost_usd) {
        (0, None) => "unknown".to_owned(),
        (tokens, _) => tokens.to_string(),
    }
}

fn cost(row: &ReportRow) -> String {
    match (row.cost_usd, row.unpriced) {
        (Some(usd), 0) => format!("${usd:.2}"),
        (Some(usd), unknown) => format!("${usd:.2} + {unknown} unknown"),
        (None, _) => "unknown".to_owned(),
    }
}
