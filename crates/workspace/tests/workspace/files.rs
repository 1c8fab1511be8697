//! Kinds of files and names: each reaches the checkpoint, or stays out of it, as said.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::fixture::{Fixture, assert_clean, first, names, next, read, write};
use windlass_workspace::{Kind, Reopen};

#[tokio::test]
// promise: work-7
async fn names_with_newlines_quotes_and_foreign_bytes_are_kept_exactly() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let raw: [&[u8]; 7] =
        [b"new\nline", b"bytes-\xff\xfe", "ä ö.txt".as_bytes(), b"a\"quote", b"a", b"-dash", b"*glob?[x]"];
    for name in raw {
        write(&ws.dir.join(std::ffi::OsStr::from_bytes(name)), name);
    }
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    let mut seen: Vec<Vec<u8>> = checkpoint.files.iter().map(|file| file.path.as_bytes().to_vec()).collect();
    let mut wanted: Vec<Vec<u8>> = raw.iter().map(|name| name.to_vec()).collect();
    seen.sort();
    wanted.sort();
    assert_eq!(seen, wanted);
    let json = serde_json::to_string(&checkpoint).expect("json");
    let back: windlass_workspace::Checkpoint = serde_json::from_str(&json).expect("back");
    assert_eq!(back, checkpoint);
    assert_clean(&fx, ws);
    // Also as what git reports: deleted again, through `diff-tree`.
    for name in raw {
        std::fs::remove_file(ws.dir.join(std::ffi::OsStr::from_bytes(name))).expect("rm");
    }
    let since =
        fx.workspaces.changed_since(ws, checkpoint.commit.as_deref().expect("commit"), &[]).await.expect("changed");
    assert_eq!(since.len(), raw.len());
}

#[tokio::test]
// promise: work-7
async fn renames_with_and_without_edits_are_recognised() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let long: String = (0..100).map(|n| format!("line {n}\n")).collect();
    write(&ws.dir.join("old"), &long);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    std::fs::remove_file(ws.dir.join("old")).expect("rm");
    write(&ws.dir.join("dir/new"), long.replace("line 50\n", "changed\n"));
    std::fs::rename(ws.dir.join("README"), ws.dir.join("readme.md")).expect("mv");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["dir/new renamed from old", "readme.md renamed from README"]);
}

#[tokio::test]
async fn permissions_links_and_changes_of_type_are_changes() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    std::fs::set_permissions(ws.dir.join("README"), std::fs::Permissions::from_mode(0o755)).expect("chmod");
    symlink("/etc/passwd", ws.dir.join("link")).expect("link");
    symlink("nowhere", ws.dir.join("dangling")).expect("link");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["README modified", "dangling added", "link added"]);
    assert!(fx.git(&ws.dir, &["ls-tree", "HEAD", "link"]).starts_with("120000"), "the link, not what it points to");
    assert!(fx.git(&ws.dir, &["ls-tree", "HEAD", "README"]).starts_with("100755"));
    std::fs::remove_file(ws.dir.join("README")).expect("rm");
    symlink("link", ws.dir.join("README")).expect("link");
    std::fs::remove_dir_all(ws.dir.join("src")).expect("rm");
    write(&ws.dir.join("src"), "a file now");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["README type_changed", "src added", "src/main.rs deleted"]);
    // And back again, through a reset.
    let how = Reopen::ResetTo { commit: one.commit.expect("commit"), save_as: ws.keep_ref("cut", "t3") };
    assert!(fx.workspaces.reopen(ws, &how).await.expect("reset").reset);
    assert_eq!(read(&ws.dir.join("src/main.rs")), "fn main() {}\n");
    assert_eq!(read(&ws.dir.join("README")), "hello\n");
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn ignored_files_stay_out_and_stay_there_and_empty_directories_are_nothing() {
    let fx = Fixture::new();
    write(&fx.repo.join(".gitignore"), "*.log\n/build/\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "ignore"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("x.log"), "1");
    write(&ws.dir.join("build/out"), "1");
    std::fs::create_dir_all(ws.dir.join("empty/deeper")).expect("mkdir");
    let checkpoint = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(!checkpoint.created && checkpoint.files.is_empty());
    let how = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: ws.keep_ref("cut", "t2") };
    fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert!(ws.dir.join("x.log").exists() && ws.dir.join("build/out").exists() && ws.dir.join("empty/deeper").exists());
}

#[tokio::test]
async fn files_named_as_never_to_be_committed_stay_out() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join(".env"), "SECRET=1");
    write(&ws.dir.join("conf/local.key"), "secret");
    write(&ws.dir.join("pkg/local.key"), "not named");
    let mut request = first(&opened, "t1");
    request.never_commit = vec![".env".into(), "conf/*.key".into()];
    let one = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert_eq!(names(&one), ["pkg/local.key added"]);
    assert_eq!(one.tree, fx.workspaces.tree_hash(ws, &request.never_commit).await.expect("tree"));
    let mut nothing = next(&one, "t2");
    nothing.never_commit = request.never_commit.clone();
    assert!(!fx.workspaces.checkpoint(ws, &nothing).await.expect("checkpoint").created);
    assert_eq!(read(&ws.dir.join(".env")), "SECRET=1");
}

