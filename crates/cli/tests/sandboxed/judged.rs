//! What is outside the judged tree decides nothing: absolute paths into the user's checkout, shared caches of tools.

use crate::support::*;

#[test]
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
// promise: gates-2
fn editable_install_of_the_checkout_does_not_decide_the_verdict() {
    let python = std::path::Path::new("/usr/bin/python3");
    if !python.exists() {
        return eprintln!("skipped: /usr/bin/python3 is not installed");
    }
    let Some(world) = crate::sandboxed() else { return };
    world.repo().write(".gitignore", ".venv\n__pycache__\n");
    world.repo().write("src/thing.py", "VALUE = 1\n");
    world.repo().write(
        "tests/test_thing.py",
        "import unittest, thing\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(thing.VALUE, 2)\n",
    );
    world.repo().commit("a python project");
    let made = std::process::Command::new(python)
        .args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(world.repo().path())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: python3 has no venv module");
    }
    // What `pip install -e .` writes: the user's checkout by its absolute path.
    let mut asking = world.command(world.repo().path().join(".venv/bin/python"));
    asking.args(["-c", "import site; print(site.getsitepackages()[0])"]);
    let packages = world.run(asking);
    let link = std::path::Path::new(packages.stdout.trim()).join("thing.pth");
    std::fs::write(link, format!("{}\n", world.repo().path().join("src").display())).unwrap();
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" }}]\n\
         [[turn]]\nsteps = [{{ write = {{ path = \"src/thing.py\", content = \"VALUE = 2\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    // By the copy's own interpreter and by the one that an activated environment names.
    let absolute = world.repo().path().join(".venv/bin/python");
    let gate = format!("'{}' -m unittest discover tests", absolute.display());
    run(&world, &agent, &["--gate", ".venv/bin/python -m unittest discover tests", "--gate", &gate]).assert_code(0);
    assert_eq!(agent.turns().len(), 2, "the user's checkout has the old value, the commit the new one");
}

/// A home with a cache of each kind: one that the user has, one that he does not, and the directory of all others.
const CACHES: [&str; 4] = [".cargo/registry", ".cache/go-build", ".npm/_cacache", ".cache/other-tool"];

#[test]
// promise: gates-11
fn what_a_judgement_leaves_in_a_cache_does_not_reach_the_next_one() {
    let Some(world) = crate::sandboxed() else { return };
    for cache in &CACHES[..2] {
        let dir = world.home().join(cache);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("of the user"), "1").unwrap();
    }
    // The set-up and gates on the base may fill them: no agent's code has run.
    let fill = |name: &str| CACHES.map(|cache| format!("mkdir -p ~/{cache}; touch ~/{cache}/{name};")).concat();
    let lists = CACHES.map(|cache| format!("(cd ~/{cache} && echo {cache}: $(ls));")).concat();
    let gate = format!("test -f w || {{ {} exit 0; }}; {lists} sh ./plant.sh; exit 1", fill("by-the-base"));
    // An agent's code, run by the gate; and the agent itself.
    let plant = fill("planted");
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ write = {{ path = \"plant.sh\", content = {plant:?} }} }}, {{ run = {:?} }}, {{ append = {{ path \
         = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" }}]\n\
         [[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"2\" }} }}, {{ say = \"{PROMISE}\" }}]\n",
        fill("by-the-agent")
    ));
    let more = ["--setup", &fill("by-the-set-up"), "--gate", &gate, "--max-iterations", "2"];
    run(&world, &agent, &more).assert_code(3);
    let items = feed(&world, "work");
    let tails: Vec<String> = of_type(&items, "gate_ended")
        .iter()
        .filter_map(|item| item["report"]["output_tail"].as_str())
        .map(str::to_owned)
        .collect();
    let expected = ".cargo/registry: by-the-base by-the-set-up of the user\n\
                    .cache/go-build: by-the-base by-the-set-up of the user\n\
                    .npm/_cacache: by-the-base by-the-set-up\n.cache/other-tool: by-the-base by-the-set-up\n";
    assert_eq!(tails[tails.len() - 2..], [expected, expected], "{tails:?}");
    for cache in &CACHES[..2] {
        let left: Vec<_> =
            std::fs::read_dir(world.home().join(cache)).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(left, ["of the user"]);
    }
}

