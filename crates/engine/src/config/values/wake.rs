//! When a project is checked for work that is to start by itself.

use croner::Cron;
use jiff::{SignedDuration, Timestamp, Zoned, tz::TimeZone};
use serde_json::{Value as Json, json};
use toml_edit::Value as Toml;

use super::value::{Value, ValueError};
use windlass_core::duration;

/// `manual`, `every 2h`, times of day such as `09:00, 21:00`, or a cron pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Wake {
    text: String,
    when: When,
}

#[derive(Debug, Clone, PartialEq)]
enum When {
    /// Only when it is requested, and once at the start.
    Manual,
    Every(SignedDuration),
    Patterns(Vec<Cron>),
}

impl Wake {
    /// The next time after `now`, by the clock on this machine's wall.
    pub fn next_after(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match &self.when {
            When::Manual => None,
            When::Every(span) => now.checked_add(*span).ok(),
            When::Patterns(patterns) => {
                let here: Zoned = now.to_zoned(zone.clone());
                let next = |pattern: &Cron| pattern.find_next_occurrence(&here, false).ok();
                patterns.iter().filter_map(next).map(|at| at.timestamp()).min()
            }
        }
    }

    /// Whether it is checked again without being asked.
    pub fn is_scheduled(&self) -> bool {
        self.when != When::Manual
    }
}

fn wrong(text: &str) -> ValueError {
    ValueError::new(
        format!("'{}' is not a valid schedule", text.escape_debug()),
        "use manual, every 2h, times of day such as 09:00, 21:00, or a cron pattern such as 0 9 * * 1-5",
    )
}

impl Value for Wake {
    const EXPECTED: &'static str = "manual, an interval, times of day, or a cron pattern";
    const EXAMPLE: &'static str = "\"every 2h\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_str().map(Self::from_text)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        let plain = text.trim();
        let when = if plain == "manual" {
            When::Manual
        } else if let Some(span) = plain.strip_prefix("every ") {
            let ms = duration::parse_ms(span.trim()).map_err(|_| wrong(text))?;
            When::Every(SignedDuration::from_millis(i64::try_from(ms).map_err(|_| wrong(text))?))
        } else if plain.contains(':') {
            let patterns = plain.split(',').map(|time| at_time(time.trim()).ok_or_else(|| wrong(text)));
            When::Patterns(patterns.collect::<Result<_, _>>()?)
        } else {
            When::Patterns(vec![plain.parse().map_err(|_| wrong(text))?])
        };
        Ok(Self { text: plain.to_owned(), when })
    }

    fn json(&self) -> Json {
        json!(self.text)
    }

    fn schema() -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

fn at_time(text: &str) -> Option<Cron> {
    let (hour, minute) = text.split_once(':')?;
    let hour: u8 = hour.parse().ok().filter(|hour| *hour < 24)?;
    let minute: u8 = minute.parse().ok().filter(|minute| *minute < 60)?;
    format!("{minute} {hour} * * *").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(wake: &str, now: &str) -> Option<String> {
        let wake = Wake::from_text(wake).unwrap();
        wake.next_after(now.parse().unwrap(), &TimeZone::UTC).map(|at| at.to_string())
    }

    #[test]
    fn a_schedule_is_an_interval_times_of_day_or_manual() {
        assert_eq!(next("manual", "2026-01-01T00:00:00Z"), None);
        assert_eq!(next("every 2h", "2026-01-01T00:30:00Z").unwrap(), "2026-01-01T02:30:00Z");
        assert_eq!(next("09:00, 21:00", "2026-01-01T08:59:59Z").unwrap(), "2026-01-01T09:00:00Z");
        assert_eq!(next("09:00, 21:00", "2026-01-01T09:00:00Z").unwrap(), "2026-01-01T21:00:00Z");
        assert_eq!(next("09:00, 21:00", "2026-01-01T22:00:00Z").unwrap(), "2026-01-02T09:00:00Z");
        assert_eq!(next("0 9 * * 1-5", "2026-01-02T10:00:00Z").unwrap(), "2026-01-05T09:00:00Z");
    }

    #[test]
    fn what_is_no_schedule_is_said_to_be_none() {
        for text in ["", "sometimes", "every", "every soon", "25:00", "9", "09:60", "* * *"] {
            let error = Wake::from_text(text).unwrap_err();
            assert!(error.hint.unwrap().contains("every 2h"), "{text}");
        }
    }
}
