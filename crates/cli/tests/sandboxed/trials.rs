//! Two long trials in the sandbox, in a home with a space in its path: goals with dependencies over two projects and three
//! accounts, and twelve finished loops through the merge queue. Both are killed again and again.

use std::path::{Path, PathBuf};

use crate::support::*;
use serde_json::Value;
use windlass_testkit::{Repo, Stream, World};

/// A world whose home and data have a space in their paths, and a directory that agents may write.
fn world(settings: impl Fn(&World, &Path) -> String) -> (World, PathBuf) {
    let mut world = World::sandboxed();
    let home = world.new_dir("ho me");
    std::fs::copy(world.home().join(".gitconfig"), home.join(".gitconfig")).unwrap();
    world.set_env("HOME", &home);
    world.set_env("WINDLASS_HOME", home.join("da ta"));
    // Below what this world lets them write.
    let shared = world.root().join("scripts/shared with all");
    std::fs::create_dir(&shared).unwrap();
    world.config(&settings(&world, &shared));
    (world, shared)
}

/// The target of a repository, which only ever moves forward.
struct Target {
    repo: Repo,
    heads: Vec<String>,
}

impl Target {
    fn of(repo: Repo) -> Self {
        let heads = vec![repo.rev("main")];
        Self { repo, heads }
    }

    #[track_caller]
    fn look(&mut self) {
        let (last, now) = (self.heads[self.heads.len() - 1].clone(), self.repo.rev("main"));
        let base = self.repo.git(["merge-base", &last, &now]);
        assert_eq!(base.trim(), last, "the target only moves forward");
        self.heads.push(now);
    }

    /// What the target has got: each a merge with its trailers.
    fn merges(&self) -> Vec<String> {
        let range = format!("{}..main", self.heads[0]);
        let format = "--format=%(trailers:key=Windlass-Loop,valueonly,separator=)|%(trailers:key=Windlass-Gates,valueonly,separator=)|%P";
        let log = self.repo.git(["log", "--first-parent", "--reverse", format, &range]);
        let merge = |line: &str| {
            let [name, gates, parents] = line.split('|').collect::<Vec<_>>()[..] else { panic!("{line}") };
            assert_eq!((gates, parents.split(' ').count()), ("passed", 2), "{line}");
            name.to_owned()
        };
        log.lines().map(merge).collect()
    }
}

/// An account with two slots, which are locks that the kernel frees. Its agent complains if none is free, and reaches a limit
/// of its provider now and then.
fn account(shared: &Path, name: &str) -> String {
    let at = |file: &str| shared.join(file).display().to_string();
    format!(
        "#!/bin/bash\ngoal=$(grep -o 'goal-[0-9]*' | head -1)\n\
         for slot in 1 2; do exec 9> \"{slot}.$slot\"; if flock -n 9; then got=1; break; fi; done\n\
         [ -n \"$got\" ] || echo \"$goal\" >> \"{over}\"\n\
         echo x >> \"{count}\"\n\
         if [ $(($(wc -l < \"{count}\") % 6)) = 3 ]; then\n\
         echo '{{\"type\":\"error\",\"kind\":\"rate_limit\",\"message\":\"limit\",\"retry_after_ms\":200}}'; exit 1\nfi\n\
         echo fixed > \"$goal\"\necho '{{\"type\":\"text\",\"text\":\"<promise>COMPLETE</promise>\"}}'\n",
        slot = at(name),
        over = at("over"),
        count = at(&format!("{name}.count")),
    )
}

#[test]
// promise: queue-9, queue-11, merges-6
fn thirty_goals_are_worked_off_and_merged_over_twenty_kills() {
    const KILLS: u32 = 20;
    let (world, shared) = world(|world, shared| {
        let profile = |name: &str| {
            let program = world.install_script(name, &account(shared, name));
            format!("[agents.{name}]\ncommand = [{program:?}]\noutput = \"jsonl\"\n")
        };
        let profiles: String = ["a1", "a2", "a3"].into_iter().map(profile).collect();
        format!("queue_per_project = 3\nqueue_per_account = 2\nmax_running = 5\nmerge = \"queue\"\n{profiles}")
    });
    let mut targets = ["pro one", "pro two"].map(|name| Target::of(world.new_repo(name)));
    for number in 1..=30_u32 {
        let account = ["a1", "a2", "a3"][number as usize % 3];
        let project = targets[number as usize % 2].repo.path().to_str().unwrap().to_owned();
        let (goal, gate) = (format!("do goal-{number}"), format!("test -f goal-{number}"));
        let after: Vec<String> = match number {
            number if number > 5 && number % 5 == 0 => vec![(number - 5).to_string(), (number - 1).to_string()],
            number if number > 3 && number % 3 == 0 => vec![(number - 3).to_string()],
            _ => Vec::new(),
        };
        let mut args = vec!["-C", &project, "queue", "add", &goal, "--agent", account, "--gate", &gate];
        after.iter().for_each(|number| args.extend(["--after", number]));
        call(&world, &args).assert_code(0);
    }
    for kill in 0..KILLS {
        let mut running = world.start(windlass(&world, &["queue", "start", "--json"]));
        for _ in 0..=(kill * 7 % 4) {
            running.wait_line(Stream::Stdout, "\"type\"");
        }
        running.kill();
        running.wait_ended();
        targets.iter_mut().for_each(Target::look);
    }
    world.wait_no_processes();
    call(&world, &["queue", "start"]).assert_code(0).assert_stdout_has("30 of 30 goals verified");
    let loops = call(&world, &["list", "--all", "--json"]).assert_code(0).json();
    let loops = loops.as_array().unwrap();
    assert_eq!((loops.len(), loops.iter().filter(|each| each["verified"] == true).count()), (30, 30));
    let queue = call(&world, &["queue", "list", "--json"]).json();
    assert!(queue["goals"].as_array().unwrap().iter().all(|goal| goal["merged"] == true), "{queue}");
    assert!(shared.join("a1.count").exists() && !shared.join("over").exists(), "no account is over its limit");
    for target in &mut targets {
        target.look();
        let mut merged = target.merges();
        merged.sort();
        merged.dedup();
        assert_eq!((merged.len(), target.repo.status().as_str()), (15, ""), "every goal is merged once: {merged:?}");
    }
    world.wait_no_processes();
}

