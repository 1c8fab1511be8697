//! The promises of docs/specification.md and the tests that show them.
//!
//! A test names the promises it shows in a comment directly above its function, `// promise: done-1, bounds-3`. The page names the tests; that
//! part of it is generated. Invariant: every promise has a test, every mark has a promise and stands above a test that runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::hold;
use crate::workspace::{shown, workspace_root};

const PAGE: &str = "docs/specification.md";
const MARK: &str = "// promise:";

/// A promise that a test says it shows.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    promise: String,
    line: usize,
    /// The test's name, or why there is none.
    test: Result<String, &'static str>,
}

/// Every mark of a source file; `find` names the test of the mark on a line.
fn marks(text: &str, find: fn(&[&str], usize) -> Result<String, &'static str>) -> Vec<Mark> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut marks = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(ids) = line.strip_prefix(MARK) else { continue };
        let test = find(&lines, at);
        marks.extend(ids.split(',').map(|id| Mark { promise: id.trim().to_owned(), line: at + 1, test: test.clone() }));
    }
    marks
}

/// The Rust test that the mark on this line stands above: its function on the next line, its attributes before. So two
/// changes beside each other conflict, instead of a merge that moves the mark to another test.
fn rust_test(lines: &[&str], mark: usize) -> Result<String, &'static str> {
    let next = lines.get(mark + 1).copied().unwrap_or_default();
    let name = next.strip_prefix("async ").unwrap_or(next).strip_prefix("fn ").and_then(|rest| rest.split('(').next());
    let attributes = || lines[..mark].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
    if attributes().any(|line| line.starts_with("#[ignore")) {
        return Err("the test is ignored");
    }
    let is_test = attributes().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    name.filter(|_| is_test).map(str::to_owned).ok_or("put the mark between #[test] and fn")
}

/// The test of the page that starts here.
fn web_test(lines: &[&str], mark: usize) -> Result<String, &'static str> {
    let line = lines.get(mark + 1).copied().unwrap_or_default();
    let call = line.strip_prefix("test(").or_else(|| line.strip_prefix("it("));
    let quoted = call.and_then(|call| call.chars().next().map(|quote| (quote, &call[quote.len_utf8()..])));
    match quoted {
        Some((quote @ ('"' | '\'' | '`'), rest)) => {
            rest.split_once(quote).map(|(name, _)| name.to_owned()).ok_or("the test's name has no end")
        }
        _ => Err("no test follows"),
    }
}

/// All marks of the project, by file.
fn all_marks() -> Vec<(PathBuf, Mark)> {
    let root = workspace_root();
    let mut files = Vec::new();
    for folder in ["crates", "web/src", "web/e2e"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("cannot read {}: {e}", path.display()));
        let find = if path.extension().is_some_and(|e| e == "rs") { rust_test } else { web_test };
        all.extend(marks(&text, find).into_iter().map(|mark| (path.clone(), mark)));
    }
    all
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        let is_source =
            path.extension().and_then(|e| e.to_str()).is_some_and(|e| matches!(e, "rs" | "ts" | "tsx" | "mjs"));
        if path.is_dir() {
            collect(&path, files);
        } else if is_source {
            files.push(path);
        }
    }
}

/// The id of a promise that starts on this line: `- **done-1** …`.
fn promise_id(line: &str) -> Option<&str> {
    line.strip_prefix("- **")?.split_once("**").map(|(id, _)| id)
}

/// A group and a number of which the group's are in order.
fn numbered(id: &str) -> Option<(&str, u32)> {
    let (group, number) = id.split_once('-')?;
    let plain = !group.is_empty() && group.bytes().all(|b| b.is_ascii_lowercase());
    Some((group, number.parse().ok()?)).filter(|_| plain)
}

/// The page with the tests of every promise below it.
fn with_tests(page: &str, tests: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut whole = String::new();
    let mut current: Option<&str> = None;
    let end = |whole: &mut String, current: Option<&str>| {
        for test in current.and_then(|id| tests.get(id)).into_iter().flatten() {
            whole.push_str(&format!("  - {test}\n"));
        }
    };
    for line in page.lines().filter(|line| !line.starts_with("  - ")) {
        let inside = line.starts_with("  ") && current.is_some();
        if !inside {
            end(&mut whole, current);
            current = promise_id(line);
        }
        whole.push_str(line);
        whole.push('\n');
    }
    end(&mut whole, current);
    whole
}

