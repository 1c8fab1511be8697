//! `windlass proof` and `windlass verify`: evidence that a stranger can check.

use std::path::{Path, PathBuf};

use crate::support::*;
use serde_json::Value;
use windlass_testkit::World;

const WORKS: &str = r#"
    [[turn]]
    steps = [{ write = { path = "a", content = "1\n" } }, { say = "A start." }]
    [[turn]]
    steps = [{ write = { path = "b", content = "2\n" } }, { say = "<promise>COMPLETE</promise>" }]
"#;

/// A verified loop of two iterations.
fn verified() -> World {
    let world = World::new();
    let agent = world.script(WORKS);
    run(&world, &agent, &["--gate", "echo looked; test -f b", "--protect", "tests/**"]).assert_code(0);
    world
}

/// Its proof, in a file.
fn proven(world: &World) -> (PathBuf, Value) {
    let file = world.root().join("the proof.json");
    call(world, &["proof", "work", "--output", file.to_str().unwrap()]).assert_code(0);
    let text = std::fs::read_to_string(&file).unwrap();
    (file, serde_json::from_str(&text).unwrap())
}

fn verify(world: &World, file: &Path, more: &[&str]) -> windlass_testkit::Output {
    call(world, &[&["verify", file.to_str().unwrap()], more].concat())
}

#[test]
fn proof_says_what_was_done_and_how_it_was_judged() {
    let world = verified();
    let (_, statement) = proven(&world);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "windlass:proof/v1");
    let head = world.repo().rev("windlass/work");
    assert_eq!(statement["subject"][0]["digest"]["gitCommit"], *head);
    let proof = &statement["predicate"];
    assert_eq!((&proof["goal"], &proof["outcome"]), (&"do the work".into(), &"verified".into()));
    assert_eq!(proof["base"]["commit"], *world.repo().rev("main"));
    let commits: Vec<&str> = proof["commits"].as_array().unwrap().iter().filter_map(|c| c["commit"].as_str()).collect();
    assert_eq!(commits, commits_of(&world));
    let last = proof["judgements"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["exit_code"], &last["output_tail"], &last["commit"]),
        (&0.into(), &"looked\n".into(), &(*head).into())
    );
    let sha256_of_looked = "f078e0daef434faeeb93d35ff7cf2a3a3b4d539e8cbebd4834f45f93f88f9a67";
    assert_eq!(last["output_sha256"], sha256_of_looked);
    assert_eq!((&proof["protected_paths"][0], &proof["verify"]), (&"tests/**".into(), &"clean".into()));
    assert_eq!(proof["agents"][0]["role"], "coder");
    assert_eq!(proof["journal"]["head"].as_str().unwrap().len(), 64);
    assert!(!statement.to_string().contains(world.root().to_str().unwrap()), "no path of this machine");
    let shown = call(&world, &["proof", "work", "--format", "markdown"]).assert_code(0).stdout.clone();
    for part in ["## Windlass: work (verified)", "> do the work", "✓ `echo looked; test -f b`: exit code 0", &head] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
}

fn commits_of(world: &World) -> Vec<String> {
    commits(world, "work").into_iter().map(|commit| commit.id).collect()
}

/// Checks a value against what a schema says of types, names and choices.
fn check(schema: &Value, root: &Value, value: &Value, path: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let found = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{path}: no {name}"));
        check(found, root, value, path);
    }
    for choice in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[choice].as_array() {
            let fits = |one: &Value| std::panic::catch_unwind(|| check(one, root, value, path)).is_ok();
            assert!(choices.iter().any(fits), "{path}: {value} is none of {choice}");
        }
    }
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{path}: {value} is none of {allowed:?}");
    }
    assert!(schema["const"].is_null() || schema["const"] == *value, "{path}: {value} is not {}", schema["const"]);
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let is = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    assert!(kinds.is_empty() || kinds.iter().any(is), "{path}: {value} is not {kinds:?}");
    if let Some(fields) = value.as_object() {
        for required in schema["required"].as_array().into_iter().flatten() {
            assert!(fields.contains_key(required.as_str().unwrap()), "{path}: {required} is missing");
        }
        for (name, field) in fields {
            let known = &schema["properties"][name];
            if known.is_null() {
                assert_ne!(schema["additionalProperties"], false, "{path}: {name} is not known");
            } else {
                check(known, root, field, &format!("{path}/{name}"));
            }
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        check(&schema["items"], root, item, &format!("{path}/{index}"));
    }
}

