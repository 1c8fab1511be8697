//! Programs of agents that are run outside any loop: asked for a version, or called.

use crate::support::*;

/// What a replaced program does: it answers, and leaves a mark in the home and beside itself if it can.
const REPLACED: &str = "#!/bin/sh\ntouch \"$HOME/marked\" \"${0%/*}/marked\" '@/marked'\n\
    getent hosts localhost > /dev/null; (exec 3<>/dev/tcp/127.0.0.1/1) 2> /dev/null\necho '6.6.6 (replaced)'\n";

#[test]
fn an_agent_that_replaced_its_program_marks_nothing_when_its_version_is_asked_for() {
    let Some(world) = crate::sandboxed() else { return };
    let dir = world.home().join(".my tool");
    std::fs::create_dir(&dir).unwrap();
    let replaced = REPLACED.replace('@', &world.root().to_string_lossy());
    // The program is a link to its version, as installers make it: the version is sealed, the link is in its own directory.
    let script =
        format!("rm \"$0\"; cat > \"$0\" <<'END'\n{replaced}END\nchmod 755 \"$0\"\necho x > file\necho '{PROMISE}'");
    let installed = world.install_script("mine", &script);
    std::fs::rename(installed, dir.join("mine-1.0")).unwrap();
    let program = dir.join("mine");
    std::os::unix::fs::symlink("mine-1.0", &program).unwrap();
    world.config(&format!("[agents.mine]\ncommand = ['{}']\nconfig_dir = '~/.my tool'\n", program.display()));
    call(&world, &["run", "do it", "--name", "work", "--agent", "mine", "--max-iterations", "1"]).assert_code(0);
    assert!(std::fs::read_to_string(&program).unwrap().starts_with("#!/bin/sh\ntouch"), "its directory is its own");
    for command in [&["agents", "--json"][..], &["doctor"], &["agents", "--call", "--json"]] {
        let output = call(&world, command);
        if command == ["agents", "--json"] {
            let reports = output.assert_code(0).json();
            let mine = reports.as_array().unwrap().iter().find(|report| report["name"] == "mine").unwrap().clone();
            assert_eq!(mine["version"], "6.6.6 (replaced)", "it did run: {mine}");
        }
        assert!(!world.home().join("marked").exists() && !world.root().join("marked").exists(), "{command:?}");
        // A call is a turn of a reviewer, which has its directory.
        assert!(command.contains(&"--call") || !dir.join("marked").exists(), "{command:?}");
    }
    // With the sandbox off for loops, a look is still none of the agent's business.
    let mut off = windlass(&world, &["agents", "--json"]);
    off.env("WINDLASS_SANDBOX", "off");
    std::fs::remove_file(dir.join("marked")).unwrap_or_default();
    world.run(off).assert_code(0);
    assert!(!world.home().join("marked").exists() && !dir.join("marked").exists());
}

#[test]
fn the_demo_runs_in_the_sandbox_where_there_is_one() {
    let Some(world) = crate::sandboxed() else { return };
    let output = call(&world, &["demo"]);
    output.assert_code(0);
    assert!(output.stdout.contains("workspace (bubblewrap)"), "{}", output.shown());
    assert!(!output.stdout.contains("No sandbox"), "{}", output.shown());
}
