//! What a project must be for a workspace, and what the user is told when it is not.

use crate::fixture::{Fixture, assert_clean, first, names, next, write};
use windlass_workspace::git::GitError;
use windlass_workspace::{Kind, WorkspaceError, Workspaces};

async fn refusal(fx: &Fixture, request: &windlass_workspace::WorkspaceRequest) -> (String, String, WorkspaceError) {
    let error = fx.workspaces.create(request).await.expect_err("refused");
    let hint = error.hint().unwrap_or_default();
    assert!(!hint.is_empty(), "no way out for: {error}");
    (error.to_string(), hint, error)
}

#[tokio::test]
async fn what_is_no_repository_is_said_so() {
    let fx = Fixture::empty();
    let request = fx.request("fix", Kind::Clone);
    let (text, hint, error) = refusal(&fx, &request).await;
    assert!(matches!(error, WorkspaceError::Git(GitError::NotARepository { .. })), "{text}");
    assert!(text.contains("is not inside a git repository") && hint.contains("init"));
    fx.git(&fx.repo, &["init", "-q"]);
    let (text, hint, error) = refusal(&fx, &request).await;
    assert!(matches!(error, WorkspaceError::NoCommits { .. }), "{text}");
    assert!(hint.contains("commit"));
    let bare = fx.top().join("bare");
    std::fs::create_dir_all(&bare).expect("mkdir");
    fx.git(&bare, &["init", "-q", "--bare"]);
    let mut request = request.clone();
    request.project = bare;
    let (text, _, error) = refusal(&fx, &request).await;
    assert!(matches!(error, WorkspaceError::Bare { .. }), "{text}");
    request.project = fx.repo.join(".git");
    assert!(matches!(refusal(&fx, &request).await.2, WorkspaceError::Bare { .. }));
    request.project = fx.top().join("absent");
    assert!(matches!(refusal(&fx, &request).await.2, WorkspaceError::NoSuchDirectory { .. }));
    assert!(!fx.top().join("data").join("worktrees").join("id-fix").exists(), "nothing was made");
}

#[tokio::test]
async fn branches_that_cannot_be_made_are_refused_with_the_reason() {
    let fx = Fixture::new();
    let request = fx.request("fix", Kind::Clone);
    fx.git(&fx.repo, &["branch", "windlass/fix"]);
    let (text, hint, error) = refusal(&fx, &request).await;
    assert!(matches!(&error, WorkspaceError::BranchExists { checked_out_at: None, .. }), "{text}");
    assert!(hint.contains("--branch"));
    fx.git(&fx.repo, &["switch", "-q", "windlass/fix"]);
    let (text, ..) = refusal(&fx, &request).await;
    assert!(text.contains("already exists and is checked out at"), "{text}");
    fx.git(&fx.repo, &["switch", "-q", "main"]);
    fx.git(&fx.repo, &["branch", "-qD", "windlass/fix"]);
    fx.git(&fx.repo, &["branch", "windlass"]);
    let (text, hint, error) = refusal(&fx, &request).await;
    assert!(matches!(error, WorkspaceError::BranchNameTaken { .. }), "{text}");
    assert_eq!(text, "cannot create the branch windlass/fix because the branch windlass exists");
    assert!(hint.contains("git branch -m windlass"));
    fx.git(&fx.repo, &["branch", "-qD", "windlass"]);
    fx.git(&fx.repo, &["branch", "deep/er/still"]);
    let mut other = request.clone();
    other.branch = "deep/er".into();
    assert!(
        matches!(refusal(&fx, &other).await.2, WorkspaceError::BranchNameTaken { existing, .. } if existing == "deep/er/still")
    );
    for bad in ["a..b", "-x", "a b", "", "x.lock"] {
        other.branch = bad.into();
        assert!(matches!(refusal(&fx, &other).await.2, WorkspaceError::InvalidBranch { .. }), "{bad}");
    }
    let mut unknown = request.clone();
    unknown.base = Some("no-such-revision".into());
    assert!(matches!(refusal(&fx, &unknown).await.2, WorkspaceError::UnknownBase { .. }));
    // Nothing of all that stayed behind.
    fx.workspaces.create(&request).await.expect("now it works");
}