#[test]
fn proof_fits_the_schema_that_is_written_down() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/proof.schema.json");
    let made = format!("{:#}\n", serde_json::json!(schemars::schema_for!(windlass_app::Statement)));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == made, "run: UPDATE=1 cargo test -p windlass --test loops proof_fits");
    let (_, statement) = proven(&verified());
    let schema: Value = serde_json::from_str(&written).unwrap();
    check(&schema, &schema, &statement, "");
    let mut wrong = statement.clone();
    wrong["predicate"]["surplus"] = 1.into();
    assert!(std::panic::catch_unwind(|| check(&schema, &schema, &wrong, "")).is_err(), "the check can fail");
}

#[test]
fn verify_agrees_line_by_line_with_a_proof_of_this_machine() {
    let world = verified();
    let (file, _) = proven(&world);
    let out = verify(&world, &file, &[]);
    out.assert_code(0).assert_stdout_has("✓ gate echo looked; test -f b: passed then, passes now");
    out.assert_stdout_has("work: all checks passed");
    // What the loop does later does not change what was proven.
    call(&world, &["merge", "work"]).assert_code(0);
    let report = verify(&world, &file, &["--json"]).assert_code(0).json();
    assert_eq!(report["agrees"], true);
    let lines: Vec<&str> =
        report["lines"].as_array().unwrap().iter().filter_map(|line| line["what"].as_str()).collect();
    for what in ["file", "journal", "content", "base", "head", "history", "iteration 1", "iteration 2"] {
        assert!(lines.contains(&what), "{what} is not in {lines:?}");
    }
    assert!(!world.data_dir().join("judge").join(format!("{}-verify", status(&world, "work")["id"])).exists());
}

/// Changes one byte of every kind of value in a statement.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => 1.into(),
        Value::Bool(yes) => (!yes).into(),
        Value::Number(number) => (number.as_f64().unwrap_or_default() + 1.0).into(),
        Value::String(text) if text.is_empty() => "x".into(),
        Value::String(text) => {
            let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
            format!("{}{rest}", if first == "1" { "2" } else { "1" }).into()
        }
        Value::Array(_) | Value::Object(_) => panic!("not one value"),
    }
}

fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| leaves(field, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| leaves(item, &format!("{path}/{index}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => found.push(path.to_owned()),
    }
}

#[test]
fn change_in_any_field_of_a_proof_is_refused_or_named() {
    let world = verified();
    let (file, statement) = proven(&world);
    let mut paths = Vec::new();
    leaves(&statement, "", &mut paths);
    // One of each kind: the runs of gates have the same fields.
    paths.retain(|path| !path.contains("/judgements/") || path.contains("/judgements/0/"));
    assert!(paths.len() > 60, "{paths:?}");
    let elsewhere = World::new();
    for (number, path) in paths.into_iter().enumerate() {
        let mut wrong = statement.clone();
        let field = wrong.pointer_mut(&path).unwrap();
        *field = changed(field);
        std::fs::write(&file, wrong.to_string()).unwrap();
        let here = verify(&world, &file, &["--no-gates"]);
        assert_ne!(here.code, Some(0), "{path}: {}", here.shown());
        let named = path.trim_start_matches('/').replace('/', ".");
        let told = here.shown().contains(&named)
            || here.shown().contains("not a Windlass proof")
            || here.shown().contains("✗");
        assert!(told, "{path}: {}", here.shown());
        if number % 7 == 0 {
            // Without the journal the digest shows it.
            let there = verify(&elsewhere, &file, &["--no-gates"]);
            let refused = there.shown().contains("not a Windlass proof") || there.shown().contains("✗ file");
            assert!(refused, "{path}: {}", there.shown());
        }
    }
    std::fs::write(&file, "{").unwrap();
    verify(&world, &file, &[]).assert_code(2).assert_stderr_has("not a Windlass proof");
}

#[test]
fn gate_that_fails_now_is_named() {
    let world = World::new();
    let marker = world.root().join("broken");
    let agent = world.script(WORKS);
    run(&world, &agent, &["--gate", &format!("test ! -e '{}' && test -f b", marker.display())]).assert_code(0);
    let (file, _) = proven(&world);
    verify(&world, &file, &[]).assert_code(0);
    std::fs::write(&marker, "").unwrap();
    verify(&world, &file, &[])
        .assert_code(1)
        .assert_stdout_has("passed then, fails now")
        .assert_stdout_has("1 check failed");
    verify(&world, &file, &["--no-gates"]).assert_code(0);
}

#[test]
fn commit_is_verified_by_its_trailers_also_after_a_squash() {
    let world = verified();
    call(&world, &["verify", "windlass/work"]).assert_code(0).assert_stdout_has("it is the last commit of work");
    call(&world, &["verify", "windlass/work~1"])
        .assert_code(0)
        .assert_stdout_has("it closed iteration 1")
        .assert_stdout_has("failed then, fails now");
    world.repo().write("other", "x\n");
    world.repo().commit("meanwhile");
    call(&world, &["merge", "work", "--squash"]).assert_code(0);
    call(&world, &["verify", "main"])
        .assert_code(0)
        .assert_stdout_has("it merged work with other work")
        .assert_stdout_has("passes now");
    call(&world, &["verify", "main~1"]).assert_code(2).assert_stderr_has("no loop on this machine made commit");
    call(&world, &["verify", "no-such"]).assert_code(2).assert_stderr_has("neither a file nor a commit");
    // Somebody writes the trailers under other work.
    world.repo().write("b", "forged\n");
    world.repo().commit("Better\n\nWindlass-Loop: work");
    call(&world, &["verify", "main"]).assert_code(1).assert_stdout_has("the loop did not make it");
}

#[test]
fn stranger_verifies_with_the_repository_and_consent() {
    let world = verified();
    let (file, _) = proven(&world);
    let other = World::new();
    verify(&other, &file, &["--no-gates"]).assert_code(1).assert_stdout_has("is not in this repository");
    let from = world.repo().path().to_str().unwrap().to_owned();
    other.repo().git(["fetch", "-q", &from, "windlass/work:theirs"]);
    verify(&other, &file, &[])
        .assert_code(2)
        .assert_stderr_has("commands: echo looked; test -f b")
        .assert_stderr_has("--yes");
    verify(&other, &file, &["--yes"]).assert_code(0).assert_stdout_has("the loop does not exist on this machine");
    assert_eq!(call(&other, &["list", "--all", "--json"]).json(), serde_json::json!([]), "it is no loop");
    assert_eq!(other.repo().branches(), ["main", "theirs"]);
}

#[test]
fn byte_changed_in_the_database_is_found_and_named() {
    let world = verified();
    let (file, _) = proven(&world);
    let database = world.data_dir().join("windlass.db");
    let mut bytes = std::fs::read(&database).unwrap();
    // Also in pages that are no longer used.
    let wanted = b"turn_ended{\"v\"";
    let found: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(wanted)).collect();
    assert!(!found.is_empty(), "an event in the database");
    found.into_iter().for_each(|at| bytes[at] = b'T');
    std::fs::write(&database, bytes).unwrap();
    let seq = of_type(&call(&world, &["logs", "work", "--json"]).json_lines(), "turn_ended")[0]["seq"].clone();
    let broken = format!("event {seq} does not match the hash chain");
    call(&world, &["proof", "work"]).assert_code(1).assert_stderr_has(&broken);
    verify(&world, &file, &[]).assert_code(1).assert_stdout_has(&broken);
    call(&world, &["verify", "windlass/work"]).assert_code(1).assert_stderr_has(&broken);
}

#[test]
fn hidden_gate_is_proven_without_its_command() {
    let world = World::new();
    let agent = world.script(WORKS);
    run(&world, &agent, &["--gate", "test -f a", "--hidden-gate", "echo secret-words; test -f b"]).assert_code(0);
    let (file, statement) = proven(&world);
    assert!(!statement.to_string().contains("secret-words"), "{statement}");
    assert_eq!(statement["predicate"]["gates"][1]["hidden"], true);
    let out = verify(&world, &file, &[]);
    out.assert_code(0).assert_stdout_has("✓ gate hidden gate ");
    let other = World::new();
    let from = world.repo().path().to_str().unwrap().to_owned();
    other.repo().git(["fetch", "-q", &from, "windlass/work:theirs"]);
    verify(&other, &file, &["--yes"])
        .assert_code(0)
        .assert_stdout_has("its command is known only on the loop's machine");
}
