//! Agents that do things to git that nobody requested: each has one outcome, and no work is lost.

use crate::fixture::{Fixture, assert_clean, first, names, next, read, write};
use windlass_workspace::{Kind, Reopen, WorkspaceError};

fn noted(notes: &[String], what: &str) -> bool {
    notes.iter().any(|note| note.contains(what))
}

#[tokio::test]
async fn rewritten_history_is_accepted_and_the_previous_checkpoint_kept() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&ws.dir.join("a"), "2");
    fx.git(&ws.dir, &["commit", "-qa", "--amend", "-m", "amended"]);
    write(&ws.dir.join("b"), "left over");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    let kept = ws.keep_ref("rewritten", "t2");
    assert!(noted(&two.notes, &kept), "{:?}", two.notes);
    assert_eq!(fx.rev(&kept), one.commit.expect("commit"));
    assert_eq!(two.agent_commits.len(), 1);
    assert_eq!(names(&two), ["a modified", "b added"]);
    assert_eq!(fx.git(&ws.dir, &["log", "--format=%s", "main.."]), "[iter-1] t2\namended");
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn commits_that_lost_the_base_are_squashed_onto_the_previous_checkpoint() {
    let amended: &[&[&str]] = &[&["commit", "-qa", "--amend", "-m", "amended base"]];
    let orphan: &[&[&str]] =
        &[&["checkout", "-q", "--orphan", "lone"], &["commit", "-qam", "lone"], &["branch", "-qf", "windlass/fix"]];
    for (number, steps) in [amended, orphan].into_iter().enumerate() {
        let fx = Fixture::new();
        let opened = fx.open("fix", Kind::Clone).await;
        let ws = &opened.workspace;
        write(&ws.dir.join("README"), "changed");
        steps.iter().for_each(|step| drop(fx.git(&ws.dir, step)));
        write(&ws.dir.join("b"), "left over");
        let made = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert!(noted(&made.notes, "do not build on the base commit"), "{number}: {:?}", made.notes);
        assert_eq!(fx.git(&ws.dir, &["log", "--format=%s", "main.."]), "[iter-1] t1", "{number}");
        assert_eq!(fx.rev("windlass/fix^"), ws.base_commit, "{number}");
        assert_eq!(fx.git(&ws.dir, &["show", "HEAD:README"]), "changed", "{number}");
        assert!(made.agent_commits.is_empty(), "{number}: {:?}", made.agent_commits);
        assert_clean(&fx, ws);
    }
}