#[tokio::test]
async fn a_loop_does_not_take_over_anothers_branch_or_directory() {
    let fx = Fixture::new();
    fx.open("fix", Kind::Clone).await;
    let mut second = fx.request("fix", Kind::Clone);
    second.loop_id = "another".into();
    assert!(matches!(refusal(&fx, &second).await.2, WorkspaceError::BranchExists { .. }));
    let third = fx.request("third", Kind::Clone);
    write(&third.root.join("id-third/precious"), "x");
    assert!(matches!(refusal(&fx, &third).await.2, WorkspaceError::DirectoryInTheWay { .. }));
    assert!(third.root.join("id-third/precious").exists());
    let fourth = fx.request("fourth", Kind::Clone);
    write(&fourth.root.join("id-fourth/precious"), "x");
    assert!(matches!(refusal(&fx, &fourth).await.2, WorkspaceError::DirectoryInTheWay { .. }));
}

#[tokio::test]
async fn any_directory_of_the_checkout_will_do_and_so_will_a_linked_worktree() {
    let fx = Fixture::new();
    let mut request = fx.request("sub", Kind::Clone);
    request.project = fx.repo.join("src");
    let opened = fx.workspaces.create(&request).await.expect("subdirectory");
    assert_eq!(opened.workspace.home.checkout, fx.repo);
    // A loop started inside another loop's workspace.
    let mut inner = fx.request("inner", Kind::Clone);
    inner.project = opened.workspace.dir.clone();
    let inner = fx.workspaces.create(&inner).await.expect("inside a worktree");
    assert_eq!(inner.workspace.home.branch.as_deref(), Some("windlass/sub"));
    write(&inner.workspace.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(&inner.workspace, &first(&inner, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["a added"]);
    assert_clean(&fx, &opened.workspace);
    // A repository inside another repository's work tree is its own project.
    let nested = fx.repo.join("nested");
    std::fs::create_dir_all(&nested).expect("mkdir");
    fx.git(&nested, &["init", "-q"]);
    write(&nested.join("n"), "1");
    fx.git(&nested, &["add", "-A"]);
    fx.git(&nested, &["commit", "-qm", "nested"]);
    let mut request = fx.request("nested", Kind::Clone);
    request.project = nested.clone();
    let opened = fx.workspaces.create(&request).await.expect("nested");
    assert_eq!(opened.workspace.home.checkout, nested);
}

#[tokio::test]
async fn a_base_can_be_named_and_a_detached_head_is_no_obstacle() {
    let fx = Fixture::new();
    let start = fx.rev("main");
    write(&fx.repo.join("later"), "1");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "later"]);
    fx.git(&fx.repo, &["checkout", "-q", "--detach"]);
    let mut request = fx.request("fix", Kind::Clone);
    request.base = Some("main~1".into());
    let opened = fx.workspaces.create(&request).await.expect("create");
    assert_eq!(opened.workspace.base_commit, start);
    assert_eq!(opened.workspace.home.branch, None);
    assert!(!opened.workspace.dir.join("later").exists());
}