/// A verified loop that writes these files. In a later stretch it makes `a` what all can agree on.
fn finished(world: &World, repo: &Repo, name: &str, files: &[(&str, &str)], gate: &str, more: &[&str]) {
    let write =
        |path: &str, content: &str| format!("{{ write = {{ path = \"{path}\", content = \"{content}\\n\" }} }}");
    let first: Vec<String> = files.iter().map(|(path, content)| write(path, content)).collect();
    let script = format!(
        "select = \"iteration\"\n[[turn]]\nsteps = [{}, {{ say = \"{PROMISE}\" }}]\n{}",
        first.join(", "),
        format!("[[turn]]\nsteps = [{}, {{ say = \"{PROMISE}\" }}]\n", write("a", "all")).repeat(3),
    );
    let command = world.script(&script).command_line();
    let project = repo.path().to_str().unwrap();
    let args = ["-C", project, "run", "do it", "--name", name, "--agent-command", &command, "--gate", gate];
    call(world, &[&args[..], more].concat()).assert_code(0);
}

#[test]
// promise: merges-1, merges-2, merges-4, merges-6
fn twelve_loops_go_through_a_merge_queue_that_is_killed_at_every_step() {
    let (mut world, _) = world(|_, _| String::new());
    let repo = world.new_repo("pro ject");
    repo.write("a", "base\n").commit("base");
    // Fails the first and the fourth time: in the baseline, and when the queue judges it first.
    let flaky = DecidedGate::new(&mut world, |run| !matches!(run, 1 | 4));
    let never_both = "! { test -f f5 && test -f f9; }";
    let names: Vec<String> = (1..=12).map(|number| format!("l{number}")).collect();
    for (number, name) in (1..).zip(&names) {
        let (file, content) = (format!("f{number}"), number.to_string());
        let mut files = vec![(file.as_str(), content.as_str())];
        if (2..=4).contains(&number) {
            files.push(("a", content.as_str()));
        }
        let own = format!("test -f {file}");
        match number {
            5 | 9 => finished(&world, &repo, name, &files, never_both, &["--no-baseline"]),
            7 => finished(&world, &repo, name, &files, &flaky.command, &[]),
            _ => finished(&world, &repo, name, &files, &own, &["--no-baseline"]),
        }
    }
    let project = repo.path().to_str().unwrap().to_owned();
    let mut target = Target::of(repo);
    let merge = |more: &[&str]| windlass(&world, &[&["-C", &project, "merge", "--queue"], more].concat());
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    world.run(merge(&all)).assert_code(0);
    let points = [
        "merge_queue.built:1",
        "merge_queue.judge:1",
        "merge_queue.judge:2",
        "merge_queue.advance:1",
        "merge_queue.checkout_moved:1",
        "merge_queue.target_moved:1",
        "merge_queue.returned:1",
        "merge_queue.note:2",
        "group.append.before:3",
        "group.append.after:4",
    ];
    let mut kills = 0;
    for point in points {
        let mut command = merge(&[]);
        command.env("WINDLASS_TEST_FAULT", point);
        let out = world.run(command);
        kills += u32::from(out.signal == Some(9));
        assert!(out.signal == Some(9) || out.code == Some(1), "{point}: {}", out.shown());
        world.wait_no_processes();
        target.look();
    }
    assert!(kills >= 7, "{kills}");
    let queue = world.run(merge(&["--json"])).json()["queue"].clone();
    target.look();
    let entry = |name: &str| -> &Value {
        queue["entries"].as_array().unwrap().iter().find(|entry| entry["name"] == name).unwrap()
    };
    for name in &names {
        let wanted = if name == "l9" { "refused" } else { "merged" };
        assert_eq!(entry(name)["status"], wanted, "{name}: {queue}");
    }
    assert_eq!(entry("l9")["refused"]["gate"], never_both);
    let mut merged = target.merges();
    merged.sort();
    let mut wanted: Vec<String> = names.iter().filter(|name| *name != "l9").cloned().collect();
    wanted.sort();
    assert_eq!(merged, wanted, "each is merged once");
    let judged = flaky.runs();
    assert!(judged >= 5, "the flaky gate ran {judged} times");
    assert_eq!((target.repo.read("a").as_str(), target.repo.status().as_str()), ("all\n", ""));
    assert!(!target.repo.path().join("f9").exists());
}
