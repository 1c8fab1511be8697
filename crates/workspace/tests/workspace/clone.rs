//! The shared clone: the user's repository gets the loop's refs and nothing else.

use crate::fixture::{Fixture, assert_clean, first, names, next, read, write};
use windlass_workspace::{Kind, Reopen, WorkspaceError};

#[tokio::test]
async fn each_checkpoint_is_fetched_home_and_the_checkout_stays_as_it_was() {
    let fx = Fixture::new();
    fx.git(&fx.repo, &["remote", "add", "origin", "https://example.org/x.git"]);
    fx.git(&fx.repo, &["branch", "other"]);
    write(&fx.repo.join("dirty"), "x");
    write(&fx.repo.join(".git/info/exclude"), "*.tmp\n");
    let before = fx.user_state();
    let config = read(&fx.repo.join(".git/config"));
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    assert_eq!(opened.uncommitted_left_out, 1);
    assert!(!ws.git_dir.starts_with(&ws.dir), "the engine works with a git directory that the agent cannot write");
    assert_clean(&fx, ws);
    assert_eq!(fx.git(&ws.dir, &["rev-parse", "main", "other"]).lines().count(), 2, "the agent sees other branches");
    assert_eq!(fx.git(&ws.dir, &["remote", "get-url", "origin"]), "https://example.org/x.git");
    assert_eq!(fx.git(&ws.dir, &["remote", "get-url", "--push", "origin"]), "this-clone-pushes-nowhere");
    write(&ws.dir.join("a"), "1");
    write(&ws.dir.join("junk.tmp"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a added"]);
    assert_eq!(one.commit, Some(fx.rev("windlass/fix")));
    assert_clean(&fx, ws);
    // The agent's own commits and rewritten history come home too.
    write(&ws.dir.join("b"), "2");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-q", "--amend", "-m", "amended"]);
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(two.commit, Some(fx.rev("windlass/fix")));
    assert_eq!(Some(fx.rev(&ws.keep_ref("rewritten", "t2"))), one.commit, "saved refs come home");
    assert_eq!(fx.user_state(), before);
    assert_eq!(read(&fx.repo.join(".git/config")), config);
    assert!(!fx.repo.join(".git/FETCH_HEAD").exists());
}

#[tokio::test]
async fn creating_again_after_a_cut_gives_the_same_clone() {
    let fx = Fixture::new();
    let request = fx.request("fix", Kind::Clone);
    let opened = fx.workspaces.create(&request).await.expect("create");
    let ws = &opened.workspace;
    assert_eq!(fx.workspaces.create(&request).await.expect("again"), opened);
    std::fs::remove_file(&ws.index).expect("rm");
    std::fs::remove_file(ws.dir.join("README")).expect("rm");
    std::fs::remove_file(ws.dir.join(".git").join("index")).expect("rm");
    assert_eq!(fx.workspaces.create(&request).await.expect("again"), opened);
    assert_clean(&fx, ws);
    std::fs::rename(&ws.dir, fx.top().join("data/worktrees/id-fix.partial")).expect("mv");
    std::fs::remove_file(&ws.index).expect("rm");
    assert_eq!(fx.workspaces.create(&request).await.expect("again"), opened);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn a_branch_that_the_user_has_checked_out_is_not_moved_under_their_feet() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&fx.repo, &["switch", "-q", "windlass/fix"]);
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(one.notes.iter().any(|note| note.contains("is checked out")), "{:?}", one.notes);
    assert_eq!(fx.rev("windlass/fix"), ws.base_commit);
    assert_eq!(Some(fx.rev(&ws.keep_ref("head", "branch"))), one.commit);
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
    fx.git(&fx.repo, &["switch", "-q", "main"]);
    write(&ws.dir.join("b"), "1");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(two.commit, Some(fx.rev("windlass/fix")));
}

#[tokio::test]
async fn a_deleted_git_directory_is_made_again_from_the_last_checkpoint() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    std::fs::remove_dir_all(ws.dir.join(".git")).expect("rm");
    write(&ws.dir.join("b"), "2");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["b added"]);
    assert_eq!(two.commit, Some(fx.rev("windlass/fix")));
    assert_eq!(Some(fx.rev("windlass/fix^")), one.commit);
    assert_clean(&fx, ws);
    // The link to the lender.
    std::fs::remove_file(ws.dir.join(".git").join("objects/info/alternates")).expect("rm");
    write(&ws.dir.join("c"), "3");
    let three = fx.workspaces.checkpoint(ws, &next(&two, "t3")).await.expect("checkpoint");
    assert_eq!(names(&three), ["c added"]);
    // A file in its place.
    std::fs::rename(ws.dir.join(".git"), ws.dir.join("stolen")).expect("mv");
    write(&ws.dir.join(".git"), "gitdir: stolen\n");
    std::fs::remove_dir_all(ws.dir.join("stolen")).expect("rm");
    write(&ws.dir.join("d"), "4");
    let four = fx.workspaces.checkpoint(ws, &next(&three, "t4")).await.expect("checkpoint");
    assert_eq!(names(&four), ["d added"]);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn a_missing_clone_is_made_again_and_a_reset_saves_at_home() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    std::fs::remove_dir_all(&ws.dir).expect("rm");
    assert!(fx.workspaces.reopen(ws, &Reopen::Keep).await.expect("reopen").recreated);
    assert_eq!(read(&ws.dir.join("a")), "1");
    assert_clean(&fx, ws);
    write(&ws.dir.join("a"), "cut off");
    let save_as = ws.keep_ref("cut", "t2");
    let how = Reopen::ResetTo { commit: one.commit.clone().expect("commit"), save_as: save_as.clone() };
    assert!(fx.workspaces.reopen(ws, &how).await.expect("reset").reset);
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{save_as}:a")]), "cut off");
    assert_eq!(read(&ws.dir.join("a")), "1");
    std::fs::remove_dir_all(&ws.dir).expect("rm");
    fx.git(&fx.repo, &["branch", "-qD", "windlass/fix"]);
    let error = fx.workspaces.reopen(ws, &Reopen::Keep).await.expect_err("gone");
    assert!(matches!(error, WorkspaceError::WorkspaceMissing { .. }), "{error}");
}

