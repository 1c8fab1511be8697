//! In place: the user's own checkout, on conditions.

use crate::fixture::{Fixture, first, names, next, read, write};
use windlass_workspace::{Kind, Reopen, RestoreRequest, WorkspaceError};

#[tokio::test]
async fn the_current_branch_is_the_loops() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::InPlace).await;
    let ws = &opened.workspace;
    assert_eq!((ws.dir.clone(), ws.branch.as_str()), (fx.repo.clone(), "main"));
    write(&fx.repo.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a added"]);
    assert_eq!(one.commit, Some(fx.rev("main")));
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
    write(&fx.repo.join("a"), "2");
    assert_eq!(
        fx.workspaces.create(&fx.request("fix", Kind::InPlace)).await.expect_err("dirty").to_string(),
        format!("the checkout {} has 1 uncommitted file", fx.repo.display())
    );
}

#[tokio::test]
async fn a_dirty_tree_is_refused_unless_told_otherwise() {
    let fx = Fixture::new();
    write(&fx.repo.join("a"), "1");
    write(&fx.repo.join("README"), "2");
    let mut request = fx.request("fix", Kind::InPlace);
    let error = fx.workspaces.create(&request).await.expect_err("dirty");
    assert!(matches!(error, WorkspaceError::Dirty { files: 2, .. }), "{error}");
    assert!(error.hint().expect("hint").contains("git stash -u"));
    request.allow_dirty = true;
    let opened = fx.workspaces.create(&request).await.expect("allowed");
    assert!(opened.notes.iter().any(|note| note.contains("2 uncommitted")), "{:?}", opened.notes);
    let one = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["README modified", "a added"]);
}

#[tokio::test]
async fn operations_in_progress_and_a_detached_head_are_refused_with_the_way_out() {
    let fx = Fixture::new();
    let request = fx.request("fix", Kind::InPlace);
    for (file, operation, way) in [
        ("MERGE_HEAD", "merge", "git merge --abort"),
        ("rebase-merge/head-name", "rebase", "git rebase --abort"),
        ("CHERRY_PICK_HEAD", "cherry-pick", "git cherry-pick --abort"),
        ("REVERT_HEAD", "revert", "git revert --abort"),
        ("BISECT_LOG", "bisect", "git bisect reset"),
    ] {
        let path = fx.repo.join(".git").join(file);
        write(&path, "x\n");
        let error = fx.workspaces.create(&request).await.expect_err(operation);
        assert_eq!(error.to_string(), format!("a {operation} is in progress in {}", fx.repo.display()));
        assert!(error.hint().expect("hint").contains(way), "{:?}", error.hint());
        std::fs::remove_file(&path).expect("rm");
        let _ = std::fs::remove_dir(path.parent().expect("parent"));
    }
    fx.git(&fx.repo, &["checkout", "-q", "--detach"]);
    let error = fx.workspaces.create(&request).await.expect_err("detached");
    assert!(matches!(error, WorkspaceError::DetachedHead { .. }), "{error}");
    assert!(error.hint().expect("hint").contains("switch -c"));
}

#[tokio::test]
async fn files_are_never_reset_but_always_saved() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::InPlace).await;
    let ws = &opened.workspace;
    write(&fx.repo.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&fx.repo.join("a"), "the user typed this");
    let index = std::fs::read(fx.repo.join(".git/index")).expect("index");
    let commit = one.commit.clone().expect("commit");
    let save_as = ws.keep_ref("cut", "t2");
    let reopened = fx
        .workspaces
        .reopen(ws, &Reopen::ResetTo { commit: commit.clone(), save_as: save_as.clone() })
        .await
        .expect("reopen");
    assert!(!reopened.reset);
    assert_eq!(reopened.saved.expect("saved").name, save_as);
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{save_as}:a")]), "the user typed this");
    let request = RestoreRequest { commit, tree: Some(one.tree.clone()), save_as: None, never_commit: Vec::new() };
    let restored = fx.workspaces.restore_to(ws, &request).await.expect("restore");
    assert!(!restored.restored);
    assert_eq!(crate::fixture::listed(&restored.changed), ["a modified"]);
    assert_eq!(read(&fx.repo.join("a")), "the user typed this");
    assert_eq!(std::fs::read(fx.repo.join(".git/index")).expect("index"), index, "the user's index is untouched");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["a modified"]);
}

