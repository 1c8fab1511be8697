//! The process between engine and agent.

/// Runs the shim and exits. Call it before any runtime or thread starts.
pub fn main() -> ! {
    std::process::exit(70)
}
