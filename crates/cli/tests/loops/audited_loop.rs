//! The audited recipe by the real program: a coder works, an auditor judges, section by section.

use crate::reviewed::*;
use crate::support::*;
use serde_json::json;
use windlass_testkit::{Commit, World};

const BUG: &str = r#"{"verdict": "dirty", "findings": [
    {"file": "coder.txt", "line": 1, "severity": "bug", "description": "one line is not enough"},
    {"file": "coder.txt", "severity": "warning", "description": "no heading"}]}"#;
const MENDED: &str = r#"{"verdict": "clean", "resolved": ["f1"], "section_summary": {"done": ["it"]}}"#;

fn section_commits(world: &World) -> Vec<Commit> {
    let mut commits = commits(world, "work");
    commits.retain(|one| one.trailer("Windlass-Section").is_some());
    commits
}

#[test]
// promise: plan-1
fn two_sections_a_bug_and_the_whole() {
    let world = crate::world();
    plan(&world, 2);
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[BUG, MENDED, CLEAN, CLEAN]));
    let out = audited(&world, &coder, &auditor, &["--plan", "plan.md", "--gate", "true"]);
    out.assert_code(0).assert_stdout_has("completed");
    let status = status(&world, "work");
    assert_eq!(status["status"], "completed");
    assert_eq!(status["verified"], true);
    assert_eq!(status["iterations"], 3);
    let review = &status["review"];
    assert_eq!(review["kind"], "audit");
    assert_eq!((&review["findings_open"], &review["findings_resolved"]), (&json!(1), &json!(1)));
    let sections = review["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 2);
    assert!(sections.iter().all(|section| section["status"] == "done"));
    let sealed = section_commits(&world);
    let subjects: Vec<&str> = sealed.iter().map(|one| one.subject.as_str()).collect();
    assert_eq!(subjects, ["section 1: Part 1", "section 2: Part 2"]);
    let numbers: Vec<&str> = sealed.iter().filter_map(|one| one.trailer("Windlass-Section")).collect();
    assert_eq!(numbers, ["1", "2"]);
    assert_eq!(sections[0]["commit"], sealed[0].id.as_str());
    assert_eq!(status["head_commit"], sealed[1].id.as_str(), "the whole was judged on the last section's commit");
    assert_eq!(status["gates"][0]["commit"], status["head_commit"]);
    let prompts = coder.prompts();
    assert!(prompts[0].contains("Do part 1.") && !prompts[0].contains("Do part 2."), "{}", prompts[0]);
    assert!(prompts[1].contains("one line is not enough") && prompts[1].contains("no heading"), "{}", prompts[1]);
    assert!(prompts[2].contains("Do part 2.") && !prompts[2].contains("one line is not enough"), "{}", prompts[2]);
    let asked = auditor.prompts();
    assert_eq!(asked.len(), 4);
    assert!(asked[0].contains("+1") && asked[2].contains("+3"), "the diff is told: {}", asked[2]);
    assert!(!asked[2].contains("+1\n"), "only what is new in the section: {}", asked[2]);
    assert!(asked[3].contains("+1\n+2\n+3"), "of the whole, all of it: {}", asked[3]);
    assert_eq!(world.repo().status(), "");
    world.wait_no_processes();
}

#[test]
// promise: findings-1
fn findings_are_told_with_their_fields() {
    let world = crate::world();
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[BUG, MENDED]));
    audited(&world, &coder, &auditor, &[]).assert_code(0);
    let open = call(&world, &["findings", "work", "--json"]).assert_code(0).json();
    assert_eq!(open.as_array().unwrap().len(), 1, "{open}");
    assert_eq!(open[0]["severity"], "warning");
    let all = call(&world, &["findings", "work", "--all", "--json"]).assert_code(0).json();
    let bug = &all[0];
    assert_eq!(bug["id"], "f1");
    assert_eq!((&bug["file"], &bug["line"]), (&json!("coder.txt"), &json!(1)));
    assert_eq!(bug["description"], "one line is not enough");
    assert_eq!(bug["status"]["type"], "resolved", "{bug}");
    let out = call(&world, &["findings", "work"]);
    out.assert_code(0).assert_stdout_has("no heading");
    assert!(!out.stdout.contains("one line"), "{}", out.stdout);
    call(&world, &["findings", "work", "--all"]).assert_stdout_has("one line is not enough").assert_stdout_has("f1");
}

