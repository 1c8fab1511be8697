//! What an agent puts into a git directory does not lead the engine's git, which is in no sandbox, out of the workspace.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::fixture::{Fixture, first, names, next, read, write};
use windlass_workspace::{DiffTo, Kind};

/// Puts a link in the place of what is there.
fn link(at: &Path, to: &Path) {
    std::fs::create_dir_all(at.parent().expect("parent")).expect("mkdir");
    let _ = std::fs::remove_file(at);
    let _ = std::fs::remove_dir_all(at);
    symlink(to, at).expect("link");
}

/// A repository that the agent may not read.
fn vault(fx: &Fixture) -> PathBuf {
    let dir = fx.top().join("vault");
    std::fs::create_dir_all(&dir).expect("mkdir");
    fx.git(&dir, &["init", "-q", "-b", "main"]);
    write(&dir.join("passwords"), "top secret\n");
    fx.git(&dir, &["add", "-A"]);
    fx.git(&dir, &["commit", "-qm", "vault"]);
    dir
}

#[tokio::test]
async fn links_in_a_clones_git_directory_have_nothing_written_where_they_lead() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let (rc, outside) = (fx.top().join("bashrc"), fx.top().join("outside"));
    write(&rc, "mine\n");
    std::fs::create_dir(&outside).expect("mkdir");
    let mut last = None;
    let planted =
        ["COMMIT_EDITMSG", "logs/HEAD", "logs/refs/heads/windlass/fix", "refs/heads", "objects/ab", "packed-refs"];
    for (number, place) in planted.into_iter().enumerate() {
        link(
            &ws.dir.join(".git").join(place),
            if place.contains('.') || place == "refs/heads" { &outside } else { &rc },
        );
        write(&ws.dir.join("file"), number.to_string());
        fx.workspaces.diff(ws, "HEAD", &DiffTo::Worktree).await.expect("looking follows no link");
        let turn = format!("t{number}");
        let request = last.as_ref().map_or_else(|| first(&opened, &turn), |last| next(last, &turn));
        let made = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
        assert_eq!(made.commit, Some(fx.rev("windlass/fix")), "{place}");
        assert_eq!(fx.rev("windlass/fix^"), request.previous_head, "{place}");
        assert_eq!(read(&rc), "mine\n", "{place}");
        assert_eq!(std::fs::read_dir(&outside).expect("outside").count(), 0, "{place}");
        last = Some(made);
    }
}

#[tokio::test]
async fn in_place_a_new_link_in_the_git_directory_is_refused_and_the_users_own_is_not() {
    let fx = Fixture::new();
    let (rc, hooks) = (fx.top().join("bashrc"), fx.top().join("hooks"));
    write(&rc, "mine\n");
    std::fs::create_dir(&hooks).expect("mkdir");
    link(&fx.repo.join(".git/hooks"), &hooks);
    let opened = fx.open("fix", Kind::InPlace).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("file"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("the user's link is no matter");
    assert_eq!(names(&one), ["file added"]);
    link(&ws.dir.join(".git").join("COMMIT_EDITMSG"), &rc);
    write(&ws.dir.join("file"), "2");
    let error = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect_err("planted");
    assert!(error.to_string().contains("COMMIT_EDITMSG is a link that did not exist"), "{error}");
    assert_eq!(read(&rc), "mine\n");
}

#[tokio::test]
async fn a_nested_repository_that_leads_out_of_the_workspace_is_not_fetched_from() {
    let fx = Fixture::new();
    let vault = vault(&fx);
    let git_dir = vault.join(".git");
    let head = fx.git(&vault, &["rev-parse", "HEAD"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let sub = |name: &str| ws.dir.join(name);
    write(&sub("by-file/.git"), format!("gitdir: {}\n", git_dir.display()));
    link(&sub("by-link/.git"), &git_dir);
    for name in ["by-common", "by-alternates", "by-objects", "own"] {
        std::fs::create_dir(sub(name)).expect("mkdir");
        fx.git(&sub(name), &["init", "-q", "-b", "main"]);
        write(&sub(name).join(".git/HEAD"), format!("{head}\n"));
    }
    write(&sub("by-common/.git/commondir"), git_dir.display().to_string());
    write(&sub("by-alternates/.git/objects/info/alternates"), format!("{}\n", git_dir.join("objects").display()));
    link(&sub("by-objects/.git/objects"), &git_dir.join("objects"));
    write(&sub("own/.git/HEAD"), "ref: refs/heads/main\n");
    fx.git(&sub("own"), &["commit", "-q", "--allow-empty", "-m", "own"]);
    for name in ["by-file", "by-link", "by-common", "by-alternates", "by-objects", "own"] {
        write(&sub(name).join("file"), name);
    }
    let made = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    let (found, _, _) = fx.try_git(&fx.repo, &["cat-file", "-e", &head]);
    assert!(!found, "the vault's history is in the user's repository: {:?}", made.notes);
    let refs = fx.git(&fx.repo, &["for-each-ref", "--format=%(refname)", "refs/windlass/id-fix/nested"]);
    assert!(refs.contains("nested/own-") && refs.lines().count() == 1, "{refs}");
    assert_eq!(names(&made).len(), 6, "files are committed all the same: {:?}", names(&made));
    assert!(
        made.notes.iter().any(|note| note.contains("by-link is a link to outside the workspace")),
        "{:?}",
        made.notes
    );
}

#[tokio::test]
async fn replaced_objects_hide_nothing_from_the_engine() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("file"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "mine"]);
    fx.git(&ws.dir, &["replace", "HEAD", "HEAD~"]);
    let made = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!((names(&made), made.agent_commits.len()), (vec!["file added".to_owned()], 1));
    assert_eq!(made.notes, Vec::<String>::new());
}

#[tokio::test]
async fn pipes_that_git_would_wait_at_hold_up_nothing() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    for dir in ["deep/er", "nested/.git/objects", "nested/.git/refs"] {
        std::fs::create_dir_all(ws.dir.join(dir)).expect("mkdir");
    }
    let pipes = [".gitignore", ".gitattributes", ".gitmodules", "deep/er/.gitignore", "nested/.git/HEAD", "talk"];
    for pipe in pipes {
        let made = std::process::Command::new("mkfifo").arg(ws.dir.join(pipe)).status().expect("mkfifo");
        assert!(made.success());
    }
    for file in ["deep/er/file", "nested/file"] {
        write(&ws.dir.join(file), "1");
    }
    let made = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&made), ["deep/er/file added", "nested/file added"]);
    let left: Vec<_> = pipes.into_iter().filter(|pipe| ws.dir.join(pipe).exists()).collect();
    assert_eq!(left, ["talk"], "a pipe that git has no business with stays");
    assert_eq!(made.held_back, ["talk (git cannot store it: it is a pipe, a socket or a device)"]);
}

