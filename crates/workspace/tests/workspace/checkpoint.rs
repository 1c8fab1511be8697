//! Checkpoints on a linked worktree: what is committed, how often git runs, and that a second call changes nothing.

use crate::fixture::{Fixture, after, assert_clean, first, names, next, read, write};
use windlass_workspace::{CommitMode, Kind, Reopen, RestoreRequest};

#[tokio::test]
// promise: work-1
async fn a_clone_is_made_on_its_own_branch_and_the_users_checkout_stays_as_it_was() {
    let fx = Fixture::new();
    write(&fx.repo.join("dirty"), "x");
    let before = fx.user_state();
    let opened = fx.open("fix", Kind::Clone).await;
    assert_eq!(opened.uncommitted_left_out, 1);
    assert_eq!(opened.workspace.base_commit, fx.rev("main"));
    assert_eq!(opened.base_tree, fx.rev("main^{tree}"));
    assert!(opened.workspace.dir.starts_with(fx.top().join("data")));
    assert_eq!(read(&opened.workspace.dir.join("README")), "hello\n");
    assert!(!opened.workspace.dir.join("dirty").exists());
    assert_clean(&fx, &opened.workspace);
    assert_eq!(fx.user_state(), before);
}

#[tokio::test]
// promise: work-3
async fn a_checkpoint_commits_what_is_on_disk_with_trailers() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    write(&ws.dir.join("README"), "changed\n");
    std::fs::remove_file(ws.dir.join("src/main.rs")).expect("rm");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(checkpoint.created);
    assert_eq!(names(&checkpoint), ["README modified", "a added", "src/main.rs deleted"]);
    let commit = checkpoint.commit.clone().expect("commit");
    assert_eq!(commit, fx.rev("windlass/fix"));
    assert_eq!(checkpoint.tree, fx.rev("windlass/fix^{tree}"));
    assert_eq!(
        fx.git(&fx.repo, &["log", "-1", "--format=%B%an", "windlass/fix"]),
        "[iter-1] t1\n\nbody\n\nWindlass-Loop: fix\nWindlass-Iteration: 1\nWindlass-Turn: t1\nAda"
    );
    assert_eq!(
        fx.git(&fx.repo, &["log", "-1", "--format=%(trailers:key=Windlass-Turn,valueonly)", "windlass/fix"]),
        "t1"
    );
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn git_starts_once_for_a_checkpoint_once_it_has_shown_who_commits() {
    let fx = Fixture::new();
    let (workspaces, spawns) = fx.counting();
    let opened = workspaces.create(&fx.request("fix", Kind::Clone)).await.expect("create");
    let ws = &opened.workspace;
    spawns.take();
    let nothing = workspaces.checkpoint(ws, &first(&opened, "t0")).await.expect("checkpoint");
    assert_eq!(spawns.take(), ["add"]);
    assert!(!nothing.created);
    assert_eq!(nothing.commit.as_deref(), Some(opened.workspace.base_commit.as_str()));
    write(&ws.dir.join("a"), "1");
    let changed = workspaces.checkpoint(ws, &next(&nothing, "t1")).await.expect("checkpoint");
    assert_eq!(spawns.take(), ["add", "commit", "cat-file"]);
    std::fs::rename(ws.dir.join("a"), ws.dir.join("b")).expect("mv");
    let renamed = workspaces.checkpoint(ws, &next(&changed, "t2")).await.expect("checkpoint");
    assert_eq!(spawns.take(), ["add", "diff-index"]);
    assert_eq!(names(&renamed), ["b renamed from a"]);
    let restore = RestoreRequest {
        commit: renamed.commit.clone().expect("commit"),
        tree: Some(renamed.tree.clone()),
        save_as: None,
        never_commit: Vec::new(),
    };
    assert!(!workspaces.restore_to(ws, &restore).await.expect("restore").restored);
    assert_eq!(spawns.take(), ["add"]);
}

#[tokio::test]
// promise: work-4
async fn the_same_turn_is_committed_once_even_if_its_answer_was_lost() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let request = first(&opened, "t1");
    let once = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    let again = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert_eq!(again.commit, once.commit);
    assert_eq!(again.tree, once.tree);
    assert_eq!(again.files, once.files);
    assert!(again.agent_commits.is_empty());
    assert!(!again.created);
    assert_eq!(fx.git(&fx.repo, &["rev-list", "--count", "main..windlass/fix"]), "1");
}

