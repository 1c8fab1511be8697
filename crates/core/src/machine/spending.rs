//! What a loop has used, the turn under way included, and whether that passes a limit.

use jiff::Timestamp;

use super::state::LoopState;
use crate::ids::Role;
use crate::stop::StopReason;
use crate::usage::{UsageByModel, UsageLedger};

/// How often at most the use of a turn under way is journalled. Limits are compared with every report.
pub const USAGE_EVERY_MS: u64 = 3_000;

impl LoopState {
    /// Everything the loop used, with what is known of the turn under way.
    pub fn used(&self) -> UsageLedger {
        match self.turn() {
            Some(running) => self.used_with(running.key.role, &running.usage),
            None => self.usage.clone(),
        }
    }

    /// The same if the turn under way has used this.
    pub(super) fn used_with(&self, role: Role, usage: &UsageByModel) -> UsageLedger {
        let mut used = self.usage.clone();
        if !usage.is_empty() {
            used.record(role, usage);
        }
        used
    }

    pub(super) fn record_usage(&mut self, role: Role, session: Option<&str>, usage: &UsageByModel) {
        self.usage.record(role, usage);
        let Some(session) = session else { return };
        let used = self.session_usage.entry(session.to_owned()).or_default();
        for (model, usage) in usage {
            used.entry(model.clone()).or_default().add(usage);
        }
    }
}

impl StopReason {
    /// What a limit would say if it were looked at now; the first that is reached, in a fixed order.
    pub(super) fn reached_limit(state: &LoopState, now: Timestamp) -> Option<StopReason> {
        if let Some(max) = state.iteration_limit().filter(|max| state.iteration >= *max) {
            return Some(StopReason::MaxIterations { max });
        }
        StopReason::spent_limit(state, now)
    }

    /// The same for what every turn takes, also one that is tried again: time, money, tokens.
    pub(super) fn spent_limit(state: &LoopState, now: Timestamp) -> Option<StopReason> {
        StopReason::time_is_up(state, now).or_else(|| StopReason::overspent(state, &state.used()))
    }

    pub(super) fn time_is_up(state: &LoopState, now: Timestamp) -> Option<StopReason> {
        let limit_ms = state.duration_limit_ms().filter(|limit| state.elapsed_at(now) >= *limit)?;
        Some(StopReason::Duration { limit_ms })
    }

    /// Whether so much use passes what the loop may spend.
    pub(super) fn overspent(state: &LoopState, used: &UsageLedger) -> Option<StopReason> {
        let limits = &state.spec.limits;
        // One turn without a figure must not switch the budget off: what is known counts.
        let spent_usd = used.known_cost_usd;
        if let Some(limit_usd) = limits.budget_usd.filter(|limit| spent_usd >= *limit) {
            return Some(StopReason::Budget { limit_usd, spent_usd });
        }
        if let Some(review) = &state.spec.review
            && let Some(limit_usd) = review.budget_usd
        {
            let spent_usd = used.known_cost_of(review.kind.role());
            if spent_usd >= limit_usd {
                return Some(StopReason::Budget { limit_usd, spent_usd });
            }
        }
        let used = used.total().tokens();
        limits.max_tokens.filter(|limit| used >= *limit).map(|limit| StopReason::Tokens { limit, used })
    }
}