#[tokio::test]
async fn branch_that_the_user_moved_off_the_base_is_saved_before_it_is_put_back() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let tree = fx.git(&fx.repo, &["rev-parse", "main^{tree}"]);
    let other = fx.git(&fx.repo, &["commit-tree", &tree, "-m", "by hand"]);
    fx.git(&fx.repo, &["update-ref", "refs/heads/windlass/fix", &other]);
    write(&ws.dir.join("a"), "1");
    let made = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    let kept = ws.keep_ref("stray", "t1");
    assert!(noted(&made.notes, &kept), "{:?}", made.notes);
    assert_eq!(fx.rev(&kept), other);
    assert_eq!(fx.rev("windlass/fix^"), ws.base_commit);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn commits_made_on_another_branch_come_along_if_they_build_on_the_loops() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["switch", "-qc", "feature"]);
    write(&ws.dir.join("a"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "on feature"]);
    write(&ws.dir.join("b"), "dirty");
    let made = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(noted(&checkpoint.notes, "switched to feature"), "{:?}", checkpoint.notes);
    assert_eq!(checkpoint.agent_commits, [made]);
    assert_eq!(names(&checkpoint), ["a added", "b added"]);
    assert_eq!(
        fx.git(&ws.dir, &["rev-parse", "feature"]),
        checkpoint.agent_commits[0],
        "the agent's branch stays where it was"
    );
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn work_on_an_unrelated_branch_is_brought_onto_the_loops_and_its_commits_kept() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    fx.git(&ws.dir, &["switch", "-qc", "other", "main"]);
    write(&ws.dir.join("b"), "2");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "on other"]);
    write(&ws.dir.join("c"), "3");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    let kept = ws.keep_ref("stray", "t2");
    assert!(noted(&two.notes, &kept), "{:?}", two.notes);
    assert_eq!(fx.rev(&kept), fx.git(&ws.dir, &["rev-parse", "other"]));
    assert_eq!(fx.rev("windlass/fix^"), one.commit.expect("commit"));
    assert_eq!(fx.git(&ws.dir, &["ls-files"]), "README\nb\nc\nsrc/main.rs", "the commit holds what is on disk");
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn a_detached_head_and_a_deleted_branch_are_put_right() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["checkout", "-q", "--detach"]);
    write(&ws.dir.join("a"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "detached"]);
    fx.git(&ws.dir, &["branch", "-qD", "windlass/fix"]);
    write(&ws.dir.join("b"), "2");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(noted(&checkpoint.notes, "detached HEAD"), "{:?}", checkpoint.notes);
    assert!(noted(&checkpoint.notes, "recreated"), "{:?}", checkpoint.notes);
    assert_eq!(names(&checkpoint), ["a added", "b added"]);
    assert_eq!(checkpoint.agent_commits.len(), 1);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn a_branch_deleted_under_head_is_made_again() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["update-ref", "-d", "refs/heads/windlass/fix"]);
    write(&ws.dir.join("a"), "1");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&checkpoint), ["a added"]);
    assert_eq!(fx.rev("windlass/fix^"), ws.base_commit);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn repository_made_over_the_clone_keeps_its_commits_and_the_files_are_committed() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    std::fs::remove_dir_all(ws.dir.join(".git")).expect("rm");
    fx.git(&ws.dir, &["init", "-q"]);
    write(&ws.dir.join("a"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "own repository"]);
    let own = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&checkpoint), ["a added"]);
    assert_eq!(fx.rev(&ws.keep_ref("stray", "t1")), own);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn missing_git_directory_of_the_engine_is_made_again() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    std::fs::remove_dir_all(&ws.git_dir).expect("rm");
    write(&ws.dir.join("b"), "2");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["b added"]);
    assert_clean(&fx, ws);
    assert!(!fx.git(&fx.repo, &["worktree", "list"]).contains("windlass/fix"), "nothing is registered");
}

