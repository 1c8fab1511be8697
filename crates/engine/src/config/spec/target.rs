//! The target of a refine loop: so many iterations, or so much time.

use windlass_core::duration::{self, DurationError};
use windlass_core::profile::ITERATIONS;
use windlass_core::spec::Done;

use super::RunOptions;
use crate::config::recipe::{DoneKind, Recipe, Recipes};
use crate::config::usage::UsageError;

/// The target that was asked for, if any.
pub(in crate::config) fn target(
    run: &RunOptions,
    recipe: &Recipe,
    known: &Recipes,
) -> Result<Option<Done>, UsageError> {
    let target = match (&run.iter, &run.time) {
        (Some(_), Some(_)) => return Err(UsageError::BothTargets),
        (None, None) => return Ok(None),
        (Some(iterations), None) => Done::Count { iterations: count(iterations)? },
        (None, Some(time)) => Done::Duration { ms: span(time)? },
    };
    match recipe.done {
        DoneKind::Target => Ok(Some(target)),
        DoneKind::Promise | DoneKind::Gates | DoneKind::FindingsClear | DoneKind::Verdict => {
            Err(UsageError::NoTarget { recipe: recipe.name.clone(), known: known.names() })
        }
    }
}

fn count(text: &str) -> Result<u32, UsageError> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    let shown = || trimmed.escape_debug().to_string();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        let is_time = duration::parse_ms(trimmed).is_ok();
        let hint =
            if is_time { format!("for a duration, use --time {trimmed}") } else { "use a number: --iter 5".to_owned() };
        return Err(UsageError::Target { text: shown(), hint });
    }
    // What does not fit is a number all the same, only too large a one.
    let count = trimmed.parse::<u32>().ok().filter(|count| ITERATIONS.contains(count));
    count.ok_or_else(|| UsageError::TargetRange { iterations: shown() })
}

fn span(text: &str) -> Result<u64, UsageError> {
    let trimmed = text.trim();
    duration::parse_ms(trimmed).map_err(|error| match error {
        DurationError::Malformed(_) => {
            let is_count = !trimmed.is_empty() && trimmed.bytes().all(|b| b.is_ascii_digit());
            let hint = if is_count {
                format!("for iterations, use --iter {trimmed}; for a duration, add a unit: --time {trimmed}m")
            } else {
                duration::HINT.to_owned()
            };
            UsageError::Target { text: trimmed.escape_debug().to_string(), hint }
        }
        error @ (DurationError::Zero | DurationError::TooLong(_)) => UsageError::TargetTime { error },
    })
}
