//! Bringing the work home, going back, removing: what the user requests at the end.

use crate::fixture::{Fixture, assert_clean, first, listed, next, read, write};
use windlass_workspace::{DiffSize, DiffTo, Kind, MergeOutcome, MergeRequest, Opened, WorkspaceError, disk_use};

fn plain() -> MergeRequest {
    MergeRequest { into: None, squash: false, message: "Merge the loop\n".into() }
}

fn squash() -> MergeRequest {
    MergeRequest { squash: true, ..plain() }
}

/// A loop with two checkpoints: `a` added, `README` changed.
async fn worked(fx: &Fixture, kind: Kind) -> Opened {
    let opened = fx.open("fix", kind).await;
    write(&opened.workspace.dir.join("a"), "1\n");
    let one = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    write(&opened.workspace.dir.join("README"), "by the loop\n");
    fx.workspaces.checkpoint(&opened.workspace, &next(&one, "t2")).await.expect("checkpoint");
    opened
}

#[tokio::test]
async fn a_clean_checkout_is_moved_forward() {
    {
        let kind = Kind::Clone;
        let fx = Fixture::new();
        let opened = worked(&fx, kind).await;
        let outcome = fx.workspaces.merge(&opened.workspace, &plain()).await.expect("merge");
        assert!(
            matches!(&outcome, MergeOutcome::Merged { into, checkout: Some(at), .. } if into == "main" && *at == fx.repo),
            "{outcome:?}"
        );
        assert_eq!(fx.rev("main^2"), fx.rev("windlass/fix"), "a commit of its own says what was merged");
        assert_eq!(fx.git(&fx.repo, &["log", "-1", "--format=%s", "main"]), "Merge the loop");
        assert_eq!(read(&fx.repo.join("a")), "1\n");
        assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
        let again = fx.workspaces.merge(&opened.workspace, &plain()).await.expect("again");
        assert_eq!(again, MergeOutcome::UpToDate { into: "main".into() });
    }
}

#[tokio::test]
async fn diverged_branches_get_a_merge_commit_and_squash_gets_one_of_its_own() {
    for squashed in [false, true] {
        let fx = Fixture::new();
        let opened = worked(&fx, Kind::Clone).await;
        write(&fx.repo.join("theirs"), "1");
        fx.git(&fx.repo, &["add", "-A"]);
        fx.git(&fx.repo, &["commit", "-qm", "theirs"]);
        let request = if squashed { squash() } else { plain() };
        let outcome = fx.workspaces.merge(&opened.workspace, &request).await.expect("merge");
        assert!(matches!(&outcome, MergeOutcome::Merged { fast_forward: false, .. }), "{outcome:?}");
        let parents = fx.git(&fx.repo, &["rev-list", "--parents", "-1", "main"]).split(' ').count() - 1;
        assert_eq!(parents, if squashed { 1 } else { 2 });
        assert_eq!(fx.git(&fx.repo, &["log", "-1", "--format=%s"]), "Merge the loop");
        assert_eq!(read(&fx.repo.join("README")), "by the loop\n");
        assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
        let again = fx.workspaces.merge(&opened.workspace, &request).await.expect("again");
        assert_eq!(again, MergeOutcome::UpToDate { into: "main".into() });
    }
}

#[tokio::test]
// promise: work-12
async fn conflicts_are_reported_with_their_files_and_nothing_changes() {
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    write(&fx.repo.join("README"), "by the user\n");
    fx.git(&fx.repo, &["commit", "-qam", "theirs"]);
    let before = (fx.user_state(), fx.rev("windlass/fix"));
    for request in [plain(), squash()] {
        let outcome = fx.workspaces.merge(&opened.workspace, &request).await.expect("merge");
        assert_eq!(outcome, MergeOutcome::Conflicts { into: "main".into(), files: vec!["README".into()] });
    }
    assert_eq!((fx.user_state(), fx.rev("windlass/fix")), before);
    assert_clean(&fx, &opened.workspace);
}

