//! Commits that are written without git: the same as git's, and git's own where anything is out of the ordinary.

use std::path::Path;

use crate::fixture::{Fixture, assert_clean, first, names, next, read, write};
use windlass_workspace::{Checkpoint, Kind, Workspace};

/// A commit by git and one that is written here, one turn each, then what git makes of the same files.
#[tokio::test]
async fn a_commit_written_here_is_the_one_that_git_makes() {
    let fx = Fixture::new();
    let (workspaces, spawns) = fx.counting();
    let opened = workspaces.create(&fx.request("fix", Kind::Clone)).await.expect("create");
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    all_kinds_of_files(&ws.dir);
    spawns.take();
    let two = workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    // Files were added and deleted: git says what was renamed. It commits nothing.
    assert_eq!(spawns.take(), ["add", "diff-index"]);
    let commit = two.commit.clone().expect("a commit");
    assert_eq!(two.tree, by_git(&fx, ws));
    fx.git(&ws.git_dir, &["fsck", "--strict", "windlass/fix"]);
    assert_clean(&fx, ws);
    let who =
        |commit: &str| fx.git(&fx.repo, &["log", "-1", "--format=%an <%ae> %cn <%ce> %ad", "--date=format:%z", commit]);
    let before = one.commit.expect("a commit");
    assert_eq!(who(&commit), who(&before));
    let parent_and_tree = fx.git(&fx.repo, &["log", "-1", "--format=%P %T", &commit]);
    assert_eq!(parent_and_tree, format!("{before} {}", two.tree));
    let message = fx.git(&fx.repo, &["log", "-1", "--format=%B", &commit]);
    assert_eq!(message.lines().next(), Some("[iter-1] t2"));
    let log = fx.git(&fx.repo, &["reflog", "-2", "--format=%H %gs", "windlass/fix"]);
    assert_eq!(log.lines().next(), Some(format!("{commit} commit: [iter-1] t2").as_str()));
    assert_eq!(log.lines().count(), 2);
}

/// Names that sort differently as files and as directories, modes, links, depth.
fn all_kinds_of_files(dir: &Path) {
    for name in ["a-b", "a.b/c", "a0", "deep/er/and/deeper", "deep/er/an", "deep-", "ä/ö", "with space", "src/new.rs"]
    {
        write(&dir.join(name), name);
    }
    std::fs::remove_file(dir.join("a")).expect("rm");
    write(&dir.join("a/b"), "now a directory");
    std::os::unix::fs::symlink("nowhere", dir.join("link")).expect("a link");
    let run = dir.join("run.sh");
    write(&run, "#!/bin/sh\n");
    std::fs::set_permissions(&run, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("chmod");
    std::fs::remove_file(dir.join("src/main.rs")).expect("rm");
}

#[tokio::test]
async fn an_index_of_each_shape_makes_the_tree_that_git_writes() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("seed"), "1");
    let mut last = fx.workspaces.checkpoint(ws, &first(&opened, "t0")).await.expect("checkpoint");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = |most: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % most
    };
    for turn in 1..40 {
        for _ in 0..=draw(6) {
            let depth = draw(4);
            let path = (0..=depth).map(|_| ["a", "b", "a.", "a-", "b0", "é"][draw(6) as usize]).collect::<Vec<_>>();
            let place = ws.dir.join(path.join("/"));
            match draw(4) {
                0 => drop(std::fs::remove_dir_all(&place).or_else(|_| std::fs::remove_file(&place))),
                _ if place.is_dir() || place.ancestors().skip(1).any(|above| above.is_file()) => {}
                _ => write(&place, format!("{turn}")),
            }
        }
        last = fx.workspaces.checkpoint(ws, &next(&last, &format!("t{turn}"))).await.expect("checkpoint");
        let tree = by_git(&fx, ws);
        assert_eq!(last.tree, tree, "turn {turn}");
    }
    fx.git(&ws.git_dir, &["fsck", "--strict", "windlass/fix"]);
}

/// The tree of the files on disk, by a git that knows nothing of the engine's index.
fn by_git(fx: &Fixture, ws: &Workspace) -> String {
    let index = fx.top().join("another.index");
    let _ = std::fs::remove_file(&index);
    let run = |args: &[&str]| {
        let output = std::process::Command::new("git")
            .args(args)
            .env("GIT_INDEX_FILE", &index)
            .env("GIT_DIR", &ws.git_dir)
            .env("GIT_COMMON_DIR", &ws.common_dir)
            .env("GIT_WORK_TREE", &ws.dir)
            .current_dir(&ws.dir)
            .output()
            .expect("git starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    run(&["add", "-A"]);
    run(&["write-tree"])
}

/// Two checkpoints, so that the next could be written here.
async fn shown(fx: &Fixture, ws: &Workspace, one: &Checkpoint) -> Checkpoint {
    write(&ws.dir.join("shown"), "1");
    fx.workspaces.checkpoint(ws, &next(one, "shown")).await.expect("checkpoint")
}

#[tokio::test]
async fn a_branch_that_somebody_locked_waits_for_git() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    let one = shown(&fx, ws, &one).await;
    // Left by a process that is gone: git says who has it, and the engine removes it.
    let lock = ws.common_dir.join("refs/heads/windlass/fix.lock");
    write(&lock, "");
    write(&ws.dir.join("b"), "2");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["b added"]);
    assert!(!lock.exists());
    assert_eq!(two.commit.as_deref(), Some(fx.rev("windlass/fix").as_str()));
}

#[tokio::test]
async fn a_branch_among_packed_refs_is_moved_by_git() {
    let fx = Fixture::new();
    let (workspaces, spawns) = fx.counting();
    let opened = workspaces.create(&fx.request("fix", Kind::Clone)).await.expect("create");
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    fx.git(&fx.repo, &["pack-refs", "--all"]);
    write(&ws.dir.join("b"), "2");
    spawns.take();
    let two = workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(spawns.take(), ["add", "commit", "cat-file"]);
    assert_eq!(two.commit.as_deref(), Some(fx.rev("windlass/fix").as_str()));
}

#[tokio::test]
async fn a_commit_in_the_users_checkout_is_gits_own() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::InPlace).await;
    let ws = &opened.workspace;
    let mut last = None;
    for turn in ["t1", "t2", "t3"] {
        write(&ws.dir.join(turn), "1");
        let request = last.as_ref().map_or_else(|| first(&opened, turn), |last| next(last, turn));
        last = Some(fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint"));
        assert_eq!(read(&ws.git_dir.join("COMMIT_EDITMSG")).lines().next(), Some(format!("[iter-1] {turn}").as_str()));
    }
}

#[tokio::test]
async fn who_commits_is_asked_again_after_a_rest() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    fx.git(&fx.repo, &["config", "user.name", "Grace"]);
    fx.workspaces.rest(ws);
    write(&ws.dir.join("b"), "2");
    fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(fx.git(&fx.repo, &["log", "-1", "--format=%an", "windlass/fix"]), "Grace");
}
