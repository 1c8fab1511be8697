//! Milestone files: read, refused with a line, and written again.

use proptest::prelude::*;

use super::*;

const WHOLE: &str = "\
---
requires_human_review: true   # a person looks
order: 3
agent: \"claude\"
---
# M4 — Login

## Goal

People can log in.

## Features

### Bug Fixes

- [x] B1: the form keeps its text（验收：重载后文本仍在）

### New Features

- [ ] log in with a password (acceptance: f(x) is called (once))
  and a name
- [ ] F1: log out
  - acceptance: the session is gone
  - the button is red

    ```sh
- [ ] no feature
    ```
### 优化
* remember me

## Acceptance Criteria

- [ ] all tests pass
- [x] docs
  - of every command
1. no plain passwords

## Constraints

No new dependency.
";

fn parsed(text: &str) -> Milestone {
    Milestone::parse("login", text).unwrap_or_else(|error| panic!("{error}: {}", error.hint))
}

#[test]
// promise: milestones-15
fn a_whole_milestone_is_read() {
    let milestone = parsed(WHOLE);
    assert_eq!((milestone.id.as_str(), milestone.title.as_str()), ("login", "M4 — Login"));
    assert_eq!(milestone.goal, "People can log in.");
    assert_eq!(milestone.constraints, "No new dependency.");
    assert_eq!(
        milestone.front_matter,
        FrontMatter {
            requires_human_review: Some(true),
            order: Some(3),
            agent: Some("claude".into()),
            ..FrontMatter::default()
        }
    );
    let feature = |id: &str, text: &str, acceptance: Option<&str>, kind| Feature {
        id: id.into(),
        text: text.into(),
        details: String::new(),
        acceptance: acceptance.map(str::to_owned),
        kind: Some(kind),
        done: false,
    };
    assert_eq!(
        milestone.features,
        [
            Feature {
                done: true,
                ..feature("B1", "the form keeps its text", Some("重载后文本仍在"), FeatureKind::BugFix)
            },
            feature("F2", "log in with a password and a name", Some("f(x) is called (once)"), FeatureKind::NewFeature),
            Feature {
                details: "- the button is red\n\n  ```sh\n- [ ] no feature\n  ```".into(),
                ..feature("F1", "log out", Some("the session is gone"), FeatureKind::NewFeature)
            },
            feature("F3", "remember me", None, FeatureKind::Optimization),
        ]
    );
    assert_eq!(milestone.open_features().map(|f| f.id.as_str()).collect::<Vec<_>>(), ["F2", "F1", "F3"]);
    let criterion = |text: &str, done| Criterion { text: text.into(), done };
    assert_eq!(
        milestone.acceptance_criteria,
        [
            criterion("all tests pass", false),
            criterion("docs\n- of every command", true),
            criterion("no plain passwords", false)
        ]
    );
    assert_eq!(parsed(&milestone.render()), milestone);
    assert_eq!(parsed(&format!("\u{feff}{}", WHOLE.replace('\n', "\r\n"))), milestone);
    let json = serde_json::to_string(&milestone).unwrap();
    assert_eq!(serde_json::from_str::<Milestone>(&json).unwrap(), milestone);
}

const SMALL: &str = "# T\n## Goal\ng\n## Features\n- [ ] a\n## Acceptance Criteria\n- b\n";

#[test]
fn a_small_milestone_is_enough() {
    let milestone = parsed(SMALL);
    assert_eq!(milestone.features[0].id, "F1");
    assert_eq!(milestone.features[0].kind, None);
    assert_eq!(milestone.front_matter, FrontMatter::default());
    assert_eq!(
        milestone.render(),
        "# T\n\n## Goal\n\ng\n\n## Features\n\n- [ ] F1: a\n\n## Acceptance Criteria\n\n- [ ] b\n"
    );
    let chinese =
        parsed("# 登录\n## 目标\n好\n## 功能\n- [ ] 登录（验收: 可以）\n## 验收标准\n- 测试通过\n## 约束：\n无");
    assert_eq!(chinese.features[0].acceptance.as_deref(), Some("可以"));
}

