//! What gates built on the base of one loop is there for the next loop of the project, and nothing else is.

use crate::fixture::{Fixture, read, write};
use windlass_workspace::{Keep, Kind, Save};

#[tokio::test]
async fn builds_of_the_base_are_handed_on_and_copied_files_are_not() {
    let fx = Fixture::new();
    write(&fx.repo.join(".gitignore"), "target/\n.env\n");
    write(&fx.repo.join("crates/a/lib.rs"), "\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "ignore"]);
    let one = fx.open("one", Kind::Clone).await.workspace;
    let (root, kept) = (fx.top().join("judge/one"), fx.top().join("builds/project"));
    let judge = fx.workspaces.judge(&one, &root).await.expect("judge");
    judge.take_builds(&kept).await.expect("nothing is there yet");
    judge.reset("set-up", &one.base_commit, Keep::Nothing).await.expect("reset");
    write(&judge.tree().join(".env"), "secret\n");
    judge.set_up().await.expect("set up");
    for file in ["target/debug/app", "crates/a/target/x", "build/not-ignored"] {
        write(&judge.tree().join(file), "built\n");
    }
    judge.save(Save::Builds).await.expect("save");
    fx.workspaces.hand_on(&root, &kept).expect("hand on");
    assert_eq!(read(&kept.join("target/debug/app")), "built\n");
    assert!(!kept.join(".env").exists(), "no file that was copied for the loop outlives it");

    let two = fx.open("two", Kind::Clone).await.workspace;
    // What is there and is not a build that the base ignores is not taken.
    write(&kept.join("build/planted"), "1");
    write(&kept.join("src/planted"), "1");
    let judge = fx.workspaces.judge(&two, &fx.top().join("judge/two")).await.expect("judge");
    judge.take_builds(&kept).await.expect("take");
    judge.reset("1", &two.base_commit, Keep::Nothing).await.expect("reset");
    assert_eq!(read(&judge.tree().join("target/debug/app")), "built\n");
    assert_eq!(read(&judge.tree().join("crates/a/target/x")), "built\n");
    for file in ["build", "src/planted", ".env"] {
        assert!(!judge.tree().join(file).exists(), "{file}");
    }
    // What is judged as in a new clone has none of it, and the next judgement has it again.
    judge.reset_without_builds("2", &two.base_commit).await.expect("reset");
    assert!(
        judge.has_builds() && !judge.tree().join("target").exists() && judge.tree().join("crates/a/lib.rs").exists()
    );
    judge.reset("3", &two.base_commit, Keep::Nothing).await.expect("reset");
    // A copy: what gates do to it reaches nobody.
    write(&judge.tree().join("target/debug/app"), "changed\n");
    assert_eq!(read(&kept.join("target/debug/app")), "built\n");
}

#[tokio::test]
async fn builds_are_taken_beside_what_the_set_up_made_and_not_over_it() {
    let fx = Fixture::new();
    write(&fx.repo.join(".gitignore"), "target/\ndist/\ndeps/\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "ignore"]);
    let kept = fx.top().join("builds/project");
    write(&kept.join("target/app"), "earlier\n");
    write(&kept.join("dist/app"), "earlier\n");
    let one = fx.open("one", Kind::Clone).await.workspace;
    let judge = fx.workspaces.judge(&one, &fx.top().join("judge/one")).await.expect("judge");
    judge.reset("set-up", &one.base_commit, Keep::Nothing).await.expect("reset");
    write(&judge.tree().join("deps/lib"), "installed\n");
    write(&judge.tree().join("dist/app"), "made\n");
    judge.set_up().await.expect("set up");
    judge.take_builds(&kept).await.expect("take");
    let app = |dir: &str| std::fs::read_to_string(judge.tree().join(dir).join("app")).unwrap_or_default();
    judge.reset("1", &one.base_commit, Keep::Nothing).await.expect("reset");
    assert_eq!((app("target"), app("dist")), ("earlier\n".to_owned(), "made\n".to_owned()));
    judge.reset_without_builds("2", &one.base_commit).await.expect("reset");
    assert_eq!((app("target"), app("dist")), (String::new(), "made\n".to_owned()));
    assert_eq!(read(&judge.tree().join("deps/lib")), "installed\n");
}
