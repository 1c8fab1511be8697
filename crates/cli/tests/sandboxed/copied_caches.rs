//! Loops where no overlay can be mounted, as in most containers: the data directory is itself on an overlay, on which the kernel
//! mounts no other that can be written to.

use std::path::Path;

use crate::support::*;
use windlass_testkit::{Output, World};

/// Runs Windlass in a mount namespace in which the data directory is on an overlay. None if this machine has no such thing, which
/// is printed.
fn on_overlay(world: &World, args: &[&str]) -> Option<Output> {
    let (data, below) = (world.data_dir(), world.new_dir("below"));
    for dir in [data.clone(), below.join("lower"), below.join("upper"), below.join("work")] {
        std::fs::create_dir_all(dir).unwrap();
    }
    let script = r#"
        xattr=$([ "$(cat /proc/self/uid_map | tr -s ' ')" = " 0 0 4294967295" ] || echo ,userxattr)
        layers() { echo "lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work$xattr"; }
        mount -t overlay overlay -o "$(layers "$BELOW")" "$DATA" || exit 77
        mkdir "$DATA/lower" "$DATA/upper" "$DATA/work" "$DATA/view"
        mount -t overlay overlay -o "$(layers "$DATA")" "$DATA/view" 2> /dev/null && exit 78
        rm -r "$DATA"/*
        "$@"
    "#;
    let mut command = world.command("unshare");
    if !rustix::process::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command
        .env("DATA", &data)
        .env("BELOW", &below)
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(binary())
        .args(args);
    let output = world.run(command);
    if matches!(output.code, Some(77 | 78)) {
        let _ =
            std::io::Write::write_all(&mut std::io::stderr(), b"\n*** SKIPPED: no data directory without overlays\n\n");
        return None;
    }
    Some(output)
}

fn put(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

#[test]
// promise: safety-1
fn without_overlays_a_loop_has_copies_of_the_caches_that_last_as_long_as_it_does() {
    let Some(world) = crate::sandboxed() else { return };
    let home = world.home();
    put(&home.join(".cargo/registry/cache/crate"), "good\n");
    put(&home.join(".npm/_cacache/deep/er/one"), "kept\n");
    let cache = "~/.cargo/registry/cache";
    // The first turn changes its copy, the second finds it so and claims; each judgement has a copy of its own.
    let script = format!(
        "cat {cache}/* ~/.npm/_cacache/deep/er/one >> seen; echo planted > {cache}/crate; echo new > {cache}/other\n\
         [ $(wc -l < seen) -lt 4 ] || echo '{PROMISE}'"
    );
    let agent = world.install_script("agent", &script).to_string_lossy().into_owned();
    let gate = format!("test \"$(cat {cache}/*)\" = good && {{ [ ! -e seen ] || echo judged > {cache}/crate; }}");
    let args = ["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "3", "--gate", &gate];
    let Some(output) = on_overlay(&world, &args) else { return };
    output.assert_code(0);
    assert_eq!(file_at_branch(&world, "work", "seen"), "good\nkept\nplanted\nnew\nkept\n");
    assert_eq!(std::fs::read_to_string(home.join(".cargo/registry/cache/crate")).unwrap(), "good\n");
    assert!(!home.join(".cargo/registry/cache/other").exists());
}
