//! Plans of every shape: what is kept, what is said, what may change.

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Plan {
    Plan::parse(text).unwrap()
}

fn troubles(plan: &Plan) -> Vec<(u32, Trouble)> {
    plan.warnings.iter().map(|warning| (warning.line, warning.trouble.clone())).collect()
}

const WHOLE: &str = "\
# Objective

Build it.
Loop Name: build-it

<!-- windlass-section -->
## One: the parser
### Files
- src/a.rs
### Edits
- write it
### Acceptance Criteria
- it parses
### Verification
- `cargo test`

<!-- forge-section -->
## Two
**Files**: src/b.rs
**Edits**: more
**Acceptance Criteria**: works
**Verification**: `cargo test`

## Verification
All tests.
## Decisions
None.
## Conventions
Ours.
## Key Context
Little.
";

#[test]
fn a_whole_plan_has_objective_sections_and_trailing_parts_and_no_warning() {
    let plan = parsed(WHOLE);
    assert_eq!(plan.warnings, []);
    assert_eq!(plan.preamble, "# Objective\n\nBuild it.\nLoop Name: build-it");
    assert_eq!(plan.loop_name(), Some("build-it"));
    let titles: Vec<_> = plan.sections.iter().map(|section| (section.number, section.title.as_str())).collect();
    assert_eq!(titles, [(1, "One: the parser"), (2, "Two")]);
    assert!(plan.sections[0].body.starts_with("## One: the parser\n### Files"));
    assert!(plan.sections[0].body.ends_with("- `cargo test`"));
    assert_eq!(plan.trailing.iter().map(|t| t.part).collect::<Vec<_>>(), TrailingPart::ALL);
    assert_eq!(plan.part(TrailingPart::KeyContext).as_deref(), Some("## Key Context\nLittle."));
    assert_eq!(parsed(&plan.render()), plan);
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
}

#[test]
// promise: plan-2
fn no_section_is_dropped_however_many_there_are() {
    let text: String = (1..=400).map(|n| format!("<!-- forge-section -->\n## Part {n}\nwork {n}\n")).collect();
    let plan = parsed(&text);
    assert_eq!(plan.count(), 400);
    assert_eq!(plan.section(400).unwrap().body, "## Part 400\nwork 400");
    assert_eq!(plan.section(401), None);
    assert_eq!(plan.section(0), None);
}

#[test]
fn a_huge_plan_is_read_whole() {
    let text = "<!-- forge-section -->\n(\n".repeat(20_000);
    assert_eq!(parsed(&text).count(), 20_000);
    assert_eq!(parsed(&"```\n".repeat(20_001)).warnings.len(), 2);
}

#[test]
fn without_a_marker_the_whole_text_is_one_section() {
    let plan = parsed("# Plan\n\ndo it\n\n## Verification\ntests\n");
    assert_eq!(plan.sections.len(), 1);
    assert_eq!(plan.sections[0].body, "# Plan\n\ndo it\n\n## Verification\ntests");
    assert_eq!(plan.sections[0].title, "Section 1");
    assert_eq!(troubles(&plan), [(1, Trouble::NoMarkers)]);
    assert_eq!((plan.preamble.as_str(), plan.trailing.len()), ("", 0));
    assert_eq!(parsed(&plan.render()), plan);
}

#[test]
fn a_title_is_cut_between_characters() {
    let long = "修复".repeat(50);
    let plan = parsed(&format!("<!-- windlass-section -->\n### no\n## {long} ##\nx\n<!-- windlass-section -->\ny"));
    assert_eq!(plan.sections[0].title, "修复".repeat(30));
    assert_eq!(plan.sections[1].title, "Section 2");
}

#[test]
fn a_marker_in_code_is_ignored_and_said() {
    let text = "<!-- windlass-section -->\n## A\n```md\n<!-- windlass-section -->\n## Verification\n```\n\n    <!-- windlass-section -->\n<!--\n<!-- forge-section -->\n## B";
    let plan = parsed(text);
    assert_eq!(plan.count(), 1);
    let in_code: Vec<u32> =
        plan.warnings.iter().filter(|w| w.trouble == Trouble::MarkerInCode).map(|w| w.line).collect();
    assert_eq!(in_code, [4, 8, 10]);
    assert_eq!(plan.trailing, []);
}

#[test]
fn what_looks_like_a_marker_and_is_none_is_said() {
    let plan = parsed(
        "<!-- windlass-section -->\na\n## B <!-- windlass-section -->\n<!-- forge-section: C -->\n<!-- forge-plan:none -->",
    );
    let lines: Vec<u32> = plan.warnings.iter().filter(|w| w.trouble == Trouble::NotAMarker).map(|w| w.line).collect();
    assert_eq!(lines, [3, 4, 5]);
    assert_eq!(plan.count(), 1);
}

