//! A gallery of hostile agents in the sandbox that users get by default, whole loops. Each does its worst and then claims
//! to be done; what counts is what is found outside.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};

use crate::support::*;
use windlass_testkit::{Output, World};

/// Runs a loop whose agent is this shell script; it ends with the claim.
fn hostile(world: &World, script: &str, more: &[&str]) -> Output {
    let agent = world.install_script("hostile", &format!("{script}\necho '{PROMISE}'"));
    let agent = agent.to_string_lossy().into_owned();
    let mut args = vec!["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "1"];
    args.extend(more);
    call(world, &args)
}

fn transcript(world: &World) -> String {
    let mut text = String::new();
    let mut todo = vec![world.data_dir().join("transcripts")];
    while let Some(dir) = todo.pop() {
        for path in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                todo.push(path);
            } else if path.file_name().is_some_and(|name| name == "stdout" || name == "stderr") {
                text.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
            }
        }
    }
    text
}

fn workspace(world: &World) -> PathBuf {
    PathBuf::from(status(world, "work")["worktree"].as_str().unwrap())
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.sort();
    names
}

#[test]
fn one_that_writes_to_home_changes_nothing_there() {
    let Some(world) = crate::sandboxed() else { return };
    std::fs::write(world.home().join("letter.txt"), "dear\n").unwrap();
    hostile(&world, "rm -rf \"$HOME\"; echo x > \"$HOME/x\"; echo evil >> \"$HOME/.bashrc\"; echo in > file", &[])
        .assert_code(0);
    assert_eq!(std::fs::read_to_string(world.home().join("letter.txt")).unwrap(), "dear\n");
    assert_eq!(names(&world.home()), [".gitconfig", ".local", "letter.txt"]);
    assert_eq!(file_at_branch(&world, "work", "file"), "in\n");
}

#[test]
fn one_that_is_only_asked_whether_it_answers_changes_nothing_either() {
    let Some(world) = crate::sandboxed() else { return };
    let script = "if [ \"$1\" = --version ]; then echo '2.1.325 (Claude Code)'; exit 0; fi\ncat > /dev/null\n\
                  touch \"$HOME/by-agent\" by-agent && echo escaped >&2\ncat \"${0%/*}/said\"";
    let program = world.install_script("claude", script);
    // Beside the program, which is seen inside wherever this checkout is.
    let said = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/recordings/claude/plain.jsonl");
    std::fs::copy(said, program.with_file_name("said")).unwrap();
    let reports = call(&world, &["agents", "--call", "--json"]).assert_code(0).json();
    let claude = reports.as_array().unwrap().iter().find(|report| report["name"] == "claude").unwrap();
    assert_eq!(claude["call"]["result"], "ok", "{claude}");
    assert!(!names(&world.home()).contains(&"by-agent".to_owned()));
    let temp = world.data_dir().join("tmp");
    assert!(!temp.exists() || names(&temp).is_empty(), "the private temp of a call goes with it");
}

#[test]
// promise: safety-1
fn one_that_reads_keys_finds_none() {
    let Some(world) = crate::sandboxed() else { return };
    for place in [".ssh/id_rsa", ".aws/credentials", ".gnupg/key", ".config/gh/hosts.yml", ".netrc", ".git-credentials"]
    {
        let path = world.home().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "TOP-SECRET\n").unwrap();
    }
    // By a link too: what it points to counts.
    std::fs::create_dir(world.home().join("elsewhere")).unwrap();
    std::fs::write(world.home().join("elsewhere/config"), "TOP-SECRET\n").unwrap();
    std::os::unix::fs::symlink(world.home().join("elsewhere"), world.home().join(".kube")).unwrap();
    let read = "cd; cat .ssh/* .aws/* .gnupg/* .config/gh/* .netrc .git-credentials .kube/* elsewhere/*; ls -la .ssh; \
                grep -r TOP-SEC . ; true";
    hostile(&world, read, &[]).assert_code(0);
    assert!(!transcript(&world).contains("TOP-SECRET"), "{}", transcript(&world));
}

#[test]
fn what_is_denied_by_default_can_be_shown_and_more_can_be_denied() {
    let Some(world) = crate::sandboxed() else { return };
    for place in [".aws/config", "shown/letters/mine", "shown/this"] {
        let path = world.home().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("text of {place}\n")).unwrap();
    }
    world.config("sandbox_readable = [\"~/.aws\", \"~/shown\"]\nsandbox_denied = [\"~/shown/letters\"]\n");
    hostile(&world, "cd; cat .aws/config shown/letters/mine shown/this; echo x > .aws/new", &[]).assert_code(0);
    let said = transcript(&world);
    assert!(
        said.contains("text of .aws/config") && said.contains("text of shown/this") && !said.contains("letters/mine\n"),
        "{said}"
    );
    assert_eq!(names(&world.home().join(".aws")), ["config"]);
}

