//! Real projects with their real tools, in a new loop without any configuration: the right work completes, the wrong does not.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::*;
use windlass_testkit::{Output, Repo, World};

/// Whether a program runs; if not, that is said.
fn has(program: &str) -> bool {
    let runs =
        Command::new(program).arg("version").output().or_else(|_| Command::new(program).arg("--version").output());
    if runs.is_err() {
        eprintln!("skipped: {program} is not installed");
    }
    runs.is_ok()
}

/// A program of the person who runs the tests, to be used in the world.
fn lend(world: &mut World, dirs: &[PathBuf]) {
    let mut path: Vec<PathBuf> = dirs.to_vec();
    path.extend([world.bin_dir(), "/usr/bin".into(), "/bin".into()]);
    world.set_env("PATH", std::env::join_paths(path).unwrap());
}

/// A loop started in `dir` whose agent first does something wrong and claims, then the right thing and claims.
#[track_caller]
fn wrong_then_right(world: &World, dir: &Path, name: &str, gate: &str, turns: [&str; 2]) -> Output {
    let turns = turns.map(|run| format!("[[turn]]\nsteps = [{{ run = {run:?} }}, {{ say = \"{PROMISE}\" }}]\n"));
    let agent = world.script(&turns.concat());
    let command = agent.command_line();
    let args = ["run", "do the work", "--name", name, "--agent-command", &command, "--gate", gate];
    let mut started = windlass(world, &[&args[..], &["--max-iterations", "3"]].concat());
    started.current_dir(dir);
    let ran = world.run(started);
    ran.assert_code(0);
    assert_eq!(agent.turns().len(), 2, "the first claim is refused, the second counts: {}", ran.shown());
    let mut asked = windlass(world, &["status", name, "--json"]);
    asked.current_dir(dir);
    let status = world.run(asked).assert_code(0).json();
    assert_eq!((&status["outcome"], &status["verify"]), (&"verified".into(), &"clean".into()), "{status}");
    ran
}

/// A clone of the world's repository, made with these arguments.
fn clone(world: &World, name: &str, args: &[&str]) -> Repo {
    let to = world.root().join(name);
    let origin = format!("file://{}", world.repo().path().display());
    world.repo().git(["config", "uploadpack.allowFilter", "true"]);
    let (all, to_text) = ([&["clone", "-q"], args].concat(), to.to_string_lossy().into_owned());
    world.repo().git(all.iter().copied().chain([origin.as_str(), to_text.as_str()]));
    world.repo().at(&to)
}