#[tokio::test]
async fn removing_a_clone_brings_its_stray_branches_and_stashes_home() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["switch", "-qc", "experiment"]);
    write(&ws.dir.join("e"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "experiment"]);
    fx.git(&ws.dir, &["switch", "-q", "windlass/fix"]);
    write(&ws.dir.join("README"), "stashed\n");
    fx.git(&ws.dir, &["stash", "-q"]);
    write(&ws.dir.join("dirty"), "1");
    let removed = fx.workspaces.remove(ws, None).await.expect("remove");
    assert!(!ws.dir.exists());
    let saved: Vec<&str> = removed.saved.iter().map(|saved| saved.name.as_str()).collect();
    assert_eq!(saved.len(), 3, "{saved:?}");
    for saved in &removed.saved {
        assert_eq!(fx.rev(&saved.name), saved.commit);
    }
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:dirty", saved[0])]), "1");
}

#[tokio::test]
async fn a_shallow_repository_can_lend_too() {
    let fx = Fixture::new();
    for n in 0..3 {
        write(&fx.repo.join("n"), n.to_string());
        fx.git(&fx.repo, &["add", "-A"]);
        fx.git(&fx.repo, &["commit", "-qm", "more"]);
    }
    let shallow = fx.top().join("shallow");
    fx.git(&fx.top(), &["clone", "-q", "--depth=1", &format!("file://{}", fx.repo.display()), "shallow"]);
    let mut request = fx.request("fix", Kind::Clone);
    request.project = shallow.clone();
    let opened = fx.workspaces.create(&request).await.expect("create");
    write(&opened.workspace.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(one.commit, Some(fx.git(&shallow, &["rev-parse", "windlass/fix"])));
}

#[tokio::test]
async fn a_checkpoint_of_files_alone_needs_no_fetch_and_leaves_nothing_missing_at_home() {
    let fx = Fixture::new();
    let (workspaces, spawns) = fx.counting();
    let opened = workspaces.create(&fx.request("fix", Kind::Clone)).await.expect("create");
    let ws = &opened.workspace;
    spawns.take();
    // The agent has the same content in its own store already, where home cannot see it.
    write(&ws.dir.join("dir/a"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["write-tree"]);
    let one = workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(spawns.take(), ["add", "commit", "cat-file"]);
    assert_eq!(one.commit, Some(fx.rev("windlass/fix")));
    assert_clean(&fx, ws);
    fx.git(&fx.repo, &["fsck", "--connectivity-only", "--no-dangling"]);
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:dir/a"]), "1");
    // Cut between the commit and the branch at home: the next call brings it there.
    fx.git(&fx.repo, &["update-ref", "refs/heads/windlass/fix", &ws.base_commit]);
    let again = workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!((again.commit, again.created), (one.commit.clone(), false));
    assert_eq!(one.commit, Some(fx.rev("windlass/fix")));
}

#[tokio::test]
async fn content_that_an_earlier_call_staged_comes_home_too() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("dir/a"), "1");
    write(&ws.dir.join("README"), "weakened\n");
    let undone = fx
        .workspaces
        .restore_protected(ws, &ws.base_commit, &["README".into()], "turn", &mut Vec::new())
        .await
        .expect("protect");
    assert_eq!(undone.len(), 1);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["dir/a added"]);
    write(&ws.dir.join("dir/b"), "2");
    fx.workspaces.save(ws, &ws.keep_ref("saved", "x"), &[]).await.expect("save").expect("saved");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(two.commit, Some(fx.rev("windlass/fix")));
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:dir/b"]), "2");
    fx.git(&fx.repo, &["fsck", "--connectivity-only", "--no-dangling"]);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn a_clone_that_git_cannot_work_with_is_made_again_and_its_files_are_committed() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let objects = || {
        let dirs = std::fs::read_dir(ws.dir.join(".git").join("objects"))
            .expect("objects")
            .map(|dir| dir.expect("dir").path());
        let loose = dirs.filter(|dir| dir.file_name().is_some_and(|name| name.len() == 2));
        loose
            .flat_map(|dir| std::fs::read_dir(dir).expect("dir").map(|file| file.expect("file").path()))
            .collect::<Vec<_>>()
    };
    let ways = ["shallow", "objects", "branch", "index", "head"];
    let mut last = None;
    for (number, way) in ways.into_iter().enumerate() {
        write(&ws.dir.join("file"), way);
        fx.git(&ws.dir, &["add", "-A"]);
        fx.git(&ws.dir, &["commit", "-qm", "mine"]);
        write(&ws.dir.join("more"), way);
        match way {
            "shallow" => write(&ws.dir.join(".git").join("shallow"), fx.git(&ws.dir, &["rev-parse", "HEAD"])),
            "objects" => objects().into_iter().for_each(|file| {
                std::fs::remove_file(&file).expect("rm");
                write(&file, "garbage");
            }),
            "branch" => write(&ws.dir.join(".git").join("refs/heads/windlass/fix"), format!("{:040}\n", 1)),
            "head" => write(&ws.dir.join(".git/HEAD"), "[garbage\n"),
            "index" => {
                let file = ws.dir.join(".git/index");
                std::fs::remove_file(&file).expect("rm");
                std::fs::create_dir(&file).expect("mkdir");
            }
            _ => unreachable!(),
        }
        let turn = format!("t{number}");
        let request = last.as_ref().map_or_else(|| first(&opened, &turn), |last| next(last, &turn));
        let mut notes = Vec::new();
        write(&ws.dir.join("README"), "weakened\n");
        let globs = ["README".to_owned()];
        let undone = fx.workspaces.restore_protected(ws, &request.previous_head, &globs, "turn", &mut notes).await;
        assert_eq!(undone.unwrap_or_else(|error| panic!("{way}: {error}")).len(), 1, "{way}");
        notes.retain(|note| !note.starts_with("changes to protected files are saved"));
        let made = fx.workspaces.checkpoint(ws, &request).await.unwrap_or_else(|error| panic!("{way}: {error}"));
        notes.extend(made.notes.clone());
        assert_eq!(notes.is_empty(), way == "shallow", "{way}: {notes:?}");
        assert_eq!(made.commit, Some(fx.rev("windlass/fix")), "{way}");
        assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:file"]), way);
        assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:more"]), way);
        assert_clean(&fx, ws);
        last = Some(made);
    }
}
