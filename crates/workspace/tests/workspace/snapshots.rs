//! The files of a running turn, stored beside the branch and restored elsewhere.

use crate::fixture::{Fixture, first, names, write};
use windlass_workspace::{Kind, Reopen, Snapshot, SnapshotRequest, Unwanted, Workspace};

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn request(ws: &Workspace) -> SnapshotRequest {
    SnapshotRequest {
        head: ws.base_commit.clone(),
        turn: "1.coder.1".into(),
        never_commit: vec!["copied".into()],
        unwanted: Unwanted::default(),
    }
}

async fn taken(fx: &Fixture, ws: &Workspace) -> Option<Snapshot> {
    let taken = fx.workspaces.snapshot(ws, &request(ws)).await.expect("snapshot");
    if let Some(snapshot) = &taken {
        fx.workspaces.keep_snapshot(ws, snapshot).await.expect("keep");
    }
    taken
}

fn files(fx: &Fixture, commit: &str) -> Vec<String> {
    fx.git(&fx.repo, &["ls-tree", "-r", "--name-only", commit]).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn snapshot_has_the_files_on_disk_and_the_agents_git_notices_nothing() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    assert_eq!(taken(&fx, ws).await, None, "nothing changed yet");
    write(&ws.dir.join(".gitignore"), "target\n");
    write(&ws.dir.join("target/built"), "x");
    write(&ws.dir.join("copied"), "x");
    write(&ws.dir.join("new.rs"), "half");
    std::fs::remove_file(ws.dir.join("README")).expect("remove");
    // The agent is in the middle of its own work with git.
    fx.git(&ws.dir, &["add", "new.rs"]);
    let locked = ws.dir.join(".git/index.lock");
    write(&locked, "");
    let before = (fx.git(&ws.dir, &["status", "--porcelain=v2", "--branch"]), std::fs::read(&ws.index).expect("index"));
    let snapshot = taken(&fx, ws).await.expect("changed");
    let after = (fx.git(&ws.dir, &["status", "--porcelain=v2", "--branch"]), std::fs::read(&ws.index).expect("index"));
    assert_eq!(before, after);
    assert!(locked.exists());
    assert_eq!(files(&fx, &snapshot.commit), [".gitignore", "new.rs", "src/main.rs"]);
    assert_eq!(fx.rev(&format!("{}^", snapshot.commit)), ws.base_commit);
    assert_eq!(fx.rev("windlass/fix"), ws.base_commit, "no branch moves");
    assert_eq!(taken(&fx, ws).await, None, "nothing changed since");
    std::fs::remove_file(&locked).expect("remove");
    // The checkpoint is the one that would have been made without a snapshot.
    write(&ws.dir.join("new.rs"), "whole");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), [".gitignore added", "README deleted", "copied added", "new.rs added"]);
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:new.rs"]), "whole");
}

#[tokio::test]
async fn snapshot_leaves_out_secrets_large_files_and_nested_repositories() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("src/main.rs"), format!("// {KEY}\n"));
    write(&ws.dir.join(format!("name {KEY}")), "x");
    write(&ws.dir.join("deep/.env"), "PORT=1\n");
    std::os::unix::fs::symlink(format!("/x/{KEY}"), ws.dir.join("link")).expect("link");
    write(&ws.dir.join("large.bin"), vec![b'x'; 9 << 20]);
    fx.git(&ws.dir, &["init", "-q", "nested"]);
    write(&ws.dir.join("nested/file"), "x");
    fx.git(&ws.dir.join("nested"), &["add", "-A"]);
    fx.git(&ws.dir.join("nested"), &["commit", "-qm", "nested"]);
    write(&ws.dir.join("good.rs"), "good");
    let snapshot = taken(&fx, ws).await.expect("changed");
    assert_eq!(files(&fx, &snapshot.commit), ["README", "good.rs", "src/main.rs"]);
    assert_eq!(snapshot.files_changed, 1);
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:src/main.rs", snapshot.commit)]), "fn main() {}");
    // Nor are the objects anywhere in the user's repository.
    let all = fx.git(&fx.repo, &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!all.contains(KEY));
    assert!(all.contains("good"));
}

#[tokio::test]
async fn restored_files_are_changes_on_the_same_commit_and_the_checkpoint_takes_them() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("dir/new.rs"), "new");
    write(&ws.dir.join("src/main.rs"), "fn main() { 1 }\n");
    std::fs::remove_file(ws.dir.join("README")).expect("remove");
    let snapshot = taken(&fx, ws).await.expect("changed");
    assert_eq!(fx.workspaces.snapshots(ws).await.expect("list"), [snapshot.name.as_str()]);
    let found = fx.workspaces.snapshot_of(ws, "1.coder.1").await.expect("find");
    assert_eq!(found.as_ref(), Some(&snapshot.commit));
    assert_eq!(fx.workspaces.snapshot_of(ws, "1.coder.2").await.expect("find"), None);
    // Another machine has the commits alone.
    std::fs::remove_dir_all(&ws.dir).expect("lost");
    let reset = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: ws.keep_ref("cut", "1") };
    fx.workspaces.reopen(ws, &reset).await.expect("reopen");
    let restored = fx.workspaces.restore_snapshot(ws, &ws.base_commit, &snapshot.commit).await.expect("restore");
    assert_eq!(restored.expect("known").files_changed, 3);
    let status = fx.git(&ws.dir, &["diff", "HEAD", "--name-status"]);
    assert_eq!(status, "D\tREADME\nA\tdir/new.rs\nM\tsrc/main.rs");
    assert_eq!(fx.git(&ws.dir, &["rev-parse", "HEAD"]), ws.base_commit);
    assert_eq!(fx.git(&ws.dir, &["symbolic-ref", "--short", "HEAD"]), "windlass/fix");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t2")).await.expect("checkpoint");
    assert_eq!(names(&one), ["README deleted", "dir/new.rs added", "src/main.rs modified"]);
    // It is of a commit that is no longer the last.
    let head = one.commit.expect("commit");
    assert_eq!(fx.workspaces.restore_snapshot(ws, &head, &snapshot.commit).await.expect("restore"), None);
    let gone = "0123456789012345678901234567890123456789";
    assert_eq!(fx.workspaces.restore_snapshot(ws, &head, gone).await.expect("restore"), None);
}