#[test]
fn a_comment_and_a_guide_in_the_file_are_no_part_of_it() {
    let text = SMALL.replace("- [ ] a\n", "<!-- write\n- [ ] like this\n-->\n<!-- or so -->\n- [ ] a\n");
    assert_eq!(parsed(&text), parsed(SMALL));
}

#[test]
// promise: milestones-15
fn another_shape_is_an_error_with_its_line_and_a_hint() {
    let with = |from: &str, to: &str| SMALL.replace(from, to);
    for (text, line, what, hint) in [
        (String::new(), 1, "the milestone has no title", "start with `# ` and the title"),
        (with("# T\n", ""), 1, "the milestone has no title", "start with"),
        (with("# T", "#"), 1, "the title is empty", "write"),
        (with("# T\n", "# T\n# U\n"), 2, "a second title; the first is on line 1", "use one title"),
        (format!("{SMALL}# U"), 8, "a second title; the first is on line 1", "use one title"),
        (with("# T\n", "# T\nwords\n"), 2, "text before the first second-level heading", "move it under ## Goal"),
        (with("## Goal\ng\n", ""), 5, "the milestone has no ## Goal", "add the heading `## Goal`"),
        (with("g\n", "\n"), 2, "the goal is empty", "describe what the milestone should achieve"),
        (with("## Goal", "## Gaol"), 2, "unknown heading `## Gaol`", "did you mean `## Goal`?"),
        (
            with("## Goal", "## Background"),
            2,
            "unknown heading `## Background`",
            "known headings: `## Goal`, `## Features`",
        ),
        (
            with("- [ ] a", "### New Fetures\n- a"),
            5,
            "unknown heading `### New Fetures`",
            "did you mean `### New Features`?",
        ),
        (format!("{SMALL}## Goal\n"), 8, "a second ## Goal; the first is on line 2", "merge them under one heading"),
        (with("- [ ] a", ""), 4, "the milestone has no feature", "add one, such as `- [ ] F1:"),
        (with("- [ ] a", "just words"), 5, "not a list item", "write it as `- [ ] F1:"),
        (with("- [ ] a", "#### deep\n- a"), 5, "not a list item", "write it as"),
        (with("- [ ] a", "- a\n\nwords"), 7, "not a list item", "write it as"),
        (with("- [ ] a", "- [ ]"), 5, "the item is empty", "write it as"),
        (with("- [ ] a", "- [ ] F1:"), 5, "the feature has no text", "write it as"),
        (with("- [ ] a", "- [ ] (acceptance: x)"), 5, "the feature has no text", "write it as"),
        (with("- [ ] a", "- [~] a"), 5, "the box has an unknown mark `~`", "use [ ]"),
        (with("- [ ] a", "- ```\n  x\n  ```"), 5, "the item starts with code", "start with"),
        (with("- [ ] a", "- a (acceptance: x"), 5, "the acceptance bracket is not closed", "close it"),
        (with("- [ ] a", "- a (acceptance: )"), 5, "the acceptance is empty", "describe how"),
        (
            with("- [ ] a", "- f1: a\n- b\n- F1: c"),
            7,
            "duplicate feature ID F1; the first is on line 5",
            "use a unique ID",
        ),
        (with("- b", ""), 6, "the milestone has no acceptance criterion", "add one, such as `- [ ] what must be true`"),
        (with("- b", "### x\n- b"), 7, "not a list item", "write it as"),
        (with("g\n", "```\ng\n"), 3, "unclosed code fence or comment", "close it"),
        ("---\norder: 1\n".into(), 1, "the settings block is not closed", "add a --- line"),
        (format!("---\nordr: 1\n---\n{SMALL}"), 2, "unknown setting `ordr`", "did you mean `order`?"),
        (format!("---\nx: 1\n---\n{SMALL}"), 2, "unknown setting `x`", "known settings: requires_human_review"),
        (format!("---\norder: first\n---\n{SMALL}"), 2, "invalid value for `order`: `first`", "use an integer"),
        (
            format!("---\n\nrequires_human_review: yes\n---\n{SMALL}"),
            3,
            "invalid value for `requires_human_review`: `yes`",
            "use true or false",
        ),
        (
            format!("---\nmax_iterations: 101\n---\n{SMALL}"),
            2,
            "`max_iterations` is out of range: 101",
            "use a number from 1 to 100",
        ),
        (format!("---\norder: 1\norder: 2\n---\n{SMALL}"), 3, "`order` is also set on line 2", "keep one"),
        (format!("---\nagent:\n---\n{SMALL}"), 2, "`agent` has no valid value", "use a name"),
        (format!("---\njust words\n---\n{SMALL}"), 2, "this is not a setting", "write `key: value`"),
        (format!("---\norder: 1\n---\n{}", with("g\n", "\n")), 5, "the goal is empty", "describe what"),
        ("x".repeat(2_000_000), 1, "the file is longer than 1048576 bytes", "check that it is the right file"),
    ] {
        let error = Milestone::parse("login", &text).expect_err(&text[..text.len().min(300)]);
        assert_eq!((error.line, error.what.as_str()), (line, what), "{text}");
        assert!(error.hint.starts_with(hint), "{}", error.hint);
    }
}

