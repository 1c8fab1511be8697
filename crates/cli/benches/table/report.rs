//! The table.

use crate::measure::{Pairs, median, quartiles};

#[derive(Debug)]
pub struct Row {
    pub what: String,
    pub reference: String,
    pub ours: String,
    pub ratio: f64,
    pub spread: (f64, f64),
    pub count: usize,
    pub aim: String,
    pub met: bool,
}

impl Row {
    /// A row of times in milliseconds.
    pub fn of_times(what: &str, reference: &str, pairs: &Pairs, aim: &str, met: impl Fn(f64, f64) -> bool) -> Self {
        let ratios = pairs.ratios();
        let (ratio, ours) = (median(&ratios), median(&pairs.ours));
        Self {
            what: what.to_owned(),
            reference: format!("{reference}: {:.2} ms", median(&pairs.reference)),
            ours: format!("{ours:.2} ms"),
            ratio,
            spread: quartiles(&ratios),
            count: ratios.len(),
            aim: aim.to_owned(),
            met: met(ratio, ours),
        }
    }
}

/// How the table begins, as Markdown.
pub const HEAD: &str =
    "| what | reference | Windlass | ratio | quartiles | N | aim | met |\n|---|---|---|---:|---|---:|---|---|";

/// How the numbers were made.
pub const FOOT: &str = "\nRatios are medians of pairs measured one right after the other (reference, ours, reference, ours …), after \
                        one pair\nto warm up; quartiles are of those ratios.";

/// One line of the table.
pub fn line(row: &Row) -> String {
    format!(
        "| {} | {} | {} | {:.2}× | {:.2}–{:.2} | {} | {} | {} |",
        row.what,
        row.reference,
        row.ours,
        row.ratio,
        row.spread.0,
        row.spread.1,
        row.count,
        row.aim,
        if row.met { "yes" } else { "no" },
    )
}