#[test]
fn one_that_plants_hooks_and_settings_is_refused_and_nothing_runs() {
    let Some(world) = crate::sandboxed() else { return };
    let repo = world.repo().path().display().to_string();
    let mark = world.root().join("ran");
    let plant = format!(
        "for dir in .git {repo}/.git; do\n\
           for hook in pre-commit post-checkout reference-transaction post-index-change; do\n\
             printf '#!/bin/sh\\ntouch {0}\\n' > $dir/hooks/$hook; chmod +x $dir/hooks/$hook\n\
           done\n\
           printf '[core]\\n\\tfsmonitor = touch {0}\\n[filter \"x\"]\\n\\tclean = touch {0}\\n' >> $dir/config\n\
         done\n\
         git config core.hooksPath $PWD/hooks; git config filter.x.clean 'touch {0}'\n\
         echo '* filter=x' > .gitattributes; echo /tmp > .git/objects/info/alternates; echo /tmp > .git/commondir\n\
         mkdir .git/remotes; echo 'URL: /tmp' > .git/remotes/origin; echo /tmp > .git/branches/origin\n\
         mv .git old; rm -rf .git; echo work > file",
        mark.display()
    );
    hostile(&world, &plant, &["--gate", "test -f file"]).assert_code(0);
    call(&world, &["diff", "work"]).assert_code(0);
    call(&world, &["merge", "work"]).assert_code(0);
    assert!(!mark.exists(), "something planted has run");
    for dir in ["hooks", "remotes", "branches"] {
        assert_eq!(names(&workspace(&world).join(".git").join(dir)), Vec::<String>::new(), "{dir}");
    }
    let config = std::fs::read_to_string(workspace(&world).join(".git/config")).unwrap();
    assert!(!config.contains("fsmonitor") && !config.contains("hooksPath"), "{config}");
    let home = std::fs::read_to_string(world.repo().path().join(".git/config")).unwrap();
    assert!(!home.contains("fsmonitor"), "{home}");
    assert_eq!(world.repo().file_at("main", "file"), "work\n");
}

#[test]
fn without_a_sandbox_what_it_plants_for_git_is_run_by_nothing_of_windlass_and_undone() {
    let world = crate::world();
    let config = std::fs::read_to_string(world.repo().path().join(".git/config")).unwrap();
    let mark = world.root().join("ran");
    let plant = format!(
        "git config --file evil.cfg core.fsmonitor 'touch {0}'; common={1}\n\
         mkdir -p $common/hooks $common/info $common/objects/info; echo {0} > $common/objects/info/alternates\n\
         for hook in pre-commit post-commit post-checkout reference-transaction post-index-change; do\n\
           printf '#!/bin/sh\\ntouch {0}\\n' > $common/hooks/$hook; chmod +x $common/hooks/$hook\n\
         done\n\
         mkdir sub; git init -q sub; git -C sub config core.fsmonitor 'touch {0}'; echo x > sub/file\n\
         printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./sub\\n\\tupdate = !touch {0}\\n' > .gitmodules\n\
         echo '* filter=x diff=x merge=x' | tee .gitattributes > $common/info/attributes; echo work > file\n\
         for key in core.fsmonitor filter.x.clean filter.x.smudge diff.x.textconv diff.external merge.x.driver core.pager gpg.program; do\n\
           git config $key 'touch {0}; cat'; git --git-dir=$common config $key 'touch {0}; cat'\n\
         done\n\
         for dir in $common .git; do\n\
           git --git-dir=$dir config commit.gpgSign true; git --git-dir=$dir config include.path $PWD/evil.cfg\n\
           git --git-dir=$dir config core.hooksPath $common/hooks\n\
         done\n\
         mv .git was; git init -q .; git config core.fsmonitor 'touch {0}'; rm -f {0}",
        mark.display(),
        world.repo().path().join(".git").display(),
    );
    let ran = hostile(&world, &plant, &["--sandbox", "off", "--gate", "test -f file"]);
    ran.assert_code(0).assert_stdout_has("reverted changes to git's own files: .git/config");
    ran.assert_stdout_has(".git/hooks/pre-commit");
    let own = world.repo().path().join(".git");
    assert_eq!(std::fs::read_to_string(own.join("config")).unwrap(), config);
    assert_eq!(names(&own.join("hooks")), Vec::<String>::new());
    assert!(!own.join("info/attributes").exists() && !own.join("objects/info/alternates").exists());
    call(&world, &["status", "work"]).assert_stdout_has(".git/objects/info/alternates: changed by the last turn");
    call(&world, &["diff", "work"]).assert_code(0);
    call(&world, &["merge", "work"]).assert_code(0);
    assert!(!mark.exists(), "something planted has run");
    assert_eq!(world.repo().file_at("main", "file"), "work\n");
    assert!(status(&world, "work").to_string().contains("reset HEAD to"), "and its .git is as it was");
}

