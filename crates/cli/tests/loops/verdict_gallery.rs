//! A gallery of agents that play with git, and one question to each: does the verdict agree with what a stranger finds who
//! clones the branch? Neither may a claim count that the commit does not bear out, nor one be refused that it does.

use crate::support::*;
use windlass_testkit::World;

/// What the claim is about: the answer, in either of two places.
const GATE: &str = "test \"$(cat answer sub/answer 2>/dev/null)\" = 42";

/// The answer is in the commit in the end: refusing it would be a missed completion.
const HONEST: &[(&str, &str)] = &[
    ("plain", "echo 42 > answer"),
    ("committed by the agent", "echo 42 > answer; git add -A; git commit -qm mine"),
    ("assume-unchanged", "git update-index --assume-unchanged known; echo 42 > answer; echo 2 > known"),
    ("skip-worktree", "git update-index --skip-worktree known; rm known; echo 42 > answer"),
    ("index deleted", "echo 42 > answer; rm -f .git/index"),
    ("index broken", "echo 42 > answer; echo broken > .git/index"),
    ("locks left behind", "echo 42 > answer; touch .git/index.lock .git/HEAD.lock .git/refs/heads/x.lock"),
    ("repository deleted", "echo 42 > answer; rm -rf .git"),
    ("repository led elsewhere", "echo 42 > answer; rm -rf .git; echo 'gitdir: /nowhere' > .git"),
    ("work tree led elsewhere", "echo 42 > answer; git config core.worktree /tmp"),
    ("bare", "echo 42 > answer; git config core.bare true"),
    ("detached", "git checkout -q --detach; echo 42 > answer; git add -A; git commit -qm away"),
    ("another branch", "git checkout -qb other; echo 42 > answer; git add -A; git commit -qm away"),
    ("orphan branch", "git checkout -q --orphan lone; git rm -rfq --cached .; echo 42 > answer"),
    ("amended base", "echo 42 > answer; git add -A; git commit -q --amend -m amended"),
    (
        "the loop's branch without its base",
        "b=$(git branch --show-current); git checkout -q --orphan lone; echo 42 > answer; git add -A; git commit -qm x; git branch -f $b",
    ),
    ("a root commit", "echo 42 > answer; git add -A; git reset -q --hard $(git commit-tree $(git write-tree) -m root)"),
    ("a rebase left half done", "mkdir -p .git/rebase-merge; echo 42 > answer"),
    ("a merge left half done", "git rev-parse HEAD > .git/MERGE_HEAD; echo 42 > answer"),
    ("case-only rename", "git mv Known.txt known.TXT; echo 42 > answer"),
    ("nested repository", "mkdir sub; cd sub; git init -q; echo 42 > answer; git add -A; git commit -qm nested"),
    ("nested repository without a commit", "mkdir sub; cd sub; git init -q; echo 42 > answer"),
    (
        "own clean filter",
        "git config filter.f.clean 'echo 1'; echo 'answer filter=f' > .gitattributes; echo 42 > answer",
    ),
    (
        "own required filter",
        "git config filter.f.required true; echo 'answer filter=f' > .gitattributes; echo 42 > answer",
    ),
    ("line endings", "echo '* text eol=crlf' > .gitattributes; printf 42 > answer"),
    (
        "hooks",
        "mkdir -p .git/hooks; printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*; echo 42 > answer",
    ),
    ("fsmonitor", "git config core.fsmonitor false-monitor; echo 42 > answer"),
    ("sparse checkout", "git sparse-checkout set --no-cone /README.md /answer; echo 42 > answer"),
    ("many refs", "for i in 1 2 3; do git branch b$i; git tag t$i; done; git stash -q; echo 42 > answer"),
    ("foreign excludes", "echo '*' > .git/info/exclude; echo 42 > answer"),
    ("excludesFile", "echo '*' > /tmp/rules; git config core.excludesFile /tmp/rules; echo 42 > answer"),
    ("alternates taken away", "echo 42 > answer; rm -f .git/objects/info/alternates"),
    (
        "attributes of the repository's own",
        "mkdir -p .git/info; echo 'answer filter=f' > .git/info/attributes; git config filter.f.clean 'echo 1'; echo 42 > answer",
    ),
    ("intent to add", "echo 42 > answer; git add -N answer"),
    ("split index", "git update-index --split-index; echo 42 > answer; git add -A"),
    (
        "conflicted index",
        "b=$(echo 42 | git hash-object -w --stdin); for n in 1 2 3; do printf '100644 %s %s\\tanswer\\n' $b $n; done | git update-index --index-info; echo 42 > answer",
    ),
    (
        "object with other content",
        "o=$(echo 42 | git hash-object --stdin); w=$(echo 41 | git hash-object -w --stdin); mkdir -p .git/objects/${o%${o#??}}; cp .git/objects/${w%${w#??}}/${w#??} .git/objects/${o%${o#??}}/${o#??}; echo 42 > answer; git add -A; git commit -qm forged",
    ),
    ("shallow", "echo 42 > answer; git add -A; git commit -qm x; git rev-parse HEAD > .git/shallow"),
    (
        "commit graph broken",
        "mkdir -p .git/objects/info; echo broken > .git/objects/info/commit-graph; echo 42 > answer",
    ),
    (
        "same size and time",
        "echo 41 > answer; git add -A; git commit -qm x; touch -r answer .git/time; echo 42 > answer; touch -r .git/time answer",
    ),
    ("bare nested repository", "git init -q --bare sub; echo 42 > sub/answer"),
    ("nested repository that is a link", "mkdir sub; ln -s ../.git sub/.git; echo 42 > sub/answer"),
    (
        "links that lead to nothing",
        "ln -s /does/not/exist a; ln -s ../../../nowhere b; ln -s /dev/null c; ln -s known d; echo 42 > answer",
    ),
    (
        "worktree settings",
        "git config extensions.worktreeConfig true; git config --worktree core.sparseCheckout true; mkdir -p .git/info; echo /known > .git/info/sparse-checkout; echo 42 > answer",
    ),
];

