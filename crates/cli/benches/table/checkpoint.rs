//! The checkpoint of a large repository, against `git add -A && git commit` in another worktree of the same.

use windlass_testkit::World;
use windlass_workspace::{CheckpointRequest, CommitMode, Kind, Unwanted, Workspace, WorkspaceRequest, Workspaces};

use crate::Scale;
use crate::measure::{Pairs, ms, timed};
use crate::place::{quietly, repository};
use crate::report::Row;

pub fn rows(scale: Scale) -> Vec<Row> {
    let files = scale.of(20_000, 50);
    let world = World::new();
    let repo = repository(&world, "large", files);
    let other = world.root().join("other");
    repo.git(["worktree", "add", "-q", "-b", "other", other.to_str().expect("UTF-8")]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let workspaces = Workspaces::from_env().expect("git is there");
    let request = WorkspaceRequest {
        project: repo.path().to_owned(),
        loop_id: "measured".to_owned(),
        loop_name: "measured".to_owned(),
        kind: Kind::Clone,
        branch: "windlass/measured".to_owned(),
        base: None,
        root: world.data_dir().join("worktrees"),
        allow_dirty: false,
        fork: None,
    };
    let opened = runtime.block_on(workspaces.create(&request)).expect("a workspace");
    let workspace: Workspace = opened.workspace;
    let mut last = (workspace.base_commit.clone(), opened.base_tree);
    let (mut by_hand, mut by_us) = (0, 0);

    let reference = || {
        by_hand += 1;
        std::fs::write(other.join("changed.txt"), format!("{by_hand}\n")).expect("the world is writable");
        let mut command = world.command("sh");
        command.current_dir(&other).args(["-c", "git add -A && git commit -q -m x"]);
        ms(timed(|| quietly(command)).1)
    };
    let ours = || {
        by_us += 1;
        std::fs::write(workspace.dir.join("changed.txt"), format!("{by_us}\n")).expect("the world is writable");
        let request = CheckpointRequest {
            loop_name: "measured".to_owned(),
            iteration: by_us,
            turn_id: format!("measured.{by_us}.coder.1"),
            previous_head: last.0.clone(),
            base: None,
            previous_tree: Some(last.1.clone()),
            message: "measured".to_owned(),
            mode: CommitMode::Engine,
            section: None,
            never_commit: Vec::new(),
            unwanted: Unwanted::default(),
        };
        let (made, took) = timed(|| runtime.block_on(workspaces.checkpoint(&workspace, &request)));
        let made = made.expect("a checkpoint");
        last = (made.commit.expect("a commit"), made.tree);
        ms(took)
    };
    let pairs = Pairs::take(scale.of(21, 1), reference, ours);
    let what = format!("checkpoint of {files} files, one changed");
    vec![Row::of_times(&what, "`git add -A && git commit`", &pairs, "≤ 1.5×", |ratio, _| ratio <= 1.5)]
}