#[tokio::test]
async fn a_rollback_that_the_user_asked_for_does_move_the_checkout() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::InPlace).await;
    let ws = &opened.workspace;
    write(&fx.repo.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&fx.repo.join("b"), "2");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    let save_as = ws.keep_ref("rollback", "1");
    let back = fx.workspaces.rollback(ws, one.commit.as_deref().expect("commit"), &save_as).await.expect("rollback");
    assert!(back.restored && !fx.repo.join("b").exists());
    assert_eq!(Some(fx.rev(&save_as)), two.commit);
    assert_eq!(Some(fx.rev("main")), one.commit);
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn removing_leaves_the_checkout_alone() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::InPlace).await;
    let ws = &opened.workspace;
    write(&fx.repo.join("a"), "1");
    let removed = fx.workspaces.remove(ws, Some("main")).await.expect("remove");
    assert!(!removed.branch_deleted && removed.saved.is_empty());
    assert_eq!(read(&fx.repo.join("a")), "1");
    assert!(!ws.index.exists());
}

#[tokio::test]
async fn a_checkout_that_changed_its_branch_is_left_to_the_user() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::InPlace).await;
    fx.git(&fx.repo, &["switch", "-qc", "elsewhere"]);
    write(&fx.repo.join("a"), "1");
    let error = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect_err("switched");
    assert!(matches!(error, WorkspaceError::NotOnBranch { .. }), "{error}");
    assert!(error.hint().expect("hint").contains("switch main"));
    assert_eq!(fx.git(&fx.repo, &["symbolic-ref", "--short", "HEAD"]), "elsewhere");
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "?? a");
}

#[tokio::test]
async fn a_lock_of_the_users_git_is_waited_for_and_never_removed() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::InPlace).await;
    let ws = &opened.workspace;
    let lock = fx.repo.join(".git/index.lock");
    write(&lock, "");
    write(&fx.repo.join("a"), "1");
    let error = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect_err("held");
    assert!(error.hint().expect("hint").contains("index.lock"), "{error}");
    assert!(lock.exists());
    std::fs::remove_file(&lock).expect("rm");
    let again = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&again), ["a added"]);
    assert_eq!(fx.git(&fx.repo, &["rev-list", "--count", "HEAD"]), "2", "committed once");
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
}

#[tokio::test]
// promise: work-2
async fn second_loop_in_the_same_checkout_is_refused_until_the_first_has_ended() {
    let fx = Fixture::new();
    let one = fx.open("one", Kind::InPlace).await;
    let refused = fx.workspaces.create(&fx.request("two", Kind::InPlace)).await.expect_err("taken");
    assert!(matches!(&refused, WorkspaceError::CheckoutTaken { owner, .. } if owner == "one"), "{refused}");
    assert!(refused.is_wrong_use() && refused.hint().expect("hint").contains("windlass stop one"));
    assert!(!fx.has_ref("refs/windlass/id-two/base/commit"), "nothing was made");
    fx.workspaces.reopen(&one.workspace, &Reopen::Keep).await.expect("the owner goes on");
    fx.workspaces.release(&one.workspace);
    let two = fx.open("two", Kind::InPlace).await;
    assert!(fx.workspaces.can_open(&one.workspace).await.is_err());
    assert!(fx.workspaces.reopen(&one.workspace, &Reopen::Keep).await.is_err(), "the checkout is another's now");
    // An owner whose own files are gone is none.
    std::fs::remove_file(&two.workspace.index).expect("rm");
    fx.workspaces.can_open(&one.workspace).await.expect("free");
    fx.workspaces.reopen(&one.workspace, &Reopen::Keep).await.expect("free");
    fx.workspaces.remove(&one.workspace, None).await.expect("remove");
    assert!(!fx.repo.join(".git/windlass-owner").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_loops_that_start_at_the_same_moment_one_gets_the_checkout() {
    let fx = std::sync::Arc::new(Fixture::new());
    for round in 0..5 {
        // A loop that is gone left its mark: those who find it remove it.
        write(&fx.repo.join(".git/windlass-owner"), "gone\ngone\n/nowhere/index\n");
        let mut all = tokio::task::JoinSet::new();
        for number in 0..6 {
            let fx = std::sync::Arc::clone(&fx);
            all.spawn(async move {
                fx.workspaces.create(&fx.request(&format!("r{round}n{number}"), Kind::InPlace)).await.ok()
            });
        }
        let won: Vec<_> = all.join_all().await.into_iter().flatten().collect();
        assert_eq!(won.len(), 1, "round {round}");
        fx.workspaces.release(&won[0].workspace);
    }
}