#[tokio::test]
// promise: work-20
async fn preview_shows_size_conflicts_and_files_in_the_way_and_writes_nothing() {
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    let workspace = &opened.workspace;
    write(&fx.repo.join("theirs"), "1");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "theirs"]);
    write(&fx.repo.join("README"), "my edit\n");
    write(&fx.repo.join("a"), "untracked, in the way");
    write(&fx.repo.join("elsewhere"), "untracked");
    let objects = || fx.git(&fx.repo, &["count-objects", "-v"]);
    let before = (fx.user_state(), objects());
    let preview = fx.workspaces.preview_merge(workspace, None, false).await.expect("preview");
    assert_eq!((preview.commits, preview.behind, preview.into.as_str()), (2, 1, "main"));
    assert_eq!(preview.size, DiffSize { files: 2, added: 2, removed: 1 });
    assert!(preview.tree.is_some() && preview.conflicts.is_empty(), "{preview:?}");
    assert_eq!((preview.in_the_way, preview.checkout), (vec!["README".to_owned(), "a".into()], Some(fx.repo.clone())));
    fx.git(&fx.repo, &["commit", "-qam", "README too"]);
    let before_conflict = (fx.user_state(), objects());
    let preview = fx.workspaces.preview_merge(workspace, None, true).await.expect("preview");
    assert_eq!((preview.tree, preview.conflicts), (None, vec!["README".to_owned()]));
    assert_eq!(preview.size, DiffSize { files: 2, added: 2, removed: 1 });
    assert_eq!((fx.user_state(), objects()), before_conflict);
    assert_ne!(before, before_conflict);
    std::fs::remove_file(fx.repo.join("a")).expect("rm");
    fx.git(&fx.repo, &["reset", "-q", "--hard", "HEAD~1"]);
    fx.workspaces.merge(workspace, &plain()).await.expect("merge");
    let preview = fx.workspaces.preview_merge(workspace, None, false).await.expect("preview");
    assert_eq!((preview.commits, preview.tree, preview.size), (0, None, DiffSize::default()));
    assert_clean(&fx, workspace);
}

#[tokio::test]
async fn local_changes_elsewhere_stay_and_those_in_the_way_refuse_the_merge() {
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    write(&fx.repo.join("README"), "my edit\n");
    let before = fx.user_state();
    let error = fx.workspaces.merge(&opened.workspace, &plain()).await.expect_err("in the way");
    assert!(
        matches!(&error, WorkspaceError::CheckoutInTheWay { files, .. } if files.contains(&"README".to_owned())),
        "{error}"
    );
    assert!(error.hint().expect("hint").contains("stash"));
    assert_eq!(fx.user_state(), before);
    fx.git(&fx.repo, &["checkout", "-q", "README"]);
    write(&fx.repo.join("a"), "untracked, in the way");
    let error = fx.workspaces.merge(&opened.workspace, &plain()).await.expect_err("in the way");
    assert!(
        matches!(&error, WorkspaceError::CheckoutInTheWay { files, .. } if files.contains(&"a".to_owned())),
        "{error}"
    );
    assert_eq!(read(&fx.repo.join("a")), "untracked, in the way");
    std::fs::remove_file(fx.repo.join("a")).expect("rm");
    // Changes that the merge does not touch are kept as they are.
    write(&fx.repo.join("src/main.rs"), "my edit\n");
    write(&fx.repo.join("notes"), "untracked\n");
    fx.workspaces.merge(&opened.workspace, &plain()).await.expect("merge");
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), " M src/main.rs\n?? notes");
    assert_eq!(read(&fx.repo.join("README")), "by the loop\n");
}

#[tokio::test]
async fn a_target_that_is_not_checked_out_moves_without_any_files() {
    let fx = Fixture::new();
    fx.git(&fx.repo, &["branch", "release"]);
    let opened = worked(&fx, Kind::Clone).await;
    write(&fx.repo.join("README"), "dirty\n");
    let request = MergeRequest { into: Some("release".into()), ..plain() };
    let outcome = fx.workspaces.merge(&opened.workspace, &request).await.expect("merge");
    assert!(matches!(outcome, MergeOutcome::Merged { checkout: None, .. }), "{outcome:?}");
    assert_eq!(fx.rev("release^2"), fx.rev("windlass/fix"));
    assert_eq!(read(&fx.repo.join("README")), "dirty\n");
    let request = MergeRequest { into: Some("absent".into()), ..plain() };
    let error = fx.workspaces.merge(&opened.workspace, &request).await.expect_err("absent");
    assert!(matches!(error, WorkspaceError::NoSuchBranch { .. }), "{error}");
}

