//! Submodules are there in the workspace and in the judge's checkout, and nothing in them is judged but what is committed.

use std::path::{Path, PathBuf};

use crate::fixture::{Fixture, assert_clean, first, names, next, read, write};
use windlass_workspace::{Judge, Keep, Kind, Opened, Reopen};

/// A library with one commit, beside the repository.
fn library(fx: &Fixture, name: &str) -> PathBuf {
    let dir = fx.top().join(name);
    std::fs::create_dir_all(&dir).expect("mkdir");
    fx.git(&dir, &["init", "-q"]);
    write(&dir.join("lib.c"), format!("int {name};\n"));
    write(&dir.join(".gitignore"), "*.o\n");
    fx.git(&dir, &["add", "-A"]);
    fx.git(&dir, &["commit", "-qm", "library"]);
    dir
}

/// A project with the submodule `libs/sub`, which has a submodule `deep` itself. What they came from is gone.
fn project() -> Fixture {
    let fx = Fixture::new();
    let (sub, deep) = (library(&fx, "sub"), library(&fx, "deep"));
    fx.git(&sub, &["submodule", "--quiet", "add", &deep.display().to_string(), "deep"]);
    fx.git(&sub, &["commit", "-qam", "deep"]);
    fx.git(&fx.repo, &["submodule", "--quiet", "add", &sub.display().to_string(), "libs/sub"]);
    fx.git(&fx.repo, &["submodule", "--quiet", "update", "--init", "--recursive"]);
    fx.git(&fx.repo, &["commit", "-qam", "submodule"]);
    for dir in [sub, deep] {
        std::fs::remove_dir_all(dir).expect("remove");
    }
    fx
}

async fn judge(fx: &Fixture, opened: &Opened, commit: &str) -> (Judge, PathBuf) {
    let judge = fx.workspaces.judge(&opened.workspace, &fx.top().join("judge")).await.expect("judge");
    judge.reset(commit, commit, Keep::Nothing).await.expect("reset");
    let tree = judge.tree();
    (judge, tree)
}

fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

#[tokio::test]
// promise: work-17
async fn workspace_and_judge_have_submodules_without_a_remote() {
    let fx = project();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    assert_eq!(opened.notes, Vec::<String>::new());
    let (judge, tree) = judge(&fx, &opened, &ws.base_commit).await;
    for top in [&ws.dir, &tree] {
        assert_eq!(read(&top.join("libs/sub/lib.c")), "int sub;\n");
        assert_eq!(read(&top.join("libs/sub/deep/lib.c")), "int deep;\n");
        assert_eq!(fx.git(top, &["status", "--porcelain"]), "");
        assert_eq!(fx.git(&top.join("libs/sub"), &["status", "--porcelain"]), "");
        assert_eq!(fx.git(&top.join("libs/sub/deep"), &["log", "--format=%s"]), "library");
    }
    assert_clean(&fx, ws);
    let nothing = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(!nothing.created && nothing.held_back.is_empty(), "{nothing:?}");
    // What a gate does in them is undone.
    write(&tree.join("libs/sub/lib.c"), "broken\n");
    write(&tree.join("libs/sub/deep/new"), "new\n");
    write(&tree.join("libs/sub/x.o"), "ignored\n");
    let put_back = judge.put_back().await.expect("put back");
    assert_eq!(crate::fixture::listed(&put_back), ["libs/sub/deep/new added", "libs/sub/lib.c modified"]);
    judge.reset("again", &ws.base_commit, Keep::Nothing).await.expect("reset");
    assert_eq!(read(&tree.join("libs/sub/lib.c")), "int sub;\n");
    assert!(!exists(&tree.join("libs/sub/x.o")) && !exists(&tree.join("libs/sub/deep/new")));
}

