//! Times that are still to come.

use jiff::Timestamp;
use windlass_core::duration::human;

/// A future time, with its date unless it is within 20 hours.
pub fn clock_time(at: Timestamp, now: Timestamp) -> String {
    const CLEAR_MS: i64 = 20 * 3_600_000;
    let away = at.as_millisecond() - now.as_millisecond();
    let format = if away < CLEAR_MS { "%H:%M:%S UTC" } else { "%Y-%m-%d %H:%M UTC" };
    at.strftime(format).to_string()
}

pub fn left(until: Timestamp, now: Timestamp) -> String {
    human(u64::try_from(until.as_millisecond() - now.as_millisecond()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_time_includes_the_date_when_far_away() {
        let now: Timestamp = "2026-11-16T22:00:00Z".parse().unwrap();
        let soon = "2026-11-17T01:30:05Z".parse().unwrap();
        assert_eq!((clock_time(soon, now), left(soon, now)), ("01:30:05 UTC".to_owned(), "3h 30m".to_owned()));
        let later = "2026-11-18T21:00:00Z".parse().unwrap();
        assert_eq!(clock_time(later, now), "2026-11-18 21:00 UTC");
        assert_eq!(left(now, soon), "0.0s", "a past time has nothing left");
    }
}
