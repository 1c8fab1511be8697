//! Findings written, resolved, written again and refused.

use proptest::prelude::*;

use super::*;
use crate::ids::Role;

fn turn(iteration: u32) -> TurnKey {
    TurnKey::first(iteration, Role::Auditor)
}

fn bug(file: &str, line: impl Into<Option<u32>>) -> NewFinding {
    NewFinding {
        file: file.to_owned(),
        line: line.into(),
        severity: Severity::Bug,
        description: "it is wrong".to_owned(),
        scenario: None,
        section: Some(1),
    }
}

fn ids<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<u32> {
    findings.map(|finding| finding.id.0).collect()
}

#[test]
// promise: findings-4
fn a_place_has_one_open_finding_in_a_section() {
    let mut findings = Findings::default();
    let first = findings.write(&bug("src/a.rs", 3), turn(1), None).unwrap();
    assert_eq!(first.id.to_string(), "f1");
    assert_eq!(
        findings.write(&bug("./src/a.rs:3", None), turn(1), None),
        Err(FindingRefusal::Duplicate { id: FindingId(1), place: "src/a.rs:3".into() })
    );
    findings.write(&NewFinding { section: Some(2), ..bug("src/a.rs", 3) }, turn(1), None).unwrap();
    findings.write(&NewFinding { section: None, ..bug("src/a.rs", 3) }, turn(1), None).unwrap();
    findings.write(&bug("src/a.rs", 4), turn(1), None).unwrap();
    assert_eq!(ids(findings.open()), [1, 2, 3, 4]);
}

#[test]
fn without_a_line_only_the_same_words_are_the_same_finding() {
    let mut findings = Findings::default();
    let goal = |words: &str| NewFinding { description: words.into(), ..bug("GOAL", None) };
    findings.write(&goal("No login yet"), turn(1), None).unwrap();
    findings.write(&goal("No logout yet"), turn(1), None).unwrap();
    let again = findings.write(&goal(" no  login\nYET "), turn(2), None);
    assert_eq!(again, Err(FindingRefusal::Duplicate { id: FindingId(1), place: "GOAL".into() }));
}

#[test]
// promise: findings-1
fn what_is_found_again_is_the_same_finding_with_its_history() {
    let mut findings = Findings::default();
    findings.write(&bug("a.rs", 3), turn(1), None).unwrap();
    findings.audited();
    assert_eq!(findings.resolve("f1", turn(2), None), Ok(FindingId(1)));
    findings.audited();
    assert_eq!(ids(findings.open()), [] as [u32; 0]);
    let again = NewFinding { severity: Severity::Warning, description: "still".into(), ..bug("a.rs", 3) };
    let reopened = findings.write(&again, turn(3), None).unwrap();
    assert_eq!((reopened.id, reopened.recurrence, reopened.written_in), (FindingId(1), 1, turn(3)));
    let past = PastFinding {
        severity: Severity::Bug,
        description: "it is wrong".into(),
        written_in: turn(1),
        resolved_in: turn(2),
    };
    assert_eq!(reopened.history, [past]);
    assert_eq!(findings.all().len(), 1);
    findings.resolve("a.rs:3", turn(4), None).unwrap();
    assert_eq!(findings.write(&bug("a.rs", 3), turn(5), None).unwrap().history.len(), 2);
}

#[test]
// promise: findings-5
fn a_finding_open_in_three_audits_recurs() {
    let mut findings = Findings::default();
    findings.write(&bug("a.rs", 1), turn(1), None).unwrap();
    findings.audited();
    findings.write(&bug("b.rs", 1), turn(2), None).unwrap();
    findings.audited();
    assert_eq!(ids(findings.recurring()), [] as [u32; 0]);
    findings.audited();
    assert_eq!(ids(findings.recurring()), [1]);
    findings.resolve("f1", turn(4), None).unwrap();
    assert_eq!(ids(findings.recurring()), [] as [u32; 0]);
}

