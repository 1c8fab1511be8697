//! Several branches merged onto a target, which moves there by compare-and-swap.

use crate::fixture::{Fixture, first, read, write};
use windlass_workspace::{Advanced, BatchConflict, BatchMember, Kind, Opened};

/// A loop whose branch changes one file.
async fn worked(fx: &Fixture, name: &str, path: &str, text: &str) -> Opened {
    let opened = fx.open(name, Kind::Clone).await;
    write(&opened.workspace.dir.join(path), text);
    fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    opened
}

fn member(name: &str) -> BatchMember {
    BatchMember { loop_id: name.into(), branch: format!("windlass/{name}"), message: format!("Merge {name}\n") }
}

const KEEP: &str = "refs/windlass/queue/batch/1";

#[tokio::test]
async fn batch_is_built_on_no_branch_and_names_conflicts() {
    let fx = Fixture::new();
    let one = worked(&fx, "one", "a", "1\n").await;
    worked(&fx, "two", "b", "2\n").await;
    worked(&fx, "three", "a", "3\n").await;
    let before = fx.user_state();
    let members = ["one", "two", "three", "gone"].map(member);
    let built = fx.workspaces.build_batch(&one.workspace, "main", &members, KEEP).await.expect("build");
    assert_eq!(
        (built.merged.as_slice(), built.gone.as_slice()),
        (&["one".into(), "two".into()][..], &["gone".into()][..])
    );
    let conflict = BatchConflict { loop_id: "three".into(), files: Vec::new(), with_target: false };
    assert_eq!(built.conflicts, [conflict], "only with another one of the batch");
    assert_eq!((fx.rev("main"), fx.rev(KEEP)), (built.base.clone(), built.commit.clone()));
    assert_eq!(
        fx.git(&fx.repo, &["log", "--first-parent", "--format=%s", &format!("main..{KEEP}")]),
        "Merge two\nMerge one"
    );
    assert_eq!(fx.user_state(), before, "nothing of the user's moved");
    let moved = fx.workspaces.advance(&one.workspace, "main", &built.base, &built.commit).await.expect("advance");
    assert_eq!(
        (moved, fx.rev("main"), read(&fx.repo.join("b"))),
        (Advanced::Moved, built.commit.clone(), "2\n".into())
    );
    let again = fx.workspaces.advance(&one.workspace, "main", &built.base, &built.commit).await.expect("again");
    assert_eq!(again, Advanced::Moved, "it can be made again");
    let built =
        fx.workspaces.build_batch(&one.workspace, "main", &["one", "three"].map(member), KEEP).await.expect("build");
    assert_eq!(built.present, ["one"]);
    let conflict = BatchConflict { loop_id: "three".into(), files: vec!["a".into()], with_target: true };
    assert_eq!((built.conflicts, built.commit), (vec![conflict], built.base));
    fx.workspaces.drop_batch(&one.workspace, KEEP).await.expect("drop");
    assert!(!fx.has_ref(KEEP));
}

#[tokio::test]
async fn target_that_moved_is_left_alone() {
    let fx = Fixture::new();
    let one = worked(&fx, "one", "a", "1\n").await;
    let built = fx.workspaces.build_batch(&one.workspace, "main", &[member("one")], KEEP).await.expect("build");
    write(&fx.repo.join("theirs"), "1");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "theirs"]);
    let theirs = fx.rev("main");
    let moved = fx.workspaces.advance(&one.workspace, "main", &built.base, &built.commit).await.expect("advance");
    assert_eq!((moved, fx.rev("main")), (Advanced::Elsewhere, theirs));
}

#[tokio::test]
async fn checkout_that_is_not_clean_blocks_and_one_that_was_cut_off_does_not() {
    let fx = Fixture::new();
    let one = worked(&fx, "one", "a", "1\n").await;
    let built = fx.workspaces.build_batch(&one.workspace, "main", &[member("one")], KEEP).await.expect("build");
    write(&fx.repo.join("mine"), "1");
    let blocked = fx.workspaces.advance(&one.workspace, "main", &built.base, &built.commit).await.expect("advance");
    assert!(
        matches!(&blocked, Advanced::Blocked { message } if message.contains("uncommitted changes")),
        "{blocked:?}"
    );
    assert_eq!((fx.rev("main"), fx.repo.join("a").exists()), (built.base.clone(), false));
    std::fs::remove_file(fx.repo.join("mine")).expect("remove");
    // As after a crash between the files and the branch.
    fx.git(&fx.repo, &["read-tree", "-m", "-u", &built.base, &built.commit]);
    assert_ne!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
    let moved = fx.workspaces.advance(&one.workspace, "main", &built.base, &built.commit).await.expect("advance");
    assert_eq!((moved, fx.git(&fx.repo, &["status", "--porcelain"])), (Advanced::Moved, String::new()));
}
