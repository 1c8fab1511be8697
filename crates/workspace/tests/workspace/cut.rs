//! Cut off anywhere and called again: each operation ends as if nothing had happened.
//!
//! A stand-in for git dies at its n-th call, before or after doing the work; then the same call is made with a healthy
//! git, and the end is compared with an undisturbed one.

use std::os::unix::fs::PermissionsExt;

use crate::fixture::{Fixture, assert_clean, first, next, read, write};
use windlass_workspace::{Kind, MergeRequest, Reopen, RestoreRequest, Workspaces};

/// Workspaces whose git fails at its n-th call; says afterwards whether it reached that.
fn dying(fx: &Fixture, at: usize, after: bool) -> (Workspaces, impl Fn() -> bool + use<>) {
    let (script, count, died) = (fx.top().join("dying-git"), fx.top().join("count"), fx.top().join("died"));
    let _ = std::fs::remove_file(&count);
    let _ = std::fs::remove_file(&died);
    let program = fx.host().program().display().to_string();
    let work = if after { format!("'{program}' \"$@\"") } else { ":".to_owned() };
    write(
        &script,
        format!(
            "#!/bin/sh\necho x >> '{count}'\nif [ $(wc -l < '{count}') -eq {at} ]; then {work}; : > '{died}'; kill -9 $$; fi\nexec '{program}' \"$@\"\n",
            count = count.display(),
            died = died.display(),
        ),
    );
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    (Workspaces::new(fx.host().with_program(script)), move || died.exists())
}

/// A loop's life in steps, each of which may be cut.
async fn live(fx: &Fixture, kind: Kind, cut: Option<(usize, usize, bool)>) -> bool {
    let mut died = None;
    macro_rules! step {
        ($number:expr, $workspaces:ident => $call:expr) => {{
            if let Some(died) = died {
                // What the cut step leaves has been checked; the rest is like an undisturbed life.
                return died;
            }
            if let Some((_, at, after)) = cut.filter(|(step, ..)| *step == $number) {
                let ($workspaces, has_died) = dying(fx, at, after);
                let _ = $call.await;
                died = Some(has_died());
            }
            let $workspaces = &fx.workspaces;
            $call.await.unwrap_or_else(|error| panic!("step {}: {error}", $number))
        }};
    }
    let request = fx.request("fix", kind);
    let opened = step!(1, workspaces => workspaces.create(&request));
    let ws = &opened.workspace;
    assert_clean(fx, ws);
    write(&ws.dir.join("a"), "1");
    std::fs::rename(ws.dir.join("README"), ws.dir.join("readme")).expect("mv");
    let checkpoint = first(&opened, "t1");
    let one = step!(2, workspaces => workspaces.checkpoint(ws, &checkpoint));
    assert_eq!(crate::fixture::names(&one), ["a added", "readme renamed from README"]);
    assert_clean(fx, ws);
    // By a gate.
    write(&ws.dir.join("a"), "2");
    write(&ws.dir.join("b"), "2");
    let commit = one.commit.clone().expect("commit");
    let restore = RestoreRequest {
        commit: commit.clone(),
        tree: Some(one.tree.clone()),
        save_as: Some(ws.keep_ref("gate", "t1")),
        never_commit: Vec::new(),
    };
    step!(3, workspaces => workspaces.restore_to(ws, &restore));
    assert_eq!(read(&ws.dir.join("a")), "1");
    assert_clean(fx, ws);
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:b", ws.keep_ref("gate", "t1"))]), "2");
    // By an agent that strays, commits and is cut off.
    fx.git(&ws.dir, &["checkout", "-q", "--detach"]);
    write(&ws.dir.join("c"), "3");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "agent"]);
    write(&ws.dir.join("d"), "4");
    let how = Reopen::ResetTo { commit, save_as: ws.keep_ref("cut", "t2") };
    step!(4, workspaces => workspaces.reopen(ws, &how));
    assert!(!ws.dir.join("c").exists() && !ws.dir.join("d").exists());
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:d", ws.keep_ref("cut", "t2"))]), "4");
    assert_clean(fx, ws);
    // Again, and this time it is kept.
    fx.git(&ws.dir, &["switch", "-qc", "feature"]);
    write(&ws.dir.join("c"), "3");
    fx.git(&ws.dir, &["add", "-A"]);
    fx.git(&ws.dir, &["commit", "-qm", "agent"]);
    write(&ws.dir.join("d"), "4");
    let checkpoint = next(&one, "t3");
    let three = step!(5, workspaces => workspaces.checkpoint(ws, &checkpoint));
    assert_eq!(crate::fixture::names(&three), ["c added", "d added"]);
    assert_eq!(three.agent_commits.len(), 1);
    assert_clean(fx, ws);
    let merge = MergeRequest { into: None, squash: true, message: "home\n".into() };
    write(&fx.repo.join("users"), "1");
    fx.git(&fx.repo, &["add", "-A"]);
    fx.git(&fx.repo, &["commit", "-qm", "users"]);
    step!(6, workspaces => workspaces.merge(ws, &merge));
    assert_eq!(fx.git(&fx.repo, &["status", "--porcelain"]), "");
    assert_eq!(fx.git(&fx.repo, &["rev-list", "--count", "main"]), "3");
    write(&ws.dir.join("e"), "5");
    step!(7, workspaces => workspaces.remove(ws, None));
    assert!(!ws.dir.exists() && !ws.index.exists());
    assert_eq!(fx.git(&fx.repo, &["show", &format!("{}:e", ws.keep_ref("removed", "tree"))]), "5");
    assert_eq!(
        fx.git(&fx.repo, &["log", "--format=%s", &format!("main..{}", ws.branch)]),
        "[iter-1] t3\nagent\n[iter-1] t1"
    );
    fx.git(&fx.repo, &["fsck", "--no-dangling"]);
    died.unwrap_or(false)
}

async fn sweep(kind: Kind) {
    live(&Fixture::new(), kind, None).await;
    for step in 1..=7 {
        for at in 1.. {
            let mut reached = false;
            // Before and after differ by what the engine itself does between two calls; for the clone, whose steps
            // are mostly the same, one of the two is enough.
            for &after in if kind == Kind::Clone { &[false, true][..] } else { &[false][..] } {
                let fx = Fixture::new();
                reached |= live(&fx, kind, Some((step, at, after))).await;
            }
            if !reached {
                assert!(at > 1, "step {step} never called git");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_shared_clone_survives_a_cut_at_every_git_call() {
    sweep(Kind::Clone).await;
}
