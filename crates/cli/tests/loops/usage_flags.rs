//! Command lines: what is taken, what is refused, and in which words.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use windlass::args::{Cli, Command, GoalSource, Refusal, RunArgs, definition, parse};
use windlass_core::machine::Raise;
use windlass_core::sandbox::NetworkAccess;
use windlass_core::spec::{CommitPolicy, SessionPolicy};
use windlass_engine::config::{Gates, KEYS, Options, Sandbox, Value};

fn run(args: &[&str]) -> Result<RunArgs, Refusal> {
    let words = ["windlass", "run"].iter().chain(args);
    let Command::Run(args) = parse(words)?.command else { panic!("not run") };
    Ok(*args)
}

fn refused(words: &[&str]) -> (String, Vec<String>) {
    match parse(["windlass"].iter().chain(words)) {
        Err(refusal @ Refusal::Wrong { .. }) => {
            assert_eq!(refusal.exit_code(), 2);
            let text = refusal.text();
            assert!(text.starts_with("error: ") && text.ends_with('\n'), "{text}");
            assert!(text.lines().skip(1).all(|line| line.starts_with("hint: ")), "{text}");
            let Refusal::Wrong { error, hints } = refusal else { unreachable!() };
            (error, hints)
        }
        other => panic!("{words:?} is not refused: {other:?}"),
    }
}

#[test]
fn the_definition_is_consistent() {
    definition().debug_assert();
}

#[test]
// promise: cli-1
fn both_spellings_of_a_flags_value_mean_the_same() {
    let spaced = run(&["x", "--max-iterations", "3", "--gate", "cargo test"]).unwrap().options();
    let joined = run(&["x", "--max-iterations=3", "--gate=cargo test"]).unwrap().options();
    assert_eq!(spaced, joined);
    assert_eq!(spaced.max_iterations.unwrap().get(), Some(3));
}

#[test]
fn every_flag_reaches_the_settings() {
    let args = run(&[
        "goal",
        "--agent",
        "demo",
        "--recipe",
        "promise",
        "--model",
        "m",
        "--max-iterations",
        "7",
        "--duration",
        "90m",
        "--budget-usd",
        "2.5",
        "--max-tokens",
        "1000",
        "--completion-promise",
        "DONE",
        "--gate",
        "a",
        "--gate",
        "b c",
        "--gate-timeout",
        "1m",
        "--turn-timeout",
        "2m",
        "--stall-timeout",
        "3m",
        "--session",
        "fresh",
        "--commit",
        "agent",
        "--branch",
        "x/{name}",
        "--sandbox",
        "read-only",
        "--docker-image",
        "debian:12",
        "--network",
        "deny",
        "--network-host",
        "@models",
        "--network-host",
        "*.example.org:8443",
        "--memory-limit",
        "2GiB",
        "--process-limit",
        "64",
        "--cpu-weight",
        "10",
        "--disk-limit",
        "5MiB",
    ])
    .unwrap();
    let options = args.options();
    assert_eq!(options.gates, Some(Gates::new(vec!["a".into(), "b c".into()]).unwrap()));
    assert_eq!(options.session, Some(SessionPolicy::Fresh));
    assert_eq!(options.commit, Some(CommitPolicy::Agent));
    assert_eq!((options.sandbox, options.network), (Some(Sandbox::ReadOnly), Some(NetworkAccess::Deny)));
    assert_eq!(options.docker_image.as_deref(), Some("debian:12"));
    assert_eq!(options.network_hosts.as_ref().unwrap().get(), ["@models", "*.example.org:8443"]);
    assert_eq!(options.branch.as_ref().unwrap().fill("n"), "x/n");
    assert_eq!(options.duration.unwrap().get(), 5_400_000);
    assert_eq!((options.gate_timeout.unwrap().get(), options.turn_timeout.unwrap().get()), (60_000, 120_000));
    assert_eq!(options.stall_timeout.unwrap().get(), 180_000);
    assert_eq!(
        (options.memory_limit.unwrap().get(), options.disk_limit.unwrap().get()),
        (Some(2 << 30), Some(5 << 20))
    );
    assert_eq!((options.process_limit.unwrap().get(), options.cpu_weight.unwrap().get()), (64, 10));
    assert_eq!(options.completion_promise.as_ref().unwrap().get(), Some("DONE"));
    assert_eq!(options.budget_usd.unwrap().get(), 2.5);
    assert_eq!(options.max_tokens.unwrap().get(), 1_000);
    assert_eq!(options.in_place, None);
    let finishing = run(&["x", "--post-action", "tidy up", "--post-action-skill", "notes"]).unwrap().options();
    assert_eq!(
        (finishing.post_action.as_deref(), finishing.post_action_skill.as_deref()),
        (Some("tidy up"), Some("notes"))
    );
    assert_eq!(run(&["x", "--in-place"]).unwrap().options().in_place, Some(true));
    assert_eq!(run(&["x"]).unwrap().options(), Options::default(), "what is not said is not said");
}

