//! Taking turns, medians, quartiles.
//!
//! Invariant: the ratio of a row is the median of the ratios of neighbors in time, never of two numbers from
//! different minutes.

use std::time::{Duration, Instant};

/// What two contenders gave, pair by pair.
#[derive(Debug)]
pub struct Pairs {
    pub reference: Vec<f64>,
    pub ours: Vec<f64>,
}

impl Pairs {
    /// Reference, ours, reference, ours …, after one pair that warms the caches and is thrown away.
    pub fn take(count: usize, mut reference: impl FnMut() -> f64, mut ours: impl FnMut() -> f64) -> Self {
        let _ = (reference(), ours());
        let (reference, ours) = (0..count).map(|_| (reference(), ours())).unzip();
        Self { reference, ours }
    }

    pub fn ratios(&self) -> Vec<f64> {
        self.reference.iter().zip(&self.ours).map(|(reference, ours)| ours / reference).collect()
    }

    /// How much ours takes more, in the middle of all pairs.
    pub fn median_difference(&self) -> f64 {
        let differences: Vec<f64> =
            self.reference.iter().zip(&self.ours).map(|(reference, ours)| ours - reference).collect();
        median(&differences)
    }

    /// The other way around, for what is better when it is more.
    pub fn inverse_ratios(&self) -> Vec<f64> {
        self.ratios().into_iter().map(|ratio| 1.0 / ratio).collect()
    }
}

pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The first and the third quartile.
pub fn quartiles(values: &[f64]) -> (f64, f64) {
    (quantile(values, 0.25), quantile(values, 0.75))
}

fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = at * (sorted.len().saturating_sub(1)) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(below), sorted.get(above)) {
        (Some(below), Some(above)) => below + (above - below) * place.fract(),
        _ => f64::NAN,
    }
}

pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
