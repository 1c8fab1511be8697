//! Repositories inside the workspace: their content is never lost.

use crate::fixture::{Fixture, assert_clean, first, names, next, read, write};
use windlass_workspace::Kind;

fn library(fx: &Fixture) -> std::path::PathBuf {
    let dir = fx.top().join("library");
    std::fs::create_dir_all(&dir).expect("mkdir");
    fx.git(&dir, &["init", "-q"]);
    write(&dir.join("lib.c"), "int x;\n");
    fx.git(&dir, &["add", "-A"]);
    fx.git(&dir, &["commit", "-qm", "library"]);
    dir
}

#[tokio::test]
async fn a_nested_repository_is_committed_as_plain_files_and_its_history_kept() {
    let fx = Fixture::new();
    write(&fx.repo.join(".gitignore"), "*.o\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "ignore"]);
    let library = library(&fx);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let nested = ws.dir.join("vendor/lib");
    fx.git(&ws.dir, &["clone", "-q", &library.display().to_string(), "vendor/lib"]);
    write(&nested.join("mine.c"), "uncommitted\n");
    write(&nested.join("junk.o"), "ignored by the outer rules\n");
    write(&nested.join("deep/inner/file"), "1");
    fx.git(&nested.join("deep/inner"), &["init", "-q"]);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["vendor/lib/deep/inner/file added", "vendor/lib/lib.c added", "vendor/lib/mine.c added"]);
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:vendor/lib/mine.c"]), "uncommitted");
    assert!(nested.join(".git").is_dir(), "the nested repository stays as it is");
    let refs = fx.git(&fx.repo, &["for-each-ref", "--format=%(objectname) %(refname)", "refs/windlass/id-fix/nested"]);
    let head = fx.git(&library, &["rev-parse", "HEAD"]);
    assert!(refs.starts_with(&head), "{refs}");
    assert!(one.notes.iter().any(|note| note.contains("vendor/lib") && note.contains("nested")), "{:?}", one.notes);
    // From now on they are ordinary files.
    write(&nested.join("mine.c"), "changed\n");
    write(&nested.join("new.c"), "new\n");
    std::fs::remove_file(nested.join("lib.c")).expect("rm");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["vendor/lib/lib.c deleted", "vendor/lib/mine.c modified", "vendor/lib/new.c added"]);
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn a_nested_repository_without_a_commit_is_committed_as_plain_files() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("sub/file"), "1");
    write(&ws.dir.join("other"), "2");
    fx.git(&ws.dir.join("sub"), &["init", "-q"]);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["other added", "sub/file added"]);
    assert!(!fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint").created);
}

#[tokio::test]
async fn a_nested_repository_that_the_agent_committed_as_a_pointer_keeps_its_content() {
    let fx = Fixture::new();
    let library = library(&fx);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["clone", "-q", &library.display().to_string(), "lib"]);
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "pointer"]);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(one.agent_commits.len(), 1);
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:lib/lib.c"]), "int x;");
}

#[tokio::test]
async fn a_submodule_stays_one_and_its_commits_and_files_are_kept() {
    let fx = Fixture::new();
    let library = library(&fx);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["submodule", "--quiet", "add", &library.display().to_string(), "lib"]);
    let sub = ws.dir.join("lib");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), [".gitmodules added", "lib added"]);
    assert!(fx.git(&fx.repo, &["ls-tree", "windlass/fix", "lib"]).starts_with("160000 commit"));
    // The agent commits inside it, and leaves something uncommitted there.
    write(&sub.join("lib.c"), "int y;\n");
    fx.git(&sub, &["commit", "-qam", "inside"]);
    write(&sub.join("dirt"), "uncommitted\n");
    let inside = fx.git(&sub, &["rev-parse", "HEAD"]);
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["lib modified"]);
    assert!(fx.git(&fx.repo, &["ls-tree", "windlass/fix", "lib"]).contains(&inside));
    assert_eq!(fx.git(&fx.repo, &["cat-file", "-t", &inside]), "commit", "the pointer can be followed at home");
    let kept = fx.git(&fx.repo, &["for-each-ref", "--format=%(refname)", "refs/windlass/id-fix/nested"]);
    let tree = kept.lines().find(|name| name.contains("t2") && name.contains("tree")).expect("tree kept");
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{tree}:dirt")]), "uncommitted");
    // Removed again.
    fx.git(&ws.dir, &["rm", "-qf", "lib"]);
    let three = fx.workspaces.checkpoint(ws, &next(&two, "t3")).await.expect("checkpoint");
    assert_eq!(names(&three), [".gitmodules modified", "lib deleted"]);
}

#[tokio::test]
async fn submodules_of_the_project_are_left_as_they_are() {
    let fx = Fixture::new();
    let library = library(&fx);
    fx.git(&fx.repo, &["submodule", "--quiet", "add", &library.display().to_string(), "lib"]);
    fx.git(&fx.repo, &["commit", "-qam", "submodule"]);
    {
        let kind = Kind::Clone;
        let opened = fx.open(&format!("{kind:?}").to_lowercase(), kind).await;
        let ws = &opened.workspace;
        assert!(ws.dir.join("lib").is_dir());
        let nothing = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert!(!nothing.created, "{:?}", nothing.files);
        write(&ws.dir.join("a"), "1");
        let one = fx.workspaces.checkpoint(ws, &first(&opened, "t2")).await.expect("checkpoint");
        assert_eq!(names(&one), ["a added"]);
        assert_eq!(read(&fx.repo.join("lib/lib.c")), "int x;\n");
    }
}