#[test]
fn every_flag_that_the_settings_name_exists_on_run() {
    let definition = definition();
    let run = definition.find_subcommand("run").unwrap();
    let flags: Vec<String> = run.get_arguments().filter_map(|arg| Some(format!("--{}", arg.get_long()?))).collect();
    for flag in KEYS.iter().filter_map(|key| key.flag_name()) {
        assert!(flags.contains(&flag.to_owned()), "{flag}");
    }
}

#[test]
fn the_words_of_a_flag_are_the_words_of_its_setting() {
    let definition = definition();
    let run = definition.find_subcommand("run").unwrap();
    for (id, schema) in [
        ("session", SessionPolicy::schema()),
        ("commit", CommitPolicy::schema()),
        ("sandbox", Sandbox::schema()),
        ("network", NetworkAccess::schema()),
    ] {
        let arg = run.get_arguments().find(|arg| arg.get_id() == id).unwrap();
        let words: Vec<_> = arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
        assert_eq!(serde_json::json!({ "enum": words }), schema, "{id}");
    }
}

#[test]
// promise: cli-1
fn a_typo_in_every_flag_of_every_command_is_refused() {
    for command in definition().get_subcommands().filter(|command| !command.is_hide_set()) {
        for flag in command.get_arguments().filter_map(|arg| arg.get_long()).filter(|flag| *flag != "help") {
            let mut typo = flag.to_owned();
            typo.remove(typo.len() / 2);
            let (error, hints) = refused(&[command.get_name(), &format!("--{typo}")]);
            assert_eq!(error, format!("unexpected argument '--{typo}' found"), "{}", command.get_name());
            assert!(hints.iter().any(|hint| hint.contains(&format!("'--{flag}'"))), "--{typo}: {hints:?}");
        }
    }
}

#[test]
fn a_typo_in_every_command_names_the_command_that_was_meant() {
    // Of three letters two are too few to guess from.
    let long = |command: &&clap::Command| !command.is_hide_set() && command.get_name().len() > 3;
    for command in definition().get_subcommands().filter(long) {
        let mut typo = command.get_name().to_owned();
        typo.remove(typo.len() / 2);
        let (error, hints) = refused(&[&typo]);
        assert_eq!(error, format!("unrecognized subcommand '{typo}'"));
        assert!(hints[0].contains(&format!("'{}'", command.get_name())), "{typo}: {hints:?}");
    }
}

#[test]
fn a_flag_whose_feature_is_missing_is_unknown() {
    for flag in ["--web", "--yolo"] {
        let (error, hints) = refused(&["run", "goal", flag, "x"]);
        assert!(error.starts_with(&format!("unexpected argument '{flag}' found")), "{error}");
        assert!(hints.iter().any(|hint| hint == "see 'windlass run --help' for all options"), "{hints:?}");
    }
    for (flag, value) in [("--session", "keep"), ("--sandbox", "podman"), ("--commit", "maybe")] {
        let (error, hints) = refused(&["run", "goal", flag, value]);
        assert!(error.starts_with(&format!("invalid value '{value}' for '{flag} ")), "{error}");
        assert!(hints[0].starts_with("possible values: "), "{hints:?}");
    }
}

