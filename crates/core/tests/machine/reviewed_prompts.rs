//! What coder and auditor, developer and acceptor are told, as they read it.

use crate::driven::Driven;
use crate::driven::reviewed::{
    TWO_SECTIONS, accepted, all_features, answer, audit, audited, clean, develop, dirty, feature, milestone, rejected,
    round,
};
use windlass_core::ids::{Role, TurnKey};
use windlass_core::machine::{Input, Phase};
use windlass_core::prompt::{self, Changes, Facts};

fn prompt_of(driven: &Driven) -> String {
    let reviews = driven.turn().role != Role::Coder;
    let changes = Changes { diff: "+fn find()".into(), log: "abc1234 find".into(), ..Changes::default() };
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
    assert_eq!(driven.state.phase, Phase::Seal);
    driven.ok(Input::Sealed { section, checkpoint: crate::driven::checkpoint_of(turn) });
}

// promise: plan-8
#[test]
fn a_coder_begins_a_section() {
    insta::assert_snapshot!(prompt_of(&Driven::working(audited(Some(TWO_SECTIONS), audit()))));
}

// promise: plan-8
#[test]
fn an_auditor_reads_a_section() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), audit()));
    work(&mut driven);
    insta::assert_snapshot!(prompt_of(&driven));
}

// promise: plan-8, findings-5
#[test]
fn a_coder_gets_the_findings_of_its_section() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), audit()));
    work(&mut driven);
    driven.end_turn(dirty());
    assert_eq!(driven.turn(), TurnKey::first(2, Role::Coder));
    insta::assert_snapshot!(prompt_of(&driven));
}

// promise: plan-8
#[test]
fn an_auditor_reads_the_whole() {
    let mut driven = Driven::working(audited(Some(TWO_SECTIONS), audit()));
    section_is_clean(&mut driven, 1);
    section_is_clean(&mut driven, 2);
    insta::assert_snapshot!(prompt_of(&driven));
}

// promise: milestones-16
#[test]
fn a_developer_begins() {
    insta::assert_snapshot!(prompt_of(&Driven::working(milestone())));
}

// promise: milestones-16
#[test]
fn a_developer_is_told_of_a_rejection() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), accepted());
    round(&mut driven, feature("F2", None), rejected("the empty query panics"));
    insta::assert_snapshot!(prompt_of(&driven));
}

// promise: milestones-16
#[test]
fn an_acceptor_judges_a_feature() {
    let mut driven = Driven::working(milestone());
    develop(&mut driven, feature("F1", None));
    insta::assert_snapshot!(prompt_of(&driven));
}

// promise: milestones-16
#[test]
fn an_acceptor_judges_the_whole() {
    let mut driven = Driven::working(milestone());
    round(&mut driven, feature("F1", None), accepted());
    develop(&mut driven, all_features());
    insta::assert_snapshot!(prompt_of(&driven));
}
