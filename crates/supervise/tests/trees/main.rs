//! Process trees for real: this binary is the shim, an engine to be killed, and every agent that
//! misbehaves. Without a role it runs the cases, one after the other, as `cargo test` expects.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod basics;
mod crashes;
mod endings;
mod engine;
#[cfg(target_os = "linux")]
mod limits;
mod output;
mod turns;
#[cfg(target_os = "linux")]
mod view;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// A case and the name it is found by.
type Case = (&'static str, fn());

/// Lists functions as cases, under their own names.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub(crate) const CASES: &[crate::Case] = &[$((concat!(module_path!(), "::", stringify!($case)), $case)),*];
    };
}
pub(crate) use cases;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("shim") => windlass_supervise::shim::main(),
        Some("agent") => agents::main(&args[2..]),
        Some("engine") => engine::main(&args[2]),
        Some("engine-with-turns") => turns::engine(&args[2]),
        Some(_) | None => run_cases(&args[1..]),
    }
}

fn run_cases(args: &[String]) -> ExitCode {
    let all = [basics::CASES, output::CASES, endings::CASES, crashes::CASES, turns::CASES].concat();
    #[cfg(target_os = "linux")]
    let all = [all, limits::CASES.to_vec(), view::CASES.to_vec()].concat();
    let wanted = |name: &str| {
        let mut filters = args.iter().filter(|arg| !arg.starts_with('-')).peekable();
        filters.peek().is_none() || filters.any(|filter| name.contains(filter.as_str()))
    };
    if args.iter().any(|arg| arg == "--list") {
        all.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = Vec::new();
    // All that holds for a tree holds for one in a sandbox as well.
    let rounds: &[bool] = match windlass_supervise::probe_sandbox("") {
        Ok(_) => &[false, true],
        Err(why) => {
            eprintln!("SKIPPED: no sandbox here: {}", why.reason);
            &[false]
        }
    };
    for &sandboxed in rounds {
        world::SANDBOXED.store(sandboxed, std::sync::atomic::Ordering::Relaxed);
        let how = if sandboxed { " (sandboxed)" } else { "" };
        for (name, case) in all.iter().filter(|(name, _)| wanted(name)) {
            let result = catch_unwind(AssertUnwindSafe(case));
            println!("test {name}{how} ... {}", if result.is_ok() { "ok" } else { "FAILED" });
            if result.is_err() {
                failed.push(format!("{name}{how}"));
            }
        }
    }
    if failed.is_empty() {
        println!("test result: ok.");
        return ExitCode::SUCCESS;
    }
    println!("test result: FAILED. {failed:?}");
    ExitCode::FAILURE
}