#[test]
fn an_id_names_a_file_and_a_branch() {
    for id in ["login", "M4", "2026-01-login.v2", "a_b"] {
        assert!(is_valid_id(id), "{id}");
    }
    for id in ["", ".x", "-x", "a b", "a/b", "a..b", "a.", "x.lock", "ä", &"x".repeat(65)] {
        assert!(!is_valid_id(id), "{id}");
        assert!(Milestone::parse(id, SMALL).unwrap_err().what.contains("not a valid milestone ID"));
    }
}

#[test]
fn ids_that_nobody_gave_are_the_free_numbers_in_order() {
    let ids = |features: &str| {
        let milestone = parsed(&SMALL.replace("- [ ] a", features));
        milestone.features.into_iter().map(|feature| feature.id).collect::<Vec<_>>()
    };
    assert_eq!(ids("- a\n- F1: b\n- c\n- [ ] F4: d\n- e\n- f"), ["F2", "F1", "F3", "F4", "F5", "F6"]);
    assert_eq!(ids("- AUTH-1: a\n- Note: b"), ["AUTH-1", "F1"]);
}

#[test]
// promise: milestones-3
fn a_report_is_linked_to_its_feature() {
    let milestone = parsed(&SMALL.replace("- [ ] a", "- F1: Log in with a name\n- F2: Log out\n- F3: Log in by mail"));
    let found = |id: Option<&str>, text: &str| milestone.feature(id, text).map(|feature| feature.id.as_str());
    assert_eq!(found(Some("f2"), "whatever"), Some("F2"));
    assert_eq!(found(Some("F9"), "log out"), Some("F2"));
    assert_eq!(found(None, "`Log in`, with a name."), Some("F1"));
    assert_eq!(found(None, "implemented log in by mail"), Some("F3"));
    assert_eq!(found(None, "log in"), None);
    assert_eq!(found(None, ""), None);
    assert_eq!(found(None, "…"), None);
}

