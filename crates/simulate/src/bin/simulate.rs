//! `cargo run -p windlass-simulate --bin simulate -- --seeds 10000 [--from N] [--seed N] [--without a,b] [--skip a#1]`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to a terminal")]

use std::process::ExitCode;
use std::time::Instant;

use windlass_simulate::{Bug, Coverage, Fault, Plan, run, shrink};

/// Runs that shrinking a failing seed may take, besides one for each kind of fault.
const SHRINKING: u32 = 150;

struct Wanted {
    seeds: u64,
    from: u64,
    one: Option<Plan>,
}

fn main() -> ExitCode {
    match wanted() {
        Ok(Wanted { one: Some(plan), .. }) => replay(&plan),
        Ok(wanted) => many(&wanted),
        Err(message) => {
            eprintln!("error: {message}");
            eprintln!(
                "hint: simulate --seeds N [--from N], or simulate --seed N [--without a,b] [--skip a#1,b#2] [--plant bug]"
            );
            ExitCode::from(2)
        }
    }
}

fn wanted() -> Result<Wanted, String> {
    let mut plan = Plan::default();
    let (mut seeds, mut from, mut one) = (1_000, 0, false);
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{flag} needs a number, not '{value}'"));
        let fault = |name: &str| Fault::parse(name).ok_or_else(|| format!("there is no fault '{name}'"));
        match flag.as_str() {
            "--seeds" => seeds = number()?,
            "--from" => from = number()?,
            "--seed" => (plan.seed, one) = (number()?, true),
            "--without" => plan.without = value.split(',').map(fault).collect::<Result<_, _>>()?,
            "--skip" => {
                for part in value.split(',') {
                    let (name, count) = part.split_once('#').ok_or_else(|| format!("'{part}' is not fault#number"))?;
                    plan.skip
                        .insert((fault(name)?, count.parse().map_err(|_| format!("'{part}' is not fault#number"))?));
                }
            }
            "--plant" => plan.planted = Some(Bug::parse(&value).ok_or_else(|| format!("there is no bug '{value}'"))?),
            other => return Err(format!("{other} is not recognized")),
        }
    }
    Ok(Wanted { seeds, from, one: one.then_some(plan) })
}

fn replay(plan: &Plan) -> ExitCode {
    let outcome = run(plan, true);
    outcome.story.iter().for_each(|line| println!("{line}"));
    match outcome.violation {
        Some(violation) => {
            println!("seed {}: VIOLATED {}: {}", plan.seed, violation.invariant.name(), violation.what);
            ExitCode::FAILURE
        }
        None => {
            println!("seed {}: every invariant holds in {} appends", plan.seed, outcome.appends);
            ExitCode::SUCCESS
        }
    }
}

fn many(wanted: &Wanted) -> ExitCode {
    let (mut coverage, mut appends, mut failed) = (Coverage::default(), 0, Vec::new());
    let started = Instant::now();
    for seed in wanted.from..wanted.from + wanted.seeds {
        let outcome = run(&Plan::of(seed), false);
        coverage.add(&outcome.coverage);
        appends += outcome.appends;
        if let Some(violation) = outcome.violation {
            println!("seed {seed}: VIOLATED {}: {}", violation.invariant.name(), violation.what);
            failed.push((seed, violation));
        }
    }
    let took = started.elapsed().as_secs_f64();
    let each = wanted.seeds as f64 / took;
    println!("{} seeds, {appends} appends in {took:.1} s: {each:.1} seeds per second", wanted.seeds);
    print!("{}", coverage.report());
    let Some((seed, violation)) = failed.first() else {
        println!("every invariant holds");
        return ExitCode::SUCCESS;
    };
    println!("{} seeds failed; shrinking seed {seed}", failed.len());
    let (plan, runs) = shrink(&Plan::of(*seed), violation.invariant, SHRINKING);
    println!("after {runs} runs, replay it with: {}", command(&plan));
    replay(&plan);
    ExitCode::FAILURE
}

fn command(plan: &Plan) -> String {
    let mut text = format!("simulate --seed {}", plan.seed);
    let without: Vec<&str> = plan.without.iter().map(|fault| fault.name()).collect();
    if !without.is_empty() {
        text.push_str(&format!(" --without {}", without.join(",")));
    }
    let skip: Vec<String> = plan.skip.iter().map(|(fault, number)| format!("{}#{number}", fault.name())).collect();
    if !skip.is_empty() {
        text.push_str(&format!(" --skip {}", skip.join(",")));
    }
    text
}
