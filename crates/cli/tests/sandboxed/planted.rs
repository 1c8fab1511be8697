//! What an agent leaves for the git of a user who opens the workspace or continues in their own checkout.

use std::path::{Path, PathBuf};

use crate::support::*;
use windlass_testkit::{World, sandbox_works};

/// Makes every kind of repository that git would find inside the current one, with all that git runs in each.
const PLANT: &str = r#"
evil() { # a git directory
  for key in core.fsmonitor core.sshCommand core.pager core.editor diff.external alias.st sequence.editor gpg.program; do
    git config -f "$1/config" $key "touch '%MARK%'"; done
  git config -f "$1/config" alias.status "!touch '%MARK%'"; git config -f "$1/config" include.path "$PWD/evil.cfg"
  git config -f "$1/config" core.hooksPath "$PWD/evil-hooks"; git config -f "$1/config" core.fsmonitor "touch '%MARK%'; false"
  mkdir -p "$1/hooks"
  for hook in pre-commit post-checkout post-index-change reference-transaction; do
    printf '#!/bin/sh\ntouch "%MARK%"\n' > "$1/hooks/$hook"; chmod +x "$1/hooks/$hook"; done; }
g() { git -c user.name=a -c user.email=a@b -c core.hooksPath=/dev/null -c core.fsmonitor=false -c protocol.file.allow=always "$@"; }
git config -f evil.cfg core.fsmonitor "touch '%MARK%'; false"
mkdir evil-hooks; printf '#!/bin/sh\ntouch "%MARK%"\n' > evil-hooks/post-index-change; chmod +x evil-hooks/*
# A submodule that is declared, with its git directory in the tree, and one with it among the modules.
for sub in sub mod; do g init -q $sub; echo x > $sub/file; g -C $sub add file; g -C $sub commit -qm x; done
mkdir -p .git/modules/a; mv mod/.git .git/modules/a/mod; echo "gitdir: ../.git/modules/a/mod" > mod/.git
printf '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n[submodule "mod"]\n\tpath = mod\n\turl = ./mod\n' > .gitmodules
g add .gitmodules sub mod 2> /dev/null
evil sub/.git; evil .git/modules/a/mod; g config -f .git/modules/a/mod/config core.worktree ../../../../mod
# A repository that nobody declared, in an ignored directory; one whose settings are elsewhere; one that leads out.
echo ignored > .gitignore; mkdir ignored; g init -q ignored/nested; evil ignored/nested/.git
g init -q led; g init -q elsewhere; evil elsewhere/.git; echo "$PWD/elsewhere/.git" > led/.git/commondir
mkdir out; echo "gitdir: $HOME/evil.git" > out/.git; g init -q --bare "$HOME/evil.git" 2> /dev/null && evil "$HOME/evil.git"
# A worktree with settings of its own.
g worktree add -q wt HEAD 2> /dev/null; evil .git/worktrees/wt; mv .git/worktrees/wt/config .git/worktrees/wt/config.worktree
# And the repository itself.
evil .git; echo "$PWD/elsewhere/.git" > .git/commondir; cp evil.cfg .git/config.worktree; git config core.fsmonitor "touch '%MARK%'"
echo '* filter=x diff=x' > .git/info/attributes; mkdir -p .husky; printf '#!/bin/sh\ntouch "%MARK%"\n' > .husky/pre-commit
mkdir -p tools/hooks; cp .husky/pre-commit tools/hooks/; mv tools t2 && mkdir tools && mv t2/hooks tools/hooks
chmod +x .husky/pre-commit tools/hooks/pre-commit; chmod 500 sub/.git ignored/nested/.git; rm -f '%MARK%'; echo work > made
"#;

/// A user looks around; whatever fails there does not matter, if only nothing runs.
fn look_around(world: &World, top: &Path) {
    let places = ["", "sub", "mod", "ignored/nested", "led", "elsewhere", "out", "wt", "evil-hooks"];
    for dir in places.map(|place| top.join(place)).iter().filter(|dir| dir.is_dir()) {
        for args in
            [&["status"][..], &["diff"], &["log", "-1"], &["st"], &["add", "-A"], &["commit", "-qm", "x"], &["fetch"]]
        {
            let mut git = world.command("git");
            git.args(args).current_dir(dir).env("GIT_ALLOW_PROTOCOL", "file");
            let _ = git.output();
        }
    }
    let mut submodules = world.command("git");
    let _ = submodules.args(["submodule", "status", "--recursive"]).current_dir(top).output();
}

fn plant(world: &World, mark: &Path, more: &[&str]) -> PathBuf {
    let script = PLANT.replace("%MARK%", &mark.to_string_lossy());
    let agent = world.install_script("agent", &format!("{script}\necho '{PROMISE}'"));
    let agent = agent.to_string_lossy().into_owned();
    let args = ["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "1"];
    call(world, &[&args[..], more].concat()).assert_code(0);
    PathBuf::from(status(world, "work")["worktree"].as_str().unwrap())
}

#[test]
// promise: safety-9
fn git_in_the_printed_workspace_runs_nothing_of_the_agents() {
    for sandbox in ["workspace", "off"] {
        if sandbox == "workspace" && !sandbox_works() {
            continue;
        }
        let world = crate::world();
        // Hooks of the tree, as some teams have them for all of their repositories.
        let global = std::fs::read_to_string(world.home().join(".gitconfig")).unwrap();
        std::fs::write(world.home().join(".gitconfig"), format!("{global}[core]\n\thooksPath = .husky\n")).unwrap();
        let mark = world.root().join("ran");
        let dir = plant(&world, &mark, &["--sandbox", sandbox]);
        assert!(
            dir.join("sub/file").exists() && dir.join("mod/file").exists() && dir.join("ignored/nested/.git").is_dir(),
            "it was planted"
        );
        look_around(&world, &dir);
        assert!(!mark.exists(), "something of the agent's ran ({sandbox})");
    }
}

#[test]
// promise: safety-9
fn in_place_the_users_git_runs_nothing_of_the_agents_and_nothing_is_left_behind() {
    for hooks_path in [None, Some(".husky"), Some("tools/hooks")] {
        let Some(world) = crate::sandboxed() else { return };
        let repo = world.repo();
        let git_dir = repo.path().join(".git");
        if let Some(path) = hooks_path {
            repo.git(["config", "core.hooksPath", path]);
        }
        let _ = std::fs::remove_dir_all(git_dir.join("hooks"));
        let _ = std::fs::remove_dir_all(git_dir.join("info"));
        let config = std::fs::read_to_string(git_dir.join("config")).unwrap();
        let mark = world.root().join("ran");
        plant(&world, &mark, &["--in-place"]);
        let left = |name: &str| git_dir.join(name).exists();
        assert_eq!(std::fs::read_to_string(git_dir.join("config")).unwrap(), config);
        assert!(!left("hooks") && !left("config.worktree") && !left("commondir") && !left("info/attributes"));
        assert!(!left("objects/info/alternates") && !left("worktrees") && !left("modules"));
        assert!(hooks_path != Some("tools/hooks") || !repo.path().join("tools").exists());
        assert!(repo.path().join("sub/file").exists() && repo.path().join("mod/file").is_file(), "it was planted");
        look_around(&world, repo.path());
        assert!(!mark.exists(), "something of the agent's ran ({hooks_path:?})");
    }
}

#[test]
// promise: safety-9
fn what_a_gate_plants_where_there_is_no_checkout_of_its_own_runs_nothing_either() {
    for how in [&["--in-place"][..], &["--commit", "off"], &["--in-place", "--commit", "off"]] {
        let Some(world) = crate::sandboxed() else { return };
        let mark = world.root().join("ran");
        let gate = world.install_script("gate", &PLANT.replace("%MARK%", &mark.to_string_lossy()));
        let agent = world.install_script("agent", &format!("echo 1 > file; echo '{PROMISE}'"));
        let (gate, agent) = (gate.to_string_lossy().into_owned(), agent.to_string_lossy().into_owned());
        let args =
            ["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "1", "--gate", &gate];
        call(&world, &[&args[..], how].concat()).assert_code(0);
        let dir = PathBuf::from(status(&world, "work")["worktree"].as_str().unwrap());
        assert!(dir.join("sub/file").exists() && dir.join("ignored/nested/.git").is_dir(), "it was planted ({how:?})");
        look_around(&world, &dir);
        assert!(!mark.exists(), "something of the agent's ran ({how:?})");
    }
}

/// Tries to make what git follows, by writing, by moving something there and by moving what is there away.
const MAKE: &str = r#"
for name in commondir config.worktree hooks/pre-commit info/attributes objects/info/alternates worktrees/w/config modules/m/config remotes/origin branches/origin; do
  mkdir -p "$(dirname .git/$name)"; echo evil > evil
  echo evil > .git/$name && echo "wrote $name" >> made
  mv evil .git/$name && echo "moved $name" >> made
  top=.git/${name%%/*}; case $top in .git/objects|.git/info) continue;; esac
  mv $top .git/away && echo "moved $top away" >> made
  rm -rf $top && echo "removed $top" >> made
done 2> /dev/null
rm -f evil; echo work > file; git add file; git -c user.name=a -c user.email=a@b commit -qm work && git log -1 --format=%s > committed
"#;

#[test]
// promise: safety-9
fn in_place_what_git_follows_cannot_be_made_during_a_turn() {
    let Some(world) = crate::sandboxed() else { return };
    let git_dir = world.repo().path().join(".git");
    let _ = std::fs::remove_dir_all(git_dir.join("hooks"));
    let _ = std::fs::remove_dir_all(git_dir.join("info"));
    let _ = std::fs::remove_dir_all(git_dir.join("branches"));
    let before = names_in(&git_dir);
    let agent = world.install_script("agent", &format!("{MAKE}\necho '{PROMISE}'"));
    let agent = agent.to_string_lossy().into_owned();
    let args = ["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "1", "--in-place"];
    call(&world, &args).assert_code(0);
    let made = std::fs::read_to_string(world.repo().path().join("made")).unwrap_or_default();
    assert_eq!(made, "");
    assert_eq!(std::fs::read_to_string(world.repo().path().join("committed")).unwrap(), "work\n", "git works there");
    let new: Vec<String> = names_in(&git_dir).into_iter().filter(|name| !before.contains(name)).collect();
    assert!(
        !new.iter().any(|name| [
            "commondir",
            "config.worktree",
            "hooks",
            "worktrees",
            "modules",
            "remotes",
            "branches"
        ]
        .contains(&&**name)),
        "{new:?}"
    );
}

fn names_in(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
// promise: safety-9
fn in_place_hooks_that_are_a_link_lead_where_the_user_said() {
    let Some(world) = crate::sandboxed() else { return };
    let (repo, mark) = (world.repo(), world.root().join("ran"));
    let hooks = repo.path().join(".git/hooks");
    repo.write("githooks/pre-commit", "#!/bin/sh\n").commit("Hooks of the team");
    let _ = std::fs::remove_dir_all(&hooks);
    std::os::unix::fs::symlink("../githooks", &hooks).unwrap();
    let hook = format!("mkdir evil; printf '#!/bin/sh\\ntouch \"{}\"\\n' > evil/pre-commit", mark.display());
    let script =
        format!("{hook}; chmod +x evil/*; ln -sfn ../evil .git/hooks; readlink .git/hooks > led; echo '{PROMISE}'");
    let agent = world.install_script("agent", &script).to_string_lossy().into_owned();
    let args = ["run", "do it", "--name", "work", "--agent-command", &agent, "--max-iterations", "1", "--in-place"];
    call(&world, &args).assert_code(0);
    assert_eq!(std::fs::read_to_string(repo.path().join("led")).unwrap(), "../evil\n", "it was planted");
    assert_eq!(std::fs::read_link(&hooks).unwrap(), Path::new("../githooks"));
    look_around(&world, repo.path());
    assert!(!mark.exists(), "something of the agent's ran");
}

#[test]
fn in_place_what_a_killed_driver_left_is_removed_when_another_loop_starts() {
    let Some(world) = crate::sandboxed() else { return };
    let agent = world.script("[[turn]]\nsteps = [{ touch = \"there\" }, { wait_for = \"go\" }, { say = \"x\" }]");
    let running = start(&world, &agent, &["--in-place"]);
    agent.wait_touched("there");
    let left = world.repo().path().join(".git/commondir");
    assert!(left.is_file());
    running.kill();
    running.wait();
    world.wait_no_processes();
    assert!(left.is_file(), "a killed process cannot remove it");
    let args = ["run", "another", "--name", "another", "--agent-command", "true", "--max-iterations", "1"];
    call(&world, &args);
    assert!(!left.exists());
}
