//! What judging an unchanged checkout costs, and that a gate's changes are seen all the same.

use std::fs::{File, FileTimes};
use std::io::Write;

use crate::fixture::{Fixture, listed, read, write};
use windlass_workspace::{Judge, Keep, Kind, Workspaces};

async fn judge(fx: &Fixture, workspaces: &Workspaces) -> (Judge, String) {
    write(&fx.repo.join(".gitignore"), "built/\n");
    write(&fx.repo.join("src/lib.rs"), "pub fn one() {}\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "ignore"]);
    let workspace = fx.open("judged", Kind::Clone).await.workspace;
    let judge = workspaces.judge(&workspace, &fx.top().join("judge/judged")).await.expect("judge");
    judge.reset("0", &workspace.base_commit, Keep::Nothing).await.expect("reset");
    (judge, workspace.base_commit)
}

#[tokio::test]
async fn judging_an_unchanged_checkout_starts_no_git() {
    let fx = Fixture::new();
    let (workspaces, spawns) = fx.counting();
    let (judge, commit) = judge(&fx, &workspaces).await;
    spawns.take();
    for judgement in ["1", "2"] {
        judge.reset(judgement, &commit, Keep::Nothing).await.expect("reset");
        assert_eq!(listed(&judge.put_back().await.expect("put back")), Vec::<String>::new());
    }
    assert_eq!(spawns.take(), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_gate_changed_removed_or_hid_behind_times_is_reported_and_undone() {
    let fx = Fixture::new();
    let (judge, commit) = judge(&fx, &fx.workspaces).await;
    let tree = judge.tree();
    // The same size and time, another content.
    let before = std::fs::metadata(tree.join("src/lib.rs")).unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(tree.join("src/lib.rs")).unwrap();
    file.write_all(b"pub fn two() {}\n").unwrap();
    file.set_times(FileTimes::new().set_modified(before)).unwrap();
    write(&tree.join("built/app"), "ignored\n");
    write(&tree.join("new"), "new\n");
    let reported = listed(&judge.put_back().await.expect("put back"));
    assert_eq!(reported, ["new added", "src/lib.rs modified"]);
    assert_eq!(read(&tree.join("src/lib.rs")), "pub fn one() {}\n");
    assert!(tree.join("built/app").exists(), "the next gate of the judgement finds what this one built");
    std::fs::remove_file(tree.join("src/main.rs")).unwrap();
    assert_eq!(listed(&judge.put_back().await.expect("put back")), ["src/main.rs deleted"]);
    judge.reset("1", &commit, Keep::Nothing).await.expect("reset");
    assert!(!tree.join("built").exists() && !tree.join("new").exists());
    // Only something is missing.
    std::fs::remove_file(tree.join("src/main.rs")).unwrap();
    assert_eq!(listed(&judge.put_back().await.expect("put back")), ["src/main.rs deleted"]);
    assert!(tree.join("src/main.rs").exists());
}