#[tokio::test]
async fn a_merge_cut_off_before_the_branch_moved_can_be_made_again() {
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    // The files have moved, the branch has not.
    fx.git(&fx.repo, &["read-tree", "-m", "-u", "main", "windlass/fix"]);
    fx.workspaces.merge(&opened.workspace, &plain()).await.expect("merge");
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
    assert_eq!(fx.rev("main^2"), fx.rev("windlass/fix"));
}

#[tokio::test]
async fn a_rollback_keeps_what_it_undoes() {
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    let ws = &opened.workspace;
    let (tip, one) = (fx.rev("windlass/fix"), fx.rev("windlass/fix~1"));
    let save_as = ws.keep_ref("rollback", "1");
    let back = fx.workspaces.rollback(ws, &one, &save_as).await.expect("rollback");
    assert_eq!(back.saved.expect("saved").commit, tip);
    assert_eq!(listed(&back.changed), ["README modified"]);
    assert_eq!(fx.rev("windlass/fix"), one);
    assert_eq!(read(&ws.dir.join("README")), "hello\n");
    assert_clean(&fx, ws);
    let error = fx.workspaces.rollback(ws, "0000000000000000000000000000000000000001", &save_as).await.expect_err("x");
    assert!(error.to_string().contains("unknown"), "{error}");
}

#[tokio::test]
async fn differences_are_patches_and_looking_changes_nothing() {
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("b"), "new on disk\n");
    let index =
        (std::fs::read(&ws.index).expect("index"), std::fs::read(ws.dir.join(".git").join("index")).expect("index"));
    let patch = fx.workspaces.diff(ws, &ws.base_commit, &DiffTo::Commit("windlass/fix".into())).await.expect("diff");
    let patch = String::from_utf8(patch).expect("text");
    assert!(patch.contains("+by the loop") && patch.contains("new file mode") && !patch.contains("new on disk"));
    let patch = fx.workspaces.diff(ws, "windlass/fix", &DiffTo::Worktree).await.expect("diff");
    assert!(String::from_utf8(patch).expect("text").contains("+new on disk"));
    let changed = fx.workspaces.changed_since(ws, &ws.base_commit, &[]).await.expect("changed");
    assert_eq!(listed(&changed), ["README modified", "a added", "b added"]);
    // The same pair twice, one without a change, and one backwards.
    let tip = fx.rev("windlass/fix");
    let pairs = [(&ws.base_commit, &tip), (&ws.base_commit, &tip), (&tip, &tip), (&tip, &ws.base_commit)];
    let pairs = pairs.map(|(from, to)| (from.clone(), to.clone()));
    let all = DiffSize { files: 2, added: 2, removed: 1 };
    let back = DiffSize { files: 2, added: 1, removed: 2 };
    assert_eq!(fx.workspaces.sizes(ws, &pairs).await.expect("sizes"), [all, all, DiffSize::default(), back]);
    let after =
        (std::fs::read(&ws.index).expect("index"), std::fs::read(ws.dir.join(".git").join("index")).expect("index"));
    assert_eq!(after, index);
    let beside: Vec<_> =
        std::fs::read_dir(ws.index.parent().expect("root")).expect("ls").flatten().map(|e| e.file_name()).collect();
    assert!(beside.iter().all(|name| !name.to_string_lossy().contains("look")), "{beside:?}");
    // Between commits it works without the directory.
    fx.workspaces.remove(ws, None).await.expect("remove");
    assert!(
        !fx.workspaces
            .diff(ws, &ws.base_commit, &DiffTo::Commit("windlass/fix".into()))
            .await
            .expect("diff")
            .is_empty()
    );
}

