//! Review blocks as reviewers write them, and what is none.

use super::*;

fn fenced(json: &str) -> String {
    format!("Looked at everything.\n\n```windlass-review\n{json}\n```\n")
}

#[test]
fn a_whole_audit_is_read() {
    let audit = read_audit(&fenced(
        r#"{
  "findings": [{"file": "src/a.rs", "line": 3, "severity": "bug", "description": "wrong", "scenario": "press it"},
               {"file": "GOAL", "severity": "warning", "description": "missing"}],
  "resolved": ["f1", "b.rs:2"],
  "verdict": "dirty",
  "section_summary": {"done": ["a", " "], "deviations": "none of note"},
  "plan_adjustments": [{"section": 2, "body": "x", "rationale": "y"}]
}"#,
    ))
    .unwrap();
    assert_eq!(audit.findings[0].clone().in_section(Some(1)).section, Some(1));
    assert_eq!((audit.findings[1].line, audit.findings[1].severity), (None, Severity::Warning));
    assert_eq!(audit.resolved, ["f1", "b.rs:2"]);
    assert_eq!(audit.verdict, AuditVerdict::Dirty);
    let summary = audit.section_summary.unwrap();
    assert_eq!((summary.done, summary.deviations), (vec!["a".to_owned()], vec!["none of note".to_owned()]));
    assert_eq!(audit.plan_adjustments[0].section, 2);
}

