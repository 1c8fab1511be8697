//! The `windlass` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before anything else is set up: a shim is one small process for each running agent.
    if std::env::args_os().nth(1).is_some_and(|word| word == "shim") {
        windlass_supervise::shim::main();
    }
    windlass::main()
}
