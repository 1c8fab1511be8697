//! Durations as people write them: `90s`, `10m`, `2h`, `1d`.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DurationError {
    #[error("`{0}` is not a duration")]
    Malformed(String),
    #[error("a duration must be more than zero")]
    Zero,
    #[error("`{0}` is too long")]
    TooLong(String),
}

pub const HINT: &str = "use an integer with a unit: 30s, 10m, 2h or 1d";

/// Parses a duration into milliseconds. The unit is required, so that `5` is never taken for something it is not.
pub fn parse_ms(text: &str) -> Result<u64, DurationError> {
    let malformed = || DurationError::Malformed(text.to_owned());
    let trimmed = text.trim();
    let digits = trimmed.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit_ms = match &trimmed[digits.len()..] {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(malformed()),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(malformed());
    }
    let too_long = || DurationError::TooLong(text.to_owned());
    let amount: u64 = digits.parse().map_err(|_| too_long())?;
    // A hundred years is beyond any loop and keeps every sum with a timestamp in range.
    const LONGEST_MS: u64 = 100 * 366 * 86_400_000;
    let ms = amount.checked_mul(unit_ms).filter(|ms| *ms <= LONGEST_MS).ok_or_else(too_long)?;
    if ms == 0 { Err(DurationError::Zero) } else { Ok(ms) }
}

/// Two units at most, nothing rounded away silently below a minute: `1h 30m`, `4m 05s`, `12s`, `0.3s`.
pub fn human(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..10 => format!("{}.{}s", seconds, (ms % 1_000) / 100),
        10..60 => format!("{seconds}s"),
        60..3_600 => match seconds % 60 {
            0 => format!("{}m", seconds / 60),
            rest => format!("{}m {rest:02}s", seconds / 60),
        },
        3_600..86_400 => match seconds / 60 % 60 {
            0 => format!("{}h", seconds / 3_600),
            rest => format!("{}h {rest:02}m", seconds / 3_600),
        },
        86_400.. => match seconds / 3_600 % 24 {
            0 => format!("{}d", seconds / 86_400),
            rest => format!("{}d {rest:02}h", seconds / 86_400),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // promise: cli-3
    fn every_unit_is_understood() {
        for (text, ms) in [("250ms", 250), ("30s", 30_000), (" 10m ", 600_000), ("2h", 7_200_000), ("1d", 86_400_000)] {
            assert_eq!(parse_ms(text), Ok(ms), "{text}");
        }
    }

    #[test]
    // promise: cli-3
    fn anything_else_is_an_error_and_never_a_panic() {
        for text in ["", "5", "m", "-5m", "1.5h", "5 m", "5分", "五m", "1h30m", "５m"] {
            assert_eq!(parse_ms(text), Err(DurationError::Malformed(text.into())), "{text}");
        }
        assert_eq!(parse_ms("0s"), Err(DurationError::Zero));
        assert_eq!(parse_ms("99999999999999999999d"), Err(DurationError::TooLong("99999999999999999999d".into())));
        assert_eq!(parse_ms("9999999999d"), Err(DurationError::TooLong("9999999999d".into())));
    }

    #[test]
    fn a_person_reads_two_units() {
        let shown: Vec<_> =
            [300, 12_000, 60_000, 245_000, 5_400_000, 3_600_000, 90_000_000, 172_800_000].map(human).into();
        assert_eq!(shown, ["0.3s", "12s", "1m", "4m 05s", "1h 30m", "1h", "1d 01h", "2d"]);
    }
}
