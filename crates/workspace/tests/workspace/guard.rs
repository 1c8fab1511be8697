//! The engine's git runs nothing that an agent planted.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::fixture::{Fixture, first, names, next, read, write};
use windlass_workspace::{DiffTo, Keep, Kind, MergeOutcome, MergeRequest, Reopen, RestoreRequest, Workspace};

/// A program that leaves a mark when it runs.
fn trap(fx: &Fixture) -> (PathBuf, PathBuf) {
    let (program, mark) = (fx.top().join("trap"), fx.top().join("SPRUNG"));
    write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat 2>/dev/null\nexit 0\n", mark.display()));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    (program, mark)
}

/// Everything git would run by itself, configured through `dir`.
fn plant(fx: &Fixture, dir: &Path, program: &Path) {
    let program = program.display().to_string();
    let settings = [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.alternateRefsCommand",
        "core.gitProxy",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "filter.lfs.clean",
        "filter.lfs.smudge",
        "merge.evil.driver",
        "gpg.program",
        "gpg.ssh.program",
        "credential.helper",
        "trailer.sign.command",
        "uploadpack.packObjectsHook",
        "alias.add",
        "alias.status",
        "sequence.editor",
        "core.askPass",
    ];
    for key in settings {
        fx.git(dir, &["config", key, &program]);
    }
    for (key, value) in [
        ("commit.gpgSign", "true"),
        ("filter.evil.required", "true"),
        ("log.showSignature", "true"),
        ("gc.auto", "1"),
        ("maintenance.auto", "true"),
        ("commit.template", "/nonexistent"),
        ("commit.cleanup", "strip"),
        ("submodule.recurse", "true"),
    ] {
        fx.git(dir, &["config", key, value]);
    }
}

fn plant_hooks(dir: &Path, program: &Path) {
    for hook in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-auto-gc",
        "post-rewrite",
        "fsmonitor-watchman",
        "post-merge",
    ] {
        std::fs::create_dir_all(dir).expect("hooks");
        std::fs::copy(program, dir.join(hook)).expect("hook");
    }
}