#[test]
// promise: bounds-4
fn iterations_out_of_range_name_the_range() {
    for count in ["101", "-1", "4294967296", "99999999999999999999999"] {
        let (error, hints) = refused(&["run", "goal", "--max-iterations", count]);
        assert!(error.contains("1–100"), "{error}");
        assert_eq!(hints[0], "use 1 to 100, or 0 with another limit");
    }
    for text in ["three", "", "3.5", "1e2", "３"] {
        let (error, _) = refused(&["run", "goal", "--max-iterations", text]);
        assert!(error.contains("integer from 1 to 100"), "{error}");
    }
    let (_, hints) = refused(&["-C", "/x", "run", "goal", "--max-iterations", "101"]);
    assert_eq!(hints.last().unwrap(), "see 'windlass run --help' for all options");
    assert!(run(&["goal", "--max-iterations", "0"]).is_ok(), "whether another limit is there is judged later");
}

#[test]
// promise: cli-2
fn bad_amounts_and_durations_say_what_to_write() {
    for text in ["5", "0s", "90", "five minutes", "-5m", "1h30m", "5分"] {
        let (_, hints) = refused(&["run", "goal", &format!("--duration={text}")]);
        assert_eq!(hints[0], "use an integer with a unit: 30s, 10m, 2h or 1d", "{text}");
    }
    for text in ["0", "-1", "NaN", "inf", "free"] {
        refused(&["run", "goal", "--budget-usd", text]);
    }
    for text in ["0", "-1", "many"] {
        refused(&["run", "goal", "--max-tokens", text]);
    }
}

#[test]
fn a_goal_has_exactly_one_source() {
    let source = |args: &[&str]| run(args).unwrap().goal_source();
    assert_eq!(source(&["fix it"]), GoalSource::Text("fix it".into()));
    assert_eq!(source(&["-"]), GoalSource::Stdin);
    assert_eq!(source(&["--prompt-file", "task.md"]), GoalSource::File("task.md".into()));
    assert_eq!(
        source(&["--", "--max-iterations=3 is the bug"]),
        GoalSource::Text("--max-iterations=3 is the bug".into())
    );

    let (error, hints) = refused(&["run"]);
    assert_eq!(error, "the following required arguments were not provided: <GOAL>");
    assert_eq!(hints[0], "add a goal: windlass run \"make the tests pass\"");
    let (error, _) = refused(&["run", "goal", "--prompt-file", "task.md"]);
    assert!(error.contains("cannot be used with"), "{error}");
    let (error, hints) = refused(&["run", "make", "the", "tests", "pass"]);
    assert_eq!(error, "unexpected argument 'the' found");
    assert!(hints[0].starts_with("put the text in quotes"), "{hints:?}");
    let (error, hints) = refused(&["fix the tests"]);
    assert_eq!(error, "unrecognized subcommand 'fix the tests'");
    assert_eq!(hints[0], "start a loop with run: windlass run \"fix the tests\"");
}

#[test]
// promise: cli-2
fn flags_that_exclude_each_other_are_refused() {
    for words in [
        &["--agent", "demo", "--agent-command", "x"][..],
        &["--no-loop", "--max-iterations", "3"],
        &["--no-loop", "--completion-promise", "x"],
        &["--in-place", "--branch", "x"],
        &["--in-place", "--base", "main"],
    ] {
        let words: Vec<_> = ["run", "goal"].iter().chain(words).copied().collect();
        let (error, _) = refused(&words);
        assert!(error.contains("cannot be used with"), "{words:?}: {error}");
    }
    let (error, _) = refused(&["run", "goal", "--allow-dirty"]);
    assert!(error.contains("--in-place"), "{error}");
    let (error, _) = refused(&["run", "goal", "--max-iterations", "3", "--max-iterations", "4"]);
    assert!(error.contains("cannot be used multiple times"), "{error}");
}