#[tokio::test]
// promise: work-9
async fn without_an_identity_windlass_commits_and_says_so() {
    let fx = Fixture::new();
    write(&fx.top().join("home/.gitconfig"), "[init]\n\tdefaultBranch = main\n");
    let opened = fx.open("fix", Kind::Clone).await;
    assert!(opened.notes.iter().any(|note| note.contains("Windlass <windlass@localhost>")), "{:?}", opened.notes);
    let ws = &opened.workspace;
    write(&ws.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(
        fx.git(&ws.dir, &["log", "-1", "--format=%an <%ae> %cn <%ce>"]),
        "Windlass <windlass@localhost> Windlass <windlass@localhost>"
    );
    // The identity went away only later.
    let fx = Fixture::new();
    let opened = fx.open("fix", Kind::Clone).await;
    write(&fx.top().join("home/.gitconfig"), "");
    write(&opened.workspace.dir.join("a"), "1");
    let two = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(two.notes.iter().any(|note| note.contains("windlass@localhost")), "{:?}", two.notes);
    assert!(one.created && two.created);
}

#[tokio::test]
// promise: work-9
async fn a_user_who_signs_and_has_failing_hooks_gets_unsigned_commits_without_hooks() {
    let fx = Fixture::new();
    fx.git(&fx.repo, &["config", "--global", "commit.gpgSign", "true"]);
    fx.git(&fx.repo, &["config", "--global", "gpg.program", "/bin/false"]);
    let hook = fx.repo.join(".git/hooks/pre-commit");
    write(&hook, "#!/bin/sh\nexit 1\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let opened = fx.open("fix", Kind::Clone).await;
    write(&opened.workspace.dir.join("a"), "1");
    let one = fx.workspaces.checkpoint(&opened.workspace, &first(&opened, "t1")).await.expect("checkpoint");
    assert!(one.created);
}

#[tokio::test(flavor = "multi_thread")]
// promise: control-5
async fn many_loops_at_once_on_one_repository_do_not_disturb_each_other() {
    let fx = Fixture::new();
    for n in 0..200 {
        write(&fx.repo.join(format!("f{n}")), "x");
    }
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "more"]);
    let before = fx.user_state();
    let mut tasks = Vec::new();
    for n in 0..10 {
        let kind = Kind::Clone;
        let (workspaces, request) = (fx.workspaces.clone(), fx.request(&format!("loop{n}"), kind));
        tasks.push(tokio::spawn(async move {
            let opened = workspaces.create(&request).await.expect("create");
            let ws = opened.workspace.clone();
            let mut request = first(&opened, "t0");
            for turn in 1..=3 {
                write(&ws.dir.join("mine"), format!("{n} {turn}"));
                let done = workspaces.checkpoint(&ws, &request).await.expect("checkpoint");
                assert_eq!(names(&done).len(), 1);
                request = next(&done, &format!("t{turn}"));
            }
            ws
        }));
    }
    for (n, task) in tasks.into_iter().enumerate() {
        let ws = task.await.expect("task");
        assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:mine", ws.branch)]), format!("{n} 3"));
        assert_eq!(fx.git(&fx.repo, &["rev-list", "--count", &format!("main..{}", ws.branch)]), "3");
    }
    assert_eq!(fx.user_state(), before);
    fx.git(&fx.repo, &["fsck", "--no-dangling"]);
}

#[tokio::test]
async fn a_machine_without_git_and_one_with_an_old_git_are_told_apart() {
    let fx = Fixture::new();
    let gone = Workspaces::new(fx.host().with_program("/nonexistent/git"));
    let error = gone.create(&fx.request("fix", Kind::Clone)).await.expect_err("no git");
    assert!(error.to_string().contains("could not run /nonexistent/git"), "{error}");
    let script = fx.top().join("old-git");
    write(&script, "#!/bin/sh\necho git version 2.20.1\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let host = std::sync::Arc::new(fx.host().with_program(script));
    let error = windlass_workspace::git::Git::discover(host, fx.top()).version().await.expect_err("old");
    assert_eq!(error.to_string(), "git 2.20.1 is too old; 2.38 or newer is required");
}

#[tokio::test]
async fn a_sparse_checkout_stays_sparse_and_absent_files_are_not_deletions() {
    let fx = Fixture::new();
    write(&fx.repo.join("big/file"), "1");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "big"]);
    fx.git(&fx.repo, &["sparse-checkout", "set", "src"]);
    assert!(!fx.repo.join("big").exists());
    let opened = fx.open("fix", Kind::Clone).await;
    let ws = &opened.workspace;
    assert!(ws.dir.join("src/main.rs").exists() && !ws.dir.join("big").exists());
    write(&ws.dir.join("src/new"), "1");
    write(&ws.dir.join("outside/new"), "1");
    let one = fx.workspaces.checkpoint(ws, &first(&opened, "t1")).await.expect("checkpoint");
    assert_eq!(names(&one), ["outside/new added", "src/new added"]);
    assert_eq!(fx.git(&fx.repo, &["show", "windlass/fix:big/file"]), "1");
}