#[test]
fn every_promise_has_a_test_and_every_mark_a_promise() {
    let root = workspace_root();
    let page = std::fs::read_to_string(root.join(PAGE)).expect(PAGE);
    let promises: Vec<&str> = page.lines().filter_map(promise_id).collect();
    let mut broken = Vec::new();
    let mut last: BTreeMap<&str, u32> = BTreeMap::new();
    for id in &promises {
        match numbered(id) {
            Some((group, number)) if last.insert(group, number).is_none_or(|before| before < number) => {}
            Some(_) => broken.push(format!("{PAGE}: {id} is not in order")),
            None => broken.push(format!("{PAGE}: {id} is no group and number, such as done-1")),
        }
    }
    let mut tests: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, mark) in all_marks() {
        let place = format!("{}:{}", shown(&path), mark.line);
        match mark.test {
            Ok(_) if !promises.contains(&mark.promise.as_str()) => {
                broken.push(format!("{place}: {PAGE} has no promise {}", mark.promise));
            }
            Ok(name) => {
                let file = shown(&path);
                tests.entry(mark.promise).or_default().insert(format!("[`{name}`](../{file})"));
            }
            Err(why) => broken.push(format!("{place}: {why}")),
        }
    }
    let untested = promises.iter().filter(|id| !tests.contains_key(**id));
    broken.extend(untested.map(|id| format!("{PAGE}: no test has the mark `{MARK} {id}`")));
    hold("every promise has a test and every mark a promise", &broken);

    let current = with_tests(&page, &tests);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(root.join(PAGE), current).expect(PAGE);
    } else {
        let update = "UPDATE=1 cargo test -p windlass-testkit --test architecture promise";
        assert!(page == current, "{PAGE} names other tests than those that are marked; run {update}");
    }
}

#[test]
fn marks_are_read_above_tests_only() {
    let rust = [
        "/// Words.",
        "#[tokio::test]",
        "// promise: done-1, done-2",
        "async fn one() {}",
        "// promise: done-3",
        "fn helper() {}",
        "#[test]",
        "#[ignore]",
        "// promise: done-4",
        "fn later() {}",
        "// promise: done-5",
        "#[test]",
        "fn below() {}",
    ];
    let rust = rust.join("\n");
    let read = marks(&rust, rust_test);
    let seen: Vec<(&str, Result<&str, &str>)> =
        read.iter().map(|mark| (mark.promise.as_str(), mark.test.as_deref().map_err(|why| *why))).collect();
    assert_eq!(
        seen,
        [
            ("done-1", Ok("one")),
            ("done-2", Ok("one")),
            ("done-3", Err("put the mark between #[test] and fn")),
            ("done-4", Err("the test is ignored")),
            ("done-5", Err("put the mark between #[test] and fn")),
        ]
    );
    let web = "  // promise: page-1\n  it(\"is \\u00e4 list\", () => {});\n// promise: page-2\nconst x = 1;\n";
    let read = marks(web, web_test);
    assert_eq!(read[0].test, Ok("is \\u00e4 list".to_owned()));
    assert_eq!(read[1].test, Err("no test follows"));
}

#[test]
fn tests_are_listed_below_their_promise() {
    let page = "# Page\n\n- **done-1** One\n  goes on.\n  - old\n- **done-2** Two.\n\nEnd.\n";
    let tests = BTreeMap::from([
        ("done-1".to_owned(), BTreeSet::from(["a".to_owned(), "b".to_owned()])),
        ("done-2".to_owned(), BTreeSet::from(["c".to_owned()])),
    ]);
    assert_eq!(
        with_tests(page, &tests),
        "# Page\n\n- **done-1** One\n  goes on.\n  - a\n  - b\n- **done-2** Two.\n  - c\n\nEnd.\n"
    );
}
