//! A secret leaves no object in the user's repository, whatever the agent did with it and whatever kept the work.

use std::path::Path;

use crate::fixture::{Fixture, first, names, next, write};
use windlass_workspace::{CommitMode, Kind, Reopen};

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// Fails if any object of the repository holds the key, whatever refers to it, or if something is left of a quarantine.
fn assert_nowhere(fx: &Fixture, dir: &Path, what: &str) {
    let all = fx.git(dir, &["cat-file", "--batch-all-objects", "--unordered", "--batch"]);
    assert!(!all.contains(KEY), "{what}: stored in {}", dir.display());
    let objects = dir.join(fx.git(dir, &["rev-parse", "--git-path", "objects"]));
    let left = std::fs::read_dir(&objects).expect("objects").map(|entry| entry.expect("entry").file_name());
    // An empty one is kept for the next checkpoint.
    let holds = |name: &std::ffi::OsString| {
        let found = std::fs::read_dir(objects.join(name)).expect("a directory");
        found.map(|entry| entry.expect("entry").file_name()).any(|name| name != "info")
    };
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("tmp_")).filter(holds).collect();
    assert!(left.is_empty(), "{what}: {left:?}");
    fx.git(dir, &["fsck", "--strict", "--connectivity-only"]);
}

fn commit_all(fx: &Fixture, dir: &Path, message: &str) {
    fx.git(dir, &["add", "-A"]);
    fx.git(dir, &["commit", "-qm", message]);
}

#[tokio::test]
async fn commits_of_the_agent_are_searched_before_they_are_taken() {
    for what in ["in the last commit", "for a while", "in a message", "on another branch", "in a stopped merge"] {
        let fx = Fixture::new();
        let opened = fx.open("fix", Kind::Clone).await;
        let ws = &opened.workspace;
        let elsewhere = matches!(what, "on another branch" | "in a stopped merge");
        if elsewhere {
            fx.git(&ws.dir, &["switch", "-qc", "other"]);
        }
        write(&ws.dir.join("e"), if what == "in a message" { "plain" } else { KEY });
        commit_all(&fx, &ws.dir, if what == "in a message" { KEY } else { "one" });
        match what {
            "for a while" => {
                write(&ws.dir.join("e"), "plain");
                commit_all(&fx, &ws.dir, "two");
            }
            "on another branch" => {
                let other = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
                fx.git(&ws.dir, &["switch", "-q", "windlass/fix"]);
                write(&ws.dir.join("mine"), "plain");
                commit_all(&fx, &ws.dir, "mine");
                fx.git(&ws.dir, &["checkout", "-q", "--detach", &other]);
                std::fs::remove_file(ws.dir.join("e")).expect("remove");
            }
            "in a stopped merge" => {
                let other = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
                fx.git(&ws.dir, &["switch", "-q", "windlass/fix"]);
                write(&ws.dir.join(".git/MERGE_HEAD"), format!("{other}\n"));
            }
            _ => {}
        }
        write(&ws.dir.join("good"), "good\n");
        let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert!(names(&one).contains(&"good added".to_owned()), "{what}: {one:?}");
        assert_nowhere(&fx, &fx.repo, what);
        // What was found is not found again.
        if !elsewhere && what != "in the last commit" {
            let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
            assert!(two.notes.is_empty() && two.files.is_empty(), "{what}: {two:?}");
        }
    }
}

#[tokio::test]
async fn clean_commits_of_the_agent_and_what_it_keeps_elsewhere_are_taken_whole() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "a\n");
    commit_all(&fx, &ws.dir, "mine");
    write(&ws.dir.join(".git/MERGE_HEAD"), {
        fx.git(&ws.dir, &["switch", "-qc", "other", "main"]);
        write(&ws.dir.join("e"), KEY);
        commit_all(&fx, &ws.dir, "secret");
        let other = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
        fx.git(&ws.dir, &["switch", "-q", "windlass/fix"]);
        format!("{other}\n")
    });
    write(&ws.dir.join("b"), "b\n");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a added", "b added"]);
    assert_eq!(one.agent_commits.len(), 1);
    assert!(one.notes.iter().any(|note| note.contains(".bundle")), "{:?}", one.notes);
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:b"]), "b");
    assert_eq!(fx.git(&fx.repo, &["log", "--format=%s", "-1", "windlass/fix^"]), "mine");
    assert_nowhere(&fx, &fx.repo, "beside clean work");
}

