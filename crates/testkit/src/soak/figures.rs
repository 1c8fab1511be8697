//! What is measured, and whether it grows.

use serde::Serialize;

/// One look at everything, so many seconds after the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Sample {
    pub at_s: f64,
    /// Of the server, in KiB.
    pub memory_kib: f64,
    pub descriptors: f64,
    pub threads: f64,
    /// Of the whole world: server, drivers, helpers, agents.
    pub processes: f64,
    pub database_bytes: f64,
    pub disk_bytes: f64,
    /// Of `windlass list`, from start to exit.
    pub latency_ms: f64,
    /// Loops in the database.
    pub loops: f64,
    /// The server was started so often before.
    pub restarts: u32,
}

/// A figure over time, and how much of a growth is allowed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    pub what: &'static str,
    pub unit: &'static str,
    pub first: f64,
    pub last: f64,
    pub most: f64,
    /// By least squares.
    pub slope_per_hour: f64,
    /// What the slope adds over the measured time, as a share of the mean.
    pub relative: f64,
    /// The most that may be added, as a share, if it is also more than noise.
    pub allowed: f64,
    pub grows: bool,
}

/// A figure, with the share it may grow by and the amount below which a growth is noise.
struct Watched {
    what: &'static str,
    unit: &'static str,
    allowed: f64,
    noise: f64,
    value: fn(&Sample) -> f64,
}

/// Storage is measured per stored loop: it may grow with what is stored, and with nothing else.
const WATCHED: [Watched; 7] = [
    Watched {
        what: "memory of the server",
        unit: "MiB",
        allowed: 0.25,
        noise: 8.0,
        value: |sample| sample.memory_kib / 1024.0,
    },
    Watched { what: "descriptors of the server", unit: "", allowed: 0.25, noise: 16.0, value: |s| s.descriptors },
    Watched { what: "threads of the server", unit: "", allowed: 0.25, noise: 8.0, value: |s| s.threads },
    Watched { what: "processes in all", unit: "", allowed: 0.5, noise: 20.0, value: |s| s.processes },
    Watched { what: "latency of `windlass list`", unit: "ms", allowed: 1.0, noise: 100.0, value: |s| s.latency_ms },
    Watched {
        what: "database per stored loop",
        unit: "KiB",
        allowed: 0.25,
        noise: 64.0,
        value: |sample| sample.database_bytes / 1024.0 / sample.loops.max(1.0),
    },
    Watched {
        what: "disk per stored loop",
        unit: "KiB",
        allowed: 0.25,
        noise: 1024.0,
        value: |sample| sample.disk_bytes / 1024.0 / sample.loops.max(1.0),
    },
];

/// The trends since the server was last started, without its first tenth, in which it warms up.
pub fn trends(samples: &[Sample]) -> Vec<Trend> {
    let restarts = samples.last().map_or(0, |sample| sample.restarts);
    let steady: Vec<&Sample> = samples.iter().filter(|sample| sample.restarts == restarts).collect();
    let steady = &steady[steady.len() / 10..];
    WATCHED.iter().map(|watched| trend(watched, steady)).collect()
}

fn trend(watched: &Watched, samples: &[&Sample]) -> Trend {
    let points: Vec<(f64, f64)> = samples.iter().map(|sample| (sample.at_s, (watched.value)(sample))).collect();
    let values = || points.iter().map(|(_, value)| *value);
    let count = points.len().max(1) as f64;
    let mean = values().sum::<f64>() / count;
    let slope = slope(&points);
    let time = points.last().zip(points.first()).map_or(0.0, |(last, first)| last.0 - first.0);
    let added = slope * time;
    let relative = if mean > 0.0 { added / mean } else { 0.0 };
    Trend {
        what: watched.what,
        unit: watched.unit,
        first: points.first().map_or(0.0, |point| point.1),
        last: points.last().map_or(0.0, |point| point.1),
        most: values().fold(0.0, f64::max),
        slope_per_hour: slope * 3600.0,
        relative,
        allowed: watched.allowed,
        grows: relative > watched.allowed && added > watched.noise,
    }
}

/// Least squares; 0 without two points in time.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len().max(1) as f64;
    let x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let common: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    if spread > 0.0 { common / spread } else { 0.0 }
}

/// As a Markdown table.
pub fn table(trends: &[Trend]) -> String {
    let mut text = "| what | first | last | most | slope per hour | over the measured time | allowed | |\n\
                    |---|---:|---:|---:|---:|---:|---:|---|\n"
        .to_owned();
    for trend in trends {
        let unit = if trend.unit.is_empty() { String::new() } else { format!(" {}", trend.unit) };
        let mark = if trend.grows { "✗ grows" } else { "✓" };
        text.push_str(&format!(
            "| {} | {:.1}{unit} | {:.1}{unit} | {:.1}{unit} | {:+.1}{unit} | {:+.0} % | {:.0} % | {mark} |\n",
            trend.what,
            trend.first,
            trend.last,
            trend.most,
            trend.slope_per_hour,
            trend.relative * 100.0,
            trend.allowed * 100.0
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(memory_mib: impl Fn(f64) -> f64) -> Vec<Sample> {
        let at = |second: u32| {
            let at_s = f64::from(second);
            let loops = 10.0 + at_s / 10.0;
            let memory_kib = memory_mib(at_s) * 1024.0;
            // What is stored grows with the loops.
            Sample {
                at_s,
                memory_kib,
                loops,
                database_bytes: loops * 5e4,
                disk_bytes: loops * 1e6,
                ..Sample::default()
            }
        };
        (0..600).map(at).collect()
    }

    fn growing(samples: &[Sample]) -> Vec<&'static str> {
        trends(samples).into_iter().filter(|trend| trend.grows).map(|trend| trend.what).collect()
    }

    #[test]
    fn steady_memory_with_noise_and_storage_by_loop_do_not_grow() {
        assert_eq!(growing(&samples(|at| 40.0 + (at * 0.7).sin() * 6.0)), Vec::<&str>::new());
    }

    #[test]
    fn memory_that_leaks_grows() {
        let leaking = samples(|at| 40.0 + at * 0.05);
        assert_eq!(growing(&leaking), ["memory of the server"]);
        let trend = &trends(&leaking)[0];
        assert!((trend.slope_per_hour - 180.0).abs() < 1.0, "{trend:?}");
    }

    #[test]
    fn only_what_follows_the_last_start_of_the_server_counts() {
        let mut restarted = samples(|at| if at < 300.0 { at } else { 40.0 });
        restarted.iter_mut().filter(|sample| sample.at_s >= 300.0).for_each(|sample| sample.restarts = 1);
        assert_eq!(growing(&restarted), Vec::<&str>::new());
    }

    #[test]
    fn storage_that_grows_without_loops_grows() {
        let mut all = samples(|_| 40.0);
        all.iter_mut().for_each(|sample| sample.database_bytes += sample.at_s * 1e5);
        assert_eq!(growing(&all), ["database per stored loop"]);
    }
}
