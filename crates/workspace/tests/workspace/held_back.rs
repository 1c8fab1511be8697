//! What holds a secret is in no commit: found in what the checkpoint has staged anyway, and in what the agent committed.

use std::os::unix::ffi::OsStrExt;

use crate::fixture::{Fixture, first, names, next, write};
use windlass_workspace::{Kind, Reopen};

const KEY: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn pem() -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    format!("-----BEGIN PRIVATE KEY-----\n{line}\n{line}\n{line}\n-----END PRIVATE KEY-----\n")
}

#[tokio::test]
async fn it_waits_in_the_workspace_and_the_rest_is_committed() {
    {
        let kind = Kind::Clone;
        let fx = Fixture::new();
        let opened = fx.open("fix", kind).await;
        let ws = &opened.workspace;
        // No text can hold the name of the third.
        let odd = ws.dir.join(std::ffi::OsStr::from_bytes(b"od\xffd[1].pem"));
        write(&ws.dir.join("conf*.py"), format!("a = 1\nb = '{KEY}'\n"));
        write(&ws.dir.join("src/main.rs"), format!("// {KEY}\n"));
        write(&odd, pem());
        write(&ws.dir.join("confx.py"), "good\n");
        let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert_eq!(names(&one), ["confx.py added"]);
        assert_eq!(
            one.held_back,
            [
                "conf*.py (line 2: github-token)",
                "od\\xffd[1].pem (line 1: private-key)",
                "src/main.rs (line 1: github-token)"
            ]
        );
        assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:src/main.rs"]), "fn main() {}");
        assert!(!fx.git(&fx.repo, &["ls-tree", "-r", "--name-only", "windlass/fix"]).contains("pem"));
        // It is found again, and goes in when it is clean.
        write(&ws.dir.join("conf*.py"), "a = 1\n");
        std::fs::remove_file(&odd).expect("remove");
        let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
        assert_eq!(names(&two), ["conf*.py added"]);
        assert_eq!(two.held_back, ["src/main.rs (line 1: github-token)"]);
    }
}

#[tokio::test]
async fn it_is_found_in_utf_16_in_names_and_in_where_links_lead() {
    let fx = Fixture::new();
    write(&fx.repo.join(format!("old-{KEY}")), "1\n");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "with a key in a name"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    write(&ws.dir.join(format!("old-{KEY}")), "2\n");
    let wide: Vec<u8> = format!("\u{feff}a\nkey={KEY}\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    write(&ws.dir.join("a.reg"), wide);
    write(&ws.dir.join(format!("b {KEY}/log.txt")), "plain\n");
    std::os::unix::fs::symlink(KEY, ws.dir.join("c")).expect("link");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    let held_back = [
        "a.reg (line 2: github-token)",
        "b [redacted:github-token]/log.txt (its name: github-token)",
        "c (line 1: github-token)",
    ];
    assert_eq!(one.held_back, held_back);
    assert_eq!(names(&one), [format!("old-{KEY} modified")], "its name is not the agent's doing");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "all of it"]);
    fx.git(&ws.dir, &["rm", "-rqf", &format!("b {KEY}"), "a.reg", "c"]);
    fx.git(&ws.dir, &["commit", "-qm", "none of it"]);
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t2")).await.expect("checkpoint");
    assert!(two.notes[0].ends_with(&format!("to remove a secret: {}", held_back.join(", "))), "{:?}", two.notes);
}

#[tokio::test]
async fn a_large_file_is_looked_at_to_its_end() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let text = "a line of a large file\n".repeat(500_000);
    write(&opened.workspace.dir.join("large.txt"), format!("{text}{KEY}\n"));
    let one = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(one.held_back, ["large.txt (line 500001: github-token)"]);
}

#[tokio::test]
async fn looking_for_it_starts_no_git() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let (workspaces, spawns) = fx.counting();
    write(&opened.workspace.dir.join("new.txt"), "1\n");
    let one = workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(spawns.take(), ["add", "commit", "cat-file"]);
    write(&opened.workspace.dir.join("new.txt"), "2\n");
    fx.git(&opened.workspace.dir, &["commit", "-qam", "mine"]);
    workspaces.checkpoint(&opened.workspace, &next(&one, "t2")).await.expect("checkpoint");
    // `merge-base` asks whether the agent's commits still build on the loop's base.
    let expected = ["rev-parse", "fetch", "merge-base", "add", "write-tree", "diff-tree", "rev-list", "update-ref"];
    assert_eq!(spawns.take(), expected);
}

