//! What is left of an account for the queue. A part of it is kept for the person: beyond its share the queue starts no
//! further goal. If the agent reports how much of its provider's windows is used, those count until they reset; and what
//! the goals of the account used counts for an hour.

use jiff::{SignedDuration, Timestamp};

use super::QueueLimits;
use crate::agent::AccountWindow;
use crate::group::LoopReport;

const WINDOW: SignedDuration = SignedDuration::from_hours(1);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Use {
    at: Timestamp,
    tokens: u64,
    usd: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Spent {
    /// The oldest first.
    uses: Vec<Use>,
    /// What an agent of the account last reported, and when.
    reported: Option<(Timestamp, Vec<AccountWindow>)>,
}

impl Spent {
    /// Adds what a loop used since it was last seen.
    pub(super) fn add(&mut self, at: Timestamp, before: Option<&LoopReport>, now: &LoopReport) {
        self.uses.retain(|each| !is_over(each.at, at));
        let tokens = now.tokens.saturating_sub(before.map_or(0, |report| report.tokens));
        let cost = |report: &LoopReport| report.cost_usd.unwrap_or(0.0);
        let usd = (cost(now) - before.map_or(0.0, cost)).max(0.0);
        if tokens > 0 || usd > 0.0 {
            self.uses.push(Use { at, tokens, usd });
        }
        if !now.account.is_empty() && before.is_none_or(|before| before.account != now.account) {
            self.reported = Some((at, now.account.clone()));
        }
    }

    /// Until when nothing of the share is left, if nothing is.
    pub(super) fn used_up_until(&self, now: Timestamp, limits: &QueueLimits) -> Option<Timestamp> {
        self.hour_used_up_until(now, limits).max(self.window_used_up_until(now, limits))
    }

    /// A window without a known end counts for as long as an hour after the report.
    fn window_used_up_until(&self, now: Timestamp, limits: &QueueLimits) -> Option<Timestamp> {
        let (at, windows) = self.reported.as_ref()?;
        let share = limits.window_percent?;
        let full = windows.iter().filter(|window| window.used_percent >= share);
        let ends = full.filter_map(|window| window.resets_at.or_else(|| at.saturating_add(WINDOW).ok()));
        ends.filter(|end| *end > now).max()
    }

    fn hour_used_up_until(&self, now: Timestamp, limits: &QueueLimits) -> Option<Timestamp> {
        let recent: Vec<Use> = self.uses.iter().copied().filter(|each| !is_over(each.at, now)).collect();
        let full = |uses: &[Use]| {
            let tokens = uses.iter().fold(0_u64, |sum, each| sum.saturating_add(each.tokens));
            let usd: f64 = uses.iter().map(|each| each.usd).sum();
            limits.tokens_per_hour.is_some_and(|most| tokens >= most)
                || limits.usd_per_hour.is_some_and(|most| usd >= most)
        };
        if !full(&recent) {
            return None;
        }
        let free = (1..=recent.len()).find(|passed| !full(&recent[*passed..])).unwrap_or(recent.len());
        let last = recent.get(free.checked_sub(1)?)?;
        last.at.saturating_add(WINDOW).ok()
    }
}

fn is_over(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) >= WINDOW
}

/// Whether so much was used since that it is worth a line in the journal.
pub(super) fn is_notable(limits: &QueueLimits, before: &LoopReport, now: &LoopReport) -> bool {
    const PARTS: u64 = 100;
    if limits.window_percent.is_some() && before.account != now.account {
        return true;
    }
    let tokens = now.tokens.saturating_sub(before.tokens);
    let usd = now.cost_usd.unwrap_or(0.0) - before.cost_usd.unwrap_or(0.0);
    limits.tokens_per_hour.is_some_and(|most| tokens.saturating_mul(PARTS) >= most && tokens > 0)
        || limits.usd_per_hour.is_some_and(|most| usd * 100.0 >= most && usd > 0.0)
}
