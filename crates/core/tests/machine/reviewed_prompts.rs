//! What coder and auditor, developer and acceptor are told, as they read it.

use crate::driven::reviewed::{
    TWO_SECTIONS, accepted, all_features, answer, audit, audited, clean, develop, dirty, feature, milestone, rejected,
    round,
};
use crate::driven::{Driven, cut_off, opening, workspace_opened};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Input, Phase, WorkspaceOpening};
use windlass_core::prompt::{self, Changes, Facts};
use windlass_core::spec::{PostAction, ReviewSpec};

fn prompt_of(driven: &Driven) -> String {
    let reviews = driven.turn().role != Role::Coder;
    let changes = Changes {
        from: "base".into(),
        to: "abc1234".into(),
        log: "abc1234 find".into(),
        files: "src/find.rs | 1 +".into(),
        diff: "+fn find()".into(),
    };
    let facts = Facts { changes: reviews.then_some(changes), tools: false };
    prompt::build(&driven.state, &facts, &|text: &str| text.len() / 4)
}

fn work(driven: &mut Driven) {
    driven.end_turn(answer("I wrote it."));
    driven.checkpoint();
}

fn section_is_clean(driven: &mut Driven, section: u32) {
    work(driven);
    let turn = driven.turn();
    driven.end_turn(clean());
    assert_eq!(driven.state.phase(), Phase::Seal);
    driven.ok(Input::Sealed { section, checkpoint: crate::driven::checkpoint_of(turn) });
}

#[test]
// promise: plan-8
fn a_coder_begins_a_section() {
    insta::assert_snapshot!(prompt_of(&Driven::working(audited(Some(TWO_SECTIONS), audit()))));
}

#[test]
// promise: plan-8
fn an_auditor_reads_a_section() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), audit()));
    work(&mut driven);
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
// promise: plan-8, findings-5
fn a_coder_gets_the_findings_of_its_section() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), audit()));
    work(&mut driven);
    driven.end_turn(dirty());
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
// promise: plan-8
fn an_auditor_reads_the_whole() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), audit()));
    section_is_clean(&mut driven, 1);
    section_is_clean(&mut driven, 2);
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
// promise: plan-6
fn a_post_action_names_its_skill() {
    let post_action = Some(PostAction { prompt: None, skill: Some("release-notes".into()) });
    let mut driven = Driven::working(audited(None, ReviewSpec { post_action, ..audit() }));
    work(&mut driven);
    driven.end_turn(clean());
    assert_eq!(driven.turn().role, Role::Finisher);
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("Use the skill `release-notes`."), "{prompt}");
}

#[test]
// promise: milestones-16
fn a_developer_begins() {
    insta::assert_snapshot!(prompt_of(&Driven::working(milestone())));
}

#[test]
// promise: milestones-16
fn a_developer_is_told_of_a_rejection() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), accepted());
    round(&mut driven, feature("F2", None), rejected("the empty query panics"));
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
// promise: milestones-16
fn an_acceptor_judges_a_feature() {
    let mut driven = Driven::working(milestone());
    develop(&mut driven, feature("F1", None));
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
// promise: milestones-16
fn an_acceptor_judges_the_whole() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), accepted());
    develop(&mut driven, all_features());
    insta::assert_snapshot!(prompt_of(&driven));
}

#[test]
// promise: recovery-4
fn a_developer_whose_turn_was_cut_off_cleans_up_first() {
    let mut driven = Driven::working(milestone());
    driven.ok(Input::SessionSeen { turn: driven.turn(), session: "s1".into() });
    driven.end_turn(cut_off());
    driven.ok(workspace_opened());
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("The previous turn was interrupted"), "{prompt}");
    assert!(prompt.contains("commit what is worth keeping and revert the rest"), "{prompt}");
}

#[test]
// promise: recovery-4
fn a_developer_that_begins_again_is_told_where_the_earlier_attempt_is_kept() {
    let mut driven = Driven::working(milestone());
    driven.end_turn(cut_off());
    let saved = Some("refs/windlass/l1/cut/l1.1.coder.1".to_owned());
    driven.ok(Input::WorkspaceOpened { opening: WorkspaceOpening { saved, ..opening() } });
    let prompt = prompt_of(&driven);
    assert!(prompt.contains("saved at `refs/windlass/l1/cut/l1.1.coder.1`"), "{prompt}");
    driven.end_turn(feature("F1", None));
    driven.checkpoint();
    driven.end_turn(accepted());
    assert!(!prompt_of(&driven).contains("refs/windlass"), "the next turn is not told");
}
