//! Kills the program at fault points, every time they are passed, and compares what comes out in the end.

use std::fmt::Debug;
use std::panic::RefUnwindSafe;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// More often than this no point is passed; a sweep that comes here does not end.
const MOST: usize = 100;

/// A run that is killed when it passes the point for the n-th time; the second one, if any, kills its resumption.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    pub first: String,
    pub second: Option<String>,
}

/// The cases of one point, with growing count, until it is not passed so often.
#[derive(Debug)]
pub struct Series {
    point: &'static str,
    /// Where the run is killed that is resumed and killed again.
    before: Option<&'static str>,
    next: usize,
    over: bool,
}

impl Series {
    /// One for each of these points, with where the run before it is killed, if it is a resumption that dies.
    pub fn of(points: &[&'static str], before: Option<&'static str>) -> Vec<Series> {
        points.iter().map(|point| Series { point, before, next: 1, over: false }).collect()
    }

    fn case(&self, count: usize) -> Case {
        let at = format!("{}:{count}", self.point);
        match self.before {
            None => Case { first: at, second: None },
            Some(before) => Case { first: before.to_owned(), second: Some(at) },
        }
    }
}

/// Plays all cases, some at once, and returns how many there were. `play` gives the end state of a case, or nothing
/// if its last point was not passed so often.
#[track_caller]
pub fn sweep<E: Debug + PartialEq + Sync>(
    series: Vec<Series>,
    undisturbed: &E,
    play: impl Fn(&Case) -> Option<E> + Sync + RefUnwindSafe,
) -> usize {
    const AT_ONCE: usize = 5;
    let series = Mutex::new(series);
    let failures = Mutex::new(Vec::new());
    let cases = AtomicUsize::new(0);
    let next = || {
        let mut series = series.lock().unwrap();
        let index = (0..series.len()).filter(|i| !series[*i].over).min_by_key(|i| series[*i].next)?;
        series[index].next += 1;
        Some((index, series[index].next - 1, series[index].case(series[index].next - 1)))
    };
    let work = || {
        while let Some((index, count, case)) = next() {
            let failure = match std::panic::catch_unwind(|| play(&case)) {
                Ok(None) => {
                    series.lock().unwrap()[index].over = true;
                    (count == 1).then(|| "never passed".to_owned())
                }
                Ok(Some(end)) if end == *undisturbed => None,
                Ok(Some(end)) => Some(difference(&end, undisturbed)),
                Err(panic) => Some(panic.downcast_ref::<String>().cloned().unwrap_or_default()),
            };
            cases.fetch_add(1, Ordering::Relaxed);
            if count >= MOST {
                series.lock().unwrap()[index].over = true;
            }
            if let Some(failure) = failure {
                failures.lock().unwrap().push(format!("{case:?}\n{failure}"));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    let (cases, failures) = (cases.into_inner(), failures.into_inner().unwrap());
    assert!(failures.is_empty(), "{} of {cases} cases\n{}", failures.len(), failures.join("\n\n"));
    cases
}

/// The lines in which two ends differ.
fn difference<E: Debug>(end: &E, undisturbed: &E) -> String {
    let (end, undisturbed) = (format!("{end:#?}"), format!("{undisturbed:#?}"));
    let only = |these: &str, those: &str, mark: &str| -> String {
        let those: Vec<&str> = those.lines().collect();
        these.lines().filter(|line| !those.contains(line)).map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("{}{}{end}", only(&undisturbed, &end, "-"), only(&end, &undisturbed, "+"))
}
