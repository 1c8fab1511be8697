//! An engine that starts one tree and is there to be killed.

use crate::world::{block_on, launcher, until_said};
use windlass_supervise::ShimSpec;

/// Starts the spec in the file `spec`, and prints the shim's id when the agent is ready.
pub(crate) fn main(spec: &str) -> ! {
    let spec: ShimSpec = serde_json::from_slice(&std::fs::read(spec).unwrap()).unwrap();
    block_on(async {
        let mut running = launcher().start(&spec).await.unwrap();
        until_said(&mut running, &spec.stdout, "ready").await;
        println!("{}", running.shim_pid().unwrap());
        while running.next().await.is_some() {}
    });
    std::process::exit(0)
}
