//! A merge queue of another machine.

use windlass_testkit::World;

use crate::client::Server;
use crate::support::{PROMISE, call};

/// A verified loop that writes a file.
fn finished(world: &World, name: &str) {
    let step = format!("{{ write = {{ path = \"{name}\", content = \"1\\n\" }} }}");
    let script = format!("[[turn]]\nsteps = [{step}, {{ say = \"{PROMISE}\" }}]\n");
    let command = world.script(&script).command_line();
    let gate = format!("test -f {name}");
    let args = ["run", "do it", "--name", name, "--agent-command", &command, "--gate", &gate, "--no-baseline"];
    call(world, &args).assert_code(0);
}

#[test]
fn merge_queue_of_another_machine_is_filled_worked_off_and_shown() {
    let (world, elsewhere) = (World::new(), World::new());
    for name in ["one", "two", "three"] {
        finished(&world, name);
    }
    let server = Server::start(&world);
    let project = world.repo().path().to_str().unwrap().to_owned();
    let link = crate::remote::link(&server);
    let ask = |args: &[&str]| call(&elsewhere, &[&["--server", &link, "-C", &project], args].concat());
    ask(&["merge", "one", "two", "--queue"]).assert_code(0).assert_stdout_has("merge-main");
    assert!(!world.repo().path().join("one").exists(), "adding merges nothing");
    let worked = ask(&["merge", "--queue", "--json"]).assert_code(0).json();
    assert_eq!(
        (&worked["queue"]["status"], &worked["queue"]["entries"][1]["status"]),
        (&"completed".into(), &"merged".into())
    );
    assert_eq!((world.repo().read("one"), world.repo().read("two")), ("1\n".to_owned(), "1\n".to_owned()));
    let (there, here) = (ask(&["status", "merge-main", "--json"]), call(&world, &["status", "merge-main", "--json"]));
    assert_eq!(there.assert_code(0).json(), here.assert_code(0).json());
    ask(&["merge", "three", "--queue"]).assert_code(0);
    ask(&["stop", "merge-main-2"]).assert_code(0).assert_stdout_has("stopped");
    ask(&["resume", "merge-main-2"]).assert_code(2).assert_stderr_has("already cancelled");
    assert!(!world.repo().path().join("three").exists());
}
