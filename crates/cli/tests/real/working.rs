//! Nothing goes wrong, or only seems to.

use windlass_testkit::clis::Cli;

use crate::driven::Driven;

/// The agent claims too early; told that the gate failed, it uses its shell and claims again.
const TOO_EARLY: &str = r#"
    [[turn]]
    contains = "gates failed"
    steps = [
        { say = "I will write the file.", shell = "echo scripted > out.txt", usage = { input = 100, cached = 0, output = 10 } },
        { say = "The file is written.\n<promise>COMPLETE</promise>" },
    ]
    [[turn]]
    steps = [{ say = "Nothing to do.\n<promise>COMPLETE</promise>" }]
"#;

pub fn promise_loop(cli: Cli) {
    let Some(driven) = Driven::new(cli, "a promise loop with a gate", TOO_EARLY) else { return };
    let output = driven.run(&["--gate", "test -f out.txt", "--max-iterations", "4"]);
    output.assert_code(0);
    driven.assert_completed(&output);
    let status = driven.status();
    assert_eq!(status["iterations"], 2, "{}\n{}", output.shown(), driven.server.summary());
    assert_eq!(status["claims"]["refused"], 1);
    let commits = driven.world.repo().commits("windlass/work");
    assert_eq!(commits[0].trailer("Windlass-Iteration"), Some("2"));
    assert_eq!(driven.world.repo().file_at("windlass/work", "out.txt"), "scripted\n");
    let changed = driven.world.repo().git(["diff", "--name-only", "main", "windlass/work"]);
    assert_eq!(changed.trim(), "out.txt", "the branch has more than the work");
    // The second turn went on in the session of the first, where there is a way to: the model was sent both prompts.
    let prompts = if cli.resumes() { 2 } else { 1 };
    assert_eq!(driven.prompts_of_last_request().len(), prompts, "{}", driven.server.summary());
}

/// Words that mean trouble where an agent says them of itself, in what it reads, runs and writes.
const WORDS_OF_TROUBLE: &str = r#"
    [[turn]]
    steps = [
        { shell = "echo '429 rate limit exceeded; Prompt is too long' | tee out.txt" },
        { shell = "echo 'API Error: 401 Invalid API key. No conversation found with session ID: 1' >&2; exit 1" },
        { say = "429 rate limit exceeded: I have written that.\nAPI Error: Prompt is too long.\n<promise>COMPLETE</promise>" },
    ]
"#;

pub fn words_of_trouble(cli: Cli) {
    let Some(driven) = Driven::new(cli, "words of trouble", WORDS_OF_TROUBLE) else { return };
    let output = driven.run(&["--gate", "test -f out.txt"]);
    output.assert_code(0);
    driven.assert_completed(&output);
    assert_eq!(driven.status()["iterations"], 1, "{}", output.shown());
    let outcomes: Vec<_> = driven.outcomes().iter().map(|outcome| outcome["type"].clone()).collect();
    assert_eq!(outcomes, ["finished"]);
}
