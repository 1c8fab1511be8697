//! Settings that are numbers: counts, money, time.
//!
//! A value that exists is within its bounds: the checks are in the readers, and the fields are private.

use serde_json::{Value as Json, json};
use toml_edit::Value as Toml;
use windlass_core::duration;
use windlass_core::profile::ITERATIONS;
use windlass_core::size;

use super::value::{Value, ValueError, not};

/// How often the agent runs at most: 1 to 100, or 0 for as often as another limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iterations(u32);

impl Iterations {
    pub fn new(count: u32) -> Result<Self, ValueError> {
        Self::check(i64::from(count))
    }

    /// `None` stands for 0.
    pub fn get(self) -> Option<u32> {
        Some(self.0).filter(|count| *count > 0)
    }

    fn check(count: i64) -> Result<Self, ValueError> {
        let (least, most) = (ITERATIONS.start(), ITERATIONS.end());
        u32::try_from(count).ok().filter(|count| *count <= *most).map(Self).ok_or_else(|| {
            ValueError::new(
                format!("{count} iterations are out of range: {least}–{most}"),
                format!("use {least} to {most}, or 0 with another limit"),
            )
        })
    }
}

impl Value for Iterations {
    const EXPECTED: &'static str = "an integer from 1 to 100";
    const EXAMPLE: &'static str = "5";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_integer().map(Self::check)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        Self::check(whole_number(text, Self::EXPECTED)?)
    }

    fn json(&self) -> Json {
        json!(self.0)
    }

    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 0, "maximum": ITERATIONS.end() })
    }
}

/// Digits beyond what fits are still a number, only too large a one.
fn whole_number(text: &str, expected: &str) -> Result<i64, ValueError> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(not(expected, text));
    }
    Ok(trimmed.parse().unwrap_or(if trimmed.starts_with('-') { i64::MIN } else { i64::MAX }))
}

macro_rules! positive {
    ($(#[$doc:meta])* $name:ident($inner:ty), $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name($inner);

        impl $name {
            pub fn new(count: $inner) -> Result<Self, ValueError> {
                if count == 0 {
                    return Err(ValueError::new(
                        concat!("the number of ", $what, " must be more than zero"),
                        "use a number of at least 1, or remove the setting",
                    ));
                }
                Ok(Self(count))
            }

            pub fn get(self) -> $inner {
                self.0
            }

            fn check(count: i64) -> Result<Self, ValueError> {
                if count < 0 {
                    return Self::new(0);
                }
                <$inner>::try_from(count).map_err(|_| not(Self::EXPECTED, &count.to_string())).and_then(Self::new)
            }
        }

        impl Value for $name {
            const EXPECTED: &'static str = "a positive integer";
            const EXAMPLE: &'static str = "1000";

            fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
                value.as_integer().map(Self::check)
            }

            fn from_text(text: &str) -> Result<Self, ValueError> {
                Self::check(whole_number(text, Self::EXPECTED)?)
            }

            fn json(&self) -> Json {
                json!(self.0)
            }

            fn schema() -> Json {
                json!({ "type": "integer", "minimum": 1 })
            }
        }
    };
}

positive!(
    /// Tokens of a model.
    Tokens(u64),
    "tokens"
);
positive!(
    /// How often something happens in a row.
    Times(u32),
    "times"
);
positive!(
    /// Loops that run at once.
    Slots(u32),
    "running loops"
);

/// Days; 0 for at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days(u32);

impl Days {
    /// A hundred years are as good as for ever.
    const MOST: u32 = 36_600;

    pub fn get(self) -> u32 {
        self.0
    }

    fn check(days: i64) -> Result<Self, ValueError> {
        u32::try_from(days).ok().filter(|days| *days <= Self::MOST).map(Self).ok_or_else(|| {
            ValueError::new(format!("{days} days are out of range"), format!("use 0 to {} days", Self::MOST))
        })
    }
}

impl Value for Days {
    const EXPECTED: &'static str = "a number of days";
    const EXAMPLE: &'static str = "14";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_integer().map(Self::check)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        Self::check(whole_number(text, Self::EXPECTED)?)
    }

    fn json(&self) -> Json {
        json!(self.0)
    }

    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 0, "maximum": Self::MOST })
    }
}

macro_rules! bounded {
    ($(#[$doc:meta])* $name:ident, $least:literal..=$most:literal, $what:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(u32);

        impl $name {
            pub fn get(self) -> u32 {
                self.0
            }

            fn check(number: i64) -> Result<Self, ValueError> {
                u32::try_from(number).ok().filter(|number| ($least..=$most).contains(number)).map(Self).ok_or_else(|| {
                    ValueError::new(
                        format!("{number} is out of range for {}", $what),
                        concat!("use a number from ", $least, " to ", $most),
                    )
                })
            }
        }

        impl Value for $name {
            const EXPECTED: &'static str = concat!("an integer from ", $least, " to ", $most);
            const EXAMPLE: &'static str = $example;

            fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
                value.as_integer().map(Self::check)
            }

            fn from_text(text: &str) -> Result<Self, ValueError> {
                Self::check(whole_number(text, Self::EXPECTED)?)
            }

            fn json(&self) -> Json {
                json!(self.0)
            }

            fn schema() -> Json {
                json!({ "type": "integer", "minimum": $least, "maximum": $most })
            }
        }
    };
}