#[tokio::test]
async fn line_endings_follow_the_users_setting_and_nothing_is_refused() {
    let fx = Fixture::new();
    fx.git(&fx.repo, &["config", "--global", "core.autocrlf", "true"]);
    fx.git(&fx.repo, &["config", "--global", "core.safecrlf", "true"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    assert_eq!(read(&ws.dir.join("README")), "hello\r\n");
    write(&ws.dir.join("crlf"), "a\r\nb\r\n");
    write(&ws.dir.join("mixed"), "a\r\nb\n");
    write(&ws.dir.join("binary"), b"\0\r\n\xff");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["binary added", "crlf added", "mixed added"]);
    assert_eq!(fx.git(&ws.dir, &["cat-file", "-p", "HEAD:crlf"]), "a\nb");
    let nothing = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert!(!nothing.created, "{:?}", nothing.files);
}

#[tokio::test]
async fn a_users_own_filter_such_as_lfs_works_in_both_directions() {
    let fx = Fixture::new();
    fx.git(&fx.repo, &["config", "--global", "filter.lfs.clean", "tr a-z A-Z"]);
    fx.git(&fx.repo, &["config", "--global", "filter.lfs.smudge", "tr A-Z a-z"]);
    fx.git(&fx.repo, &["config", "--global", "filter.lfs.required", "true"]);
    write(&fx.repo.join(".gitattributes"), "*.bin filter=lfs\n");
    write(&fx.repo.join("old.bin"), "old");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "lfs"]);
    assert_eq!(fx.git(&fx.repo, &["cat-file", "-p", "HEAD:old.bin"]), "OLD");
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    assert_eq!(read(&ws.dir.join("old.bin")), "old");
    write(&ws.dir.join("new.bin"), "new");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["new.bin added"]);
    assert_eq!(fx.git(&ws.dir, &["cat-file", "-p", "HEAD:new.bin"]), "NEW");
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn files_that_git_cannot_take_are_left_out_and_reported() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&fx.repo, &["config", "--global", "filter.lfs.clean", "no-such-program-here"]);
    fx.git(&fx.repo, &["config", "--global", "filter.lfs.required", "true"]);
    write(
        &ws.dir.join(".gitattributes"),
        "*.bin filter=lfs\n*.txt working-tree-encoding=UTF-16\n*.odd working-tree-encoding=FOO-9\n",
    );
    write(&ws.dir.join("new.bin"), "new");
    write(&ws.dir.join("dir/it's a.txt"), "no mark");
    write(&ws.dir.join("b.odd"), "x");
    write(&ws.dir.join("fine"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), [".gitattributes added", "fine added"]);
    let mut held = one.held_back.clone();
    held.sort();
    assert_eq!(held.len(), 3, "{held:?}");
    assert!(held[0].starts_with("b.odd (git cannot store it: failed to encode"), "{held:?}");
    assert!(held[1].starts_with("dir/it's a.txt (git cannot store it: BOM is required"), "{held:?}");
    assert!(held[2].starts_with("new.bin (git cannot store it: the filter 'lfs' failed"), "{held:?}");
    // Nothing else stands still for them, and nothing is lost.
    fx.workspaces.save(ws, &ws.keep_ref("saved", "x"), &[]).await.expect("save");
    let how = Reopen::ResetTo { commit: one.commit.clone().expect("commit"), save_as: ws.keep_ref("cut", "t2") };
    fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert_eq!(read(&ws.dir.join("new.bin")), "new");
    write(&ws.dir.join(".gitattributes"), "");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(two.held_back, Vec::<String>::new());
    assert_eq!(two.files.len(), 4, "{:?}", names(&two));
}

#[tokio::test]
async fn enormous_file_is_left_out_and_leaves_nothing_in_the_object_store() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let sparse = std::fs::File::create(ws.dir.join("sparse.img")).expect("create");
    if sparse.set_len(10 << 40).is_err() {
        // This file system has no sparse files of that size.
        return;
    }
    write(&ws.dir.join("fine"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["fine added"]);
    assert_eq!(one.held_back, ["sparse.img (git cannot store it: larger than 4 GiB)"]);
    let packs = std::fs::read_dir(fx.repo.join(".git/objects/pack")).expect("packs").count();
    assert_eq!(packs, 0, "no unfinished pack is left");
}

#[tokio::test]
async fn twenty_thousand_new_files_are_one_checkpoint() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    for dir in 0..200 {
        let dir = ws.dir.join(format!("d{dir}"));
        std::fs::create_dir(&dir).expect("mkdir");
        for file in 0..100 {
            std::fs::write(dir.join(format!("f{file}")), format!("{file}")).expect("write");
        }
    }
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(one.files.len(), 20_000);
    assert_eq!(fx.git(&ws.dir, &["ls-files"]).lines().count(), 20_002);
    assert!(!fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint").created);
}

