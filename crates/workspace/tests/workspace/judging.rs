//! What judging an unchanged checkout costs, and that a gate's changes are seen all the same.

use std::fs::{File, FileTimes};
use std::io::Write;

use crate::fixture::{Fixture, first, listed, next, read, write};
use windlass_workspace::{Judge, Keep, Kind, Workspaces};

async fn judge(fx: &Fixture, workspaces: &Workspaces) -> (Judge, String) {
    write(&fx.repo.join(".gitignore"), "built/\n");
    write(&fx.repo.join("src/lib.rs"), "pub fn one() {}\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "ignore"]);
    let workspace = fx.open("judged", Kind::Clone).await.workspace;
    let judge = workspaces.judge(&workspace, &fx.top().join("judge/judged")).await.expect("judge");
    judge.reset("0", &workspace.base_commit, Keep::Nothing).await.expect("reset");
    (judge, workspace.base_commit)
}

#[tokio::test]
async fn judging_an_unchanged_checkout_starts_no_git() {
    let fx = Fixture::new();
    let (workspaces, spawns) = fx.counting();
    let (judge, commit) = judge(&fx, &workspaces).await;
    spawns.take();
    for judgement in ["1", "2"] {
        judge.reset(judgement, &commit, Keep::Nothing).await.expect("reset");
        assert_eq!(listed(&judge.put_back().await.expect("put back")), Vec::<String>::new());
    }
    assert_eq!(spawns.take(), Vec::<String>::new());
}

#[tokio::test]
async fn repository_that_a_killed_process_left_half_written_is_made_again() {
    let fx = Fixture::new();
    let workspace = fx.open("judged", Kind::Clone).await.workspace;
    let root = fx.top().join("judge/judged");
    let judge = fx.workspaces.judge(&workspace, &root).await.expect("judge");
    judge.reset("0", &workspace.base_commit, Keep::Nothing).await.expect("reset");
    assert!(!root.join("git/HEAD.new").exists(), "nothing is left beside it");
    write(&root.join("git/HEAD"), "");
    let judge = fx.workspaces.judge(&workspace, &root).await.expect("judge");
    judge.reset("1", &workspace.base_commit, Keep::Nothing).await.expect("reset");
    assert_eq!(listed(&judge.put_back().await.expect("put back")), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_gate_changed_removed_or_hid_behind_times_is_reported_and_undone() {
    let fx = Fixture::new();
    let (judge, commit) = judge(&fx, &fx.workspaces).await;
    let tree = judge.tree();
    // The same size and time, another content.
    let before = std::fs::metadata(tree.join("src/lib.rs")).unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(tree.join("src/lib.rs")).unwrap();
    file.write_all(b"pub fn two() {}\n").unwrap();
    file.set_times(FileTimes::new().set_modified(before)).unwrap();
    write(&tree.join("built/app"), "ignored\n");
    write(&tree.join("new"), "new\n");
    let reported = listed(&judge.put_back().await.expect("put back"));
    assert_eq!(reported, ["new added", "src/lib.rs modified"]);
    assert_eq!(read(&tree.join("src/lib.rs")), "pub fn one() {}\n");
    assert!(tree.join("built/app").exists(), "the next gate of the judgement finds what this one built");
    std::fs::remove_file(tree.join("src/main.rs")).unwrap();
    assert_eq!(listed(&judge.put_back().await.expect("put back")), ["src/main.rs deleted"]);
    judge.reset("1", &commit, Keep::Nothing).await.expect("reset");
    assert!(!tree.join("built").exists() && !tree.join("new").exists());
    // Only something is missing.
    std::fs::remove_file(tree.join("src/main.rs")).unwrap();
    assert_eq!(listed(&judge.put_back().await.expect("put back")), ["src/main.rs deleted"]);
    assert!(tree.join("src/main.rs").exists());
}

/// Writes through a mapping that was read before, as databases and linkers do. On a file system in memory no time changes.
#[cfg(target_os = "linux")]
fn write_mapped(file: &std::path::Path, byte: u8) -> bool {
    let script = "import mmap, sys\nwith open(sys.argv[1], 'r+b') as f:\n    m = mmap.mmap(f.fileno(), 0)\n    m[0]\n    m[0] = int(sys.argv[2])\n";
    let python = std::process::Command::new("python3").args(["-c", script]).arg(file).arg(byte.to_string()).status();
    python.is_ok_and(|status| status.success())
}

#[tokio::test]
#[cfg(target_os = "linux")]
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
async fn what_a_gate_wrote_through_a_mapping_is_undone_on_a_file_system_in_memory() {
    let memory = std::path::Path::new("/dev/shm");
    if !memory.is_dir() {
        return eprintln!("skipped: /dev/shm does not exist");
    }
    let fx = Fixture::new();
    let workspace = fx.open("judged", Kind::Clone).await.workspace;
    let root = tempfile::Builder::new().prefix("wl").tempdir_in(memory).expect("a directory in memory");
    for keep in [Keep::Nothing, Keep::Builds] {
        let judge = fx.workspaces.judge(&workspace, &root.path().join("judge")).await.expect("judge");
        judge.reset("1", &workspace.base_commit, keep).await.expect("reset");
        let file = judge.tree().join("src/main.rs");
        if !write_mapped(&file, b'X') {
            return eprintln!("skipped: python3 is not installed");
        }
        assert_eq!(read(&file), "Xn main() {}\n");
        let reported = listed(&judge.put_back().await.expect("put back"));
        assert_eq!(reported, ["src/main.rs modified"], "the next gate of the judgement finds the commit");
        assert_eq!(read(&file), "fn main() {}\n");
        write_mapped(&file, b'X');
        judge.reset("2", &workspace.base_commit, keep).await.expect("reset");
        assert_eq!(read(&file), "fn main() {}\n", "and so does the next judgement");
    }
}

#[tokio::test]
async fn settings_of_the_user_do_not_hide_what_a_gate_changed() {
    let fx = Fixture::new();
    for (key, value) in [("core.trustctime", "false"), ("core.checkStat", "minimal"), ("core.ignoreStat", "true")] {
        fx.git(&fx.repo, &["config", "--global", key, value]);
    }
    let (judge, _) = judge(&fx, &fx.workspaces).await;
    let lib = judge.tree().join("src/lib.rs");
    let before = std::fs::metadata(&lib).unwrap().modified().unwrap();
    let mut file = File::options().write(true).open(&lib).unwrap();
    file.write_all(b"pub fn two() {}\n").unwrap();
    file.set_times(FileTimes::new().set_modified(before)).unwrap();
    assert_eq!(listed(&judge.put_back().await.expect("put back")), ["src/lib.rs modified"]);
    assert_eq!(read(&lib), "pub fn one() {}\n");
}

#[tokio::test]
// promise: gates-18
async fn objects_that_no_clone_has_are_not_lent() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join("answer"), "answer\n");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "answer"]);
    let id = fx.git(&ws.dir, &["rev-parse", "HEAD:answer"]);
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    let judge = fx.workspaces.judge(ws, &fx.top().join("judge")).await.expect("judge");
    judge.reset("1", one.commit.as_deref().expect("commit"), Keep::Nothing).await.expect("reset");
    assert!(fx.try_git(&judge.tree(), &["cat-file", "-e", &id]).0, "it is in the commit");
    assert_eq!(fx.git(&judge.tree(), &["rev-list", "--count", "HEAD"]), "2");
    fx.git(&ws.dir, &["reset", "-q", "--hard", "HEAD~1"]);
    write(&ws.dir.join("w"), "1\n");
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    judge.reset("2", two.commit.as_deref().expect("commit"), Keep::Nothing).await.expect("reset");
    assert!(fx.try_git(&fx.repo, &["cat-file", "-e", &id]).0, "the user's repository keeps it");
    assert!(!fx.try_git(&judge.tree(), &["cat-file", "-e", &id]).0, "the judge does not see it");
    assert!(fx.try_git(&judge.tree(), &["fsck", "--no-dangling"]).0);
    assert_eq!(fx.git(&judge.tree(), &["status", "--porcelain"]), "");
    // Another loop of the same repository, also after the user's git packed everything.
    fx.git(&fx.repo, &["gc", "-q"]);
    let other = fx.open("other", Kind::Clone).await;
    let judge = fx.workspaces.judge(&other.workspace, &fx.top().join("judge2")).await.expect("judge");
    judge.reset("1", &other.workspace.base_commit, Keep::Nothing).await.expect("reset");
    assert!(!fx.try_git(&judge.tree(), &["cat-file", "-e", &id]).0, "another loop's judge neither");
    assert!(fx.try_git(&judge.tree(), &["log", "--oneline"]).0);
}