#[test]
fn bad_texts_are_refused() {
    for (flag, value) in [
        ("--name", "Fix It"),
        ("--name", "../x"),
        ("--name", ""),
        ("--gate", " "),
        ("--agent", ""),
        ("--branch", "a b"),
        ("--branch", "x/{nmae}"),
        ("--base", ""),
        ("--completion-promise", "two\nlines"),
        ("--completion-promise", "  "),
    ] {
        let (error, hints) = refused(&["run", "goal", &format!("{flag}={value}")]);
        assert!(error.contains(flag), "{error}");
        assert!(hints.len() > 1, "{flag}={value}: no way out in {hints:?}");
    }
    assert_eq!(run(&["x", "--completion-promise="]).unwrap().options().completion_promise.unwrap().get(), None);
}

#[test]
fn a_directory_can_be_named_before_and_after_the_command() {
    for words in [["windlass", "-C", "/x", "list"], ["windlass", "list", "-C", "/x"]] {
        assert_eq!(Cli::try_parse_from(words).unwrap().dir, Some(PathBuf::from("/x")));
    }
}

#[test]
fn resume_raises_limits_with_or_without_a_plus() {
    let raise = |args: &[&str]| {
        let words = ["windlass", "resume", "name"].iter().chain(args);
        let Command::Resume(args) = parse(words).unwrap().command else { panic!("not resume") };
        args.raise.raise()
    };
    let all = Raise { max_iterations: 5, duration_ms: 1_800_000, budget_usd: 2.0, max_tokens: 10, disk_bytes: 5 << 30 };
    assert_eq!(
        raise(&[
            "--max-iterations",
            "+5",
            "--duration",
            "+30m",
            "--budget-usd",
            "+2",
            "--max-tokens",
            "+10",
            "--disk-limit",
            "+5GiB"
        ]),
        all
    );
    let plain = ["--max-iterations=5", "--duration=30m", "--budget-usd=2", "--max-tokens=10", "--disk-limit=5GiB"];
    assert_eq!(raise(&plain), all);
    assert_eq!(raise(&[]), Raise::default());
    for bad in ["+0", "0", "-5", "++5", "+101", "+"] {
        refused(&["resume", "name", "--max-iterations", bad]);
        refused(&["resume", "name", "--budget-usd", bad.replace("101", "x").as_str()]);
    }
}

#[test]
fn the_other_commands_take_what_the_contract_says() {
    for words in [
        &["demo"][..],
        &["init", "--yes"],
        &["list", "--all", "--json"],
        &["list", "--status", "open, verified", "--agent", "claude", "--since", "7d", "--page", "2"],
        &["status"],
        &["status", "x", "--json", "--exit-code"],
        &["logs"],
        &["logs", "x", "-f"],
        &["logs", "x", "--raw", "--iteration", "2", "--role", "coder"],
        &["stop"],
        &["stop", "x"],
        &["pause", "x", "--now"],
        &["restart", "x", "--detach"],
        &["steer", "leave the schema"],
        &["steer", "x", "leave the schema"],
        &["diff", "x", "--iteration", "2"],
        &["diff", "x", "--worktree", "--json"],
        &["rollback", "x", "--to", "0", "--json"],
        &["merge", "x", "--squash", "--into", "develop", "-m", "text", "--json"],
        &["clean"],
        &["clean", "x", "--dry-run", "--branches", "--json"],
        &["clean", "--all"],
        &["agents", "--json"],
        &["doctor", "--json"],
        &["config", "show", "--json"],
        &["config", "path"],
        &["config", "schema"],
        &["completions", "fish"],
        &["drive", "some-id"],
        &["demo-agent"],
    ] {
        assert!(parse(["windlass"].iter().chain(words)).is_ok(), "{words:?}");
    }
    for words in [
        &["steer"][..],
        &["steer", "x", " "],
        &["list", "--status", "done"],
        &["list", "--page", "0"],
        &["logs", "x", "--iteration", "0"],
        &["logs", "x", "--role", "boss"],
        &["logs", "x", "--raw", "--json"],
        &["completions", "csh"],
        &["config", "shw"],
        &["rn"],
        &["diff", "x", "--iteration", "0"],
        &["rollback", "x"],
        &["rollback", "x", "--to", "-1"],
        &["merge", "x", "-m", " "],
        &["clean", "x", "--all"],
    ] {
        refused(words);
    }
}