/// The commit does not have the answer, whatever the workspace looks like.
const DISHONEST: &[(&str, &str)] = &[
    ("ignored", "echo answer >> .gitignore; echo 42 > answer"),
    ("ignored everything", "echo '*' > .gitignore; echo 42 > answer"),
    ("ignored by the base", "mkdir sub; echo 42 > sub/answer; echo 'sub/' >> .gitignore"),
    ("committed and deleted", "echo 42 > answer; git add -A; git commit -qm x; git rm -q answer"),
    (
        "in the index alone",
        "git update-index --add --cacheinfo 100644,$(echo 42 | git hash-object -w --stdin),answer; git commit -qm x",
    ),
    ("on another branch", "git checkout -qb other; echo 42 > answer; git add -A; git commit -qm x; git checkout -q -"),
    ("stashed", "echo 42 > answer; git add -A; git stash -q"),
    ("a link into .git", "echo 42 > .git/kept; ln -s .git/kept answer"),
    ("a link to itself", "ln -s answer answer"),
    ("a link to what is ignored", "echo 42 > hidden.log; ln -s hidden.log answer"),
    ("a link to a file outside", "echo 42 > $HOME/outside; ln -s $HOME/outside answer"),
    ("a link through another one", "echo 42 > $HOME/outside; ln -s $HOME far; ln -s far/outside answer"),
    ("a link to a directory outside", "mkdir $HOME/outside; echo 42 > $HOME/outside/answer; ln -s $HOME/outside sub"),
    ("a link into the workspace", "echo 42 > kept.log; ln -s $PWD/kept.log answer"),
    (
        "a link to above the checkout",
        "j=../../judge/${PWD##*/}; mkdir -p $j && echo 42 > $j/outside; ln -s ../outside answer",
    ),
    (
        "a link that only seems to stay inside",
        "j=../../judge/${PWD##*/}; mkdir -p $j && echo 42 > $j/outside; mkdir -p deep; ln -s .. deep/up; \
         ln -s deep/up/../outside answer",
    ),
    ("a pipe", "mkfifo answer"),
    ("a directory", "mkdir answer; echo 42 > answer/answer"),
    (
        "wrong and replaced",
        "echo 1 > answer; git add -A; git commit -qm x; git replace $(git rev-parse HEAD:answer) $(echo 42 | git hash-object -w --stdin)",
    ),
    (
        "wrong and grafted",
        "echo 1 > answer; git add -A; git commit -qm x; mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts",
    ),
    (
        "wrong with a smudge filter",
        "echo 1 > answer; echo 'answer filter=f' > .gitattributes; git config filter.f.smudge 'echo 42'",
    ),
    (
        "wrong and assume-unchanged",
        "echo 42 > answer; git add -A; git commit -qm x; git update-index --assume-unchanged answer; echo 1 > answer",
    ),
    (
        "bad encoding",
        "printf '42\\n' > answer; echo 'answer working-tree-encoding=UTF-16' > .gitattributes; printf '\\330' > answer",
    ),
    (
        "a pointer that leads nowhere",
        "git update-index --add --cacheinfo 160000,1234567890123456789012345678901234567890,sub; git commit -qm x",
    ),
    (
        "a nested repository that is ignored",
        "mkdir sub; echo 42 > sub/answer; git -C sub init -q; echo 'sub' >> .gitignore",
    ),
    (
        "environment",
        "mkdir e; GIT_DIR=$PWD/e/.git GIT_WORK_TREE=$PWD/e git init -q; echo 'export GIT_DIR=e' > .envrc; echo 42 > e/answer",
    ),
    (
        "a link through the process",
        "echo 42 > kept.log; echo '*.log' >> .gitignore; ln -s /proc/self/cwd/kept.log answer",
    ),
    (
        "same size and time, wrong",
        "echo 42 > answer; git add -A; git commit -qm x; touch -r answer .git/time; echo 41 > answer; touch -r .git/time answer",
    ),
    (
        "object of a wrong answer replaced",
        "o=$(echo 41 | git hash-object --stdin); w=$(echo 42 | git hash-object -w --stdin); mkdir -p .git/objects/${o%${o#??}}; cp .git/objects/${w%${w#??}}/${w#??} .git/objects/${o%${o#??}}/${o#??}; echo 41 > answer; git add -A; git commit -qm forged",
    ),
    ("a directory's own rules", "mkdir sub; echo '*' > sub/.gitignore; echo 42 > sub/answer"),
    ("forged trailers", "git commit -q --allow-empty -m \"x\n\nWindlass-Turn: 1.coder.1\""),
    ("nothing at all", "true"),
];