#[tokio::test]
// promise: work-17
async fn commits_in_a_submodule_move_its_pointer_and_are_in_the_users_repository_of_it() {
    let fx = project();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let sub = ws.dir.join("libs/sub");
    write(&sub.join("lib.c"), "int better;\n");
    fx.git(&sub, &["commit", "-qam", "better"]);
    let made = fx.git(&sub, &["rev-parse", "HEAD"]);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["libs/sub modified"]);
    assert_eq!(one.held_back, Vec::<String>::new());
    assert!(fx.git(&fx.repo, &["ls-tree", "windlass/fix", "libs/sub"]).contains(&made));
    let (_, tree) = judge(&fx, &opened, one.commit.as_deref().expect("commit")).await;
    assert_eq!(read(&tree.join("libs/sub/lib.c")), "int better;\n");
    assert_eq!(read(&tree.join("libs/sub/deep/lib.c")), "int deep;\n");
    // The user merges and follows, without any remote.
    fx.git(&fx.repo, &["merge", "-q", "windlass/fix"]);
    fx.git(&fx.repo, &["submodule", "--quiet", "update"]);
    assert_eq!(read(&fx.repo.join("libs/sub/lib.c")), "int better;\n");
}

#[tokio::test]
// promise: work-17
async fn uncommitted_files_in_a_submodule_are_held_back_kept_and_seen_by_no_gate() {
    let fx = project();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("libs/sub/lib.c"), "int hidden;\n");
    write(&ws.dir.join("libs/sub/deep/more.c"), "more\n");
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a added"]);
    let why = "a submodule with uncommitted files: commit them in it, or undo them";
    assert_eq!(one.held_back, [format!("libs/sub ({why})"), format!("libs/sub/deep ({why})")]);
    let commit = one.commit.clone().expect("commit");
    let (_, tree) = judge(&fx, &opened, &commit).await;
    assert_eq!(read(&tree.join("libs/sub/lib.c")), "int sub;\n");
    assert!(!exists(&tree.join("libs/sub/deep/more.c")));
    let kept = fx.git(&fx.repo.join("libs/sub"), &["for-each-ref", "--format=%(refname)", "refs/windlass/id-fix"]);
    assert_eq!(fx.git(&fx.repo.join("libs/sub"), &["show", &format!("{kept}:lib.c")]), "int hidden;");
    // A fresh start finds the checkpoint, in submodules too.
    let how = Reopen::ResetTo { commit, save_as: ws.keep_ref("cut", "t2") };
    fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert_eq!(read(&ws.dir.join("libs/sub/lib.c")), "int sub;\n");
    assert!(!exists(&ws.dir.join("libs/sub/deep/more.c")));
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert!(!two.created && two.held_back.is_empty(), "{two:?}");
}

#[tokio::test]
async fn a_pointer_that_moves_or_goes_leaves_nothing_of_what_was_there() {
    let fx = project();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let base = ws.base_commit.clone();
    let (judge, tree) = judge(&fx, &opened, &base).await;
    // To a commit without the inner submodule.
    let sub = ws.dir.join("libs/sub");
    fx.git(&sub, &["checkout", "-q", "HEAD~1"]);
    std::fs::remove_dir_all(sub.join("deep")).expect("remove");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!((names(&one), one.held_back.len()), (vec!["libs/sub modified".to_owned()], 0));
    judge.reset("1", one.commit.as_deref().expect("commit"), Keep::Nothing).await.expect("reset");
    assert!(exists(&tree.join("libs/sub/lib.c")) && !exists(&tree.join("libs/sub/deep")));
    // Its place is taken by a file of the project.
    fx.git(&ws.dir, &["rm", "-qf", "libs/sub"]);
    write(&ws.dir.join("libs/sub/mine.c"), "mine\n");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    judge.reset("2", two.commit.as_deref().expect("commit"), Keep::Nothing).await.expect("reset");
    assert_eq!(read(&tree.join("libs/sub/mine.c")), "mine\n");
    assert!(!exists(&tree.join("libs/sub/lib.c")) && !exists(&tree.join("libs/sub/.git")));
    // And back again.
    judge.reset("3", &base, Keep::Nothing).await.expect("reset");
    assert_eq!(read(&tree.join("libs/sub/deep/lib.c")), "int deep;\n");
    assert!(!exists(&tree.join("libs/sub/mine.c")));
}