#[test]
fn an_empty_section_is_left_out_and_said() {
    let plan = parsed(
        "<!-- windlass-section -->\n\n<!-- windlass-section -->\n## Real\n<!-- windlass-section -->\n## Verification\nx",
    );
    assert_eq!(plan.sections.iter().map(|s| (s.number, s.title.as_str())).collect::<Vec<_>>(), [(1, "Real")]);
    let empty: Vec<u32> = plan.warnings.iter().filter(|w| w.trouble == Trouble::EmptySection).map(|w| w.line).collect();
    assert_eq!(empty, [1, 5]);
    assert_eq!(
        Plan::parse("intro\n<!-- windlass-section -->\n\n## Decisions\nx"),
        Err(PlanError::OnlyEmptySections { line: 2 })
    );
}

#[test]
fn the_structure_is_looked_at() {
    let text = "intro\n<!-- windlass-section -->\n## A\n### Files\n- /src/a.rs\n- C:\\b.rs\n### Edits\nGET /users, see /home/me/x.\n## Decisions\nd\n<!-- windlass-section -->\n## A\nx\n## Decisions\nagain";
    let plan = parsed(text);
    let lacks = |section, fields: &[Field]| Trouble::LacksFields { section, fields: fields.to_vec() };
    assert_eq!(
        troubles(&plan),
        [
            (2, lacks(1, &[Field::AcceptanceCriteria, Field::Verification])),
            (5, Trouble::AbsolutePath { path: "/src/a.rs".into() }),
            (6, Trouble::AbsolutePath { path: "C:\\b.rs".into() }),
            (8, Trouble::AbsolutePath { path: "/home/me/x".into() }),
            (11, Trouble::DuplicateTitle { title: "A".into(), first: 2 }),
            (11, lacks(2, &Field::ALL)),
            (11, Trouble::SectionAfter { section: 2, part: TrailingPart::Decisions }),
            (14, Trouble::DuplicatePart { part: TrailingPart::Decisions, first: 9 }),
            (
                15,
                Trouble::LacksParts {
                    parts: vec![TrailingPart::Verification, TrailingPart::Conventions, TrailingPart::KeyContext]
                }
            ),
        ]
    );
    for warning in &plan.warnings {
        assert!(warning.to_string().starts_with(&format!("line {}: ", warning.line)));
    }
}

#[test]
fn the_wrapper_is_one_pair_and_what_is_outside_is_kept_apart() {
    let wrapped = format!(
        "Here it is:\n<!-- forge-section -->\n<!-- windlass-plan:start -->\n{WHOLE}<!-- forge-plan:end -->\n\nBye.\n"
    );
    let plan = parsed(&wrapped);
    assert_eq!(plan.outside.before, "Here it is:\n<!-- forge-section -->");
    assert_eq!(plan.outside.after, "Bye.");
    assert_eq!(troubles(&plan), [(2, Trouble::MarkerOutside)]);
    assert_eq!(plan.sections, parsed(WHOLE).sections);
}

#[test]
fn a_broken_wrapper_is_an_error_with_its_line() {
    let (start, end) = ("<!-- windlass-plan:start -->", "<!-- windlass-plan:end -->");
    for (text, expected) in [
        (String::new(), PlanError::Empty),
        (" \n\n".into(), PlanError::Empty),
        (format!("a\n{start}\nb"), PlanError::Unterminated { line: 2, in_code: None }),
        (format!("{start}\n```\nb\n{end}"), PlanError::Unterminated { line: 1, in_code: Some(2) }),
        (format!("a\n{end}"), PlanError::MissingStart { line: 2 }),
        (format!("{end}\na\n{start}"), PlanError::MissingStart { line: 1 }),
        (format!("{start}\na\n{end}\n{start}\nb\n{end}"), PlanError::Multiple { line: 4, first: 1 }),
        (format!("{start}\na\n{end}\n{end}"), PlanError::Multiple { line: 4, first: 3 }),
        (format!("a\n{start}\n\n{end}\nb"), PlanError::EmptyWrapper { line: 2, end: 4 }),
        (format!("{start}\n{end}"), PlanError::EmptyWrapper { line: 1, end: 2 }),
    ] {
        let error = Plan::parse(&text).unwrap_err();
        assert_eq!(error, expected, "{text}");
        assert!(!error.hint().is_empty());
    }
    assert_eq!(parsed(&format!("```\n{start}\n```\nb")).count(), 1);
}

#[test]
fn an_unclosed_fence_is_said_because_it_swallows_the_rest() {
    let plan = parsed("<!-- windlass-section -->\n## A\n```\nx\n<!-- windlass-section -->\n## B");
    assert_eq!(plan.count(), 1);
    assert!(troubles(&plan).contains(&(3, Trouble::Unclosed)));
}

#[test]
fn line_ends_and_a_byte_order_mark_do_not_matter() {
    let other = format!("\u{feff}{}", WHOLE.replace('\n', "\r\n"));
    assert_eq!(parsed(&other), parsed(WHOLE));
}