#[tokio::test]
async fn submodule_replaced_by_a_link_is_committed_as_a_link() {
    let fx = Fixture::new();
    let vault = vault(&fx);
    let library = fx.top().join("library");
    std::fs::create_dir_all(&library).expect("mkdir");
    fx.git(&library, &["init", "-q"]);
    write(&library.join("code"), "1\n");
    fx.git(&library, &["add", "-A"]);
    fx.git(&library, &["commit", "-qm", "library"]);
    fx.git(&fx.repo, &["submodule", "add", "-q", &library.display().to_string(), "libs/sub"]);
    fx.git(&fx.repo, &["commit", "-qm", "submodule"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    for (turn, place) in [("t1", "libs/sub"), ("t2", "libs")] {
        link(&ws.dir.join(place), &vault);
        let request = first(&opened, turn);
        let made = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
        let entry = fx.git(&fx.repo, &["ls-tree", "windlass/fix", place]);
        assert!(entry.starts_with("120000 blob"), "{entry}");
        let everything = fx.git(&fx.repo, &["rev-list", "--objects", "--all"]);
        assert!(!everything.contains("passwords"), "{place}: {:?}", made.notes);
        fx.workspaces
            .rollback(ws, &ws.base_commit, &ws.keep_ref("rolled", turn))
            .await
            .expect("the next variant starts from the base");
    }
}

#[tokio::test]
// promise: safety-7
async fn exclude_files_and_settings_of_the_clone_hide_nothing_from_a_checkpoint() {
    let fx = Fixture::new();
    write(&fx.repo.join(".git/info/exclude"), "*.tmp\n");
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join(".git/info/exclude"), "fixed\n");
    write(&fx.top().join("data/hidden"), "also\n");
    fx.git(&ws.dir, &["config", "core.excludesFile", &fx.top().join("data/hidden").display().to_string()]);
    fx.git(&ws.dir, &["config", "core.sparseCheckout", "true"]);
    write(&ws.dir.join(".git/info/sparse-checkout"), "/README\n");
    for file in ["fixed", "also", "junk.tmp"] {
        write(&ws.dir.join(file), "1");
    }
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["also added", "fixed added"], "the user's own exclude file still counts");
}

#[tokio::test]
async fn agents_commits_with_hostile_packs_and_alternates_bring_nothing_from_outside() {
    let fx = Fixture::new();
    let vault = vault(&fx);
    let secret = fx.git(&vault, &["rev-parse", "HEAD"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    // The agent's own commits, packed by its own git.
    write(&ws.dir.join("a"), "1");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "mine"]);
    fx.git(&ws.dir, &["repack", "-adlq"]);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(one.agent_commits.len(), 1);
    // A branch that points to a commit which only an alternate of the agent's holds.
    let git_dir = ws.dir.join(".git");
    let lender = read(&git_dir.join("objects/info/alternates"));
    write(&git_dir.join("objects/info/alternates"), format!("{lender}{}\n", vault.join(".git/objects").display()));
    write(&git_dir.join("refs/heads/windlass/fix"), format!("{secret}\n"));
    write(&ws.dir.join("b"), "2");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["b added"]);
    assert_eq!(fx.rev("windlass/fix^"), one.commit.expect("commit"));
    assert!(!fx.try_git(&fx.repo, &["cat-file", "-e", &secret]).0, "nothing of the vault was read");
    // A loose object whose content is another's.
    write(&ws.dir.join("c"), "3");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "mine"]);
    let commit = fx.git(&ws.dir, &["rev-parse", "HEAD"]);
    let (folder, file) = commit.split_at(2);
    let loose = ws.dir.join(".git/objects").join(folder).join(file);
    let other = fx.git(&ws.dir, &["rev-parse", "HEAD:c"]);
    let (folder, file) = other.split_at(2);
    std::fs::remove_file(&loose).expect("rm");
    std::fs::copy(ws.dir.join(".git/objects").join(folder).join(file), &loose).expect("copy");
    let three = fx
        .workspaces
        .checkpoint(ws, &next(&windlass_workspace::Checkpoint { commit: Some(fx.rev("windlass/fix")), ..two }, "t3"))
        .await
        .expect("checkpoint");
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:c"]), "3", "{:?}", three.notes);
    fx.git(&fx.repo, &["fsck", "--no-dangling"]);
}