#[test]
// promise: gates-15
fn what_an_agent_writes_to_a_path_that_the_sandbox_may_write_is_not_judged() {
    let Some(mut world) = crate::sandboxed() else { return };
    let shared = world.home().join("my shared");
    std::fs::create_dir_all(&shared).unwrap();
    std::fs::write(shared.join("tool"), "as before\n").unwrap();
    std::fs::write(world.home().join("one file"), "as before\n").unwrap();
    // The scripted agent says in its own directory what it did.
    let scripts = world.root().join("scripts");
    world.set_env("WINDLASS_SANDBOX_WRITABLE", format!("{}\n~/my shared\n~/one file", scripts.display()));
    // A gate plants as well: its own copy is another one each time.
    let gate = "cat ~/my\\ shared/*; test ! -e ~/my\\ shared/gate && echo x > ~/my\\ shared/gate && \
                test \"$(cat ~/my\\ shared/tool)\" = 'as before' && test \"$(cat ~/one\\ file)\" = 'as before' && \
                test -e ~/my\\ shared/planted";
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ run = \"cd $HOME; echo 1 > 'my shared/planted'; echo 2 > 'my shared/tool'; echo 2 > 'one file'\" }}, \
         {{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    run(&world, &agent, &["--gate", gate, "--no-baseline", "--max-iterations", "2"]).assert_code(3);
    // Nor in a stretch that begins after the agent wrote there.
    call(&world, &["resume", "work", "--max-iterations", "+1"]).assert_code(3);
    assert_eq!(status(&world, "work")["verified"], false);
    let planted =
        std::fs::read_to_string(shared.join("planted")).unwrap_or_else(|_| panic!("{:#?}", feed(&world, "work")));
    assert_eq!(planted, "1\n", "the agent's own writes stay");
    assert!(!shared.join("gate").exists(), "those of a gate do not");
    // What was there before, gates find. What a gate leaves there on the base would be kept, like in caches.
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    let command = agent.command_line();
    let gate = "test \"$(cat ~/one\\ file)\" = 2 && test -e ~/my\\ shared/planted && test ! -e ~/my\\ shared/gate && \
                echo x > ~/my\\ shared/gate";
    let args = ["run", "do it", "--name", "later", "--agent-command", &command, "--gate", gate, "--no-baseline"];
    call(&world, &args).assert_code(0);
    call(&world, &["merge", "later"]).assert_code(0);
}

#[test]
// promise: gates-15
fn cleaned_loop_does_not_take_what_its_agent_wrote_for_what_was_there_before() {
    let Some(mut world) = crate::sandboxed() else { return };
    let shared = world.home().join("my shared");
    std::fs::create_dir_all(&shared).unwrap();
    let scripts = world.root().join("scripts");
    world.set_env("WINDLASS_SANDBOX_WRITABLE", format!("{}\n~/my shared", scripts.display()));
    let agent = world.script(&format!(
        "[[turn]]\nsteps = [{{ run = \"echo 1 > \\\"$HOME/my shared/planted\\\"\" }}, \
         {{ append = {{ path = \"w\", content = \"1\" }} }}, {{ say = \"{PROMISE}\" }}]\n"
    ));
    let gate = "test -e ~/my\\ shared/planted";
    run(&world, &agent, &["--gate", gate, "--no-baseline", "--max-iterations", "1"]).assert_code(3);
    assert!(shared.join("planted").exists());
    call(&world, &["clean", "work", "--keep-records"]).assert_code(0);
    call(&world, &["resume", "work", "--max-iterations", "+1"])
        .assert_code(3)
        .assert_stdout_has("gates start with empty ones; a new loop copies them again");
    assert_eq!(status(&world, "work")["verified"], false);
}
