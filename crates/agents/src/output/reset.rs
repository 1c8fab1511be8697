//! When a rate limit ends, read from the fields of an error or from its message.
//!
//! Only ever asked about something already known to be an error; the agent's work is never searched.

use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reset {
    At(Timestamp),
    AfterMs(u64),
}

/// How deep in an error the fields are looked for.
const DEPTH: u32 = 6;

/// The first field that names a time or a span.
pub(crate) fn in_fields(value: &Value) -> Option<Reset> {
    search(value, DEPTH)
}

fn search(value: &Value, depth: u32) -> Option<Reset> {
    match value {
        Value::Object(fields) => {
            let named = fields.iter().find_map(|(name, value)| field(name, value));
            named.or_else(|| longest(fields)).or_else(|| deeper(fields.values(), depth))
        }
        Value::Array(items) => deeper(items.iter(), depth),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// OpenAI's headers list several limits but not which one was hit: the longest is safe.
fn longest(fields: &serde_json::Map<String, Value>) -> Option<Reset> {
    let limits = fields.iter().filter(|(name, _)| name.to_ascii_lowercase().starts_with("x-ratelimit-reset"));
    let mut ends = limits.filter_map(|(_, value)| span(value).or_else(|| time(value)));
    let first = ends.next()?;
    Some(ends.fold(first, |longest, end| match (longest, end) {
        (Reset::AfterMs(a), Reset::AfterMs(b)) => Reset::AfterMs(a.max(b)),
        (Reset::At(a), Reset::At(b)) => Reset::At(a.max(b)),
        (Reset::At(_), Reset::AfterMs(_)) => longest,
        (Reset::AfterMs(_), Reset::At(_)) => end,
    }))
}

fn deeper<'a>(mut values: impl Iterator<Item = &'a Value>, depth: u32) -> Option<Reset> {
    let depth = depth.checked_sub(1)?;
    values.find_map(|value| search(value, depth))
}

fn field(name: &str, value: &Value) -> Option<Reset> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match plain.as_str() {
        "retryafterms" | "retrydelayms" => Some(Reset::AfterMs(millis(number(value)?)?)),
        "retryafter" | "retryafterseconds" | "retrydelay" | "resetsinseconds" | "resetafterseconds" | "resetsin" => {
            span(value).or_else(|| time(value))
        }
        "resetsat" | "resetat" | "reset" | "resettime" | "resets" | "retryat" | "ratelimitreset" => time(value),
        _ if plain.starts_with("anthropicratelimit") && plain.ends_with("reset") => time(value),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn millis(ms: f64) -> Option<u64> {
    // A span beyond a year is not a promise anybody keeps.
    (ms.is_finite() && (0.0..=31_536_000_000.0).contains(&ms)).then_some(ms as u64)
}

fn span(value: &Value) -> Option<Reset> {
    if let Some(seconds) = number(value) {
        return Some(Reset::AfterMs(millis(seconds * 1000.0)?));
    }
    Some(Reset::AfterMs(spoken(value.as_str()?)?))
}

/// Seconds or milliseconds since 1970, RFC 3339, or the form of HTTP headers.
fn time(value: &Value) -> Option<Reset> {
    let at = match number(value) {
        Some(number) => epoch(number)?,
        None => {
            let text = value.as_str()?.trim();
            text.parse().ok().or_else(|| Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp()))?
        }
    };
    Some(Reset::At(at))
}

fn epoch(number: f64) -> Option<Timestamp> {
    // Anything earlier than 2001 is not a time of day but a span or a count.
    if !number.is_finite() || number < 1e9 {
        return None;
    }
    let ms = if number < 1e11 { number * 1000.0 } else { number };
    Timestamp::from_millisecond(ms as i64).ok()
}

static DATE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)"));
static EPOCH: LazyLock<Regex> = LazyLock::new(|| pattern(r"\|(\d{10,13})\b"));
static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:(?:again|retry|retrying|resets?|available)\s+(?:again\s+)?(?:in|after)|wait(?:\s+for)?)\s+((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\b(?:,? and |,? )?)+)",
    )
});
static HEADER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)\bretry[-_ ]after[:= ]+(\d+)\b"));
static PART: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?i)(\d+(?:\.\d+)?)\s*([a-z]+)"));

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this file")
}