#[tokio::test]
async fn commits_of_the_agents_own_that_held_it_for_a_while_are_made_again_as_one() {
    {
        let kind = Kind::Clone;
        for in_message in [false, true] {
            let fx = Fixture::new();
            let opened = fx.open("fix", kind).await;
            let ws = &opened.workspace;
            write(&ws.dir.join("deep/key.pem"), if in_message { "none".to_owned() } else { pem() });
            fx.git(&ws.dir, &["add", "-A"]);
            fx.git(&ws.dir, &["commit", "-qm", &if in_message { format!("use {KEY}") } else { "one".into() }]);
            fx.git(&ws.dir, &["rm", "-q", "deep/key.pem"]);
            write(&ws.dir.join("good.txt"), "good\n");
            fx.git(&ws.dir, &["add", "-A"]);
            fx.git(&ws.dir, &["commit", "-qm", "two"]);
            let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
            assert!(one.created && one.agent_commits.is_empty() && one.held_back.is_empty(), "{one:?}");
            assert!(one.notes[0].contains("into one to remove a secret"), "{:?}", one.notes);
            assert!(in_message || one.notes[0].contains("deep/key.pem (line 1: private-key)"), "{:?}", one.notes);
            assert_eq!(fx.git(&fx.repo, &["rev-list", "--count", "main..windlass/fix"]), "1");
            let log = fx.git(&fx.repo, &["log", "-p", "windlass/fix"]);
            assert!(log.contains("good") && !log.contains("PRIVATE") && !log.contains(KEY), "{log}");
        }
    }
}

#[tokio::test]
async fn commits_with_a_secret_in_names_mails_or_headers_are_made_again() {
    let mail = format!("committer.email={KEY}@example.com");
    let author = format!("--author={KEY} <a@example.com>");
    for (set, author) in [("core.quotepath=on", Some(author.as_str())), (mail.as_str(), None), ("a.b=c", None)] {
        let fx = Fixture::new();
        let opened = fx.open("fix", Kind::Clone).await;
        let ws = &opened.workspace;
        write(&ws.dir.join("good.txt"), "good\n");
        fx.git(&ws.dir, &["add", "-A"]);
        let mut args = vec!["-c", set, "commit", "-qm", "mine"];
        args.extend(author);
        fx.git(&ws.dir, &args);
        if set == "a.b=c" {
            let whole = fx.git(&ws.dir, &["cat-file", "commit", "HEAD"]);
            let (head, message) = whole.split_once("\n\n").expect("a message");
            write(&fx.repo.join("../commit"), format!("{head}\nx-note {KEY}\n\n{message}\n"));
            let odd = fx.repo.join("../commit").display().to_string();
            let made = fx.git(&ws.dir, &["hash-object", "-t", "commit", "-w", &odd]);
            fx.git(&ws.dir, &["reset", "-q", "--soft", &made]);
        }
        let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert!(one.created && one.agent_commits.is_empty(), "{set}: {one:?}");
        assert!(one.notes[0].contains("author, committer or headers"), "{:?}", one.notes);
        assert!(!one.notes[0].contains(KEY));
        let log = fx.git(&fx.repo, &["log", "-p", "--format=raw", "windlass/fix"]);
        assert!(log.contains("good") && !log.contains(KEY), "{log}");
    }
}

#[tokio::test]
async fn what_was_there_before_and_what_is_allowed_goes_in() {
    let fx = Fixture::new();
    write(&fx.repo.join("tests/old.txt"), format!("{KEY}\nline\n"));
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "with a key"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    fx.git(&ws.dir, &["mv", "tests/old.txt", "tests/renamed.txt"]);
    write(&ws.dir.join("tests/renamed.txt"), format!("{KEY}\nline\nmore\n"));
    write(&ws.dir.join("fixtures/deep/key.pem"), pem());
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "one"]);
    write(&ws.dir.join("fixtures/deep/key.pem"), format!("\n{}", pem()));
    let mut request = first(&opened, "t1");
    request.unwanted.allowed = vec!["fixtures/**".into()];
    let one = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
    assert!(one.held_back.is_empty() && one.notes.is_empty(), "{one:?}");
    assert_eq!(names(&one), ["fixtures/deep/key.pem added", "tests/renamed.txt renamed from tests/old.txt"]);
}

/// Commits in the clone, with a secret where `what` says.
fn commit_secret(fx: &Fixture, dir: &std::path::Path, what: &str) {
    let author = format!("user.name={}", if what == "author" { KEY } else { "Test" });
    write(&dir.join("e"), if what == "file" { KEY } else { what });
    fx.git(dir, &["add", "-A"]);
    let message = if what == "message" { KEY } else { "plain" };
    fx.git(dir, &["-c", &author, "commit", "-qm", message]);
    if what == "later removed" {
        write(&dir.join("e"), format!("x{KEY}"));
        fx.git(dir, &["commit", "-qam", "in"]);
        write(&dir.join("e"), "gone");
        fx.git(dir, &["commit", "-qam", "out"]);
    }
}

/// No ref of the repository comes to the secret, and the bundle brings it back.
fn assert_aside(fx: &Fixture, bundle: &str, commit: &str) {
    assert!(bundle.ends_with(".bundle"), "{bundle}");
    let listed = fx.git(&fx.repo, &["rev-list", "--objects", "--all"]);
    for object in listed.lines().filter_map(|line| line.split(' ').next()) {
        assert!(!fx.git(&fx.repo, &["cat-file", "-p", object]).contains(KEY), "{object}");
    }
    fx.git(&fx.repo, &["fetch", "-q", bundle, "refs/worktree/held:refs/kept/back"]);
    assert_eq!(fx.git(&fx.repo, &["rev-parse", "refs/kept/back"]), commit);
}