#[test]
// promise: plan-2
fn a_plan_of_forty_sections_is_worked_to_its_end() {
    let world = crate::world();
    plan(&world, 40);
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[CLEAN]));
    audited(&world, &coder, &auditor, &["--plan", "plan.md", "--max-iterations", "50"]).assert_code(0);
    let sealed = section_commits(&world);
    let numbers: Vec<String> =
        sealed.iter().filter_map(|one| one.trailer("Windlass-Section").map(str::to_owned)).collect();
    let all: Vec<String> = (1..=40).map(|n: u32| n.to_string()).collect();
    assert_eq!(numbers, all, "in order, each once");
    assert_eq!(status(&world, "work")["iterations"], 40);
    let longest = coder.prompts().iter().map(String::len).max().unwrap();
    assert!(longest < 12_000, "the prompt does not grow with the sections: {longest}");
}

#[test]
// promise: plan-2
fn markers_in_code_are_no_sections() {
    let world = crate::world();
    let text = "Explain markers.\n\n<!-- windlass-section -->\n## Real\nWrite this:\n\n```md\n\
                <!-- windlass-section -->\n## Not real\n```\n\n    <!-- windlass-section -->\n\n\
                <!-- windlass-section -->\n## Second\nMore.\n";
    world.repo().write("plan.md", text).commit("The plan");
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[CLEAN]));
    audited(&world, &coder, &auditor, &["--plan", "plan.md"]).assert_code(0);
    let status = status(&world, "work");
    let titles: Vec<&str> =
        status["review"]["sections"].as_array().unwrap().iter().filter_map(|one| one["title"].as_str()).collect();
    assert_eq!(titles, ["Real", "Second"]);
    assert!(coder.prompts()[0].contains("## Not real"), "it is part of the first");
}

#[test]
// promise: review-3
fn auditor_that_is_never_understood_pauses_the_loop_and_a_resumption_asks_again() {
    for (answer, sections) in [("Looks good to me!", 2), ("```windlass-review\\n{not json", 2), ("", 1)] {
        let world = crate::world();
        plan(&world, sections);
        let coder = world.script(WORKS);
        let never = format!("[[turn]]\nsteps = [{{ say = \"{answer}\" }}]\n");
        let auditor = world.script(&format!("{never}{never}{}", audits(&[CLEAN])));
        audited(&world, &coder, &auditor, &["--plan", "plan.md"]).assert_code(6);
        let paused = status(&world, "work");
        assert_eq!(paused["status"], "paused");
        assert_eq!((&paused["pause"]["type"], &paused["pause"]["role"]), (&json!("reviewer"), &json!("auditor")));
        assert_eq!(auditor.turns().len(), 2, "asked again");
        assert!(auditor.prompts()[1].contains("Your last answer was invalid"), "{}", auditor.prompts()[1]);
        assert_eq!(of_type(&feed(&world, "work"), "answer_unreadable").len(), 2);
        call(&world, &["resume", "work"]).assert_code(0);
        assert_eq!(starts(&coder)[0], (1, 1));
        assert_eq!(status(&world, "work")["iterations"], sections, "the same iteration is judged again");
    }
}