#[test]
// promise: findings-2
fn what_blocks_is_said_by_the_caller_and_not_by_the_kind_of_loop() {
    let mut findings = Findings::default();
    findings.write(&bug("a.rs", 1), turn(1), None).unwrap();
    findings.write(&NewFinding { severity: Severity::Warning, ..bug("a.rs", 2) }, turn(1), None).unwrap();
    findings.write(&NewFinding { section: Some(2), ..bug("a.rs", 3) }, turn(1), None).unwrap();
    findings.write(&NewFinding { section: None, ..bug("a.rs", 4) }, turn(1), None).unwrap();
    let one = Scope::Section { section: 1 };
    assert_eq!(ids(findings.blocking(true, one)), [1, 2]);
    assert_eq!(ids(findings.blocking(false, one)), [1]);
    assert_eq!(ids(findings.open_bugs(Scope::CrossSection)), [4]);
    assert_eq!(ids(findings.open_bugs(Scope::All)), [1, 3, 4]);
    assert_eq!(ids(findings.blocking(true, Scope::All)), [1, 2, 3, 4]);
    findings.resolve("f1", turn(2), None).unwrap();
    assert_eq!(ids(findings.blocking(false, one)), [] as [u32; 0]);
}

#[test]
fn a_finding_is_resolved_by_id_or_by_an_unambiguous_place() {
    let mut findings = Findings::default();
    findings.write(&bug("src/a.rs", 1), turn(1), None).unwrap();
    findings.write(&bug("src/a.rs", 2), turn(1), None).unwrap();
    findings.write(&bug("b.rs", None), turn(1), None).unwrap();
    let unknown = |name: &str, open: &[u32]| FindingRefusal::Unknown {
        name: name.into(),
        open: open.iter().map(|id| FindingId(*id)).collect(),
    };
    assert_eq!(findings.resolve("f9", turn(2), None), Err(unknown("f9", &[1, 2, 3])));
    assert_eq!(findings.resolve("x\u{1b}", turn(2), None), Err(unknown("x\\u{1b}", &[1, 2, 3])));
    assert_eq!(findings.resolve("../x", turn(2), None), Err(unknown("../x", &[1, 2, 3])));
    assert_eq!(
        findings.resolve("src/a.rs", turn(2), None),
        Err(FindingRefusal::Ambiguous { name: "src/a.rs".into(), ids: vec![FindingId(1), FindingId(2)] })
    );
    assert_eq!(findings.resolve("/w/src/a.rs:2", turn(2), Some("/w")), Ok(FindingId(2)));
    assert_eq!(findings.resolve("src/a.rs", turn(2), None), Ok(FindingId(1)));
    assert_eq!(findings.resolve("F1", turn(2), None), Err(FindingRefusal::AlreadyResolved { id: FindingId(1) }));
    assert_eq!(
        findings.resolve("src/a.rs:2", turn(2), None),
        Err(FindingRefusal::AlreadyResolved { id: FindingId(2) })
    );
    assert_eq!(findings.resolve("b.rs", turn(2), None), Ok(FindingId(3)));
    let refusal = findings.resolve("f7", turn(2), None).unwrap_err();
    assert_eq!(refusal.to_string(), "finding f7 not found; none is open");
}

#[test]
fn garbage_is_refused_with_the_reason() {
    let mut findings = Findings::default();
    for (new, expected) in [
        (
            NewFinding { description: " \n".into(), ..bug("a.rs", 1) },
            "the finding at a.rs:1 has no description; say what is wrong and how to fix it",
        ),
        (
            NewFinding { description: "a\u{1b}[31m".into(), ..bug("a.rs", 1) },
            "the description of the finding at a.rs:1 has a control character (\\u{1b}); write plain text",
        ),
        (
            NewFinding { scenario: Some("\0".into()), ..bug("a.rs", 1) },
            "the scenario of the finding at a.rs:1 has a control character (\\u{0}); write plain text",
        ),
        (
            NewFinding { description: "x".repeat(9_000), ..bug("a.rs", 1) },
            "the description of the finding at a.rs:1 has 9000 characters; the limit is 8000",
        ),
        (bug("/etc/passwd", 1), "`/etc/passwd` is outside the workspace; use a path relative to the workspace's root"),
        (bug("a.rs", 0), "line 0 of `a.rs` does not exist; count lines from 1, or omit the line"),
    ] {
        assert_eq!(findings.write(&new, turn(1), None).unwrap_err().to_string(), expected);
    }
    assert_eq!(findings, Findings::default());
    let fine = NewFinding { description: "多行\r\n\twords".into(), scenario: Some(" ".into()), ..bug("a.rs", 1) };
    let written = findings.write(&fine, turn(1), None).unwrap();
    assert_eq!((written.description.as_str(), written.scenario), ("多行\n\twords", None));
}