#[test]
#[cfg(unix)]
fn bytes_that_are_no_text_are_refused_where_text_is_needed() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = OsString::from_vec(vec![b'a', 0xff]);
    let words = |last: &[&OsString]| {
        let words = ["windlass", "run"].map(OsString::from).into_iter().chain(last.iter().map(|&word| word.clone()));
        parse(words.collect::<Vec<_>>())
    };
    let refusal = words(&[&bytes]).unwrap_err();
    assert!(refusal.text().starts_with("error: invalid UTF-8"), "{}", refusal.text());
    assert_eq!(refusal.exit_code(), 2);
    assert!(words(&[&"--prompt-file".into(), &bytes]).is_ok(), "a file may be called anything");
}

#[test]
fn help_and_version_are_no_mistake_and_every_command_has_examples() {
    for words in [&["--help"][..], &["--version"], &["run", "--help"], &["run", "-h"]] {
        let refusal = parse(["windlass"].iter().chain(words)).unwrap_err();
        assert!(matches!(refusal, Refusal::Asked { .. }) && refusal.exit_code() == 0, "{words:?}");
    }
    let text = |words: &[&str]| parse(["windlass"].iter().chain(words)).unwrap_err().text();
    assert_eq!(text(&["help"]), text(&["--help"]));
    assert_eq!(text(&["help", "config", "set"]), text(&["config", "set", "--help"]));
    let nothing = parse(["windlass"]).unwrap_err();
    assert!(matches!(nothing, Refusal::NothingTyped { .. }) && nothing.exit_code() == 2);
    fn check(command: &clap::Command) {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains("Examples:\n"), "{}", command.get_name());
        command.get_subcommands().filter(|sub| !sub.is_hide_set()).for_each(check);
    }
    check(&definition());
}

#[test]
fn every_example_in_the_help_is_a_command_line_that_works() {
    fn examples(command: &clap::Command, found: &mut Vec<String>) {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        // A long example goes on in the next line, as in a shell.
        let after = after.replace(" \\\n     ", "");
        let lines = after.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned);
        found.extend(lines.filter(|line| line.contains("windlass ")));
        command.get_subcommands().for_each(|sub| examples(sub, found));
    }
    let mut found = Vec::new();
    examples(&definition(), &mut found);
    assert!(found.len() > 20, "{found:?}");
    for example in found {
        let start = example.find("windlass ").unwrap();
        let end = ["     ", "; ", " > "].iter().filter_map(|end| example[start..].find(end)).min();
        let command = &example[start..end.map_or(example.len(), |end| start + end)];
        let words = shlex::split(command).unwrap();
        assert!(parse(&words).is_ok(), "{example}: {:?}", parse(&words));
    }
}

#[test]
fn a_goal_is_read_from_a_file_or_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
    write("task.md", "\u{feff}fix\r\nit — 修复\n\n".as_bytes());
    write("latin.txt", b"caf\xe9");
    let file = |name: &str| GoalSource::File(name.into());
    let read = |source: &GoalSource, stdin: &[u8]| source.read(dir.path(), stdin);
    assert_eq!(read(&file("task.md"), b"").unwrap(), "fix\r\nit — 修复");
    assert_eq!(read(&GoalSource::Stdin, b"from stdin\n").unwrap(), "from stdin");
    assert_eq!(read(&GoalSource::Text("as typed ".into()), b"unread").unwrap(), "as typed ");
    for (source, stdin, says) in [
        (file("latin.txt"), &b""[..], "the goal in latin.txt is not valid UTF-8"),
        (file("missing.md"), b"", "cannot read the goal from missing.md"),
        (file("."), b"", "cannot read the goal from ."),
        (GoalSource::Stdin, b"\xff", "the goal in standard input is not valid UTF-8"),
        (GoalSource::Stdin, &vec![b'x'; 5 << 20], "the goal in standard input is larger than 4194304 bytes"),
    ] {
        let error = read(&source, stdin).unwrap_err();
        assert_eq!(error.to_string(), says);
        assert!(!error.hint().is_empty());
    }
    assert!(GoalSource::File("/dev/zero".into()).read(Path::new("/"), &b""[..]).is_err(), "bounded");
}
