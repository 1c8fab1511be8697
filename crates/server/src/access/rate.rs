//! How often something may be done: a bucket that fills with time.

use std::sync::Mutex;
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Rate {
    per_second: f64,
    most: f64,
    left: Mutex<(f64, Instant)>,
}

impl Rate {
    pub(crate) fn new(per_second: f64, most: f64) -> Self {
        Self { per_second, most, left: Mutex::new((most, Instant::now())) }
    }

    /// Takes one; `false` when there is none.
    pub(crate) fn take(&self) -> bool {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> bool {
        let mut left = self.left.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let passed = now.saturating_duration_since(left.1).as_secs_f64();
        let filled = (left.0 + passed * self.per_second).min(self.most);
        *left = (if filled >= 1.0 { filled - 1.0 } else { filled }, now);
        filled >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_passes_then_one_for_each_stretch_of_time() {
        let rate = Rate::new(2.0, 3.0);
        let start = Instant::now();
        assert_eq!([0; 4].map(|_| rate.take_at(start)), [true, true, true, false]);
        let later = start + Duration::from_millis(500);
        assert_eq!([0; 2].map(|_| rate.take_at(later)), [true, false]);
        let much_later = start + Duration::from_secs(60);
        assert_eq!([0; 4].map(|_| rate.take_at(much_later)), [true, true, true, false]);
    }
}
