//! `cargo run --release -p windlass-testkit --bin soak -- --for 1h --loops 50 [--windlass FILE] [--seed N] [--sandbox off] [--json FILE]`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to a terminal")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use windlass_testkit::soak::{Options, Until, run, table};

fn main() -> ExitCode {
    let (options, json) = match options() {
        Ok(wanted) => wanted,
        Err(message) => {
            eprintln!("error: {message}");
            eprintln!(
                "hint: soak [--for 1h] [--loops 50] [--seed 1] [--sandbox on|off] [--windlass FILE] [--json FILE]"
            );
            return ExitCode::from(2);
        }
    };
    let report = run(&options);
    println!("{} loops at a time for {:.0} s, seed {}", options.loops, report.seconds, options.seed);
    println!("started: {:?}", report.started);
    println!("faults: {:?}", report.faults);
    println!("refused: {:?}", report.refused);
    println!("open when faults ended: {:?}", report.open);
    println!("ended: {:?}", report.ended);
    println!("{} samples; figures since the last start of the server:\n", report.samples.len());
    print!("{}", table(&report.trends));
    report.problems.iter().for_each(|problem| println!("PROBLEM {problem}"));
    if let Some(path) = json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("error: cannot write {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn options() -> Result<(Options, Option<PathBuf>), String> {
    let beside = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("windlass")));
    let mut options = Options {
        windlass: beside.unwrap_or_default(),
        until: Until::Time(Duration::from_secs(3600)),
        loops: 50,
        seed: 1,
        sandbox: true,
    };
    let mut json = None;
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{flag} needs a number, not '{value}'"));
        match flag.as_str() {
            "--for" => options.until = Until::Time(duration(&value)?),
            "--loops" => options.loops = usize::try_from(number()?.clamp(1, 200)).unwrap_or(1),
            "--seed" => options.seed = number()?,
            "--sandbox" => options.sandbox = value != "off",
            "--windlass" => options.windlass = PathBuf::from(value),
            "--json" => json = Some(PathBuf::from(value)),
            other => return Err(format!("{other} is not recognized")),
        }
    }
    if !options.windlass.is_file() {
        let shown = options.windlass.display();
        return Err(format!(
            "{shown} does not exist; build it with cargo build --release -p windlass, or name it with --windlass"
        ));
    }
    Ok((options, json))
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(format!("--for needs a time such as 10m, not '{text}'")),
    };
    let number: u64 = number.parse().map_err(|_| format!("--for needs a time such as 10m, not '{text}'"))?;
    Ok(Duration::from_secs(number * seconds))
}