#[tokio::test]
async fn removing_saves_what_is_not_committed_and_keeps_an_unmerged_branch() {
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join(".gitignore"), "target/\n");
    write(&ws.dir.join("target/x"), "1");
    write(&ws.dir.join("target/y"), "2");
    write(&ws.dir.join("unsaved"), "precious");
    let used = disk_use(ws.dir.clone()).await;
    assert!(used.files >= 6 && used.bytes > 0, "{used:?}");
    let tip = fx.rev("windlass/fix");
    let removed = fx.workspaces.remove(ws, Some("main")).await.expect("remove");
    assert_eq!(removed.ignored_files, 2);
    assert_eq!(removed.freed.files, used.files);
    assert!(!removed.branch_deleted, "it is not merged");
    assert_eq!(fx.rev("windlass/fix"), tip);
    let saved = &removed.saved[0].name;
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{saved}:unsaved")]), "precious");
    assert!(!ws.dir.exists() && !ws.git_dir.exists() && !ws.index.exists());
    assert_eq!(fx.git(&fx.repo, &["worktree", "list"]).lines().count(), 1);
    // Again, and after the merge: the branch goes too.
    fx.workspaces.remove(ws, Some("main")).await.expect("again");
    fx.workspaces.merge(ws, &plain()).await.expect("merge");
    assert!(fx.workspaces.remove(ws, Some("main")).await.expect("merged").branch_deleted);
    assert!(!fx.has_ref("refs/heads/windlass/fix"));
    assert!(fx.has_ref(saved), "what was saved stays");
}

#[tokio::test]
async fn removing_keeps_commits_on_a_detached_head_and_copes_with_read_only_directories() {
    use std::os::unix::fs::PermissionsExt;
    let fx = Fixture::new();
    let opened = worked(&fx, Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["checkout", "-q", "--detach"]);
    write(&ws.dir.join("d"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "detached"]);
    let detached = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
    write(&ws.dir.join("cache/mod/file"), "1");
    std::fs::set_permissions(ws.dir.join("cache/mod"), std::fs::Permissions::from_mode(0o555)).expect("chmod");
    let removed = fx.workspaces.remove(ws, None).await.expect("remove");
    assert!(removed.saved.iter().any(|saved| saved.commit == detached), "{:?}", removed.saved);
    assert!(!ws.dir.exists());
}

#[tokio::test]
// promise: gates-7
async fn protected_paths_go_back_whatever_was_done_to_them() {
    let fx = Fixture::new();
    for (name, text) in [
        ("tests/a.rs", "a"),
        ("tests/deep/b.rs", "b"),
        ("tests/c.rs", "c"),
        ("Cargo.lock", "l"),
        ("ci/x.yml", "x"),
        ("crate/Cargo.lock", "l"),
    ] {
        write(&fx.repo.join(name), text);
    }
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "tests"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let globs: Vec<String> = ["tests/**", "*.lock", "/ci", "!tests/free/**"].map(str::to_owned).to_vec();
    assert!(
        fx.workspaces
            .restore_protected(ws, &ws.base_commit, &globs, "turn", &mut Vec::new())
            .await
            .expect("protect")
            .is_empty()
    );
    write(&ws.dir.join("tests/a.rs"), "weakened");
    std::fs::rename(ws.dir.join("tests/deep/b.rs"), ws.dir.join("moved.rs")).expect("mv");
    std::fs::remove_file(ws.dir.join("tests/c.rs")).expect("rm");
    write(&ws.dir.join("tests/new\nskip.rs"), "added");
    write(&ws.dir.join("tests/free/own.rs"), "allowed");
    write(&ws.dir.join("crate/Cargo.lock"), "changed");
    std::fs::remove_dir_all(ws.dir.join("ci")).expect("rm");
    write(&ws.dir.join("ci"), "a file in the way");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "the agent commits it"]);
    let changed =
        fx.workspaces.restore_protected(ws, &ws.base_commit, &globs, "turn", &mut Vec::new()).await.expect("protect");
    assert_eq!(
        listed(&changed),
        [
            "ci added",
            "ci/x.yml deleted",
            "crate/Cargo.lock modified",
            "tests/a.rs modified",
            "tests/c.rs deleted",
            "tests/deep/b.rs deleted",
            "tests/new\\x0askip.rs added",
        ]
    );
    assert_eq!(read(&ws.dir.join("tests/a.rs")), "a");
    assert_eq!(read(&ws.dir.join("ci/x.yml")), "x");
    assert!(!ws.dir.join("tests/new\nskip.rs").exists());
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(crate::fixture::names(&one), ["moved.rs added", "tests/free/own.rs added"], "the net change");
    assert!(
        fx.workspaces
            .restore_protected(ws, &ws.base_commit, &globs, "turn", &mut Vec::new())
            .await
            .expect("protect")
            .is_empty()
    );
}