#[test]
fn a_reviewer_gone_astray_is_stopped() {
    let mut findings = Findings::default();
    for line in 1..=500 {
        findings.write(&bug("a.rs", line), turn(1), None).unwrap();
    }
    assert_eq!(findings.write(&bug("a.rs", 501), turn(1), None), Err(FindingRefusal::TooMany));
    findings.resolve("f7", turn(1), None).unwrap();
    assert_eq!(findings.write(&bug("a.rs", 501), turn(1), None).unwrap().id, FindingId(501));
}

#[test]
fn a_search_sees_place_severity_description_and_scenario() {
    let mut findings = Findings::default();
    let scenario = Some("press ESC twice".to_owned());
    findings.write(&NewFinding { scenario, ..bug("src/a.rs", 3) }, turn(1), None).unwrap();
    findings.write(&bug("src/b.rs", 4), turn(1), None).unwrap();
    for (pattern, expected) in [("ESC", &[1][..]), ("b.rs:4", &[2]), ("wrong", &[1, 2]), ("bug", &[1, 2]), ("zz", &[])]
    {
        assert_eq!(ids(findings.search(|text| text.contains(pattern))), expected, "{pattern}");
    }
}

#[test]
fn ids_and_findings_read_back_from_json() {
    let mut findings = Findings::default();
    findings.write(&bug("a.rs", 3), turn(1), None).unwrap();
    findings.resolve("f1", turn(2), None).unwrap();
    findings.write(&bug("a.rs", 3), turn(3), None).unwrap();
    let json = serde_json::to_string(&findings).unwrap();
    assert!(json.contains(r#""id":"f1""#), "{json}");
    assert_eq!(serde_json::from_str::<Findings>(&json).unwrap(), findings);
    for bad in ["f0", "1", "f", "f-1", "f1x", "g1", "f99999999999"] {
        assert!(bad.parse::<FindingId>().is_err(), "{bad}");
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write { file: u8, line: u32, section: Option<u32> },
    Resolve { id: u32 },
    Audited,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..3_u8, 1..4_u32, prop::option::of(1..3_u32))
            .prop_map(|(file, line, section)| Step::Write { file, line, section }),
        3 => (1..12_u32).prop_map(|id| Step::Resolve { id }),
        1 => Just(Step::Audited),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    // promise: findings-4
    fn no_place_has_two_open_findings_and_no_finding_is_lost(steps in steps()) {
        let mut findings = Findings::default();
        for (iteration, step) in (1..).zip(steps) {
            let before = findings.clone();
            match step {
                Step::Write { file, line, section } => {
                    let new = NewFinding { section, ..bug(&format!("{file}.rs"), line) };
                    if findings.write(&new, turn(iteration), None).is_err() {
                        prop_assert_eq!(&findings, &before);
                    }
                }
                Step::Resolve { id } => {
                    let _ = findings.resolve(&format!("f{id}"), turn(iteration), None);
                }
                Step::Audited => findings.audited(),
            }
            let mut places: Vec<_> = findings.open().map(|f| (f.place(), f.section)).collect();
            places.sort();
            let all = places.len();
            places.dedup();
            prop_assert_eq!(places.len(), all);
            let numbers: Vec<u32> = ids(findings.all().iter());
            prop_assert_eq!(numbers, (1..=u32::try_from(findings.all().len()).unwrap()).collect::<Vec<_>>());
            prop_assert!(findings.all().len() >= before.all().len());
        }
    }
}