#[tokio::test]
async fn cut_off_undone_removed_and_protected_work_is_kept_outside() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("src/main.rs"), format!("// {KEY}\n"));
    let protect = ["src/**".to_owned()];
    let restored = fx.workspaces.restore_protected(ws, &ws.base_commit, &protect, "t1", &mut Vec::new()).await;
    assert_eq!(restored.expect("restore").len(), 1);
    assert_nowhere(&fx, &fx.repo, "protected");

    write(&ws.dir.join("new"), KEY);
    let how = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: ws.keep_ref("cut", "t2") };
    let reopened = fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert!(reopened.saved.expect("saved").name.ends_with(".bundle"));
    assert!(!ws.dir.join("new").exists());
    assert_nowhere(&fx, &fx.repo, "cut off");

    write(&ws.dir.join("new"), KEY);
    commit_all(&fx, &ws.dir, "mine");
    fx.workspaces.rollback(ws, &ws.base_commit, &ws.keep_ref("undone", "t3")).await.expect("rollback");
    assert!(!ws.dir.join("new").exists());
    assert_nowhere(&fx, &fx.repo, "undone");

    write(&ws.dir.join("new"), KEY);
    let saved = fx.workspaces.save(ws, &ws.keep_ref("saved", "t4"), &[]).await.expect("save").expect("saved");
    assert!(saved.name.ends_with(".bundle"), "{}", saved.name);
    assert_nowhere(&fx, &fx.repo, "saved");

    fx.git(&ws.dir, &["switch", "-qc", "experiment"]);
    commit_all(&fx, &ws.dir, "mine");
    fx.workspaces.remove(ws, None).await.expect("remove");
    assert_nowhere(&fx, &fx.repo, "removed");
}

#[tokio::test]
async fn work_without_a_secret_that_was_cut_off_is_whole() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("deep/new"), "new\n");
    commit_all(&fx, &ws.dir, "mine");
    write(&ws.dir.join("deep/more"), "more\n");
    let name = ws.keep_ref("cut", "t1");
    let how = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: name.clone() };
    fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{name}:deep/more")]), "more");
    assert_eq!(fx.git(&fx.repo, &["log", "--format=%s", "-1", &format!("{name}^")]), "mine");
    assert_nowhere(&fx, &fx.repo, "cut off");
}

#[tokio::test]
async fn a_loop_without_commits_writes_no_object() {
    for kind in [Kind::Clone, Kind::InPlace] {
        let fx = Fixture::new();
        let opened = fx.open("fix", kind).await;
        let ws = &opened.workspace;
        let count = || fx.git(&fx.repo, &["count-objects", "-v"]);
        let before = count();
        write(&ws.dir.join("one"), KEY);
        let off = |request| windlass_workspace::CheckpointRequest { mode: CommitMode::Off, ..request };
        let one = fx.workspaces.checkpoint(ws, &off(first(&opened, "t1"))).await.expect("checkpoint");
        assert_eq!(names(&one), ["one added"]);
        write(&ws.dir.join("two"), "two\n");
        let mut request = off(first(&opened, "t2"));
        request.previous_tree = Some(one.tree.clone());
        let two = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
        assert_eq!(names(&two), ["two added"]);
        let changed = fx.workspaces.changed_since(ws, &ws.base_commit, &[]).await.expect("changes");
        assert_eq!(changed.len(), 2);
        assert_eq!(count(), before);
        assert_nowhere(&fx, &fx.repo, "no commits");
    }
}