#[tokio::test]
async fn a_half_done_merge_becomes_an_ordinary_checkpoint() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("README"), "mine\n");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&fx.repo.join("README"), "theirs\n");
    fx.git(&fx.repo, &["commit", "-qam", "theirs"]);
    let theirs = fx.rev("main");
    assert!(!fx.try_git(&ws.dir, &["merge", &theirs]).0, "conflicts");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert!(noted(&two.notes, "set aside a merge"), "{:?}", two.notes);
    assert_eq!(fx.rev(&ws.keep_ref("operation", "t2")), fx.rev("main"));
    assert_eq!(fx.git(&ws.dir, &["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 2, "one parent");
    assert!(read(&ws.dir.join("README")).contains("<<<<<<<"), "what is on disk is committed");
    assert_clean(&fx, ws);
    assert!(!ws.dir.join(".git").join("MERGE_HEAD").exists());
}

#[tokio::test]
async fn a_rebase_left_in_the_middle_loses_nothing() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("README"), "mine\n");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&fx.repo.join("README"), "theirs\n");
    fx.git(&fx.repo, &["commit", "-qam", "theirs"]);
    let theirs = fx.rev("main");
    assert!(!fx.try_git(&ws.dir, &["rebase", &theirs]).0, "conflicts");
    write(&ws.dir.join("README"), "resolved\n");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert!(noted(&two.notes, "set aside a rebase"), "{:?}", two.notes);
    assert_eq!(fx.rev("windlass/fix^"), one.commit.expect("commit"));
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:README"]), "resolved");
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn changes_hidden_from_the_agents_index_are_committed_all_the_same() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["update-index", "--assume-unchanged", "README"]);
    fx.git(&ws.dir, &["update-index", "--skip-worktree", "src/main.rs"]);
    write(&ws.dir.join("README"), "hidden\n");
    write(&ws.dir.join("src/main.rs"), "hidden\n");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&checkpoint), ["README modified", "src/main.rs modified"]);
    // And a damaged index does not matter either.
    write(&ws.dir.join(".git").join("index"), "garbage");
    write(&ws.dir.join("README"), "again\n");
    let two = fx.workspaces.checkpoint(ws, &next(&checkpoint, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["README modified"]);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn locks_of_dead_processes_are_cleared_and_those_of_living_ones_respected() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let branch_lock = ws.common_dir.join("refs/heads/windlass/fix.lock");
    let index_lock = ws.dir.join(".git").join("index.lock");
    let own_lock = std::path::PathBuf::from(format!("{}.lock", ws.index.display()));
    for lock in [&branch_lock, &index_lock, &own_lock] {
        write(lock, "");
    }
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(one.created);
    assert_clean(&fx, ws);
    for lock in [&branch_lock, &index_lock, &own_lock] {
        assert!(!lock.exists(), "{}", lock.display());
    }
    // A living holder: `sleep` with the lock open.
    let held = std::fs::File::create(&own_lock).expect("lock");
    let mut holder =
        std::process::Command::new("sleep").arg("600").stdin(held).spawn().expect("a process that holds the lock");
    write(&ws.dir.join("b"), "2");
    let refused = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await;
    let existed = own_lock.exists();
    holder.kill().expect("kill");
    holder.wait().expect("wait");
    let error = refused.expect_err("held");
    assert!(error.to_string().contains("another git process locked"), "{error}");
    assert!(error.hint().expect("hint").contains(".index.lock"));
    assert!(existed);
    assert!(fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("now free").created);
}

#[tokio::test]
// promise: work-11
async fn a_missing_workspace_is_made_again_from_its_branch_and_refused_without_it() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    std::fs::remove_dir_all(&ws.dir).expect("rm");
    let error = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect_err("gone");
    assert!(matches!(error, WorkspaceError::WorkspaceMissing { .. }), "{error}");
    let reopened = fx.workspaces.reopen(ws, &Reopen::Keep).await.expect("reopen");
    assert!(reopened.recreated);
    assert_eq!(read(&ws.dir.join("a")), "1");
    assert_clean(&fx, ws);
    write(&ws.dir.join("b"), "2");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["b added"]);
    // And then the branch too.
    std::fs::remove_dir_all(&ws.dir).expect("rm");
    fx.git(&fx.repo, &["branch", "-qD", "windlass/fix"]);
    let error = fx.workspaces.reopen(ws, &Reopen::Keep).await.expect_err("gone");
    assert!(matches!(error, WorkspaceError::WorkspaceMissing { .. }), "{error}");
}

#[tokio::test]
async fn missing_workspace_whose_branch_the_user_checked_out_is_made_again_beside_it() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    std::fs::remove_dir_all(&ws.dir).expect("rm");
    fx.git(&fx.repo, &["switch", "-q", "windlass/fix"]);
    assert!(fx.workspaces.reopen(ws, &Reopen::Keep).await.expect("reopen").recreated);
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(fx.rev("windlass/fix"), ws.base_commit, "the user's branch does not move");
    assert_eq!(Some(fx.rev(&ws.keep_ref("head", "branch"))), one.commit);
}

#[tokio::test]
async fn a_workspace_replaced_by_a_link_is_not_followed() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let elsewhere = fx.top().join("elsewhere");
    std::fs::rename(&ws.dir, &elsewhere).expect("mv");
    write(&elsewhere.join("secret"), "x");
    std::os::unix::fs::symlink(&elsewhere, &ws.dir).expect("link");
    let error = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect_err("refused");
    assert!(matches!(error, WorkspaceError::WorkspaceMissing { .. }), "{error}");
}