#[tokio::test]
// promise: work-17
async fn an_agents_gitmodules_leads_nowhere() {
    let fx = project();
    let outside = library(&fx, "outside");
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let text = format!(
        "[submodule \"../../outside\"]\n\tpath = libs/sub\n\turl = {0}\n[submodule \"x\"]\n\tpath = ../outside\n\turl = {0}\n",
        outside.display()
    );
    write(&ws.dir.join(".gitmodules"), text);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    let (_, tree) = judge(&fx, &opened, one.commit.as_deref().expect("commit")).await;
    assert_eq!(read(&tree.join("libs/sub/lib.c")), "int sub;\n");
    // A pointer to a commit that only another repository has is an empty directory, and blocks a claim.
    let foreign = fx.git(&outside, &["rev-parse", "HEAD"]);
    write(&ws.dir.join("libs/sub/.git/HEAD"), format!("{foreign}\n"));
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert!(two.held_back.iter().any(|held| held.contains("commit cannot be kept")), "{:?}", two.held_back);
    assert!(!fx.git(&fx.repo, &["ls-tree", "windlass/fix", "libs/sub"]).contains(&foreign));
}

#[tokio::test]
async fn a_link_in_the_place_of_a_submodule_is_not_written_through() {
    let fx = project();
    let outside = fx.top().join("elsewhere");
    write(&outside.join("lib.c"), "the user's\n");
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    std::fs::remove_dir_all(ws.dir.join("libs")).expect("remove");
    std::fs::create_dir(ws.dir.join("libs")).expect("mkdir");
    std::os::unix::fs::symlink(&outside, ws.dir.join("libs/sub")).expect("link");
    let how = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: ws.keep_ref("cut", "t1") };
    fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert_eq!(read(&outside.join("lib.c")), "the user's\n");
    assert_eq!(read(&ws.dir.join("libs/sub/lib.c")), "int sub;\n");
}

#[tokio::test]
async fn a_pointer_that_nothing_declares_is_named() {
    let fx = project();
    let head = fx.git(&fx.repo, &["rev-parse", "HEAD"]);
    let entry = format!("160000,{},vendor/lost", head.trim());
    fx.git(&fx.repo, &["update-index", "--add", "--cacheinfo", &entry]);
    fx.git(&fx.repo, &["commit", "-qm", "a pointer"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let [note] = &opened.notes[..] else { panic!("{:?}", opened.notes) };
    assert!(note.contains("does not declare stay empty: vendor/lost ("), "{note}");
}

#[tokio::test]
async fn a_submodule_that_the_user_has_not_is_empty_and_named() {
    let fx = project();
    fx.git(&fx.repo, &["submodule", "--quiet", "deinit", "--all", "-f"]);
    std::fs::remove_dir_all(fx.repo.join(".git/modules")).expect("remove");
    let opened = fx.open("fix", Kind::Clone).await;
    assert!(opened.notes[0].contains("stay empty: libs/sub"), "{:?}", opened.notes);
    assert_eq!(fx.workspaces.missing_submodules(&fx.repo).await.expect("submodules"), ["libs/sub"]);
    let (_, tree) = judge(&fx, &opened, &opened.workspace.base_commit).await;
    for top in [&opened.workspace.dir, &tree] {
        assert_eq!(std::fs::read_dir(top.join("libs/sub")).expect("directory").count(), 0);
    }
    let one = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(!one.created && one.held_back.is_empty(), "{one:?}");
}

#[tokio::test]
async fn submodule_that_only_the_agent_has_is_empty_for_the_judge() {
    let fx = project();
    let outside = library(&fx, "outside");
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["submodule", "--quiet", "add", &outside.display().to_string(), "new"]);
    // A commit of the project itself is on this machine too.
    let head = fx.git(&fx.repo, &["rev-parse", "HEAD"]);
    fx.git(&ws.dir, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},itself")]);
    fx.git(&ws.dir, &["commit", "-qam", "pointers"]);
    // One that moved is the user's still.
    fx.git(&ws.dir, &["mv", "libs/sub", "moved"]);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(one.notes.iter().any(|note| note.starts_with("new is a new submodule")), "{:?}", one.notes);
    let (_, tree) = judge(&fx, &opened, one.commit.as_deref().expect("commit")).await;
    for path in ["new", "itself"] {
        assert!(std::fs::read_dir(tree.join(path)).map_or(0, Iterator::count) == 0, "{path}");
    }
    assert_eq!(read(&tree.join("moved/lib.c")), "int sub;\n");
}