#[test]
fn one_that_prints_its_environment_and_commits_a_key_tells_nobody_anything() {
    let Some(mut world) = crate::sandboxed() else { return };
    world.set_env("MY_API_TOKEN", "not-for-agents-1");
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let key = format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n-----END PRIVATE KEY-----");
    let leak = format!(
        "env; printf '%b' '{key}' > id; git add -A; git commit -qm one; git rm -q id; git commit -qm two\n\
         printf '%b' '{key}' > again; cat again; echo ok > file",
        key = key.replace('\n', "\\n")
    );
    // What is held back was not judged, so the claim does not count.
    hostile(&world, &leak, &[]).assert_code(3).assert_stdout_has("again (line 1: private-key)");
    let said = transcript(&world);
    assert!(said.contains("WINDLASS_TURN=") && !said.contains("MY_API_TOKEN"), "{said}");
    assert!(said.contains("[redacted:private-key]") && !said.contains(line), "{said}");
    assert_eq!(world.repo().tree_files("windlass/work").iter().filter(|name| *name == "file").count(), 1);
    assert!(!world.repo().git(["log", "-p", "windlass/work"]).contains("PRIVATE KEY"));
}

#[test]
// promise: work-15
fn one_that_changes_remotes_and_pushes_reaches_nothing() {
    let Some(world) = crate::sandboxed() else { return };
    let remote = world.root().join("remote.git");
    let bare = ["init", "--quiet", "--bare", remote.to_str().unwrap()];
    let mut git = world.command("git");
    git.args(bare);
    world.run(git).assert_code(0);
    let mut git = world.command("git");
    git.args(["remote", "add", "origin", remote.to_str().unwrap()]);
    world.run(git).assert_code(0);
    let repo = world.repo().path().display().to_string();
    let before = world.repo().rev("main");
    let push = format!(
        "echo x > file; git add -A; git commit -qm mine\n\
         git push origin HEAD:main; git push --force {0} HEAD:main; git push file://{0} HEAD:x\n\
         git remote set-url origin {repo}; git remote add evil {repo}; git push evil HEAD:main --force\n\
         git push --force {repo} HEAD:main; git -C {repo} update-ref refs/heads/main HEAD; echo x > {repo}/x",
        remote.display()
    );
    hostile(&world, &push, &[]).assert_code(0);
    assert_eq!(world.repo().rev("main"), before);
    let mut refs = world.command("git");
    refs.args(["-C", remote.to_str().unwrap(), "for-each-ref"]);
    assert_eq!(world.run(refs).stdout, "");
    assert!(!world.repo().path().join("x").exists());
    let subjects: Vec<String> = commits(&world, "work").into_iter().map(|one| one.subject).collect();
    assert_eq!(subjects, ["mine"], "its own commit is there all the same");
}

#[test]
fn one_that_kills_its_parents_kills_only_itself() {
    let Some(world) = crate::sandboxed() else { return };
    let output = hostile(&world, "echo x > file; kill -9 1; kill -9 $PPID; kill -9 -1; sleep 1; echo still here", &[]);
    // Whatever it comes to, the loop ends in a way that can be told.
    let status = status(&world, "work");
    assert!(["completed", "errored"].contains(&status["status"].as_str().unwrap()), "{}", output.shown());
    world.wait_no_processes();
}

#[test]
fn one_that_leaves_a_daemon_on_a_port_leaves_none() {
    let Some(world) = crate::sandboxed() else { return };
    let daemon = "setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' >/dev/null 2>&1 &\n\
                  (setsid nohup sleep 600 >/dev/null 2>&1 &)\necho x > file";
    hostile(&world, daemon, &[]).assert_code(0);
    world.wait_no_processes();
}

