//! Parsers of single values, so that flags and settings follow the same rules.

use std::time::Duration;
use windlass_core::group::tries::Losers;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use jiff::civil::Date;
use windlass_app::LISTED_AS;
use windlass_core::ids::is_valid_name;
use windlass_engine::config::{Millis, UsageError, Value, ValueError, nearest};

/// A setting's value.
pub(super) fn setting<T: Value>(text: &str) -> Result<T, ValueError> {
    T::from_text(text)
}

/// A setting that is one of a few words.
pub(super) fn word<T>(known: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: Value + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(known).try_map(|text| T::from_text(&text))
}

pub(super) fn not_blank(text: &str) -> Result<String, ValueError> {
    String::from_text(text)
}

/// The name of a new loop.
pub(super) fn loop_name(text: &str) -> Result<String, ValueError> {
    if is_valid_name(text) {
        return Ok(text.to_owned());
    }
    let error = UsageError::Name { name: text.escape_debug().to_string() };
    Err(ValueError { problem: error.to_string(), hint: Some(error.hint().into()) })
}

/// Statuses and outcomes that `list` filters by, separated by commas.
pub(super) fn statuses(text: &str) -> Result<String, ValueError> {
    for word in text.split(',').map(str::trim) {
        if !LISTED_AS.contains(&word) {
            let hint = match nearest(word, LISTED_AS) {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("use {}", LISTED_AS.join(", ")),
            };
            let problem = format!("'{}' is not a status", word.escape_debug());
            return Err(ValueError { problem, hint: Some(hint.into()) });
        }
    }
    Ok(text.to_owned())
}

/// A time in the past: so long ago, or the start of a day.
pub(super) fn since(text: &str) -> Result<Timestamp, ValueError> {
    let ago = || Millis::from_text(text).ok().map(|ago| Timestamp::now() - Duration::from_millis(ago.get()));
    let day = || text.parse::<Date>().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|day| day.timestamp());
    text.parse().ok().or_else(day).or_else(ago).ok_or_else(|| ValueError {
        problem: format!("'{}' is not a duration or a date", text.escape_debug()),
        hint: Some("write a duration such as 7d, or a date such as 2026-11-01".into()),
    })
}

/// What becomes of the tries that were not picked.
pub fn losers(text: &str) -> Result<Losers, String> {
    match text {
        "keep" => Ok(Losers::Keep),
        "drop" => Ok(Losers::Drop),
        _ => Err("use keep or drop".to_owned()),
    }
}