#[test]
// promise: review-2
fn an_untouched_tree_is_not_approved() {
    let world = crate::world();
    let coder = world.script("[[turn]]\nsteps = [{ say = \"There is nothing to do.\" }]");
    let auditor = world.script(&audits(&[CLEAN]));
    audited(&world, &coder, &auditor, &["--max-iterations", "2"]).assert_code(3);
    assert_eq!(auditor.turns().len(), 0, "nobody is asked");
    assert_eq!(status(&world, "work")["stop_reason"]["type"], "max_iterations");
    assert!(coder.prompts()[1].contains("nothing to review"), "{}", coder.prompts()[1]);
    let feed = feed(&world, "work");
    assert_eq!(of_type(&feed, "review_skipped")[0]["because"]["type"], "nothing_changed");
}

#[test]
// promise: review-1
fn what_an_auditor_changes_is_undone_and_reported() {
    let world = crate::world();
    world.repo().write("kept.txt", "as it was\n").commit("A file");
    let coder = world.script(WORKS);
    let auditor = world.script(&format!(
        "[[turn]]\nsteps = [\
            {{ write = {{ path = \"coder.txt\", content = \"mine\\n\" }} }},\
            {{ write = {{ path = \"new/by-auditor.txt\", content = \"x\\n\" }} }},\
            {{ delete = \"kept.txt\" }},\
            {{ git_commit = \"The auditor's own work\" }},\
            {{ write = {{ path = \"uncommitted.txt\", content = \"x\\n\" }} }},\
            {{ say = '''{}''' }}]\n",
        block(CLEAN)
    ));
    let out = audited(&world, &coder, &auditor, &[]);
    out.assert_code(0).assert_stdout_has("reverted changes of a read-only role").assert_stdout_has("coder.txt");
    let mut files = world.repo().tree_files("windlass/work");
    files.retain(|file| file != "README.md");
    assert_eq!(files, ["coder.txt", "kept.txt"]);
    assert_eq!(file_at_branch(&world, "work", "coder.txt"), "1\n");
    assert!(commits(&world, "work").iter().all(|one| one.subject != "The auditor's own work"));
    let feed = feed(&world, "work");
    let ended = of_type(&feed, "turn_ended");
    let put_back: Vec<&str> = ended
        .iter()
        .filter(|item| item["turn"]["role"] == "auditor")
        .flat_map(|item| item["report"]["put_back"].as_array().unwrap())
        .filter_map(|file| file["path"].as_str())
        .collect();
    for file in ["coder.txt", "kept.txt", "new/by-auditor.txt", "uncommitted.txt"] {
        assert!(put_back.contains(&file), "{file} is not told: {put_back:?}");
    }
    let worktree = world.repo().at(status(&world, "work")["worktree"].as_str().unwrap().as_ref());
    assert_eq!(worktree.status(), "");
}

#[test]
// promise: review-2
fn a_gate_that_fails_is_mended_before_anybody_audits() {
    let world = crate::world();
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[CLEAN]));
    audited(&world, &coder, &auditor, &["--gate", "test $(wc -l < coder.txt) -ge 3", "--no-baseline"]).assert_code(0);
    assert_eq!(status(&world, "work")["iterations"], 3);
    assert_eq!(auditor.turns().len(), 1);
}

#[test]
// promise: plan-6
fn the_post_action_runs_once_after_the_last_audit() {
    let world = crate::world();
    plan(&world, 2);
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[CLEAN]));
    let more = ["--plan", "plan.md", "--post-action", "write the release notes", "--gate", "true"];
    audited(&world, &coder, &auditor, &more).assert_code(0);
    let roles: Vec<String> = coder.turns().iter().filter_map(|turn| turn.id()).map(|id| id.role).collect();
    assert_eq!(roles, ["coder", "coder", "finisher"]);
    assert!(coder.prompts()[2].contains("write the release notes"));
    let status = status(&world, "work");
    assert_eq!(status["review"]["completion_summary"], "Done.\n", "word for word");
    assert_eq!(status["iterations"], 2);
    assert_eq!(file_at_branch(&world, "work", "finisher.txt"), "2\n");
    assert_eq!(status["gates"][0]["commit"], status["head_commit"], "what it left is judged too");
}