#[test]
// promise: work-16
fn cargo_workspace_is_judged_and_the_next_loop_starts_from_its_build() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let Ok(sysroot) = sysroot else { return eprintln!("skipped: rustc is not installed") };
    let bin = Path::new(String::from_utf8_lossy(&sysroot.stdout).trim()).join("bin");
    let mut world = crate::world();
    lend(&mut world, &[bin]);
    let repo = world.repo();
    repo.write(".gitignore", "target/\n")
        .write("Cargo.toml", "[workspace]\nmembers = [\"app\", \"lib\"]\nresolver = \"2\"\n");
    repo.write("lib/Cargo.toml", "[package]\nname = \"lib\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    repo.write("lib/src/lib.rs", "pub fn value() -> u32 { 1 }\n");
    repo.write(
        "app/Cargo.toml",
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nlib = { path = \"../lib\" }\n",
    );
    repo.write("app/build.rs", "fn main() { println!(\"cargo:rerun-if-changed=build.rs\"); }\n");
    repo.write("app/src/lib.rs", "#[test]\nfn it_is_two() { assert_eq!(lib::value(), 2); }\n");
    repo.write("Cargo.lock", "version = 3\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"lib\",\n]\n\n[[package]]\nname = \"lib\"\nversion = \"0.1.0\"\n");
    repo.commit("a workspace");
    // The wrong work builds a green binary into the target directory of the workspace.
    let cheat = "sed -i 's/{ 1 }/{ 2 }/' lib/src/lib.rs; cargo test -q --offline; git checkout -q lib; touch w";
    let fix = "sed -i 's/{ 1 }/{ 2 }/' lib/src/lib.rs";
    let gate = "ls target/debug/deps 2>/dev/null | grep -c . ; cargo test --offline";
    wrong_then_right(&world, world.repo().path(), "one", gate, [cheat, fix]);
    if !windlass_testkit::sandbox_works() {
        return;
    }
    // The second loop finds what the first one's gates built on the base, and nothing else.
    wrong_then_right(&world, world.repo().path(), "two", gate, ["touch w", fix]);
    let built = |name: &str| {
        let items = feed(&world, name);
        let first = of_type(&items, "gate_ended")[0]["report"]["output_tail"].as_str().unwrap().to_owned();
        first.lines().next().unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(built("one"), 0);
    assert!(built("two") > 0, "it starts from the build of the base");
}

#[test]
// promise: work-16
fn go_module_is_judged() {
    if !has("go") {
        return;
    }
    let world = crate::world();
    world.repo().write("go.mod", "module example.com/thing\n\ngo 1.19\n");
    world.repo().write("value/value.go", "package value\n\nfunc Value() int { return 1 }\n");
    world.repo().write(
        "value/value_test.go",
        "package value\n\nimport \"testing\"\n\nfunc TestValue(t *testing.T) {\n\tif Value() != 2 {\n\t\tt.Fatal(Value())\n\t}\n}\n",
    );
    world.repo().commit("a module");
    // The wrong work leaves a green verdict in the cache of the agent's tests.
    let cheat = "sed -i 's/return 1/return 2/' value/value.go; go test ./...; git checkout -q value; touch w";
    wrong_then_right(
        &world,
        world.repo().path(),
        "work",
        "go vet ./... && go test ./...",
        [cheat, "sed -i 's/return 1/return 2/' value/value.go"],
    );
}

#[test]
// promise: work-16
fn node_project_with_installed_packages_is_judged_in_a_package_of_a_monorepo() {
    if !has("npm") {
        return;
    }
    let world = crate::world();
    let repo = world.repo();
    repo.write(".gitignore", "node_modules\n");
    repo.write("package.json", "{\"private\": true, \"workspaces\": [\"packages/*\"]}");
    repo.write("packages/lib/package.json", "{\"name\": \"lib\", \"version\": \"1.0.0\", \"main\": \"index.js\"}");
    repo.write("packages/lib/index.js", "module.exports = 1\n");
    repo.write(
        "packages/api/package.json",
        "{\"name\": \"api\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"tool test.js\"}, \"dependencies\": {\"lib\": \"1.0.0\"}}",
    );
    repo.write("packages/api/test.js", "if (require('lib') !== 2) process.exit(1)\n");
    repo.commit("a monorepo");
    // What `npm install` makes: links to the packages of the repository, and programs.
    let modules = repo.path().join("node_modules");
    std::fs::create_dir_all(modules.join(".bin")).unwrap();
    std::fs::create_dir_all(modules.join("tool")).unwrap();
    for name in ["lib", "api"] {
        std::os::unix::fs::symlink(format!("../packages/{name}"), modules.join(name)).unwrap();
    }
    repo.write("node_modules/tool/run.js", "#!/usr/bin/env node\nrequire(require('path').resolve(process.argv[2]))\n");
    let mut executable = Command::new("chmod");
    executable.arg("+x").arg(modules.join("tool/run.js")).status().unwrap();
    std::os::unix::fs::symlink("../tool/run.js", modules.join(".bin/tool")).unwrap();
    let cheat = "test -L ../../node_modules/lib && echo 'process.exit(0)' > ../../node_modules/tool/run.js; touch w";
    let fix = "echo 'module.exports = 2' > ../lib/index.js";
    let ran = wrong_then_right(&world, &repo.path().join("packages/api"), "work", "npm test", [cheat, fix]);
    ran.assert_stdout_has("node_modules");
    let files = repo.tree_files("windlass/work");
    assert!(files.contains(&"packages/api/w".to_owned()), "it runs where it was started: {files:?}");
    assert!(!files.iter().any(|file| file.starts_with("node_modules")), "{files:?}");
}

#[test]
// promise: work-16
fn python_project_with_an_editable_install_is_judged() {
    let python = Path::new("/usr/bin/python3");
    let Some(mut world) = crate::sandboxed() else { return };
    let repo = world.repo();
    repo.write(".gitignore", ".venv\n__pycache__\n*.egg-info\nbuild\n");
    repo.write("pyproject.toml", "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\nname = \"thing\"\nversion = \"1\"\n[tool.setuptools]\npackage-dir = {\"\" = \"src\"}\npy-modules = [\"thing\"]\n");
    repo.write("src/thing.py", "VALUE = 1\n");
    repo.write("check.py", "import thing\nassert thing.VALUE == 2, thing.__file__\n");
    repo.commit("a python project");
    let place = repo.path().to_owned();
    let in_venv = |args: &[&str]| {
        let mut command = Command::new(place.join(".venv/bin/python"));
        command.args(args).current_dir(&place).output().is_ok_and(|output| output.status.success())
    };
    let mut made = Command::new(python);
    made.args(["-m", "venv", "--system-site-packages", ".venv"]).current_dir(&place);
    if !made.output().is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: /usr/bin/python3 makes no virtual environment");
    }
    let installs = ["-m", "pip", "install", "-q", "--no-build-isolation", "--no-index", "-e", "."];
    if !in_venv(&installs) {
        return eprintln!("skipped: pip cannot install without a network here");
    }
    world.set_env("VIRTUAL_ENV", place.join(".venv"));
    let absolute = place.join(".venv/bin/python");
    let gate = format!(".venv/bin/python check.py && '{}' check.py", absolute.display());
    // The wrong work breaks the agent's copy of the environment so that it says what is wanted.
    let cheat = "echo 'VALUE = 2' > \"$(ls -d .venv/lib/python*/site-packages)/thing.py\"; touch w";
    wrong_then_right(&world, &place, "work", &gate, [cheat, "echo 'VALUE = 2' > src/thing.py"]);
    assert_eq!(world.repo().read("src/thing.py"), "VALUE = 1\n");
}

#[test]
// promise: work-16
fn project_with_large_files_is_judged_with_their_content() {
    if !has("git-lfs") {
        return;
    }
    let world = crate::world();
    let repo = world.repo();
    repo.git(["lfs", "install", "--skip-repo"]);
    repo.git(["lfs", "track", "*.bin"]);
    repo.write("data.bin", "old content\n");
    repo.commit("large files");
    assert!(repo.file_at("HEAD", "data.bin").contains("git-lfs"));
    let gate = "test \"$(cat data.bin)\" = 'new content'";
    wrong_then_right(
        &world,
        repo.path(),
        "work",
        gate,
        ["grep -q 'old content' data.bin && touch w", "echo 'new content' > data.bin"],
    );
    assert!(repo.file_at("windlass/work", "data.bin").contains("git-lfs"), "the commit has a pointer");
    call(&world, &["merge", "work"]).assert_code(0);
    assert_eq!(repo.read("data.bin"), "new content\n");
}

#[test]
// promise: work-16
fn partial_shallow_and_sparse_clones_worktrees_and_borrowed_objects_are_judged() {
    let world = crate::world();
    let origin = world.repo();
    for number in 1..=3 {
        origin.write("a", format!("{number}\n")).write("docs/b", format!("{number}\n"));
        origin.commit(&format!("commit {number}"));
    }
    origin.git(["branch", "other", "HEAD~1"]);
    let sparse = clone(&world, "sparse", &["--sparse"]);
    let linked = world.root().join("linked tree");
    origin.git(["worktree", "add", "-q", "-b", "linked", &*linked.to_string_lossy()]);
    let cases = [
        ("partial", clone(&world, "partial", &["--filter=blob:none"])),
        ("treeless", clone(&world, "treeless", &["--filter=tree:0", "--no-checkout"])),
        ("shallow", clone(&world, "shallow", &["--depth", "1"])),
        ("sparse", sparse),
        ("worktree", origin.at(&linked)),
        ("borrowed", clone(&world, "borrowed", &["--shared"])),
        ("single", clone(&world, "single", &["--single-branch", "--branch", "other"])),
    ];
    for (name, repo) in &cases {
        if *name == "treeless" {
            repo.git(["checkout", "-q", "main"]);
        }
        let gate = "test \"$(cat a)\" = new && git log -1 --format=%s && test -z \"$(git status --porcelain)\"";
        wrong_then_right(&world, repo.path(), name, gate, ["echo wrong > a", "echo new > a"]);
        let files = repo.tree_files(&format!("windlass/{name}"));
        assert!(files.contains(&"docs/b".to_owned()), "{name}: what is not checked out is in the commit: {files:?}");
        assert_eq!(repo.status(), "", "{name}");
        let mut merging = windlass(&world, &["merge", name]);
        merging.current_dir(repo.path());
        world.run(merging).assert_code(0);
        assert_eq!((repo.read("a"), repo.status()), ("new\n".into(), String::new()), "{name}");
    }
}

#[test]
// promise: work-17
fn project_with_submodules_is_judged_with_their_files() {
    let world = crate::world();
    let library = world.new_repo("library");
    library.write("lib.sh", "VALUE=1\n");
    library.commit("library");
    let repo = world.repo();
    let address = library.path().to_string_lossy().into_owned();
    repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &address, "libs/lib"]);
    repo.write("test.sh", ". ./libs/lib/lib.sh; test \"$VALUE\" = 2\n");
    repo.commit("a submodule");
    std::fs::remove_dir_all(library.path()).unwrap();
    // Files that are not committed in the submodule do not count; the agent is told so, and commits them.
    let edit = "cd libs/lib && echo VALUE=2 > lib.sh";
    let ran =
        wrong_then_right(&world, repo.path(), "work", "sh ./test.sh", [edit, "cd libs/lib && git commit -qam two"]);
    ran.assert_stdout_has("held back: libs/lib (a submodule with uncommitted files: commit them in it, or undo them)");
    call(&world, &["merge", "work"]).assert_code(0);
    repo.git(["submodule", "--quiet", "update"]);
    assert_eq!(repo.read("libs/lib/lib.sh"), "VALUE=2\n");
    assert_eq!(repo.status(), "");
}
