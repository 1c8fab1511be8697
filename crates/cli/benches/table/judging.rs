//! Judging a large checkout, against `git checkout` plus the gate in another worktree of the same.
//!
//! Invariant: ours is all that the engine does for one gate: it brings the judge's checkout to the commit, runs the gate, and
//! looks for what the gate changed. Both sides start the same gate the same way.

use std::path::Path;

use windlass_testkit::{Repo, World};
use windlass_workspace::{Judge, Keep, Kind, WorkspaceRequest, Workspaces};

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::place::{quietly, repository};
use crate::report::Row;

const GATE: &str = "test -f src/d000/f00000.txt";

pub fn rows(scale: Scale) -> Vec<Row> {
    let files = scale.of(20_000, 50);
    let world = World::new();
    let repo = repository(&world, "large", files);
    let first = repo.head();
    repo.write("src/d000/f00001.txt", "changed\n");
    let second = repo.commit("one file");
    let other = world.root().join("other");
    repo.git(["worktree", "add", "-q", "--detach", other.to_str().expect("UTF-8"), &first]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let judge = runtime.block_on(judge(&world, &repo));
    let gate = |dir: &Path| {
        let mut command = world.command("sh");
        command.current_dir(dir).args(["-c", GATE]);
        quietly(command);
    };
    let by_hand = |commit: &str| {
        let checkout = || {
            let mut command = world.command("git");
            command.current_dir(&other).args(["checkout", "-q", "--detach", commit]);
            quietly(command);
            gate(&other);
        };
        ms(timed(checkout).1)
    };
    let mut number = 0;
    let mut ours = |commit: &str| {
        number += 1;
        let judgement = format!("{number} {commit}");
        let judged = || {
            runtime.block_on(judge.reset(&judgement, commit, Keep::Nothing)).expect("it is reset");
            gate(&judge.tree());
            runtime.block_on(judge.put_back()).expect("it is looked at")
        };
        let (changed, took) = timed(judged);
        assert!(changed.is_empty(), "{changed:?}");
        ms(took)
    };
    let count = scale.of(21, 1);
    let unchanged = Pairs::take(count, || by_hand(&first), || ours(&first));
    // Forth and back, so that each side has one file to change every time.
    let commits = [&second, &first];
    let mut turns = (0, 0);
    let next = |turn: &mut usize| {
        *turn += 1;
        commits[(*turn - 1) % 2]
    };
    let changed = Pairs::take(count, || by_hand(next(&mut turns.0)), || ours(next(&mut turns.1)));
    let reference = "`git checkout` and the gate";
    vec![
        Row::of_times(
            &format!("judging an unchanged checkout of {files} files"),
            reference,
            &unchanged,
            "≤ 1.5×",
            |ratio, _| ratio <= 1.5,
        ),
        Row::of_times(
            &format!("judging a checkout of {files} files, one changed"),
            reference,
            &changed,
            "none",
            |_, _| true,
        ),
    ]
}

async fn judge(world: &World, repo: &Repo) -> Judge {
    let workspaces = Workspaces::from_env().expect("git is there");
    let request = WorkspaceRequest {
        project: repo.path().to_owned(),
        loop_id: "judged".to_owned(),
        loop_name: "judged".to_owned(),
        kind: Kind::Clone,
        branch: "windlass/judged".to_owned(),
        base: None,
        root: world.data_dir().join("worktrees"),
        allow_dirty: false,
        fork: None,
    };
    let workspace = workspaces.describe(&request).await.expect("a workspace");
    workspaces.judge(&workspace, &world.data_dir().join("judge/judged")).await.expect("a judge's checkout")
}
