//! How much of its provider's windows an account has used, as Claude Code reports it.

use jiff::Timestamp;
use serde_json::Value;
use windlass_core::agent::AccountWindow;

/// The windows in a `rate_limit_info`; none if it names no figures, as before the first request and with an API key.
pub(super) fn windows(info: &Value) -> Vec<AccountWindow> {
    let all = info["unifiedWindows"].as_object();
    let known: Vec<AccountWindow> = all.into_iter().flatten().filter_map(|(name, value)| window(name, value)).collect();
    if !known.is_empty() {
        return known;
    }
    // Older versions name one window.
    let name = info["rateLimitType"].as_str().filter(|name| !name.is_empty());
    name.and_then(|name| window(name, info)).into_iter().collect()
}

fn window(name: &str, value: &Value) -> Option<AccountWindow> {
    let used = value["utilization"].as_f64().filter(|used| used.is_finite() && *used >= 0.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share, bounded before")]
    let used_percent = (used * 100.0).min(1000.0) as u32;
    let resets_at = value["resetsAt"].as_i64().and_then(|at| Timestamp::from_second(at).ok());
    Some(AccountWindow { name: name.to_owned(), used_percent, resets_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn windows_are_read_with_their_reset_and_nothing_is_made_up() {
        let at = |second| Timestamp::from_second(second).ok();
        let window = |name: &str, used_percent, resets_at| AccountWindow { name: name.into(), used_percent, resets_at };
        let both = json!({"status": "allowed", "rateLimitType": "five_hour", "utilization": 0.5, "unifiedWindows": {
            "five_hour": {"utilization": 0.839, "resetsAt": 1_794_783_690}, "seven_day": {"utilization": 0.25, "resetsAt": 1_794_999_999}}});
        let wanted = [window("five_hour", 83, at(1_794_783_690)), window("seven_day", 25, at(1_794_999_999))];
        assert_eq!(windows(&both), wanted);
        let one = json!({"status": "allowed_warning", "rateLimitType": "seven_day", "utilization": 0.9});
        assert_eq!(windows(&one), [window("seven_day", 90, None)]);
        for unknown in
            [json!({"status": "allowed", "resetsAt": 1}), json!({"utilization": -1, "rateLimitType": "x"}), json!(null)]
        {
            assert_eq!(windows(&unknown), []);
        }
    }
}