#[tokio::test]
async fn an_agents_commit_with_a_forged_turn_does_not_hide_what_it_left_over() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "x\n\nWindlass-Turn: t1"]);
    write(&ws.dir.join("b"), "2");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(checkpoint.created);
    assert_eq!(names(&checkpoint), ["a added", "b added"]);
    assert_eq!(checkpoint.tree, fx.workspaces.tree_hash(ws, &[]).await.expect("tree"));
}

#[tokio::test]
// promise: work-5
async fn commits_of_the_agent_are_listed_and_leftovers_committed_on_top() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    for name in ["one", "two"] {
        write(&ws.dir.join(name), name);
        fx.git(&ws.dir, &["add", "-A"]);
        fx.git(&ws.dir, &["commit", "-qm", name]);
    }
    let commits = fx.git(&ws.dir, &["rev-list", "--reverse", "main..HEAD"]);
    let mut request = first(&opened, "t1");
    request.mode = CommitMode::Agent;
    let clean = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert!(!clean.created);
    assert_eq!(clean.agent_commits.join("\n"), commits);
    assert_eq!(clean.commit.as_deref(), Some(clean.agent_commits[1].as_str()));
    assert_eq!(names(&clean), ["one added", "two added"]);
    write(&ws.dir.join("three"), "3");
    let leftover = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert!(leftover.created);
    assert_eq!(leftover.agent_commits, clean.agent_commits);
    assert_eq!(names(&leftover), ["one added", "three added", "two added"]);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn a_sections_end_is_a_commit_even_if_nothing_is_left() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let mut request = first(&opened, "t1");
    request.section = Some("1: parser".into());
    let checkpoint = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert!(checkpoint.created);
    assert!(checkpoint.files.is_empty());
    assert_eq!(checkpoint.tree, opened.base_tree);
    let again = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert_eq!((again.commit, again.created), (checkpoint.commit, false));
    assert!(fx.git(&ws.dir, &["log", "-1", "--format=%B"]).contains("Windlass-Section: 1: parser"));
}

#[tokio::test]
// promise: work-6
async fn commit_off_gives_a_tree_and_touches_neither_branch_nor_index() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let status = fx.git(&ws.dir, &["status", "--porcelain"]);
    let index = std::fs::read(ws.dir.join(".git").join("index")).expect("index");
    let mut request = first(&opened, "t1");
    request.mode = CommitMode::Off;
    let checkpoint = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert_eq!(checkpoint.commit, None);
    assert_eq!(names(&checkpoint), ["a added"]);
    assert_eq!(checkpoint.tree, fx.workspaces.tree_hash(ws, &[]).await.expect("tree"));
    assert_eq!(fx.rev("windlass/fix"), fx.rev("main"));
    assert_eq!(std::fs::read(ws.dir.join(".git").join("index")).expect("index"), index);
    assert_eq!(fx.git(&ws.dir, &["status", "--porcelain"]), status);
    // The next turn reports only what it changed itself.
    write(&ws.dir.join("b"), "1");
    request.previous_tree = Some(checkpoint.tree);
    request.turn_id = "t2".into();
    assert_eq!(names(&fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint")), ["b added"]);
}

#[tokio::test]
async fn after_gates_the_tree_returns_to_the_commit_and_ignored_files_stay() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join(".gitignore"), "target/\n");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&ws.dir.join("target/out"), "built");
    write(&ws.dir.join("README"), "by a gate\n");
    write(&ws.dir.join("report.xml"), "by a gate");
    std::fs::remove_file(ws.dir.join("src/main.rs")).expect("rm");
    let request = RestoreRequest {
        commit: checkpoint.commit.clone().expect("commit"),
        tree: Some(checkpoint.tree.clone()),
        save_as: Some(ws.keep_ref("gate", "t1")),
        never_commit: Vec::new(),
    };
    let restored = fx.workspaces.restore_to(ws, &request).await.expect("restore");
    assert!(restored.restored);
    assert_eq!(
        crate::fixture::listed(&restored.changed),
        ["README modified", "report.xml added", "src/main.rs deleted"]
    );
    let saved = restored.saved.expect("saved");
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:report.xml", saved.name)]), "by a gate");
    assert_eq!(read(&ws.dir.join("README")), "hello\n");
    assert!(ws.dir.join("src/main.rs").exists());
    assert!(!ws.dir.join("report.xml").exists());
    assert!(ws.dir.join("target/out").exists());
    assert_clean(&fx, ws);
    let again = fx.workspaces.restore_to(ws, &request).await.expect("restore");
    assert!(!again.restored && again.changed.is_empty());
}