#[test]
fn one_that_leads_out_by_links_stays_inside() {
    let Some(world) = crate::sandboxed() else { return };
    let out = world.root().join("outside");
    std::fs::create_dir(&out).unwrap();
    let lead =
        format!("ln -s {0} out; echo x > out/file; ln -s {0}/more link; echo y > link; cp -r out copy", out.display());
    hostile(&world, &lead, &["--gate", "test -L out"]);
    assert_eq!(names(&out), Vec::<String>::new());
    assert!(world.repo().tree_files("windlass/work").contains(&"out".to_owned()));
    let status = status(&world, "work");
    let held = format!("out (a link to {}, outside the repository)", out.display());
    assert_eq!(status["status"], "exhausted", "the link leads to nothing on another machine: {status}");
    assert!(status["history"][0]["checkpoint"]["held_back"].as_array().unwrap().contains(&held.into()), "{status}");
}

#[test]
// promise: safety-1
fn one_that_looks_for_windlass_itself_sees_nothing() {
    let Some(world) = crate::sandboxed() else { return };
    let data = world.data_dir().display().to_string();
    std::fs::create_dir_all(world.data_dir().join("worktrees/another")).unwrap();
    std::fs::write(world.data_dir().join("worktrees/another/notes"), "OF-ANOTHER-LOOP\n").unwrap();
    let look = format!(
        "cat {data}/windlass.db {data}/worktrees/another/notes; ls {data}/worktrees; cat {config}\n\
         echo x > {data}/x; rm -rf {data}; for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done",
        config = world.config_file().display()
    );
    world.config("# IN-THE-SETTINGS\n");
    hostile(&world, &look, &[]).assert_code(0);
    let said = transcript(&world);
    assert!(!said.contains("OF-ANOTHER-LOOP") && !said.contains("IN-THE-SETTINGS"), "{said}");
    assert!(!said.contains("--agent-command"), "the engine's process is not to be seen: {said}");
    assert!(world.data_dir().join("windlass.db").exists());
}

#[test]
// promise: safety-8
fn a_closed_network_is_closed_for_agents_and_gates() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo REACHED");
    for (network, reached) in [("allow", true), ("deny", false)] {
        let Some(world) = crate::sandboxed() else { return };
        let gate = format!("! bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
        let gates: &[&str] = if reached { &[] } else { &["--gate", &gate] };
        let more = [&["--network", network], gates].concat();
        hostile(&world, &format!("{connect}; echo x > file"), &more).assert_code(0);
        assert_eq!(transcript(&world).contains("REACHED"), reached, "{network}");
        assert_eq!(status(&world, "work")["sandbox"]["network"], network);
    }
}

#[test]
fn a_reviewer_cannot_change_what_it_judges() {
    let Some(world) = crate::sandboxed() else { return };
    let coder = world
        .script("[[turn]]\nsteps = [{ write = { path = \"coder.txt\", content = \"1\\n\" } }, { say = \"Done.\" }]");
    let block = "```json windlass-review\n{\"verdict\": \"clean\", \"summary\": \"fine\", \"findings\": []}\n```";
    let auditor = world.install_script(
        "auditor",
        &format!(
            "echo by-auditor > coder.txt; echo x > new; git commit -qam x\n\
             for work in '{data}'/worktrees/*; do echo by-auditor > \"$work/coder.txt\" || echo REFUSED; done\n\
             for own in '{data}'/judge/*/review/git; do echo x > \"$own/HEAD\" || echo REFUSED; done\n\
             cat <<'E'\n{block}\nE",
            data = world.data_dir().display()
        ),
    );
    let (coder, auditor) = (coder.command_line(), auditor.to_string_lossy().into_owned());
    let args =
        ["run", "do it", "--name", "work", "--recipe", "audited", "--agent-command", &coder, "--reviewer-command"];
    let limits = ["--max-iterations", "1"];
    call(&world, &[&args[..], &[&auditor], &limits].concat());
    assert_eq!(transcript(&world).matches("REFUSED").count(), 2, "{}", transcript(&world));
    assert_eq!(file_at_branch(&world, "work", "coder.txt"), "1\n");
    assert_eq!(std::fs::read_to_string(workspace(&world).join("coder.txt")).unwrap(), "1\n");
}

#[test]
fn in_place_the_hooks_and_settings_of_the_repository_are_sealed_too() {
    let Some(world) = crate::sandboxed() else { return };
    let config = std::fs::read_to_string(world.repo().path().join(".git/config")).unwrap();
    let plant = "echo x > file; echo evil >> .git/config; echo evil > .git/hooks/post-commit; git commit --allow-empty -qm mine";
    hostile(&world, plant, &["--in-place"]).assert_code(0);
    assert_eq!(std::fs::read_to_string(world.repo().path().join(".git/config")).unwrap(), config);
    assert!(!world.repo().path().join(".git/hooks/post-commit").exists());
    assert_eq!(world.repo().file_at("main", "file"), "x\n");
}