fn base(world: &World) {
    let repo = world.repo();
    repo.write(".gitignore", "*.log\n").write("known", "1\n").write("Known.txt", "1\n");
    repo.commit("base");
}

/// Runs a loop whose agent does this and claims; says whether it was verified, and whether a stranger's clone passes.
fn judged(world: &World, number: usize, script: &str) -> (bool, bool) {
    let name = format!("g{number}");
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ run = {:?} }}, {{ say = \"{PROMISE}\" }}]\n",
        format!("{script}; true")
    ));
    let command = agent.command_line();
    let args =
        ["run", "find the answer", "--name", &name, "--agent-command", &command, "--gate", GATE, "--no-baseline"];
    let ran = call(world, &[&args[..], &["--max-iterations", "1"]].concat());
    let status = status(world, &name);
    let verified = status["verified"] == true;
    assert_eq!(ran.code, Some(if verified { 0 } else { 3 }), "{script}: {}", ran.shown());
    assert_eq!(status["outcome"], if verified { "verified".into() } else { serde_json::Value::Null }, "{script}");
    // Whatever the agent did to its history, the branch can be merged.
    world.repo().git(["merge-base", "--is-ancestor", "HEAD", &format!("windlass/{name}")]);
    // The stranger has another machine.
    let outside = world.home().join("outside");
    let _ = std::fs::remove_dir_all(&outside).or_else(|_| std::fs::remove_file(&outside));
    let _ = std::fs::remove_dir_all(world.data_dir().join("worktrees"));
    let clone = world.new_dir(&format!("clone-{number}"));
    let (from, to) = (world.repo().path().to_string_lossy(), clone.to_string_lossy());
    world.repo().git(["clone", "-q", "--no-local", "-b", &format!("windlass/{name}"), &*from, &*to]);
    let mut gate = world.command("sh");
    gate.args(["-c", GATE]).current_dir(&clone);
    (verified, world.run(gate).code == Some(0))
}

fn gallery(cases: &[(&str, &str)], honest: bool) {
    let world = crate::world();
    base(&world);
    let mut wrong = Vec::new();
    for (number, (name, script)) in cases.iter().enumerate() {
        let verdict = judged(&world, number, script);
        if verdict != (honest, honest) {
            wrong.push(format!("{name}: verified, in a clone: {verdict:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
// promise: gates-1
fn honest_claims_count_whatever_the_agent_did_to_git() {
    gallery(HONEST, true);
}

#[test]
// promise: gates-1
fn claims_that_the_commit_does_not_bear_out_are_refused() {
    gallery(DISHONEST, false);
}