#[test]
// promise: plan-7
fn a_post_action_that_breaks_a_gate_is_taken_back() {
    let world = crate::world();
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[CLEAN]));
    let gate = "test ! -e finisher.txt";
    let ran = audited(&world, &coder, &auditor, &["--post-action", "tidy up", "--gate", gate]);
    // What it said is not what was done.
    ran.assert_code(0).assert_stdout_has("reverted  the post-action, because gates failed: test ! -e finisher.txt");
    let status = status(&world, "work");
    assert_eq!((&status["status"], &status["verified"]), (&json!("completed"), &json!(true)));
    assert!(!world.repo().tree_files("windlass/work").contains(&"finisher.txt".to_owned()));
    assert_eq!(status["head_commit"], world.repo().rev("windlass/work"));
    let feed = feed(&world, "work");
    let saved = of_type(&feed, "post_action_undone")[0]["saved"].as_str().unwrap().to_owned();
    assert!(world.repo().tree_files(&saved).contains(&"finisher.txt".to_owned()), "it stays reachable at {saved}");
}

#[test]
// promise: plan-4
fn plan_first_has_the_agent_write_the_plan() {
    let world = crate::world();
    let steps = "{ append = { path = \"{{role}}.txt\", content = \"{{iteration}}\\n\" } }";
    let plan = "<!-- windlass-plan:start -->\n# Do it\n<!-- windlass-section -->\n## Alpha\nA.\n\
                <!-- windlass-section -->\n## Beta\nB.\n<!-- windlass-plan:end -->";
    let coder = world.script(&format!("[[turn]]\nsteps = [{steps}, {{ say = '''{plan}''' }}]\n{WORKS}"));
    let auditor = world.script(&audits(&[CLEAN]));
    audited(&world, &coder, &auditor, &["--plan-first", "--sandbox", "off"]).assert_code(0);
    let subjects: Vec<String> = section_commits(&world).into_iter().map(|one| one.subject).collect();
    assert_eq!(subjects, ["section 1: Alpha", "section 2: Beta"]);
    assert!(!world.repo().tree_files("windlass/work").contains(&"planner.txt".to_owned()), "a planner only reads");
    assert!(coder.prompts()[0].contains("do the work"));
}

#[test]
// promise: review-8
fn a_person_has_the_last_word_by_command() {
    let world = crate::world();
    let coder = world.script(WORKS);
    let auditor = world.script(&audits(&[CLEAN]));
    audited(&world, &coder, &auditor, &["--human-review"]).assert_code(6).assert_stdout_has("approve");
    assert_eq!(status(&world, "work")["status"], "awaiting_review");
    call(&world, &["resume", "work"]).assert_code(2).assert_stderr_has("approve");
    call(&world, &["stop", "work"]).assert_code(0);
    call(&world, &["resume", "work"]).assert_code(6).assert_stdout_has("approve");
    assert_eq!(coder.turns().len(), 1, "a loop that was stopped while it asked asks again, and works at nothing");
    call(&world, &["reject", "work", "--reason", "the empty case is missing"]).assert_code(6);
    assert!(coder.prompts()[1].contains("the empty case is missing"));
    call(&world, &["approve", "work"]).assert_code(0);
    let done = status(&world, "work");
    assert_eq!((&done["status"], &done["verified"]), (&json!("completed"), &json!(true)));
    assert_eq!(coder.turns().len(), 2);
    assert_eq!(world.repo().git(["rev-parse", "main"]), world.repo().head(), "approving does not merge");
    call(&world, &["approve", "work"]).assert_code(2);
}