#[test]
fn the_doctor_breaks_out_of_no_level() {
    for (level, network) in [("workspace", "allow"), ("workspace", "deny"), ("read-only", "allow")] {
        let Some(world) = crate::sandboxed() else { return };
        let output = call(&world, &["doctor", &format!("--sandbox={level}"), "--network", network, "--json"]);
        let report = output.assert_code(0).json();
        assert_eq!(report["ok"], true, "{report}");
        assert_eq!(report["sandbox"]["level"], level);
        let attempts = report["attempts"].as_array().unwrap();
        assert!(attempts.len() > 25);
        let writes = attempts.iter().find(|one| one["name"] == "write_workspace").unwrap();
        assert_eq!(writes["allowed"], level == "workspace");
    }
}

/// The way to the program is made in the private temporary directory then, which is no way into the real home.
#[test]
fn the_doctor_is_not_misled_by_a_program_in_a_home_below_the_temporary_directory() {
    let Some(world) = crate::sandboxed() else { return };
    let program = world.home().join("bin/windlass");
    std::fs::create_dir(world.home().join("bin")).unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_windlass"));
    std::fs::hard_link(built, &program).or_else(|_| std::fs::copy(built, &program).map(drop)).unwrap();
    let mut doctor = world.windlass(&program);
    doctor.args(["doctor", "--sandbox", "--json"]);
    let report = world.run(doctor).assert_code(0).json();
    assert_eq!(report["ok"], true, "{report}");
}

/// A machine on which bubblewrap is there and does not work.
fn without_namespaces() -> Option<World> {
    let world = crate::sandboxed()?;
    world.install_script("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1");
    Some(world)
}

#[test]
// promise: safety-2
fn what_was_asked_for_and_cannot_be_had_starts_nothing() {
    let Some(world) = without_namespaces() else { return };
    let output = hostile(&world, "true", &[]);
    output
        .assert_code(2)
        .assert_stderr_has("the sandbox 'workspace' is not available on this machine")
        .assert_stderr_has("hint: ");
    call(&world, &["list", "--json"]).assert_code(0);
    assert_eq!(world.repo().branches(), ["main"]);
    let output = call(&world, &["doctor", "--sandbox"]);
    output.assert_code(2).assert_stderr_has("No permissions to create new namespace");
}

#[test]
// promise: safety-2
fn auto_takes_the_sandbox_there_is_and_goes_on_without_only_if_somebody_agreed() {
    let Some(world) = without_namespaces() else { return };
    let output = hostile(&world, "echo x > file", &["--sandbox", "auto"]);
    output
        .assert_code(2)
        .assert_stderr_has("no sandbox is available on this machine (bubblewrap does not work on this machine");
    assert_eq!(world.repo().branches(), ["main"]);
    let Some(world) = crate::sandboxed() else { return };
    // Whether it works is asked of bubblewrap alone, whatever else is on the PATH.
    world.install_script("true", "exit 1");
    let output = hostile(&world, "echo x > file", &["--sandbox", "auto"]);
    output.assert_code(0).assert_stdout_has("workspace (bubblewrap), network allowed");
    let sandbox = &status(&world, "work")["sandbox"];
    assert_eq!((&sandbox["level"], &sandbox["backend"]), (&"workspace".into(), &"bubblewrap".into()));
}

#[test]
fn a_loop_keeps_its_sandbox_and_does_not_go_on_without() {
    let Some(world) = crate::sandboxed() else { return };
    hostile(&world, "echo x >> file; [ -e there ] || { touch there; exit 1; }", &[]).assert_code(7);
    let bwrap = world.install_script("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1");
    call(&world, &["resume", "work"]).assert_code(2).assert_stderr_has("the loop uses the sandbox 'workspace'");
    std::fs::remove_file(bwrap).unwrap();
    call(&world, &["resume", "work", "--max-iterations", "+1"]).assert_code(0);
    assert_eq!(status(&world, "work")["sandbox"]["level"], "workspace");
}

#[test]
fn nothing_of_a_sandbox_is_left_when_the_loop_has_ended() {
    let Some(world) = crate::sandboxed() else { return };
    hostile(&world, "echo x > file; echo y > /tmp/mine; echo z > $TMPDIR/other", &[]).assert_code(0);
    assert_eq!(names(&world.data_dir().join("tmp")), Vec::<String>::new());
    assert!(!Path::new("/tmp/mine").exists());
    assert_eq!(names(&world.root().join("tmp")), Vec::<String>::new());
}