#[test]
// promise: plan-5
fn only_the_current_and_later_sections_change() {
    let mut plan = parsed(WHOLE);
    assert_eq!(plan.adjust(1, "new", "why", 2), Err(AdjustError::Past { section: 1, current: 2 }));
    assert_eq!(plan.adjust(3, "new", "why", 2), Err(AdjustError::NoSuchSection { section: 3, count: 2 }));
    assert_eq!(plan.adjust(0, "new", "why", 1), Err(AdjustError::NoSuchSection { section: 0, count: 2 }));
    let adjustment = plan.adjust(2, "\n## Zwei\n\nneu\n\n", " it was wrong ", 2).unwrap();
    assert_eq!(adjustment.before, plan.sections[1].body);
    assert_eq!((adjustment.after.as_str(), adjustment.rationale.as_str()), ("## Zwei\n\nneu", "it was wrong"));
    let (preamble, trailing) = (plan.preamble.clone(), plan.trailing.clone());
    plan.apply(&adjustment);
    assert_eq!(plan.sections[1], Section { number: 2, title: "Zwei".into(), body: "## Zwei\n\nneu".into() });
    assert_eq!((plan.preamble.clone(), plan.trailing.clone()), (preamble, trailing));
    assert_eq!(parsed(&plan.render()).sections, plan.sections);
}

#[test]
fn an_adjusted_section_cannot_reach_beyond_itself() {
    let plan = parsed(WHOLE);
    for (body, rationale, expected) in [
        ("", "why", AdjustError::EmptyBody { section: 2 }),
        (" \n\t", "why", AdjustError::EmptyBody { section: 2 }),
        ("x", " ", AdjustError::EmptyRationale { section: 2 }),
        ("x\n<!-- windlass-section -->\ny", "why", AdjustError::Marker { section: 2, line: 2 }),
        ("```\n<!-- forge-plan:end -->\n```", "why", AdjustError::Marker { section: 2, line: 2 }),
        ("x\n## verification\ny", "why", AdjustError::Part { section: 2, line: 2, part: TrailingPart::Verification }),
        ("x\n```\ny", "why", AdjustError::Unclosed { section: 2, line: 2 }),
        (&plan.sections[1].body, "why", AdjustError::Unchanged { section: 2 }),
    ] {
        assert_eq!(plan.adjust(2, body, rationale, 1), Err(expected), "{body}");
    }
    assert_eq!(parsed("just text").adjust(1, "x", "why", 1), Err(AdjustError::Unmarked));
}

/// Lines of every kind that matters, in any order.
fn any_lines() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "<!-- windlass-section -->",
        "<!--forge-section-->",
        " <!-- windlass-section --> ",
        "    <!-- windlass-section -->",
        "## Verification",
        "## Decisions:",
        "### Files",
        "## A title",
        "```",
        "````md",
        "~~~",
        "<!--",
        "-->",
        "- item",
        "    indented",
        "",
        "  ",
        "<!-- windlass-plan:start -->",
        "<!-- windlass-plan:end -->",
    ]);
    let line = prop_oneof![4 => fixed.prop_map(str::to_owned), 1 => "[ -~é修]{0,12}"];
    prop::collection::vec(line, 1..40).prop_map(|lines| lines.join("\n"))
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    // promise: plan-2
    fn every_line_that_is_no_marker_is_in_exactly_one_part(text in any_lines()) {
        let Ok(plan) = Plan::parse(&text) else { return Ok(()) };
        let mut parts = vec![plan.outside.before.as_str(), &plan.preamble];
        parts.extend(plan.sections.iter().map(|section| section.body.as_str()));
        parts.extend(plan.trailing.iter().map(|trailing| trailing.body.as_str()));
        parts.push(&plan.outside.after);
        let kept: Vec<&str> = parts.iter().flat_map(|part| part.lines()).filter(|l| !l.trim().is_empty()).collect();
        // Which lines are markers is for the other tests; here every line that is none must be found again.
        let mut all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
        let before = all.len();
        for line in &kept {
            let at = all.iter().position(|known| known == line);
            prop_assert!(at.is_some(), "invented: {line}");
            all.remove(at.unwrap());
        }
        prop_assert!(all.iter().all(|line| marker::read(line).is_some()), "lost: {all:?}");
        prop_assert_eq!(kept.len() + all.len(), before);
    }

    #[test]
    fn a_plan_reads_back_from_its_own_text(text in any_lines()) {
        let Ok(plan) = Plan::parse(&text) else { return Ok(()) };
        if plan.warnings.iter().any(|warning| warning.trouble == Trouble::Unclosed) {
            return Ok(());
        }
        let again = Plan::parse(&plan.render()).unwrap();
        prop_assert_eq!(&again.preamble, &plan.preamble);
        prop_assert_eq!(&again.sections, &plan.sections);
        prop_assert_eq!(&again.trailing, &plan.trailing);
    }

    #[test]
    fn any_text_at_all_is_read_or_refused_without_a_panic(text in "\\PC{0,200}") {
        let _ = Plan::parse(&text);
    }
}