async fn exercise(fx: &Fixture, opened: &windlass_workspace::Opened) {
    let ws: &Workspace = &opened.workspace;
    write(&ws.dir.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n*.bin filter=lfs\n");
    write(&ws.dir.join("a"), "planted\n");
    write(&ws.dir.join("b.bin"), "planted\n");
    let one = fx.workspaces.checkpoint(ws, &first(opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), [".gitattributes added", "a added", "b.bin added"]);
    write(&ws.dir.join("a"), "by a gate\n");
    std::fs::remove_file(ws.dir.join("b.bin")).expect("rm");
    fx.workspaces.diff(ws, &ws.base_commit, &DiffTo::Worktree).await.expect("diff");
    fx.workspaces.tree_hash(ws, &[]).await.expect("tree");
    fx.workspaces
        .restore_protected(ws, one.commit.as_deref().expect("c"), &["a".into()], "turn", &mut Vec::new())
        .await
        .expect("protect");
    let commit = one.commit.clone().expect("commit");
    let request = RestoreRequest {
        commit: commit.clone(),
        tree: Some(one.tree.clone()),
        save_as: Some(ws.keep_ref("gate", "t1")),
        never_commit: Vec::new(),
    };
    fx.workspaces.restore_to(ws, &request).await.expect("restore");
    assert_eq!(read(&ws.dir.join("a")), "planted\n");
    fx.workspaces.diff(ws, &ws.base_commit, &DiffTo::Commit(commit.clone())).await.expect("diff");
    fx.workspaces.sizes(ws, &[(ws.base_commit.clone(), commit)]).await.expect("sizes");
    write(&ws.dir.join("README"), "from the loop\n");
    write(&ws.dir.join(".git").join("HEAD"), format!("{}\n", one.commit.as_deref().expect("commit")));
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    write(&ws.dir.join("a"), "cut off\n");
    let how = Reopen::ResetTo { commit: two.commit.expect("commit"), save_as: ws.keep_ref("cut", "t3") };
    fx.workspaces.reopen(ws, &how).await.expect("reopen");
}

#[tokio::test]
// promise: safety-7
async fn planted_settings_and_hooks_do_not_run_in_a_clone() {
    let fx = Fixture::new();
    let (program, mark) = trap(&fx);
    let opened = fx.open("fix", Kind::Clone).await;
    plant(&fx, &opened.workspace.dir, &program);
    plant_hooks(&opened.workspace.dir.join(".git").join("hooks"), &program);
    // The agent's own git may spring the trap; only the engine's must not.
    let _ = std::fs::remove_file(&mark);
    exercise(&fx, &opened).await;
    assert!(!mark.exists(), "{}", read(&mark));
}

#[tokio::test]
async fn a_planted_merge_driver_is_replaced_by_gits_own_merge() {
    let fx = Fixture::new();
    let (program, mark) = trap(&fx);
    write(&fx.repo.join("list"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "list"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["config", "merge.evil.driver", &program.display().to_string()]);
    write(&fx.repo.join(".gitattributes"), "* merge=evil\n");
    write(&fx.repo.join(".git/info/attributes"), "* merge=evil\n");
    write(&ws.dir.join("list"), "one\n2\n3\n4\n5\n6\n7\n8\n9\n");
    fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&fx.repo.join("list"), "1\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "nine"]);
    let request = MergeRequest { into: None, squash: false, message: "merge".into() };
    let outcome = fx.workspaces.merge(ws, &request).await.expect("merge");
    assert!(matches!(outcome, MergeOutcome::Merged { .. }), "{outcome:?}");
    assert_eq!(read(&fx.repo.join("list")), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    assert!(!mark.exists(), "{}", read(&mark));
}

#[tokio::test]
async fn filters_of_the_repository_are_frozen_when_the_workspace_is_made() {
    let fx = Fixture::new();
    let (program, mark) = trap(&fx);
    fx.git(&fx.repo, &["config", "filter.up.clean", "tr a-z A-Z"]);
    fx.git(&fx.repo, &["config", "filter.up.smudge", "tr A-Z a-z"]);
    write(&fx.repo.join(".gitattributes"), "*.up filter=up\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "attributes"]);
    {
        let kind = Kind::Clone;
        let opened = fx.open(&format!("{kind:?}").to_lowercase(), kind).await;
        let ws = &opened.workspace;
        write(&ws.dir.join("a.up"), "as it was");
        let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert_eq!(fx.git(&ws.dir, &["cat-file", "-p", "HEAD:a.up"]), "AS IT WAS", "{kind:?}");
        fx.git(&ws.dir, &["config", "filter.up.clean", &program.display().to_string()]);
        write(&ws.dir.join("a.up"), "still so");
        let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
        assert_eq!(fx.git(&ws.dir, &["cat-file", "-p", "HEAD:a.up"]), "STILL SO", "{kind:?}");
        fx.git(&ws.dir, &["config", "--remove-section", "filter.up"]);
        write(&ws.dir.join("a.up"), "and again");
        fx.workspaces.checkpoint(ws, &next(&two, "t3")).await.expect("checkpoint");
        assert_eq!(fx.git(&ws.dir, &["cat-file", "-p", "HEAD:a.up"]), "AND AGAIN", "{kind:?}");
        fx.git(&fx.repo, &["config", "filter.up.clean", "tr a-z A-Z"]);
        fx.git(&fx.repo, &["config", "filter.up.smudge", "tr A-Z a-z"]);
    }
    assert!(!mark.exists(), "{}", read(&mark));
}

#[tokio::test]
async fn an_included_file_that_changes_later_is_noticed() {
    let fx = Fixture::new();
    let (program, mark) = trap(&fx);
    write(&fx.repo.join(".git/extra"), "");
    fx.git(&fx.repo, &["config", "include.path", "extra"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&fx.repo.join(".git/extra"), format!("[filter \"evil\"]\n\tclean = {}\n", program.display()));
    write(&ws.dir.join(".gitattributes"), "* filter=evil\n");
    write(&ws.dir.join("a"), "1");
    fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(!mark.exists(), "{}", read(&mark));
}

#[tokio::test]
async fn a_planted_common_directory_or_work_tree_is_not_followed() {
    let fx = Fixture::new();
    let (program, mark) = trap(&fx);
    let evil = fx.top().join("evil");
    std::fs::create_dir_all(&evil).expect("mkdir");
    fx.git(&evil, &["init", "-q"]);
    plant(&fx, &evil, &program);
    {
        let kind = Kind::Clone;
        let opened = fx.open(&format!("{kind:?}").to_lowercase(), kind).await;
        let ws = &opened.workspace;
        write(&ws.dir.join(".git").join("commondir"), format!("{}\n", evil.join(".git").display()));
        if kind == Kind::Clone {
            fx.git(
                &fx.repo,
                &["config", "-f", &ws.dir.join(".git").join("config").display().to_string(), "core.worktree", "/"],
            );
        }
        write(&ws.dir.join("a"), "1");
        let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert_eq!(names(&one), ["a added"]);
        assert_eq!(one.commit, Some(fx.rev(&ws.branch)));
    }
    assert!(!mark.exists(), "{}", read(&mark));
}

#[tokio::test]
async fn nothing_planted_in_a_nested_repository_runs() {
    let fx = Fixture::new();
    let (program, mark) = trap(&fx);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    for (name, declared) in [("plain", false), ("declared", true)] {
        let nested = ws.dir.join(name);
        write(&nested.join("file"), "1");
        fx.git(&nested, &["init", "-q"]);
        fx.git(&nested, &["add", "-A"]);
        fx.git(&nested, &["commit", "-qm", "nested"]);
        if declared {
            write(
                &ws.dir.join(".gitmodules"),
                format!("[submodule \"{name}\"]\n\tpath = {name}\n\turl = ./x\n\tupdate = !evil\n"),
            );
        }
        plant(&fx, &nested, &program);
        plant_hooks(&nested.join(".git/hooks"), &program);
        write(&nested.join(".gitattributes"), "* filter=evil\n");
        write(&nested.join("file"), "dirty");
    }
    let _ = std::fs::remove_file(&mark);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    write(&ws.dir.join("declared/more"), "2");
    write(&ws.dir.join("plain/more"), "2");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert_eq!(names(&two), ["plain/more added"]);
    assert!(!mark.exists(), "{}", read(&mark));
}

#[tokio::test]
async fn broken_configuration_is_an_error_that_names_the_file() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&fx.repo.join(".git/config"), "[core\n");
    write(&ws.dir.join("a"), "1");
    let error = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect_err("broken");
    assert!(error.to_string().contains("bad config") && error.to_string().contains("config"), "{error}");
    assert!(error.hint().is_some());
}

#[tokio::test]
// promise: gates-17
async fn large_files_are_fetched_from_no_address_that_the_agent_wrote() {
    let fx = Fixture::new();
    let asked = fx.top().join("asked");
    // Stands for git-lfs, which takes the address from the settings, else from the file.
    let smudge = format!("sh -c 'git config lfs.url >> \"{0}\" || echo file >> \"{0}\"; cat'", asked.display());
    fx.git(&fx.repo, &["config", "--global", "filter.lfs.smudge", &smudge]);
    write(&fx.repo.join(".gitattributes"), "*.bin filter=lfs\n");
    write(&fx.repo.join(".lfsconfig"), "[lfs]\n\turl = https://large.example\n");
    write(&fx.repo.join("a.bin"), "a");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "large files"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    assert_eq!(read(&asked), "file\n", "the user's own commit is checked out as git does it");
    let judge = fx.workspaces.judge(ws, &fx.top().join("judge")).await.expect("judge");
    let mut addresses = Vec::new();
    let mut head = first(&opened, "t1");
    for (turn, config) in [("t2", "https://large.example"), ("t3", "file:///planted")] {
        write(&ws.dir.join(".lfsconfig"), format!("[lfs]\n\turl = {config}\n"));
        write(&ws.dir.join("a.bin"), turn);
        let done = fx.workspaces.checkpoint(ws, &head).await.expect("checkpoint");
        std::fs::remove_file(&asked).expect("remove");
        judge.reset(turn, done.commit.as_deref().expect("commit"), Keep::Nothing).await.expect("reset");
        addresses.push(read(&asked));
        head = next(&done, turn);
    }
    assert_eq!(addresses, ["file\n", "file:///dev/null/none\n"]);
    std::fs::remove_dir_all(&ws.dir).expect("remove");
    std::fs::remove_file(&ws.index).expect("remove");
    std::fs::remove_file(&asked).expect("remove");
    fx.workspaces.reopen(ws, &Reopen::Keep).await.expect("reopen");
    assert_eq!(read(&asked), "file:///dev/null/none\n", "also where the workspace is made again");
}
