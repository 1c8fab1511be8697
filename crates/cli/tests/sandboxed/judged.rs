//! Absolute paths into the user's checkout mean the judged files in the sandbox.

use crate::support::*;

// promise: gates-2
#[test]
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn editable_install_of_the_checkout_does_not_decide_the_verdict() {
    let python = std::path::Path::new("/usr/bin/python3");
    if !python.exists() {
        return eprintln!("skipped: /usr/bin/python3 is not installed");
    }
    let world = crate::world();
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