#[tokio::test]
async fn a_rename_of_case_alone_is_a_rename_where_the_disk_tells_them_apart() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    std::fs::rename(ws.dir.join("README"), ws.dir.join("ReadMe")).expect("mv");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["ReadMe renamed from README"]);
}

#[tokio::test]
async fn sockets_and_pipes_are_left_alone() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let _socket = std::os::unix::net::UnixListener::bind(ws.dir.join("s")).expect("socket");
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a added"]);
}

#[tokio::test]
async fn repositories_with_other_formats_work_too() {
    for setup in [&["init", "-q", "--object-format=sha256"][..], &["init", "-q", "--ref-format=reftable"][..]] {
        {
            let kind = Kind::Clone;
            let fx = Fixture::empty();
            if !fx.try_git(&fx.repo, setup).0 {
                continue; // An older git.
            }
            fx.git(&fx.repo, &["config", "index.version", "4"]);
            write(&fx.repo.join("README"), "hello\n");
            write(&fx.repo.join("dir/deep/file"), "1\n");
            fx.git(&fx.repo, &["add", "-A"]);
            fx.git(&fx.repo, &["commit", "-qm", "start"]);
            let opened = fx.open("fix", kind).await;
            let ws = &opened.workspace;
            write(&ws.dir.join("a"), "1");
            write(&ws.dir.join("dir/deep/file"), "2\n");
            let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
            assert_eq!(names(&one), ["a added", "dir/deep/file modified"], "{setup:?} {kind:?}");
            assert_eq!(one.commit, Some(fx.rev("windlass/fix")));
            assert_eq!(one.tree, fx.rev("windlass/fix^{tree}"));
            assert_clean(&fx, ws);
        }
    }
}

#[tokio::test]
async fn an_index_of_version_four_is_read() {
    let fx = Fixture::new();
    fx.git(&fx.repo, &["config", "index.version", "4"]);
    for name in ["a/b/c1", "a/b/c2", "a/bc", "z"] {
        write(&fx.repo.join(name), name);
    }
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "more"]);
    let (workspaces, spawns) = fx.counting();
    let opened = workspaces.create(&fx.request("fix", Kind::Clone)).await.expect("create");
    spawns.take();
    write(&opened.workspace.dir.join("a/b/c2"), "x");
    let one = workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a/b/c2 modified"]);
    assert_eq!(spawns.take(), ["add", "commit", "cat-file"]);
}

#[tokio::test]
async fn files_left_out_survive_saving_and_resetting_without_being_named_again() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join(".env"), "SECRET=1");
    fx.workspaces.leave_out(ws, &[".env".into()]).expect("leave out");
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a added"]);
    write(&ws.dir.join("a"), "cut off");
    let save_as = ws.keep_ref("cut", "t2");
    let how = Reopen::ResetTo { commit: one.commit.clone().expect("commit"), save_as: save_as.clone() };
    assert!(fx.workspaces.reopen(ws, &how).await.expect("reset").reset);
    assert_eq!(read(&ws.dir.join(".env")), "SECRET=1", "a reset leaves it there");
    assert!(!fx.has_ref(&format!("{save_as}:.env")), "a saved state does not hold it");
    // An agent that commits it by force: the next checkpoint takes it out again.
    fx.git(&ws.dir, &["add", "-f", ".env"]);
    fx.git(&ws.dir, &["commit", "-qm", "oops"]);
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert!(!fx.has_ref(&format!("{}:.env", two.commit.expect("commit"))));
    assert_eq!(read(&ws.dir.join(".env")), "SECRET=1");
}

#[tokio::test]
async fn a_reset_gets_through_ignored_files_in_its_way() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    std::fs::remove_file(ws.dir.join("README")).expect("rm");
    write(&ws.dir.join(".gitignore"), "README/\nsrc\n");
    write(&ws.dir.join("README/ignored"), "in the way");
    let how = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: ws.keep_ref("cut", "t1") };
    fx.workspaces.reopen(ws, &how).await.expect("reset");
    assert_eq!(read(&ws.dir.join("README")), "hello\n");
    assert_clean(&fx, ws);
}

#[tokio::test]
async fn folders_that_git_cannot_open_are_named_in_a_note() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("file"), "1");
    // Deeper than a path can be long: refused to root too, unlike a folder without permissions.
    let script =
        "d=$(printf %0250d 0); for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do mkdir $d; cd $d; done; touch f";
    let made = std::process::Command::new("bash").args(["-c", script]).current_dir(&ws.dir).status().expect("bash");
    assert!(made.success());
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["file added"]);
    let said = |note: &String| note.starts_with("unreadable directories are not committed") && note.contains("000…");
    assert!(one.notes.iter().any(said), "{:?}", one.notes);
}