#[tokio::test]
async fn a_gate_that_commits_is_undone_and_reported() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&ws.dir.join("a"), "2");
    fx.git(&ws.dir, &["commit", "-qam", "sneaky"]);
    let sneaky = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
    let request = RestoreRequest {
        commit: checkpoint.commit.clone().expect("commit"),
        tree: Some(checkpoint.tree.clone()),
        save_as: Some(ws.keep_ref("gate", "t1")),
        never_commit: Vec::new(),
    };
    let restored = fx.workspaces.restore_to(ws, &request).await.expect("restore");
    assert_eq!(crate::fixture::listed(&restored.changed), ["a modified"]);
    assert_eq!(fx.rev("windlass/fix"), checkpoint.commit.expect("commit"));
    let saved = restored.saved.expect("saved");
    assert_eq!(fx.rev(&saved.name), sneaky);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn reopening_keeps_the_files_or_saves_and_resets_them() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&ws.dir.join("a"), "half done");
    let kept = fx.workspaces.reopen(ws, &Reopen::Keep).await.expect("reopen");
    assert!(!kept.recreated && !kept.reset && kept.saved.is_none());
    assert_eq!(read(&ws.dir.join("a")), "half done");
    let commit = checkpoint.commit.clone().expect("commit");
    let save_as = ws.keep_ref("cut", "t2");
    let how = Reopen::ResetTo { commit: commit.clone(), save_as: save_as.clone() };
    let reset = fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert!(reset.reset);
    assert_eq!(reset.saved.expect("saved").name, save_as);
    assert_eq!(read(&ws.dir.join("a")), "1");
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{save_as}:a")]), "half done");
    assert_clean(&fx, ws);
    let nothing = fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert!(!nothing.reset && nothing.saved.is_none());
    // A second, different state is kept beside the first.
    write(&ws.dir.join("a"), "other");
    let second = fx.workspaces.reopen(ws, &how).await.expect("reopen").saved.expect("saved");
    assert_eq!(second.name, format!("{save_as}-2"));
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{save_as}:a")]), "half done");
}

#[tokio::test]
async fn creating_again_gives_the_same_workspace_after_any_cut() {
    let fx = Fixture::new();
    let request = fx.request("fix", Kind::Clone);
    let opened = fx.workspaces.create(&request).await.expect("create");
    let again = fx.workspaces.create(&request).await.expect("again");
    assert_eq!(again, opened);
    let ws = &opened.workspace;
    // Cut after the checkout: the engine's index is missing.
    std::fs::remove_file(&ws.index).expect("rm");
    assert_eq!(fx.workspaces.create(&request).await.expect("again"), opened);
    assert_clean(&fx, ws);
    // Cut in the middle of the checkout.
    std::fs::remove_file(&ws.index).expect("rm");
    std::fs::remove_file(ws.dir.join("README")).expect("rm");
    write(&ws.dir.join(".git").join("locked"), "initializing");
    assert_eq!(fx.workspaces.create(&request).await.expect("again"), opened);
    assert_clean(&fx, ws);
    // Cut after the branch, with the user's HEAD moved meanwhile.
    std::fs::remove_file(&ws.index).expect("rm");
    std::fs::remove_dir_all(&ws.dir).expect("rm");
    std::fs::remove_dir_all(&ws.git_dir).expect("rm");
    write(&fx.repo.join("later"), "x");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "later"]);
    assert_eq!(fx.workspaces.create(&request).await.expect("again"), opened);
    assert!(!ws.dir.join("later").exists());
}

#[tokio::test]
async fn without_a_known_tree_the_answer_is_the_same() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let base = ws.base_commit.clone();
    let nothing = fx.workspaces.checkpoint(ws, &after("t0", &base, None)).await.expect("checkpoint");
    assert_eq!((nothing.created, nothing.tree.as_str()), (false, opened.base_tree.as_str()));
    write(&ws.dir.join("a"), "1");
    let checkpoint = fx.workspaces.checkpoint(ws, &after("t1", &base, None)).await.expect("checkpoint");
    assert_eq!(names(&checkpoint), ["a added"]);
    assert_eq!(checkpoint.tree, fx.rev("windlass/fix^{tree}"));
}