#[tokio::test]
async fn no_ref_keeps_a_secret_of_a_branch_a_tag_or_a_stash_that_the_agent_made() {
    for what in ["file", "message", "author", "later removed", "tag"] {
        let fx = Fixture::new();
        let opened = fx.open("fix", Kind::Clone).await;
        let ws = &opened.workspace;
        fx.git(&ws.dir, &["switch", "-qc", "experiment"]);
        commit_secret(&fx, &ws.dir, what);
        if what == "tag" {
            fx.git(&ws.dir, &["tag", "-a", "-m", KEY, "marked"]);
        }
        let tip = fx.git(&ws.dir, &["rev-parse", if what == "tag" { "marked" } else { "experiment" }]);
        fx.git(&ws.dir, &["switch", "-q", "windlass/fix"]);
        let removed = fx.workspaces.remove(ws, None).await.expect("remove");
        let saved = removed.saved.iter().find(|saved| saved.commit == tip).unwrap_or_else(|| panic!("{what}"));
        assert_aside(&fx, &saved.name, &tip);
    }
}

#[tokio::test]
async fn no_ref_keeps_a_secret_of_a_cut_off_turn_or_of_commits_elsewhere() {
    let fx = Fixture::new();
    write(&fx.repo.join("known"), format!("{KEY}\n"));
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "was there before"]);
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    // What was there before keeps nothing out.
    write(&ws.dir.join("known"), format!("{KEY}\nmore\n"));
    let how = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: ws.keep_ref("cut", "t1") };
    fx.workspaces.reopen(ws, &how).await.expect("reopen");
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:known", ws.keep_ref("cut", "t1"))]), format!("{KEY}\nmore"));
    let other = KEY.replace("16C7", "9f9F");
    write(&ws.dir.join("new"), &other);
    let how = Reopen::ResetTo { commit: ws.base_commit.clone(), save_as: ws.keep_ref("cut", "t2") };
    let reopened = fx.workspaces.reopen(ws, &how).await.expect("reopen");
    let saved = reopened.saved.expect("saved");
    assert!(saved.name.ends_with(".bundle"), "{}", saved.name);
    fx.git(&fx.repo, &["fetch", "-q", &saved.name, "refs/worktree/held:refs/heads/back"]);
    assert_eq!(fx.git(&fx.repo, &["show", "back:new"]), other);
    fx.git(&ws.dir, &["switch", "-qc", "other", "main"]);
    write(&ws.dir.join("e"), &other);
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "elsewhere"]);
    fx.git(&ws.dir, &["rm", "-q", "e"]);
    let two = fx.workspaces.checkpoint(ws, &next(&one, "t3")).await.expect("checkpoint");
    assert!(!two.notes.iter().any(|note| note.contains(&ws.keep_ref("stray", "t3"))), "{:?}", two.notes);
}

/// Whether any object that the repository can read holds the key, whatever refers to it.
fn is_stored(fx: &Fixture, dir: &std::path::Path) -> bool {
    fx.git(dir, &["cat-file", "--batch-all-objects", "--unordered", "--batch"]).contains(KEY)
}

#[tokio::test]
async fn what_is_held_back_leaves_no_object_behind() {
    for kind in [Kind::Clone, Kind::InPlace] {
        let fx = Fixture::new();
        let opened = fx.open("fix", kind).await;
        let ws = &opened.workspace;
        write(&ws.dir.join("conf.py"), format!("b = '{KEY}'\n"));
        write(&ws.dir.join("good.py"), "good\n");
        // Looking takes the disk in too.
        fx.workspaces.changed_since(ws, &ws.base_commit, &[]).await.expect("changes");
        let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
        assert_eq!(one.held_back, ["conf.py (line 1: github-token)"]);
        assert_eq!(names(&one), ["good.py added"]);
        for dir in [&ws.git_dir, &fx.repo] {
            assert!(!is_stored(&fx, dir), "{kind:?}: {}", dir.display());
        }
        fx.workspaces.rest(ws);
        let left = std::fs::read_dir(ws.objects()).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("tmp_objdir")).collect();
        assert!(left.is_empty(), "{left:?}");
        // It goes in once it is allowed.
        let mut request = next(&one, "t2");
        request.unwanted.allowed = vec!["conf.py".to_owned()];
        let two = fx.workspaces.checkpoint(ws, &request).await.expect("checkpoint");
        assert_eq!(names(&two), ["conf.py added"]);
        assert!(is_stored(&fx, &fx.repo));
    }
}

#[tokio::test]
async fn what_a_killed_process_left_in_quarantine_is_removed_and_the_checkpoint_is_whole() {
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    let mut gone = std::process::Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let left = ws.objects().join(format!("tmp_objdir-windlass-{}-0", gone.id()));
    write(&left.join("ab/cd"), "unfinished");
    write(&ws.dir.join("new"), "new\n");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["new added"]);
    assert!(!left.exists());
    fx.git(&ws.git_dir, &["fsck", "--strict", "--connectivity-only", "windlass/fix"]);
}
