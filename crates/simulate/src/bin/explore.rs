//! `cargo run --release -p windlass-simulate --bin explore -- [--depth N] [--disturbances N] [--recipe NAME] [--plant INVARIANT]`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it reports to a terminal")]

use std::process::ExitCode;
use std::time::Instant;

use windlass_simulate::explore::invariants::Invariant;
use windlass_simulate::explore::machine::Machine;
use windlass_simulate::explore::reached::{OUT_OF_REACH, Reached};
use windlass_simulate::explore::{Bound, explore, specs};

struct Wanted {
    depth: u32,
    disturbances: u32,
    recipe: Option<String>,
    machine: Machine,
}

fn main() -> ExitCode {
    match wanted() {
        Ok(wanted) => run(&wanted),
        Err(message) => {
            let known: Vec<String> = Invariant::ALL.iter().map(|one| one.name().replace(' ', "-")).collect();
            eprintln!("error: {message}");
            eprintln!("hint: explore [--depth N] [--disturbances N] [--recipe NAME] [--plant {}]", known.join("|"));
            ExitCode::from(2)
        }
    }
}

fn wanted() -> Result<Wanted, String> {
    let mut wanted = Wanted { depth: 4, disturbances: 1, recipe: None, machine: Machine::default() };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let number = || value.parse::<u32>().map_err(|_| format!("{flag} needs a number, not '{value}'"));
        match flag.as_str() {
            "--depth" => wanted.depth = number()?,
            "--disturbances" => wanted.disturbances = number()?,
            "--recipe" => wanted.recipe = Some(value),
            "--plant" => {
                let invariant = Invariant::parse(&value).ok_or_else(|| format!("there is no invariant '{value}'"))?;
                wanted.machine.planted = Some(invariant);
            }
            other => return Err(format!("{other} is not recognized")),
        }
    }
    if let Some(recipe) = &wanted.recipe
        && !specs::all().iter().any(|(name, _)| name == recipe)
    {
        let known: Vec<&str> = specs::all().iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no small spec '{recipe}' (known: {})", known.join(", ")));
    }
    Ok(wanted)
}

fn run(wanted: &Wanted) -> ExitCode {
    let started = Instant::now();
    let (mut reached, mut states, mut edges) = (Reached::default(), 0, 0);
    println!("| spec | sequences | states | edges | refused | longest way | s |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    for (name, spec) in specs::all() {
        if wanted.recipe.as_ref().is_some_and(|recipe| recipe != name) {
            continue;
        }
        for bound in [Bound::Depth(wanted.depth), Bound::Disturbances(wanted.disturbances)] {
            let begun = Instant::now();
            let found = explore(&spec, wanted.machine, bound);
            let shown = match bound {
                Bound::Depth(most) => format!("of at most {most} inputs"),
                Bound::Disturbances(most) => format!("with at most {most} disturbances"),
            };
            let took = begun.elapsed().as_secs_f64();
            println!(
                "| {name} | {shown} | {} | {} | {} | {} | {took:.1} |",
                found.states, found.edges, found.refused, found.longest
            );
            if let Some(violation) = found.violation {
                println!("VIOLATED {}: {}", violation.invariant.name(), violation.what);
                println!("after: {}", violation.story.join(" · "));
                return ExitCode::FAILURE;
            }
            states += found.states;
            edges += found.edges;
            reached.add(&found.reached);
        }
    }
    println!("\n{states} states and {edges} edges in {:.1} s; every invariant holds", started.elapsed().as_secs_f64());
    for (kind, all, found) in reached.kinds() {
        println!("{kind}: {} of {}", all.iter().filter(|name| found.contains(*name)).count(), all.len());
    }
    println!("not reached by these specs:");
    OUT_OF_REACH.iter().for_each(|(what, why)| println!("  {what}: {why}"));
    let surprises = reached.surprises();
    // Without enough disturbances, or with one recipe alone, much cannot be reached.
    surprises.iter().for_each(|surprise| println!("  {surprise}"));
    ExitCode::SUCCESS
}