#[test]
fn an_acceptance_is_read() {
    let read = |json: &str| read_acceptance(&fenced(json)).unwrap();
    assert_eq!(read(r#"{"verdict": "accepted"}"#).verdict, AcceptanceVerdict::Accepted);
    assert_eq!(read(r#"{"Verdict": "Accepted", "score": 10}"#).verdict, AcceptanceVerdict::Accepted);
    let rejected = read(r#"{"verdict": "rejected", "reason": "no tests"}"#);
    assert_eq!((rejected.verdict, rejected.reason.as_deref()), (AcceptanceVerdict::Rejected, Some("no tests")));
}

#[test]
fn the_block_is_one() {
    let clean = r#"{"verdict": "clean"}"#;
    let block = fenced(clean);
    for (answer, expected) in [
        (String::new(), BlockError::Missing),
        ("clean".into(), BlockError::Missing),
        ("```json\n{\"a\": 1}\n```".into(), BlockError::Missing),
        (format!("```rust\n{clean}\n```"), BlockError::Missing),
        (format!("```json\n{clean}\n```\n```\n{clean}\n```"), BlockError::Several { first: 1, second: 4 }),
        (format!("```\ncode\n\n{}", block.trim_end().trim_end_matches('`')), BlockError::Hidden { line: 1 }),
        (format!("{block}{block}"), BlockError::Several { first: 3, second: 8 }),
        (format!("a\n```windlass-review\n{clean}"), BlockError::Unclosed { line: 2 }),
        ("```windlass-review".into(), BlockError::Unclosed { line: 1 }),
        (fenced(" "), BlockError::Empty),
        (fenced(&format!("{{\"verdict\": \"{}\"}}", "x".repeat(600_000))), BlockError::TooLong),
    ] {
        assert_eq!(read_audit(&answer), Err(expected), "{}", &answer[..answer.len().min(200)]);
    }
    for fine in [
        format!("~~~~ Windlass-Review\n{clean}\n~~~~"),
        format!("  {}\n\n \n", block.trim_start()),
        format!("{block}\nThat is all. Thank you."),
        format!("I looked.\n\n```json\n{clean}\n```\nDone."),
        format!("```JSON\n{clean}\n```"),
        format!("```\n{clean}\n```"),
        format!("An example:\n```json\n{{\"a\": 1}}\n```\n{block}"),
        clean.to_owned(),
        fenced(r#"{"Verdict": " CLEAN ", "confidence": 0.9, "notes": ["fine"], "Findings": []}"#),
    ] {
        assert!(read_audit(&fine).is_ok(), "{fine}");
    }
}

#[test]
fn a_severity_that_is_not_known_counts_as_a_bug() {
    let severities = ["\"bug\"", "\"Bug\"", "\"critical\"", "\"nit\"", "null", "3"];
    for severity in severities {
        let finding = format!(r#"{{"file": "a", "severity": {severity}, "description": "b", "id": 7}}"#);
        let audit = read_audit(&fenced(&format!(r#"{{"verdict": "Dirty", "findings": [{finding}]}}"#))).unwrap();
        assert_eq!(audit.findings[0].severity, Severity::Bug, "{severity}");
        let clean = read_audit(&fenced(&format!(r#"{{"verdict": "clean", "findings": [{finding}]}}"#)));
        assert_eq!(clean, Err(BlockError::CleanWithBugs { bugs: 1 }), "{severity}");
    }
    let none = r#"{"verdict": "dirty", "findings": [{"file": "a", "description": "b"}]}"#;
    assert_eq!(read_audit(&fenced(none)).unwrap().findings[0].severity, Severity::Bug);
    let warning = r#"{"verdict": "clean", "findings": [{"file": "a", "severity": "WARNING", "description": "b"}]}"#;
    assert_eq!(read_audit(&fenced(warning)).unwrap().findings[0].severity, Severity::Warning);
}

#[test]
fn a_line_is_read_from_a_number_or_a_text() {
    for (line, expected) in
        [("3", Some(3)), ("\"12\"", Some(12)), ("\"L7-9\"", Some(7)), ("\"all\"", None), ("0", None), ("null", None)]
    {
        let json =
            format!(r#"{{"verdict": "dirty", "findings": [{{"file": "a", "line": {line}, "description": "b"}}]}}"#);
        assert_eq!(read_audit(&fenced(&json)).unwrap().findings[0].line, expected, "{line}");
    }
}

#[test]
fn what_is_wrong_inside_is_named() {
    for (json, expected) in [
        (
            r#"{"verdict": "clean", "finding": []}"#,
            "the ```windlass-review block has an unknown key `finding`; did you mean `findings`?",
        ),
        (
            r#"{"verdict": "clean", "issues": [{"severity": "bug"}]}"#,
            "the ```windlass-review block has an unknown key `issues`; known keys: findings, resolved, verdict, section_summary, plan_adjustments",
        ),
        (
            r#"{"verdict": "dirty", "findings": [{}]}"#,
            "the ```windlass-review block is not the expected JSON: missing field `file` (line 3 of the answer)",
        ),
        (
            "{\"verdict\":\n\"good\"}",
            "the ```windlass-review block is not the expected JSON: unknown variant `good`, expected `clean` or `dirty` (line 3 of the answer)",
        ),
        (
            r#"{"findings": []}"#,
            "the ```windlass-review block is not the expected JSON: missing field `verdict` (line 3 of the answer)",
        ),
        (
            r#"{"verdict": "dirty", "verdict": "clean"}"#,
            "the ```windlass-review block is not the expected JSON: duplicate field `verdict` (line 4 of the answer)",
        ),
        (
            r#"{"verdict": "dirty","#,
            "the ```windlass-review block is not the expected JSON: EOF while parsing a value (line 4 of the answer)",
        ),
        (
            r#"["dirty"]"#,
            "the ```windlass-review block is not the expected JSON: expected an object (line 4 of the answer)",
        ),
        (
            r#"{"verdict": "dirty", "findings": [["a.rs", 3, "bug", "x"]]}"#,
            "the ```windlass-review block has a list where an object belongs: `findings[1]`",
        ),
        (
            r#"{"verdict": "clean", "findings": [{"file": "a", "severity": "bug", "description": "b"}]}"#,
            "the verdict is clean, but 1 of the findings in the same block are bugs",
        ),
    ] {
        assert_eq!(read_audit(&fenced(json)).unwrap_err().to_string(), expected, "{json}");
    }
    let deep = "[".repeat(10_000);
    assert!(matches!(read_audit(&fenced(&deep)), Err(BlockError::Json { .. })));
}