bounded!(
    /// Processes and threads that there may be at once. With fewer than 16 no sandbox, shell and agent come up.
    Processes,
    16..=4_194_304,
    "a number of processes",
    "4096"
);
bounded!(
    /// A share of the processor, where everybody else has 100.
    Weight,
    1..=10_000,
    "a weight",
    "50"
);

bounded!(
    /// How often something may be tried again; 0 for never.
    Returns,
    0..=100,
    "a number of times",
    "2"
);

/// US dollars, more than none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usd(f64);

impl Usd {
    pub fn new(amount: f64) -> Result<Self, ValueError> {
        if !amount.is_finite() || amount <= 0.0 {
            return Err(ValueError::new(
                format!("${amount} is not a valid budget"),
                "use an amount greater than zero, such as 2.50",
            ));
        }
        Ok(Self(amount))
    }

    pub fn get(self) -> f64 {
        self.0
    }
}

impl Value for Usd {
    const EXPECTED: &'static str = "an amount of US dollars";
    const EXAMPLE: &'static str = "2.50";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        #[expect(clippy::cast_precision_loss, reason = "no budget has sixteen digits")]
        let amount = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))?;
        Some(Self::new(amount))
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        let trimmed = text.trim();
        let amount = trimmed.strip_prefix('$').unwrap_or(trimmed);
        if amount.starts_with('+') {
            return Err(not(Self::EXPECTED, text));
        }
        amount.parse().map_err(|_| not(Self::EXPECTED, text)).and_then(Self::new)
    }

    fn json(&self) -> Json {
        json!(self.0)
    }

    fn schema() -> Json {
        json!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

/// A span of time in milliseconds, written like `90m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Millis(u64);

impl Millis {
    pub fn get(self) -> u64 {
        self.0
    }

    /// As it would be written: the largest unit that leaves nothing over.
    fn written(self) -> String {
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
        let (unit, name) = units.into_iter().find(|(unit, _)| self.0.is_multiple_of(*unit)).unwrap_or((1, "ms"));
        format!("{}{name}", self.0 / unit)
    }
}

impl Value for Millis {
    const EXPECTED: &'static str = "a duration";
    const EXAMPLE: &'static str = "\"90m\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_str().map(Self::from_text)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        duration::parse_ms(text).map(Self).map_err(|error| ValueError::new(error.to_string(), duration::HINT))
    }

    fn json(&self) -> Json {
        json!(self.written())
    }

    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^\\s*[0-9]+(ms|s|m|h|d)\\s*$" })
    }
}

/// How long to wait, written like `30m`; 0 for not at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wait(u64);

impl Wait {
    /// In milliseconds.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl Value for Wait {
    const EXPECTED: &'static str = "a duration, or 0";
    const EXAMPLE: &'static str = "\"30m\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        let none = value.as_integer().filter(|number| *number == 0).map(|_| Ok(Self(0)));
        none.or_else(|| value.as_str().map(Self::from_text))
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        if text.trim() == "0" {
            return Ok(Self(0));
        }
        let hint = format!("{}, or 0 to never wait", duration::HINT);
        duration::parse_ms(text).map(Self).map_err(|error| ValueError::new(error.to_string(), hint))
    }

    fn json(&self) -> Json {
        if self.0 == 0 { json!("0") } else { Millis(self.0).json() }
    }

    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^\\s*(0|[0-9]+(ms|s|m|h|d))\\s*$" })
    }
}

/// A part of something, written like `20%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    /// What is left of so much without this part.
    pub fn left_of(self, amount: f64) -> f64 {
        amount * f64::from(100 - self.0) / 100.0
    }
}

impl Value for Percent {
    const EXPECTED: &'static str = "a percentage from 0% to 99%";
    const EXAMPLE: &'static str = "\"20%\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        value.as_str().map(Self::from_text)
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        let number = text.trim().strip_suffix('%').ok_or_else(|| not(Self::EXPECTED, text))?;
        let percent = whole_number(number, Self::EXPECTED)?;
        let known = u8::try_from(percent).ok().filter(|percent| *percent < 100);
        known.map(Self).ok_or_else(|| not(Self::EXPECTED, text))
    }

    fn json(&self) -> Json {
        json!(format!("{}%", self.0))
    }

    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^\\s*[0-9]{1,2}%\\s*$" })
    }
}

/// An amount of memory or disk in bytes, written like `8GiB`; 0 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(u64);

impl Size {
    /// `None` stands for 0.
    pub fn get(self) -> Option<u64> {
        Some(self.0).filter(|bytes| *bytes > 0)
    }
}

impl Value for Size {
    const EXPECTED: &'static str = "a size";
    const EXAMPLE: &'static str = "\"8GiB\"";

    fn from_toml(value: &Toml) -> Option<Result<Self, ValueError>> {
        let bare = value.as_integer().map(|number| number.to_string());
        value.as_str().map(str::to_owned).or(bare).map(|text| Self::from_text(&text))
    }

    fn from_text(text: &str) -> Result<Self, ValueError> {
        size::parse_bytes(text).map(Self).map_err(|error| ValueError::new(error.to_string(), size::HINT))
    }

    fn json(&self) -> Json {
        json!(size::written(self.0))
    }

    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^\\s*(0|[0-9]+([KMGT]i?)?B)\\s*$" })
    }
}