/// A time or a span in the message of an error.
pub(crate) fn in_text(message: &str) -> Option<Reset> {
    if let Some(found) = DATE.find(message)
        && let Ok(at) = found.as_str().parse()
    {
        return Some(Reset::At(at));
    }
    if let Some(found) = EPOCH.captures(message)
        && let Some(at) = found[1].parse().ok().and_then(epoch)
    {
        return Some(Reset::At(at));
    }
    if let Some(found) = SPAN.captures(message) {
        return spoken(&found[1]).map(Reset::AfterMs);
    }
    let seconds: f64 = HEADER.captures(message)?[1].parse().ok()?;
    Some(Reset::AfterMs(millis(seconds * 1000.0)?))
}

/// "90 seconds", "1m30s", "2 hours 5 minutes".
fn spoken(text: &str) -> Option<u64> {
    let mut sum = None;
    for part in PART.captures_iter(text) {
        let count: f64 = part[1].parse().ok()?;
        let unit = match part[2].to_ascii_lowercase().as_str() {
            "ms" | "millisecond" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
            "d" | "day" | "days" => 86_400_000.0,
            _ => continue,
        };
        sum = Some(sum.unwrap_or(0.0) + count * unit);
    }
    millis(sum?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(text: &str) -> Option<Reset> {
        Some(Reset::At(text.parse().unwrap()))
    }

    #[test]
    fn fields_of_every_agent_are_understood() {
        assert_eq!(in_fields(&json!({"rate_limit_info": {"resetsAt": 1_794_772_294}})), at("2026-11-15T19:51:34Z"));
        assert_eq!(in_fields(&json!({"resets_at": 1_794_772_294_000_i64})), at("2026-11-15T19:51:34Z"));
        assert_eq!(in_fields(&json!({"a": [{"reset": "2026-11-15T20:00:00Z"}]})), at("2026-11-15T20:00:00Z"));
        assert_eq!(in_fields(&json!({"headers": {"retry-after": "90"}})), Some(Reset::AfterMs(90_000)));
        assert_eq!(in_fields(&json!({"retry-after": "Sun, 15 Nov 2026 20:06:52 GMT"})), at("2026-11-15T20:06:52Z"));
        assert_eq!(in_fields(&json!({"details": [{"retryDelay": "34.5s"}]})), Some(Reset::AfterMs(34_500)));
        let both = json!({"x-ratelimit-reset-requests": "90s", "x-ratelimit-reset-tokens": "1m40s"});
        assert_eq!(in_fields(&both), Some(Reset::AfterMs(100_000)));
        assert_eq!(in_fields(&json!({"X-RateLimit-Reset": "1794772294000"})), at("2026-11-15T19:51:34Z"));
        assert_eq!(in_fields(&json!({"retryDelayMs": 1000})), Some(Reset::AfterMs(1000)));
        assert_eq!(in_fields(&json!({"message": "retry-after 5", "reset": "soon", "resetsAt": 3})), None);
        assert_eq!(in_fields(&json!({"retry_after": -1, "x": {"retryAfter": 1e300}})), None);
    }

    #[test]
    fn messages_are_understood() {
        for (text, ms) in [
            ("Please try again in 1.5s.", 1_500),
            ("try again in 2 hours 5 minutes", 7_500_000),
            ("Suggested retry after 1s.", 1_000),
            ("the limit resets in 90 seconds", 90_000),
            ("Retry-After: 30", 30_000),
            ("wait 1 day, 2 hours and 3 minutes", 93_780_000),
        ] {
            assert_eq!(in_text(text), Some(Reset::AfterMs(ms)), "{text}");
        }
        assert_eq!(in_text("Claude AI usage limit reached|1794772294"), at("2026-11-15T19:51:34Z"));
        assert_eq!(in_text("resets at 2026-11-15T19:51:34+00:00"), at("2026-11-15T19:51:34Z"));
        for nothing in [
            "please slow down",
            "resets 3pm (Europe/Berlin)",
            "retried 5 times (total retry wait time: 5.51 seconds)",
            "",
            "|12345678901234567",
        ] {
            assert_eq!(in_text(nothing), None, "{nothing}");
        }
    }
}