#[test]
// promise: review-1, usage-1
fn coder_and_auditor_are_two_agents_with_usage_by_role() {
    let world = crate::world();
    let usage = |model: &str, cost: &str| {
        format!(
            "{{ event = {{ type = \"usage\", model = \"{model}\", input_tokens = 10, output_tokens = 5, cost_usd = {cost} }} }}"
        )
    };
    let coder = world.script(&format!(
        "[[turn]]\nsteps = [{{ append = {{ path = \"a\", content = \"1\\n\" }} }}, {}, {{ event = {{ type = \"text\", text = \"done\" }} }}]",
        usage("big", "0.5")
    ));
    let answer = |json: &str| format!("{{ event = {{ type = \"text\", text = '''{}''' }} }}", block(json));
    let auditor = world.script(&format!(
        "[[turn]]\nsteps = [{0}, {1}]\n[[turn]]\nsteps = [{0}, {2}]",
        usage("small", "0.25"),
        answer(r#"{"verdict": "dirty", "findings": [{"file": "a", "severity": "bug", "description": "no"}]}"#),
        answer(r#"{"verdict": "clean", "resolved": ["f1"]}"#)
    ));
    let words = |agent: &windlass_testkit::ScriptedAgent| {
        let words: Vec<String> = agent.command_line().split(' ').map(|word| format!("{word:?}")).collect();
        words.join(", ")
    };
    world.config(&format!(
        "[agents.worker]\ncommand = [{}]\noutput = \"jsonl\"\n[agents.judge]\ncommand = [{}]\noutput = \"jsonl\"\n",
        words(&coder),
        words(&auditor)
    ));
    let args = ["run", "g", "--name", "work", "--recipe", "audited", "--agent", "worker", "--reviewer", "judge"];
    call(&world, &args).assert_code(0);
    let status = status(&world, "work");
    assert_eq!((&status["agent"], &status["review"]["reviewer"]), (&json!("worker"), &json!("judge")));
    let by_role = status["usage"]["by_role"].as_array().unwrap();
    let of = |role: &str| by_role.iter().find(|one| one["role"] == role).unwrap_or_else(|| panic!("{status}"));
    assert_eq!((&of("coder")["cost_usd"], &of("auditor")["cost_usd"]), (&json!(1.0), &json!(0.5)));
    assert_eq!(status["usage"]["cost_usd"], 1.5);
    assert_eq!((coder.turns().len(), auditor.turns().len()), (2, 2));
}

#[test]
fn an_auditor_that_fails_is_tried_again_after_a_wait_that_a_stop_ends() {
    let world = crate::world();
    let coder = world.script(WORKS);
    let auditor = world.script(&format!("[[turn]]\nsteps = [{{ exit = 3 }}]\n{}", audits(&[CLEAN])));
    let mut running = world.start(audited_command(&world, &coder, &auditor, &[]));
    running.wait_line(windlass_testkit::Stream::Stdout, "waiting until");
    call(&world, &["stop", "work"]).assert_code(0);
    running.wait().assert_code(4);
    call(&world, &["resume", "work"]).assert_code(0);
    assert_eq!(status(&world, "work")["iterations"], 1, "the coder's work is judged, not done again");
    assert_eq!(coder.turns().len(), 1);
}

/// An auditor that says clean after two tool calls, of which so many fail.
fn auditor_whose_calls_fail(world: &World, failing: usize) -> windlass_testkit::ScriptedAgent {
    let call = |index: usize| {
        let output = if index < failing { "bwrap: No permissions to create a new namespace" } else { "fine" };
        format!(
            "{{ event = {{ type = \"tool_use\", id = \"t{index}\", name = \"shell\", input = \"cat coder.txt\" }} }}, \
             {{ event = {{ type = \"tool_result\", id = \"t{index}\", output = \"{output}\", is_error = {} }} }}",
            index < failing
        )
    };
    let clean = format!("{{ event = {{ type = \"text\", text = '''{}''' }} }}", block(CLEAN));
    world.script(&format!("[[turn]]\nsteps = [{}, {}, {clean}]", call(0), call(1)))
}

#[test]
// promise: review-5
fn clean_of_an_auditor_whose_every_command_failed_does_not_count() {
    for failing in [2, 1] {
        let world = World::new();
        let coder = world.script(WORKS);
        let auditor = auditor_whose_calls_fail(&world, failing);
        let words: Vec<String> = auditor.command_line().split(' ').map(|word| format!("{word:?}")).collect();
        world.config(&format!("[agents.judge]\ncommand = [{}]\noutput = \"jsonl\"\n", words.join(", ")));
        let work = coder.command_line();
        let args = ["run", "g", "--name", "work", "--recipe", "audited", "--agent-command", &work];
        let mut running = world.start(windlass(&world, &[&args[..], &["--reviewer", "judge"]].concat()));
        if failing == 1 {
            running.wait().assert_code(0);
            continue;
        }
        running.wait_line(
            windlass_testkit::Stream::Stdout,
            "the auditor approved the work without reading it: all of its 2 tool calls failed",
        );
        call(&world, &["stop", "work"]).assert_code(0);
        running.wait().assert_code(4);
    }
}

/// What an agent left beside its commits could make a reviewer agree to work that nobody else will see.
#[test]
// promise: review-9
fn reviewer_reads_the_recorded_commit_with_what_the_set_up_made_and_nothing_of_the_workspace() {
    let world = crate::world();
    world.repo().write(".gitignore", "deps/\n*.log\n").commit("Ignore");
    let coder = world.script(
        r#"
        [[turn]]
        steps = [
            { run = "echo 1 > coder.txt; echo hidden > left.log; echo evil > deps/lib; echo '*.tmp' >> .gitignore; echo x > a.tmp" },
            { say = "Done." },
        ]
        [[turn]]
        steps = [{ run = "echo 2 > coder.txt" }, { say = "Done." }]
        "#,
    );
    // Its own files are writable, and gone in the next round; the directory is the same.
    let look = "{ pwd; cat coder.txt deps/lib; ls; git status --porcelain; git log -1 --format=%s; } > \"$LOOK.$ROUND\" 2>&1; \
                echo x > deps/lib; echo x > scratch.log; mkdir -p target && echo built > target/out";
    let look = world.install_script("look", look);
    let scripts = world.root().join("scripts");
    let turn = |round: u32, verdict: &str| {
        let command = format!("LOOK='{}/seen' ROUND={round} '{}'", scripts.display(), look.display());
        format!("[[turn]]\nsteps = [{{ run = {command:?} }}, {{ say = '''{}''' }}]\n", block(verdict))
    };
    let bug =
        r#"{"verdict": "dirty", "findings": [{"severity": "bug", "file": "coder.txt", "description": "it is 1"}]}"#;
    let auditor = world.script(&(turn(1, bug) + &turn(2, MENDED)));
    let setup = "mkdir -p deps; echo good > deps/lib";
    audited(&world, &coder, &auditor, &["--setup", setup, "--gate", "true"]).assert_code(0);
    let seen = |round: u32| std::fs::read_to_string(scripts.join(format!("seen.{round}"))).unwrap();
    let (first, second) = (seen(1), seen(2));
    let (place, rest) = first.split_once('\n').unwrap();
    assert!(rest.starts_with("1\ngood\nREADME.md\ncoder.txt\ndeps\n"), "{first}");
    for left in ["left.log", "a.tmp", "evil"] {
        assert!(!first.contains(left), "{first}");
    }
    let (again, rest) = second.split_once('\n').unwrap();
    assert_eq!(place, again, "agents know their sessions by the directory");
    assert!(rest.starts_with("2\ngood\nREADME.md\ncoder.txt\ndeps\n"), "{second}");
    let id = status(&world, "work")["id"].as_str().unwrap().to_owned();
    assert!(std::path::Path::new(place).starts_with(world.data_dir().join("judge").join(id)), "{place}");
    assert!(!std::path::Path::new(place).exists(), "it goes with the loop");
}
