//! Amounts of memory and disk as people write them: `512MiB`, `8GiB`, `20GB`.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SizeError {
    #[error("`{0}` is not a size")]
    Malformed(String),
    #[error("`{0}` is too large")]
    TooLarge(String),
}

pub const HINT: &str = "use an integer with a unit: 64MiB, 8GiB, 1TiB (or MB, GB, TB for powers of ten); 0 for none";

/// Larger ones first, the powers of two before those of ten.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];

/// Parses a size into bytes. The unit is required, except for nothing.
pub fn parse_bytes(text: &str) -> Result<u64, SizeError> {
    let malformed = || SizeError::Malformed(text.to_owned());
    let too_large = || SizeError::TooLarge(text.to_owned());
    let trimmed = text.trim();
    if trimmed == "0" {
        return Ok(0);
    }
    let digits = trimmed.trim_end_matches(|c: char| !c.is_ascii_digit());
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(malformed());
    }
    let unit = &trimmed[digits.len()..];
    let (_, bytes) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(malformed)?;
    let amount: u64 = digits.parse().map_err(|_| too_large())?;
    // What a file offset can be, which is also where the kernel's own counters end.
    amount.checked_mul(bytes).filter(|bytes| *bytes <= i64::MAX.cast_unsigned()).ok_or_else(too_large)
}

/// As it would be written: the largest unit that leaves nothing over.
pub fn written(bytes: u64) -> String {
    let (name, unit) = UNITS.into_iter().find(|(_, unit)| bytes.is_multiple_of(*unit)).unwrap_or(("B", 1));
    if bytes == 0 { "0".to_owned() } else { format!("{}{name}", bytes / unit) }
}

/// For people: one digit behind the point at most, `1.5 GiB`, `64 MiB`.
pub fn human(bytes: u64) -> String {
    for (name, unit) in &UNITS[..4] {
        if bytes >= *unit {
            let (whole, tenth) = (bytes / unit, bytes % unit * 10 / unit);
            return if tenth == 0 { format!("{whole} {name}") } else { format!("{whole}.{tenth} {name}") };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_is_understood() {
        let sizes =
            [("0", 0), ("1B", 1), ("64KiB", 65_536), (" 8GiB ", 8 << 30), ("2TiB", 2 << 40), ("20GB", 20_000_000_000)];
        for (text, bytes) in sizes {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn anything_else_is_an_error_and_never_a_panic() {
        for text in ["", "8", "GiB", "-1GiB", "1.5GiB", "8 GiB", "8gib", "8G", "五GiB", "1GiB2MiB"] {
            assert_eq!(parse_bytes(text), Err(SizeError::Malformed(text.into())), "{text}");
        }
        for text in ["99999999999999999999B", "9999999TiB"] {
            assert_eq!(parse_bytes(text), Err(SizeError::TooLarge(text.into())), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for bytes in [0, 1, 1_000, 1_024, 65_536, 20_000_000_000, 8 << 30, (8 << 30) + 1] {
            assert_eq!(parse_bytes(&written(bytes)), Ok(bytes), "{}", written(bytes));
        }
        assert_eq!(written(8 << 30), "8GiB");
    }

    #[test]
    fn a_person_reads_one_unit() {
        let shown = [0, 1_023, 1_536, 64 << 20, (3 << 30) / 2, 1 << 40].map(human);
        assert_eq!(shown, ["0 B", "1023 B", "1.5 KiB", "64 MiB", "1.5 GiB", "1 TiB"]);
    }
}