#[test]
fn what_another_tool_recorded_fills_what_the_file_leaves_out() {
    let record = AnimaRecord::parse(
        r#"{"id": "x", "title": "Recorded", "requires_human_review": true, "created_at": "2026-02-01T10:00:00.000Z",
            "status": "pending", "iteration_count": 0, "cost_usd": 0.5, "branch_name": null}"#,
    )
    .unwrap();
    assert_eq!(record.status.as_deref(), Some("pending"));
    let without_title = SMALL.replace("# T\n", "");
    let milestone = Milestone::parse_with("x", &without_title, &record).unwrap();
    assert_eq!(milestone.title, "Recorded");
    assert_eq!(milestone.front_matter.requires_human_review, Some(true));
    assert_eq!(milestone.front_matter.created_at, record.created_at);
    assert!(record.created_at.is_some());
    let own = format!("---\nrequires_human_review: false\n---\n{SMALL}");
    let milestone = Milestone::parse_with("x", &own, &record).unwrap();
    assert_eq!((milestone.title.as_str(), milestone.front_matter.requires_human_review), ("T", Some(false)));
    for bad in ["", "[]x", "{\"title\": 3}", "{\"created_at\": \"soon\"}", "{"] {
        assert!(AnimaRecord::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_new_milestone_is_written_so_that_it_reads_as_meant() {
    let feature = |text: &str| Feature {
        id: String::new(),
        text: text.into(),
        details: String::new(),
        acceptance: Some("it works".into()),
        kind: None,
        done: false,
    };
    let new = Milestone {
        id: "new".into(),
        title: "New".into(),
        goal: "Better.".into(),
        features: vec![
            Feature { kind: Some(FeatureKind::BugFix), ..feature("mend it") },
            feature("build it"),
            Feature { id: "F1".into(), acceptance: Some("it :) works".into()), ..feature("see it") },
        ],
        acceptance_criteria: vec![Criterion { text: "tests pass".into(), done: false }],
        constraints: String::new(),
        front_matter: FrontMatter { order: Some(-1), ..FrontMatter::default() },
    };
    let (text, read) = new.write().unwrap();
    assert_eq!(
        text,
        "---\norder: -1\n---\n\n# New\n\n## Goal\n\nBetter.\n\n## Features\n\n- [ ] build it (acceptance: it works)\n- [ ] F1: see it\n  - acceptance: it :) works\n\n### Bug Fixes\n\n- [ ] mend it (acceptance: it works)\n\n## Acceptance Criteria\n\n- [ ] tests pass\n"
    );
    let ids: Vec<_> = read.features.iter().map(|f| (f.id.as_str(), f.text.as_str())).collect();
    assert_eq!(ids, [("F2", "build it"), ("F1", "see it"), ("F3", "mend it")]);
    for bad in ["two\n- [ ] three", "x (acceptance: other)", "F9: other", "a\n\n## Constraints"] {
        let bad = Milestone { features: vec![feature(bad)], ..new.clone() };
        assert!(bad.write().is_err(), "{}", bad.render());
    }
    let bad = Milestone { goal: "g\n## Features\n- x".into(), ..new.clone() };
    assert_eq!(bad.write().unwrap_err().what, "a second ## Features; the first is on line 10");
    let bad = Milestone { title: "two\nlines".into(), ..new };
    assert!(bad.write().is_err());
}

#[test]
fn a_huge_file_is_read_whole_or_refused() {
    let many = SMALL.replace("- [ ] a\n", &"- a\n".repeat(50_000));
    assert_eq!(parsed(&many).features.len(), 50_000);
    let twice = SMALL.replace("- [ ] a\n", &(1..=20_000).map(|n| format!("- F{n}: a\n")).collect::<String>());
    assert_eq!(parsed(&twice).features.len(), 20_000);
    let brackets = SMALL.replace("- [ ] a\n", &format!("- a {}\n", "(acceptance: x)".repeat(60_000)));
    let error = Milestone::parse("m", &brackets).unwrap_err();
    assert_eq!((error.line, error.what.as_str()), (5, "the item is longer than 10000 bytes"));
}

fn any_list() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "- [ ] F1: one",
        "- [x] two (acceptance: it works)",
        "- three (fast) （验收：f(x)）",
        "* B2: four",
        "  more words",
        "lazy words",
        "  - nested",
        "  - acceptance: it (holds",
        "    - deeper",
        "  ```",
        "  code",
        "- [ ] in code?",
        "",
        "\ttabbed",
        "### Bug Fixes",
        "### New Features",
        "  ## heading",
        "<!-- c -->",
    ]);
    prop::collection::vec(line, 0..14).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_milestone_reads_back_from_its_own_text(features in any_list(), criteria in any_list()) {
        let text = format!("# T\n## Goal\ng\n## Features\n- first\n{features}\n## Acceptance Criteria\n- b\n{criteria}\n");
        let Ok(milestone) = Milestone::parse("m", &text) else { return Ok(()) };
        let again = Milestone::parse("m", &milestone.render());
        prop_assert_eq!(again, Ok(milestone), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_line_of_it(text in "[-#\\[\\] a(:\n（]{0,60}") {
        if let Err(error) = Milestone::parse("m", &text) {
            let lines = u32::try_from(text.lines().count()).unwrap().max(1);
            prop_assert!((1..=lines).contains(&error.line), "{}", error);
        }
    }
}
